"""Suggest domains, recodings, and which columns may be released unchanged.

All are findings for the steward, with counts and reasons. Only codes that keep a column of numbers
from being numeric, and dates, are recoded without being asked for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.text import counted, in_shell, percent_up, quoted
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidSchema, InvalidTable, TooLarge
from pramana.schema.codec import encode
from pramana.schema.column_rules import FEW_CODES, FEW_NUMBERS, ObservedColumn
from pramana.schema.domains import Bins, Categories, Domain, Label, label_text
from pramana.schema.joint_cells import joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.recoded_table import COMPACT, are_compact_dates, decimals, formats_of, is_iso
from pramana.schema.recoding import NOTHING, Recoding
from pramana.schema.roles import Role
from pramana.schema.schema import CATEGORY_LIMIT, Column
from pramana.schema.schema_file import entry_of
from pramana.schema.tally import Tally, quantiles, round_step, tidy
from pramana.schema.telling_values import HiddenKey, Telling, telling_values, worst_of
from pramana.types import FloatArray, Form, IntArray

# -- codes that mean missing -----------------------------------------------------------------------

MISSING_WORDS: Final = frozenset(
    ("?", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "unknown", "missing", "-", "--", ".",
     "*", "refused", "inapplicable")
)  # fmt: skip
MOST_VALUES: Final = 50_000  # in a column of more values none is searched for codes
FEW: Final = 3  # codes that a column of numbers may have
ENOUGH: Final = 5  # numbers that make the others look like codes
NINES: Final = frozenset(
    sign * int(digit * width + last)
    for sign in (1, -1)
    for width in range(4)
    for digit, last in (("9", "9"), ("9", "8"), ("9", "7"), ("8", "8"), ("7", "7"))
)
"""9, 98, 997, -8 and their like."""

APART: Final = 2.0  # codes are this many times as far from the other values as these reach


@dataclass(frozen=True)
class Suspect:
    """A value that looks as if it meant missing, such as a text ``among_numbers``."""

    value: Label
    records: int
    why: str
    among_numbers: bool = False

    def to_dict(self) -> Form:
        """The JSON form."""
        return {"value": self.value, "records": self.records, "why": self.why}


def codes_among_numbers(tallies: Mapping[str, Tally]) -> dict[str, list[str]]:
    """The few texts in columns of numbers, by column; a code of one column is known in all."""
    texts = {name: _texts_among_numbers(seen) for name, seen in tallies.items()}
    known = {code for codes in texts.values() for code in codes}
    if known:
        texts = {n: codes or _texts_among_numbers(tallies[n], known) for n, codes in texts.items()}
    return {name: codes for name, codes in texts.items() if codes}


def _texts_among_numbers(seen: Tally, known: Collection[str] = ()) -> list[str]:
    """The few texts of a column that is of numbers but for them; none where it is not."""
    if seen.kind != "text" or not seen.complete:
        return []
    trimmed = pc.utf8_trim_whitespace(seen.values)
    strange = pc.and_(pc.not_equal(trimmed, ""), pc.invert(decimals(trimmed)))
    if not 0 < (pc.sum(strange).as_py() or 0) <= FEW:
        return []
    texts: list[str] = seen.values.filter(strange).to_pylist()
    # Codes such as A1 beside 11 are no missing values: those are single letters or words.
    words = not any(letter.isdigit() for text in texts for letter in text)
    enough = 1 if known and set(texts) <= set(known) else ENOUGH
    return texts if words and seen.distinct - len(texts) >= enough else []


YEARS: Final = noop("dates: as their year")


def looks_missing(seen: Tally, codes: Collection[str] = ()) -> list[Suspect]:
    """The values that may mean missing, most frequent first; ``codes`` are texts among numbers."""
    if not seen.complete or not 2 <= seen.distinct <= MOST_VALUES:
        return []
    numbers = dict(zip(seen.values.to_pylist(), seen.numbers.tolist(), strict=True))
    suspects: list[Suspect] = []
    if codes:
        why = gettext(
            "{number:,} values; all but {listed} are numbers",
            number=seen.distinct, listed=quoted(list(codes)),
        )  # fmt: skip
        suspects = [Suspect(value, numbers[value], why, among_numbers=True) for value in codes]
    elif seen.kind == "text":
        why = gettext("a usual spelling of missing values")
        suspects = [
            Suspect(value, number, why)
            for value, number in numbers.items()
            if value.strip().lower() in MISSING_WORDS
        ]
    elif seen.kind in ("integer", "number"):
        suspects = _numbers_apart(numbers)
    return sorted(suspects, key=lambda suspect: (-suspect.records, label_text(suspect.value)))


def _numbers_apart(numbers: Mapping[Any, int]) -> list[Suspect]:
    """The only numbers below zero, and nines far above the others."""
    rest = sorted(value for value in numbers if math.isfinite(value))
    suspects = []
    negative = [value for value in rest if value < 0]
    if 0 < len(negative) <= FEW and len(rest) > len(negative) and set(negative) <= NINES | {-1}:
        why = gettext("the only numbers below zero")
        suspects = [Suspect(value, numbers[value], why) for value in negative]
    rest = rest[len(negative) :]
    above: list[Any] = []
    while len(rest) > 2 and len(above) < FEW and rest[-1] in NINES:
        above.append(rest.pop())
    if above and len(rest) > 1:
        widest = float(max(b - a for a, b in pairwise(rest)))
        if min(above) - rest[-1] >= max(APART * widest, (rest[-1] - rest[0]) / 2, 2):
            last = label_text(rest[-1])
            why = gettext("is far from the others, above {value}", value=last)
            suspects += [Suspect(value, numbers[value], why) for value in above]
    return suspects


def proposed_recoding(seen: Tally, suspects: Sequence[Suspect]) -> tuple[Recoding, str]:
    """What makes numbers of a column of numbers, or years of one of dates; and why."""
    if seen.kind == "text" and suspects and suspects[0].among_numbers:
        counts = ", ".join(f"{suspect.records:,}" for suspect in suspects)
        codes = tuple(suspect.value for suspect in suspects)
        return Recoding(missing_codes=codes), gettext(
            "{why}: taken as missing ({counts})", why=suspects[0].why, counts=counts
        )
    values = [suspect.value for suspect in suspects]
    if seen.kind in ("integer", "number") and seen.distinct > FEW_CODES and values:
        below = tuple(v for v in values if isinstance(v, int | float) and v < 0)
        if below:
            counts = ", ".join(f"{suspect.records:,}" for suspect in suspects)
            words = noop("numbers below zero taken as missing ({counts})")
            return Recoding(missing_codes=below), gettext(words, counts=counts)
    if seen.distinct and seen.kind in ("text", "date") and is_iso(seen.values):
        return Recoding(date="year"), gettext(YEARS)
    if seen.kind == "integer" and seen.complete and are_compact_dates(seen.values):
        return Recoding(date="year", date_format=COMPACT), gettext(YEARS)
    formats = date_formats(seen)
    if len(formats) == 1:
        return Recoding(date="year", date_format=formats[0]), gettext(YEARS)
    return Recoding(), ""


def date_formats(seen: Tally) -> tuple[str, ...]:
    """How dates in text are written that are not ISO; several where day or month come first."""
    return formats_of(seen.values) if seen.kind == "text" and seen.distinct else ()


# -- entries that would help -----------------------------------------------------------------------


def suggested_entries(
    column: Column,
    seen: Tally,
    suspects: Sequence[Suspect],
    k: int,
    *,
    labelled: bool,
    withheld: bool,
) -> Iterator[tuple[str, str]]:
    """Lines of a schema file, or options, that would help, with their reasons.

    Args:
        column: The column as it is proposed.
        seen: Its values.
        suspects: Values that look as if they meant missing.
        k: The number of records that should share each value.
        labelled: Whether the file has labels for values: they are codes, then, and no numbers.
        withheld: Whether it is dropped only because people are unique with it.
    """
    if column.gridded:
        return
    ends = None if labelled else proposed_range(column.name, seen)
    if ends is not None and (withheld or column.role is Role.SENSITIVE):
        low, high = map(label_text, ends)
        why = f"on a grid from {low} to {high}, read off the data, guarantees cover it"
        yield f"--range {in_shell(column.name)}", why
    codes = [s.value for s in suspects if s.value not in column.recoding.missing_codes]
    if codes and column.role.traits.released:
        yield entry_of("missing_codes", codes), gettext("to take them as missing")
    formats = date_formats(seen) if column.recoding.date is None else ()
    if len(formats) > 1:
        why = gettext(
            'dates in which day and month are ambiguous: this or "{other}", with date',
            other=formats[1],
        )
        yield entry_of("date_format", formats[0]), why
    if column.domain is not None:
        number = seen.kind in ("integer", "number") and not labelled
        ordered = number and not ObservedColumn(column.name, seen, seen.seen).are_codes
        rare = merge_of_rare(seen, column.domain, k, ordered=ordered)
        if rare is not None:
            merged = {name: list(values) for name, values in rare[1].items()}
            why = gettext(
                "{rare} of {all} values are held by fewer than {k} records",
                rare=rare[0], all=seen.distinct, k=k,
            )  # fmt: skip
            yield entry_of("merge", merged), why
    if column.role is not Role.SENSITIVE or column.recoding.round is not None:
        return
    step = _step_of_amounts(seen)
    if step is not None:
        why = gettext("nearly every value is unique, and identifies its person")
        yield entry_of("round", step), why
    top = top_of(seen, k)
    if top is not None:
        yield entry_of("top", top), gettext("fewer than {k} records hold the highest value", k=k)


def merge_of_rare(
    seen: Tally, domain: Domain, k: int, *, ordered: bool = False
) -> tuple[int, dict[str, tuple[Label, ...]]] | None:
    """How many values fewer than ``k`` records hold, and what to merge so that k hold each.

    Ordered values are merged with neighbours, others into "other"; ``None`` if nothing remains.
    """
    if not isinstance(domain, Categories) or not seen.complete:
        return None
    pairs = zip(seen.values.to_pylist(), seen.numbers.tolist(), strict=True)
    numbers = {value: count for value, count in pairs if value not in domain.missing_values}
    rare = sum(count < k for count in numbers.values())
    if not rare:
        return None
    if ordered:
        groups = _merged_neighbours(numbers, k)
        return (rare, groups) if groups else None
    values = sorted(numbers, key=numbers.__getitem__)
    merged, held = values[:rare], sum(numbers[value] for value in values[:rare])
    while held < k and len(merged) < len(values):
        held += numbers[values[len(merged)]]
        merged.append(values[len(merged)])
    if len(values) == len(merged) or held < k or len(merged) < 2:
        return None
    return rare, {"other": tuple(sorted(merged, key=lambda v: (isinstance(v, str), v)))}


def _merged_neighbours(numbers: Mapping[Any, int], k: int) -> dict[str, tuple[Label, ...]]:
    """Neighbours that at least ``k`` records hold together, by name; empty if one group is left."""
    groups = [[value] for value in sorted(numbers)]
    held = [numbers[group[0]] for group in groups]
    while len(groups) > 1 and min(held) < k:
        at = held.index(min(held))
        neighbours = [place for place in (at - 1, at + 1) if 0 <= place < len(groups)]
        low, high = sorted((at, min(neighbours, key=held.__getitem__)))
        groups[low : high + 1] = [groups[low] + groups[high]]
        held[low : high + 1] = [held[low] + held[high]]
    merged = {}
    for place, group in enumerate(groups):
        low_end, high_end = label_text(group[0]), label_text(group[-1])
        name = f"{low_end} to {high_end}"
        if place == len(groups) - 1:
            name = f"{low_end}+"
        elif not place:
            name = f"up to {high_end}"
        if len(group) > 1:
            merged[name] = tuple(group)
    return merged if len(groups) > 1 else {}


def top_of(seen: Tally, k: int) -> float | None:
    """A round number that at least ``k`` records reach, where fewer reach the highest value."""
    if seen.kind not in ("integer", "number") or not seen.complete or seen.distinct <= 2 * k:
        return None
    values = np.asarray(seen.values, dtype=np.float64)
    order = np.argsort(-values)
    order = order[np.isfinite(values[order])]
    held = np.cumsum(seen.numbers[order])
    if not len(held) or held[0] >= k or held[-1] < k:
        return None
    cut = float(values[order[int(np.searchsorted(held, k))]])
    if cut <= 0:
        return None
    power = math.floor(math.log10(cut)) - 1  # two leading digits: the cut is nobody's number
    rounded = math.floor(cut / 10.0**power) * 10.0**power
    return int(rounded) if power >= 0 else round(rounded, -power)


def _step_of_amounts(seen: Tally) -> float | None:
    """A power of ten to round amounts to, where hardly any two records hold the same."""
    if not seen.complete or seen.kind not in ("integer", "number"):
        return None
    values = np.abs(np.asarray(seen.values, dtype=np.float64))
    some = values[np.isfinite(values) & (values > 0)]
    # Where this share of the records has a different value, whoever knows it finds the record
    if seen.distinct < max(0.5 * seen.seen, 2) or not len(some):
        return None
    power = int(np.floor(np.log10(float(np.median(some))))) - 1
    return 10**power if power >= 0 else float(10.0**power)


# -- missing values that follow from another column -----------------------------------------------

FIRST: Final = 20_000  # records in which they are searched
FEWEST_RECORDS: Final = 5  # of a value of the other column
FEWEST_HEADINGS: Final = 3  # columns with a heading
LONGER: Final = 3  # times as long as other texts is a heading
NEARLY_ALL: Final = 0.9
EXPLAINED: Final = 0.9  # the share of missing values that the other column explains


def structurally_missing(
    table: OpenedTable, columns: Sequence[Column], tallies: Mapping[str, Tally]
) -> dict[str, tuple[str, str]]:
    """Randomised columns that are empty for some values of a key, as the income of children.

    Returns:
        For each such column the entry of a rule that keeps both consistent, and the reason.
        Unchanged columns of this kind disclose the key, and are not proposed.
    """
    keys = [column for column in columns if column.randomised and not column.gridded]
    partly = [
        column
        for column in columns
        if column.randomised
        and 0 < tallies[column.name].missing < table.rows
        and column.name not in table.labels.missing
    ]
    if not keys or not partly:
        return {}
    names = list(dict.fromkeys(column.name for column in (*keys, *partly)))
    some = table.first(names, FIRST)
    codes = {key.name: encode(key, some.column(key.name)) for key in keys}
    proposals: dict[str, tuple[str, str]] = {}
    for column in partly:
        gone = np.asarray(some.column(column.name).is_null())
        best = EXPLAINED * max(int(gone.sum()), 1)
        for key in keys:
            if key.name == column.name:
                continue
            size = len(key.labels)
            records = np.bincount(codes[key.name], minlength=size)
            empty = np.bincount(codes[key.name][gone], minlength=size)
            always = (records >= FEWEST_RECORDS) & (empty == records)
            if None in key.labels:
                always[size - 1] = False
            if empty[always].sum() < best or not always.any():
                continue
            best = empty[always].sum() + 1  # of several keys the one that explains most
            labels = [key.labels[at] for at in np.flatnonzero(always)]
            why = gettext(
                "empty wherever '{key}' has one of {values}",
                key=key.name,
                values=counted(len(labels), "value"),
            )
            present = [label for label in column.labels if label is not None]
            rule = {key.name: labels, column.name: present}
            entry = entry_of("impossible", [rule])
            words = gettext("{why}; at the top, for both", why=why)
            proposals[column.name] = (entry, words)
    return proposals


def second_headings(table: OpenedTable, tallies: Mapping[str, Tally]) -> int:
    """In how many columns the first record is a heading; 0 where the other columns deny it.

    A heading is a text that no other record has, in a column of numbers or dates or of far shorter
    texts. Columns deny it in which the first value is a number, or occurs again.
    """
    if table.rows < FEWEST_RECORDS:
        return 0
    first = table.first(list(tallies), 1)
    headings, others = 0, 0
    for name, seen in tallies.items():
        value = first.column(name)[0].as_py()
        if value is not None and value != "":
            heading = _is_heading(value, seen) if seen.kind == "text" and seen.complete else None
            headings += heading is True
            others += heading is None
    enough = headings >= FEWEST_HEADINGS and (not others or headings > len(tallies) / 2)
    return headings if enough else 0


def _is_heading(value: str, seen: Tally) -> bool | None:
    """Whether the first value is a heading; ``None`` if it cannot be one, as it occurs again."""
    if int(seen.numbers[pc.index(seen.values, value).as_py()]) > 1:
        return None
    others = seen.values.filter(pc.not_equal(seen.values, value))
    if not len(others) or not any(letter.isalpha() for letter in value):
        return False
    numbers = pc.mean(decimals(pc.utf8_trim_whitespace(others))).as_py()
    digits = pc.mean(pc.match_substring_regex(others, "[0-9]")).as_py()
    short = float(pc.mean(pc.utf8_length(others)).as_py())
    dated = digits > NEARLY_ALL and not any(letter.isdigit() for letter in value)
    return bool(numbers > NEARLY_ALL or dated or len(value) > LONGER * max(short, 1))


# -- domains ---------------------------------------------------------------------------------------

BINS: Final = 10
ROUNDNESS: Final = 1.25  # a cut is rounded to a step of about the width of the two bins beside it


def propose_domain(
    name: str, seen: Tally, *, known: tuple[Label, ...] = (), categories: bool = False
) -> Domain:
    """Categories for few values, bins for many numbers; never in order of appearance.

    Args:
        name: The column, for errors.
        seen: Its values.
        known: Further values that the file itself lists.
        categories: Whether bins are out of the question.
    """
    number = seen.kind in ("integer", "number")
    infinite = number and math.inf in (seen.highest, -(seen.lowest or 0))
    column = ObservedColumn(name, seen, seen.seen)
    many = number and (infinite or seen.distinct > FEW_NUMBERS)
    if many and not (categories or known or column.are_codes):
        try:
            return propose_bins(seen)
        except (InvalidSchema, ArithmeticError, ValueError):
            raise InvalidTable(
                "No bins can be proposed for '{column}': its numbers are infinite, or too far "
                "apart. State bins, or give it another role.",
                column=name,
            ) from None
    if infinite:
        raise InvalidTable(
            "'{column}' holds infinite numbers, which are no categories: map them.", column=name
        )
    if seen.distinct > CATEGORY_LIMIT:
        raise TooLarge(
            "'{column}' has {amount} categories, and a randomised column may have at most "
            "{category_limit:,}. Coarsen it, cut it into bins, or give it another role.",
            column=name,
            amount=column.amount,
            category_limit=CATEGORY_LIMIT,
        )
    labels = seen.labels()
    if known:
        labels = tuple(sorted({*labels, *known}, key=lambda v: (isinstance(v, str), v)))
    if not labels:
        raise InvalidTable(
            "'{column}' has no values: all are missing. Give it another role.", column=name
        )
    return Categories(labels, ordered=bool(seen.order))


def propose_bins(seen: Tally) -> Bins:
    """About ten bins of similar size with round edges; the outer edges hide the extremes."""
    values, shares = seen.distribution
    cuts = quantiles(values, shares, [at / BINS for at in range(BINS + 1)])
    whole = float((values == np.floor(values)).all())
    lowest, highest = float(values[0]), float(values[-1])
    if not seen.complete:  # the range is known of all records, the values only of the first
        ends = [end for end in (seen.lowest, seen.highest) if end is not None and np.isfinite(end)]
        lowest, highest = min([lowest, *ends]), max([highest, *ends])
    wide = (highest - lowest) / BINS
    inner = set()
    for at in range(1, BINS):
        gap = (cuts[at + 1] - cuts[at - 1]) / ROUNDNESS or wide
        step = max(round_step(gap), whole)
        inner.add(round(cuts[at] / step) * step)
    step = max(round_step(wide), whole)
    low, high = _beyond(lowest, -step), _beyond(highest, step)
    edges = sorted({low, high} | {edge for edge in inner if low < edge < high})
    if len(edges) < 3:
        edges = [low, low + max(step, (high - low) // (2 * step) * step), high]
    edges = [tidy(edge) for edge in edges]
    if seen.lowest == -math.inf:
        edges.insert(0, -math.inf)
    if seen.highest == math.inf:
        edges.append(math.inf)
    return Bins(tuple(edges), integers=seen.whole)


ALMOST_ALL: Final = 0.01  # the share of values that a proposed range cuts at each end, at most


def proposed_range(name: str, seen: Tally) -> tuple[float, float] | None:
    """Round ends of almost all amounts, in steps of a tenth to a quarter; none of other columns.

    No end is the value of a single person, and few other tables would lead to other ends.
    """
    amounts = seen.kind in ("integer", "number") and seen.distinct > FEW_NUMBERS
    if not amounts or ObservedColumn(name, seen, seen.seen).are_codes:
        return None
    low, high = quantiles(*seen.distribution, [ALMOST_ALL, 1 - ALMOST_ALL])
    step = max(round_step((high - low) / 4), float(seen.whole))
    return (tidy(_beyond(low, -step)), tidy(_beyond(high, step))) if low < high else None


def _beyond(value: float, step: float) -> float:
    """The next multiple of ``step`` strictly beyond ``value``; zero stays, as a natural bound."""
    if value == 0 and step < 0:
        return 0.0
    beyond = (math.floor(value / step) + 1) * step
    return 0.0 if step < 0 < value and beyond < 0 else beyond


# -- columns that are released unchanged -----------------------------------------------------------
# An attacker who knows all unchanged columns of a person finds the person if nobody else has the
# same values. Columns are admitted one by one, as long as few people are found in this way. A
# number that would find more is admitted in steps, and what still finds more is dropped.

LEVELS: Final = (40, 20, 10, 5)  # about as many different values a number in steps has
SHARE_OF_REST: Final = 0.5
"""In its exact forms a column may find this share of those who may be found; then all of them."""

ENDS: Final = (0.05, 0.5, 0.95)  # steps divide the range between the outer two of these quantiles
BEYOND: Final = 20
SHARE_BEYOND: Final = 400
"""The fewest people, and one in how many, with numbers beyond the outermost steps."""

REMEDY: Final = (
    "To keep it, drop that key or merge these values of it, protect a file without these people, "
    "or state its range (--range), so that it is randomised as well."
)
MOST_SHIFT: Final = 0.1  # the mean may change by this share of the mean distance from the median
MOST_TO_ZERO: Final = 0.02  # of the amounts other than zero may become zero
MOST_COST: Final = 0.05  # the median relative change of the means by the keys
CELLS: Final = 2**26  # values of all columns that are looked at: those of the first records


@dataclass(frozen=True)
class Contribution:
    """What an unchanged column adds to the risk of the whole file.

    Attributes:
        before: people who are unique on the unchanged columns admitted before it.
        unique: people who are unique with it.
        people: people who were looked at.
        admitted: whether it is released.
        form: the steps to which it is rounded, if any.
        bins: its bins, each released as its middle, if steps would be too coarse.
        telling: a key that some of its released values disclose.
        cost: the median and the largest relative change of its means by the keys.
    """

    before: int
    unique: int
    people: int
    admitted: bool = True
    form: Recoding = NOTHING
    telling: Telling | None = None
    cost: tuple[float, float] | None = None
    bins: Bins | None = None

    @property
    def noteworthy(self) -> bool:
        """Whether it changes the risk, or the column."""
        return bool(self.unique or self.form or self.telling)

    @property
    def words(self) -> str:
        """The contribution in words."""
        if self.telling is not None:
            return f"{'' if self.admitted else 'dropped: '}{self.telling.sentence()} {REMEDY}"
        if not self.admitted:
            return gettext(
                "dropped: with it {unique:,} of {people:,} people are unique on the unchanged "
                "columns ({share}), without it {before:,}; name it as sensitive or key to keep it",
                unique=self.unique,
                people=self.people,
                share=numeral(percent_up(self.unique / self.people)),
                before=self.before,
            )
        coarse = f"{self.form.sentence()}; " if self.form else ""
        if self.bins is not None:
            coarse += gettext(
                "in {number} bins, about as wide as a share of the amount; ", number=self.bins.size
            )
        if self.cost is not None:
            usual, most = (numeral(percent_up(cost)) for cost in self.cost)
            coarse += gettext(
                "this changes means by the keys by {usual} in the median, at most {most}; ",
                usual=usual,
                most=most,
            )
        more = self.unique - self.before
        words = noop("it makes nobody else unique")
        if more:
            words = noop("it makes {more:,} more of {people:,} people unique")
        return coarse + gettext(words, more=more, people=self.people)


def contributions(
    table: OpenedTable,
    settled: Mapping[str, Recoding],
    candidates: Mapping[str, Recoding | None],
    tallies: Mapping[str, Tally],
    most: float,
    keys: Sequence[Column] = (),
) -> dict[str, Contribution]:
    """The contribution of each column, in this order; candidates are admitted if few are unique.

    Args:
        table: the original data.
        settled: columns that are released unchanged in any case, with their steps.
        candidates: columns that may be released, with their steps if some are stated.
        tallies: the values of each column.
        most: the share of people who may be unique.
        keys: columns that no value of a candidate may disclose.
    """
    names = [*settled, *candidates]
    if not names or not table.rows:
        return {}
    of_keys = [key.name for key in keys]
    some = table.first([*names, *of_keys], max(CELLS // (len(names) + len(keys)), 1))
    people = some.num_rows
    hidden = {key.name: HiddenKey.of(key, encode(key, some.column(key.name))) for key in keys}
    groups, before, made = np.zeros(people, np.int64), 0, dict[str, Contribution]()
    for name in names:
        column = some.column(name)
        rest = max(most * people - before, 0)
        stated = settled[name] if name in settled else candidates[name]
        forms = list(_forms(tallies[name])) if stated is None else [(stated, None)]
        telling: Telling | None = None
        uniques: list[int] = []
        best: tuple[Contribution, IntArray] | None = None
        for form, bins in forms:
            codes = _codes_in_steps(column, form, bins)
            disclosing = next(iter(worst_of(telling_values(name, codes, hidden))), None)
            telling = telling or disclosing
            cost = _cost(column, form, bins, hidden)
            unsuited = disclosing is not None or (cost is not None and cost[0] > MOST_COST)
            if unsuited and name not in settled:
                continue
            joined = joint_groups([groups, codes])
            uniques.append(int((np.bincount(joined) == 1).sum()))
            if name in settled or uniques[-1] <= before + rest:
                contribution = Contribution(
                    before, uniques[-1], people, form=form, telling=disclosing, cost=cost, bins=bins
                )
                best = contribution, joined
            if best is not None and (
                name in settled or uniques[-1] <= before + SHARE_OF_REST * rest
            ):
                break
        if best is not None:
            made[name], groups = best
            before = made[name].unique
        else:
            fewest, why = min(uniques, default=before), None if uniques else telling
            made[name] = Contribution(before, fewest, people, admitted=False, telling=why)
    return made


def _forms(seen: Tally) -> Iterator[tuple[Recoding, Bins | None]]:
    """The forms in which a column may be released, the most exact first: exact, in steps, in bins.

    Steps are round numbers, and ends are capped if few people are beyond. Caps that change the mean
    much are left out, and so are steps that set many amounts to zero.
    """
    yield NOTHING, None
    number = seen.kind in ("integer", "number") and seen.complete and seen.distinct > LEVELS[-1]
    values, shares = seen.distribution if number else (np.zeros(1), np.ones(1))
    people, (low, middle, high) = int(seen.numbers.sum()), quantiles(values, shares, ENDS)
    if not number or not low < high:
        return
    numbers = np.diff(shares, prepend=0.0)
    for levels in LEVELS:
        step = round_step((high - low) / levels)
        few = max(BEYOND, people / SHARE_BEYOND) / people
        ends = quantiles(values, shares, (few, 1 - few))
        bottom, top = np.floor(ends[0] / step) * step, np.ceil(ends[1] / step) * step
        form = Recoding(bottom=tidy(bottom), top=tidy(top), round=tidy(step))
        coarse = _in_steps(values, form)
        shift, amounts = float(numbers @ (coarse - values)), values != 0
        if float(numbers[amounts & (coarse == 0)].sum()) > MOST_TO_ZERO * numbers[amounts].sum():
            continue
        if abs(shift) <= MOST_SHIFT * float(numbers @ np.abs(values - middle)):
            yield form, None
    for levels in LEVELS:
        yield from _relative_bins(values, numbers, levels, few)


def _relative_bins(
    values: FloatArray, shares: FloatArray, levels: int, few: float
) -> Iterator[tuple[Recoding, Bins]]:
    """Bins whose widths grow with the amounts, one around zero; few people are in the top bin.

    The last edge makes the middle of the top bin the mean of its amounts.
    """
    positive = values > 0
    if float(shares[values < 0].sum()) > few or int(positive.sum()) < levels:
        return
    amounts, people = values[positive], shares[positive] / shares[positive].sum()
    low, high = quantiles(amounts, np.cumsum(people), (MOST_TO_ZERO / 2, max(1 - few, 0.5)))
    inner = np.geomspace(low, high, levels)
    digits = 10.0 ** (np.floor(np.log10(inner)) - 1)  # two leading digits
    edges = np.unique(np.round(inner / digits) * digits)
    above = amounts >= edges[-1]
    if len(edges) < LEVELS[-1] or not people[above].sum():
        return
    mean = float(amounts[above] @ people[above] / people[above].sum())
    top = max(2 * mean - float(edges[-1]), float(edges[-1]) * 1.01)
    digit = 10.0 ** (np.floor(np.log10(top)) - 2)
    top = tidy(np.ceil(top / digit) * digit)
    whole = [-tidy(edges[0]), *map(tidy, edges), top]
    yield Recoding(bottom=0, top=top), Bins(tuple(whole), release="centre")


def _cost(
    column: pa.ChunkedArray, form: Recoding, bins: Bins | None, keys: Mapping[str, HiddenKey]
) -> tuple[float, float] | None:
    """The median and the largest relative change of means by the keys, in groups of some records.

    Keys of a description have no values that stay, so that each record has a code.
    """
    if not form or not keys or not is_number(column.type):
        return None
    numbers = column.cast(pa.float64(), safe=False).to_numpy()
    there = np.isfinite(numbers)
    exact, coarse = numbers[there], _in_steps(numbers[there], form, bins)
    changes = [np.zeros(0)]
    for key in keys.values():
        codes = key.codes[there]
        sums = np.bincount(codes, exact, key.cells)
        groups = (np.bincount(codes, minlength=key.cells) >= BEYOND) & (sums != 0)
        changes.append(np.abs(np.bincount(codes, coarse, key.cells)[groups] / sums[groups] - 1))
    together = np.concatenate(changes)
    return (float(np.median(together)), float(together.max())) if len(together) else None


def _in_steps(numbers: FloatArray, form: Recoding, bins: Bins | None = None) -> FloatArray:
    low = -np.inf if form.bottom is None else form.bottom
    high = np.inf if form.top is None else form.top
    held = np.clip(numbers, low, high)
    if bins is not None:
        places = np.searchsorted(bins.edges[1:-1], held, side="right")
        return np.where(np.isnan(held), np.nan, np.asarray(bins.centres)[places])
    return held if form.round is None else np.floor(held / form.round + 0.5) * form.round


def _codes_in_steps(column: pa.ChunkedArray, form: Recoding, bins: Bins | None = None) -> IntArray:
    """A code for each record; numbers that one step holds have one."""
    if not form or not is_number(column.type):
        return value_codes(column)
    coded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    numbers = coded.dictionary.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    _, places = np.unique(_in_steps(numbers, form, bins), return_inverse=True, equal_nan=True)
    return np.asarray(places.ravel()[np.asarray(coded.indices, dtype=np.int64)], dtype=np.int64)
