"""Protect a table: the pipeline from the original data and a plan to a release.

``protect`` reads from top to bottom:

1. refuse arguments that would fail later: outputs that exist, a ledger with a seed;
2. open the table once, compare it with the plan, and refuse columns that undo the release;
3. prepare the released records: randomise, shuffle, add noise, convert to the output types;
4. if the number of changes depends on the data, count unchanged records, also on a permuted copy;
5. make the certificate and enter it in the ledger;
6. write the records, a batch at a time, into a folder that appears whole or not at all;
7. read the release back, and report to the owner how many records are unchanged.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream, Stream
from pramana.base.translation import ENGLISH, in_language
from pramana.engine.base import Table, empty_like, engine_for, leaving, open_source
from pramana.errors import Copies, InputError
from pramana.io.base import FORMATS
from pramana.io.opening import open_table
from pramana.mechanisms.sampler import with_noise
from pramana.methods.context import counting_refusals, require_listed, require_numbers
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.release.folder import (
    complete_folder,
    data_name,
    release_folder,
    require_apart_from,
    require_counted,
    require_free,
    require_writable,
    stewards_folder,
)
from pramana.risk.unchanged import (
    UnchangedRecords,
    measure_unchanged,
    numbers_of,
    require_covered,
    whole_set,
)
from pramana.schema.domains import Label, Labels
from pramana.schema.group_sizes import group_sizes
from pramana.schema.households import require_unlinked
from pramana.schema.opened_table import OpenedTable, TableFormat
from pramana.types import Progress, TableLike
from pramana.verification.whole_file import HOUSEHOLD, count_households

if TYPE_CHECKING:  # an analyst's part is loaded when there is a release, a ledger where one is kept
    from pramana.analysis.release import Release
    from pramana.ledger.ledger import Booking, Budget

OWNER_SAMPLE = 2**17
"""Unchanged records are counted for the owner in a random sample of about this size, where the
table is larger. Shares then have an error of about 0.1 %."""


def protect(
    table: TableLike,
    plan: Plan,
    *,
    to: str | Path | None = None,
    file_format: TableFormat | None = None,
    seed: int | None = None,
    force: bool = False,
    sign_with: str | Path | None = None,
    ledger: str | Path | None = None,
    budget: Budget | None = None,
    people: str | None = None,
    copies: Sequence[TableFormat] = (),
    steward_folder: str | Path | None = None,
    accept_risk: Sequence[str] = (),
    progress: Progress | None = None,
    seen: Callable[[UnchangedRecords], None] | None = None,
) -> Release:
    """Randomise and shuffle a table as planned.

    Args:
        table: a file, a data frame or an opened table: the true one.
        plan: what to do.
        to: a folder to write the release to, however large; in memory where not given.
        file_format: of the data file; by default the format of the table.
        seed: for tests and demonstrations only: the certificate then says that the release is not
            for publication.
        force: replace an existing release folder.
        sign_with: a private key to sign the certificate with.
        ledger: a ledger to enter the release in, before it is made; one begins here if need be.
        budget: what all releases of this table on the ledger must still promise together.
        people: a name for the people of the table, by which the ledger knows them again where the
            table was changed; where not given, the columns tell.
        copies: further formats to write the same records in, next to the data file: csv, dta, sav.
        steward_folder: a folder for the owner alone, apart from the release: the plan and the
            matrices that records really pass, for later audits.
        accept_risk: columns to release unchanged although they identify people or give a randomised
            column away. The certificate names them.
        progress: is called with the number of further records done.
        seen: is called with the counts of unchanged records, for the owner only; not
            where the records lie on many machines, or no attribute set has all columns.
    """
    if not isinstance(plan, Plan):
        raise InputError("The plan must come from design, got {kind}.", kind=type(plan).__name__)
    folder = None if to is None else Path(to)
    owner_folder = None if steward_folder is None else Path(steward_folder)
    _require_places(folder, owner_folder, force=force, copies=copies)
    opened = open_source(table, schema=plan.schema)
    _require_fit(plan, opened)
    if engine_for(opened).on_one_machine:
        require_covered(plan.schema, opened, accept_risk)
    _require_ledger(ledger, budget, people, seed, folder)
    keystream = Keystream.of(seed)
    mechanism = plan.mechanism
    with (
        _booking(ledger, opened, plan, people, folder) as booking,
        counting_refusals(plan.schema, opened),
    ):
        records, plan = _released_records(plan, opened, keystream)
        unchanged = None
        if _must_count_unchanged(plan, opened):
            records = _drawn_once(records)
            unchanged = measure_unchanged(plan.schema, opened, records.to_opened())
            _warn_of_copies(plan, unchanged)
            plan = _with_unchanged_share(plan, opened, records.to_opened(), keystream)
        if engine_for(opened).on_one_machine:
            plan = _with_households(plan, opened)
        labels = _released_labels(plan, opened, records)
        certificate = _certificate(plan, keystream, labels, tuple(accept_risk))
        with _entered(booking, certificate, budget):
            if folder is None:
                release = _in_memory(records, certificate, labels, opened, empty_like(table))
            else:
                data_format = file_format or _writable(opened.format)
                require_writable(data_format, *copies)
                with (
                    stewards_folder(
                        owner_folder, release=folder, plan=plan.to_json(), mechanism=mechanism
                    ),
                    release_folder(folder, force=force) as work,
                ):
                    written = records.write(
                        work / data_name(data_format),
                        file_format=data_format,
                        labels=labels.with_missing_values(certificate.schema),
                        progress=progress,
                    )
                    opened.require_unchanged()
                    require_counted(certificate, written)
                    complete_folder(
                        work,
                        certificate,
                        file_format=data_format,
                        sign_with=sign_with,
                        copies=copies,
                        engine=engine_for(opened),
                    )
    if folder is not None:
        release = _read_back(folder)
    has_records = not certificate.nature.counted and _has_whole_records(certificate)
    if seen is not None and has_records and engine_for(opened).on_one_machine:
        seen(unchanged or _unchanged_records(release, opened))
    return release


def trial_release(table: TableLike, plan: Plan, *, seed: int) -> Release:
    """A release in memory that is measured and thrown away: no unchanged column is refused."""
    unchanged = [column.name for column in plan.schema.released_as_is]
    return protect(table, plan, seed=seed, accept_risk=unchanged)


# -- 1 and 2: what is refused before any work ---------------------------------------------------


def _require_places(
    folder: Path | None,
    owner_folder: Path | None,
    *,
    force: bool,
    copies: Sequence[TableFormat],
) -> None:
    """Refuse places that are taken, and copies of a release that is not written."""
    if copies and folder is None:
        raise InputError("Copies need an output folder: give one.")
    if folder is not None:
        require_free(folder, force=force)
    if owner_folder is not None:
        require_apart_from(owner_folder, folder)


def _require_fit(plan: Plan, opened: OpenedTable) -> None:
    """Refuse for this very table what a design with it would refuse, whatever the plan has seen.

    A plan may be made for a number of records, or from another table. What a method asks of each
    value and of its anonymity set, it asks itself while it releases.
    """
    require_numbers(plan.schema, opened)
    require_listed(plan.schema, opened)
    require_unlinked(plan.schema, opened)


def _require_ledger(
    ledger: str | Path | None,
    budget: Budget | None,
    people: str | None,
    seed: int | None,
    folder: Path | None,
) -> None:
    """Refuse options without their ledger, a seed with a ledger, and a ledger that is published."""
    if ledger is None and (budget is not None or people is not None):
        raise InputError("A budget and a name of the people need a ledger (--ledger FILE).")
    if ledger is not None and seed is not None:
        raise InputError(
            "A release with a seed is not for publication, and a ledger counts publications: "
            "leave out the seed or the ledger."
        )
    if ledger is not None:
        from pramana.ledger.chain import require_file
        from pramana.ledger.ledger import require_apart

        require_file(Path(ledger))
        require_apart(Path(ledger), folder)


# -- 3: the released records --------------------------------------------------------------------


def _released_records(plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
    """The released records in the output types, and the plan with the numbers of this table.

    This prepares the steps. Batches are processed when the records are written.
    """
    records, plan = plan.method.release(plan, opened, keystream)
    records = with_noise(records, plan.schema, keystream)
    released_schema = plan.method.published_schema(plan.schema)
    return leaving(records, released_schema, plan.mechanism.marks), plan


# -- 4: unchanged records -----------------------------------------------------------------------


def _must_count_unchanged(plan: Plan, opened: OpenedTable) -> bool:
    """Whether the certificate states how many records are unchanged.

    Groups and matrices that were made from the data do not say in advance how much they change.
    Published matrices do.
    """
    kind = plan.nature
    return kind.grouped or (not kind.shows_matrices and engine_for(opened).on_one_machine)


def _drawn_once(records: Table) -> Table:
    """The same records in memory, so that those counted are those released."""
    from pramana.engine.local import LocalTable

    return LocalTable.of(records.to_arrow())


def _warn_of_copies(plan: Plan, unchanged: UnchangedRecords) -> None:
    """Warn the owner where more records are unchanged than the guarantees suggest."""
    bounds = [
        claim.attained.suggests for claim in plan.published if claim.attained.suggests is not None
    ]
    warning = unchanged.warning(min(bounds, default=None))
    if warning is not None:
        warnings.warn(warning, Copies, stacklevel=3)


def _with_unchanged_share(
    plan: Plan, opened: OpenedTable, released: OpenedTable, keystream: Keystream
) -> Plan:
    """The plan with the published share of unchanged records, counted on a permuted copy.

    The count on the original data depends on who has which values, and this is what a guarantee
    takes as unknown: two people who form a group and exchange their keys are distinguished by a
    share of 0 or 1. The count on a permuted copy depends on what the guarantee takes as known, and
    on fresh randomness.
    """
    if plan.permuted_copy is not None:  # of the groups: it has the same release
        copy = open_table(plan.permuted_copy)
    else:
        copy = _permuted_copy(plan, opened, keystream)
        records, _ = _released_records(plan, copy, keystream.apart(Stream("stand-ins", "release")))
        released = records.to_opened()
    share = measure_unchanged(plan.schema, copy, released).public()
    return replace(plan, public={**plan.public, "unchanged_records": share}, permuted_copy=None)


def _with_households(plan: Plan, opened: OpenedTable) -> Plan:
    """The plan with the number of people who are found with their household.

    It depends on the unchanged columns and on who lives with whom, which no guarantee covers.
    """
    counted_people = count_households(plan.schema, opened)
    return (
        plan
        if counted_people is None
        else replace(plan, public={**plan.public, HOUSEHOLD: counted_people})
    )


def _permuted_copy(plan: Plan, opened: OpenedTable, keystream: Keystream) -> OpenedTable:
    """The table with its randomised columns permuted among records that agree in known columns.

    Records are sorted by their values first, so that the order of the rows decides nothing.
    """
    from pramana.microaggregation.anonymisation import known_groups, permute_columns

    columns = plan.schema.released
    table = opened.to_arrow([column.name for column in columns])
    batches = table.combine_chunks().to_batches()
    numbers = [numbers_of(columns, batch, released=False) for batch in batches]
    table = table.take(pa.array(np.argsort(np.concatenate(numbers), kind="stable")))
    groups = known_groups(table, plan.schema.known)
    if groups is None:
        groups = np.zeros(table.num_rows, np.int64)
    randomised = [column.name for column in plan.schema.randomised]
    return open_table(permute_columns(table, randomised, groups, keystream))


def _has_whole_records(certificate: Certificate) -> bool:
    """Whether a released record can equal an original one: not if it reports some columns only."""
    sets = certificate.marks
    return not sets or whole_set(certificate.true_schema.released) in sets


def _unchanged_records(release: Release, opened: OpenedTable) -> UnchangedRecords:
    """How many records of the original data are in the release unchanged."""
    schema = release.certificate.true_schema
    return measure_unchanged(schema, opened, release.opened, most=OWNER_SAMPLE)


# -- 5: certificate and ledger ------------------------------------------------------------------


def _released_labels(plan: Plan, opened: OpenedTable, records: Table) -> Labels:
    """Labels of the released columns and of the values that occur in them."""
    kind = plan.nature
    by_matrices = kind.shows_matrices or kind.withholds_matrices  # which change labels alone
    shown = opened if by_matrices else records.to_opened()
    labels = opened.labels.released(plan.schema, partial(_occurring, shown))
    return plan.method.published_labels(labels)


def _occurring(opened: OpenedTable, name: str) -> list[Label | None]:
    """The values of a column."""
    values: list[Label | None] = group_sizes(opened, [name]).total().column(name).to_pylist()
    return values


def _certificate(
    plan: Plan, keystream: Keystream, labels: Labels, accepted_risk: tuple[str, ...]
) -> Certificate:
    schema = plan.method.published_schema(plan.schema)
    with in_language(ENGLISH):
        error = plan.expected_error.sentence() if plan.expected_error else None
    return Certificate(
        schema=schema,
        kind=plan.kind or plan.method.kind,
        mechanism=plan.mechanism if plan.nature.shows_matrices else None,
        method=plan.method.name,
        records=plan.records,
        anonymity_set=plan.anonymity_set,
        smallest_unchanged_group=plan.smallest_unchanged_group,
        labels=labels.of_columns([column.name for column in schema.released]),
        claims=plan.published,
        data_dependent=plan.method.data_dependent,
        reproducible=keystream.reproducible,
        expected_error=error,
        statistics=plan.public,
        options=plan.method.disclosed(),
        households=plan.schema.household is not None,
        accepted_risk=accepted_risk,
    )


@contextmanager
def _booking(
    ledger: str | Path | None,
    opened: OpenedTable,
    plan: Plan,
    people: str | None,
    folder: Path | None,
) -> Iterator[Booking | None]:
    """A place on the ledger, where there is one."""
    if ledger is None:
        yield None
        return
    from pramana.ledger.ledger import booked

    kept = [column.name for column in plan.schema.released_as_is]
    with booked(Path(ledger), opened, people=people, folder=folder, kept=kept) as booking:
        yield booking


@contextmanager
def _entered(
    booking: Booking | None, certificate: Certificate, budget: Budget | None
) -> Iterator[None]:
    """Enter the release in the ledger before it is made, where there is a ledger."""
    if booking is None:
        yield
        return
    booking.require(certificate, budget)
    with booking.entered(certificate):
        yield


# -- 6 and 7: writing and reading back ----------------------------------------------------------


def _in_memory(
    records: Table, certificate: Certificate, labels: Labels, opened: OpenedTable, like: object
) -> Release:
    """The release as an object, in the kind of data frame that went in."""
    from pramana.analysis.release import Release

    released = replace(records.to_opened(), labels=labels)
    opened.require_unchanged()
    require_counted(certificate, released.rows)
    return Release(certificate, released, like=like)


def _read_back(folder: Path) -> Release:
    """The release as everybody else reads it."""
    from pramana.analysis.release import written_release

    return written_release(folder)


def _writable(file_format: TableFormat) -> TableFormat:
    """The same format out as in, where it can be written."""
    return file_format if file_format in FORMATS and FORMATS[file_format].writes else "parquet"
