"""The report of a release: one page for the decision, then a list of sections."""

from __future__ import annotations

import datetime
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from pramana.analysis.release import Release
from pramana.base.atomic_files import whole_folder, write_whole
from pramana.base.charts import altair
from pramana.base.processes import side_by_side
from pramana.base.text import percent_down, percent_up, text_up
from pramana.errors import NotCovered
from pramana.evaluation.audit import ReleaseAudit, audit_release, original_of, release_of
from pramana.evaluation.owner_checks import checked_by_truth
from pramana.evaluation.utility import UtilityReport, assess_utility
from pramana.reporting.document import Block, Chapter, Document, Words, to_html, to_pdf
from pramana.reporting.evidence import evidence_files, require_evidence
from pramana.reporting.sections import (
    analysis_chapter,
    column_views,
    columns_chapter,
    first_page,
    guarantees_chapter,
    limited_grid,
    making_chapter,
)
from pramana.risk.attacks.records import require_belongs
from pramana.schema.opened_table import OpenedTable
from pramana.types import Say, TableLike
from pramana.verification.checks import Verdict
from pramana.verification.verify import verify_folder
from pramana.verification.whole_file import FileRisk

MOST_SUBSETS, MOST_TABLES = 10, 15

OWNER = "For the owner of the data: contains figures of the original data. Do not publish."
EVERYBODY = "For publication: made from the release and its certificate alone."


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
    release, place = release_of(release), Path(to)
    require_evidence(place, force=force)
    texts = evidence_files(release.certificate, release.file_risk, release.publishable)
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
    certificate = release.certificate
    say = progress or (lambda _: None)
    truth = None if external or original is None else original_of(original, release)
    if truth is None:
        altair()
        verdict = None if release.folder is None else verify_folder(release.folder)
        audit, utility, notes = None, None, tuple[str, ...]()
        say("Writing the report")
    else:
        verdict, audit, utility, notes = _measured(release, truth, progress)
    views = column_views(release, truth)
    risk = release.file_risk if verdict is None else verdict.risk or FileRisk(certificate.records)
    chapters = (
        guarantees_chapter(certificate),
        Chapter("file", "Risk of the whole file", tuple(map(Words, risk.sentences()))),
        columns_chapter(views),
        *([] if audit is None else [_attacks_chapter(audit), _original_risk_chapter(audit)]),
        *([] if utility is None else [_utility_chapter(utility)]),
        analysis_chapter(release),
        making_chapter(certificate, verdict, notes),
    )
    dataset = certificate.schema.dataset
    edition = "for publication" if truth is None else "for the owner, not for publication"
    about = (
        f"Version {dataset.version}" if dataset.version else "",
        office or dataset.publisher,
        datetime.date.today().isoformat() if date is None else date,
        f"Contact: {dataset.contact}" if dataset.contact else "",
        f"Release report, {edition}",
    )
    document = Document(
        title=name or dataset.title or "Release report",
        about=tuple(filter(None, about)),
        first=first_page(
            certificate,
            views,
            risk=risk,
            verdict=verdict,
            attacks=() if audit is None else audit.measured,
            external=truth is None,
        ),
        annex="Technical annex",
        parts=chapters,
        closing=EVERYBODY if truth is None else OWNER,
    )
    return Report(document, external=truth is None)


def _measured(
    release: Release, truth: OpenedTable, progress: Say | None
) -> tuple[Verdict | None, ReleaseAudit | None, UtilityReport, tuple[str, ...]]:
    """Checks, attacks and losses against the original data, side by side."""
    require_belongs(release.certificate, release.opened, truth)
    with side_by_side(2) as pool:  # attacks take the original at its word, and the check decides
        measuring = pool.submit(copy_context().run, assess_utility, release, truth)
        attacks = partial(_audit, release, truth, progress)
        attacking = pool.submit(copy_context().run, partial(attacks, belongs=True))
        pool.submit(altair)  # which takes a while to load
        verdict = None
        if release.folder is not None:
            checks = checked_by_truth(release, truth, say=progress)
            verdict = verify_folder(release.folder).with_checks(checks)
        belongs = verdict is not None and verdict.valid
        audit, notes = attacking.result() if belongs else attacks(belongs=False)
        if progress is not None:
            progress("Measuring what is lost")
        return verdict, audit, measuring.result(), notes


def _audit(
    release: Release, truth: OpenedTable, progress: Say | None, *, belongs: bool
) -> tuple[ReleaseAudit | None, tuple[str, ...]]:
    try:
        return audit_release(release, truth, belongs=belongs, progress=progress), ()
    except NotCovered as error:
        return None, (f"Attacks were not measured: {error}",)


# -- sections for the owner ------------------------------------------------------------------------


def _attacks_chapter(audit: ReleaseAudit) -> Chapter:
    verdict = (
        "No attack breaks a guarantee."
        if audit.holds
        else "AN ATTACK BREAKS A GUARANTEE: do not publish this release."
    )
    notes = dict.fromkeys(attack.note for attack in audit.measured)
    blocks: list[Block] = [Words(text) for text in (verdict, *audit.seen, *notes, *audit.notes)]
    if audit.measured:
        blocks.append(Words("The first page has their chart.", "quiet"))
    rows = []
    for attack in audit.measured:
        right, low, high, *others = attack.cells()
        rows.append((attack.name, right, f"{low} to {high}", *others))
    heads = ("attack", "right", "interval", "guessing", "not in it", "guaranteed")
    if rows:
        blocks.append(limited_grid(heads, rows, "Attacks on these people, measured", "attacks"))
    return Chapter("risk", "What attacks achieve", tuple(blocks))


def _original_risk_chapter(audit: ReleaseAudit) -> Chapter:
    before = audit.before
    few = before.asked > 2  # fewer than two alike is unique
    heads = ("keys", *([f"fk < {text_up(before.asked, 6)}"] if few else []), "unique",
             "smallest group")  # fmt: skip
    rows = [
        (", ".join(subset.keys), *([f"{subset.violations:,}"] if few else []),
         f"{subset.uniques:,}", f"{subset.smallest:,}")
        for subset in before.subsets[:MOST_SUBSETS]
    ]  # fmt: skip
    blocks: list[Block] = [Words(sentence) for sentence in before.sentences()]
    if rows:
        caption = "The riskiest combinations of keys in the original data"
        blocks.append(limited_grid(heads, rows, caption, "combinations"))
    return Chapter("before", "Who stood out before", tuple(blocks))


def _utility_chapter(utility: UtilityReport) -> Chapter:
    by_loss = sorted(utility.tables, key=lambda table: -(table.estimated or table.raw).l1)
    rows = []
    for table in by_loss[:MOST_TABLES]:
        estimated, tie = table.estimated, table.association
        rows.append((
            " by ".join(table.columns),
            percent_up(table.raw.l1 / 2),
            "" if estimated is None else percent_up(estimated.l1 / 2),
            percent_down(table.overlap_raw),
            "" if table.overlap_estimated is None else percent_down(table.overlap_estimated),
            *(("", "", "") if tie is None else (
                f"{tie.truth:.2f}", f"{tie.raw:.2f}",
                "" if tie.estimated is None else f"{tie.estimated:.2f}",
            )),
        ))  # fmt: skip
    heads = (
        "table", "wrong cell, raw", "estimated", "interval overlap, raw", "estimated",
        "association, true", "raw", "estimated",
    )  # fmt: skip
    caption = "Records in the wrong cell (half of the L1 distance), overlap of intervals, and "
    caption += "associations"
    if len(rows) < len(by_loss):
        caption += f" (the {len(rows)} worst of {len(by_loss):,} tables)"
    blocks: list[Block] = [Words(sentence) for sentence in utility.sentences()]
    if rows:
        blocks.append(limited_grid(heads, rows, caption, "tables"))
    return Chapter("utility", "What is lost", tuple(blocks))
