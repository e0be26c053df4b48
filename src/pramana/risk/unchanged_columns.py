"""Unchanged columns that undo a release: identifiers in disguise, and columns that give keys away.

A column that is released unchanged and nearly unique names people, whatever happens to the others.
A column from which a randomised one follows makes its randomisation useless. ``protect`` refuses
both, unless the owner accepts the risk of the column. This looks at the original data: nothing of
it is published but the names of the columns that the owner accepted.

How well an unchanged column predicts a randomised one is measured by leaving out one record at a
time: a record is predicted if its value is the most frequent one among the other records that share
its unchanged value. The strength is the share of the errors without the unchanged column that this
avoids (Goodman and Kruskal's lambda).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.base.text import quoted
from pramana.errors import NotCovered, UnknownColumn
from pramana.schema.codec import encode
from pramana.schema.joint_cells import joint_groups
from pramana.schema.opened_table import OpenedTable, words_of
from pramana.schema.schema import Column, Schema
from pramana.types import IntArray, Words
from pramana.verification.whole_file import SUSPECT, SubsetUniqueness, identifiers, share_alone

PARTS: Final = 8
"""Parts of the table, evenly spaced, that are looked at."""

LOOKED_AT: Final = 2**13
"""Records of each of these parts."""

FEWEST: Final = 200
"""Records below which columns that agree together may do so by chance."""

PAIRED: Final = 12
"""Unchanged columns of which all pairs are tried."""

WIDEST: Final = 4
"""Columns that are taken together."""

WIDENED: Final = 3
"""Pairs, and wider sets, that are widened."""

GIVES_AWAY: Final = 0.9
"""An unchanged column that avoids this share of the errors gives the randomised one away."""


def require_covered(schema: Schema, table: OpenedTable, accepted: Sequence[str] = ()) -> None:
    """Refuse unchanged columns that identify people or give a randomised column away.

    Args:
        schema: the columns and what happens to them.
        table: the original data.
        accepted: unchanged columns whose risk the owner accepts.
    """
    unchanged = {column.name: column for column in schema.released_as_is}
    for name in accepted:
        if name not in unchanged:
            raise UnknownColumn(
                f"The risk of '{name}' cannot be accepted: no column of this name is released "
                f"unchanged. Unchanged are: {', '.join(unchanged) or 'none'}.",
                column=name,
            )
    doubtful = [
        column for column in unchanged.values() if not column.noisy and column.name not in accepted
    ]
    if not doubtful or not table.rows:
        return
    randomised = [column for column in schema.randomised if column.domain is not None]
    sample = _sample(table, [column.name for column in (*doubtful, *randomised)])
    found = identifying(table, sample, [column for column in doubtful if not column.binned])
    if found:
        raise _refused(
            [column.columns[0] for column in found],
            f"{found[0].sentence()} A guarantee for the other columns does not help them.",
            code="identifies",
        )
    for column in doubtful:
        key = given_away(sample, column, randomised)
        if key is not None:
            raise _refused(
                [column.name],
                _gives_away([column.name], key),
                code="gives-away",
                given_away=key,
            )
    for columns, key in given_away_together(sample, doubtful, randomised):
        raise _refused(columns, _gives_away(columns, key), code="gives-away", given_away=key)


def columns_given_away(schema: Schema, table: OpenedTable) -> list[str]:
    """A sentence for each unchanged column that gives a randomised one away; for the owner."""
    unchanged = [column for column in schema.released_as_is if not column.noisy]
    randomised = [column for column in schema.randomised if column.domain is not None]
    if not unchanged or not randomised or not table.rows:
        return []
    sample = _sample(table, [column.name for column in (*unchanged, *randomised)])
    keys = {column.name: given_away(sample, column, randomised) for column in unchanged}
    single = [_gives_away([name], key) for name, key in keys.items() if key is not None]
    rest = [column for column in unchanged if keys[column.name] is None]
    together = given_away_together(sample, rest, randomised)
    return [*single, *(_gives_away(columns, key) for columns, key in together)]


def _gives_away(names: Sequence[str], key: str) -> str:
    known = quoted(names)
    what = f"Column {known} gives" if len(names) == 1 else f"Columns {known} together give"
    return (
        f"{what} the randomised column '{key}' away: '{key}' follows from "
        f"{'it' if len(names) == 1 else 'them'} for nearly everybody."
    )


def _refused(names: Sequence[str], reason: str, *, code: str, **fields: str) -> NotCovered:
    first, *others = names
    more = f" The same holds for {', '.join(others)}." if others and code == "identifies" else ""
    return NotCovered(
        f"{reason}{more} '{first}' would be released unchanged: give it the role identifier (it is "
        f"dropped) or key (it is randomised), or accept the risk with --accept-risk {first}.",
        code=code,
        column=first,
        columns=list(names),
        **fields,
    )


def _sample(table: OpenedTable, names: Sequence[str]) -> pa.Table:
    """Records from evenly spaced parts of a table."""
    records = min(table.rows, PARTS * LOOKED_AT)
    places = [table.rows * part // PARTS for part in range(PARTS)]
    batches, end = list[pa.RecordBatch](), 0
    for part in table.parts(names):
        begin, end = end, end + part.records
        if table.rows > records and not any(begin <= place < end for place in places):
            continue
        batch = part.load()
        batches.append(batch if table.rows == records else batch.slice(0, LOOKED_AT))
    return pa.Table.from_batches(batches)


def identifying(
    table: OpenedTable, sample: pa.Table, columns: Sequence[Column]
) -> tuple[SubsetUniqueness, ...]:
    """The columns that are nearly unique and no amounts."""
    suspects = [c.name for c in columns if share_alone(_words(sample, c.name)) >= SUSPECT]
    return identifiers(table, suspects)


def given_away(sample: pa.Table, column: Column, randomised: Sequence[Column]) -> str | None:
    """The first randomised column that follows from an unchanged one."""
    words = np.unique(_words(sample, column.name), return_inverse=True)[1].astype(np.int64)
    for key in randomised:
        codes = encode(key, sample.column(key.name)).astype(np.int64)
        if avoided_errors(words, codes) >= GIVES_AWAY:
            return key.name
    return None


def given_away_together(
    sample: pa.Table, columns: Sequence[Column], randomised: Sequence[Column]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Unchanged columns from which a randomised one follows together, though from none alone.

    All pairs of the columns with most values in common are tried, and the best are widened.
    """
    if sample.num_rows < FEWEST:
        return
    step = max(1, sample.num_rows // LOOKED_AT)
    some = sample.take(pa.array(range(0, sample.num_rows, step)))
    coded = {
        column.name: np.unique(_words(some, column.name), return_inverse=True)[1].astype(np.int64)
        for column in columns
    }
    shared = [name for name, codes in coded.items() if 0 < codes.max(initial=0) < len(codes) / 2]
    for key in randomised if len(shared) > 1 else ():
        hidden = encode(key, some.column(key.name)).astype(np.int64)
        alone = {name: avoided_errors(coded[name], hidden) for name in shared}
        first = sorted(shared, key=lambda name: -alone[name])[:PAIRED]
        beam: list[tuple[float, tuple[str, ...], IntArray]] = [
            (avoided, pair, groups)
            for pair in itertools.combinations(first, 2)
            if (avoided := avoided_errors(groups := _joined(coded, pair), hidden)) > 0
        ]
        for _ in range(WIDEST - 1):
            beam = sorted(beam, key=lambda own: -own[0])[:WIDENED]
            if beam and beam[0][0] >= GIVES_AWAY:
                yield tuple(sorted(beam[0][1], key=list(coded).index)), key.name
                break
            beam = [
                (avoided_errors(wider, hidden), (*names, name), wider)
                for _, names, groups in beam
                for name in first
                if name not in names
                for wider in (joint_groups([groups, coded[name]]),)
            ]


def _joined(coded: dict[str, IntArray], names: Sequence[str]) -> IntArray:
    return joint_groups([coded[name] for name in names])


def avoided_errors(known: IntArray, hidden: IntArray) -> float:
    """The share of errors in guessing a hidden value that a known one avoids.

    >>> avoided_errors(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1, 1, 1, 1]))
    1.0
    >>> avoided_errors(np.arange(6), np.array([0, 0, 1, 1, 1, 1]))  # nobody shares a value
    -2.0
    """
    size = int(hidden.max(initial=0)) + 1
    cells, counts = np.unique(known * size + hidden, return_counts=True)
    groups = cells // size
    order = np.lexsort((-counts, groups))
    groups, counts = groups[order], counts[order]
    first = np.flatnonzero(np.diff(groups, prepend=-1))
    second = np.append(counts, 0)[np.minimum(first + 1, len(counts))]
    second = np.where(np.diff(np.append(first, len(counts))) > 1, second, 0)
    predicted = int(counts[first][counts[first] - 1 > second].sum())
    guessed = int(np.bincount(hidden).max(initial=0))
    wrong = len(hidden) - guessed
    return (predicted - guessed) / wrong if wrong else 0.0


def _words(sample: pa.Table, name: str) -> Words:
    return np.concatenate([words_of(chunk) for chunk in sample.column(name).chunks])
