"""From the truth and a plan to a release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.engines.base import Table
from pramana.engines.choose import empty_like, engine_for, open_source
from pramana.errors import Copies, InputError
from pramana.formats.base import FORMATS
from pramana.matrices.mechanism import Mechanism
from pramana.methods.people import refused_in_all, require_listed, require_numbers
from pramana.methods.plan import Plan
from pramana.methods.stand_ins import copies_of_stand_ins, drawn_by
from pramana.randomness import Keystream
from pramana.release.certificate import Certificate
from pramana.release.folder import require_counted, require_free
from pramana.release.stewards import require_apart_from, stewards_folder
from pramana.release.stored import write_release
from pramana.risk.verbatim import Verbatim, measure_verbatim
from pramana.risk.watching import Watch
from pramana.table.domains import Label
from pramana.table.groups import group_sizes
from pramana.table.households import require_unlinked
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat
from pramana.types import Progress, TableLike

if TYPE_CHECKING:  # an analyst's part is loaded when there is a release, a ledger where one is kept
    from pramana.ledger.book import Budget
    from pramana.ledger.booking import Booking
    from pramana.readings.release import Release

__all__ = ["protect"]


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
    progress: Progress | None = None,
    seen: Callable[[Verbatim], None] | None = None,
) -> Release:
    """Randomise and shuffle a table as planned.

    Args:
        table: a file, a data frame or an opened table: the true one.
        plan: what to do.
        to: a folder to write the release to, however large; in memory where not given.
        file_format: of the data file; that of the table where not given.
        seed: for tests and demonstrations only: the certificate then says that the release is not
            for publication.
        force: replace an existing release folder.
        sign_with: a private key to sign the certificate with.
        ledger: a ledger to enter the release in, before it is made; one begins here if need be.
        budget: what all releases of this table on the ledger must still promise together.
        people: a name for the people of the table, by which the ledger knows them again where the
            table was changed; where not given, the columns tell.
        copies: further formats to write the same records in, beside the data file: csv, dta, sav.
        steward_folder: a folder for the owner alone, apart from the release: the plan and the
            matrices that records really pass, for later audits.
        progress: is told how many more records are done.
        seen: is told how many records stand in the release word for word, for the owner's eyes;
            not where the records lie on many machines.
    """
    if not isinstance(plan, Plan):
        raise InputError(f"A plan is what design gives, got {type(plan).__name__}.")
    if copies and to is None:
        raise InputError("Copies lie beside the data file: give a folder to write to.")
    if to is not None:
        require_free(Path(to), force=force)
    kept = None if steward_folder is None else Path(steward_folder)
    if kept is not None:
        require_apart_from(kept, None if to is None else Path(to))
    opened = open_source(table, schema=plan.schema)
    _require_fit(plan, opened)
    if not engine_for(opened).on_one_machine:
        seen = None
    watch, booked_table = None, opened
    kind = plan.nature
    if seen is not None and kind.whole and not kind.grouped:  # a label in every column with labels
        watch = Watch(plan.schema, opened.rows)
        opened = watch.truth(opened)
    keystream = Keystream.of(seed)
    _require_ledger(ledger, budget, people, seed, to)
    with (
        _booking(ledger, booked_table, plan, people, to) as booking,
        refused_in_all(plan.schema, opened),
    ):
        done = plan.mechanism
        made, plan = _drawn(plan, opened, keystream)
        by_matrices = kind.shows_matrices or kind.withholds_matrices  # which change labels alone
        shown = opened if by_matrices else made.to_opened()
        made = made if watch is None else watch.released(made)
        labels = opened.labels.released(plan.schema, partial(_occurring, shown))
        labels = plan.method.published_labels(labels)
        certificate = _certificate(plan, keystream, labels)
        if booking is not None:
            booking.require(certificate, budget)
        with nullcontext() if booking is None else booking.entered(certificate):
            if to is None:
                release = _in_memory(made, certificate, labels, opened, like=empty_like(table))
            else:
                with _kept(kept, Path(to), plan, done):
                    _written(
                        made, certificate, labels, opened, file_format=file_format,
                        keep=partial(write_release, folder=Path(to), force=force,
                                     sign_with=sign_with, copies=copies),
                        progress=progress, passed=None if watch is None else watch.count,
                    )  # fmt: skip
    release = release if to is None else _as_read(Path(to))
    _tell(seen, watch, release, opened)
    return release


def _require_fit(plan: Plan, opened: OpenedTable) -> None:
    """Refuse for this very table what a design with it would refuse, whatever the plan has seen.

    A plan may be made for a number of records, or from another table. What a method asks of each
    value and of its crowd, it asks itself while it releases.
    """
    require_numbers(plan.schema, opened)
    require_listed(plan.schema, opened)
    require_unlinked(plan.schema, opened)


def _as_read(folder: Path) -> Release:
    """The release as a stranger reads it."""
    from pramana.readings.release import written_release

    return written_release(folder)


def _kept(
    folder: Path | None, release: Path, plan: Plan, mechanism: Mechanism
) -> AbstractContextManager[None]:
    """What the steward keeps apart from the release, where a folder for it was named."""
    if folder is None:
        return nullcontext()
    return stewards_folder(folder, release=release, plan=plan.to_json(), mechanism=mechanism)


def _drawn(plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
    """The released records, in the types in which they leave, and the plan as it came out."""
    made, plan = drawn_by(plan, opened, keystream)
    kind = plan.nature
    if kind.grouped or (not kind.shows_matrices and engine_for(opened).on_one_machine):
        return _copies_counted(made, plan, opened, keystream)
    return made, plan


def _in_memory(
    made: Table, certificate: Certificate, labels: Labels, opened: OpenedTable, *, like: object
) -> Release:
    """The release as an object, in the kind of data frame that went in."""
    from pramana.readings.release import Release

    released = replace(made.to_opened(), labels=labels)
    opened.require_unchanged()
    require_counted(certificate, released.rows)
    return Release(certificate, released, like=like)


def _written(
    made: Table,
    certificate: Certificate,
    labels: Labels,
    opened: OpenedTable,
    *,
    file_format: TableFormat | None,
    progress: Progress | None,
    keep: Callable[..., object],
    passed: Callable[[], None] | None,
) -> None:
    """The release as a folder; ``keep`` puts it into place once the data are written.

    ``passed`` is told when all records have.
    """
    chosen = file_format or _writable(opened.format)
    labels = labels.beside_missing(certificate.schema)

    def write(path: Path) -> int:
        written = made.write(path, file_format=chosen, labels=labels, progress=progress)
        opened.require_unchanged()
        if passed is not None:
            passed()
        return written

    keep(certificate, write, file_format=chosen)


def _tell(
    seen: Callable[[Verbatim], None] | None,
    watch: Watch | None,
    release: Release,
    opened: OpenedTable,
) -> None:
    """What was counted while records passed; counted now where not all of them were seen whole."""
    if seen is None:
        return
    counted = None if watch is None else watch.result()
    schema = release.certificate.true_schema
    seen(counted or measure_verbatim(schema, opened, release.opened))


def _require_ledger(
    ledger: str | Path | None,
    budget: Budget | None,
    people: str | None,
    seed: int | None,
    to: str | Path | None,
) -> None:
    """Refuse what goes with a ledger only, a seed beside one, and a ledger that is published."""
    if ledger is None and (budget is not None or people is not None):
        raise InputError("A budget and a name of the people go with a ledger (--ledger FILE).")
    if ledger is not None and seed is not None:
        raise InputError(
            "A release with a seed is not for publication, and a ledger counts what is: leave out "
            "the seed or the ledger."
        )
    if ledger is not None:
        from pramana.ledger.booking import require_apart
        from pramana.ledger.chain import require_file

        require_file(Path(ledger))
        require_apart(Path(ledger), None if to is None else Path(to))


@contextmanager
def _booking(
    ledger: str | Path | None,
    opened: OpenedTable,
    plan: Plan,
    people: str | None,
    to: str | Path | None,
) -> Iterator[Booking | None]:
    """A place on the ledger, where there is one."""
    if ledger is None:
        yield None
        return
    from pramana.ledger.booking import booked

    folder = None if to is None else Path(to)
    kept = [column.name for column in plan.schema.released_as_is]
    with booked(Path(ledger), opened, people=people, folder=folder, kept=kept) as booking:
        yield booking


def _copies_counted(
    made: Table, plan: Plan, opened: OpenedTable, keystream: Keystream
) -> tuple[Table, Plan]:
    """The records, drawn once, and the plan with what stands in such ones word for word.

    Groups and matrices that were made from the data say nothing in advance about how much they
    change, so it is counted in what leaves, with its noise: for the owner in this release, for
    all others on stand-ins, since a figure of the truth would break the promise beside it. Matrices
    that do not look at the data are their own statement.
    """
    from pramana.engines.local.table import LocalTable

    drawn = LocalTable.of(made.to_arrow())
    released = drawn.to_opened()
    seen = measure_verbatim(plan.schema, opened, released)
    bounds = [own.attained.suggests for own in plan.published if own.attained.suggests is not None]
    warning = seen.warning(min(bounds, default=None))
    if warning is not None:
        warnings.warn(warning, Copies, stacklevel=4)
    told = copies_of_stand_ins(plan, opened, released, keystream).public()
    return drawn, replace(plan, public={**plan.public, "verbatim": told}, stand_ins=None)


def _certificate(plan: Plan, keystream: Keystream, labels: Labels) -> Certificate:
    schema = plan.method.published_schema(plan.schema)
    return Certificate(
        schema=schema,
        kind=plan.kind or plan.method.kind,
        mechanism=plan.mechanism if plan.nature.shows_matrices else None,
        method=plan.method.name,
        records=plan.records,
        crowd=plan.crowd,
        attached=plan.attached,
        labels=labels.of_columns([column.name for column in schema.released]),
        claims=plan.published,
        data_dependent=plan.method.data_dependent,
        reproducible=keystream.reproducible,
        expected_error=plan.expected_error.sentence() if plan.expected_error else None,
        figures=plan.public,
        options=plan.method.disclosed(),
        households=plan.schema.household is not None,
    )


def _occurring(opened: OpenedTable, name: str) -> list[Label | None]:
    """The values of a column."""
    found: list[Label | None] = group_sizes(opened, [name]).total().column(name).to_pylist()
    return found


def _writable(file_format: TableFormat) -> TableFormat:
    """The same format out as in, where it can be written."""
    return file_format if file_format in FORMATS and FORMATS[file_format].writes else "parquet"
