"""What a report says: gathered from the release alone, or with the truth for the owner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pramana.assess.release_audit import ReleaseAudit, audit_release
from pramana.assess.utility import UtilityReport, assess_utility
from pramana.errors import NotCovered, PramanaError
from pramana.files import write_whole
from pramana.matrices.families import UniformMixture
from pramana.matrices.reporting import Reporting
from pramana.numeric import text_down, text_up
from pramana.readings.release import Release
from pramana.release.told import SILENT, told_codes
from pramana.release.verify import verify_folder
from pramana.reports.content import ColumnView, ReportContent, Row, Section
from pramana.reports.page import render
from pramana.table.codec import encode
from pramana.table.domains import Bins, label_text
from pramana.table.opened import OpenedTable
from pramana.table.schema import Column

__all__ = ["Report", "make_report"]

MOST_BARS = 24
TREE_CODE = """import pramana as pm

release = pm.load({folder!r})
print("valid:", release.verify().valid)

table = release.crosstab({columns})       # estimates, standard errors, intervals
for cell in table.cells:
    print({cells}, round(cell["estimate"]), "+-", round(cell["se"]))
"""


@dataclass(frozen=True)
class Report:
    """A report as one self-contained HTML file; shows itself in a notebook."""

    html: str
    external: bool

    def save(self, path: str | Path, *, force: bool = False) -> Path:
        """Write the file; over one of that name only with ``force``."""
        place = Path(path)
        write_whole(place, self.html, force=force)
        return place

    def _repr_html_(self) -> str:
        return self.html


def make_report(
    release: Release, *, original: OpenedTable | None = None, external: bool = False
) -> Report:
    """The report of a release.

    Args:
        release: the release.
        original: the true table: then attacks and losses are measured, for the owner's eyes.
        external: for publication: the original is not looked at, whatever was given.
    """
    truth = None if external else original
    audit, notes = _audit(release, truth)
    utility = None if truth is None else assess_utility(release, truth)
    content = ReportContent(
        certificate=release.certificate,
        columns=tuple(
            _column(column, release, truth) for column in release.certificate.true_schema.released
        ),
        checks=_checks(release),
        code=_code(release),
        external=truth is None,
        risk=None if audit is None else _risk(audit),
        worst=None if audit is None else _worst(audit),
        utility=None if utility is None else _utility(utility),
        notes=notes,
    )
    return Report(render(content), external=truth is None)


def _audit(
    release: Release, truth: OpenedTable | None
) -> tuple[ReleaseAudit | None, tuple[str, ...]]:
    if truth is None:
        return None, ()
    try:
        return audit_release(release, truth), ()
    except NotCovered as error:
        return None, (f"Attacks were not measured: {error}",)


def _checks(release: Release) -> tuple[tuple[str, bool, str], ...]:
    if release.folder is None:
        return ()
    verdict = verify_folder(release.folder)
    return tuple((check.name, check.ok, check.detail) for check in verdict.checks)


def _code(release: Release) -> str:
    folder = "release/" if release.folder is None else f"{release.folder.name}/"
    names = [column.name for column in release.certificate.schema.randomised][:2]
    names = names or [column.name for column in release.certificate.schema.released][:1]
    return TREE_CODE.format(
        folder=folder,
        columns=", ".join(repr(name) for name in names),
        cells=", ".join(f"cell[{name!r}]" for name in names),
    )


# -- columns -------------------------------------------------------------------------------


def _column(column: Column, release: Release, truth: OpenedTable | None) -> ColumnView:
    if not column.randomised or column.domain is None:
        return ColumnView(
            column.name, str(column.role), "released as it is", "as they occur", note=""
        )
    codes = told_codes(release.certificate.mechanism, column, release.opened)
    codes = codes[codes != SILENT]
    size = len(column.labels)
    shares = np.bincount(codes, minlength=size) / max(len(codes), 1)
    before = None
    if truth is not None:
        own = encode(column, truth.to_arrow([column.name]).column(0))
        before = np.bincount(own, minlength=size) / max(len(own), 1)
    shown = np.sort(np.argsort(-shares, kind="stable")[:MOST_BARS])
    estimate = _estimate(release, column.name)

    def pick(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, ...]:
        return tuple(float(value) for value in values[shown])

    return ColumnView(
        name=column.name,
        role=str(column.role),
        treatment=_treatment(column, release),
        domain=_domain(column),
        labels=tuple(label_text(column.labels[place]) or "missing" for place in shown),
        released=pick(shares),
        estimated=None if estimate is None else pick(estimate[0]),
        low=None if estimate is None else pick(estimate[1]),
        high=None if estimate is None else pick(estimate[2]),
        truth=None if before is None else pick(before),
        note=f"The {MOST_BARS} most frequent of {size} values." if size > MOST_BARS else "",
    )


def _estimate(
    release: Release, name: str
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], ...] | None:
    try:
        found = release.crosstab(name, share=True, weighted=False)
    except PramanaError:
        return None  # the matrices are withheld, or the method has none
    return found.estimate, found.low, found.high


def _treatment(column: Column, release: Release) -> str:
    mechanism = release.certificate.mechanism
    if mechanism is None or column.name not in mechanism.columns:
        return f"replaced by method {release.certificate.method}"
    if isinstance(mechanism, Reporting):
        return _asked(column.name, mechanism)
    step = mechanism.step_of(column.name)
    together = f", together with {', '.join(n for n in step.columns if n != column.name)}"
    tied = together if len(step.columns) > 1 else ""
    matrix = step.matrices[0]
    if len(step.matrices) == 1 and isinstance(matrix, UniformMixture):
        kept = float(matrix.retention)
        return f"kept with probability {text_up(kept, 3)}, else drawn at random{tied}"
    least = min(float(own.diagonal.min()) for own in step.matrices)
    return f"kept with probability {least:.3f} or more, else moved by the matrix{tied}"


def _asked(name: str, mechanism: Reporting) -> str:
    """How often a column is reported, and what is done to it then."""
    sets = mechanism.containing([name])
    share = sum(one.share for one in sets)
    kept = [float(one.matrix.retention) for one in sets]
    between = f"{text_down(min(kept), 3)} to {text_up(max(kept), 3)}"
    return (
        f"asked for in {len(sets)} of {len(mechanism.sets)} sets, by {100 * share:.3g} % of the "
        f"records; each cell kept with probability {between}, else drawn at random"
    )


def _domain(column: Column) -> str:
    kind = "bins" if isinstance(column.domain, Bins) else "categories"
    listed = "declared" if column.declared else "read off the data"
    missing = ", missing is one of them" if None in column.labels else ""
    return f"{len(column.labels)} {kind}, {listed}{missing}"


# -- for the owner -------------------------------------------------------------------------


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.3g} %"


def _risk(audit: ReleaseAudit) -> Section:
    rows: list[Row] = [
        (
            found.name,
            _share(found.value),
            f"{_share(found.low)} to {_share(found.high)}",
            _share(found.baseline),
            _share(found.control),
            _share(found.bound),
        )
        for found in audit.measured
    ]
    verdict = (
        "No attack breaks a promise."
        if audit.holds
        else "AN ATTACK BREAKS A PROMISE: do not publish this release."
    )
    return Section(
        sentences=(
            verdict,
            *audit.seen,
            *dict.fromkeys(found.note for found in audit.measured),
            *audit.notes,
        ),
        heads=("attack", "right", "interval", "guessing", "not in it", "promised"),
        rows=tuple(rows),
        caption="Attacks on these people, measured",
        measured=audit.measured,
    )


def _worst(audit: ReleaseAudit) -> Section:
    before = audit.before
    few = before.asked > 2  # fewer than two alike is unique
    rows = [
        (
            ", ".join(s.keys),
            *([f"{s.violations:,}"] if few else []),
            f"{s.uniques:,}",
            f"{s.smallest:,}",
        )
        for s in before.subsets[:10]
    ]
    return Section(
        sentences=tuple(before.sentences()),
        heads=("keys", *([f"fk < {before.asked:g}"] if few else []), "unique", "smallest group"),
        rows=tuple(rows),
        caption="The worst few keys of the true table",
    )


def _utility(utility: UtilityReport) -> Section:
    rows = []
    for entry in utility.tables:
        tie = entry.association
        rows.append(
            (
                " by ".join(entry.columns),
                _share(entry.raw.l1 / 2),
                "" if entry.estimated is None else _share(entry.estimated.l1 / 2),
                _share(entry.overlap_raw),
                _share(entry.overlap_estimated),
                "" if tie is None else f"{tie.truth:.2f}",
                "" if tie is None else f"{tie.raw:.2f}",
                "" if tie is None or tie.estimated is None else f"{tie.estimated:.2f}",
            )
        )
    return Section(
        sentences=tuple(utility.sentences()),
        heads=(
            "table", "wrong cell, raw", "estimated", "interval overlap, raw", "estimated",
            "association, true", "raw", "estimated",
        ),
        rows=tuple(rows),
        caption="Records in the wrong cell, overlap of intervals, and how columns go together",
    )  # fmt: skip
