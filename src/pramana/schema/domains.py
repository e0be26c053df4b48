"""Domains: the values that a column can take, as categories or bins, and their labels.

A domain is declared before the data are read, so that neither the matrix nor the release discloses
which values occurred. A value and a label are the same if their texts are equal. The text of a
whole number is its digits (1 and 1.0 are both ``1``), of any other number its shortest decimal
form, of a truth value ``true`` or ``false``. Text is itself: the code ``01`` is not the number 1.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

from pramana.base.rounding import as_whole
from pramana.base.translation import gettext
from pramana.errors import InvalidSchema
from pramana.types import Form

if TYPE_CHECKING:
    from pramana.schema.schema import Schema


Label: TypeAlias = str | int | float | bool | None
BinRelease: TypeAlias = Literal["label", "centre", "draw"]

RELEASES: tuple[BinRelease, ...] = ("label", "centre", "draw")


def label_text(label: Label) -> str:
    """The text by which a label is recognised.

    >>> label_text(1), label_text(1.0), label_text("01"), label_text(True), label_text(2.5)
    ('1', '1', '01', 'true', '2.5')
    """
    if label is None:
        return ""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def label_key(label: Label) -> str | None:
    """What tells labels apart: the text, or ``None`` for missing, which is no text, not even "".

    >>> label_key(1.0), label_key(""), label_key(None), label_key(math.nan)
    ('1', '', None, None)
    """
    absent = label is None or (isinstance(label, float) and math.isnan(label))
    return None if absent else label_text(label)


@dataclass(frozen=True)
class Categories:
    """Listed values. ``ordered`` says that their order means something.

    ``missing_values`` are those by which a survey says why there is none: each is a value of its
    own, after the others, and none of them is counted among them.

    >>> Categories(("F", "M")).labels
    ('F', 'M')
    >>> Categories((1, 2), missing_values=(8, 9)).labels
    (1, 2, 8, 9)
    """

    values: tuple[Label, ...]
    ordered: bool = False
    missing_values: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "missing_values", tuple(self.missing_values))
        require(self.values, "categories", "Categories must list at least one value, got none.")
        require(
            not any(label_key(v) is None or v in (math.inf, -math.inf) for v in self.labels),
            "categories",
            "Categories must be text, finite numbers or true and false; the entry 'missing' "
            "covers missing values.",
        )
        require_text("categories", self.labels)
        doubles = _doubles(self.values)
        require(
            not doubles,
            "categories",
            "Categories must differ, got {doubles} listed more than once "
            '(1, 1.0 and "1" are the same category). List each once.',
            doubles=doubles,
        )
        require(
            not _doubles(self.labels),
            "missing_values",
            "missing_values must differ from each other and from the categories.",
        )

    @property
    def size(self) -> int:
        """How many values there are, without codes for missing."""
        return len(self.values)

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The values in the declared order, then the codes for missing."""
        return self.values + self.missing_values

    @property
    def missing_labels(self) -> tuple[Label, ...]:
        """The labels of codes for missing."""
        return self.missing_values

    def to_dict(self) -> Form:
        """The entries of a column in a schema file."""
        return _without_empty(
            categories=list(self.values),
            ordered=self.ordered,
            missing_values=list(self.missing_values),
        )

    @cached_property
    def by_text(self) -> dict[str, Label]:
        """The labels by their texts."""
        return {label_text(label): label for label in self.labels}


LONGEST_CELL: Final = 2**32
"""Steps between two points of a grid: weights of rounding are quotients of 64-bit integers."""

MOST_POINTS: Final = 100_000

MOST_STEPS: Final = 2**52
"""Steps from the first point to the last: whole numbers up to here have halves."""


@dataclass(frozen=True)
class NumberGrid(Categories):
    """A number that is rounded by chance to one of the ``values``, and randomised as that one.

    Numbers are multiples of ``step`` from the first point on; others count as the nearest multiple.
    One that lies k of n steps above a point becomes the next point with probability k / n, so that
    its expectation is itself (docs/proofs/numbers.md).

    >>> NumberGrid((0, 10, 20)).chances(12), NumberGrid.even(0, 100, 5, step=5).labels
    (((10, 14757395258967641293), (20, 3689348814741910323)), (0, 25, 50, 75, 100))
    """

    step: float = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "ordered", True)
        _require_numbers("points", (*self.values, *self.missing_values))
        _require_numbers("step", (self.step,))
        super().__post_init__()
        steps = [self._steps_to(point) for point in self.values]
        gaps = [high - low for low, high in pairwise(steps)]
        require(
            gaps and min(gaps) > 0 and all(at.denominator == 1 for at in steps),
            "points",
            "A grid must have at least two rising points, at multiples of "
            "{label_text} above the first.",
            label_text=label_text(self.step),
        )
        require(
            max(gaps) < LONGEST_CELL and steps[-1] <= MOST_STEPS,
            "step",
            "Points of a grid must lie less than {longest_cell:,} steps apart, and all within "
            "{most_steps:,}. Give a coarser step.",
            longest_cell=LONGEST_CELL,
            most_steps=MOST_STEPS,
        )
        low, high = self.values[0], self.values[-1]
        require(
            not any(low <= code <= high for code in self.missing_values),  # type: ignore[operator]
            "missing_values",
            "Missing values of a grid must lie outside its range: else a released number would "
            "be ambiguous.",
        )

    @classmethod
    def even(
        cls,
        low: float,
        high: float,
        points: int,
        *,
        step: float = 1,
        missing_values: Sequence[Label] = (),
    ) -> NumberGrid:
        """This many points from ``low`` to ``high``, as even as steps allow."""
        _require_numbers("range", (low, high))
        _require_numbers("step", (step,))
        _require_numbers("grid", (points,))
        start, width = _fraction(low), _fraction(step)
        whole = (_fraction(high) - start) / width
        require(
            whole.denominator == 1,
            "range",
            "range must be whole steps of {label_text} wide.",
            label_text=label_text(step),
        )
        most = min(int(whole) + 1, MOST_POINTS)
        require(
            points == int(points) and 2 <= points <= most,
            "grid",
            "grid must be a number of points from 2 to {most:,}, got {points!r}: no more than "
            "there are steps.",
            most=most,
            points=points,
        )
        marks = (round(whole * at / (int(points) - 1)) for at in range(int(points)))
        exact = (start + mark * width for mark in marks)
        return cls(
            tuple(int(point) if point.denominator == 1 else float(point) for point in exact),
            missing_values=tuple(missing_values),
            step=step,
        )

    def _steps_to(self, number: Label) -> Fraction:
        return (_fraction(number) - _fraction(self.values[0])) / _fraction(self.step)

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """How many steps each point lies above the first."""
        return tuple(int(self._steps_to(point)) for point in self.values)

    def chances(self, steps: int) -> tuple[tuple[Label, int], ...]:
        """The points that a number this many steps above the first can become, of 2**64 words."""
        at = max(place for place, mark in enumerate(self.marks) if mark <= steps)
        above = steps - self.marks[at]
        if not above:
            return ((self.values[at], 2**64),)
        up = above * 2**64 // (self.marks[at + 1] - self.marks[at])
        return (self.values[at], 2**64 - up), (self.values[at + 1], up)

    def to_dict(self) -> Form:
        """The entries of a column in a schema file."""
        return _without_empty(
            points=list(self.values),
            step=self.step,
            release="grid",
            missing_values=list(self.missing_values),
        )


def _require_numbers(entry: str, numbers: Sequence[Label]) -> None:
    """Refuse values that are not finite numbers, and steps that are not above 0."""
    for number in numbers:
        require(
            _is_finite(number),
            entry,
            "{name} must be finite numbers, got {number!r}.",
            name=entry,
            number=number,
        )
        if entry == "step":
            require(number > 0, entry, "step must be above 0, got {number!r}.", number=number)  # type: ignore[operator]


def _fraction(number: Label) -> Fraction:
    """A number as it is written: 0.1 is a tenth."""
    return Fraction(label_text(number))


@dataclass(frozen=True)
class Bins:
    """A number cut at ``edges``: [e0, e1), [e1, e2), ..., the last one closed at both ends.

    ``release`` says what is published: the bin's label, its centre, or a number drawn
    uniformly inside it. ``missing_values`` are numbers by which a survey says why there is none:
    they lie in no bin, and each is a separate value. ``names`` are labels that the steward
    gives, one a bin. ``integers`` says that the number is a whole one, such as years of age: the
    centre of [20, 30) is then that of 20 to 29.

    >>> Bins((20, 30, 40)).labels
    ('[20, 30)', '[30, 40]')
    >>> Bins((20, 30, 40), missing_values=(98, 99)).labels
    ('[20, 30)', '[30, 40]', '98', '99')
    >>> Bins((0, 18, 120), names=("child", "adult")).labels
    ('child', 'adult')
    >>> Bins((0, 18, 121)).centres, Bins((0, 18, 120), integers=True).centres
    ((9.0, 69.5), (8.5, 69.0))
    """

    edges: tuple[float, ...]
    release: BinRelease = "label"
    missing_values: tuple[Label, ...] = ()
    names: tuple[str, ...] = ()
    integers: bool = False

    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("edges", "missing_values", "names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        known = ", ".join(RELEASES)
        require(
            self.release in RELEASES,
            "release",
            "release must be one of {known}, got {release!r}.",
            known=known,
            release=self.release,
        )
        edges, codes = self.edges, self.missing_values
        require(
            all(map(_is_number, edges)),
            "bins",
            "Bins must be given by numbers, the edges in rising order.",
        )
        require(
            len(edges) > 1, "bins", "Bins need at least two edges, got {count}.", count=len(edges)
        )
        require(
            all(low < high for low, high in pairwise(edges)),  # nan is refused too
            "bins",
            "Edges of bins must rise strictly, or bins overlap.",
        )
        require(
            self.release == "label" or all(map(math.isfinite, edges)),
            "release",
            'release = "{release}" needs finite edges. Close the outer bins, or use "label".',
            release=self.release,
        )
        require(
            not _doubles(codes) and all(map(_is_finite, codes)),
            "missing_values",
            "Missing values of bins must be finite numbers, each listed once.",
        )
        inside = any(edges[0] <= code <= edges[-1] for code in codes)  # type: ignore[operator]
        require(
            self.release == "label" or not inside,
            "release",
            'release = "{release}" needs missing values outside the bins: else a released '
            'number would mean both. Use "label".',
            release=self.release,
        )
        if self.names:
            require_text("labels", self.labels)
            require(
                len(self.names) == self.size
                and all(map(is_name, self.names))
                and not _doubles(self.labels),
                "labels",
                "Labels of bins must be different texts, one for each of {size} bins.",
                size=self.size,
            )
            require(
                self.release == "label",
                "labels",
                'Labels of bins are released with release = "label" only.',
            )

    @property
    def size(self) -> int:
        """How many bins there are, without codes for missing."""
        return len(self.edges) - 1

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """One text a bin, such as ``[20, 30)``, and one a code for missing."""
        texts = [label_text(edge) for edge in self.edges]
        bins = [f"[{low}, {high})" for low, high in pairwise(texts)]
        bins[-1] = bins[-1][:-1] + "]"
        return (*(self.names or bins), *self.missing_labels)

    @property
    def missing_labels(self) -> tuple[Label, ...]:
        """The labels of codes for missing."""
        return tuple(label_text(code) for code in self.missing_values)

    @property
    def words(self) -> tuple[str, ...]:
        """The bins as people read them.

        >>> Bins((15, 20, 30.5)).words, Bins((-math.inf, 18, math.inf)).words
        (('15 to under 20', '20 to 30.5'), ('under 18', '18 or more'))
        """
        if self.names:
            return self.names
        words = []
        for low, high in pairwise(self.edges):
            if high == math.inf:
                words.append(gettext("{low} or more", low=f"{low:.12g}"))
            elif low == -math.inf:
                words.append(gettext("under {high}", high=f"{high:.12g}"))
            else:
                words.append(
                    gettext("{low} to {high}", low=f"{low:.12g}", high=f"{high:.12g}")
                    if high == self.edges[-1]
                    else gettext("{low} to under {high}", low=f"{low:.12g}", high=f"{high:.12g}")
                )
        return tuple(words)

    @cached_property
    def centres(self) -> tuple[float, ...]:
        """The middle of each bin, or of the integers in it; integers where all are whole."""
        middles = []
        for at, (low, high) in enumerate(pairwise(self.edges), start=1):
            if self.integers and math.isfinite(low) and math.isfinite(high):
                first = math.ceil(low)
                last = math.floor(high) if at == self.size else math.ceil(high) - 1
                low, high = (first, last) if first <= last else (low, high)
            middles.append(low + (high - low) / 2)
        whole = all(middle.is_integer() for middle in middles)
        return tuple(int(middle) if whole else middle for middle in middles)

    def to_dict(self) -> Form:
        """The entries of a column in a schema file."""
        return _without_empty(
            bins=list(self.edges),
            release=self.release,
            labels=list(self.names),
            integers=self.integers,
            missing_values=list(self.missing_values),
        )

    @cached_property
    def by_text(self) -> dict[str, Label]:
        """The labels by their texts."""
        return {str(label): label for label in self.labels}


def is_name(name: object) -> bool:
    """Whether it is a text that can name something."""
    return isinstance(name, str) and bool(name)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: Label) -> bool:
    return _is_number(value) and math.isfinite(value)  # type: ignore[arg-type]


def _doubles(labels: Sequence[Label]) -> int:
    """How many labels have the text of another one."""
    return len(labels) - len({label_text(label) for label in labels})


def require(holds: object, entry: str, text: str, column: str | None = None, **fields: Any) -> None:
    """Refuse an entry of a schema, of a column where one is named, unless something holds."""
    if not holds:
        raise InvalidSchema(text, column=column, entry=entry, **fields)


def require_text(entry: str, labels: Iterable[Label]) -> None:
    """Refuse texts with half of a character, which no file can hold."""
    require(
        not any(isinstance(label, str) and SURROGATE.search(label) for label in labels),
        entry,
        "{name} must be text that UTF-8 can encode, and one holds half of a character.",
        name=entry,
    )


def _without_empty(**entries: object) -> Form:
    """Entries of a schema file: no empty lists, and flags that are set."""
    return {name: value for name, value in entries.items() if value not in ([], False)}


Domain: TypeAlias = Categories | Bins


def find_label(domain: Domain, label: Label) -> Label:
    """The domain's own label of the same text; raises ``KeyError`` where there is none.

    >>> find_label(Categories((1, 2)), "2")
    2
    """
    return domain.by_text[label_text(label)]


MISSING = "missing"
SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Labels:
    """Labels of columns and values, measurement levels, and codes for missing."""

    variables: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[Label, str]] = field(default_factory=dict)
    measures: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)

    def of_columns(self, names: Collection[str]) -> Labels:
        """What is said about some columns and their values, whole numbers as such."""
        return Labels(
            {name: text for name, text in self.variables.items() if name in names},
            {
                name: {as_whole(value): text for value, text in texts.items()}
                for name, texts in self.values.items()
                if name in names and texts
            },
        )

    def released(
        self, schema: Schema, occurring: Callable[[str], Collection[Label | None]]
    ) -> Labels:
        """The labels that a release may show, in the order of the values.

        A label of a value that is neither in the domain nor in the release would disclose that it
        occurred. A number with noise has no label.
        """
        variables, values, measures = {}, {}, {}
        for column in schema.released:
            name = column.name
            if name in self.variables:
                variables[name] = self.variables[name]
            if name in self.measures:
                measures[name] = self.measures[name]
            if not self.values.get(name) or column.noisy:
                continue
            shown: Collection[Label] = occurring(name)
            if column.domain is not None and (column.coded or column.listed):
                shown = {*column.domain.labels, *column.domain.missing_values}
            in_order = sorted(
                self.values[name].items(), key=lambda item: (isinstance(item[0], str), item[0])
            )
            texts = {value: text for value, text in in_order if value in shown}
            if texts:
                values[name] = texts
        return Labels(variables, values, measures)

    def with_missing_values(self, schema: Schema) -> Labels:
        """The labels with the values that the schema lists as missing, as they are released."""
        values, missing = dict(self.values), {}
        for column in schema.released:
            domain = column.domain
            if domain is None or not domain.missing_values or not (column.coded or column.listed):
                continue
            by_name = isinstance(domain, Bins) and domain.release == "label"
            codes = domain.missing_labels if by_name else domain.missing_values
            missing[column.name] = codes
            if column.name in values:
                spelled = dict(zip(domain.missing_values, codes, strict=True))
                named = values[column.name].items()
                values[column.name] = {spelled.get(value, value): text for value, text in named}
        return replace(self, values=values, missing=missing)

    def title(self, column: str) -> str:
        """The label of a column with its name; the name alone where there is none.

        >>> Labels({"q1": "Sex of the respondent"}).title("q1")
        'Sex of the respondent (q1)'
        """
        label = self.variables.get(column, "").strip()
        return f"{label} ({column})" if label and label != column else column

    def named(self, column: str, values: Iterable[Label]) -> tuple[str, ...]:
        """Values in words: labels where there are any; what would read alike also has its code.

        >>> Labels(values={"q1": {1: "Man", 2: "Woman", 3: "Woman"}}).named("q1", (1, 2, 3, None))
        ('Man', 'Woman (2)', 'Woman (3)', 'missing')
        """
        codes, words = self._codes_and_words(column, values)
        words = [word or code for code, word in zip(codes, words, strict=True)]
        often = Counter(words)
        return tuple(
            f"{word} ({code})" if often[word] > 1 and (word != code or code == MISSING) else word
            for word, code in zip(words, codes, strict=True)
        )

    def codes_with_labels(self, column: str, values: Iterable[Label]) -> tuple[str, ...]:
        """Codes, each with its label where there is one.

        >>> Labels(values={"q1": {1: "Man", "b": "b"}}).codes_with_labels("q1", (1, 2, "b", None))
        ('1 Man', '2', 'b', 'missing')
        """
        codes, words = self._codes_and_words(column, values)
        return tuple(
            f"{code} {word}" if word and word != code else code
            for word, code in zip(words, codes, strict=True)
        )

    def _codes_and_words(self, column: str, values: Iterable[Label]) -> tuple[list[str], list[str]]:
        """Values as texts, and their labels; empty where there is none."""
        texts = {label_key(value): text for value, text in self.values.get(column, {}).items()}
        codes = [MISSING if value is None else label_text(value) for value in values]
        return codes, [texts.get(code, "").strip() for code in codes]

    def __bool__(self) -> bool:
        return bool(self.variables or self.values or self.missing)
