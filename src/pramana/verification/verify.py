"""Checking a release from the folder alone.

A stranger recomputes: the fingerprints, the signature, that all parts of the certificate fit
together, the number of records, that every value lies in its domain, the anonymity set, and every
guarantee that follows from the published matrices. What only the owner can compute is told apart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.base.rounding import chi_square_tail
from pramana.base.text import counted, listed, records_that
from pramana.errors import NotARelease, PramanaError
from pramana.guarantees.base import only_the_owner
from pramana.mechanisms.attribute_sampling import AttributeSampler
from pramana.release.certificate import NOT_FOR_PUBLICATION, Certificate
from pramana.release.documentation import explanations
from pramana.release.folder import (
    CERTIFICATE,
    data_path,
    files_of,
    fingerprint,
    holds,
    open_data,
    read_certificate,
    stamps_of,
)
from pramana.release.methods import NewKeys
from pramana.schema.codec import Refused, count_refused, encode_released, places_among
from pramana.schema.domains import label_key
from pramana.schema.groups import MOST_ATTACHED, GroupSizes, in_bins
from pramana.schema.joint_cells import CellRules, Counter, tied_columns
from pramana.schema.opened_table import FileStamp, OpenedTable, require_unchanged
from pramana.schema.schema import REPORTED, Column, Role
from pramana.types import BoolArray, Positions, Progress
from pramana.verification.checks import Check, Verdict
from pramana.verification.consistency import consistency_checks
from pramana.verification.data_checks import SetsBeside, WithinKeys, copies_checked

UNFORESEEN: Final = (
    pa.ArrowException, OSError, EOFError, ValueError, ArithmeticError, LookupError, MemoryError,
    RecursionError, TypeError,
)  # fmt: skip
"""What data may still raise that somebody made to be raised: a check that fails, and no more."""


MOST_FILES: Final = 10_000
MOST_NAMED: Final = 5
"""Files beside a release that are named."""

MOST_UNPACKED: Final = 2**30
"""So many bytes may the texts of a batch of records have."""


def verify_folder(
    folder: str | Path, *, key: str | Path | None = None, progress: Progress | None = None
) -> Verdict:
    """Everything that a stranger can check."""
    folder = Path(folder)
    try:
        certificate = read_certificate(folder)
    except NotARelease as error:
        if not os.path.lexists(folder / CERTIFICATE):
            raise
        # One is there and cannot be read: whoever altered it, the release does not hold.
        return Verdict((Check.decided("certificate", False, str(error)),))
    whole = Check.decided(
        "certificate", True, "every byte is as it was written, and so is its digest"
    )
    before: tuple[FileStamp, ...] = ()
    with suppress(PramanaError):  # which the check of the data says
        before = stamps_of(folder, certificate)
    data = _fingerprint(folder, certificate)
    checks = [
        whole,
        data,
        _explained(folder, certificate),
        *_others(folder, certificate),
        *_signature(certificate, key),
        *consistency_checks(certificate),
        *_owners_word(certificate),
    ]
    if data.ok:
        try:
            checks.extend(_records(certificate, open_data(folder, certificate), progress))
            checks.extend(copies_checked(folder, certificate))
            require_unchanged(before)
        except PramanaError as error:
            checks.append(Check.decided("table", False, str(error)))
        except UNFORESEEN:
            checks.append(Check.decided("table", False, "it cannot be read"))
    return Verdict(tuple(checks), tuple(_notes(certificate, key)))


def _owners_word(certificate: Certificate) -> Iterator[Check]:
    """What no folder can show: that its records came about as the certificate says."""
    if certificate.mechanism is not None or certificate.nature.withholds_matrices:
        which = "these matrices" if certificate.mechanism is not None else "matrices"
        detail = f"independent randomisation by {which} cannot be verified from the folder"
        yield Check.asserted("draws", detail)
    yield Check.asserted("order", "shuffling cannot be verified from the folder")


def _fingerprint(folder: Path, certificate: Certificate) -> Check:
    """The data file, of which nothing is read unless its name, kind and size are as stated."""
    data = certificate.data
    if data is None:
        return Check.decided("data", False, "the certificate names no data file")
    try:
        same = fingerprint(data_path(folder, certificate), data.format) == data
    except PramanaError as error:
        return Check.decided("data", False, str(error))
    detail = "has" if same else "does not have"
    return Check.decided(
        "data", same, f"{data.name} {detail} the SHA-256 that the certificate states"
    )


def _explained(folder: Path, certificate: Certificate) -> Check:
    """README, codebook and snippets, where they lie there, follow from the certificate."""
    written = explanations(certificate)
    there = [name for name in written if os.path.lexists(folder / name)]
    false = [name for name in there if not holds(folder / name, written[name])]
    if false:
        told = f"{', '.join(false)}: not what follows from the certificate"
        return Check.decided("explanations", False, told)
    if len(there) < len(written):
        gone = len(written) - len(there)
        return Check.asserted(
            "explanations",
            f"{gone} of {len(written)} files {'is' if gone == 1 else 'are'} not there",
        )
    return Check.decided("explanations", True, f"{', '.join(there)} say what the certificate says")


def _others(folder: Path, certificate: Certificate) -> Iterator[Check]:
    """Files that the certificate does not name: of anybody, read by no verb."""
    known, strange = files_of(certificate), list[str]()
    with suppress(OSError), os.scandir(folder) as entries:
        strange = sorted(own.name for own, _ in zip(entries, range(MOST_FILES), strict=False)
                         if own.name not in known)  # fmt: skip
    if strange:
        shown = listed([ascii(name)[1:-1] for name in strange], MOST_NAMED)
        told = f"{shown}: not of the release, and not looked at"
        yield Check.asserted("other files", told)


def _signature(certificate: Certificate, key: str | Path | None) -> Iterator[Check]:
    if key is None:
        return
    if certificate.signature is None:
        yield Check.decided(
            "signature", False, "a key was given, and the certificate is not signed"
        )
        return
    from pramana.release.signing import has_signature_of  # most are not signed

    good = has_signature_of(certificate, Path(key))
    yield Check.decided(
        "signature", good, f"the signature {'fits' if good else 'does not fit'} the key"
    )


def _records(
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
    if opened.rows != certificate.records:  # nothing of it is unpacked then
        told = f"{counted(opened.rows, 'record')}, {_stated(certificate.records)}"
        yield Check.decided("records", False, told)
        return
    seen = _Seen(certificate)
    wrong = _look(seen, opened, progress)
    if wrong is not None:
        yield Check.decided("records", False, wrong)
        return
    same = seen.records == certificate.records
    yield Check.decided(
        "records", same, f"{counted(seen.records, 'record')}, {_stated(certificate.records)}"
    )
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
        yield from _contradicted(seen)
    if certificate.smallest_unchanged_group is not None:
        smallest = seen.attached.smallest() if seen.attached.columns else seen.records
        smallest = 1 if certificate.true_schema.noisy else smallest  # each is taken to be alone
        detail = f"{smallest:,} or more share all columns released as they are"
        good = smallest == certificate.smallest_unchanged_group
        yield Check.decided(
            "attached columns", good, f"{detail}, {_stated(certificate.smallest_unchanged_group)}"
        )


def _contradicted(seen: _Seen) -> Iterator[Check]:
    """Promises that only the owner can compute, against which the records speak all the same."""
    if seen.keyed is None:
        return
    released = seen.keyed.result()
    for claim in seen.certificate.claims:
        found = claim.attained.contradicted(seen.certificate.evidence, released)
        if found is not None:
            yield Check.decided(f"{claim.name} in the records", False, found)


def _look(seen: _Seen, opened: OpenedTable, progress: Progress | None) -> str | None:
    """All records in one pass; what is wrong with them, should that end it."""
    most = seen.certificate.records
    for batch in _packed(opened).batches():
        if _unpacked(batch) > MOST_UNPACKED:
            return "texts that would fill the memory"
        if seen.records + batch.num_rows > most:
            return f"more records than {most:,}"
        seen.look_at(batch)
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


def _stated(number: int) -> str:
    return counted(number, "is stated", "are stated")


def _anonymity_set(certificate: Certificate, seen: _Seen) -> Check:
    """Among how many records a person hides, counted again."""
    known, stated = certificate.known_columns, _stated(certificate.anonymity_set)
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


def _sets(mechanism: AttributeSampler, found: _Seen) -> Check:
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


class _Seen:
    """What one pass over the released records finds."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        self.records = 0
        self.impossible = 0
        self.names = certificate.marks
        self.asked = np.zeros(len(self.names), dtype=np.int64)
        self.strays = False
        own = [column.name for column in certificate.true_schema.released_as_is]
        self.beside = SetsBeside(() if certificate.nature.whole else own)
        self.coded = [c for c in certificate.schema.released if c.coded or c.listed]
        self.refused = {column.name: Refused() for column in self.coded}
        self.groups = GroupSizes(certificate.known_columns, apart=True)
        steps = certificate.mechanism.steps if certificate.mechanism else ()
        self.stratified = [(step, GroupSizes(step.strata)) for step in steps if step.strata]
        self.keys = GroupSizes(_alike_keys(certificate))
        self.within = WithinKeys(certificate, self.keys.columns)
        self.distinct = _distinct(certificate)
        sensitive = [c.name for c in certificate.schema.columns if c.role is Role.SENSITIVE]
        self.values = {name: set[object]() for name in sensitive if self.distinct > 1}
        self.keyed = _counter(certificate)
        self.attached = GroupSizes(
            own if certificate.smallest_unchanged_group is not None else (), most=MOST_ATTACHED
        )

    def look_at(self, batch: pa.RecordBatch) -> None:
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
            self._look_for_impossible(batch, sets)
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

    def _look_for_impossible(self, batch: pa.RecordBatch, sets: Positions | None) -> None:
        schema = self.certificate.schema
        if sets is not None:
            self.impossible += self._not_told(batch, sets)
            return
        for columns, rules in self.rules:
            codes = [encode_released(schema.column(n), batch.column(n)) for n in columns]
            self.impossible += batch.num_rows - int(rules.possible(codes).sum())

    def _not_told(self, batch: pa.RecordBatch, sets: Positions) -> int:
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
        """Where every group is said to hold so many values of a column, as many are released."""
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


def _alike_keys(certificate: Certificate) -> tuple[str, ...]:
    """The columns in which the records of a group agree; none where they need not."""
    keys = certificate.schema.randomised
    drawn = any(c.drawn for c in keys)
    if certificate.statistics.get("keys") != NewKeys.CENTRE or drawn:
        return ()
    return (*certificate.known_columns, *(column.name for column in keys))


def _notes(certificate: Certificate, key: str | Path | None) -> Iterator[str]:
    if certificate.reproducible:
        yield f"A seed was used: {NOT_FOR_PUBLICATION}."
    if certificate.signature is not None and key is None:
        yield "The certificate is signed; give the public key to check by whom."
    if certificate.nature.withholds_matrices:
        yield "The matrices are withheld: guarantees that rest on them are the owner's word."
    if not certificate.claims:
        yield "The certificate claims nothing."
    binned = [column.name for column in certificate.true_schema.binned]
    noisy = [column.name for column in certificate.true_schema.noisy]
    others = {*binned, *noisy}
    as_is = [column.name for column in certificate.as_they_are if column.name not in others]
    if noisy:
        yield f"Released with noise, outside every epsilon: {', '.join(noisy)}."
    if binned:
        yield f"Binned, not randomised, outside every epsilon: {', '.join(binned)}."
    if as_is:
        yield f"Released as they are, outside every epsilon: {', '.join(as_is)}."
    undeclared = [c.name for c in certificate.schema.randomised if not c.declared]
    if undeclared:
        names = ", ".join(undeclared)
        yield f"Domains read off the data, so that they tell which values occur: {names}."
    owner = [claim.name for claim in certificate.claims if only_the_owner(type(claim.attained))]
    if owner and not certificate.nature.grouped:
        yield f"Only the owner can recompute: {', '.join(owner)}."
