"""Risk of the whole released file, and the colour of a release.

A guarantee covers the columns that are randomised. An attacker who knows a person also knows some
of the columns that are released unchanged, and no guarantee covers those. So uniqueness is measured
on subsets of the unchanged columns of the released file: an attacker who knows the values of a
subset finds every person who is unique on it.

Everything here is computed from the released file and its certificate, and may be published.
Columns with noise are left out: nobody can match their values. Of numbers that were drawn inside
bins only the bins count.

The worst subset of each width is searched for on ``SEARCHED`` records, by adding columns to the
worst subsets that are narrower. Released records are in random order, so the first ones are a
random sample. Then people are counted in the whole file. In files of more than ``COUNTED`` records
only records whose values have a small hash are counted: all with the same values, or none of them.

A value of an unchanged column that discloses a randomised key undoes its randomisation for all
people with this value (``schema/telling_values.py``). Without the original data, unbiased estimates
find such values if there are enough records. Keys drawn inside groups are counted directly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.base.randomness import GOLDEN_GAMMA, splitmix64
from pramana.base.rounding import share_bound
from pramana.base.text import json_fields, listed, percent_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import Notice, SingularMatrix, unheard
from pramana.guarantees.claims import lacks
from pramana.mechanisms.mechanism import (
    NOT_REPORTED,
    AttributeSampler,
    AttributeSet,
    Step,
    released_codes,
    reported_sets,
)
from pramana.release.certificate import Certificate, accepted_words
from pramana.schema.group_sizes import in_bins
from pramana.schema.households import households_of, people_in_identified_households
from pramana.schema.joint_cells import cell_codes, cell_numbers, joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable, value_type, words_of
from pramana.schema.schema import REPORTED, Column, Schema
from pramana.schema.telling_values import HiddenKey, Telling, telling_values, worst_of
from pramana.types import BoolArray, FloatArray, Form, IntArray, Words

SEARCHED: Final = 2**13
COUNTED: Final = 2**18

WIDEST: Final = 6
"""The most columns of a subset: attackers hardly know more about a person."""

BEAM: Final = 3
"""Subsets of each width to which further columns are added."""

JUDGED: Final = 2**16
"""Records that are searched for values that disclose a key."""

MOST_CELLS: Final = 2_000
"""Larger matrices are not inverted for this."""

CANDIDATES: Final = 40
"""Columns with the most values, of which subsets are made."""

NEARLY_UNIQUE: Final = 0.5
"""Share of people who are alone with their value of a column that is nearly unique."""

SUSPECT: Final = 0.4
"""The same share in the first records: it is larger there than in the whole file, up to chance."""

NO_K: Final = 0.05
"""Share of people who may be unique where no guarantee bounds a correct match: k = 20."""


HOUSEHOLD: Final = "found_with_household"
"""The entry of the certificate with the people who are found with their household."""

MOST_BY_CHANCE: Final = 0.5
"""Share of unique records that may be released unchanged by chance and be left out of account."""


MANY_ALONE: Final = 1000
"""Unique records, at least, whose number says how far a share may be from its average by chance: of
fewer it could be so far that records which were never changed went unnoticed."""


class Colour(StrEnum):
    """Whether a release can be published."""

    GREEN = "green"
    """Nothing contradicts the guarantees, and they cover what an attacker can plausibly know."""

    AMBER = "amber"
    """Nothing failed, but the guarantees are too narrow or missing."""

    RED = "red"
    """Do not publish."""


@dataclass(frozen=True)
class SubsetUniqueness:
    """How many people are found by their values of some unchanged columns.

    Attributes:
        columns: the columns that the attacker knows.
        unique: people who are unique on them.
        people: people who were counted.
    """

    columns: tuple[str, ...]
    unique: int
    people: int

    @property
    def share(self) -> float:
        """The share of people who are found."""
        return self.unique / self.people if self.people else 0.0

    def sentence(self) -> str:
        """The finding in words."""
        *names, last = self.columns
        if len(names) >= WIDEST:
            more = len(self.columns) - 3
            names, last = names[:3], gettext("{number} more columns", number=more)
        words = f"{', '.join(names)} {gettext('and')} {last}" if names else last
        return gettext(
            "An attacker who knows {columns} of a person finds {found} of {people} people "
            "({share}).",
            columns=words,
            found=numeral(f"{self.unique:,}"),
            people=numeral(f"{self.people:,}"),
            share=numeral(percent_up(self.share)),
        )

    def to_json(self) -> Form:
        """As JSON."""
        return json_fields(self)


@dataclass(frozen=True)
class FileRisk:
    """The risk of a whole released file.

    Attributes:
        records: the records of the file.
        columns: the unchanged columns that were looked at.
        identifiers: unchanged columns that are nearly unique and no amounts.
        subsets: the worst subset of each width, narrow ones first, and all columns that anyone may
            know.
        telling: unchanged columns with values that disclose a randomised key.
        household: people who live with somebody who is found, by the owner's count.
        together: all unchanged columns, where they are more than a subset has and find more people.
        by_chance: the share of unique records that would be released unchanged if the randomised
            columns had nothing to do with the others; 0 where it was not counted.
        alone: the unique records among which such equal ones were counted.
        sampled: whether people were counted in a sample of the file.
    """

    records: int
    columns: tuple[str, ...] = ()
    identifiers: tuple[SubsetUniqueness, ...] = ()
    subsets: tuple[SubsetUniqueness, ...] = ()
    sampled: bool = False
    telling: tuple[Telling, ...] = ()
    household: SubsetUniqueness | None = None
    together: SubsetUniqueness | None = None
    by_chance: float = 0.0
    alone: int = 0

    @property
    def worst(self) -> SubsetUniqueness | None:
        """The subset by which most people are found."""
        return max(self.subsets, key=lambda subset: subset.share, default=None)

    def beyond(self, bound: float) -> SubsetUniqueness | None:
        """The narrowest subset by which a larger share of people than the bound is found."""
        return next((subset for subset in self.subsets if subset.share > bound), None)

    def sentences(self) -> list[str]:
        """The findings in words."""
        if not self.columns:
            return [
                gettext(
                    "No column is released unchanged, so nobody is unique on unchanged columns."
                )
            ]
        lines = [telling.sentence() for telling in self.telling]
        lines += [subset.sentence() for subset in self.subsets]
        if self.household is not None:
            lines.append(household_words(self.household))
        if self.together is not None:
            lines.append(self.together.sentence())
        if self.sampled:
            lines.append(
                gettext(
                    "People were counted in a sample of the {records} records, each with all "
                    "records that have the same values.",
                    records=numeral(f"{self.records:,}"),
                )
            )
        return lines

    def to_json(self) -> Form:
        """As JSON."""
        together = "" if self.together is None else " together"
        together += "" if self.household is None else " household"
        return {"records": self.records, "unchanged_columns": list(self.columns)} | json_fields(
            self, f"identifiers subsets telling sampled{together}"
        )


def household_words(unique_homes: SubsetUniqueness) -> str:
    """People who are found with their household, in words."""
    return gettext(
        "Members of one household together are easier to find: {number} of {people} people "
        "({share}) live with somebody who is found, or are found (counted by the owner).",
        number=numeral(f"{unique_homes.unique:,}"),
        people=numeral(f"{unique_homes.people:,}"),
        share=numeral(percent_up(unique_homes.share)),
    )


@dataclass(frozen=True)
class Publishable:
    """The verdict on a release: a colour, and why in words."""

    colour: Colour
    sentence: str

    def to_json(self) -> Form:
        """As JSON."""
        return json_fields(self)


# -- the verdict -----------------------------------------------------------------------------------


def uniqueness_bound(certificate: Certificate) -> float:
    """The share of people who may be unique on unchanged columns: 1/k, alpha or xi.

    A k that nobody asked for may be next to none: it makes the bound smaller, never larger. A
    bound of 1, as of k = 1, bounds nothing.
    """
    asked, others = (
        [
            bound
            for claim in certificate.claims
            if (claim.asked is not None) == wanted
            for bound in (claim.attained.link_bound, claim.attained.suggests)
            if bound is not None and bound < 1
        ]
        for wanted in (True, False)
    )
    return min([*asked, *others] if asked else [*others, NO_K])


def verdict_of(
    certificate: Certificate, risk: FileRisk, *, failed: str = "", checked: bool = True
) -> Publishable:
    """The colour of a release, and why: the same in every place that shows one.

    Args:
        certificate: the certificate of the release.
        risk: the measured risk of its file.
        failed: what failed, in words: a check or a guarantee.
        checked: whether the release was verified.
    """
    if failed:
        reason = gettext("Do not publish: {reason}.", reason=failed)
        return Publishable(Colour.RED, reason)
    accepted = set(certificate.accepted_risk)
    identifiers = [column for column in risk.identifiers if column.columns[0] not in accepted]
    if identifiers:
        reason = gettext(
            "Do not publish: column {column} is released unchanged and identifies people.",
            column=identifiers[0].columns[0],
        )
        return Publishable(Colour.RED, f"{reason} {identifiers[0].sentence()}")
    reasons, worst = [], risk.worst
    if certificate.reproducible:
        reasons.append(gettext("Not for publication: the release was made with a seed, for tests."))
    if not certificate.claims:
        reasons.append(gettext("The release has no guarantee."))
    reasons += [
        gettext("The target {target} protects nobody.", target=claim.asked)
        for claim in certificate.claims
        if claim.asked is not None and (claim.attained.link_bound or 0) >= 1
    ]
    if not all(claim.holds for claim in certificate.claims):
        reasons.append(gettext("A guarantee is weaker than its target."))
    if certificate.accepted_risk:
        reasons.append(accepted_words(certificate.accepted_risk))
    beyond = [one.sentence() for one in risk.telling if one.column not in accepted]
    subset = risk.beyond(uniqueness_bound(certificate))
    if subset is not None:
        beyond.append(subset.sentence())
        if worst is not None and worst.unique > subset.unique:
            beyond.append(worst.sentence())
    if risk.household is not None and risk.household.share > uniqueness_bound(certificate):
        beyond.append(household_words(risk.household))
    beyond += _unchanged_words(certificate, risk)
    if beyond:
        reasons += [
            gettext("The guarantees do not cover all that an attacker can know."),
            *beyond,
        ]
    if not checked:
        reasons.append(gettext("The release was not verified yet: save it to a folder first."))
    if reasons:
        return Publishable(Colour.AMBER, " ".join(reasons))
    return Publishable(Colour.GREEN, _green_words(certificate, risk))


def _green_words(certificate: Certificate, risk: FileRisk) -> str:
    """The guarantees, and the risks that are below the limit, with the limit."""
    sentence = _guarantees_words(certificate)
    worst = risk.worst
    if not risk.columns:
        sentence += " " + gettext("Every released column is randomised.")
    elif worst is not None:
        bound = numeral(percent_up(uniqueness_bound(certificate)))
        limit = gettext("The limit by the guarantee is {bound}.", bound=bound)
        sentence += f" {worst.sentence()} {limit}"
        if risk.household is not None:
            sentence += f" {household_words(risk.household)}"
        if risk.together is not None:
            together = gettext("Nobody is assumed to know all of them:")
            sentence += f" {together} {risk.together.sentence()}"
    if risk.by_chance:
        sentence += " " + gettext(
            "Up to {share} of the unique records are released unchanged, and {chance} would be "
            "if keys were assigned at random.",
            share=numeral(percent_up(_unchanged_share(certificate))),
            chance=numeral(percent_up(risk.by_chance)),
        )
    return sentence


def usual_unchanged(bound: float, by_chance: float, records: int) -> float:
    """The share of unique records that may be released unchanged.

    Within groups a record keeps its keys with probability at most 1/k. Otherwise another record
    equals it with probability ``by_chance``, which discloses nothing about it.
    """
    return share_bound(bound + (1 - bound) * by_chance, records)


def _unchanged_words(certificate: Certificate, risk: FileRisk) -> tuple[str, ...]:
    """A sentence if more unique records are released unchanged than is usual.

    Fewer than are found by unchanged columns alone need none. The share is larger where members of
    a group have equal keys.
    """
    share = _unchanged_share(certificate)
    counted = risk.alone if risk.alone >= MANY_ALONE else risk.records
    usual = usual_unchanged(uniqueness_bound(certificate), risk.by_chance, counted)
    if share <= max(usual, 0.0 if risk.worst is None else risk.worst.share):
        return ()
    return (
        gettext(
            "Up to {share} of the records that are unique in the original data are released "
            "unchanged: an attacker who knows the keys and other columns of such a person finds "
            "the record.",
            share=numeral(percent_up(share)),
        ),
    )


def _unchanged_share(certificate: Certificate) -> float:
    stated = certificate.statistics.get("unchanged_records")
    return float(stated["unique_records_at_most"]) if stated else 0.0


def _guarantees_words(certificate: Certificate) -> str:
    """Which guarantees hold for anyone, and which only by the word of the owner."""
    asserted = [
        claim.name
        for claim in certificate.claims
        if lacks(type(claim.attained), certificate.evidence) is not None
    ]
    if not asserted:
        return gettext("The guarantees hold.")
    words = noop("{names} are asserted by the owner and cannot be recomputed from the release.")
    if len(asserted) == 1:
        words = noop("{names} is asserted by the owner and cannot be recomputed from the release.")
    sentence = gettext(words, names=listed(asserted).capitalize())
    if len(asserted) < len(certificate.claims):
        sentence += " " + gettext("The other guarantees hold.")
    return sentence


# -- the measure -----------------------------------------------------------------------------------


def file_risk(certificate: Certificate, released: OpenedTable) -> FileRisk:
    """Measure the uniqueness of people on the unchanged columns of a released file."""
    schema = certificate.true_schema
    columns = [c for c in schema.released_as_is if not c.noisy and c.name in released.schema.names]
    drawn = [column for column in columns if column.drawn]
    names = [column.name for column in columns]
    known = tuple(name for name in names if name in schema.known)
    risk = uniqueness(released, names, drawn=drawn, known=known)
    stated = certificate.statistics.get(HOUSEHOLD)
    household = None if stated is None else SubsetUniqueness((), stated["found"], stated["people"])
    telling = tuple(_telling(certificate, released, columns))
    risk = replace(risk, telling=telling, household=household)
    if _unchanged_words(certificate, risk):
        by_chance, alone = unchanged_by_chance(schema, released)
        risk = replace(risk, by_chance=by_chance, alone=alone)
    return risk


def count_households(schema: Schema, original: OpenedTable) -> dict[str, int] | None:
    """People who live with somebody who is unique on the worst unchanged columns, or are so.

    The released file does not show who lives with whom, so that only the owner can count this.
    """
    columns = [column for column in schema.released_as_is if not column.noisy]
    if schema.household is None or not columns or not original.rows:
        return None
    names = [column.name for column in columns]
    batch = _one_batch(original.first(names))
    words = [words_of(c) for c in in_bins(batch, [c for c in columns if c.drawn]).columns]
    first = [column[:SEARCHED] for column in words]
    worst = names if len(names) <= WIDEST else worst_subsets(names, first)[-1]
    values = joint_groups([words[names.index(name)] for name in worst])
    people = people_in_identified_households(households_of(original, schema.household), values)
    return {"found": people, "people": original.rows}


def _telling(
    certificate: Certificate, released: OpenedTable, columns: Sequence[Column]
) -> list[Telling]:
    """Unchanged columns with values that disclose a key, by the first released records."""
    randomised = [c for c in certificate.true_schema.randomised if not c.gridded]
    names = [column.name for column in (*columns, *randomised)]
    names += [REPORTED] if REPORTED in released.schema.names else []
    if not columns or not set(names) <= set(released.schema.names) or not released.rows:
        return []
    some = pa.Table.from_batches([_one_batch(released.first(names, JUDGED))])
    keys = _hidden_keys(certificate, some, randomised)
    drawn = [column for column in columns if column.drawn]
    binned = pa.Table.from_batches([in_bins(_one_batch(some), drawn, released=True)])
    return worst_of(
        telling
        for column in columns
        for telling in telling_values(column.name, value_codes(binned.column(column.name)), keys)
    )


def _hidden_keys(
    certificate: Certificate, some: pa.Table, randomised: Sequence[Column]
) -> dict[str, HiddenKey]:
    """Released keys, each with the inverse of the matrix of its step, where there is one."""
    mechanism = certificate.mechanism
    if mechanism is None:
        groups = {c.name: joint_groups([value_codes(some.column(c.name))]) for c in randomised}
        return {name: HiddenKey(codes, int(codes.max()) + 1) for name, codes in groups.items()}
    labels = {column.name: column.labels for column in randomised}
    codes = {c.name: released_codes(mechanism, c, some) for c in randomised}
    parts: Sequence[Step | AttributeSet] = mechanism.steps
    sets = None
    if isinstance(mechanism, AttributeSampler):
        parts, sets = mechanism.sets, reported_sets(mechanism, some)
    keys = dict[str, HiddenKey]()
    for number, part in enumerate(parts):
        matrix = part.matrix
        if matrix is None or matrix.size > MOST_CELLS or not labels.keys() >= set(part.columns):
            continue
        there = np.ones(some.num_rows, np.bool_) if sets is None else sets == number
        sizes = [len(labels[name]) for name in part.columns]
        of_cells = cell_codes([labels[name] for name in part.columns], part.cells)
        place = np.zeros(math.prod(sizes), np.int64)
        place[cell_numbers(list(of_cells), sizes)] = np.arange(matrix.size)
        cells = np.full(some.num_rows, NOT_REPORTED, np.int64)
        cells[there] = place[cell_numbers([codes[name][there] for name in part.columns], sizes)]
        if len(part.columns) == 1:  # values that are never randomised are not hidden
            key = certificate.true_schema.column(part.columns[0])
            shown = [matrix.labels.index(label) for label in key.fixed if label in matrix.labels]
            cells[np.isin(cells, shown)] = NOT_REPORTED
        with suppress(SingularMatrix):  # such values cannot be estimated by anyone
            for name, size, values in zip(part.columns, sizes, of_cells, strict=True):
                if name not in keys or there.sum() > (keys[name].codes >= 0).sum():
                    inverse = matrix.inverse @ np.eye(size)[values]
                    keys[name] = HiddenKey(cells, matrix.size, inverse)
    return keys


def unchanged_by_chance(schema: Schema, released: OpenedTable) -> tuple[float, int]:
    """The share of unique records that equal a record by chance, and the number of unique records.

    A record has two parts: its randomised columns and the others. If f of n records have its first
    part, g its second, and both parts are independent, f g / n records equal it on average. Shares
    above one half become 0, because they would hide unchanged records. Large tables are left out.
    """
    parts = [
        [column.name for column in schema.released if column.randomised == randomised]
        for randomised in (True, False)
    ]
    if not all(parts) or released.rows > COUNTED:
        return 0.0, 0
    codes = [joint_groups([_words_of(released, name) for name in part]) for part in parts]
    both = joint_groups(codes)
    alone = np.bincount(both)[both] == 1
    first, second = (np.bincount(code)[code][alone].astype(np.float64) for code in codes)
    share = float(-np.expm1(-first * second / released.rows).mean()) if alone.any() else 0.0
    return (share if share <= MOST_BY_CHANCE else 0.0), int(alone.sum())


def _words_of(table: OpenedTable, name: str) -> Words:
    return np.concatenate([words_of(batch.column(0)) for batch in table.batches([name])])


def uniqueness(
    table: OpenedTable,
    names: Sequence[str],
    *,
    drawn: Sequence[Column] = (),
    known: tuple[str, ...] = (),
) -> FileRisk:
    """Measure the uniqueness of records on some columns of a table in random order.

    Args:
        table: the released records.
        names: the columns that are released unchanged.
        drawn: the columns of which only the bins are known.
        known: the columns that anyone may know, however many they are.
    """
    if not names or not table.rows:
        return FileRisk(table.rows)
    first = in_bins(_one_batch(table.first(names, SEARCHED)), drawn, released=True)
    words = [words_of(column) for column in first.columns]
    suspects = [
        name for name, column in zip(names, words, strict=True) if share_alone(column) >= SUSPECT
    ]
    everything = tuple(names)
    searched = [*worst_subsets(names, words), known if len(known) > WIDEST else ()]
    counts = count_unique(table, {*filter(None, searched), everything}, drawn=drawn)
    widening: list[SubsetUniqueness] = []  # subsets that find more people than all narrower ones
    for wider in sorted(filter(None, searched), key=len):
        if not widening or counts[wider].unique > widening[-1].unique:
            widening.append(counts[wider])
    most = max((subset.unique for subset in widening), default=0)
    together = counts[everything]
    return FileRisk(
        records=table.rows,
        columns=everything,
        identifiers=identifiers(table, suspects),
        subsets=tuple(widening),
        sampled=table.rows > COUNTED,
        together=together if len(names) > WIDEST and together.unique > most else None,
    )


def identifiers(table: OpenedTable, suspects: Sequence[str]) -> tuple[SubsetUniqueness, ...]:
    """The suspects that are nearly unique in the whole table and no amounts."""
    counted = count_unique(table, [(name,) for name in suspects]).values() if suspects else ()
    nearly_unique = [column for column in counted if column.share >= NEARLY_UNIQUE]
    return tuple(column for column in nearly_unique if not is_amount(table, column.columns[0]))


def share_alone(words: Words) -> float:
    """The share of values that occur once."""
    return _unique_of((), np.sort(words)).share


def worst_subsets(names: Sequence[str], words: Sequence[Words]) -> list[tuple[str, ...]]:
    """For each width the subset of columns on which most records are unique."""
    codes = [np.unique(column, return_inverse=True)[1].astype(np.int64) for column in words]
    sizes = [int(column.max(initial=0)) + 1 for column in codes]
    places = sorted(range(len(names)), key=lambda place: (-sizes[place], place))[:CANDIDATES]
    beam: list[tuple[tuple[int, ...], IntArray]] = [((), np.zeros(len(words[0]), np.int64))]
    worst = list[tuple[str, ...]]()
    for _ in range(min(WIDEST, len(places))):
        uniques: dict[tuple[int, ...], tuple[int, int, IntArray]] = {}
        for subset, classes in beam:
            for place in places:
                wider = tuple(sorted({*subset, place}))
                if len(wider) == len(subset) or wider in uniques:
                    continue
                _, of_record, counts = np.unique(
                    classes * sizes[place] + codes[place], return_inverse=True, return_counts=True
                )
                uniques[wider] = int((counts == 1).sum()), len(counts), of_record.astype(np.int64)
        ranked = sorted(uniques, key=lambda wider: (-uniques[wider][0], -uniques[wider][1], wider))
        worst.append(tuple(names[place] for place in ranked[0]))
        if uniques[ranked[0]][0] == len(words[0]):
            break  # everybody is unique
        beam = [(wider, uniques[wider][2]) for wider in ranked[:BEAM]]
    return worst


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def count_unique(
    table: OpenedTable, subsets: Iterable[tuple[str, ...]], *, drawn: Sequence[Column] = ()
) -> dict[tuple[str, ...], SubsetUniqueness]:
    """Count the records of a table that are unique on each subset of columns."""
    wanted = list(subsets)
    names = sorted({name for subset in wanted for name in subset})
    binned = [column for column in drawn if column.name in names]
    if table.rows > COUNTED:  # each text is hashed once, which takes half the time
        with unheard(Notice):
            table = table.fitted(coded=[n for n in names if n not in {c.name for c in drawn}])
    function = partial(_small_hashes, wanted, names, binned, _limit(table.rows))
    parts = [*table.summaries(function, names, by_part=True)]
    return {
        subset: _unique_of(subset, np.sort(np.concatenate(hashes)))
        for subset, hashes in zip(wanted, zip(*parts, strict=True), strict=True)
    }


def _small_hashes(
    subsets: Sequence[tuple[str, ...]],
    names: Sequence[str],
    binned: Sequence[Column],
    limit: np.uint64,
    batches: Iterable[pa.RecordBatch],
) -> list[Words]:
    """For each subset of columns the hashes of the records that are at most ``limit``."""
    kept: list[list[Words]] = [[np.zeros(0, np.uint64)] for _ in subsets]
    for batch in batches:
        values = in_bins(batch, binned, released=True)
        spread = {
            name: spread_words(words_of(values.column(name)), place)
            for place, name in enumerate(names, start=1)
        }
        for subset, parts in zip(subsets, kept, strict=True):
            total = np.zeros(batch.num_rows, np.uint64)
            for name in subset:
                total += spread[name]
            parts.append(total[total <= limit])
    return [np.concatenate(parts) for parts in kept]


def _limit(records: int) -> np.uint64:
    """Hashes up to it are those of about ``COUNTED`` records."""
    return np.uint64(2**64 - 1 if records <= COUNTED else 2**64 * COUNTED // records)


def spread_words(words: Words, place: int) -> Words:
    """Words spread over all 64 bits, in another way for each column."""
    return splitmix64(words + np.uint64(place * int(GOLDEN_GAMMA) % 2**64))


def _unique_of(subset: tuple[str, ...], ordered: Words) -> SubsetUniqueness:
    alone: BoolArray = np.ones(len(ordered), np.bool_)
    same = ordered[1:] == ordered[:-1]
    alone[1:] &= ~same
    alone[:-1] &= ~same
    return SubsetUniqueness(subset, int(alone.sum()), len(ordered))


FRACTION_OF_AMOUNTS: Final = 0.01
DIGITS: Final = 7
EXPECTED_TIES, SIGMAS = 10, 4


def is_amount(table: OpenedTable, name: str) -> bool:
    """Whether a nearly unique column is an amount, such as an income, and no identifier.

    Texts and dates are no amounts. Numbers with fractions are. Whole numbers are amounts if they
    repeat as often as numbers do that chance drew: numbers that somebody assigned repeat less. Of
    numbers too few to tell, those are identifiers that never repeat and have ``DIGITS`` digits.
    """
    kind = value_type(table.schema.field(name).type)
    if pa.types.is_decimal(kind):
        return True
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return False
    parts = table.summaries(partial(_numbers, _limit(table.rows)), [name], by_part=True)
    sizes, fractions, lows, highs, sampled = zip(*parts, strict=True)
    records, low, high = sum(sizes), min(lows), max(highs)
    if not records or sum(fractions) > FRACTION_OF_AMOUNTS * records:
        return True
    width, looked_at = high - low + 1, np.concatenate(sampled)
    ties = len(looked_at) - len(np.unique(looked_at))
    expected = len(looked_at) * (1 + width * math.expm1(-records / width) / records)
    if expected >= EXPECTED_TIES:
        return bool(ties >= expected - SIGMAS * math.sqrt(expected))
    digits = [len(str(abs(int(value)))) for value in (low, high)]
    return ties > 0 or digits[0] < DIGITS or digits[0] != digits[1]


def _numbers(
    limit: np.uint64, batches: Iterable[pa.RecordBatch]
) -> tuple[int, int, float, float, FloatArray]:
    """How many numbers, how many with fractions, the least, the largest, and a sample."""
    parts: list[FloatArray] = [np.zeros(0)]
    for batch in batches:
        numbers = np.asarray(batch.column(0).cast(pa.float64(), safe=False).drop_null())
        parts.append(numbers[np.isfinite(numbers)])
    values = np.concatenate(parts)
    sampled = values[spread_words(values.view(np.uint64), 0) <= limit]
    low, high = values.min(initial=math.inf), values.max(initial=-math.inf)
    return len(values), int((values % 1 != 0).sum()), float(low), float(high), sampled
