"""Checks of the released records, made in one pass over the data file.

Anyone can count records, values outside their domains, impossible combinations, strata without a
matrix, and the anonymity set.

Where the keys of a group are released as one combination, everybody sees the group, or a union of
several. A union has at least as many distinct values as each of its parts, and is at most as far
from the whole table as the farthest of them. A declared number of values, or a declared closeness,
that a union falls short of was therefore not kept by the groups [Li07], [Machanavajjhala06].

Attribute sets are drawn independently of the record (docs/proofs/reports.md). Columns released
unchanged must therefore be independent of the sets: one chi-square test of independence a column,
numbers in ten bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import chi_square_tail
from pramana.base.text import counted, records_that, text_up
from pramana.errors import PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.io.base import require_same
from pramana.io.output import in_groups
from pramana.mechanisms.mechanism import AttributeSampler, ShuffledRounds
from pramana.release.certificate import Certificate, DataFile
from pramana.release.folder import (
    file_path,
    fingerprint,
    open_data,
)
from pramana.release.kinds import NewKeys
from pramana.release.released_codes import table_of_rounds
from pramana.schema.codec import Refused, count_refused, encode_released, places_among
from pramana.schema.domains import label_key
from pramana.schema.groups import COUNT as GROUP_SIZE
from pramana.schema.groups import (
    MOST_ATTACHED,
    GroupSizes,
    codes_of,
    distance_of_groups,
    in_bins,
)
from pramana.schema.joint_cells import CellRules, Counter, cell_counts, joint_groups, tied_columns
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.schema import COUNT, REPORTED, Column, Role, Schema
from pramana.types import BoolArray, FloatArray, IntArray, Positions, Progress
from pramana.verification.checks import Check, CheckKind

MOST_UNPACKED: Final = 2**30
"""This many bytes may the texts of a batch of records have."""


def record_checks(
    certificate: Certificate, opened: OpenedTable, progress: Progress | None
) -> Iterator[Check]:
    """Number of records, columns, domains, impossible combinations, strata, the anonymity set."""
    stated = certificate.data.format if certificate.data is not None else ""
    names = [column.name for column in certificate.schema.released]
    same = list(opened.schema.names) == names and opened.format == stated
    yield Check.decided(
        "columns", same, "as the certificate lists them" if same else "others than listed"
    )
    if not same:
        return
    if isinstance(certificate.mechanism, ShuffledRounds):
        yield from _round_checks(certificate, certificate.mechanism, opened)
        return
    seen, wrong, number = RecordScan(certificate), None, opened.rows
    if number == certificate.records:  # or else nothing is unpacked
        wrong = _scan(seen, opened, progress)
        number = seen.records
    same = wrong is None and number == certificate.records
    count = f"{counted(number, 'record')}, {_declared(certificate.records)}"
    yield Check.decided("records", same, wrong or count)
    if wrong is not None or opened.rows != certificate.records:
        return
    for name, refused in seen.refused.items():
        outside = refused.outside + refused.missing
        detail = (
            f"{counted(outside, 'record')} outside" if outside else "every value lies in its domain"
        )
        yield Check.decided(f"domain of {name}", not outside, detail)
    if isinstance(certificate.mechanism, AttributeSampler):
        yield _sets(certificate.mechanism, seen)
        yield from seen.beside.checks()
    if certificate.schema.impossible:
        yield Check.decided(
            "impossible combinations",
            not seen.impossible,
            f"{records_that(seen.impossible, 'holds', 'hold')} one",
        )
    yield from seen.strata()
    yield from seen.alike()
    yield from seen.varied()
    yield _anonymity_set(certificate, seen)
    if not any(seen.refused.values()):
        yield from _contradicted_guarantees(seen)
    if certificate.smallest_unchanged_group is not None:
        smallest = seen.attached.smallest() if seen.attached.columns else seen.records
        smallest = 1 if certificate.true_schema.noisy else smallest  # each is taken to be alone
        detail = f"{smallest:,} or more share all columns released as they are"
        good = smallest == certificate.smallest_unchanged_group
        declared = _declared(certificate.smallest_unchanged_group)
        yield Check.decided("attached columns", good, f"{detail}, {declared}", CheckKind.UNCHANGED)


def _round_checks(
    certificate: Certificate, mechanism: ShuffledRounds, opened: OpenedTable
) -> Iterator[Check]:
    """Every cell of every round in its place, and as many answers in each round as records."""
    rows = certificate.rows
    good = opened.rows == rows
    detail = f"{counted(opened.rows, 'cell')}, {_declared(rows)}"
    batches = list(_packed(opened).batches()) if good else []
    if good and sum(batch.num_rows for batch in batches) != rows:
        good, detail = False, f"other than the {counted(rows, 'cell')} that are stated"
    if good and sum(map(_unpacked, batches)) > MOST_UNPACKED:
        good, detail = False, "texts that would fill the memory"
    yield Check.decided("cells", good, detail)
    if not good:
        return
    table = pa.Table.from_batches(batches)
    made = table_of_rounds(certificate.true_schema, mechanism)
    same = [_as_made(certificate.schema, name, table, made) for name in made.column_names]
    lacking = [name for name, good in zip(made.column_names, same, strict=True) if not good]
    yield Check.decided(
        "cells of the rounds",
        not lacking,
        f"{', '.join(lacking)}: other cells than stated" if lacking else "as stated, in order",
    )
    counts = table.column(COUNT)
    whole = pa.types.is_integer(counts.type) and not counts.null_count
    numbers = np.asarray(counts.cast(pa.int64())) if whole else np.full(rows, -1)
    starts = np.cumsum([0, *(one.matrix.size for one in mechanism.sets)])
    sums = np.add.reduceat(np.clip(numbers, 0, certificate.records + 1), starts[:-1])
    good = bool((numbers >= 0).all() and (sums == certificate.records).all())
    words = "sum to" if good else "do not sum to"
    yield Check.decided(
        "records", good, f"the counts of each round {words} {certificate.records:,} records"
    )
    good = certificate.anonymity_set == certificate.records
    declared = _declared(certificate.anonymity_set)
    yield Check.decided(
        "anonymity set", good, f"all {certificate.records:,} records of a round, {declared}"
    )


def _as_made(schema: Schema, name: str, table: pa.Table, made: pa.Table) -> bool:
    """Whether a column holds the same values, and no others in a list of values either."""
    found, expected = table.column(name), made.column(name)
    if name == REPORTED:
        return bool(found.cast(pa.string()).equals(expected.cast(pa.string())))
    column = schema.column(name)
    lists = [own.dictionary for own in found.chunks if pa.types.is_dictionary(own.type)]
    told = [own.drop_null() for own in (found, expected)]
    for values in (*lists, told[0]):
        if count_refused(column, values, released=True):
            return False
    if not found.is_null().equals(expected.is_null()):
        return False
    codes, wanted = (encode_released(column, own) for own in told)
    return np.array_equal(codes, wanted)


def _contradicted_guarantees(seen: RecordScan) -> Iterator[Check]:
    """Promises that only the owner can compute, against which the records speak all the same."""
    if seen.keyed is None:
        return
    released = seen.keyed.result()
    for claim in seen.certificate.claims:
        found = claim.attained.contradicted(seen.certificate.evidence, released)
        if found is not None:
            name = f"{claim.name} in the records"
            yield Check.decided(name, False, found, CheckKind.GUARANTEE)


def _scan(seen: RecordScan, opened: OpenedTable, progress: Progress | None) -> str | None:
    """All records in one pass; what is wrong with them, should that end it."""
    most = seen.certificate.records
    for batch in _packed(opened).batches():
        if _unpacked(batch) > MOST_UNPACKED:
            return "texts that would fill the memory"
        if seen.records + batch.num_rows > most:
            return f"more records than {most:,}"
        seen.add(batch)
        if progress is not None:
            progress(batch.num_rows)
    return None


def _packed(opened: OpenedTable) -> OpenedTable:
    """The table with each text once, where the file has it so: written out it may be any length."""
    texts = [item.name for item in opened.schema if _is_text(item.type)]
    return opened.fitted(coded=texts) if opened.format == "parquet" else opened


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unpacked(batch: pa.RecordBatch) -> int:
    """How many bytes the texts of a batch would take, each written out for every record.

    Or more, where even its longest texts in every record would be few enough.
    """
    texts = [c for c in batch.columns if pa.types.is_dictionary(c.type) and _is_text(c.type)]
    lengths = [pc.fill_null(pc.binary_length(c.dictionary), 0).cast(pa.int64()) for c in texts]
    most = batch.num_rows * sum(pc.max(own).as_py() or 0 for own in lengths)
    if most <= MOST_UNPACKED:
        return int(most)
    taken = (own.take(c.indices) for own, c in zip(lengths, texts, strict=True))
    return sum(pc.sum(own).as_py() or 0 for own in taken)


def _declared(number: int) -> str:
    return counted(number, "is stated", "are stated")


def _anonymity_set(certificate: Certificate, seen: RecordScan) -> Check:
    """Among how many records a person hides, counted again."""
    known, stated = certificate.known_columns, _declared(certificate.anonymity_set)
    if not known:
        good = seen.records == certificate.anonymity_set
        return Check.decided(
            "anonymity set", good, f"all {seen.records:,} records form one anonymity set, {stated}"
        )
    smallest = seen.groups.smallest()
    return Check.decided(
        "anonymity set",
        smallest == certificate.anonymity_set,
        f"the smallest group of {', '.join(known)} has {counted(smallest, 'record')}, {stated}",
    )


def _sets(mechanism: AttributeSampler, found: RecordScan) -> Check:
    """Whether the sets were asked for as often as stated, within what chance allows."""
    asked = found.asked
    unknown = found.records - int(asked.sum())
    if unknown or found.strays:
        return Check.decided(
            "sets asked for",
            False,
            f"{records_that(unknown, 'names', 'name')} a set that is not stated",
        )
    expected = np.array([one.share * found.records for one in mechanism.sets])
    statistic = float(((asked - expected) ** 2 / np.maximum(expected, 1)).sum())
    good = len(asked) == 1 or chi_square_tail(statistic, len(asked) - 1) > 1e-6
    words = "as often as stated" if good else "not as often as stated"
    return Check.decided("sets asked for", good, words)


def _refused(column: Column, values: pa.Array, told: BoolArray | None) -> Refused:
    """Values outside the domain; in reports also those of columns that were not asked for."""
    if isinstance(values, pa.DictionaryArray) and (
        strays := count_refused(column, values.dictionary, released=True)
    ):
        return strays  # also where no record holds it: it stands in the file
    if told is None:
        return count_refused(column, values, released=True)
    there = values.is_valid().to_numpy(zero_copy_only=False)
    spoken = int(np.count_nonzero(there & ~told))
    silent = len(values) - int(np.count_nonzero(there | told))
    found = count_refused(column, values, released=True)
    return Refused(found.outside + spoken, max(found.missing - silent, 0))


class RecordScan:
    """What one pass over the released records finds."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.records = 0
        self.impossible = 0
        self.names = certificate.marks
        self.asked = np.zeros(len(self.names), dtype=np.int64)
        self.strays = False
        own = [column.name for column in certificate.true_schema.released_as_is]
        self.beside = SetIndependence(() if certificate.nature.whole else own)
        self.coded = [c for c in certificate.schema.released if c.coded or c.listed]
        self.refused = {column.name: Refused() for column in self.coded}
        self.groups = GroupSizes(certificate.known_columns, apart=True)
        steps = certificate.mechanism.steps if certificate.mechanism else ()
        self.stratified = [(step, GroupSizes(step.strata)) for step in steps if step.strata]
        self.keys = GroupSizes(_shared_key_columns(certificate))
        self.within = SensitiveDiversity(certificate, self.keys.columns)
        self.distinct = _distinct(certificate)
        sensitive = [c.name for c in certificate.schema.columns if c.role is Role.SENSITIVE]
        self.values = {name: set[object]() for name in sensitive if self.distinct > 1}
        self.keyed = _counter(certificate)
        self.attached = GroupSizes(
            own if certificate.smallest_unchanged_group is not None else (), most=MOST_ATTACHED
        )

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch."""
        self.records += batch.num_rows
        sets = self._sets(batch.column(REPORTED)) if self.names else None
        good = True
        for column in self.coded:
            told = self._told(sets, (column.name,)) if column.randomised else None
            found = _refused(column, batch.column(column.name), told)
            self.refused[column.name] += found
            good = good and not found
        if sets is not None:
            self.beside.add(batch)
        if good and self.certificate.schema.impossible:
            self._count_impossible(batch, sets)
        for name, values in self.values.items():
            if len(values) < self.distinct:
                own = pc.unique(batch.column(name)).to_pylist()
                values.update(value for value in own if value is not None and value == value)
        self.within.add(batch)
        stratified = (own for _, own in self.stratified)
        for sizes in (self.groups, self.keys, *stratified):
            if sizes.columns:
                sizes.add(batch)
        if good and self.keyed is not None:
            keys = self.certificate.schema.randomised
            self.keyed.add([encode_released(own, batch.column(own.name)) for own in keys])
        if good and self.attached.columns:
            binned = self.certificate.schema.binned
            self.attached.add(in_bins(batch, binned, released=True))

    def _sets(self, marks: pa.Array) -> Positions:
        """The place of the set that each record was asked for, negative where it is not stated."""
        sets = places_among(self.names, marks)
        self.asked += np.bincount(sets[sets >= 0], minlength=len(self.names))
        if isinstance(marks, pa.DictionaryArray):  # what no record holds stands in the file
            self.strays |= bool((places_among(self.names, marks.dictionary) < 0).any())
        return sets

    def _told(self, sets: Positions | None, columns: Sequence[str]) -> BoolArray | None:
        """Which records were asked for all of these columns; ``None`` where all tell them."""
        mechanism = self.certificate.mechanism
        if sets is None or not isinstance(mechanism, AttributeSampler):
            return None
        wanted = {one.name for one in mechanism.containing(columns)}
        told = np.array([*(name in wanted for name in self.names), False])  # the last is no set
        return told[np.maximum(sets, -1)]

    def _count_impossible(self, batch: pa.RecordBatch, sets: Positions | None) -> None:
        schema = self.certificate.schema
        if sets is not None:
            self.impossible += self._impossible_reports(batch, sets)
            return
        for columns, rules in self.rules:
            codes = [encode_released(schema.column(n), batch.column(n)) for n in columns]
            self.impossible += batch.num_rows - int(rules.possible(codes).sum())

    def _impossible_reports(self, batch: pa.RecordBatch, sets: Positions) -> int:
        """Reports that no record can give: rules together may rule out what none of them names."""
        schema, found = self.certificate.schema, 0
        for at, columns, cells in self.reported:
            own = batch.filter(pa.array(sets == at))
            codes = [encode_released(schema.column(n), own.column(n)) for n in columns]
            found += own.num_rows - int(cells[tuple(codes)].sum())
        return found

    @cached_property
    def reported(self) -> list[tuple[int, tuple[str, ...], BoolArray]]:
        """Of each set that cannot tell everything: its place, its columns, and what it can."""
        mechanism, schema = self.certificate.mechanism, self.certificate.schema
        if not isinstance(mechanism, AttributeSampler):
            return []
        found = []
        for one in mechanism.sets:
            labels = [list(map(label_key, schema.column(n).labels)) for n in one.columns]
            cells = np.zeros(list(map(len, labels)), dtype=bool)
            if one.matrix.size == cells.size:
                continue
            for cell in one.matrix.labels:
                parts = cell if isinstance(cell, tuple) else (cell,)
                at = (own.index(label_key(part)) for own, part in zip(labels, parts, strict=True))
                cells[tuple(at)] = True
            found.append((self.names.index(one.name), one.columns, cells))
        return found

    @cached_property
    def rules(self) -> list[tuple[tuple[str, ...], CellRules]]:
        """What the schema rules out, by the columns that are looked at together."""
        schema = self.certificate.schema
        ties = [rule.columns for rule in schema.impossible]
        names = dict.fromkeys(name for columns in ties for name in columns)
        groups = tied_columns(list(names), ties)
        return [(own, CellRules.of(schema, own)) for own in dict.fromkeys(groups)]

    def strata(self) -> Iterator[Check]:
        """Every stratum that occurs has a matrix."""
        for step, sizes in self.stratified:
            lacking = sizes.keys() - {tuple(map(label_key, own)) for own in step.by_stratum}
            yield Check.decided(
                f"strata of {' x '.join(step.columns)}",
                not lacking,
                f"{counted(len(lacking), 'stratum', 'strata')} without a matrix"
                if lacking
                else "each has its matrix",
            )

    def alike(self) -> Iterator[Check]:
        """Where all records of a group are released with the same keys, that many share them."""
        if not self.keys.columns:
            return
        stated = max((c.attained.to_json().get("k", 1) for c in self.certificate.claims), default=1)
        smallest = self.keys.smallest()
        yield Check.decided(
            "records with the same keys",
            smallest >= stated,
            f"at least {smallest:,} share each combination, groups of {stated:,} are stated",
        )

    def varied(self) -> Iterator[Check]:
        """Where every group is said to hold this many values of a column, as many are released."""
        for name, found in self.values.items():
            if len(found) < self.distinct:
                own = counted(len(found), "value")
                told = f"{own}, and every group is said to hold {self.distinct:,}"
                yield Check.decided(f"values of {name}", False, told)
        yield from self.within.checks()


def _counter(certificate: Certificate) -> Counter | None:
    """Counts the randomised columns together, where a claim only the owner can compute is made."""
    keys = certificate.schema.randomised
    owned = any(only_the_owner(type(claim.attained)) for claim in certificate.claims)
    if not owned or certificate.mechanism is None or not certificate.nature.whole:
        return None
    return Counter([own.name for own in keys], [own.labels for own in keys])


def _distinct(certificate: Certificate) -> int:
    """How many values of each sensitive column every group is said to hold."""
    stated = certificate.options.get("distinct", 1) if certificate.nature.grouped else 1
    return stated if isinstance(stated, int) else 1


def _shared_key_columns(certificate: Certificate) -> tuple[str, ...]:
    """The columns in which the records of a group agree; none where they need not."""
    keys = certificate.schema.randomised
    drawn = any(c.drawn for c in keys)
    if certificate.statistics.get("keys") != NewKeys.CENTRE or drawn:
        return ()
    return (*certificate.known_columns, *(column.name for column in keys))


ROUNDING = 1e-9


class SensitiveDiversity:
    """Values of sensitive columns by released keys, counted batch by batch."""

    def __init__(self, certificate: Certificate, keys: Sequence[str]) -> None:
        options = certificate.options if certificate.nature.grouped else {}
        self.distinct = _number(options.get("distinct"), 1)
        self.closeness = _number(options.get("closeness"), 1.0)
        self.keys = len(keys)
        asked = keys and (self.distinct > 1 or self.closeness < 1)
        self.sizes = {
            name: GroupSizes([*keys, name]) for name in (_as_grouped(certificate) if asked else ())
        }

    def add(self, batch: pa.RecordBatch) -> None:
        """Count the records of a batch."""
        for sizes in self.sizes.values():
            sizes.add(batch)

    def checks(self) -> Iterator[Check]:
        """One a column."""
        for name, sizes in self.sizes.items():
            fewest, farthest = _within(sizes.total(), self.keys)
            good = fewest >= self.distinct and farthest <= self.closeness + ROUNDING
            yield Check.decided(
                f"{name} by released keys",
                good,
                f"at least {fewest:,} values share each combination, {self.distinct:,} are stated; "
                f"at most {text_up(farthest, 3)} from the whole, {text_up(self.closeness, 3)} is",
            )


def _number(stated: object, default: float) -> float:
    known = isinstance(stated, int | float) and not isinstance(stated, bool)
    return stated if known else default  # type: ignore[return-value]


def _as_grouped(certificate: Certificate) -> list[str]:
    """Sensitive columns that are released unchanged when groups were formed."""
    schema = certificate.true_schema
    changed = {column.name for column in schema.noisy}
    changed |= {column.name for column in schema.columns if column.drawn}
    return [c.name for c in schema.columns if c.role is Role.SENSITIVE and c.name not in changed]


def _within(total: pa.Table, keys: int) -> tuple[int, float]:
    """The fewest values of a combination of keys, and the largest distance of one to all."""
    if not len(total):
        return 0, 0.0
    codes = [codes_of(total.column(at))[0] for at in range(keys)]
    group = joint_groups(codes) if codes else np.zeros(len(total), np.int64)
    value, missing, ordered = codes_of(total.column(keys))
    counts = np.asarray(total.column(GROUP_SIZE), dtype=np.float64)
    present = np.bincount(group, weights=value != missing)  # each value of a group has one row
    share = counts / np.bincount(group, weights=counts)[group]
    overall = np.bincount(value, weights=counts) / counts.sum()
    far: FloatArray = distance_of_groups(group, value, share, overall, ordered=ordered)
    return int(present.min()), float(far.max(initial=0.0))


LOOKED_AT = 200_000
"""This many records are enough: sets drawn by the data for a reason would show in fewer."""

LEVEL = 1e-6
MOST_VALUES = 20
BINS = 10
FEWEST_EXPECTED = 5.0


class SetIndependence:
    """The sets of the first records, and what stands beside them."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._batches: list[pa.RecordBatch] = []
        self._records = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """One more batch, while there are few."""
        left = LOOKED_AT - self._records
        if self.columns and left > 0:
            some = batch.select([REPORTED, *self.columns]).slice(0, left)
            self._batches.append(some)
            self._records += some.num_rows

    def checks(self) -> Iterator[Check]:
        """One a column beside."""
        if not self._records:
            return
        table = pa.Table.from_batches(self._batches).unify_dictionaries()
        sets = _codes(table.column(REPORTED))
        for name in self.columns:
            codes = _codes(table.column(name))
            shape = [int(sets.max()) + 1, int(codes.max()) + 1]
            statistic, degrees = _chi_square(cell_counts([sets, codes], shape))
            good = chi_square_tail(statistic, degrees) > LEVEL / len(self.columns)
            words = "do not depend on it" if good else "depend on it: they were not drawn by chance"
            yield Check.decided(f"sets beside {name}", good, f"the sets asked for {words}")


def _codes(column: pa.ChunkedArray) -> IntArray:
    """Values as codes: the most frequent and the rest, numbers of many values in bins."""
    kind = column.type
    if is_number(kind):
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        known = numbers[~np.isnan(numbers)]
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS)) if len(known) else known
        found = np.searchsorted(edges, numbers, side="right")
        return np.where(np.isnan(numbers), len(edges) + 1, found).astype(np.int64)
    if not pa.types.is_dictionary(kind):
        column = column.dictionary_encode(null_encoding="encode")
    combined = column.combine_chunks()
    codes = pc.fill_null(combined.indices.cast(pa.int64()), len(combined.dictionary)).to_numpy()
    order = np.argsort(-np.bincount(codes), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.minimum(np.arange(len(order)), MOST_VALUES)
    coded: IntArray = place[codes]
    return coded


def _chi_square(counts: FloatArray) -> tuple[float, int]:
    """The statistic of independence, rare sets and values each put together."""
    for _ in range(2):
        counts = counts[:, counts.sum(axis=0) > 0].T
        total = counts.sum()
        rare = counts.sum(axis=1) * counts.sum(axis=0).min() / total < FEWEST_EXPECTED
        if rare.any():
            counts = np.vstack([counts[~rare], counts[rare].sum(axis=0)])
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    degrees = (counts.shape[0] - 1) * (counts.shape[1] - 1)
    return float(((counts - expected) ** 2 / expected).sum()), degrees


def copy_checks(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """One check a copy: every byte, and then every value beside that of the data file."""
    for copy in certificate.copies:
        name = f"copy {copy.name}"
        try:
            same = fingerprint(file_path(folder, copy), copy.format) == copy
            detail = "" if same else "does not have the SHA-256 that the certificate states"
            if same and not _same_records(folder, certificate, copy):
                same, detail = False, "holds other records than the data file"
        except PramanaError as error:
            same, detail = False, str(error)
        yield Check.decided(name, same, detail or "the same records in the same order")


def _same_records(folder: Path, certificate: Certificate, copy: DataFile) -> bool:
    pairs = zip_longest(
        _groups(open_data(folder, certificate)), _groups(open_data(folder, certificate, copy))
    )
    for data, other in pairs:
        if data is None or other is None or data.column_names != other.column_names:
            return False
        try:
            require_same(data, other, copy.format)
        except PramanaError:
            return False
    return True


def _groups(opened: OpenedTable) -> Iterator[pa.Table]:
    return in_groups(opened.batches(), opened.schema)
