"""The question that an analyst asks of a release: table, filter, level of the intervals, weights.

A filter selects records by their original values. Numbers may have been recoded before the release:
binned, capped, rounded. A released number lies in the right bin and says nothing more. Shares at
the edges of bins are exact. A mean, a total or a quantile may be wrong by the width of a bin, and a
limit between two edges is refused.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, TypeAlias

from pramana.base.rounding import require_choice, require_number
from pramana.base.text import counted
from pramana.base.translation import gettext, noop
from pramana.engine.base import NOTHING, Condition, Operator, number_in
from pramana.errors import InputError, InvalidNumber, NotCovered
from pramana.mechanisms.transition import Label
from pramana.schema.domains import Bins, label_key, label_text
from pramana.schema.recoding import Recoding
from pramana.schema.schema import Column, Replicates, Schema

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate


Inference = Literal["records", "population"]
"""About these records (randomisation only), or about the population that they were drawn from."""

CountMethod = Literal["auto", "unbiased", "clipped", "shrunk"]
METHODS: tuple[CountMethod, ...] = ("auto", "unbiased", "clipped", "shrunk")


@dataclass(frozen=True)
class Question:
    """Which table is estimated, from which records, with which intervals.

    Attributes:
        by: The columns of the table.
        where: Which records, by their original values.
        level: The probability with which an interval holds.
        infer: ``records`` or ``population``.
        simultaneous: Whether all intervals of a table hold together with that probability.
        weighted: Whether the weights of the release are used, where it has any.
        replicates: Columns of replicate weights for errors about the population.
        beyond: Replaces the values of a column by whether they lie beyond a number.
        method: Whether means are ``unbiased`` or ``shrunk``; ``auto`` is the better of them.
    """

    by: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    level: float = 0.95
    infer: Inference = "records"
    simultaneous: bool = False
    weighted: bool = True
    replicates: Replicates | None = None
    beyond: Condition | None = None
    method: CountMethod = "auto"

    def __post_init__(self) -> None:
        require_number("level", self.level, low=0, high=1, low_open=True, high_open=True)
        require_choice("infer", self.infer, ("records", "population"))
        require_choice("method", self.method, METHODS)
        if not all(isinstance(name, str) for name in self.by):
            raise InputError("Columns are asked for by their names, as in crosstab('sex', 'age').")
        if len(set(self.by)) < len(self.by):
            raise InvalidNumber("Each column must be asked for once.")

    @property
    def names(self) -> tuple[str, ...]:
        """All columns of the table and of the filter."""
        return (*self.by, *(condition.column for condition in self.where))

    def about_records(self) -> Question:
        """Return the same question about these records alone."""
        return replace(self, infer="records")

    def z(self, numbers: int) -> float:
        """The Normal quantile, for a table of this many numbers."""
        return quantile(self.level, numbers=numbers if self.simultaneous else 1)


@dataclass(frozen=True)
class Rounded:
    """What an estimate is, for the errors of rounded weights.

    Attributes:
        kind: A count or total, a mean or share beyond a number, a share of counts, a quantile.
        of: The column of values, if there is one.
        beyond: The number that values are compared with.
        place: The column within which shares are taken; of all where there is none.
        shares: Which quantiles.
    """

    kind: Literal["total", "mean", "share", "quantile"]
    of: str | None = None
    beyond: Condition | None = None
    place: int | None = None
    shares: tuple[float, ...] = ()

    @property
    def bounds(self) -> tuple[float, float]:
        """Within which the number lies: a count is at least 0, a share at most 1."""
        share = self.kind == "share" or self.beyond is not None
        least = 0.0 if share or (self.kind == "total" and self.of is None) else -math.inf
        return least, 1.0 if share else math.inf


USUAL = Question()
"""Intervals at 95 % about these records, each for itself."""


def quantile(level: float, *, numbers: int = 1) -> float:
    """The Normal quantile of a two-sided interval, for one number or for many at once.

    Many at once: all ``numbers`` intervals hold together with probability ``level`` or more,
    whatever the correlation of the estimates [Sidak].

    >>> round(quantile(0.95), 3), round(quantile(0.95, numbers=10), 3)
    (1.96, 2.8)
    """
    require_number("level", level, low=0, high=1, low_open=True, high_open=True)
    return NormalDist().inv_cdf((1 + level ** (1 / max(numbers, 1))) / 2)


def students(z: float, degrees: float) -> float:
    """Student's quantile at the same probability, for an error with few degrees of freedom.

    >>> round(students(quantile(0.95), 19), 3), round(students(quantile(0.95), math.inf), 3)
    (2.093, 1.96)
    """
    from scipy.special import stdtrit

    return z if math.isinf(degrees) else float(stdtrit(degrees, NormalDist().cdf(z)))


Where: TypeAlias = Mapping[str, Label | Sequence[Label]] | Sequence[str] | None
"""A filter: ``{"sex": "F", "age": ["[20, 30)", "[30, 40)"]}`` or ``["sex=F", "income>=50000"]``.

``"sex=F and income>=50000"`` joins comparisons, and ``sex == "F"`` is read as well.

In the first spelling ``None`` is missing and ``""`` an empty text; in the second, ``sex=`` is both,
and ``sex=missing``, as tables print it, is missing or that word.
"""

COMPARISONS: tuple[Operator | Literal["=="], ...] = ("!=", "<=", ">=", "==", "=", "<", ">")

JOINED = re.compile(r"\s+and\s+|\s*&\s*")
"""Between two comparisons; inside a value it is part of the value."""


def conditions_of(where: Where) -> tuple[Condition, ...]:
    """A filter in either spelling as comparisons."""
    if where is None:
        return ()
    if isinstance(where, Mapping):
        lists = {
            name: tuple(value) if isinstance(value, list | tuple | set) else (value,)
            for name, value in where.items()
        }
        return tuple(Condition(name, "=", values) for name, values in lists.items())
    texts = [where] if isinstance(where, str) else where
    return tuple(_parsed(part) for text in texts for part in _comparisons(text))


def _comparisons(text: str) -> list[str]:
    """``sex=F and age=old`` as two comparisons; ``trade=bed and breakfast`` is one."""
    start, parts = 0, []
    for joint in JOINED.finditer(text):
        sides = text[start : joint.start()], text[joint.end() :]
        closed = sides[0].count('"') % 2 == 0
        if closed and all(any(sign in side for sign in COMPARISONS) for side in sides):
            parts.append(sides[0])
            start = joint.end()
    return [*parts, text[start:]]


def _parsed(text: str) -> Condition:
    """``sex=F``, ``region=north|south``, ``income>=50000``."""
    signs = [(text.find(sign), -len(sign), sign) for sign in COMPARISONS if sign in text]
    if not signs or min(signs)[0] == 0:
        raise InvalidNumber(
            "A filter must read like sex=F, region=north|south or income>=50000, got {text!r}.",
            text=text,
        )
    place, length, sign = min(signs)
    values: tuple[Label, ...] = tuple(
        part[1:-1] if len(part) > 1 and part[0] == part[-1] and part[0] in "\"'" else part
        for part in map(str.strip, text[place - length :].split("|"))
    )
    if sign == "==":
        sign = "="
    if NOTHING & set(values):  # on a command line these are both texts and none
        values = (*values, None)
    return Condition(text[:place].strip(), sign, values if sign in ("=", "!=") else values[:1])


COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def meets(label: Label, condition: Condition, column: Column) -> bool:
    """Whether a label of a randomised column passes; numbers and bins have an order."""
    if condition.comparison not in ("=", "!="):
        return _lies_beyond(label, condition, column)
    keys = {label_key(value) for value in condition.values}
    known = {label_key(label) for label in column.labels}
    nothing = NOTHING & keys
    if nothing and None in keys and known & {*nothing, None}:
        keys -= {*nothing, None} - known
    unknown = keys - known
    if unknown:
        raise InvalidNumber(
            "{values} of the filter on '{column}' {count} none of its labels: {listed}.",
            column=column.name,
            values=counted(len(unknown), "value"),
            count="is" if len(unknown) == 1 else "are",
            listed=_listed(column, 6),
        )
    return (label_key(label) in keys) == (condition.comparison == "=")


def _lies_beyond(label: Label, condition: Condition, column: Column) -> bool:
    """Whether a number, or all of a bin, passes; edges were checked before."""
    if column.gridded:
        raise NotCovered(
            "'{column}' is rounded to a grid by chance: no record is known to lie beyond a "
            "number. Ask for the share of records beyond it (proportion).",
            column=column.name,
        )
    domain, missing = column.domain, (None, *column.labels_for_missing)
    present = [label for label in column.labels if label not in missing]
    if not isinstance(domain, Bins) and not all(
        isinstance(value, int | float) for value in present
    ):
        raise NotCovered(
            "'{column}' is randomised and holds no numbers: filter it by = or != and its labels "
            "({listed}).",
            column=column.name,
            listed=_listed(column, 4),
        )
    if label not in present:
        return False
    limit = number_in(label_text(condition.values[0]), column.name)
    if isinstance(domain, Bins):
        lower, upper = domain.edges[present.index(label) :][:2]
        return lower >= limit if condition.comparison in (">", ">=") else upper <= limit
    return COMPARE[condition.comparison](float(str(label)), limit)


def _listed(column: Column, most: int) -> str:
    """The first labels, and dots where there are more."""
    names = [label_text(label) or "missing" for label in column.labels]
    return ", ".join(names if len(names) <= most else [*names[:most], "..."])


MOST = 6


def require_comparable(schema: Schema, conditions: Iterable[Condition]) -> None:
    """Refuse comparisons that divide bins, or values that were capped."""
    for condition in conditions:
        if condition.comparison in ("=", "!=") or condition.column not in schema.names:
            continue
        column, comparison = schema.column(condition.column), condition.comparison
        try:
            limit = float(label_text(condition.values[0]))
        except ValueError:
            continue  # no number: refused where it is compared
        if isinstance(column.domain, Bins) and (column.binned or column.randomised):
            edges, last = column.domain.edges, column.domain.edges[-1]
            beyond = limit < edges[0] or limit > last
            inner = limit in edges[:-1] and comparison in (">=", "<")  # edges begin a bin
            if not (beyond or inner or (limit == last and comparison in (">", "<="))):
                shown = ", ".join(label_text(edge) for edge in edges[:MOST])
                more = ", ..." if len(edges) > MOST else ""
                raise NotCovered(
                    "'{column}' was released in bins, which say on which side of an edge a value "
                    "lies: compare it by >= or < with one of {shown}{more}.",
                    column=column.name,
                    shown=shown,
                    more=more,
                )
        elif not column.randomised:
            top, bottom = column.recoding.top, column.recoding.bottom
            at_top, at_bottom = comparison in (">", "<="), comparison in ("<", ">=")
            above = top is not None and (limit > top or (limit == top and at_top))
            below = bottom is not None and (limit < bottom or (limit == bottom and at_bottom))
            if above or below:
                raise NotCovered(
                    "'{column}' was recoded ({sentence}): values beyond are equal in the release. "
                    "Compare it with a number inside.",
                    column=column.name,
                    sentence=_cut(column.recoding).sentence(),
                )


def of_values(estimate: Estimate, column: Column) -> Estimate:
    """A number made of the values of a column: without an error where they are those of bins."""
    if not (column.binned and isinstance(column.domain, Bins)):
        return replace(estimate, why=f"{estimate.why}{recoded_words([column])}")
    place = (
        gettext("a number drawn in each bin") if column.drawn else gettext("the centre of each bin")
    )
    return estimate.without_interval(
        gettext(
            "'{column}' was released in bins, and its values may lie anywhere in them. "
            "Ask for shares of the bins: by {column}, or >= one of their edges.",
            column=column.name,
        ),
        method="as released",
        why=gettext("{place} represents the values in it.", place=place),
    )


def what_of(column: str, *, total: bool) -> str:
    """What a table of a mean or a total estimates, in words."""
    words = noop("total of {column}") if total else noop("mean of {column}")
    return gettext(words, column=column)


def recoded_words(columns: Iterable[Column]) -> str:
    """How values were recoded before the release, where numbers made of them depend on it."""
    recoded = {
        column.name: _cut(column.recoding).sentence()
        for column in columns
        if not column.randomised or column.gridded
    }
    words = "; ".join(f"{name}, {how}" for name, how in recoded.items() if how)
    return gettext(" As released: {words}.", words=words) if words else ""


def require_values(response: Iterable[Column], covariates: Iterable[Column]) -> None:
    """Refuse a model of values of which only bins were released.

    A covariate in bins may be represented by their centres, as a randomised one, or by its labels.
    """
    for column in (*response, *(covariate for covariate in covariates if covariate.drawn)):
        if column.binned:
            raise NotCovered(
                "'{column}' was released in bins, so that there is no model of its values. Ask "
                "for shares of the bins by groups: share='row' of a table by {column}.",
                column=column.name,
            )


def _cut(recoding: Recoding) -> Recoding:
    """What was done to the values themselves, without codes, dates and noise."""
    return Recoding(bottom=recoding.bottom, top=recoding.top, round=recoding.round)
