"""Find values of an unchanged column that disclose the value of a randomised one.

A column may predict a key badly on average, although one of its values determines it: everybody
above 65 has "not applicable", and all children have a missing income. Each value is therefore
examined separately, and so are missing ones. A value discloses a key if nearly everybody with this
value has one of few values of the key, and few other people have them.

Original records are counted. For released records, the inverse of the matrix gives unbiased counts
of the key, and only values with a small standard error are used. Key values that only one person
with the value has are left out: by chance, people with a rare value have few of many key values
(Good and Turing).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pramana.base.text import counted, json_fields, percent_up
from pramana.base.translation import gettext, noop, numeral
from pramana.schema.schema import Column
from pramana.types import Codes, FloatArray, Form, IntArray

FEWEST: Final = 20
"""Records of a value that is judged."""

CERTAIN: Final = 0.98
"""Share of the holders of a value who have the few values of the key."""

RARE_ONE: Final = 1 / 2
RARE_SOME: Final = 1 / 3
"""Share of all people who may have the disclosed value of the key, or the several ones."""

NOTICED: Final = 0.01
"""Least share of people with values that disclose a key; smaller shares are not reported."""

PRECISE: Final = 0.02
"""Standard error of an estimated share of holders, at most: it may lie two of them lower."""

MOST_COUNTS: Final = 2**24


class HiddenKey(NamedTuple):
    """A randomised column as it is seen: original codes, or released codes with their inverse.

    Attributes:
        codes: the code of each record, -1 where the record reports none.
        cells: how many codes there are.
        inverse: from released codes (rows) to values of the key; ``None`` for original codes.
    """

    codes: IntArray
    cells: int
    inverse: FloatArray | None = None

    @classmethod
    def of(cls, key: Column, codes: Codes) -> HiddenKey:
        """Original codes of a key, without the values that are released unchanged anyway."""
        shown = np.isin(codes, [key.labels.index(label) for label in key.fixed])
        return cls(np.where(shown, -1, codes.astype(np.int64)), len(key.labels))


@dataclass(frozen=True)
class Telling:
    """Values of a column that disclose a key.

    Attributes:
        column: the unchanged column.
        key: the randomised one.
        values: how many values of the column tell it.
        left: the values of the key that are left, at most.
        of: all values of the key.
        people: the people who hold a value that tells.
        records: all people.
        missing: whether only missing values tell it.
    """

    column: str
    key: str
    values: int
    left: int
    of: int
    people: int
    records: int
    missing: bool = False

    @property
    def share(self) -> float:
        """The share of people whose key is disclosed."""
        return self.people / self.records

    def sentence(self) -> str:
        """The finding, without any value of the table."""
        words = noop(
            "{column} gives {key} away for {people} of {records} people ({share}): at {values} of "
            "{column}, nearly all people have one of only {left} of the {of} values of {key}."
        )
        if self.left == 1:
            words = noop(
                "{column} gives {key} away for {people} of {records} people ({share}): at {values} "
                "of {column}, nearly all people have the same one of the {of} values of {key}."
            )
        return gettext(
            words,
            column=self.column,
            key=self.key,
            people=numeral(f"{self.people:,}"),
            records=numeral(f"{self.records:,}"),
            share=numeral(percent_up(self.share)),
            values=counted(self.values, "value"),
            left=self.left,
            of=self.of,
        )  # fmt: skip

    def to_json(self) -> Form:
        """As JSON."""
        return json_fields(self)


def telling_values(name: str, values: IntArray, keys: Mapping[str, HiddenKey]) -> Iterator[Telling]:
    """The keys that values of a column tell; ``values`` are codes, -1 for a missing value.

    >>> income, age = np.repeat([-1, 0, 0], 100), HiddenKey(np.repeat([0, 1, 2], 100), 3)
    >>> [one.sentence() for one in telling_values("income", income, {"age": age})]
    ['income gives age away for 100 of 300 people (33.4 %): ...']
    """
    distinct, places = np.unique(values, return_inverse=True)
    holders = np.bincount(places.ravel())
    frequent = np.flatnonzero(holders >= FEWEST)
    judged = np.full(len(distinct), -1)
    judged[frequent] = np.arange(len(frequent))
    rows = judged[places.ravel()]
    for key, hidden in keys.items():
        if not len(frequent) or len(frequent) * hidden.cells > MOST_COUNTS:
            continue
        known = (rows >= 0) & (hidden.codes >= 0)
        cells = rows[known] * hidden.cells + hidden.codes[known]
        counts = np.bincount(cells, minlength=len(frequent) * hidden.cells)
        counts = counts.reshape(len(frequent), hidden.cells)
        reported = hidden.codes[hidden.codes >= 0]
        everybody = np.bincount(reported, minlength=hidden.cells).astype(np.float64)
        left = _values_left(np.asarray(counts, np.float64), everybody, hidden.inverse)
        telling = np.flatnonzero(left)
        people = int(holders[frequent[telling]].sum())
        if people >= NOTICED * len(values) and people:
            yield Telling(
                name, key, len(telling), int(left.max()),
                hidden.cells if hidden.inverse is None else hidden.inverse.shape[1],
                people, len(values), missing=bool((distinct[frequent[telling]] == -1).all()),
            )  # fmt: skip


def _values_left(counts: FloatArray, everybody: FloatArray, inverse: FloatArray | None) -> IntArray:
    """For each value, a row of counts, how many values of the key it leaves; 0 if it tells none."""
    holders, shares = counts.sum(axis=1), everybody / everybody.sum()
    certain = CERTAIN
    if inverse is None:
        estimates = np.where(counts > 1, counts, 0.0)
    else:
        certain -= 2 * PRECISE
        estimates, shares = counts @ inverse, shares @ inverse
    order = np.argsort(-estimates, axis=1, kind="stable")
    held = np.cumsum(np.take_along_axis(estimates, order, axis=1), axis=1)
    enough = (held >= certain * holders[:, None]) & (holders >= FEWEST)[:, None]
    last = enough.argmax(axis=1)
    rows = np.arange(len(counts))
    rarity = np.cumsum(shares[order], axis=1)[rows, last]
    left = np.where(rarity <= np.where(last == 0, RARE_ONE, RARE_SOME), last + 1, 0)
    left = np.where(enough.any(axis=1), left, 0)
    if inverse is not None:
        for row in np.flatnonzero(left):
            weights = inverse[:, order[row, : left[row]]].sum(axis=1)
            square = counts[row] @ weights**2 - (counts[row] @ weights) ** 2 / holders[row]
            if square > (PRECISE * holders[row]) ** 2:
                left[row] = 0
    return left


def worst_of(findings: Iterable[Telling]) -> list[Telling]:
    """One finding for each column: the key that is disclosed for most people, most certainly."""
    worst: dict[str, Telling] = {}
    for telling in findings:
        now = worst.get(telling.column)
        if now is None or (telling.people, -telling.left) > (now.people, -now.left):
            worst[telling.column] = telling
    return list(worst.values())
