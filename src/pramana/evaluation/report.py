"""What a report says: gathered from the release alone, or with the original data for the owner."""

from __future__ import annotations

import datetime
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from pramana.analysis.estimates import Estimate
from pramana.analysis.release import Release
from pramana.base.atomic_files import whole_folder, write_whole
from pramana.base.charts import altair
from pramana.base.processes import side_by_side
from pramana.base.text import counted, percent, percent_down, percent_up, text_down, text_up
from pramana.errors import NotCovered, PramanaError
from pramana.evaluation.arguments import original_of, release_of
from pramana.evaluation.audit import ReleaseAudit, audit_release
from pramana.evaluation.owner_checks import checked_by_truth
from pramana.evaluation.utility import UtilityReport, assess_utility
from pramana.mechanisms.mechanism import AttributeSampler
from pramana.mechanisms.transition import UniformMixture
from pramana.release.certificate_fields import AS_IT_IS, treatment_of
from pramana.release.released_codes import NOT_REPORTED, released_codes
from pramana.reporting.document import (
    About,
    Attacks,
    ColumnView,
    Document,
    Measures,
    ReportContent,
    Row,
    to_html,
    to_pdf,
)
from pramana.reporting.evidence import evidence_files, require_evidence
from pramana.reporting.pages import report_document
from pramana.risk.attacks.records import require_belongs
from pramana.schema.codec import encode
from pramana.schema.domains import Bins
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Column, Role
from pramana.types import FloatArray, Form, Say, TableLike
from pramana.verification.checks import Verdict
from pramana.verification.verify import verify_folder
from pramana.verification.whole_file import FileRisk

MOST_CHARTS = 10
MOST_VALUES = 12
MOST_POINTS = 150
MOST_TABLES = 15
LEVEL = 0.95
"""Values that a chart shows: below each other, and as a curve; the page has a bounded length."""

TREE_CODE = """import pramana as pm

release = pm.load({folder!r})
print("valid:", release.verify().valid)

table = release.crosstab({columns})       # estimates, standard errors, intervals
for cell in table.cells:
    print({cells}, round(cell["estimate"]), "+-", round(cell["se"]))
"""


@dataclass(frozen=True)
class Report:
    """A report: one page for management, then a technical annex; shows itself in a notebook."""

    document: Document = field(repr=False)
    external: bool

    @cached_property
    def html(self) -> str:
        """One self-contained HTML file."""
        return to_html(self.document)

    def to_pdf(self) -> bytes:
        """The same as PDF."""
        return to_pdf(self.document)

    def save(self, path: str | Path, *, force: bool = False, mode: int | None = None) -> Path:
        """Write the file, as its ending says: .pdf, else HTML; over another only with ``force``.

        It has the permissions ``mode`` from the start, if any are given.
        """
        place = Path(path)
        pdf = place.suffix.lower() == ".pdf"
        write_whole(place, self.to_pdf() if pdf else self.html, force=force, mode=mode)
        return place

    def _repr_html_(self) -> str:
        return self.html


def evidence(release: Release | str | Path, to: str | Path, *, force: bool = False) -> list[Path]:
    """Write what review boards and catalogues ask for about a release to a folder.

    ``evidence.md`` for a board, DDI, Croissant, Frictionless, schema.org, PROV and an entry for a
    registry of deployments, all from the certificate. Title, contact and the like come from
    ``[dataset]`` of the schema.

    Args:
        release: a release or its folder.
        to: the folder, which appears whole or not at all.
        force: replace an existing folder of evidence.
    """
    found, place = release_of(release), Path(to)
    require_evidence(place, force=force)
    texts = evidence_files(found.certificate, found.file_risk, found.publishable)
    may_go = partial(require_evidence, force=True) if force else None
    with whole_folder(place, may_go=may_go) as work:
        for name, text in texts.items():
            (work / name).write_text(text, encoding="utf-8")
    return [place / name for name in texts]


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
        original: the original data: then attacks and losses are measured, for the owner's eyes.
        external: for publication: the original is not looked at, whatever was given.
        name: of the data, for the title.
        office: who releases them.
        date: of the report; today where not given.
        progress: is told what is being done.
    """
    release = release_of(release)
    stated = release.certificate.schema.dataset
    day = datetime.date.today().isoformat() if date is None else date
    truth = None if external or original is None else original_of(original, release)
    if truth is not None:
        require_belongs(release.certificate, release.opened, truth)

    def measured() -> UtilityReport | None:
        return None if truth is None else assess_utility(release, truth)

    def attacked(*, belongs: bool) -> tuple[ReleaseAudit | None, tuple[str, ...]]:
        return _audit(release, truth, progress, belongs=belongs)

    with side_by_side(2) as beside:  # each takes the original at its word, and the check decides
        measuring = beside.submit(copy_context().run, measured)
        attacking = beside.submit(copy_context().run, partial(attacked, belongs=True))
        beside.submit(altair)  # which takes a while to load
        verdict = _verdict(release, truth, progress)
        fits = verdict is not None and verdict.valid
        audit, notes = attacking.result() if fits else attacked(belongs=False)
        if progress is not None:
            progress("Measuring what is lost" if truth is not None else "Writing the report")
        utility = measuring.result()
    if verdict is None:
        risk = release.file_risk
    else:
        risk = verdict.risk or FileRisk(release.certificate.records)
    content = ReportContent(
        risk=risk,
        certificate=release.certificate,
        columns=_columns(release, truth),
        verdict=verdict,
        code=_code(release),
        external=truth is None,
        about=About(name or stated.title, office or stated.publisher, day),
        attacks=None if audit is None else _attacks(audit),
        worst=None if audit is None else _worst(audit),
        utility=None if utility is None else _utility(utility),
        notes=notes,
    )
    return Report(report_document(content), external=truth is None)


def _verdict(release: Release, truth: OpenedTable | None, say: Say | None) -> Verdict | None:
    """What was checked: for the owner, who has the original data, also that the release fits it."""
    if release.folder is None:
        return None
    found = verify_folder(release.folder)
    return found if truth is None else found.with_checks(checked_by_truth(release, truth, say=say))


def _audit(
    release: Release, truth: OpenedTable | None, say: Say | None, *, belongs: bool
) -> tuple[ReleaseAudit | None, tuple[str, ...]]:
    """What attacks achieve; that the original data belong to the release is not looked at twice."""
    if truth is None:
        return None, ()
    try:
        return audit_release(release, truth, belongs=belongs, progress=say), ()
    except NotCovered as error:
        return None, (f"Attacks were not measured: {error}",)


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


def _columns(release: Release, truth: OpenedTable | None) -> tuple[ColumnView, ...]:
    """Every column; of those that were changed the first few, keys before others, are drawn."""
    released = release.certificate.true_schema.released
    changed = [c for c in released if c.randomised and c.domain is not None]
    keys_first = sorted(changed, key=lambda column: column.role is not Role.KEY)
    drawn = {column.name for column in keys_first[:MOST_CHARTS]}
    views = []
    for column in released:
        view = _described(column, release)
        views.append(_drawn(column, view, release, truth) if column.name in drawn else view)
    return tuple(views)


def _described(column: Column, release: Release) -> ColumnView:
    """What is said of any column."""
    changed = column.randomised and column.domain is not None
    own = _treatment(column, release) if changed else treatment_of(column, AS_IT_IS)
    return ColumnView(
        name=column.name,
        title=release.certificate.labels.title(column.name),
        role=str(column.role),
        treatment="; ".join(filter(None, (column.recoding.sentence(most=MOST_VALUES), own))),
        domain=_domain(column) if changed or column.binned else "as they occur",
    )


def _drawn(
    column: Column, view: ColumnView, release: Release, truth: OpenedTable | None
) -> ColumnView:
    """The same with its shares: of all values in an order, else of the most frequent ones."""
    estimate = _estimate(release, column.name)
    found = _shares_of(column, release, truth, estimate)
    size = len(column.labels)
    labels = release.certificate.labels
    named = labels.values.get(column.name, {})
    curve = MOST_VALUES < size <= MOST_POINTS and _in_order(column) and 2 * len(named) < size
    main = found.get("estimated", found["released"])
    shown = np.arange(size)
    if size > MOST_VALUES and not curve:
        shown = np.sort(np.argsort(-main, kind="stable")[:MOST_VALUES])
    words = labels.named(column.name, column.labels)
    picked: Form = {name: tuple(map(float, own[shown])) for name, own in found.items()}
    return replace(
        view,
        labels=tuple(words[place] for place in shown),
        level=LEVEL if estimate is None else estimate.level,
        curve=curve,
        note=_left_out(size, len(shown), float(1 - main[shown].sum())),
        **picked,
    )


def _shares_of(
    column: Column, release: Release, truth: OpenedTable | None, estimate: Estimate | None
) -> dict[str, FloatArray]:
    """Shares of its values: as released, as estimated with intervals, and in truth if given."""
    codes = released_codes(release.certificate.mechanism, column, release.opened)
    codes = codes[codes != NOT_REPORTED]
    size = len(column.labels)
    found = {"released": np.bincount(codes, minlength=size) / max(len(codes), 1)}
    if truth is not None:
        own = encode(column, truth.to_arrow([column.name]).column(0))
        found["truth"] = np.bincount(own, minlength=size) / max(len(own), 1)
    if estimate is not None:
        found["estimated"] = estimate.estimate
        if not estimate.no_interval:
            found |= {"low": estimate.low, "high": estimate.high}
    return found


def _left_out(size: int, shown: int, rest: float) -> str:
    """How many values a chart leaves out, and how much they are together."""
    if shown == size:
        return ""
    return (
        f"The {shown} most frequent of {size:,} values; the other {size - shown:,} have "
        f"{max(100 * rest, 0.0):.3g} % of the records together."
    )


def _in_order(column: Column) -> bool:
    """Whether values follow each other: bins, an order that was declared, or numbers."""
    if column.ordered:
        return True
    values = [label for label in column.labels if label is not None]
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    return len(numbers) == len(values) and numbers == sorted(numbers)


def _estimate(release: Release, name: str) -> Estimate | None:
    try:
        return release.crosstab(name, share=True, weighted=False)
    except PramanaError:
        return None  # the matrices are withheld, or the method has none


def _treatment(column: Column, release: Release) -> str:
    mechanism = release.certificate.mechanism
    if mechanism is None or column.name not in mechanism.columns:
        return f"replaced by method {release.certificate.method}"
    if isinstance(mechanism, AttributeSampler):
        return _asked(column.name, mechanism)
    step = mechanism.step_of(column.name)
    together = f", together with {', '.join(n for n in step.columns if n != column.name)}"
    tied = together if len(step.columns) > 1 else ""
    matrix = step.matrices[0]
    if len(step.matrices) == 1 and isinstance(matrix, UniformMixture):
        kept = float(matrix.retention)
        return f"kept with probability {text_up(kept, 3)}, else drawn at random{tied}"
    least = min(float(matrix.diagonal.min()) for matrix in step.matrices)
    most = max(float(matrix.diagonal.max()) for matrix in step.matrices)
    return (
        f"kept with probability {text_down(least, 3)} to {text_up(most, 3)}, else moved by the "
        f"matrix{tied}"
    )


def _asked(name: str, mechanism: AttributeSampler) -> str:
    """How often a column is reported, and what is done to it then."""
    sets = mechanism.containing([name])
    share = sum(one.share for one in sets)
    kept = [float(one.matrix.retention) for one in sets]
    between = f"{text_down(min(kept), 3)} to {text_up(max(kept), 3)}"
    return (
        f"asked for in {len(sets)} of {counted(len(mechanism.sets), 'set')}, by "
        f"{percent(share)} of the records; each cell kept with probability "
        f"{between}, else drawn at random"
    )


def _domain(column: Column) -> str:
    kind = "bins" if isinstance(column.domain, Bins) else "categories"
    missing = ", missing is one of them" if None in column.labels else ""
    return f"{len(column.labels)} {kind}, {column.origin.words}{missing}"


# -- for the owner -------------------------------------------------------------------------


def _up(value: float | None) -> str:
    """A share that must be small, rounded up; nothing where there is none."""
    return "" if value is None else percent_up(value)


def _down(value: float | None) -> str:
    """A share for a table, with nothing where there is none."""
    return "" if value is None else percent_down(value)


def _attacks(audit: ReleaseAudit) -> Attacks:
    rows: list[Row] = []
    for found in audit.measured:
        right, low, high, *others = found.cells()
        rows.append((found.name, right, f"{low} to {high}", *others))
    verdict = (
        "No attack breaks a promise."
        if audit.holds
        else "AN ATTACK BREAKS A PROMISE: do not publish this release."
    )
    return Attacks(
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
        holds=audit.holds,
    )


def _worst(audit: ReleaseAudit) -> Measures:
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
    below = [f"fk < {text_up(before.asked, 6)}"] if few else []
    return Measures(
        sentences=tuple(before.sentences()),
        heads=("keys", *below, "unique", "smallest group"),
        rows=tuple(rows),
        caption="The worst few keys of the true table",
    )


def _the_worst(shown: int, of: int) -> str:
    return "" if shown == of else f" (the {shown} worst of {of:,} tables)"


def _utility(utility: UtilityReport) -> Measures:
    rows = []
    by_loss = sorted(utility.tables, key=lambda entry: -(entry.estimated or entry.raw).l1)
    for entry in by_loss[:MOST_TABLES]:
        tie = entry.association
        rows.append(
            (
                " by ".join(entry.columns),
                _up(entry.raw.l1 / 2),
                "" if entry.estimated is None else _up(entry.estimated.l1 / 2),
                _down(entry.overlap_raw),
                _down(entry.overlap_estimated),
                "" if tie is None else f"{tie.truth:.2f}",
                "" if tie is None else f"{tie.raw:.2f}",
                "" if tie is None or tie.estimated is None else f"{tie.estimated:.2f}",
            )
        )
    return Measures(
        sentences=tuple(utility.sentences()),
        heads=(
            "table", "wrong cell, raw", "estimated", "interval overlap, raw", "estimated",
            "association, true", "raw", "estimated",
        ),
        rows=tuple(rows),
        caption="Records in the wrong cell (half of what all cells are off by together), overlap "
        "of intervals, and how columns go together"
        + _the_worst(len(rows), len(by_loss)),
    )  # fmt: skip
