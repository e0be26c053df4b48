"""The verbs: each takes the frozen object before it and gives the next one.

    describe -> Schema;  design -> Plan;  protect -> Release;  load, verify
    audit, attack, compare, report: what could go wrong, and what is lost

Command line and studio are shells over this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.engines.choose import open_source
from pramana.guarantees.registry import GUARANTEES, asked_by_letters
from pramana.methods.registry import METHODS
from pramana.planning import design, usual_method
from pramana.protecting import protect
from pramana.readings.release import Release, load_release
from pramana.release.folder import require_free
from pramana.release.verify import Verdict, verify_folder
from pramana.table.schema import Schema
from pramana.types import Progress

if TYPE_CHECKING:
    from pramana.assess.attack import AttackResult
    from pramana.assess.compare import Comparison
    from pramana.assess.release_audit import ReleaseAudit
    from pramana.assess.report import Report
    from pramana.risk.table_audit import TableAudit
    from pramana.table.describe import Description

__all__ = [
    "GUARANTEES",
    "METHODS",
    "asked_by_letters",
    "attack",
    "audit",
    "compare",
    "describe",
    "design",
    "load",
    "open_source",
    "protect",
    "read_spark",
    "report",
    "require_free",
    "usual_method",
    "verify",
]


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

    opened = open_source(table)
    return look_at(
        opened, keys=keys, sensitive=sensitive, plain=plain, identifiers=identifiers, weight=weight
    )


def read_spark(path: str | Path, *, master: str | None = None) -> Any:
    """A Spark data frame of Parquet or CSV files, wherever Spark reads; starts Spark if need be."""
    from pramana.engines.spark.session import read_path

    return read_path(str(path), master=master)


def load(folder: str | Path) -> Release:
    """Open a release folder."""
    return load_release(folder)


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
    return verdict.with_checks(
        against_truth(release.certificate, release.opened, open_source(original))
    )


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
