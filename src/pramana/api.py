"""The verbs: each takes the frozen object before it and gives the next one.

    describe -> Schema;  design -> Plan;  protect -> Release;  load, verify
    audit, attack, compare, report: what could go wrong, and what is lost

Command line and studio are shells over this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pramana.base.registry import lazy_exports
from pramana.types import Progress, Say, TableLike

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.release import Release
    from pramana.base.text import tables_of
    from pramana.collect.closing import SurveyPlace, live, surveys
    from pramana.engine.base import ENGINES, open_source
    from pramana.evaluation.advise import Advice
    from pramana.evaluation.attack import AttackResult
    from pramana.evaluation.audit import AttackName, MissingValues, ReleaseAudit
    from pramana.evaluation.cli_hints import CliHints
    from pramana.evaluation.compare import Comparison, compared
    from pramana.evaluation.plan_preview import preview_plan
    from pramana.evaluation.report import Report
    from pramana.evaluation.schema_suggestions import (
        changed_file,
        recoding_gains,
        suggest_changes_if_poor,
    )
    from pramana.guarantees.registry import GUARANTEES, cli_options, guarantees_from_options
    from pramana.io.base import FORMATS
    from pramana.io.opening import Preview
    from pramana.ledger.ledger import Budget, Ledger
    from pramana.mechanisms.mechanism import Mechanism
    from pramana.methods.base import METHODS, options_of
    from pramana.methods.choice import (
        alternative_summary,
        design,
        design_context,
        design_for,
        estimate_changes,
        parse_range,
        usual_method,
    )
    from pramana.methods.data_errors import errors_on_data
    from pramana.methods.plan import PlanFile
    from pramana.protecting import protect
    from pramana.release.certificate import Certificate
    from pramana.release.folder import require_free
    from pramana.reporting.charts import drawn_beside, drawn_methods, drawn_shape
    from pramana.reporting.rendering import CHART_STYLE
    from pramana.risk.table_audit import TableAudit
    from pramana.risk.unchanged_records import UnchangedRecords
    from pramana.risk.uniqueness import UniquenessCounter
    from pramana.schema.describe import Description, complete, usual_k
    from pramana.schema.json_schema import json_schema
    from pramana.schema.opened_table import OpenedTable
    from pramana.schema.origins import Provenance
    from pramana.schema.recoded_table import merge_values
    from pramana.schema.schema import Schema, origin_named
    from pramana.schema.tally import shapes_of
    from pramana.schema.toml import text_of
    from pramana.schema.weights import coarse_weight_of
    from pramana.verification.checks import Verdict

__all__ = [
    "CHART_STYLE",
    "ENGINES",
    "FORMATS",
    "GUARANTEES",
    "METHODS",
    "AttackName",
    "Budget",
    "CliHints",
    "Ledger",
    "MissingValues",
    "PlanFile",
    "Provenance",
    "ReleaseAudit",
    "SurveyPlace",
    "UniquenessCounter",
    "advise",
    "alternative_summary",
    "attack",
    "audit",
    "changed_file",
    "cli_options",
    "coarse_weight_of",
    "compare",
    "compared",
    "complete",
    "composable",
    "describe",
    "design",
    "design_context",
    "design_for",
    "drawn",
    "drawn_beside",
    "drawn_methods",
    "drawn_shape",
    "earlier_releases",
    "errors_on_data",
    "estimate_changes",
    "guarantees_from_options",
    "json_schema",
    "live",
    "load",
    "look",
    "merge_values",
    "open_source",
    "options_of",
    "origin_named",
    "parse_range",
    "preview_plan",
    "protect",
    "read",
    "recoding_gains",
    "report",
    "require_free",
    "shapes_of",
    "suggest_changes_if_poor",
    "surveys",
    "tables_of",
    "text_of",
    "usual_k",
    "usual_method",
    "verbatim",
    "verify",
]

BESIDE_THE_ORIGINAL = "Matrices go with a release folder and its original (--original FILE)."

_SOURCES = {
    "base.text": "tables_of",
    "collect.closing": "SurveyPlace live surveys",
    "engine.base": "ENGINES open_source",
    "evaluation.audit": "AttackName MissingValues ReleaseAudit",
    "evaluation.cli_hints": "CliHints",
    "evaluation.compare": "compared",
    "evaluation.plan_preview": "preview_plan",
    "evaluation.schema_suggestions": "recoding_gains changed_file suggest_changes_if_poor",
    "guarantees.registry": "GUARANTEES cli_options guarantees_from_options",
    "io.base": "FORMATS",
    "ledger.ledger": "Budget Ledger",
    "methods.base": "options_of METHODS",
    "methods.choice": (
        "alternative_summary design design_context design_for estimate_changes parse_range "
        "usual_method"
    ),
    "methods.data_errors": "errors_on_data",
    "methods.plan": "PlanFile",
    "protecting": "protect",
    "release.folder": "require_free",
    "reporting.rendering": "CHART_STYLE",
    "reporting.charts": "drawn_beside drawn_methods drawn_shape",
    "risk.uniqueness": "UniquenessCounter",
    "schema.describe": "complete usual_k",
    "schema.tally": "shapes_of",
    "schema.json_schema": "json_schema",
    "schema.origins": "Provenance",
    "schema.recoded_table": "merge_values",
    "schema.schema": "origin_named",
    "schema.toml": "text_of",
    "schema.weights": "coarse_weight_of",
}

__getattr__ = lazy_exports(__name__, _SOURCES, package="pramana")


def describe(
    table: TableLike,
    *,
    keys: tuple[str, ...] | list[str] = (),
    sensitive: tuple[str, ...] | list[str] = (),
    public: tuple[str, ...] | list[str] = (),
    identifiers: tuple[str, ...] | list[str] = (),
    weight: str | None = None,
    household: str | None = None,
    k: int = 5,
    suggest: bool = False,
) -> Description:
    """Look at a table and propose what each column is.

    Args:
        table: a file or a data frame.
        keys: columns by which a person could be recognised; they will be randomised. Where some
            are given there are no others.
        sensitive: columns that an adversary does not know, released as they are.
        public: columns that an adversary may know, released as they are.
        identifiers: columns to drop.
        weight: the column of sampling weights.
        household: the column that numbers households; it is dropped, and what their people have in
            common is proposed to leave as it is or not at all.
        k: recodings are suggested where fewer records than this hold a value.
        suggest: suggest further keys beside those that are given.

    Returns:
        A schema that also says why each role was suggested.
    """
    from pramana.engine.base import open_source
    from pramana.schema.describe import describe as look_at

    opened = open_source(table)
    return look_at(
        opened,
        keys=keys,
        sensitive=sensitive,
        public=public,
        identifiers=identifiers,
        weight=weight,
        household=household,
        k=k,
        suggest=suggest,
    )


def read(
    path: str | Path,
    *,
    engine: str = "local",
    master: str | None = None,
    encoding: str | None = None,
    rename: bool = False,
) -> TableLike:
    """A file as a table of an engine, by the name of one that reads files.

    Args:
        path: where it lies.
        engine: who does the work.
        master: the cluster of the engine, if it has one.
        encoding: of a text file, where it is not to be found out (``cp1252``).
        rename: number columns that have one name (``age``, ``age_2``).
    """
    from pramana.engine.base import ENGINES, USUAL
    from pramana.errors import InputError
    from pramana.io.base import renaming
    from pramana.io.opening import open_table

    names = [name for name, own in ENGINES.items() if own.reads_files]
    if engine not in names:
        raise InputError(f"--engine must be one of {', '.join(names)}, got '{engine}'.")
    if encoding is None and not rename:
        return ENGINES[engine].read(str(path), master=master)
    if engine != USUAL:
        word = "--rename" if rename else "--encoding"
        raise InputError(f"{word} is for files that engine {USUAL} reads, not {engine}.")
    with renaming() if rename else nullcontext():
        return open_table(path, encoding=encoding)


def parts(path: str | Path) -> tuple[str, ...]:
    """The sheets, data frames or tables that a file holds: ``people.xlsx#NAME`` reads one of them.

    A file of a format that holds one table has none.
    """
    from pramana.io.opening import parts_of

    return parts_of(Path(path))


def look(table: TableLike, *, rows: int = 100, encoding: str | None = None) -> Preview:
    """What was found when a table was opened, and its first records, for the owner's eyes.

    Args:
        table: a file or data frame, or one that is open already.
        rows: how many records to show.
        encoding: of a text file, where it was told.
    """
    from pramana.engine.base import open_source
    from pramana.io.opening import preview_of

    return preview_of(open_source(table), rows=rows, encoding=encoding)


def load(folder: str | Path) -> Release:
    """Open a release folder."""
    from pramana.analysis.release import load_release

    return load_release(folder)


def earlier_releases(release: Release) -> list[Path]:
    """Releases beside this one, in the same folder, that may be of the same people."""
    from pramana.risk.attacks.composition import earlier_releases as beside

    return [] if release.folder is None else beside(release.folder, release.certificate)


def composable(release: Release, others: Sequence[Path]) -> list[Path]:
    """Those of other releases that the attack ``composition`` takes together with this one."""
    from pramana.release.folder import read_certificate
    from pramana.risk.attacks.composition import composable as says_enough

    if not says_enough(release.certificate):
        return []
    return [other for other in others if says_enough(read_certificate(other))]


def verify(
    folder: str | Path | Release,
    *,
    key: str | Path | None = None,
    original: TableLike | None = None,
    mechanism: Mechanism | str | Path | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Verdict:
    """Check a release folder; with the original also that the records fit the matrices.

    Args:
        folder: the release, by its folder or as it was loaded from there.
        key: who must have signed it.
        original: the true table, for the owner.
        mechanism: for a release that withholds its matrices: those that were kept, as a file of
            the steward's folder or in memory.
        progress: is told how many more records were looked at.
        say: is told in words which check was made.
    """
    from pramana.errors import InputError, NotARelease
    from pramana.verification.verify import verify_folder

    place = folder if isinstance(folder, str | Path) else getattr(folder, "folder", None)
    if place is None:
        raise InputError("Verified is a folder, and this release is in memory: save it to one.")
    folder = Path(place)
    verdict = verify_folder(folder, key=key, progress=progress)
    if original is None:
        if mechanism is not None:
            raise InputError(BESIDE_THE_ORIGINAL)
        return verdict
    from pramana.evaluation.owner_checks import checked_by_truth

    try:
        release = load(folder)
    except NotARelease:
        if verdict.valid:
            raise
        return verdict  # which says why it cannot be compared with anything
    kept = None if mechanism is None else _mechanism(mechanism, release, original=original)
    truth = _truth(original, release)
    return verdict.with_checks(checked_by_truth(release, truth, mechanism=kept, say=say))


def audit(
    table: TableLike | Release,
    *,
    keys: Sequence[str] | None = None,
    k: float = 2,
    sensitive: Sequence[str] | None = None,
    weight: str | None = None,
    schema: Schema | str | Path | None = None,
    missing: MissingValues | Literal["category", "wildcard"] = "category",
    width: int = 3,
    original: TableLike | None = None,
    mechanism: Mechanism | str | Path | None = None,
    household: str | None = None,
    belongs: bool = False,
    progress: Say | None = None,
) -> TableAudit | ReleaseAudit:
    """What could go wrong with a table, or with a release whose original is at hand.

    Args:
        table: a file or data frame; or a release, or its folder.
        keys: the columns by which a person could be recognised; by default those of the schema.
        k: a frequency below it is a violation.
        sensitive: columns whose values shall not be learned; by default those of the schema.
        weight: the column of sampling weights; by default that of the schema.
        schema: what each column is, where ``keys`` and the others are not named; values are then
            looked at as they would be released: in the bins that it declares.
        missing: ``category`` or ``wildcard``.
        width: subsets of up to so many keys are looked at.
        original: for a release: the true table; attacks are then measured.
        mechanism: for a release that withholds its matrices: the matrices, or the file of a
            steward's folder that holds them.
        household: the column of the true table that numbers households; of a table that is no
            release by default that of the schema.
        belongs: ``verify(release, original=)`` was asked and holds: that the original is the one
            of the release is not checked once more.
        progress: is told what is being done.
    """
    from pramana.engine.base import open_source
    from pramana.evaluation.audit import MissingValues, audit_any, one_of

    release = _release_at(table)
    described = None if schema is None else _schema(schema)
    truth = None if original is None else open_source(original)
    if truth is not None and release is not None:
        truth = _truth(truth, release)
    seen = release or _recoded(table, described)  # type: ignore[arg-type]  # no release here
    if mechanism is not None:
        mechanism = _mechanism(mechanism, release, original=original)
    return audit_any(
        seen,
        keys=keys,
        k=k,
        sensitive=sensitive,
        weight=weight,
        schema=described,
        missing=one_of(MissingValues, "missing", missing),
        width=width,
        original=truth,
        mechanism=mechanism,
        household=household,
        belongs=belongs,
        progress=progress,
    )


def _mechanism(
    mechanism: Mechanism | str | Path, release: Release | None, *, original: TableLike | None
) -> Mechanism:
    """The matrices of a release, which must move its columns."""
    from pramana.errors import InputError
    from pramana.release.owner_folder import read_mechanism
    from pramana.schema.joint_cells import cell_codes

    if release is None or original is None:
        raise InputError(BESIDE_THE_ORIGINAL)
    if isinstance(mechanism, str | Path):
        mechanism = read_mechanism(Path(mechanism))
    schema = release.certificate.schema
    moved = {column.name for column in schema.randomised}
    if set(mechanism.columns) != moved:
        raise InputError(
            f"The matrices move {len(mechanism.columns)} columns, and not those that this release "
            f"randomises ({len(moved)}): they are of another one."
        )
    try:
        for step in mechanism.steps:
            cell_codes([schema.column(name).labels for name in step.columns], step.cells)
    except KeyError:
        raise InputError(
            "The matrices move values that this release does not list: they are of another one."
        ) from None
    if not set(mechanism.strata) <= set(schema.strata):
        raise InputError("The matrices have strata that this release has not: they are another's.")
    _require_published(mechanism, release.certificate)
    return mechanism


def _require_published(mechanism: Mechanism, certificate: Certificate) -> None:
    """Refuse matrices beside published ones that cannot be theirs: promises would seem broken."""
    from pramana.errors import InputError

    published = certificate.mechanism
    if certificate.nature.grouped:
        raise InputError("Keys were replaced within groups, by no matrices: leave --mechanism out.")
    if published is None:
        return
    shapes = ({step.columns for step in own} for own in (mechanism, published))
    alike = len(set(map(frozenset, shapes))) == 1
    # Those that were made from the data are published with decoys, and are kept without.
    if not alike or not (certificate.data_dependent or mechanism == published):
        raise InputError(
            "The certificate publishes its matrices, and these are others: they are of another "
            "release. Leave --mechanism out."
        )


def attack(
    name: AttackName | Literal["linkage", "repeated", "recovery", "composition"],
    *releases: Release | str | Path,
    knowledge: TableLike | None = None,
    times: int = 8,
    seed: int = 20,
) -> AttackResult:
    """Attack a release, or several of the same people, with what an attacker would have.

    Args:
        name: ``linkage``, ``repeated``, ``recovery`` or ``composition``.
        releases: releases or their folders.
        knowledge: what the attacker knows of the truth: a file or data frame.
        times: for ``repeated``: how many perturbations in all.
        seed: for the attacker's randomness.
    """
    from pramana.evaluation.attack import attack_release
    from pramana.evaluation.audit import AttackName, one_of

    found = [_release(release) for release in releases]
    return attack_release(
        one_of(AttackName, "The attack", name),
        found,
        knowledge=None if knowledge is None else _recoded(knowledge, found[0].certificate.schema),
        times=times,
        seed=seed,
    )


def compare(
    table: TableLike,
    schema: Schema | str | Path,
    *,
    k: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    methods: Sequence[str] = (),
    asked: Sequence[str] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Try several targets and methods on a table, and put them side by side.

    Each scenario is designed, protected, attacked and compared with the truth in memory. One in k
    means alpha = 1/k for method ``optimal`` and xi = 1/k for ``inverse-frequency``.

    Args:
        table: the true table: a file or data frame.
        schema: what each column is.
        k: targets.
        epsilon: targets.
        methods: which to try, by name; where not given, those of ``compared()``.
        asked: what will be asked, and loss is averaged over: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``. Else the tables that the schema
            states, else tables and means of the keys.
        progress: is told of each scenario done.
    """
    from pramana.engine.base import open_source
    from pramana.evaluation.compare import compare_scenarios, compared, scenarios_of

    described = _schema(schema)
    planned = scenarios_of(described, methods=methods or compared(), k=k, epsilon=epsilon)
    opened = open_source(table, schema=described)
    return compare_scenarios(opened, described, planned, asked=asked, progress=progress)


def advise(
    table: TableLike,
    schema: Schema | str | Path,
    *,
    k: float = 20,
    tables: Sequence[Sequence[str]] = (),
    asked: Sequence[str] = (),
    methods: Sequence[str] = (),
    progress: Progress | None = None,
) -> Advice:
    """Try every method on a table and on the questions that will be asked; say which one to take.

    Each is designed, protected, attacked and asked in memory; nothing is published. Tables of more
    than 100,000 records are tried on so many of them.

    Args:
        table: the true table: a file or data frame.
        schema: what each column is.
        k: nobody shall be found with a chance of more than one in k.
        tables: what will be asked for, as lists of keys; those of the schema where not given, else
            tables of two keys.
        asked: questions in words, which decide alone: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``.
        methods: which to try, by name; all that aim at something where not given.
        progress: is told of each method done.
    """
    from pramana.engine.base import open_source
    from pramana.evaluation.advise import advise_on

    described = _schema(schema)
    opened = open_source(table, schema=described)
    return advise_on(
        opened, described, k=k, tables=tables, asked=asked, methods=methods, progress=progress
    )


def report(
    release: Release | str | Path,
    *,
    original: TableLike | None = None,
    external: bool = False,
    name: str = "",
    office: str = "",
    date: str | None = None,
    progress: Say | None = None,
) -> Report:
    """A page for management and a technical annex about a release; shows itself in a notebook.

    ``save("report.html")`` writes one self-contained HTML file, ``save("report.pdf")`` a PDF.

    Args:
        release: a release or its folder.
        original: the true table: then attacks and losses are measured, for the owner's eyes.
        external: for publication: the original is not looked at, whatever was given.
        name: of the data, for the title.
        office: who releases them.
        date: of the report; today where not given.
        progress: is told what is being done.
    """
    import datetime

    from pramana.evaluation.report import make_report
    from pramana.reporting.contents import About

    found = _release(release)
    truth = None if external or original is None else _truth(original, found)
    day = datetime.date.today().isoformat() if date is None else date
    about = About(name, office, day)
    return make_report(found, original=truth, external=external, about=about, say=progress)


def drawn(found: Estimate | Regression, *, identity: str = "chart") -> str:
    """A table or a model as a chart: SVG to stand in a page, with a description in words.

    ``CHART_STYLE`` lays it out. Refused where a chart cannot show it: three columns, many values.

    Args:
        found: numbers with their intervals.
        identity: of the chart in the page.
    """
    from pramana.base.charts import inline_svg

    chart = found.plot()
    title = chart.title.text
    chart.title.subtitle = []  # the page says it beside the chart
    return inline_svg(chart, identity=identity, title=str(title), text=found.note)


def verbatim(release: Release | str | Path, original: TableLike) -> UnchangedRecords:
    """How many records of the truth, and of the unique ones, stand in a release word for word.

    Args:
        release: a release or its folder.
        original: the true table: a file or data frame.
    """
    from pramana.risk.unchanged_records import measure_unchanged

    found = _release(release)
    return measure_unchanged(found.certificate.true_schema, _truth(original, found), found.opened)


def _truth(original: TableLike, release: Release) -> OpenedTable:
    """The true table, recoded as that of the release."""
    from pramana.engine.base import open_truth

    return open_truth(original, release.certificate.true_schema)


def _recoded(table: TableLike, schema: Schema | None) -> OpenedTable:
    """A table that need not have all columns of the schema, recoded as far as it has them."""
    from pramana.engine.base import open_source
    from pramana.schema.recoded_table import recoded

    opened = open_source(table)
    return opened if schema is None else recoded(opened, schema)


def _release(given: Release | str | Path) -> Release:
    return load(given) if isinstance(given, str | Path) else given


def _release_at(given: TableLike | Release) -> Release | None:
    """The release that was given, or that lies in a folder; ``None`` for anything else."""
    from pramana.analysis.release import Release
    from pramana.release.folder import CERTIFICATE

    if isinstance(given, Release):
        return given
    folder = isinstance(given, str | Path) and (Path(given) / CERTIFICATE).is_file()
    return load(Path(str(given))) if folder else None


def _schema(given: Schema | str | Path) -> Schema:
    from pramana.schema.schema import Schema

    return given if isinstance(given, Schema) else Schema.load(given)
