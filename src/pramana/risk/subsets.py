"""Which few keys together already single people out: every subset up to a width, worst first."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from pramana.risk.asked import AskedRecords
from pramana.risk.coded_table import AlikeRecords, CodedTable
from pramana.risk.frequencies import Frequencies, MissingPolicy
from pramana.risk.population import PopulationRisk
from pramana.types import FloatArray, Form, IntArray
from pramana.worker_threads import default_threads, in_order

__all__ = ["SubsetRisk", "subset_risks"]


@dataclass(frozen=True)
class SubsetRisk:
    """The risk by some of the keys alone."""

    keys: tuple[str, ...]
    uniques: int
    violations: int
    smallest: int
    expected: float | None
    """Expected re-identifications, where there are weights."""

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "keys": list(self.keys),
            "uniques": self.uniques,
            "violations": self.violations,
            "smallest": self.smallest,
            "expected_reidentifications": self.expected,
        }


def subset_risks(
    table: CodedTable,
    groups: AlikeRecords,
    *,
    k: float,
    width: int,
    weights: FloatArray | None = None,
    missing: MissingPolicy = "category",
    asked: AskedRecords | None = None,
) -> tuple[SubsetRisk, ...]:
    """The risk of every subset of at most ``width`` keys.

    Records that share all keys share every subset, so that only groups are counted again. Of
    reports those count that were asked for the whole subset; one that none tells is left out.
    """
    cells = table.at(groups.first)
    people = None if weights is None else groups.total(weights)
    sets = None if asked is None else asked.at(groups.first)
    widths = range(1, min(width, len(table.names)) + 1)
    subsets = (own for size in widths for own in itertools.combinations(table.names, size))

    def risk(names: tuple[str, ...]) -> SubsetRisk | None:
        part = cells.subset([table.names.index(name) for name in names])
        rows: slice | IntArray = slice(None)
        if sets is not None:
            rows = np.flatnonzero(sets.told(names))
            part = part.at(rows)
        if not part.records:
            return None
        merged = AlikeRecords.of(part.codes, part.sizes)
        numbers = merged.total(groups.numbers[rows]).round().astype(np.int64)
        whole = AlikeRecords(merged.of_record, numbers)
        own = None if people is None else people[rows]
        return _risk(part, whole, own, k=k, missing=missing)

    found = in_order(risk, subsets, threads=default_threads())
    return tuple(sorted((own for own in found if own is not None), key=_worst_first))


def _risk(
    part: CodedTable,
    whole: AlikeRecords,
    people: FloatArray | None,
    *,
    k: float,
    missing: MissingPolicy,
) -> SubsetRisk:
    counted = Frequencies.of(part, weights=people, missing=missing, grouping=whole)
    risk = PopulationRisk.of(counted)
    return SubsetRisk(
        keys=part.names,
        uniques=counted.below(2),
        violations=counted.below(k),
        smallest=counted.smallest,
        expected=None if risk is None else risk.expected,
    )


def _worst_first(risk: SubsetRisk) -> tuple[int, int, int, int, tuple[str, ...]]:
    return -risk.violations, -risk.uniques, risk.smallest, len(risk.keys), risk.keys
