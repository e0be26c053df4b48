"""From the truth and a plan to a release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pramana.engines.base import Table
from pramana.engines.choose import empty_like, engine_for, leaving, open_source
from pramana.formats.base import FORMATS
from pramana.methods.people import refused_in_all
from pramana.methods.plan import Plan
from pramana.randomness import Keystream
from pramana.readings.release import Release, load_release
from pramana.release.certificate import WITH_MATRICES, Certificate
from pramana.release.folder import require_counted, require_free
from pramana.release.stored import write_release
from pramana.risk.verbatim import measure_verbatim
from pramana.table.labels import Labels
from pramana.table.opened import OpenedTable, TableFormat
from pramana.types import Progress, TableLike

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
    progress: Progress | None = None,
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
        progress: is told how many more records are done.
    """
    if to is not None:
        require_free(Path(to), force=force)
    opened = open_source(table, schema=plan.schema)
    keystream = Keystream.from_system() if seed is None else Keystream.from_seed(seed)
    with refused_in_all(plan.schema, opened):
        made, plan = plan.method.release(plan, opened, keystream)
        made = leaving(made, plan.method.published_schema(plan.schema))
        if plan.method.kind == "withheld" and engine_for(opened).on_one_machine:
            made, plan = _copies_counted(made, plan, opened)
        certificate = _certificate(plan, keystream, opened.labels)
        if to is None:
            released = replace(made.to_opened(), labels=opened.labels)
            opened.require_unchanged()
            require_counted(certificate, released.rows)
            return Release(certificate, released, like=empty_like(table))
        file_format = file_format or _writable(opened.format)

        def write(path: Path) -> int:
            written = made.write(
                path, file_format=file_format, labels=opened.labels, progress=progress
            )
            opened.require_unchanged()
            return written

        write_release(
            certificate,
            write,
            folder=Path(to),
            file_format=file_format,
            force=force,
            sign_with=sign_with,
        )
    return load_release(to)


def _copies_counted(made: Table, plan: Plan, opened: OpenedTable) -> tuple[Table, Plan]:
    """The records, drawn once, and the plan with what stands in them word for word.

    Matrices that were made from the data say nothing in advance about how much they change, so it
    is counted, and published on a coarse grid. Those that do not look at the data are their own
    statement, and a figure of the truth beside them would break a promise of epsilon.
    """
    from pramana.engines.local.table import LocalTable

    drawn = LocalTable.of(made.to_arrow())
    seen = measure_verbatim(plan.schema, opened, drawn.to_opened())
    return drawn, replace(plan, public={**plan.public, "verbatim": seen.public()})


def _certificate(plan: Plan, keystream: Keystream, labels: Labels) -> Certificate:
    return Certificate(
        schema=plan.method.published_schema(plan.schema),
        kind=plan.method.kind,
        mechanism=plan.mechanism if plan.method.kind in WITH_MATRICES else None,
        method=plan.method.name,
        records=plan.records,
        crowd=plan.crowd,
        attached=plan.attached,
        labels=labels.of_columns([column.name for column in plan.schema.released]),
        claims=plan.published,
        data_dependent=plan.method.data_dependent,
        reproducible=keystream.reproducible,
        expected_error=plan.expected_error.sentence() if plan.expected_error else None,
        figures=plan.public,
        options=plan.method.disclosed(),
    )


def _writable(file_format: TableFormat) -> TableFormat:
    """The same format out as in, where it can be written."""
    return file_format if file_format in FORMATS and FORMATS[file_format].writes else "parquet"
