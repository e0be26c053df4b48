"""Records as an attacker sees them: codes by step of the mechanism, and anonymity sets.

Truth and release are coded by the same labels, so that a probability is one look-up a step. The
anonymity set of a record is formed by the columns that are released unchanged and may be known:
who knows them looks for a person among these records only.

Reports as an attacker sees them: which set was asked for, and the cell that was told.

The likelihood of a report (S, y) for a known record x is pi(S) P_S[x_S, y]: one number where the
report agrees with the record in all columns of S, a smaller one where it does not. Records have
one code a column, by the labels of the sets' matrices, and one more for what was not asked; the
last code is the number of the set (of true records 0).

The mechanism on the same people once more, with the pairing kept in memory.

Released records are shuffled, and nobody keeps who is who. To see how often an attack on these
people is right, the owner of the original data runs the published mechanism on it again, with words
of its own, attacks that table, and compares with the pairing. What is measured is the mechanism on
these
people: the chance, over its randomness, that an attack succeeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Address, Keystream, Stream
from pramana.base.text import as_it_is, counted, listed, records_that
from pramana.errors import InvalidTable, NotCovered, OutsideDomain
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet, Mechanism, Step
from pramana.mechanisms.sampler import randomise, sample, sample_by_stratum
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate import Certificate
from pramana.release.released_codes import NOT_REPORTED, released_codes, stated_sets
from pramana.risk.coded_table import EquivalenceClasses, code_column
from pramana.schema.codec import encode, encode_released
from pramana.schema.domains import label_key
from pramana.schema.joint_cells import JointCells, joint_groups
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema
from pramana.types import Codes, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Records:
    """Records by step and anonymity set.

    Attributes:
        codes: one array a step.
        anonymity_set: the group that the known columns form.
        strata: for each step which of its matrices a record has; ``None`` where there is one.
    """

    codes: tuple[IntArray, ...]
    anonymity_set: IntArray
    strata: tuple[IntArray | None, ...]

    def __len__(self) -> int:
        return len(self.anonymity_set)

    def at(self, rows: IntArray) -> Records:
        """Some of the records."""
        return Records(
            tuple(codes[rows] for codes in self.codes),
            self.anonymity_set[rows],
            tuple(None if stratum is None else stratum[rows] for stratum in self.strata),
        )

    def with_codes(self, codes: Sequence[IntArray]) -> Records:
        """The same people with other codes: what was released of them."""
        return Records(tuple(codes), self.anonymity_set, self.strata)


@dataclass(frozen=True, eq=False)
class Cells:
    """The different records, how many there are of each, and which is whose."""

    records: Records
    numbers: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, records: Records, sizes: Sequence[int]) -> Cells:
        """Put alike records together."""
        anonymity_sets = int(records.anonymity_set.max(initial=0)) + 1
        grouping = EquivalenceClasses.of(
            [records.anonymity_set, *records.codes], [anonymity_sets, *sizes]
        )
        return cls(records.at(grouping.first), grouping.numbers, grouping.of_record)

    @cached_property
    def by_anonymity_set(self) -> list[IntArray]:
        """The cells of each anonymity set."""
        order = np.argsort(self.records.anonymity_set, kind="stable")
        ends = np.cumsum(np.bincount(self.records.anonymity_set))
        return np.split(order, ends[:-1])


def require_matrices(certificate: Certificate) -> Mechanism:
    """The matrices; refused where they are withheld or the method has none."""
    if certificate.mechanism is None or not certificate.mechanism.columns:
        raise NotCovered(
            f"This attack needs the matrices, and this release by method {certificate.method} "
            "publishes none. With those that the steward keeps: pramana audit RELEASE --original "
            "FILE --mechanism STEWARD_FOLDER."
        )
    return certificate.mechanism


def require_belongs(certificate: Certificate, released: OpenedTable, truth: OpenedTable) -> None:
    """Refuse a truth of other people or other columns, with what differs in counts."""
    if certificate.nature.counted:
        raise NotCovered(
            "The release holds counts of tables and no records: there is no record to attack or to "
            "compare with the original. Its guarantees are what verify computes again."
        )
    wanted = certificate.true_schema.released
    lacking = [c.name for c in wanted if c.name not in truth.schema.names]
    if lacking:
        raise InvalidTable(
            f"The original must have the columns of the release, and lacks {len(lacking)} of "
            f"{len(wanted)}: {listed(lacking)}."
        )
    if truth.rows != released.rows:
        raise InvalidTable(
            f"The original must be the table that was released, and has "
            f"{counted(truth.rows, 'record')} where the release has {released.rows:,}."
        )
    names = [name for name in certificate.known_columns if name in truth.schema.names]
    if not names:
        return
    own, theirs = _anonymity_sets(truth, released, names)
    size = int(max(own.max(initial=0), theirs.max(initial=0))) + 1
    differ = int(
        np.abs(np.bincount(own, minlength=size) - np.bincount(theirs, minlength=size)).sum()
    )
    if differ:
        raise InvalidTable(
            f"The original must be the table that was released, and {differ // 2:,} of its "
            f"{truth.rows:,} records differ in {', '.join(names)}, which {as_it_is(names)}."
        )


def read_pair(
    schema: Schema,
    mechanism: Mechanism,
    *,
    truth: OpenedTable,
    released: OpenedTable,
    known: Sequence[str] = (),
) -> tuple[Records, Records]:
    """Truth and release in the same codes; their records are in no common order."""
    if known:
        anonymity_sets = _anonymity_sets(truth, released, known)
    else:
        anonymity_sets = np.zeros(truth.rows, np.int64), np.zeros(released.rows, np.int64)
    return (
        _records(schema, mechanism, truth, encode, anonymity_sets[0]),
        _records(schema, mechanism, released, encode_released, anonymity_sets[1]),
    )


def read_released(schema: Schema, mechanism: Mechanism, released: OpenedTable) -> Records:
    """The release alone, as one anonymity set: what an attacker without further knowledge has."""
    anonymity_set = np.zeros(released.rows, np.int64)
    return _records(schema, mechanism, released, encode_released, anonymity_set)


def _records(
    schema: Schema, mechanism: Mechanism, table: OpenedTable, encoder: Any, anonymity_set: IntArray
) -> Records:
    if isinstance(mechanism, AttributeSampler):
        return _reports(
            schema, mechanism, table, anonymity_set, released=encoder is encode_released
        )
    codes, strata = [], []
    for step in mechanism:
        data = table.to_arrow([*step.columns, *step.strata])
        parts = [encoder(schema.column(name), data.column(name)) for name in step.columns]
        codes.append(step_codes(step, schema, parts))
        strata.append(_strata(step, data) if step.strata else None)
    return Records(tuple(codes), anonymity_set, tuple(strata))


def _reports(
    schema: Schema,
    mechanism: AttributeSampler,
    table: OpenedTable,
    anonymity_set: IntArray,
    *,
    released: bool,
) -> Records:
    """One code a column by the labels that can be told, one more for silence; then the set."""
    codes = []
    for name in mechanism.columns:
        column = schema.column(name)
        known = {label: at for at, label in enumerate(mechanism.labels_of(name))}
        places = np.array(
            [*(known.get(label, NOT_REPORTED) for label in column.labels), len(known)]
        )
        if released:
            own = released_codes(mechanism, column, table)
        else:
            own = encode(column, table.to_arrow([name]).column(0)).astype(np.int64)
        codes.append(places[own])  # silence is the last place, counted from the end
        wrong = int(np.count_nonzero(codes[-1] < 0))
        if wrong:
            raise OutsideDomain(
                f"{records_that(wrong, 'holds', 'hold')} a value of '{name}' that the schema calls "
                "impossible.",
                column=name,
            )
    sets = stated_sets(mechanism, table) if released else np.zeros(table.rows, np.int64)
    return Records((*codes, sets), anonymity_set, (None,) * (len(codes) + 1))


def code_sizes(mechanism: Mechanism) -> list[int]:
    """How many codes each part of a record can have."""
    if isinstance(mechanism, AttributeSampler):
        columns = [len(mechanism.labels_of(name)) + 1 for name in mechanism.columns]
        return [*columns, len(mechanism.sets)]
    return [len(step.labels) for step in mechanism]


def step_codes(step: Step, schema: Schema, parts: Sequence[Codes]) -> IntArray:
    """One code a record from the codes of its columns."""
    if len(parts) == 1:
        return parts[0].astype(np.int64)
    labels = tuple(schema.column(name).labels for name in step.columns)
    found = JointCells(labels, tuple(step.labels)).codes(parts)
    wrong = int(np.count_nonzero(found < 0))
    if wrong:
        raise OutsideDomain(
            f"{records_that(wrong, 'holds', 'hold')} a combination of "
            f"{' and '.join(step.columns)} that the schema calls impossible."
        )
    return found


def _strata(step: Step, data: pa.Table) -> IntArray:
    """Which matrix of a step each record has, by the text of its strata."""
    numbers = {tuple(map(label_key, s)): place for place, s in enumerate(step.by_stratum)}
    columns = [data.column(name) for name in step.strata]
    coded = [code_column(column) for column in columns]
    groups = EquivalenceClasses.of([c for c, _, _ in coded], [size for _, size, _ in coded])
    rows = [[label_key(v.as_py()) for v in column.take(groups.first)] for column in columns]
    found = np.array([numbers.get(texts, -1) for texts in zip(*rows, strict=True)])
    strata: IntArray = found[groups.of_record]
    unknown = int(np.count_nonzero(strata < 0))
    if unknown:
        raise OutsideDomain(
            f"{records_that(unknown, 'lies', 'lie')} in a stratum without a matrix."
        )
    return strata


def _anonymity_sets(
    truth: OpenedTable, released: OpenedTable, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Group numbers by the known columns, the same for the same values in both tables."""
    codes, sizes = [], []
    for name in names:
        both = [_plain(table.to_arrow([name]).column(0)) for table in (truth, released)]
        if both[0].type != both[1].type:
            both = [column.cast(pa.string()) for column in both]
        column, size, _ = code_column(
            pa.chunked_array([*both[0].chunks, *both[1].chunks], both[0].type)
        )
        codes.append(column)
        sizes.append(size)
    of_record = EquivalenceClasses.of(codes, sizes).of_record.astype(np.int64)
    return of_record[: truth.rows], of_record[truth.rows :]


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


@dataclass(frozen=True, eq=False)
class ReportScores:
    """Logarithms of the likelihood of reports."""

    mechanism: AttributeSampler

    @cached_property
    def _asks(self) -> FloatArray:
        """Sets by columns: whether the set asks for the column."""
        columns = self.mechanism.columns
        return np.array([[name in one.columns for name in columns] for one in self.mechanism.sets])

    @cached_property
    def _logs(self) -> FloatArray:
        """For each set the score of a report that differs, and of one that agrees."""
        sets = self.mechanism.sets
        found: FloatArray = np.array([np.log(one.share) + np.log(_chances(one)) for one in sets])
        return found

    def between(self, truth: Records, released: Records) -> FloatArray:
        """The score of each pair of records that stand at the same position."""
        own = released.codes[-1]
        agree = np.ones(len(truth), dtype=bool)
        pairs = zip(truth.codes[:-1], released.codes[:-1], self._asks.T, strict=True)
        for known, told, asks in pairs:
            agree &= (known == told) | ~asks[own]
        found: FloatArray = self._logs[own, agree.astype(np.int64)]
        return found

    def block(self, truth: Records, released: Records) -> FloatArray:
        """Scores of true records (rows) with released ones (columns) of one anonymity set."""
        own = released.codes[-1]
        agree = np.ones((len(truth), len(released)), dtype=bool)
        pairs = zip(truth.codes[:-1], released.codes[:-1], self._asks.T, strict=True)
        for known, told, asks in pairs:
            places = np.flatnonzero(asks[own])
            if len(places):
                agree[:, places] &= known[:, None] == told[places]
        found: FloatArray = np.where(agree, self._logs[own, 1], self._logs[own, 0])
        return found


def _chances(one: AttributeSet) -> tuple[float, float]:
    """The probability of a certain other cell, and of the own one."""
    kept = float(one.matrix.retention)
    other = (1 - kept) / one.matrix.size
    return other, kept + other


def expected_reports(mechanism: AttributeSampler, truth: Records, released: Records) -> FloatArray:
    """Ln of the expected number of records in the anonymity set that report like each record."""
    anonymity_sets = (
        int(max(truth.anonymity_set.max(initial=0), released.anonymity_set.max(initial=0))) + 1
    )
    people = np.bincount(truth.anonymity_set, minlength=anonymity_sets)
    found = np.zeros(len(released))
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if not len(rows):
            continue
        anonymity_set = released.anonymity_set[rows]
        alike = _alike(mechanism, one, truth, released.at(rows))
        other, own = _chances(one)
        found[rows] = np.log(one.share * (other * people[anonymity_set] + (own - other) * alike))
    return found


def _alike(
    mechanism: AttributeSampler, one: AttributeSet, truth: Records, reports: Records
) -> IntArray:
    """How many true records of its anonymity set agree with each report of a set."""
    places = [mechanism.columns.index(name) for name in one.columns]
    both = [np.concatenate([truth.codes[at], reports.codes[at]]) for at in places]
    groups = joint_groups([np.concatenate([truth.anonymity_set, reports.anonymity_set]), *both])
    numbers = np.bincount(groups[: len(truth)], minlength=int(groups.max()) + 1)
    found: IntArray = numbers[groups[len(truth) :]]
    return found


def rerun_reports(
    mechanism: AttributeSampler, truth: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh reports of the same people, record by record."""
    people = len(truth)
    ends = list(itertools.accumulate(one.weight for one in mechanism.sets))[:-1]
    words = keystream.words(Stream(stream, "asked"), 0, people)
    asked = np.searchsorted(np.array(ends, np.uint64), words, side="right").astype(np.int64)
    words = keystream.words(Stream(stream, "report"), 0, people)
    labels = {name: mechanism.labels_of(name) for name in mechanism.columns}
    told = {name: np.full(people, len(own), dtype=np.int64) for name, own in labels.items()}
    known = dict(zip(mechanism.columns, truth.codes[:-1], strict=True))
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(asked == number)
        cells = _cells(mechanism, one)
        codes = cells.codes([known[name][rows] for name in one.columns]).astype(np.uint32)
        drawn = sample(one.matrix, codes, words[rows])
        for name, part in zip(one.columns, cells.parts, strict=True):
            told[name][rows] = part[drawn]
    return truth.with_codes([*told.values(), asked])


def _cells(mechanism: AttributeSampler, one: AttributeSet) -> JointCells:
    """The cells of a set, by the codes of its columns."""
    return JointCells(tuple(mechanism.labels_of(name) for name in one.columns), one.cells)


def cells_of_reports(
    mechanism: AttributeSampler, released: Records, known: Records | None
) -> Iterator[tuple[str, UniformMixture, IntArray, IntArray | None]]:
    """For each set that was told: its name, its matrix, the cells told, the cells of all truths."""
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if not len(rows):
            continue
        cells = _cells(mechanism, one)
        places = [mechanism.columns.index(name) for name in one.columns]
        told = cells.codes([released.codes[at][rows] for at in places])
        truths = None if known is None else cells.codes([known.codes[at] for at in places])
        yield one.name, one.matrix, told, truths


def paired_cells(
    mechanism: AttributeSampler, truth: Records, released: Records
) -> Iterator[tuple[AttributeSet, IntArray, IntArray]]:
    """For each set the true and the told cells of those who were asked for it, record by record."""
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        cells = _cells(mechanism, one)
        places = [mechanism.columns.index(name) for name in one.columns]
        own, told = (cells.codes([r.codes[at][rows] for at in places]) for r in (truth, released))
        yield one, own, told


def rerun(
    mechanism: Mechanism, truth: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh released codes for the same people, record by record."""
    if isinstance(mechanism, AttributeSampler):
        return rerun_reports(mechanism, truth, keystream=keystream, stream=stream)
    drawn: list[IntArray] = []
    for place, (step, codes) in enumerate(zip(mechanism, truth.codes, strict=True)):
        name = Stream(stream, place)
        own = codes.astype(np.uint32)
        strata = truth.strata[place]
        if strata is None:
            made = randomise(step.matrices[0], own, keystream=keystream, stream=name)
        else:
            words = keystream.words(name, 0, len(own))
            made = sample_by_stratum(step.matrices, strata, own, words)
        drawn.append(made.astype(np.int64))
    return truth.with_codes(drawn)
