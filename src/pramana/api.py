"""The verbs: each takes the frozen object before it and gives the next one.

    describe -> Schema;  design -> Plan;  protect -> Release;  load, verify
    audit, attack, compare, report: what could go wrong, and what is lost

Command line and studio are shells over this module; it alone builds engines.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pramana.designs.given import given_design, read_matrix
from pramana.designs.grouped import GROUPED_METHODS, grouped_plan
from pramana.designs.plan import Plan
from pramana.designs.retention import Spread, retention_design
from pramana.errors import DoesNotHold, InvalidNumber, OutsideDomain
from pramana.guarantees.base import Guarantee
from pramana.guarantees.evaluate import from_matrices
from pramana.matrices.grouping import Grouping
from pramana.matrices.transition import TransitionMatrix
from pramana.published import Published
from pramana.randomise.protect import Randomiser
from pramana.randomness import Keystream
from pramana.release.certificate import Certificate, Claim
from pramana.release.folder import require_free
from pramana.release.release import load_release, write_release
from pramana.release.verify import Verdict, verify_folder
from pramana.table.codec import Refused, count_refused, refuse
from pramana.table.counts import Counts
from pramana.table.files import open_table, write_table
from pramana.table.frames import is_spark
from pramana.table.opened import Labels, OpenedTable, TableFormat, is_number
from pramana.table.schema import Column, Role, Schema

if TYPE_CHECKING:
    from pramana.assess.attack import AttackResult
    from pramana.assess.compare import Comparison
    from pramana.assess.release_audit import ReleaseAudit
    from pramana.assess.report import Report
    from pramana.engines.local import LocalTable
    from pramana.engines.spark import SparkTable
    from pramana.risk.table_audit import TableAudit
    from pramana.table.describe import Description

__all__ = [
    "METHODS",
    "attack",
    "audit",
    "compare",
    "describe",
    "design",
    "load",
    "protect",
    "read_spark",
    "report",
    "verify",
]

METHODS = (
    "retention",
    "optimal",
    "inverse-frequency",
    "invariant",
    "matrix",
    *GROUPED_METHODS,
)
"""The designs, by the names that commands use."""

Progress = Callable[[int], None]


def describe(
    table: Any,
    *,
    keys: tuple[str, ...] | list[str] = (),
    sensitive: tuple[str, ...] | list[str] = (),
    plain: tuple[str, ...] | list[str] = (),
    identifiers: tuple[str, ...] | list[str] = (),
    weight: str | None = None,
) -> Description:
    """Look at a table and propose what each column is.

    Args:
        table: a file or a data frame.
        keys: columns by which a person could be recognised; they will be randomised.
        sensitive: columns that an adversary does not know, released as they are.
        plain: columns that an adversary may know, released as they are.
        identifiers: columns to drop.
        weight: the column of sampling weights.

    Returns:
        A schema that also says why each role was suggested.
    """
    from pramana.table.describe import describe as look_at

    opened = _open(table)
    return look_at(
        opened, keys=keys, sensitive=sensitive, plain=plain, identifiers=identifiers, weight=weight
    )


def design(
    schema: Schema,
    *guarantees: Guarantee,
    records: int | None = None,
    data: Any = None,
    smallest_group: int | None = None,
    method: str | None = None,
    spread: Spread = "best",
    max_error: float | None = None,
    retention: float | None = None,
    matrices: Mapping[str, TransitionMatrix | str | Path] | None = None,
    grouping: Grouping | None = None,
    stay: float | None = None,
    mixture: float = 1.0,
) -> Plan:
    """Find what to do to each record so that every guarantee asked is met at the least loss.

    Args:
        schema: what each column is.
        guarantees: targets; all are met at once.
        records: the number of records, where there are no data yet.
        data: the true table, where there is one.
        smallest_group: without data: the fewest records that share the values of the columns that
            are released as they are and may be known (role plain, strata).
        method: one of ``METHODS``; chosen from what else is given where not stated.
        spread: ``best`` gives each column its own retention, ``equal`` the same to all.
        max_error: instead of guarantees: the strongest within this expected error.
        retention: instead of guarantees: this retention in every column.
        matrices: for method ``matrix``: a matrix, or the path of one, for each randomised column.
        grouping: for k-anonymity: how groups are formed, where the usual way will not do.
        stay: for method ``invariant``: the least chance of a value to stay (sdcMicro's pd).
        mixture: for method ``invariant``: the share of change in it (sdcMicro's alpha).
    """
    method = method or _usual_method(guarantees, matrices)
    if method not in METHODS:
        raise InvalidNumber(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    # A description is a schema that remembers what it saw; a plan must not.
    schema = Schema(schema.columns, schema.impossible, schema.strata, schema.choices)
    opened = None
    if data is not None:
        opened = _open(data, schema=schema)
        schema = _completed(schema, opened, numbers_stay=method in GROUPED_METHODS)
        records, crowd = opened.rows, _smallest_group(schema, opened)
    elif records is None:
        raise InvalidNumber("A design needs the number of records, or the data to count them.")
    else:
        crowd = _stated_group(schema, records, smallest_group)
    if method == "retention":
        return retention_design(
            schema,
            guarantees,
            records=records,
            crowd=crowd,
            spread=spread,
            max_error=max_error,
            retention=retention,
        )
    if method == "matrix":
        return given_design(schema, _matrices(matrices), guarantees, records=records, crowd=crowd)
    if method in GROUPED_METHODS:
        return grouped_plan(
            schema, guarantees, method=method, records=records, crowd=crowd, grouping=grouping
        )
    if opened is None:
        raise InvalidNumber(f"Method {method} chooses the matrix from the data: give the data.")
    from pramana.designs import data_driven

    counts = _counts(schema, opened)
    if method == "invariant":
        return data_driven.invariant_plan(
            schema,
            guarantees,
            counts=counts,
            crowd=crowd,
            stay=stay,
            mixture=mixture,
            matrices=_matrices(matrices),
        )
    make = data_driven.optimal_plan if method == "optimal" else data_driven.inverse_frequency_plan
    return make(schema, guarantees, counts=counts, crowd=crowd)


def protect(
    table: Any,
    plan: Plan,
    *,
    to: str | Path | None = None,
    file_format: TableFormat | None = None,
    seed: int | None = None,
    force: bool = False,
    sign_with: str | Path | None = None,
    progress: Progress | None = None,
) -> Published:
    """Randomise and shuffle a table as planned.

    Args:
        table: a file or a data frame, the true one.
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
    opened = _open(table, schema=plan.schema)
    keystream = Keystream.from_system() if seed is None else Keystream.from_seed(seed)
    try:
        made, plan = _made(plan, opened, keystream)
        certificate = _certificate(plan, keystream)
        if to is None:
            return Published(certificate, _in_memory(made), like=table)
        file_format = file_format or _writable(opened.format)
        written = write_release(
            certificate,
            _writer(made, file_format, labels=opened.labels, progress=progress),
            folder=Path(to),
            file_format=file_format,
            force=force,
            sign_with=sign_with,
        )
        return Published.of(written)
    except OutsideDomain:
        _refuse_all(plan.schema, opened)  # the same error, with the count of all records
        raise


def read_spark(path: str | Path, *, master: str | None = None) -> Any:
    """A Spark data frame of Parquet or CSV files, wherever Spark reads; starts Spark if need be."""
    from pramana.engines.spark_session import read_path

    return read_path(str(path), master=master)


def load(folder: str | Path) -> Published:
    """Open a release folder."""
    return Published.of(load_release(folder))


def verify(
    folder: str | Path,
    *,
    key: str | Path | None = None,
    original: Any = None,
    progress: Progress | None = None,
) -> Verdict:
    """Check a release folder; with the original also that the records fit the matrices."""
    verdict = verify_folder(folder, key=key, progress=progress)
    if original is None:
        return verdict
    from pramana.release.against_truth import against_truth

    release = load_release(folder)
    return verdict.with_checks(against_truth(release.certificate, release.opened, _open(original)))


def audit(table: Any, **how: Any) -> TableAudit | ReleaseAudit:
    """What could go wrong with a table, or with a release whose original is at hand.

    The arguments are those of :func:`pramana.assess.verbs.audit`: ``keys``, ``k``, ``sensitive``,
    ``weight``, ``schema``, ``missing``, ``width``; for a release ``original``.
    """
    from pramana.assess import verbs

    return verbs.audit(table, **how)


def attack(name: str, *releases: Any, knowledge: Any = None, **how: Any) -> AttackResult:
    """Attack a release, or several of the same people, with what an attacker would have.

    ``name`` is ``linkage``, ``repeated``, ``recovery`` or ``average``; ``knowledge`` is what the
    attacker knows of the truth. See :func:`pramana.assess.verbs.attack`.
    """
    from pramana.assess import verbs

    return verbs.attack(name, *releases, knowledge=knowledge, **how)


def compare(
    table: Any,
    schema: Schema | str | Path,
    *,
    k: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    methods: Sequence[str] = ("retention",),
    progress: Progress | None = None,
) -> Comparison:
    """Try several targets and methods on a table, and put them side by side.

    Each scenario is designed, protected, attacked and compared with the truth in memory. One in k
    means alpha = 1/k for method ``optimal`` and xi = 1/k for ``inverse-frequency``.
    """
    from pramana.assess import verbs

    described = schema if isinstance(schema, Schema) else Schema.load(schema)
    planned = verbs.scenarios(described, methods=methods, k=k, epsilon=epsilon)
    return verbs.compare(
        table, described, planned, design=design, protect=protect, progress=progress
    )


def report(release: Any, *, original: Any = None, external: bool = False) -> Report:
    """One self-contained HTML document about a release; shows itself in a notebook.

    With the original it is for the owner and has attacks and losses; ``external`` makes it from
    the release and its certificate alone, whatever else was given.
    """
    from pramana.assess import verbs

    return verbs.report(release, original=original, external=external)


# -- between the verbs ---------------------------------------------------------------------


def _made(
    plan: Plan, opened: OpenedTable, keystream: Keystream
) -> tuple[LocalTable | SparkTable, Plan]:
    """The released records, not yet drawn, and the plan with the numbers of this very table."""
    if plan.grouping is not None:
        from pramana.engines.local import LocalTable
        from pramana.randomise.grouped import regrouped

        plan = replace(plan, records=opened.rows, crowd=_smallest_group(plan.schema, opened))
        table, plan = regrouped(opened, plan, known=_known(plan.schema), keystream=keystream)
        return LocalTable.of(table).shuffle(keystream=keystream), plan
    plan = _on_these_records(plan, opened)
    randomiser = Randomiser(plan.schema, plan.mechanism, opened.schema, keystream)
    made = (
        _engine(opened, coded=plan.mechanism.columns)
        .map_batches(randomiser.encode, schema=randomiser.coded)
        .shuffle(keystream=keystream)
        .map_batches(randomiser.decode, schema=randomiser.released)
    )
    return made, plan


def _usual_method(guarantees: Sequence[Guarantee], matrices: object) -> str:
    """The method whose target was stated."""
    names = {guarantee.name for guarantee in guarantees}
    if "spontaneous-recognition" in names:
        return "optimal"
    if "correct-match" in names:
        return "inverse-frequency"
    if "k-anonymity" in names:
        return "resample"
    return "matrix" if matrices else "retention"


def _open(table: Any, *, schema: Schema | None = None) -> OpenedTable:
    """A file or a data frame, opened; one of Spark by Spark."""
    if not is_spark(table):
        return open_table(table, schema=schema)
    from pramana.engines.spark_frames import open_spark

    return open_spark(table, schema=schema)


def _engine(opened: OpenedTable, *, coded: Collection[str]) -> LocalTable | SparkTable:
    """The engine for an opened table: Spark for its own data frames, else the embedded one."""
    if is_spark(opened.source):
        from pramana.engines.spark import SparkTable

        return SparkTable.of(opened)
    from pramana.engines.local import LocalTable

    return LocalTable.of(opened, coded=coded)


def _counts(schema: Schema, opened: OpenedTable) -> Counts:
    """How many records have which combination of values in the randomised columns and strata."""
    strata = [schema.column(name) for name in schema.strata]
    return _engine(opened, coded=schema.names).count([*schema.randomised, *strata])


def _in_memory(made: LocalTable | SparkTable) -> OpenedTable:
    """The records of a release that is not written: where their engine keeps records."""
    kept = getattr(made, "to_opened", None)
    return open_table(made.to_arrow()) if kept is None else kept()


def _matrices(
    given: Mapping[str, TransitionMatrix | str | Path] | None,
) -> dict[str, TransitionMatrix]:
    return {
        name: matrix if isinstance(matrix, TransitionMatrix) else read_matrix(matrix)
        for name, matrix in (given or {}).items()
    }


def _completed(schema: Schema, opened: OpenedTable, *, numbers_stay: bool = False) -> Schema:
    """The schema with undeclared domains and unstated policies for missing values filled in.

    Where groups are formed, a number without bins stays a number.
    """
    from pramana.table.describe import complete

    completed = complete(schema, opened)
    if not numbers_stay:
        return completed
    return completed.replace_columns(
        column
        for column in schema.columns
        if column.domain is None and is_number(opened.schema.field(column.name).type)
    )


def _known(schema: Schema) -> list[str]:
    """Columns that are released as they are and that an adversary may know."""
    return [
        column.name
        for column in schema.released_as_is
        if column.role in (Role.PLAIN, Role.KEY) or column.name in schema.strata
    ]


def _stated_group(schema: Schema, records: int, smallest_group: int | None) -> int:
    known = _known(schema)
    if smallest_group is None and known:
        raise InvalidNumber(
            f"{', '.join(known)} will be released as they are and split the crowd: say how many "
            "records the smallest group will have (smallest_group), or give the data."
        )
    return records if smallest_group is None else smallest_group


def _smallest_group(schema: Schema, opened: OpenedTable) -> int:
    """The fewest records that share the values of the known columns."""
    from pramana.table.groups import smallest_group

    known = _known(schema)
    return smallest_group(opened, known) if known else opened.rows


def _on_these_records(plan: Plan, opened: OpenedTable) -> Plan:
    """The plan with the numbers of this very table; refused if they fall short of the target."""
    crowd = _smallest_group(plan.schema, opened)
    try:
        if plan.data_dependent:
            from pramana.designs.data_driven import on_counts

            return on_counts(plan, _counts(plan.schema, opened), crowd=crowd)
        if (opened.rows, crowd) == (plan.records, plan.crowd):
            return plan
        attained = from_matrices(plan.mechanism, crowd=crowd, asked=plan.asked)
        return replace(plan, records=opened.rows, crowd=crowd, attained=attained)
    except DoesNotHold as error:
        raise DoesNotHold(
            f"{error} The plan was made for {plan.records:,} records in groups of at least "
            f"{plan.crowd:,}; this table has {opened.rows:,} in groups of at least {crowd:,}. "
            "Design again with these data."
        ) from None


def _certificate(plan: Plan, keystream: Keystream) -> Certificate:
    asked = {guarantee.name: guarantee for guarantee in plan.asked}
    return Certificate(
        schema=replace(plan.schema, columns=plan.schema.released),
        mechanism=plan.mechanism if plan.publish_matrices else None,
        method=plan.method,
        records=plan.records,
        crowd=plan.crowd,
        claims=tuple(Claim(g, asked.get(g.name)) for g in plan.attained),
        data_dependent=plan.data_dependent,
        reproducible=keystream.reproducible,
        expected_error=plan.expected_error.sentence() if plan.expected_error else None,
        figures=plan.public,
        grouping=plan.grouping,
    )


def _refuse_all(schema: Schema, opened: OpenedTable) -> None:
    """Raise with the number of refused records of the whole table, not of one batch."""
    for column in schema.randomised:
        parts = opened.summaries(partial(_refused, column), [column.name])
        refuse(column, sum(parts, start=Refused()))


def _refused(column: Column, batches: Iterable[pa.RecordBatch]) -> Refused:
    counts = (count_refused(column, batch.column(column.name)) for batch in batches)
    return sum(counts, start=Refused())


def _writer(
    made: LocalTable | SparkTable,
    file_format: TableFormat,
    *,
    labels: Labels,
    progress: Progress | None,
) -> Callable[[Path], object]:
    """How the data file gets written: by the engine where it knows the format."""
    if file_format in ("parquet", "csv", "feather"):
        return lambda path: made.write(path, file_format=file_format, progress=progress)
    return lambda path: write_table(made.to_arrow(), path, file_format=file_format, labels=labels)


def _writable(file_format: TableFormat) -> TableFormat:
    """The same format out as in, where it can be written."""
    return "parquet" if file_format in ("frame", "sas7bdat") else file_format
