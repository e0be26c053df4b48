"""The verbs of assessment on files, folders and data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pramana.assess.attack import AttackResult, attack_release
from pramana.assess.compare import (
    Comparison,
    Design,
    Protect,
    Scenario,
    ScenarioOutcome,
    compare_scenarios,
    scenarios_of,
)
from pramana.assess.release_audit import ReleaseAudit, audit_release
from pramana.assess.report import Report, make_report
from pramana.errors import InvalidNumber
from pramana.formats.opening import open_table
from pramana.matrices.mechanism import Mechanism
from pramana.readings.release import Release, load_release
from pramana.reports.comparison import render_comparison
from pramana.reports.content import Row
from pramana.reports.plots import Point
from pramana.risk.frequencies import MISSING_POLICIES, MissingPolicy
from pramana.risk.table_audit import TableAudit, audit_table
from pramana.table.opened import OpenedTable
from pramana.table.schema import Schema
from pramana.types import Say

__all__ = [
    "attack",
    "audit",
    "compare",
    "comparison_page",
    "comparison_rows",
    "report",
    "scenarios",
]


def audit(
    table: Any,
    *,
    keys: Sequence[str] | None = None,
    k: float = 2,
    sensitive: Sequence[str] | None = None,
    weight: str | None = None,
    schema: Schema | str | Path | None = None,
    missing: str = "category",
    width: int = 3,
    original: Any = None,
    mechanism: Mechanism | None = None,
    progress: Say | None = None,
) -> TableAudit | ReleaseAudit:
    """What could go wrong with a table, or with a release whose original is at hand.

    Args:
        table: a file or data frame; or a release, or its folder.
        keys: the columns by which a person could be recognised; by default those of the schema.
        k: a frequency below it is a violation.
        sensitive: columns whose values shall not be learned; by default those of the schema.
        weight: the column of sampling weights; by default that of the schema.
        schema: what each column is, where ``keys`` and the others are not named.
        missing: ``category`` or ``wildcard``.
        width: subsets of up to so many keys are looked at.
        original: for a release: the true table; attacks are then measured.
        mechanism: for a release that withholds its matrices: the matrices.
        progress: is told what is being done.
    """
    release = as_release(table)
    if release is not None and original is not None:
        return audit_release(
            release,
            open_table(original),
            k=k,
            mechanism=mechanism,
            sensitive=sensitive,
            progress=progress,
        )
    if original is not None:
        raise InvalidNumber("--original goes with a release folder, and a table was given.")
    policy = _policy(missing)
    described = _schema(schema, release)
    opened = release.opened if release is not None else open_table(table)
    return audit_table(
        opened,
        keys=list(keys) if keys else _keys(described),
        k=k,
        sensitive=_sensitive(described) if sensitive is None else list(sensitive),
        weight=weight or _weight(described),
        missing=policy,
        width=width,
    )


def attack(
    name: str, *releases: Any, knowledge: Any = None, times: int = 8, seed: int = 20
) -> AttackResult:
    """Attack a release, or several of the same people, with what an attacker would have.

    Args:
        name: ``linkage``, ``repeated``, ``recovery`` or ``average``.
        releases: releases or their folders.
        knowledge: what the attacker knows of the truth: a file or data frame.
        times: for ``repeated``: how many perturbations in all.
        seed: for the attacker's randomness.
    """
    opened = [_release(release) for release in releases]
    known: OpenedTable | None = None if knowledge is None else open_table(knowledge)
    return attack_release(name, opened, knowledge=known, times=times, seed=seed)


def report(release: Any, *, original: Any = None, external: bool = False) -> Report:
    """One self-contained HTML document about a release.

    Args:
        release: a release or its folder.
        original: the true table: then attacks and losses are measured, for the owner's eyes.
        external: for publication: the original is not looked at, whatever was given.
    """
    truth = None if external or original is None else open_table(original)
    return make_report(_release(release), original=truth, external=external)


def compare(
    table: Any,
    schema: Schema | str | Path,
    scenarios: Sequence[Scenario],
    *,
    design: Design,
    protect: Protect,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Run several scenarios on the same table and put them side by side.

    Args:
        table: the true table: a file or data frame.
        schema: what each column is.
        scenarios: what to try, see :func:`scenarios`.
        design: the verb of the same name.
        protect: the verb of the same name.
        progress: is told of each scenario done.
    """
    described = schema if isinstance(schema, Schema) else Schema.load(schema)
    return compare_scenarios(
        table, described, scenarios, design=design, protect=protect, progress=progress
    )


scenarios = scenarios_of


def comparison_rows(comparison: Comparison) -> tuple[Row, list[Row]]:
    """The comparison as a table of text."""
    best = comparison.frontier
    rows: list[Row] = []
    for outcome in comparison.outcomes:
        risk, loss = outcome.risk, outcome.loss
        rows.append(
            (
                outcome.scenario.method,
                outcome.scenario.target,
                _attained(outcome),
                "" if risk is None else f"{100 * risk.value:.3g} %",
                "" if loss is None else f"{100 * loss:.3g} %",
                f"{outcome.seconds:.1f} s" if outcome.promises else "",
                "on the frontier" if outcome in best else ("" if outcome.promises else "refused"),
            )
        )
    heads = ("method", "target", "attained", "strongest link", "wrong cell", "time", "")
    return heads, rows


def _attained(outcome: ScenarioOutcome) -> str:
    asked = outcome.promises.get(outcome.scenario.guarantee.name, {})
    numbers = {key: value for key, value in asked.items() if isinstance(value, int | float)}
    return ", ".join(f"{key} = {value:.4g}" for key, value in numbers.items())


def comparison_page(comparison: Comparison) -> str:
    """The comparison as one self-contained HTML page."""
    heads, rows = comparison_rows(comparison)
    best = comparison.frontier
    points = [
        Point(one.scenario.name, one.loss, one.risk.value, one in best)
        for one in comparison.outcomes
        if one.risk is not None and one.loss is not None
    ]
    return render_comparison(
        heads=(*heads[:-1], "verdict"), rows=rows, points=points, sentences=comparison.sentences()
    )


def as_release(table: Any) -> Release | None:
    """The release that was given, or that lies in a folder; ``None`` for anything else."""
    if isinstance(table, Release):
        return table
    if isinstance(table, str | Path) and Path(table).is_dir():
        return load_release(table)
    return None


def _release(given: Any) -> Release:
    release = as_release(given)
    return load_release(given) if release is None else release


def _policy(missing: str) -> MissingPolicy:
    for policy in MISSING_POLICIES:
        if missing == policy:
            return policy
    raise InvalidNumber(f"missing must be one of {', '.join(MISSING_POLICIES)}, got {missing!r}.")


def _schema(given: Schema | str | Path | None, release: Release | None) -> Schema | None:
    if given is None:
        return None if release is None else release.certificate.schema
    return given if isinstance(given, Schema) else Schema.load(given)


def _keys(schema: Schema | None) -> list[str]:
    found = [] if schema is None else [column.name for column in schema.keys]
    if not found:
        raise InvalidNumber(
            "Say by which columns a person could be recognised: --keys region,sex,age, or a schema."
        )
    return found


def _sensitive(schema: Schema | None) -> list[str]:
    columns = [] if schema is None else schema.columns
    return [column.name for column in columns if column.role == "sensitive"]


def _weight(schema: Schema | None) -> str | None:
    return None if schema is None or schema.weight is None else schema.weight.name
