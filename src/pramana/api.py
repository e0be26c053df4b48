"""The verbs: each takes the immutable object of the previous verb and returns the next one.

    describe -> Schema;  design -> Plan;  protect -> Release;  load, verify
    audit, attack, compare, report: what could go wrong, and what is lost

Command line and studio are shells over this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports
from pramana.base.text import tables_of
from pramana.engine.base import ENGINES, USUAL, open_source
from pramana.errors import InputError
from pramana.guarantees.claims import GUARANTEES, cli_options, guarantees_from_options
from pramana.io.base import FORMATS, renaming
from pramana.io.opening import Preview, open_table, parts_of, preview_of
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
from pramana.methods.plan import PlanFile
from pramana.release.folder import read_certificate, require_free
from pramana.release.kinds import error_words
from pramana.schema.describe import Description, complete, usual_k
from pramana.schema.describe import describe as _describe
from pramana.schema.origins import Provenance
from pramana.schema.recoded_table import merge_values
from pramana.schema.schema import origin_named
from pramana.schema.schema_entries import json_schema
from pramana.schema.schema_file import read_toml, text_of
from pramana.schema.tally import shapes_of
from pramana.schema.weights import coarse_weight_of
from pramana.types import Progress, Say, TableLike
from pramana.verification.checks import Verdict
from pramana.verification.verify import verify_folder

if TYPE_CHECKING:
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.regression_results import Regression
    from pramana.analysis.release import Release
    from pramana.collect.closing import SurveyPlace, close_folder, live, surveys
    from pramana.collect.server import serve_folder
    from pramana.collect.survey import read_survey, survey_toml
    from pramana.collect.survey_folder import invite, load_survey, new_survey, preview_survey
    from pramana.evaluation.advise import advise
    from pramana.evaluation.audit import AttackName, MissingValues, ReleaseAudit, attack, audit
    from pramana.evaluation.cli_hints import CliHints
    from pramana.evaluation.compare import compare
    from pramana.evaluation.plan_preview import errors_on_data, preview_plan
    from pramana.evaluation.report import evidence, report
    from pramana.evaluation.schema_suggestions import (
        changed_file,
        recoding_gains,
        suggest_changes_if_poor,
    )
    from pramana.evaluation.trials import compared
    from pramana.ledger.ledger import Budget, Ledger
    from pramana.mechanisms.mechanism import Mechanism
    from pramana.protecting import protect
    from pramana.reporting.document import CHART_STYLE
    from pramana.reporting.report_charts import drawn_methods, original_chart
    from pramana.risk.frequencies import UniquenessCounter
    from pramana.risk.unchanged import UnchangedRecords

__all__ = ["CHART_STYLE", "ENGINES", "FORMATS", "GUARANTEES", "METHODS", "AttackName", "Budget",
           "CliHints", "Ledger", "MissingValues", "PlanFile", "Provenance", "ReleaseAudit",
           "SurveyPlace", "UniquenessCounter", "advise", "alternative_summary", "attack", "audit",
           "changed_file", "cli_options", "close_folder", "coarse_weight_of", "compare", "compared",
           "complete", "composable", "describe", "design", "design_context", "design_for", "drawn",
           "drawn_methods", "earlier_releases", "error_words", "errors_on_data",
           "estimate_changes", "evidence",
           "guarantees_from_options", "invite", "json_schema", "live", "load", "load_survey",
           "look", "merge_values", "new_survey", "open_source", "options_of", "origin_named",
           "original_chart", "parse_range", "preview_plan", "preview_survey", "protect", "read",
           "read_survey", "read_toml", "recoding_gains", "report", "require_free", "serve_folder",
           "shapes_of", "suggest_changes_if_poor", "survey_toml", "surveys", "tables_of", "text_of",
           "unchanged_records", "usual_k", "usual_method", "verify"]  # fmt: skip

_SOURCES = {
    "collect.closing": "SurveyPlace close_folder live surveys",
    "collect.survey_folder": "invite load_survey new_survey preview_survey",
    "collect.server": "serve_folder",
    "collect.survey": "read_survey survey_toml",
    "evaluation.advise": "advise",
    "evaluation.audit": "AttackName MissingValues ReleaseAudit attack audit",
    "evaluation.cli_hints": "CliHints",
    "evaluation.compare": "compare",
    "evaluation.trials": "compared",
    "evaluation.report": "evidence report",
    "evaluation.plan_preview": "errors_on_data preview_plan",
    "evaluation.schema_suggestions": "recoding_gains changed_file suggest_changes_if_poor",
    "ledger.ledger": "Budget Ledger",
    "protecting": "protect",
    "reporting.document": "CHART_STYLE",
    "reporting.report_charts": "original_chart drawn_methods",
    "risk.frequencies": "UniquenessCounter",
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
    ranges: Mapping[str, tuple[float, float] | None] | None = None,
) -> Description:
    """Propose the role, domain and recoding of each column of a table.

    Args:
        table: a file or a data frame.
        keys: columns by which a person could be recognised; they are randomised. If you name
            keys, no other column becomes a key.
        sensitive: columns that an adversary does not know, released unchanged.
        public: columns that an adversary may know, released unchanged.
        identifiers: columns to drop.
        weight: the column of sampling weights.
        household: the column with household numbers; it is dropped. Columns that all members of
            a household share are proposed as unchanged or dropped.
        k: recodings are suggested for values that fewer records have.
        suggest: suggest further keys in addition to the given ones.
        ranges: for columns of amounts, the lowest and the highest number by public knowledge. The
            columns get a grid, so that guarantees cover them. ``None`` reads the ends off the
            data.

    Returns:
        A schema, with the reason for each role.
    """
    return _describe(
        open_source(table),
        keys=keys,
        sensitive=sensitive,
        public=public,
        identifiers=identifiers,
        weight=weight,
        household=household,
        k=k,
        suggest=suggest,
        ranges=ranges,
    )


def read(
    path: str | Path,
    *,
    engine: str = "local",
    master: str | None = None,
    encoding: str | None = None,
    rename: bool = False,
) -> TableLike:
    """Read a file as a table of an engine.

    Args:
        path: the file.
        engine: the name of an engine that reads files.
        master: the cluster of the engine, if it has one.
        encoding: the encoding of a text file (``cp1252``); by default it is detected.
        rename: make duplicate column names unique (``age``, ``age_2``).
    """
    names = [name for name, engine in ENGINES.items() if engine.reads_files]
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
    """The names of the sheets, data frames or tables in a file: ``people.xlsx#NAME`` reads one.

    Empty for a format whose files hold a single table.
    """
    return parts_of(Path(path))


def look(table: TableLike, *, rows: int = 100, encoding: str | None = None) -> Preview:
    """The first records of a table and the notices of its reader, for the owner only.

    Args:
        table: a file or data frame, or one that is open already.
        rows: how many records to show.
        encoding: of a text file, where it was given.
    """
    return preview_of(open_source(table), rows=rows, encoding=encoding)


def load(folder: str | Path, *, like: str = "arrow") -> Release:
    """Open a release folder; tables come as data frames ``like`` arrow, pandas or polars."""
    from pramana.analysis.release import load_release

    return load_release(folder, like=like)


def verify(
    folder: str | Path | Release,
    *,
    key: str | Path | None = None,
    original: TableLike | None = None,
    mechanism: Mechanism | str | Path | None = None,
    engine: str = USUAL,
    master: str | None = None,
    progress: Progress | None = None,
    say: Say | None = None,
) -> Verdict:
    """Check a release folder; with the original data, test also that the records fit the matrices.

    Args:
        folder: the release folder, or a release loaded from it.
        key: the public key of the signature.
        original: the original data, for the owner.
        mechanism: the matrices of a release that withholds them, in memory or as a file of the
            steward's folder.
        engine: the engine that computes digests and reads the records: ``local`` or ``spark``.
        master: the cluster of the engine, if it has one.
        progress: called with the number of further records read.
        say: called with the name of each check.
    """
    place = folder if isinstance(folder, str | Path) else getattr(folder, "folder", None)
    if place is None:
        raise InputError(
            "This release is in memory, and only folders can be verified. "
            "Save it to a folder first."
        )
    verdict = verify_folder(place, key=key, engine=engine, master=master, progress=progress)
    if original is None and mechanism is None:
        return verdict
    # The checks of the owner import attacks and reports, which the others do not need.
    from pramana.evaluation.audit import MATRICES_WITH_FOLDER
    from pramana.evaluation.report import with_owner_checks

    if original is None:
        raise InputError(MATRICES_WITH_FOLDER)
    return with_owner_checks(verdict, Path(place), original, mechanism=mechanism, say=say)


def earlier_releases(release: Release) -> list[Path]:
    """Other releases in the same folder that may be of the same people."""
    from pramana.risk.attacks.repeated_releases import earlier_releases as beside

    return [] if release.folder is None else beside(release.folder, release.certificate)


def composable(release: Release, others: Sequence[Path]) -> list[Path]:
    """The other releases that the attack ``composition`` combines with this one."""
    from pramana.risk.attacks.repeated_releases import composable as says_enough

    if not says_enough(release.certificate):
        return []
    return [other for other in others if says_enough(read_certificate(other))]


def drawn(result: Estimate | Regression, *, identity: str = "chart") -> str:
    """The chart of a table or a model as SVG for a page, with a description in words.

    ``CHART_STYLE`` has its layout. Tables of three columns or of many values are refused.

    Args:
        result: the estimates with their intervals.
        identity: the ``id`` of the chart in the page.
    """
    from pramana.base.charts import fitting_svg

    chart = result.plot()
    title = chart.title.text
    chart.title.subtitle = []  # the page says it beside the chart
    return fitting_svg(chart, identity=identity, title=str(title), text=result.note)


def unchanged_records(release: Release | str | Path, original: TableLike) -> UnchangedRecords:
    """The numbers of original records, and of unique ones, that a release contains unchanged.

    Args:
        release: a release or its folder.
        original: the original data: a file or data frame.
    """
    from pramana.evaluation.audit import original_of, release_of
    from pramana.risk.unchanged import measure_unchanged

    made = release_of(release)
    return measure_unchanged(made.certificate.true_schema, original_of(original, made), made.opened)
