"""The report of a release: one page for the decision, then sections; and the checks of its owner.

A certificate of withheld matrices or of groups states how many records are released unchanged, and
the errors of frequencies. With the original data both are counted again. A method that passes keys
round, or draws them, inside groups of at least k gives a record its original keys with probability
at most 1/k. Among records whose keys and other values are unique, the number that keep theirs has
factorial moments of at most those of a Poisson law of mean N/k, so that its tail is below
Chernoff's bound for that law.

A method whose matrices are withheld and that has no secret options makes the same matrices of the
same table every time: the owner designs it again, compares the guarantees, and tests by e-values
whether the records were drawn by these matrices.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from pramana.analysis.release import Release, load_release
from pramana.base.atomic_files import whole_folder, write_whole
from pramana.base.charts import altair
from pramana.base.processes import side_by_side
from pramana.base.randomness import GOLDEN_GAMMA
from pramana.base.text import percent_down, percent_up, text_up
from pramana.base.translation import ENGLISH, gettext, in_language, noop, numeral
from pramana.errors import NotARelease, NotCovered, PramanaError, TooLarge
from pramana.evaluation.audit import (
    ReleaseAudit,
    audit_release,
    mechanism_of,
    original_of,
    release_of,
)
from pramana.evaluation.utility import UtilityReport, assess_utility
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import Claim, attained
from pramana.mechanisms.mechanism import Mechanism
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.release.kinds import NewKeys
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
from pramana.risk.attacks.attacker_records import require_belongs
from pramana.risk.unchanged import UnchangedRecords, measure_unchanged, numbers_of
from pramana.schema.codec import encode, encode_released
from pramana.schema.opened_table import OpenedTable
from pramana.types import Say, TableLike
from pramana.types import Words as RandomWords
from pramana.verification.checks import Check, CheckKind, State, Verdict
from pramana.verification.randomisation_test import IMPOSSIBLE, PairedRecords, draws
from pramana.verification.verify import LEVEL, against_original, owner_counts, verify_folder
from pramana.verification.whole_file import FileRisk

UNKEPT: Final = "only kept matrices can show that these made the records (--mechanism)"
TOO_LARGE: Final = "its matrices are too large to be computed from the original again"
OTHERS: Final = "asserted by the owner: the matrices computed again from the original are different"


def with_owner_checks(
    verdict: Verdict,
    folder: Path,
    original: TableLike,
    *,
    mechanism: Mechanism | str | Path | None,
    say: Say | None,
) -> Verdict:
    """The verdict of a release folder with the checks that need the original data."""
    try:
        release = load_release(folder)
    except NotARelease:
        if verdict.valid:
            raise
        return verdict  # which says why it cannot be compared with anything
    kept = None if mechanism is None else mechanism_of(mechanism, release, original=original)
    opened = original_of(original, release)
    return verdict.with_checks(checked_by_original(release, opened, mechanism=kept, say=say))


def checked_by_original(
    release: Release,
    opened: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
    say: Say | None = None,
) -> list[Check]:
    """All that who has the original data can check of a release beyond what anyone can."""
    both = (release.certificate, release.opened, opened)
    again = designed_again(*both, mechanism=mechanism)
    checks: list[Check] = []
    for check in chain(against_original(*both), owner_checks(*both), again):
        checks.append(check)
        if say is not None:
            say(
                gettext(
                    "Checking against the original, {number} done, last '{check}'",
                    number=len(checks), check=check.name,
                )
            )  # fmt: skip
    return checks


def designed_again(
    certificate: Certificate,
    released: OpenedTable,
    original: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
) -> Iterator[Check]:
    """What a design of the original says of the claims, and of how the records were drawn.

    Claims are those that only the owner can recompute. Draws are those of the matrices that were
    kept, where they are given; else of the design.
    """
    owned = [claim for claim in certificate.claims if only_the_owner(type(claim.attained))]
    withheld = certificate.mechanism is None
    kept = mechanism is not None and withheld
    if kept and mechanism is not None:
        yield from _claims_by_kept(certificate, original, mechanism, owned)
    else:
        method = None  # known where all its options are published
        if certificate.nature.withholds_matrices and certificate.method in METHODS:
            method = METHODS[certificate.method].from_certificate(certificate)
        try:
            plan = None if method is None else _plan(certificate, original, method)
        except TooLarge:
            for claim in owned:
                yield Check.asserted(
                    claim.name,
                    "{why}; {unkept}",
                    CheckKind.GUARANTEE,
                    why=gettext(TOO_LARGE),
                    unkept=gettext(UNKEPT),
                )
            return
        designed = {} if plan is None else {claim.name: claim.attained for claim in plan.claims}
        none = gettext("no design of the original attains it") if plan is None else ""
        source = noop("matrices computed again from the original give {guarantee}")
        for claim in owned if method is not None else ():
            yield _claimed(claim, designed.get(claim.name), source, none, kept=False)
        mechanism = None if plan is None else plan.mechanism
    if mechanism is None or not withheld or original.rows != released.rows:
        return
    records = PairedRecords(certificate, released, original)
    try:
        for check in draws(mechanism, records, level=LEVEL / 6):
            other = not kept and not check.ok and check.words == IMPOSSIBLE
            yield replace(check, state=State.ASSERTED, words=OTHERS) if other else check
    except PramanaError as error:
        yield Check.decided("original values", False, str(error))


def _claims_by_kept(
    certificate: Certificate, original: OpenedTable, mechanism: Mechanism, owned: list[Claim]
) -> Iterator[Check]:
    """The claims by the matrices that were kept, for these people."""
    computed: dict[str, Guarantee] = {}
    none = ""
    try:
        # Columns that are released unchanged, strata among them, have no domain in a certificate.
        counts = owner_counts(certificate.true_schema, mechanism, original)
        evidence = replace(
            certificate.evidence, mechanism=mechanism, data_dependent=True, counts=counts
        )
        asked = [claim.attained for claim in owned]
        computed = {guarantee.name: guarantee for guarantee in attained(evidence, asked)}
    except PramanaError as error:
        none = str(error)
    for claim in owned:
        source = noop("the matrices kept by the owner give {guarantee}")
        yield _claimed(claim, computed.get(claim.name), source, none, kept=True)


def _claimed(
    claim: Claim, computed: Guarantee | None, source: str, none: str, *, kept: bool
) -> Check:
    """Whether the computed guarantee implies the claimed one."""
    good = computed is not None and bool(computed.implies(claim.attained))
    given = gettext(source, guarantee=computed)
    if good and not kept:  # a design with it says nothing of what was done to these records
        detail = "{given}; {unkept}"
        return Check.asserted(
            claim.name, detail, CheckKind.GUARANTEE, given=given, unkept=gettext(UNKEPT)
        )
    return Check.decided(claim.name, good, none or given, CheckKind.GUARANTEE)


def _plan(certificate: Certificate, original: OpenedTable, method: Method) -> Plan | None:
    """The plan that a method makes of the original; nothing where it makes none.

    One that is too large to be made says nothing of a claim.
    """
    asked = [claim.asked for claim in certificate.claims if claim.asked is not None]
    try:
        # The columns that the certificate knows of: not those that were never released.
        names = certificate.true_schema.names
        fields = pa.schema([field for field in original.schema if field.name in set(names)])
        data = replace(original.with_columns({}, fields), fit=None)
        return design(certificate.true_schema, *asked, data=data, method=method)
    except TooLarge:
        raise
    except PramanaError:
        return None


FALSE_ALARM = 1e-8
"""Error level of the tests of unchanged keys and of frequencies."""

NAME = "unchanged records"


def owner_checks(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Checks of releases whose certificate has no matrices, against the original data."""
    if certificate.nature.shows_matrices or released.rows != original.rows:
        return
    if any(column.name not in original.schema.names for column in certificate.schema.released):
        return
    try:
        yield _unchanged_check(
            certificate, measure_unchanged(certificate.schema, original, released)
        )
        yield from _kept_keys(certificate, released, original)
        yield from _frequencies(certificate, released, original)
    except PramanaError as error:
        yield Check.decided(NAME, False, str(error))


def _unchanged_check(certificate: Certificate, counted: UnchangedRecords) -> Check:
    """The stated shares of unchanged records against the counted ones."""
    stated = certificate.statistics.get("unchanged_records")
    shares = gettext(
        "{share} of the original records equal a released one, {unique} of the unique ones",
        share=numeral(percent_up(counted.share)), unique=numeral(percent_up(counted.unique_share)),
    )  # fmt: skip
    if stated is None:
        good = not certificate.nature.grouped and counted.matched < counted.records
        return Check.decided(
            NAME, good, "the certificate does not state this; {shares}", shares=shares
        )
    most = (float(stated["records_at_most"]), float(stated["unique_records_at_most"]))
    bounds = gettext(
        "at most {share} and {unique} on average are stated",
        share=numeral(percent_up(most[0])), unique=numeral(percent_up(most[1])),
    )  # fmt: skip
    return Check.decided(
        NAME, counted.within(most), "{shares}; {bounds}", shares=shares, bounds=bounds
    )


def _kept_keys(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Unique records keep their keys no more often than 1/k allows.

    Where each record gets all keys of one member of its group. Records must be unique both on their
    keys and on their other values.
    """
    drawn = certificate.statistics.get("keys")
    whole = certificate.options.get("draw", "whole") == "whole"
    if drawn != NewKeys.HANDED_ROUND and not (drawn == NewKeys.FROM_MEMBERS and whole):
        return
    k = max((getattr(claim.attained, "k", 1) for claim in certificate.claims), default=1)
    keys = certificate.schema.randomised
    rest = tuple(column for column in certificate.schema.released if not column.randomised)
    names = [column.name for column in (*keys, *rest)]

    def numbers(table: OpenedTable, *, side: bool) -> tuple[RandomWords, RandomWords]:
        """Two numbers a record: of its keys, and of its other values."""
        parts = [
            [numbers_of(columns, batch, released=side) for columns in (keys, rest)]
            for batch in table.batches(names)
        ]
        empty = [np.zeros(0, np.uint64)] * 2
        of_keys, of_rest = (np.concatenate(part) for part in zip(empty, *parts, strict=True))
        return of_keys, of_rest

    of_keys, of_rest = numbers(original, side=False)
    new_keys, new_rest = numbers(released, side=True)
    unique = np.ones(len(of_keys), np.bool_)
    for values in (of_keys, of_rest):
        _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
        unique &= counts[places.ravel()] == 1
    pairs = (of_keys * GOLDEN_GAMMA + of_rest)[unique]
    kept = int(np.isin(pairs, new_keys * GOLDEN_GAMMA + new_rest).sum())
    expected = len(pairs) / float(k)
    if not expected:
        return
    chance = 1.0  # Chernoff's bound of this many or more under a Poisson law
    if kept > expected:
        chance = math.exp(kept - expected - kept * math.log(kept / expected))
    yield Check.decided(
        "records with their own keys",
        chance >= FALSE_ALARM,
        "{kept:,} of {count:,} records that are unique on keys and on the rest; "
        "groups of {k:,} leave {expected:,.1f} on average (p at most {chance})",
        kept=kept,
        count=len(pairs),
        k=k,
        expected=expected,
        chance=numeral(text_up(chance, 2)),
    )


def _frequencies(
    certificate: Certificate, released: OpenedTable, original: OpenedTable
) -> Iterator[Check]:
    """Frequencies are as near to the original ones as the standard errors say (Bernstein)."""
    errors = certificate.statistics.get("standard_errors")
    if not certificate.nature.withholds_matrices or not errors:
        return
    worst, where = 1.0, ""
    tests = sum(len(column.labels) for column in certificate.schema.randomised)
    for column in certificate.schema.randomised:
        size = len(column.labels)
        before, after = (
            np.bincount(coder(column, table.to_arrow([column.name]).column(0)), minlength=size)
            for coder, table in ((encode, original), (encode_released, released))
        )
        gaps = np.abs(after - before).astype(np.float64)
        stated = np.broadcast_to(np.asarray(errors[column.name], dtype=np.float64), size)
        for gap, error in zip(gaps.tolist(), stated.tolist(), strict=True):
            spread = 2 * (error**2 + gap / 3)
            chance = min(1.0, 2 * math.exp(-(gap**2) / spread)) if gap else 1.0
            if chance < worst:
                worst, where = chance, gettext(" in {column}", column=column.name)
    yield Check.decided(
        "standard errors",
        worst >= FALSE_ALARM / tests,
        "the frequency with the largest error{where} has a chance of at most {chance}",
        where=where,
        chance=numeral(text_up(worst, 2)),
    )


MOST_SUBSETS, MOST_TABLES = 10, 15

OWNER = noop("For the owner of the data: contains figures of the original data. Do not publish.")
EVERYBODY = noop("For publication: made from the release and its certificate alone.")


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
    language: str = ENGLISH,
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
        language: of the report, ``en`` or ``de``; sentences of the certificate stay English.
        progress: is called with the name of each step.
    """
    release = release_of(release)
    opened = None if external or original is None else original_of(original, release)
    with in_language(language):
        return _report(release, opened, name, office, date, progress)


def _report(
    release: Release,
    opened: OpenedTable | None,
    name: str,
    office: str,
    date: str | None,
    progress: Say | None,
) -> Report:
    """The report in the current language; with the original data if there are any."""
    certificate = release.certificate
    say = progress or (lambda _: None)
    if opened is None:
        altair()
        verdict = None if release.folder is None else verify_folder(release.folder)
        audit, utility, notes = None, None, tuple[str, ...]()
        say("Writing the report")
    else:
        verdict, audit, utility, notes = _measured(release, opened, progress)
    views = column_views(release, opened)
    risk = release.file_risk if verdict is None else verdict.risk or FileRisk(certificate.records)
    chapters = (
        guarantees_chapter(certificate),
        Chapter("file", gettext("Risk of the whole file"), tuple(map(Words, risk.sentences()))),
        columns_chapter(certificate, views),
        *([] if audit is None else [_attacks_chapter(audit), _original_risk_chapter(audit)]),
        *([] if utility is None else [_utility_chapter(utility)]),
        analysis_chapter(release),
        making_chapter(certificate, verdict, notes),
    )
    dataset = certificate.schema.dataset
    edition = noop("Release report, for the owner, not for publication")
    if opened is None:
        edition = noop("Release report, for publication")
    about = (
        f"{gettext('Version')} {dataset.version}" if dataset.version else "",
        office or dataset.publisher,
        datetime.date.today().isoformat() if date is None else date,
        f"{gettext('Contact')}: {dataset.contact}" if dataset.contact else "",
        gettext(edition),
    )
    document = Document(
        title=name or dataset.title or gettext("Release report"),
        about=tuple(filter(None, about)),
        first=first_page(
            certificate,
            views,
            risk=risk,
            verdict=verdict,
            attacks=() if audit is None else audit.measured,
            external=opened is None,
        ),
        annex=gettext("Technical annex"),
        parts=chapters,
        closing=gettext(EVERYBODY if opened is None else OWNER),
    )
    return Report(document, external=opened is None)


def _measured(
    release: Release, original: OpenedTable, progress: Say | None
) -> tuple[Verdict | None, ReleaseAudit | None, UtilityReport, tuple[str, ...]]:
    """Checks, attacks and losses against the original data, side by side."""
    require_belongs(release.certificate, release.opened, original)
    with side_by_side(2) as pool:  # attacks take the original at its word, and the check decides
        measuring = pool.submit(copy_context().run, assess_utility, release, original)
        attacks = partial(_audit, release, original, progress)
        attacking = pool.submit(copy_context().run, partial(attacks, belongs=True))
        pool.submit(altair)  # which takes a while to load
        verdict = None
        if release.folder is not None:
            checks = checked_by_original(release, original, say=progress)
            verdict = verify_folder(release.folder).with_checks(checks)
        belongs = verdict is not None and verdict.valid
        audit, notes = attacking.result() if belongs else attacks(belongs=False)
        if progress is not None:
            progress("Measuring the loss of utility")
        return verdict, audit, measuring.result(), notes


def _audit(
    release: Release, original: OpenedTable, progress: Say | None, *, belongs: bool
) -> tuple[ReleaseAudit | None, tuple[str, ...]]:
    try:
        return audit_release(release, original, belongs=belongs, progress=progress), ()
    except NotCovered as error:
        return None, (gettext("Attacks were not measured: {error}", error=error),)


# -- sections for the owner ------------------------------------------------------------------------


def _attacks_chapter(audit: ReleaseAudit) -> Chapter:
    verdict = (
        gettext("No attack breaks a guarantee.")
        if audit.holds
        else gettext("AN ATTACK BREAKS A GUARANTEE: do not publish this release.")
    )
    notes = dict.fromkeys(attack.note for attack in audit.measured)
    blocks: list[Block] = [Words(text) for text in (verdict, *audit.seen, *notes, *audit.notes)]
    if audit.measured:
        blocks.append(Words(gettext("The first page has their chart."), "quiet"))
    rows = []
    for attack in audit.measured:
        right, low, high, *others = attack.cells()
        rows.append(
            (gettext(attack.name), right, gettext("{low} to {high}", low=low, high=high), *others)
        )
    heads = (
        gettext("attack"), gettext("right"), gettext("interval"), gettext("guessing"),
        gettext("not in it"), gettext("guaranteed"),
    )  # fmt: skip
    if rows:
        blocks.append(limited_grid(heads, rows, gettext("Attacks on these people, measured")))
    return Chapter("risk", gettext("What attacks achieve"), tuple(blocks))


def _original_risk_chapter(audit: ReleaseAudit) -> Chapter:
    before = audit.before
    few = before.asked > 2  # fewer than two alike is unique
    heads = (gettext("keys"), *([f"fk < {text_up(before.asked, 6)}"] if few else []),
             gettext("unique"), gettext("smallest group"))  # fmt: skip
    rows = [
        (", ".join(subset.keys), *([f"{subset.violations:,}"] if few else []),
         f"{subset.uniques:,}", f"{subset.smallest:,}")
        for subset in before.subsets[:MOST_SUBSETS]
    ]  # fmt: skip
    blocks: list[Block] = [Words(sentence) for sentence in before.sentences()]
    if rows:
        caption = gettext("The riskiest combinations of keys in the original data")
        blocks.append(limited_grid(heads, rows, caption))
    return Chapter("before", gettext("Unique records in the original data"), tuple(blocks))


def _utility_chapter(utility: UtilityReport) -> Chapter:
    by_loss = sorted(
        utility.tables,
        key=lambda table: -(table.raw if table.estimated is None else table.estimated),
    )
    rows = []
    for table in by_loss[:MOST_TABLES]:
        estimated, tie = table.estimated, table.association
        rows.append((
            " × ".join(table.columns),
            percent_up(table.raw / 2),
            "" if estimated is None else percent_up(estimated / 2),
            percent_down(table.overlap_raw),
            "" if table.overlap_estimated is None else percent_down(table.overlap_estimated),
            *(("", "", "") if tie is None else (
                f"{tie.original:.2f}", f"{tie.raw:.2f}",
                "" if tie.estimated is None else f"{tie.estimated:.2f}",
            )),
        ))  # fmt: skip
    heads = (
        gettext("table"), gettext("wrong cell, raw"), gettext("estimated"),
        gettext("interval overlap, raw"), gettext("estimated"), gettext("association, true"),
        gettext("raw"), gettext("estimated"),
    )  # fmt: skip
    caption = gettext(
        "Records in the wrong cell (half of the L1 distance), overlap of intervals, associations"
    )
    if len(rows) < len(by_loss):
        caption += " " + gettext(
            "(the {shown} worst of {all} tables)", shown=len(rows), all=len(by_loss)
        )
    blocks: list[Block] = [Words(sentence) for sentence in utility.sentences()]
    if rows:
        blocks.append(limited_grid(heads, rows, caption))
    return Chapter("utility", gettext("What is lost"), tuple(blocks))
