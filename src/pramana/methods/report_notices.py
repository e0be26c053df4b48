"""What a steward who states tables is told of the columns that need, or get, no reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from pramana.methods.expected_error import ExpectedError
from pramana.methods.report_sets import Set, SetShares
from pramana.methods.steps import told_of
from pramana.spelling import as_tables, in_shell
from pramana.table.schema import Schema
from pramana.text import listed, percent

__all__ = ["beside_words", "unnamed_columns", "unnamed_words"]

MOST = 12
"""Tables that a command lists."""


def unnamed_columns(names: Sequence[str], tables: Mapping[Set, float]) -> tuple[str, ...]:
    """The columns that no table names, where any table is stated."""
    named = {name for table in tables for name in table}
    return tuple(name for name in names if named and name not in named)


def unnamed_words(
    most: Mapping[str, float],
    tables: Sequence[Set],
    shares: SetShares,
    expected: ExpectedError,
    without: ExpectedError,
) -> Iterator[str]:
    """What columns in no table get, what they are off by, and what they cost the tables.

    Args:
        most: the columns that no table names, and what they are off by at most.
        tables: those that are stated.
        shares: what records are asked for.
        expected: the errors under these shares.
        without: the errors of the tables if the columns were left out.
    """
    others = list(most)
    if not others:
        return
    spent = math.fsum(
        share for one, share in zip(shares.sets, shares.shares, strict=True) if {*one} & {*others}
    )
    more = [*tables, *((name,) for name in others)]
    shown = f" (--tables {in_shell(as_tables(more))})" if len(more) <= MOST else ""
    yield (
        f"No table asked for names {listed(others)}: {percent(spent, 2)} of the records are asked "
        f"for any such column, and a table of one is off by {_between([*most.values()])} of the "
        "records if its values are equally frequent, and by less the more they differ. "
        f"Ask for it to have it told better{shown}, or leave it out of the release "
        '(role = "identifier" in the schema): the tables asked for are then off by '
        f"{percent(without.mean, 2)} on average instead of {percent(expected.mean, 2)}."
    )


def beside_words(schema: Schema, tables: Sequence[Set]) -> Iterator[str]:
    """Tables with columns released as they are: what of them is asked for."""
    for table in tables:
        told = told_of(schema, table)
        beside = [name for name in table if name not in told]
        if beside and told:
            yield (
                f"Of {'*'.join(table)} records are asked for {'*'.join(told)}: {listed(beside)} "
                "stands beside every answer as it is. Errors told without data are those of "
                f"{'*'.join(told)} alone."
            )
        elif beside:
            yield f"No record is asked for {'*'.join(table)}: it is released as it is."


def _between(errors: Sequence[float]) -> str:
    low, high = (percent(own, 2) for own in (min(errors), max(errors)))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"
