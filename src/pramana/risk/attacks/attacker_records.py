"""Records as an attacker sees them, and the mechanism run once more on the same people.

Truth and release have one code per step of the mechanism, by the same labels, so that a probability
is one look-up per step. The anonymity set of a record is formed by the columns that are released
unchanged and may be known: whoever knows them looks for a person among these records only.

With attribute sampling, records have one code per column, one more for a column that was not asked,
and last the number of the attribute set (0 for true records).

Released records are shuffled, and nobody keeps the pairing. To measure how often an attack on these
people is right, the owner of the original data runs the published mechanism on it again with other
random numbers, attacks that table, and compares with the pairing. The measured share is the chance,
over the randomness of the mechanism, that an attack on these people succeeds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.base.randomness import Address, Keystream, Stream
from pramana.base.text import as_it_is, counted, listed, records_that
from pramana.errors import InvalidTable, NotCovered, OutsideDomain
from pramana.mechanisms.mechanism import (
    NOT_REPORTED,
    AttributeSampler,
    AttributeSet,
    Mechanism,
    released_codes,
    stated_sets,
)
from pramana.mechanisms.randomiser import StepCodec
from pramana.mechanisms.sampler import randomise, sample, sample_by_stratum
from pramana.release.certificate import Certificate
from pramana.risk.coded_table import EquivalenceClasses
from pramana.schema.codec import encode, encode_released
from pramana.schema.joint_cells import JointCells, joint_groups, value_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema
from pramana.types import FloatArray, IntArray
from pramana.verification.randomisation_test import both_tables


@dataclass(frozen=True, eq=False)
class Records:
    """Records by step and anonymity set.

    Attributes:
        codes: one array per step.
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
    """The different records, the number of each, and the cell of every record."""

    records: Records
    numbers: IntArray
    of_record: IntArray

    @classmethod
    def of(cls, records: Records) -> Cells:
        """Put alike records together."""
        grouping = EquivalenceClasses.by([records.anonymity_set, *records.codes])
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


def require_belongs(certificate: Certificate, released: OpenedTable, original: OpenedTable) -> None:
    """Refuse original data of other people or other columns, with counts of what differs."""
    if certificate.nature.counted:
        raise NotCovered(
            "The release holds counts of tables and no records: there is no record to attack or to "
            "compare with the original. Its guarantees are what verify computes again."
        )
    wanted = certificate.true_schema.released
    lacking = [c.name for c in wanted if c.name not in original.schema.names]
    if lacking:
        raise InvalidTable(
            f"The original must have the columns of the release, and lacks {len(lacking)} of "
            f"{len(wanted)}: {listed(lacking)}."
        )
    if original.rows != released.rows:
        raise InvalidTable(
            f"The original must be the table that was released, and has "
            f"{counted(original.rows, 'record')} where the release has {released.rows:,}."
        )
    names = [name for name in certificate.known_columns if name in original.schema.names]
    both = paired_groups(original, released, names)
    size = int(max(groups.max(initial=0) for groups in both)) + 1
    before, after = (np.bincount(groups, minlength=size) for groups in both)
    differ = int(np.abs(before - after).sum())
    if differ:
        raise InvalidTable(
            f"The original must be the table that was released, and {differ // 2:,} of its "
            f"{original.rows:,} records differ in {', '.join(names)}, which {as_it_is(names)}."
        )


def read_pair(
    schema: Schema,
    mechanism: Mechanism,
    *,
    original: OpenedTable,
    released: OpenedTable,
    known: Sequence[str] = (),
) -> tuple[Records, Records]:
    """Truth and release in the same codes; their records are in no common order."""
    before, after = paired_groups(original, released, known)
    return (
        _records(schema, mechanism, original, before, released=False),
        _records(schema, mechanism, released, after, released=True),
    )


def read_released(schema: Schema, mechanism: Mechanism, released: OpenedTable) -> Records:
    """The release alone, as one anonymity set: what an attacker without further knowledge has."""
    anonymity_set = np.zeros(released.rows, np.int64)
    return _records(schema, mechanism, released, anonymity_set, released=True)


def _records(
    schema: Schema,
    mechanism: Mechanism,
    table: OpenedTable,
    anonymity_set: IntArray,
    *,
    released: bool,
) -> Records:
    if isinstance(mechanism, AttributeSampler):
        return _reports(schema, mechanism, table, anonymity_set, released=released)
    encoder = encode_released if released else encode
    codes, strata = [], []
    for step in mechanism:
        codec = StepCodec(step, [schema.column(name) for name in step.columns])
        data = table.to_arrow([*step.columns, *step.strata])
        parts = [encoder(column, data.column(column.name)) for column in codec.columns]
        codes.append(codec.cells(parts).astype(np.int64))
        strata.append(codec.strata_of(data) if step.strata else None)
    return Records(tuple(codes), anonymity_set, tuple(strata))


def _reports(
    schema: Schema,
    mechanism: AttributeSampler,
    table: OpenedTable,
    anonymity_set: IntArray,
    *,
    released: bool,
) -> Records:
    """One code per column by the labels that can be reported, one more for none; then the set."""
    codes = []
    for name in mechanism.columns:
        column = schema.column(name)
        known = {label: at for at, label in enumerate(mechanism.labels_of(name))}
        places = np.array(
            [*(known.get(label, NOT_REPORTED) for label in column.labels), len(known)]
        )
        if released:
            column_codes = released_codes(mechanism, column, table)
        else:
            column_codes = encode(column, table.to_arrow([name]).column(0)).astype(np.int64)
        codes.append(places[column_codes])  # not reported is -1: the last place
        wrong = int(np.count_nonzero(codes[-1] < 0))
        if wrong:
            raise OutsideDomain(
                f"{records_that(wrong, 'holds', 'hold')} a value of '{name}' that the schema calls "
                "impossible.",
                column=name,
            )
    sets = stated_sets(mechanism, table) if released else np.zeros(table.rows, np.int64)
    return Records((*codes, sets), anonymity_set, (None,) * (len(codes) + 1))


def paired_groups(
    original: OpenedTable, released: OpenedTable, names: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Group numbers by some columns, the same for the same values in both tables."""
    columns = (value_codes(both_tables(original, released, name)) for name in names)
    groups = joint_groups([np.zeros(original.rows + released.rows, np.int64), *columns])
    return groups[: original.rows], groups[original.rows :]


# -- attribute sets --------------------------------------------------------------------------------


def set_chances(attribute_set: AttributeSet) -> tuple[float, float]:
    """The probability of a certain other cell of an attribute set, and of the original one."""
    kept = float(attribute_set.matrix.retention)
    other = (1 - kept) / attribute_set.matrix.size
    return other, kept + other


def expected_reports(
    mechanism: AttributeSampler, original: Records, released: Records
) -> FloatArray:
    """Ln of the expected number of records in the anonymity set that report like each record."""
    sets = int(max(side.anonymity_set.max(initial=0) for side in (original, released))) + 1
    people = np.bincount(original.anonymity_set, minlength=sets)
    logs = np.zeros(len(released))
    for number, attribute_set in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if not len(rows):
            continue
        reports = released.at(rows)
        places = [mechanism.columns.index(name) for name in attribute_set.columns]
        both = [np.concatenate([original.codes[at], reports.codes[at]]) for at in places]
        groups = joint_groups(
            [np.concatenate([original.anonymity_set, reports.anonymity_set]), *both]
        )
        counts = np.bincount(groups[: len(original)], minlength=int(groups.max()) + 1)
        agreeing = counts[groups[len(original) :]]
        other, same = set_chances(attribute_set)
        everybody = people[reports.anonymity_set]
        logs[rows] = np.log(attribute_set.share * (other * everybody + (same - other) * agreeing))
    return logs


def rerun_reports(
    mechanism: AttributeSampler, original: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh reports of the same people, record by record."""
    people = len(original)
    ends = list(itertools.accumulate(one.weight for one in mechanism.sets))[:-1]
    words = keystream.words(Stream(stream, "asked"), 0, people)
    drawn_sets = np.searchsorted(np.array(ends, np.uint64), words, side="right").astype(np.int64)
    words = keystream.words(Stream(stream, "report"), 0, people)
    labels = {name: mechanism.labels_of(name) for name in mechanism.columns}
    reported = {
        name: np.full(people, len(values), dtype=np.int64) for name, values in labels.items()
    }
    known = dict(zip(mechanism.columns, original.codes[:-1], strict=True))
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(drawn_sets == number)
        cells = _cells(mechanism, one)
        codes = cells.codes([known[name][rows] for name in one.columns]).astype(np.uint32)
        drawn = sample(one.matrix, codes, words[rows])
        for name, part in zip(one.columns, cells.parts, strict=True):
            reported[name][rows] = part[drawn]
    return original.with_codes([*reported.values(), drawn_sets])


def _cells(mechanism: AttributeSampler, one: AttributeSet) -> JointCells:
    """The cells of a set, by the codes of its columns."""
    return JointCells(tuple(mechanism.labels_of(name) for name in one.columns), one.cells)


def cells_by_set(
    mechanism: AttributeSampler, released: Records, original: Records | None
) -> Iterator[tuple[AttributeSet, IntArray, IntArray, IntArray | None]]:
    """For each reported set: its records, the cells that they report, the cells of all people."""
    for number, one in enumerate(mechanism.sets):
        rows = np.flatnonzero(released.codes[-1] == number)
        if len(rows):
            cells = _cells(mechanism, one)
            places = [mechanism.columns.index(name) for name in one.columns]
            reported = cells.codes([released.codes[at][rows] for at in places])
            known = None if original is None else cells.codes([original.codes[at] for at in places])
            yield one, rows, reported, known


def rerun(
    mechanism: Mechanism, original: Records, *, keystream: Keystream, stream: Address
) -> Records:
    """Fresh released codes for the same people, record by record."""
    if isinstance(mechanism, AttributeSampler):
        return rerun_reports(mechanism, original, keystream=keystream, stream=stream)
    drawn: list[IntArray] = []
    for place, (step, codes) in enumerate(zip(mechanism, original.codes, strict=True)):
        name = Stream(stream, place)
        true_codes = codes.astype(np.uint32)
        strata = original.strata[place]
        if strata is None:
            made = randomise(step.matrices[0], true_codes, keystream=keystream, stream=name)
        else:
            words = keystream.words(name, 0, len(true_codes))
            made = sample_by_stratum(step.matrices, strata, true_codes, words)
        drawn.append(made.astype(np.int64))
    return original.with_codes(drawn)
