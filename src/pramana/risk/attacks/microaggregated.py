"""Nearest-record linkage against releases without published matrices [Wei, Sec. 4.3].

The attacker knows a person's original keys and picks the released record with the nearest keys,
one of them at random where several are. The chance to be right among ties is computed, not drawn:
one over their number. Methods that form groups of at least k are run once more on the same people,
with the pairing kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream
from pramana.engine.base import open_source
from pramana.errors import InvalidTable, NotCovered
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.methods.base import METHODS
from pramana.methods.microaggregated import Grouped
from pramana.microaggregation.groups import Key, numbers_of
from pramana.release.certificate import Certificate
from pramana.risk.coded_table import CodedTable, EquivalenceClasses
from pramana.schema.codec import encode, encode_released
from pramana.schema.joint_cells import distinct_rows
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column
from pramana.types import FloatArray, IntArray

TRIALS = 5_000
APART = 1e4
"""So far apart, in standard deviations, are records of different anonymity sets."""


def grouped_linkage(
    certificate: Certificate,
    truth: OpenedTable,
    *,
    bound: float | None,
    keystream: Keystream,
    trials: int = TRIALS,
    most: int | None = None,
) -> Measured:
    """How often the nearest record is the person's own; of at most ``most`` people."""
    method, k = _method(certificate)
    runs = max(1, -(-trials // truth.rows))
    columns = list(certificate.schema.randomised)
    known = list(certificate.known_columns)
    anonymity_set = _anonymity_set(truth, known)
    targets = None
    if most is not None and most < truth.rows:
        targets = np.sort(keystream.permutation(truth.rows, "targets")[:most])
    chances = []
    for run in range(runs):
        words = Keystream.from_seed(int(keystream.words("grouped runs", run, 1)[0] >> np.uint64(1)))
        made = method.regrouped(certificate.schema, truth, k=k, keystream=words).table
        before, after = _points(columns, truth, open_source(made))
        sides = np.c_[before, anonymity_set], np.c_[after, anonymity_set]
        chances.append(link_chances(*sides, targets=targets))
    chance = np.concatenate(chances)
    hits = int((keystream.uniforms("ties of grouped", 0, len(chance)) < chance).sum())
    times = "once" if runs == 1 else f"{runs} times"
    sizes = np.bincount(np.unique(anonymity_set, return_inverse=True)[1])
    return Measured.of(
        "nearest record",
        hits=hits,
        trials=len(chance),
        baseline=float(len(sizes) / truth.rows),
        bound=bound,
        promised_by=None if bound is None else "k-anonymity",
        note=f"Nearest record: groups were formed and keys replaced {times} more on the same "
        "people, with the pairing kept; the attacker knows the true keys of a person.",
    )


def withheld_linkage(
    certificate: Certificate, truth: OpenedTable, released: OpenedTable, *, keystream: Keystream
) -> Measured:
    """How often the nearest record is the person's own, without matrices.

    Nothing can be run again. But the owner knows a record again by the columns that were released
    as they are, where nobody else shares them: these people are attacked by their keys.
    """
    binned = {column.name for column in certificate.schema.binned}
    names = [c.name for c in certificate.schema.released_as_is if c.name not in binned]
    known = list(certificate.known_columns)
    places, own = _known_again(truth, released, names)
    if len(own) < FEWEST_TRIALS:
        raise NotCovered(
            "The nearest record was not tried: too few released records can be known again by the "
            "columns that were released as they are."
        )
    columns = list(certificate.schema.randomised)
    before, after = _points(columns, truth, released)
    both = np.zeros(truth.rows + released.rows)  # no columns, no records to read
    if known:
        both = _anonymity_set(_together(truth, released, known), known)
    before, after = np.c_[before, both[: truth.rows]], np.c_[after, both[truth.rows :]]
    chance = link_chances(before, after[places])[own]
    hits = int((keystream.uniforms("ties of withheld", 0, len(chance)) < chance).sum())
    sizes = np.bincount(np.unique(both[: truth.rows], return_inverse=True)[1])
    return Measured.of(
        "nearest record",
        hits=hits,
        trials=len(chance),
        baseline=float(len(sizes) / truth.rows),
        note=f"Nearest record: of the {len(own):,} people whose record the owner knows again by "
        "the columns released as they are; the attacker knows the true keys of a person.",
    )


def _known_again(
    truth: OpenedTable, released: OpenedTable, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """A place in the release for each person, and the people for whom it is surely their own."""
    rows = truth.rows
    if not names:
        return np.arange(rows), np.zeros(0, dtype=np.int64)
    coded = CodedTable.of(_together(truth, released, names), names)
    group = EquivalenceClasses.of(coded.codes, coded.sizes).of_record
    before, after = group[:rows], group[rows:]
    alone = (np.bincount(before, minlength=group.max() + 1) == 1) & (
        np.bincount(after, minlength=group.max() + 1) == 1
    )
    place = np.full(group.max() + 1, -1)
    place[after] = np.arange(rows)
    own = np.flatnonzero(alone[before])
    places = np.full(rows, -1)
    places[own] = place[before[own]]
    rest = np.setdiff1d(np.arange(rows), places[own])
    places[places < 0] = rest
    return places, own


def _together(truth: OpenedTable, released: OpenedTable, names: Sequence[str]) -> OpenedTable:
    """Both tables, one below the other, in the types of the release."""
    sides = []
    for table in (released, truth):
        own = table.to_arrow(list(names))
        for at, name in enumerate(names):
            kind = own.schema.field(at).type
            if pa.types.is_dictionary(kind):
                own = own.set_column(at, name, own.column(at).cast(kind.value_type))
        sides.append(own)
    return open_source(pa.concat_tables([sides[1].cast(sides[0].schema), sides[0]]))


def _method(certificate: Certificate) -> tuple[Grouped, int]:
    """How groups were formed, and the least number of records in each."""
    method = METHODS[certificate.method](**certificate.options)
    if not isinstance(method, Grouped):
        raise NotCovered(f"Method {certificate.method} forms no groups that could be formed again.")
    promised = [claim.asked or claim.attained for claim in certificate.claims]
    return method, max((own.k for own in promised if isinstance(own, KAnonymity)), default=1)


def _anonymity_set(truth: OpenedTable, known: Sequence[str]) -> FloatArray:
    if not known:
        return np.zeros(truth.rows)
    coded = CodedTable.of(truth, known)
    return EquivalenceClasses.of(coded.codes, coded.sizes).of_record * APART


def _points(
    columns: Sequence[Column], truth: OpenedTable, released: OpenedTable
) -> tuple[FloatArray, FloatArray]:
    """Both tables as points: numbers in units of their spread, unordered values apart by one."""
    sides: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for column in columns:
        before, after = (
            _values(column, table, released=side)
            for table, side in ((truth, False), (released, True))
        )
        if before.kind == "unordered":
            size = len(column.labels)
            for side, key in zip(sides, (before, after), strict=True):
                side.append(np.eye(size)[key.values.astype(np.int64)] / np.sqrt(2))
            continue
        mean, spread = np.nanmean(before.values), np.nanstd(before.values) or 1.0
        for side, key in zip(sides, (before, after), strict=True):
            # A missing value stands one spread beyond the others, as near to itself as any.
            lost = np.isnan(key.values)
            place = (np.nanmax(before.values) - mean) / spread + 1
            side.append(np.where(lost, place, (key.values - mean) / spread)[:, None])
    return np.concatenate(sides[0], axis=1), np.concatenate(sides[1], axis=1)


def _values(column: Column, table: OpenedTable, *, released: bool) -> Key:
    values = table.to_arrow([column.name]).column(0)
    if column.domain is None:
        return Key(column.name, numbers_of(column.name, values))
    codes = (encode_released if released else encode)(column, values).astype(np.float64)
    if column.ordered:
        return Key(column.name, np.where(codes >= column.domain.size, np.nan, codes), "ordered")
    return Key(column.name, codes, "unordered")


TIE = 1e-9
"""Distances that differ by less, in proportion, are equal."""


def link_chances(
    truth: FloatArray, released: FloatArray, *, targets: IntArray | None = None
) -> FloatArray:
    """For every person the chance that the nearest released record is the person's own.

    Row i of both tables is the same person; columns are keys on comparable scales. With ``targets``
    only of these people, among all records.

    >>> link_chances(np.array([[0.0], [1.0]]), np.array([[0.0], [0.0]])).tolist()
    [0.5, 0.5]
    """
    if truth.shape != released.shape:
        raise InvalidTable(
            f"Truth and release must hold the same people and keys: {truth.shape[0]} x "
            f"{truth.shape[1]} and {released.shape[0]} x {released.shape[1]}."
        )
    rows = slice(None) if targets is None else targets
    values, places = distinct_rows(np.concatenate([released, truth]))
    given, known = places[: len(released)], places[len(released) :][rows]
    records = np.bincount(given, minlength=len(values))
    chances = np.zeros(len(known))
    same = known == given[rows]  # nothing is nearer than an equal one
    chances[same] = 1 / records[known[same]]
    apart = np.flatnonzero(records[known] == 0)
    there = np.flatnonzero(records)
    chances[apart] = _apart(
        values[there], records[there], truth[rows][apart], released[rows][apart]
    )
    return chances


def _apart(
    values: FloatArray, records: IntArray, truth: FloatArray, released: FloatArray
) -> FloatArray:
    """The same of people whom no released record equals; ``values`` are held by ``records``."""
    from scipy.spatial import cKDTree

    chances = np.zeros(len(truth))
    if not len(truth):
        return chances
    people, of_person = distinct_rows(truth)
    tree = cKDTree(values)
    reach = tree.query(people)[0] * (1 + TIE) + 1e-300
    found = np.linalg.norm(truth - released, axis=1) <= reach[of_person]
    wanted = np.unique(of_person[found])
    ties = np.zeros(len(people))
    balls = tree.query_ball_point(people[wanted], reach[wanted])
    ties[wanted] = [records[ball].sum() for ball in balls]
    chances[found] = 1 / ties[of_person[found]]
    return chances
