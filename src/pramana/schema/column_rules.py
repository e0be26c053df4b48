"""Rules for the role of one column: what its name, its label and its values suggest.

``NUMBER_RULES`` and ``TEXT_RULES`` are tried in order; the first that applies gives the role and
the reason. ``column_words.toml`` lists the words. Rules err on the safe side: what might name a
person is dropped, what a stranger might know is randomised, and the steward decides.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np

from pramana.base.translation import gettext, noop
from pramana.schema.roles import Role
from pramana.schema.tally import Tally, quantiles
from pramana.types import FloatArray, Form

FEW_NUMBERS: Final = 20  # distinct numbers up to which each is a category
FEW_TEXTS: Final = 100  # distinct texts up to which they are surely categories
FEW_CODES: Final = 100  # whole numbers up to here may be codes of something, and are no amounts
MANY_TEXTS: Final = 1_000  # and up to which they may be, if each is frequent
FREQUENT: Final = 20
SPARSE: Final = 3  # times as many numbers lie between codes as occur
WORDS: Final = 5  # of a text that somebody wrote
KOLMOGOROV: Final = 1.63  # over the root of n: how far even numbers stray once in a hundred samples
NEARLY: Final = 0.9  # of the records have a value of their own
EVENLY: Final = 0.1  # of the range is how far row numbers of a sample stray from even steps
LONG: Final = 7  # digits of a number that names a person or a file
SHARED: Final = 4  # records hold a value of a column of codes, on average
LONG_TAIL: Final = 10  # times the middle half is where the tail of an amount reaches
BODY_WEIGHTS: Final = (2.0, 250.0)  # kilograms or pounds
LARGEST_HOUSEHOLD: Final = 25
FEWER_TIES, EXPECTED_TIES = 0.05, 10
"""The share of the equal pairs, or of the gaps, that chance would give, and the fewest of these."""
WEIGHT_SPREAD: Final = (0.2, 2.0)  # standard deviation of sampling weights as a share of their mean
ROUND_WEIGHTS: Final = 0.2  # the largest share of weights that end with a zero
MOST_PEOPLE: Final = 1e10
NEARLY_ONE: Final = 1e-3
SHORT_LABEL: Final = 6
"""Words of a label that names a column; longer ones are questions about something."""
PLACES: Final = 2  # the rank of places among what strangers see

# -- words -----------------------------------------------------------------------------------------


@cache
def _word_lists() -> Form:
    return tomllib.loads(files("pramana.schema").joinpath("column_words.toml").read_text())


@cache
def words_of(kind: str) -> re.Pattern[str]:
    """The words of a kind in ``column_words.toml``."""
    return re.compile("|".join(_word_lists()[kind]))


@cache
def _visible() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """What strangers see of a person, most visible first: words in names, and in labels."""
    lists = _word_lists()["visible"]
    return [(re.compile("|".join(e["names"])), re.compile("|".join(e["labels"]))) for e in lists]


def snake_case(name: str) -> str:
    """The name in small letters, with an underscore between its words.

    >>> snake_case("TotalWeight (kg)")
    'total_weight_kg_'
    """
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def visible_rank(name: str, label: str = "") -> int | None:
    """The place of a column among what strangers see, by its name or its short label."""
    words = snake_case(label)
    short = words if 0 < len(words.strip("_").split("_")) <= SHORT_LABEL else ""
    for rank, (named, labelled) in enumerate(_visible()):
        if named.search(name.lower()) or (short and labelled.search(short)):
            return rank
    return None


def is_visible(name: str, label: str = "") -> bool:
    """Whether a column is called, or labelled, as what strangers see."""
    return visible_rank(name, label) is not None


def of_one_kind(name: str, other: str) -> bool:
    """Whether two columns are called as the same visible thing, or one after the other.

    >>> of_one_kind("occupation", "occupation_group"), of_one_kind("region", "income")
    (True, False)
    """
    short, long = sorted(map(snake_case, (name, other)), key=len)
    same = is_visible(name) and visible_rank(name) == visible_rank(other)
    return long.startswith(f"{short}_") or same


# -- the values of a column ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObservedColumn:
    """A column as rules see it: its name, its label and its values."""

    name: str
    tally: Tally
    records: int
    label: str = ""

    @cached_property
    def words(self) -> str:
        """The name as patterns are searched in it."""
        return snake_case(self.name)

    @cached_property
    def label_words(self) -> str:
        """The label as patterns are searched in it."""
        return snake_case(self.label)

    @cached_property
    def values(self) -> FloatArray:
        """The finite numbers in order."""
        return self.tally.distribution[0]

    @property
    def distinct(self) -> int:
        """How many values it has."""
        return self.tally.distinct

    @property
    def amount(self) -> str:
        """How many values it has, in words."""
        words = "{number:,}" if self.tally.complete else noop("more than {number:,}")
        return gettext(words, number=self.distinct)

    @property
    def many(self) -> bool:
        """Whether there are too many numbers to be categories."""
        return self.distinct > FEW_NUMBERS

    @property
    def present(self) -> int:
        """Records that were looked at and have a value."""
        tally = self.tally
        seen = min(tally.seen, self.records)
        return max(seen - tally.missing if tally.complete else tally.seen, 1)

    def named(self, kind: str) -> bool:
        """Whether its name has a word of a kind."""
        return words_of(kind).search(self.words) is not None

    def labelled(self, kind: str) -> bool:
        """Whether its label has a word of a kind."""
        return words_of(kind).search(self.label_words) is not None

    def called(self, *kinds: str) -> bool:
        """Whether its name or its label has a word of one of these kinds."""
        return any(words_of(kind).search(f"{self.words}_{self.label_words}") for kind in kinds)

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every record has a different value."""
        return self.distinct >= NEARLY * self.present

    @property
    def is_free_text(self) -> bool:
        """Whether texts are written by people: long, and hardly ever the same."""
        if self.tally.kind != "text" or not self.distinct:
            return False
        texts = self.tally.values.slice(0, FREQUENT * FREQUENT).to_pylist()
        words = float(np.mean([len(text.split()) for text in texts]))
        return words >= WORDS and self.distinct > max(FEW_TEXTS, self.records / FREQUENT)

    @cached_property
    def row_number(self) -> str:
        """Why it numbers the records; empty where it does not."""
        tally = self.tally
        if not tally.whole:
            return ""
        if self.named("row_numbers"):
            return gettext("its name suggests a row number")
        width = (tally.highest or 0) - (tally.lowest or 0) + 1
        if self.nearly_unique and width <= 2 * tally.distinct:
            return gettext("nearly every value is unique")
        values = self.values
        if tally.distinct < max(self.present, FEW_CODES) or values[0] < 0:
            return ""
        even = np.linspace(values[0], values[-1], len(values))
        strays = min(EVENLY, KOLMOGOROV / math.sqrt(len(values))) * (values[-1] - values[0])
        if np.abs(values - even).max() <= strays:
            return gettext("no value occurs twice, like row numbers")
        lengths = np.bincount(np.floor(np.log10(np.maximum(values, 1))).astype(np.int64) + 1)
        usual = int(lengths.argmax())
        if usual >= LONG and lengths[usual] > NEARLY * len(values):
            words = noop("no value occurs twice, and nearly all have {number} digits")
            return gettext(words, number=usual)
        return ""

    @cached_property
    def shares_less_than_chance(self) -> bool:
        """Whether far fewer records share a number than if numbers were drawn evenly."""
        tally = self.tally
        if not tally.complete or not tally.whole or self.values[0] < 0:
            return False
        values = self.values
        numbers = tally.numbers.astype(np.float64)
        step = float(np.gcd.reduce(np.diff(values).astype(np.int64)))
        possible = (values[-1] - values[0]) / step + 1
        records = float(numbers.sum())
        expected = records * (records - 1) / 2 / possible
        equal = float((numbers * (numbers - 1) / 2).sum())
        return bool(expected >= EXPECTED_TIES and equal <= FEWER_TIES * expected)

    @property
    def numbers_households(self) -> bool:
        """Whether numbers count small groups: of numbers of households hardly any is left out."""
        tally = self.tally
        largest = int(tally.numbers.max(initial=0))
        if not tally.complete or not tally.whole or largest > LARGEST_HOUSEHOLD:
            return False
        values = self.values
        possible = float(values[-1] - values[0] + 1)
        expected = possible * math.exp(-float(tally.numbers.sum()) / possible)
        return expected >= EXPECTED_TIES and possible - len(values) <= FEWER_TIES * expected

    @property
    def has_long_tail(self) -> bool:
        """Whether few numbers are far larger than the others, as amounts of money are."""
        low, middle, high, top = quantiles(*self.tally.distribution, (0.25, 0.5, 0.75, 0.99))
        return top - middle > LONG_TAIL * max(high - low, (top - middle) / 100, 1e-300)

    @property
    def lies_as_body_weights(self) -> bool:
        """Whether numbers lie where the weights of bodies do."""
        lowest, highest = quantiles(*self.tally.distribution, (0.05, 0.95))
        return BODY_WEIGHTS[0] <= lowest and highest <= BODY_WEIGHTS[1]

    @cached_property
    def are_codes(self) -> bool:
        """Whether whole numbers are codes: by name, or as few of the numbers between them occur."""
        tally = self.tally
        several = FEW_NUMBERS < tally.distinct <= MANY_TEXTS
        if not several or not tally.whole or tally.seen < SHARED * tally.distinct:
            return False
        if words_of("codes").search(self.name.lower()):
            return True
        values = self.values
        if values[0] < 0 or not tally.complete:
            return False
        gaps = np.diff(values)
        step = float(np.gcd.reduce(gaps.astype(np.int64)))
        return bool(values[-1] - values[0] > SPARSE * step * len(values) and np.median(gaps) > step)

    @property
    def is_measure(self) -> bool:
        """Whether numbers are too many to be categories, no codes, and no ages or births."""
        number = self.tally.kind in ("integer", "number") and self.many
        return number and not self.are_codes and not self.named("born")

    def behaves_as_weight(self) -> str:
        """Why numbers look as if they weighed answers; empty where they do not.

        Weights are above zero, unequal by about their own size, seldom round, and sum up to a
        population, or to the records where they were scaled so. Measures of bodies are not so
        spread; amounts are round, have zeros, or would be of more people than there are. What is
        called an amount or a measure is one.
        """
        tally, values = self.tally, self.values
        called = self.called("bodies", "measures", "health", "money", "quantities")
        if not tally.complete or called or is_visible(self.words) or tally.missing:
            return ""
        numbers = tally.numbers[np.argsort(tally.values.to_numpy(zero_copy_only=False))]
        if len(values) <= FEW_NUMBERS or len(values) != len(numbers) or values[0] <= 0:
            return ""
        total, people = float(values @ numbers), float(numbers.sum())
        mean = total / people
        spread = math.sqrt(float((values - mean) ** 2 @ numbers) / people) / mean
        round_share = float(numbers[values % 10 == 0].sum()) / people  # a tenth by chance
        if not WEIGHT_SPREAD[0] <= spread <= WEIGHT_SPREAD[1] or round_share > ROUND_WEIGHTS:
            return ""
        whole = bool((values == np.floor(values)).all())
        scaled = not whole and abs(mean - 1) < NEARLY_ONE
        off = np.abs(values - np.round(values, 2)) > 1e-9 * np.maximum(np.abs(values), 1)
        fine = not whole and float(numbers[off].sum()) > people / 2
        counts = whole and len(values) > FEW_CODES
        sums_to_population = 2 * self.records <= total <= MOST_PEOPLE
        if not scaled and not ((fine or counts) and sums_to_population):
            return ""
        sums = noop(
            "positive, unequal, seldom round, related to no other number, and they sum up to "
            "{total:,.0f}, like weights"
        )
        mean_one = noop(
            "positive, unequal, seldom round, related to no other number, and their mean is one, "
            "like weights"
        )
        return gettext(mean_one if scaled else sums, total=total)


def visibility(column: ObservedColumn, *, place: bool = False) -> float:
    """How easily people are recognised by a column: what strangers see, then what tells most.

    ``place`` says that it behaves as codes of places do, whatever it is called.
    """
    rank = visible_rank(column.name, column.label)
    rank = PLACES if place and rank is None else rank
    seen = len(_visible()) - rank if rank is not None else 0
    return 10.0 * seen + min(column.tally.entropy, 9.0)


# -- rules -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposal:
    """A role with its reason; whether the column is a place, or numbers households."""

    role: Role
    why: str
    place: bool = False
    household: bool = False


class Rule(NamedTuple):
    """A role, why it is proposed, and when; the reason may name properties of the column."""

    role: Role
    why: str
    applies: Callable[[ObservedColumn], bool]


def _differs(c: ObservedColumn) -> bool:
    return c.many and not c.named("money") and c.shares_less_than_chance


def _hardly_shared(c: ObservedColumn) -> bool:
    measured = c.named("born") or c.named("bodies")
    return c.distinct > FEW_CODES and c.distinct * SHARED > c.records and not measured


def _identifier(c: ObservedColumn) -> bool:
    return c.distinct > FEW_CODES and c.named("identifiers") and c.tally.whole


def _design(c: ObservedColumn) -> bool:
    return c.named("design") or (c.many and c.labelled("labelled_design"))


def _of_bodies(c: ObservedColumn) -> bool:
    return c.called("bodies", "measures")


IDENTIFIER_NAME: Final = "its name suggests an identifier"

ANY_RULES: Final = (
    Rule(
        Role.DROPPED,
        "name or label suggest data about the collection of answers: dropped",
        lambda c: c.called("paradata"),
    ),
    Rule(Role.PUBLIC, "it holds no values", lambda c: not c.distinct),
    Rule(Role.PUBLIC, "it holds a single value", lambda c: c.distinct == 1),
)
NUMBER_RULES: Final = (
    Rule(
        Role.IDENTIFIER,
        IDENTIFIER_NAME,
        lambda c: _differs(c) and _identifier(c),
    ),
    Rule(Role.IDENTIFIER, "{reason}", lambda c: _differs(c) and bool(c.row_number)),
    Rule(Role.IDENTIFIER, "fewer records share a value than expected by chance", _differs),
    Rule(
        Role.WEIGHT,
        "its name suggests weights",
        lambda c: not _of_bodies(c) and c.named("weights"),
    ),
    Rule(
        Role.WEIGHT,
        "its label suggests weights",
        lambda c: c.many and not _of_bodies(c) and c.labelled("labelled_weights"),
    ),
    Rule(Role.SENSITIVE, "its name suggests private information", lambda c: c.named("health")),
    Rule(
        Role.SENSITIVE,
        "its name suggests money, and it has many values",
        lambda c: c.many and c.named("money"),
    ),
    Rule(Role.IDENTIFIER, IDENTIFIER_NAME, _identifier),
    Rule(
        Role.DROPPED,
        "a unit or stratum of the sample design, which discloses places: dropped",
        _design,
    ),
    Rule(Role.KEY, "it has few values ({distinct})", lambda c: not c.many),
    Rule(Role.IDENTIFIER, "{reason}", lambda c: bool(c.row_number)),
    Rule(
        Role.SENSITIVE,
        "it has many values with a long tail, like amounts",
        lambda c: c.distinct > FEW_CODES and c.has_long_tail,
    ),
    Rule(Role.KEY, "{amount} codes without order: consider merging them", lambda c: c.are_codes),
    Rule(Role.SENSITIVE, "hardly any records share a value, like amounts", _hardly_shared),
    Rule(Role.KEY, "a number with many values ({amount}): bins proposed", lambda _: True),
)
TEXT_RULES: Final = (
    Rule(
        Role.IDENTIFIER,
        IDENTIFIER_NAME,
        lambda c: (
            c.tally.kind == "text"
            and c.named("identifiers")
            and (c.distinct >= FEW_NUMBERS or c.named("persons"))
        ),
    ),
    Rule(Role.IDENTIFIER, "free text, which may name people: dropped", lambda c: c.is_free_text),
    Rule(
        Role.IDENTIFIER,
        "nearly every value is unique",
        lambda c: c.nearly_unique and c.many,
    ),
    Rule(
        Role.SENSITIVE,
        "its name suggests private information",
        lambda c: c.named("health") or c.named("money"),
    ),
    Rule(
        Role.DROPPED,
        "a unit or stratum of the sample design, which discloses places: dropped",
        _design,
    ),
    Rule(Role.KEY, "it has few values ({distinct})", lambda c: c.distinct <= FEW_TEXTS),
    Rule(
        Role.KEY,
        "it has {distinct} frequent values: consider merging them",
        lambda c: c.distinct <= MANY_TEXTS and c.records >= FREQUENT * c.distinct,
    ),
    Rule(
        Role.DROPPED,
        "it has {amount} values, too many to randomise: dropped unless it is coarsened",
        lambda _: True,
    ),
)


def propose_role(column: ObservedColumn) -> Proposal:
    """The role that the name, the label and the values of a column suggest."""
    number = column.tally.kind in ("integer", "number")
    rules = (*ANY_RULES, *(NUMBER_RULES if number else TEXT_RULES))
    rule = next(rule for rule in rules if rule.applies(column))
    fields = {"amount": column.amount, "distinct": column.distinct, "reason": ""}
    if "{reason}" in rule.why:
        fields["reason"] = column.row_number
    return Proposal(rule.role, gettext(rule.why, **fields))
