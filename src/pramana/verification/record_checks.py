"""Checks of the released records, made in one pass over the data file.

Anyone can count records, values outside their domains, impossible combinations, strata without a
matrix, and the anonymity set.

If all records of a group are released with the same keys, everybody sees the group, or a union of
several. A union has at least as many distinct values as each of its parts, and is at most as far
from the whole table as the farthest of them. A certificate that declares more distinct values, or a
smaller distance, than the union has is therefore wrong [Li07], [Machanavajjhala06].

Attribute sets are drawn independently of the record (docs/proofs/attribute_sampling.md). Columns
released unchanged must therefore be independent of the sets. Each has a chi-square test; numbers
are put into ten bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import chi_square_tail, coarse_up
from pramana.base.text import counted, text_up
from pramana.base.translation import gettext, noop, numeral
from pramana.errors import PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.io.base import require_same
from pramana.io.output import in_groups
from pramana.mechanisms.mechanism import AttributeSampler, ShuffledRounds, table_of_rounds
from pramana.release.certificate import Certificate, DataFile
from pramana.release.folder import file_path, fingerprint, open_data
from pramana.release.kinds import NewKeys
from pramana.schema.codec import Refused, count_refused, encode_released, places_among
from pramana.schema.domains import label_key
from pramana.schema.group_sizes import (
    MOST_ATTACHED,
    GroupSizes,
    codes_of,
    distance_of_groups,
    in_bins,
)
from pramana.schema.joint_cells import CellRules, Counter, cell_counts, joint_groups, tied_columns
from pramana.schema.opened_table import BATCH, OpenedTable, is_number, value_type
from pramana.schema.schema import COUNT, REPORTED, Column
from pramana.types import BoolArray, FloatArray, IntArray, Positions, Progress
from pramana.verification.checks import Check, CheckKind

MOST_UNPACKED: Final = 2**30
"""The most bytes that the texts of a batch of records may take."""

MOST_DENSE: Final = 2**16
"""The most cells that each part of the records is counted in as an array."""

LEVEL: Final = 1e-6
"""The error level of the tests of attribute sets."""

ROUNDING: Final = 1e-9


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
    scan = RecordScan(certificate)
    counts, records = scan.nothing(), opened.rows
    if records == certificate.records:  # otherwise nothing is unpacked
        counts = scan.read(opened, progress)
        records = counts.records
    same = not counts.problem and records == certificate.records
    yield Check.decided(
        "records",
        same,
        counts.problem or "{records}; {declared}",
        records=counted(records, "record"),
        declared=_declared(certificate.records),
        most=certificate.records,
    )
    if same:
        yield from scan.checks(counts, opened)


def _round_checks(
    certificate: Certificate, mechanism: ShuffledRounds, opened: OpenedTable
) -> Iterator[Check]:
    """Every cell of every round is in its place, and counts of a round sum to the records."""
    rows, records = certificate.rows, certificate.records
    good = opened.rows == rows
    detail = "{cells}; {declared}"
    batches = list(_packed(opened).batches()) if good else []
    if good and sum(batch.num_rows for batch in batches) != rows:
        good, detail = False, "not the cells that the certificate states ({cells})"
    if good and sum(map(_unpacked_bytes, batches)) > MOST_UNPACKED:
        good, detail = False, "texts too long for the memory"
    yield Check.decided(
        "cells", good, detail, cells=counted(opened.rows, "cell"), declared=_declared(rows)
    )
    if not good:
        return
    table, expected = (
        pa.Table.from_batches(batches),
        table_of_rounds(certificate.true_schema, mechanism),
    )
    different = [
        name
        for name in expected.column_names
        if not _holds_cells(certificate, name, table.column(name), expected.column(name))
    ]
    yield Check.decided(
        "cells of the rounds",
        not different,
        "{columns}: cells differ from the certificate"
        if different
        else "in the order of the certificate",
        columns=", ".join(different),
    )
    counts = table.column(COUNT)
    whole = pa.types.is_integer(counts.type) and not counts.null_count
    numbers = np.asarray(counts.cast(pa.int64())) if whole else np.full(rows, -1)
    starts = np.cumsum([0, *(one.matrix.size for one in mechanism.sets)])
    sums = np.add.reduceat(np.clip(numbers, 0, records + 1), starts[:-1])
    good = bool((numbers >= 0).all() and (sums == records).all())
    yield Check.decided(
        "records",
        good,
        "the counts of each round sum to {records:,} records"
        if good
        else "the counts of each round do not sum to {records:,} records",
        records=records,
    )
    yield Check.decided(
        "anonymity set",
        certificate.anonymity_set == records,
        "all {records:,} records of a round; {declared}",
        records=records,
        declared=_declared(certificate.anonymity_set),
    )


def _holds_cells(
    certificate: Certificate, name: str, cells: pa.ChunkedArray, expected: pa.ChunkedArray
) -> bool:
    """Whether a column holds the expected values, and no others in its dictionaries either."""
    if name == REPORTED:
        return bool(cells.cast(pa.string()).equals(expected.cast(pa.string())))
    column = certificate.schema.column(name)
    dictionaries = [
        chunk.dictionary for chunk in cells.chunks if pa.types.is_dictionary(chunk.type)
    ]
    present = [values.drop_null() for values in (cells, expected)]
    refused = (count_refused(column, v, released=True) for v in (*dictionaries, present[0]))
    if any(refused) or not cells.is_null().equals(expected.is_null()):
        return False
    codes = [encode_released(column, values) for values in present]
    return np.array_equal(codes[0], codes[1])


def _declared(number: int) -> str:
    return gettext("the certificate states {number:,}", number=number)


@dataclass
class RecordCounts:
    """What one pass over some of the released records finds.

    Attributes:
        records: their number.
        problem: what ended the pass early, if anything did.
        impossible: records with an impossible combination of values.
        set_counts: records by attribute set.
        unknown_sets: whether an attribute set is named that is not stated.
        refused: refused values by column.
        values: the distinct values of sensitive columns, up to the number that is stated.
        anonymity_set: records by the known columns.
        shared_keys: records by all keys, if groups share them.
        diversity: records by all keys and a sensitive column, for each of these.
        strata: records by the strata of each step.
        attached: records by the unchanged columns.
        cells: records by the randomised columns, if a claim needs them.
    """

    records: int
    problem: str
    impossible: int
    set_counts: IntArray
    unknown_sets: bool
    refused: dict[str, Refused]
    values: dict[str, set[object]]
    anonymity_set: GroupSizes
    shared_keys: GroupSizes
    diversity: dict[str, GroupSizes]
    strata: list[GroupSizes]
    attached: GroupSizes
    cells: Counter | None

    @property
    def groups(self) -> list[GroupSizes]:
        """The groups that records are counted by as they are."""
        return [self.anonymity_set, self.shared_keys, *self.diversity.values(), *self.strata]

    def merge(self, other: RecordCounts) -> None:
        """Add what was found in other records."""
        self.records += other.records
        self.problem = self.problem or other.problem
        self.impossible += other.impossible
        self.set_counts += other.set_counts
        self.unknown_sets |= other.unknown_sets
        for name, refused in other.refused.items():
            self.refused[name] += refused
        for name, values in other.values.items():
            self.values[name] |= values
        pairs = zip(self.groups, other.groups, strict=True)
        for tally, more in (*pairs, (self.attached, other.attached)):
            tally.merge(more)
        if self.cells is not None and other.cells is not None:
            self.cells.merge(other.cells)


class RecordScan:
    """What is looked at in one pass over the released records; threads and workers share it."""

    def __init__(self, certificate: Certificate) -> None:
        schema, mechanism = certificate.schema, certificate.mechanism
        self.certificate = certificate
        self.sampler = mechanism if isinstance(mechanism, AttributeSampler) else None
        self.set_names = certificate.marks
        self.asked = self._asked_columns()
        self.unchanged = [column.name for column in certificate.true_schema.released_as_is]
        self.coded = [column for column in schema.released if column.coded or column.listed]
        steps = mechanism.steps if mechanism else ()
        self.strata = [step for step in steps if step.strata]
        # Columns that at least k records share: all keys of a centre, or after suppression
        drawn = any(column.drawn for column in schema.randomised)
        centre = certificate.statistics.get("keys") == NewKeys.CENTRE and not drawn
        keys = [*certificate.known_columns, *(column.name for column in schema.randomised)]
        options = certificate.options if certificate.nature.grouped else {}
        self.shared = keys if centre or options.get("suppress") is True else []
        distinct, closeness = options.get("distinct", 1), options.get("closeness", 1.0)
        self.distinct = distinct if type(distinct) is int else 1
        self.closeness = closeness if type(closeness) in (int, float) else 1.0
        sensitive = [column for column in schema.columns if not column.role.traits.known]
        self.sensitive = [column.name for column in sensitive if self.distinct > 1]
        original = [
            column.name
            for column in certificate.true_schema.columns
            if not column.role.traits.known and not column.noisy and not column.drawn
        ]
        diverse = centre and (self.distinct > 1 or self.closeness < 1)
        self.diverse = {name: [*keys, name] for name in original if diverse}
        self.attached = self.unchanged if certificate.smallest_unchanged_group is not None else []
        # The randomised columns together, if a claim is made that only the owner can compute.
        owned = any(only_the_owner(type(claim.attained)) for claim in certificate.claims)
        crossed = owned and mechanism is not None and certificate.nature.whole
        self.crossed = schema.randomised if crossed else ()
        ties = [rule.columns for rule in schema.impossible]
        names = list(dict.fromkeys(name for columns in ties for name in columns))
        self.rules = [
            (columns, CellRules.of(schema, columns))
            for columns in (
                dict.fromkeys(tied_columns(names, ties)) if self.sampler is None else ()
            )
        ]
        self.possible_reports = self._possible_reports() if schema.impossible else []

    def _asked_columns(self) -> dict[str, BoolArray]:
        """The sets that contain each randomised column; the last entry is for no stated set."""
        if self.sampler is None:
            return {}
        columns_of = {one.name: one.columns for one in self.sampler.sets}
        asked = [*(columns_of.get(name, ()) for name in self.set_names), ()]
        randomised = self.certificate.schema.randomised
        return {c.name: np.array([c.name in columns for columns in asked]) for c in randomised}

    def _possible_reports(self) -> list[tuple[int, tuple[str, ...], BoolArray]]:
        """Of each set that cannot report every cell: its place, its columns, and its cells.

        Rules together may rule out what none of them names.
        """
        reports = []
        for one in () if self.sampler is None else self.sampler.sets:
            columns = [self.certificate.schema.column(name) for name in one.columns]
            places = [{label_key(v): at for at, v in enumerate(c.labels)} for c in columns]
            cells = np.zeros([len(column.labels) for column in columns], dtype=bool)
            if one.matrix.size == cells.size:
                continue
            for cell in one.cells:
                cells[tuple(at[label_key(v)] for at, v in zip(places, cell, strict=True))] = True
            reports.append((self.set_names.index(one.name), one.columns, cells))
        return reports

    def nothing(self) -> RecordCounts:
        """The counts of no records."""
        return RecordCounts(
            records=0,
            problem="",
            impossible=0,
            set_counts=np.zeros(len(self.set_names), dtype=np.int64),
            unknown_sets=False,
            refused={column.name: Refused() for column in self.coded},
            values={name: set() for name in self.sensitive},
            anonymity_set=GroupSizes(self.certificate.known_columns, apart=True),
            shared_keys=GroupSizes(self.shared),
            diversity={name: GroupSizes(columns) for name, columns in self.diverse.items()},
            strata=[GroupSizes(step.strata) for step in self.strata],
            attached=GroupSizes(self.attached, most=MOST_ATTACHED),
            cells=self._cell_counter() if self.crossed else None,
        )

    def _cell_counter(self) -> Counter:
        names, labels = [c.name for c in self.crossed], [c.labels for c in self.crossed]
        return Counter(names, labels, dense=MOST_DENSE)

    def read(self, opened: OpenedTable, progress: Progress | None) -> RecordCounts:
        """What is found in all records, part by part; what is wrong may end the pass."""
        counts, most = self.nothing(), self.certificate.records
        for part in _packed(opened).summaries(self.count, by_part=True):
            counts.merge(part)
            if counts.records > most:
                counts.problem = counts.problem or noop("more records than {most:,}")
            if counts.problem:
                break
            if progress is not None:
                progress(part.records)
        return counts

    def count(self, batches: Iterable[pa.RecordBatch]) -> RecordCounts:
        """What is found in some records."""
        counts = self.nothing()
        for batch in batches:
            for begin in range(0, len(batch), BATCH):
                piece = batch.slice(begin, BATCH)
                if _unpacked_bytes(piece) > MOST_UNPACKED:
                    counts.problem = noop("texts too long for the memory")
                    return counts
                self.add(piece, counts)
        return counts

    def add(self, batch: pa.RecordBatch, counts: RecordCounts) -> None:
        """Count the records of one batch."""
        schema = self.certificate.schema
        counts.records += batch.num_rows
        sets = None
        if self.set_names:
            places = places_among(self.set_names, batch.column(REPORTED))
            sets = np.maximum(places, -1).astype(np.intp)  # -1: the last entry of ``asked``
            counts.set_counts += np.bincount(sets[sets >= 0], minlength=len(self.set_names))
            names = batch.column(REPORTED)
            if isinstance(names, pa.DictionaryArray):  # it may hold what no record refers to
                unknown = places_among(self.set_names, names.dictionary) < 0
                counts.unknown_sets |= bool(unknown.any())
        good = True
        for column in self.coded:
            refused = self._refused(column, batch.column(column.name), sets)
            counts.refused[column.name] += refused
            good = good and not refused
        for name, values in counts.values.items():
            if len(values) < self.distinct:
                occurring = pc.unique(batch.column(name)).to_pylist()
                values.update(v for v in occurring if v is not None and v == v)
        for sizes in counts.groups:
            if sizes.columns:
                sizes.add(batch)
        if not good:  # what follows needs the codes of all values
            return
        for columns, rules in self.rules:
            codes = [encode_released(schema.column(n), batch.column(n)) for n in columns]
            counts.impossible += batch.num_rows - int(rules.possible(codes).sum())
        for place, columns, cells in self.possible_reports:
            reports = batch.filter(pa.array(sets == place))
            codes = [encode_released(schema.column(n), reports.column(n)) for n in columns]
            counts.impossible += reports.num_rows - int(cells[tuple(codes)].sum())
        if counts.cells is not None:
            counts.cells.add([encode_released(c, batch.column(c.name)) for c in self.crossed])
        if self.attached:
            counts.attached.add(in_bins(batch, schema.binned, released=True))

    def _refused(self, column: Column, values: pa.Array, sets: Positions | None) -> Refused:
        """Values outside the domain; of attribute sets also values that were not asked for."""
        if isinstance(values, pa.DictionaryArray) and (
            refused := count_refused(column, values.dictionary, released=True)
        ):
            return refused  # also if no record refers to it: it is in the file
        refused = count_refused(column, values, released=True)
        if sets is None or column.name not in self.asked:
            return refused
        asked = self.asked[column.name][sets]
        there = values.is_valid().to_numpy(zero_copy_only=False)
        unasked = int(np.count_nonzero(there > asked))
        silent = len(values) - int(np.count_nonzero(asked)) - unasked
        return Refused(refused.outside + unasked, max(refused.missing - silent, 0))

    def checks(self, counts: RecordCounts, opened: OpenedTable) -> Iterator[Check]:
        """One check for each thing that was counted."""
        certificate = self.certificate
        for name, refused in counts.refused.items():
            outside = refused.outside + refused.missing
            good = "every value lies in its domain"
            detail = "{records} outside" if outside else good
            yield Check.decided(
                "domain of {column}",
                not outside,
                detail,
                column=name,
                records=counted(outside, "record"),
            )
        if self.sampler is not None:
            yield self._set_counts(self.sampler, counts)
            columns = () if certificate.nature.whole else self.unchanged
            yield from independence_checks(opened, columns)
        if certificate.schema.impossible:
            yield Check.decided(
                "impossible combinations",
                not counts.impossible,
                "{count:,} records hold one",
                count=counts.impossible,
            )
        for step, sizes in zip(self.strata, counts.strata, strict=True):
            lacking = sizes.keys() - {tuple(map(label_key, stratum)) for stratum in step.by_stratum}
            yield Check.decided(
                "strata of {columns}",
                not lacking,
                "{count:,} strata without a matrix" if lacking else "each has its matrix",
                columns=" x ".join(step.columns),
                count=len(lacking),
            )
        yield from self._group_checks(counts)
        yield self._anonymity_set(counts)
        if not any(counts.refused.values()) and counts.cells is not None:
            released = counts.cells.result()
            for claim in certificate.claims:
                contradiction = claim.attained.contradicted(certificate.evidence, released)
                if contradiction is not None:
                    name = "{guarantee} in the records"
                    yield Check.decided(
                        name, False, contradiction, CheckKind.GUARANTEE, guarantee=claim.name
                    )
        if certificate.smallest_unchanged_group is not None:
            smallest = counts.attached.smallest() if self.attached else counts.records
            smallest = 1 if certificate.true_schema.noisy else smallest  # noise tells all apart
            declared = _declared(certificate.smallest_unchanged_group)
            yield Check.decided(
                "unchanged columns",
                smallest == certificate.smallest_unchanged_group,
                "{smallest:,} or more share all unchanged columns; {declared}",
                CheckKind.UNCHANGED,
                smallest=smallest,
                declared=declared,
            )

    def _set_counts(self, sampler: AttributeSampler, counts: RecordCounts) -> Check:
        """Whether each set was asked for as often as stated, within what chance allows."""
        name, asked = "attribute sets", counts.set_counts
        unknown = counts.records - int(asked.sum())
        if unknown or counts.unknown_sets:
            detail = "{count:,} records name an attribute set that is not in the certificate"
            return Check.decided(name, False, detail, count=unknown)
        expected = np.array([one.share * counts.records for one in sampler.sets])
        statistic = float(((asked - expected) ** 2 / np.maximum(expected, 1)).sum())
        good = len(asked) == 1 or chi_square_tail(statistic, len(asked) - 1) > LEVEL
        detail = "frequencies disagree with the certificate"
        if good:
            detail = "frequencies agree with the certificate"
        return Check.decided(name, good, detail)

    def _group_checks(self, counts: RecordCounts) -> Iterator[Check]:
        """Sizes of groups, and how diverse the sensitive values inside them are."""
        if self.shared:
            claims = self.certificate.claims
            least = self.certificate.options.get("min_size") or 1
            stated = max([least, *(getattr(claim.attained, "k", 1) for claim in claims)])
            smallest = counts.shared_keys.smallest()
            yield Check.decided(
                "records with the same keys",
                smallest >= stated,
                "at least {smallest:,} share each combination; the certificate states {stated:,}",
                smallest=smallest,
                stated=stated,
            )
            yield from self._suppressed_cells(counts.shared_keys.total())
        for name, values in counts.values.items():
            if len(values) < self.distinct:
                detail = "{values}; the certificate states {distinct:,} in every group"
                some = counted(len(values), "value")
                yield Check.decided(
                    "values of {column}",
                    False,
                    detail,
                    column=name,
                    values=some,
                    distinct=self.distinct,
                )
        for name, sizes in counts.diversity.items():
            fewest, farthest = _diversity(sizes.total())
            yield Check.decided(
                "{column} by released keys",
                fewest >= self.distinct and farthest <= self.closeness + ROUNDING,
                "at least {fewest:,} values for each combination, at a distance of at most {far} "
                "from the whole table; the certificate states {distinct:,} and {closeness}",
                column=name,
                fewest=fewest,
                distinct=self.distinct,
                far=numeral(text_up(farthest, 3)),
                closeness=numeral(text_up(self.closeness, 3)),
            )

    def _suppressed_cells(self, total: pa.Table) -> Iterator[Check]:
        """Every missing cell of a complete key was suppressed; of other keys only the owner knows.

        A cell that was missing before looks like one that was suppressed.
        """
        stated = self.certificate.statistics.get("suppressed_cells")
        if stated is None:
            return
        records = total.columns[-1]
        missing = {
            column.name: pc.sum(records.filter(pc.is_null(key, nan_is_null=True))).as_py() or 0
            for column in self.certificate.schema.randomised
            for key in [total.column(column.name)]
        }
        complete = set(stated.get("complete_keys", ())) & missing.keys()
        suppressed = sum(missing[name] for name in complete)
        possible = sum(missing.values())
        least, most = stated["least"], stated["at_most"]
        detail = gettext(
            "{cells} of keys missing; the certificate states that {least:,} to {most:,} were "
            "suppressed",
            least=least, most=most, cells=counted(possible, "cell"),
        )  # fmt: skip
        good = coarse_up(suppressed) <= most == coarse_up(most) <= coarse_up(possible)
        good = good and least <= possible
        if good and len(complete) < len(missing):
            detail += gettext(". At least {number:,} of these were suppressed", number=suppressed)
            yield Check.asserted("suppressed cells", detail)
        else:
            yield Check.decided("suppressed cells", good, detail)

    def _anonymity_set(self, counts: RecordCounts) -> Check:
        """Among how many records a person hides, counted again."""
        certificate = self.certificate
        known, declared = certificate.known_columns, _declared(certificate.anonymity_set)
        if known:
            smallest = counts.anonymity_set.smallest()
            words = gettext(
                "the smallest group of {columns} has {records}",
                columns=", ".join(known), records=counted(smallest, "record"),
            )  # fmt: skip
        else:
            smallest = counts.records
            words = gettext(
                "all {number:,} records form one anonymity set, for an attacker who knows no "
                "unchanged column",
                number=smallest,
            )
        return Check.decided(
            "anonymity set",
            smallest == certificate.anonymity_set,
            "{outcome}; {declared}",
            outcome=words,
            declared=declared,
        )


def _packed(opened: OpenedTable) -> OpenedTable:
    """The table with each text once, if its file stores it so: unpacked it may have any length."""
    texts = [item.name for item in opened.schema if _is_text(item.type)]
    return opened.fitted(coded=texts) if opened.format == "parquet" else opened


def _is_text(kind: pa.DataType) -> bool:
    kind = value_type(kind)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _unpacked_bytes(batch: pa.RecordBatch) -> int:
    """The bytes that the texts of a batch would take, each written out for every record.

    Or more, if even the longest text in every record would be few enough.
    """
    texts = [c for c in batch.columns if pa.types.is_dictionary(c.type) and _is_text(c.type)]
    lengths = [pc.fill_null(pc.binary_length(c.dictionary), 0).cast(pa.int64()) for c in texts]
    most = batch.num_rows * sum(pc.max(length).as_py() or 0 for length in lengths)
    if most <= MOST_UNPACKED:
        return int(most)
    taken = (length.take(c.indices) for length, c in zip(lengths, texts, strict=True))
    return sum(pc.sum(length).as_py() or 0 for length in taken)


def _diversity(total: pa.Table) -> tuple[int, float]:
    """The fewest values of a combination of keys, and the largest distance of one to all.

    Columns of the table: keys, the sensitive column, the number of records.
    """
    if not len(total):
        return 0, 0.0
    *keys, sensitive, counts = total.columns
    group = joint_groups([codes_of(key)[0] for key in keys])
    value, missing, ordered = codes_of(sensitive)
    records = np.asarray(counts, dtype=np.float64)
    present = np.bincount(group, weights=value != missing)  # each value of a group has one row
    share = records / np.bincount(group, weights=records)[group]
    overall = np.bincount(value, weights=records) / records.sum()
    distances: FloatArray = distance_of_groups(group, value, share, overall, ordered=ordered)
    return int(present.min()), float(distances.max(initial=0.0))


# -- independence of attribute sets ----------------------------------------------------------------

LOOKED_AT: Final = 200_000
"""Records that are looked at: sets that depend on the data would show in fewer."""

MOST_VALUES: Final = 20
BINS: Final = 10
FEWEST_EXPECTED: Final = 5.0


def independence_checks(opened: OpenedTable, columns: Sequence[str]) -> Iterator[Check]:
    """One chi-square test per column: whether the sets of the first records depend on it."""
    if not columns or not opened.rows:
        return
    table = opened.first([REPORTED, *columns], LOOKED_AT)
    sets = _few_codes(table.column(REPORTED))
    for name in columns:
        codes = _few_codes(table.column(name))
        shape = [int(sets.max()) + 1, int(codes.max()) + 1]
        statistic, degrees = _chi_square(cell_counts([sets, codes], shape))
        good = chi_square_tail(statistic, degrees) > LEVEL / len(columns)
        words = (
            "the attribute sets do not depend on it"
            if good
            else "the attribute sets depend on it: they were not drawn at random"
        )
        yield Check.decided(
            "attribute sets and {column}",
            good,
            words,
            column=name,
        )


def _few_codes(column: pa.ChunkedArray) -> IntArray:
    """Values as codes: the most frequent and the rest, numbers in bins."""
    if is_number(column.type):
        numbers = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        known = numbers[~np.isnan(numbers)]
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS)) if len(known) else known
        places = np.searchsorted(edges, numbers, side="right")
        return np.where(np.isnan(numbers), len(edges) + 1, places).astype(np.int64)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    combined = column.combine_chunks()
    codes = pc.fill_null(combined.indices.cast(pa.int64()), len(combined.dictionary)).to_numpy()
    order = np.argsort(-np.bincount(codes), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.minimum(np.arange(len(order)), MOST_VALUES)
    return np.asarray(rank[codes], dtype=np.int64)


def _chi_square(counts: FloatArray) -> tuple[float, int]:
    """The statistic of independence, with rare sets and rare values each merged into one."""
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


# -- copies of the data file -----------------------------------------------------------------------


def copy_checks(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """One check for each copy: its fingerprint, and every value compared with the data file."""
    for copy in certificate.copies:
        try:
            same = fingerprint(file_path(folder, copy), copy.format) == copy
            detail = "" if same else "does not have the SHA-256 that the certificate states"
            if same and not _same_records(folder, certificate, copy):
                same, detail = False, "holds other records than the data file"
        except PramanaError as error:
            same, detail = False, str(error)
        yield Check.decided(
            "copy {copy}", same, detail or "the same records in the same order", copy=copy.name
        )


def _same_records(folder: Path, certificate: Certificate, copy: DataFile) -> bool:
    opened = open_data(folder, certificate), open_data(folder, certificate, copy)
    groups = (in_groups(table.batches(), table.schema) for table in opened)
    for data, other in zip_longest(*groups):
        if data is None or other is None or data.column_names != other.column_names:
            return False
        try:
            require_same(data, other, copy.format)
        except PramanaError:
            return False
    return True
