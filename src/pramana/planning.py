"""From a schema and targets to a plan: which method, which records, which crowd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pramana.engines.choose import counts_of, open_source, smallest_crowd
from pramana.errors import InvalidNumber
from pramana.guarantees.base import Guarantee
from pramana.matrices.grouping import Grouping
from pramana.matrices.transition import TransitionMatrix
from pramana.methods.given import given_design, read_matrix
from pramana.methods.grouped import GROUPED_METHODS, grouped_plan
from pramana.methods.plan import Plan
from pramana.methods.retention import Spread, retention_design
from pramana.table.opened import OpenedTable, is_number
from pramana.table.schema import Schema

__all__ = ["METHODS", "design"]

METHODS = (
    "retention",
    "optimal",
    "inverse-frequency",
    "invariant",
    "matrix",
    *GROUPED_METHODS,
)
"""The designs, by the names that commands use."""

Matrices = Mapping[str, TransitionMatrix | str | Path]


def design(
    schema: Schema,
    *guarantees: Guarantee,
    records: int | None = None,
    data: Any = None,
    smallest_group: int | None = None,
    method: str | None = None,
    spread: Spread = "best",
    max_error: float | None = None,
    retention: float | None = None,
    matrices: Matrices | None = None,
    grouping: Grouping | None = None,
    stay: float | None = None,
    mixture: float = 1.0,
) -> Plan:
    """Find what to do to each record so that every guarantee asked is met at the least loss.

    Args:
        schema: what each column is.
        guarantees: targets; all are met at once.
        records: the number of records, where there are no data yet.
        data: the true table, where there is one.
        smallest_group: without data: the fewest records that share the values of the columns that
            are released as they are and may be known (role plain, strata).
        method: one of ``METHODS``; chosen from what else is given where not stated.
        spread: ``best`` gives each column its own retention, ``equal`` the same to all.
        max_error: instead of guarantees: the strongest within this expected error.
        retention: instead of guarantees: this retention in every column.
        matrices: for method ``matrix``: a matrix, or the path of one, for each randomised column.
        grouping: for k-anonymity: how groups are formed, where the usual way will not do.
        stay: for method ``invariant``: the least chance of a value to stay (sdcMicro's pd).
        mixture: for method ``invariant``: the share of change in it (sdcMicro's alpha).
    """
    method = method or _usual_method(guarantees, matrices)
    if method not in METHODS:
        raise InvalidNumber(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    people = _People.of(
        schema,
        records=records,
        data=data,
        smallest_group=smallest_group,
        numbers_stay=method in GROUPED_METHODS,
    )
    about: dict[str, Any] = {"records": people.records, "crowd": people.crowd}
    if method == "retention":
        about |= {"spread": spread, "max_error": max_error, "retention": retention}
        return retention_design(people.schema, guarantees, **about)
    if method == "matrix":
        return given_design(people.schema, _matrices(matrices), guarantees, **about)
    if method in GROUPED_METHODS:
        return grouped_plan(people.schema, guarantees, method=method, grouping=grouping, **about)
    start: dict[str, Any] = {"stay": stay, "mixture": mixture, "matrices": _matrices(matrices)}
    return _from_data(method, people, guarantees, **(start if method == "invariant" else {}))


@dataclass(frozen=True)
class _People:
    """Whom a plan is for: the schema with nothing left open, how many, and the smallest crowd."""

    schema: Schema
    records: int
    crowd: int
    opened: OpenedTable | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        records: int | None,
        data: Any,
        smallest_group: int | None,
        numbers_stay: bool,
    ) -> _People:
        # A description is a schema that remembers what it saw; a plan must not.
        schema = Schema(schema.columns, schema.impossible, schema.strata, schema.choices)
        if data is not None:
            opened = open_source(data, schema=schema)
            schema = _completed(schema, opened, numbers_stay=numbers_stay)
            return cls(schema, opened.rows, smallest_crowd(schema, opened), opened)
        if records is None:
            raise InvalidNumber("A design needs the number of records, or the data to count them.")
        return cls(schema, records, _stated_group(schema, records, smallest_group))


def _from_data(method: str, people: _People, asked: Sequence[Guarantee], **how: Any) -> Plan:
    """The methods that choose their matrices from counts."""
    from pramana.methods import data_driven

    if people.opened is None:
        raise InvalidNumber(f"Method {method} chooses the matrix from the data: give the data.")
    make: Any = {
        "optimal": data_driven.optimal_plan,
        "inverse-frequency": data_driven.inverse_frequency_plan,
        "invariant": data_driven.invariant_plan,
    }[method]
    counts = counts_of(people.schema, people.opened)
    made: Plan = make(people.schema, asked, counts=counts, crowd=people.crowd, **how)
    return made


def _usual_method(guarantees: Sequence[Guarantee], matrices: object) -> str:
    """The method whose target was stated."""
    names = {guarantee.name for guarantee in guarantees}
    if "spontaneous-recognition" in names:
        return "optimal"
    if "correct-match" in names:
        return "inverse-frequency"
    if "k-anonymity" in names:
        return "resample"
    return "matrix" if matrices else "retention"


def _matrices(given: Matrices | None) -> dict[str, TransitionMatrix]:
    return {
        name: matrix if isinstance(matrix, TransitionMatrix) else read_matrix(matrix)
        for name, matrix in (given or {}).items()
    }


def _completed(schema: Schema, opened: OpenedTable, *, numbers_stay: bool = False) -> Schema:
    """The schema with undeclared domains and unstated policies for missing values filled in.

    Where groups are formed, a number without bins stays a number.
    """
    from pramana.table.describe import complete

    completed = complete(schema, opened)
    if not numbers_stay:
        return completed
    return completed.replace_columns(
        column
        for column in schema.columns
        if column.domain is None and is_number(opened.schema.field(column.name).type)
    )


def _stated_group(schema: Schema, records: int, smallest_group: int | None) -> int:
    known = schema.known
    if smallest_group is None and known:
        raise InvalidNumber(
            f"{', '.join(known)} will be released as they are and split the crowd: say how many "
            "records the smallest group will have (smallest_group), or give the data."
        )
    return records if smallest_group is None else smallest_group
