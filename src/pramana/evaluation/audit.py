"""The audit of a release with the original data: every attack, its baseline, the guarantee.

Released records are shuffled, and no one keeps the pairing. What can be measured is the mechanism
on these very people: it is run on the original data once more, with the pairing kept in memory, and
that table is attacked. The release itself enters by its certificate, and by the check that the
original data belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from pramana.analysis.release import Release
from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream
from pramana.base.text import Shown, counted, plain
from pramana.errors import (
    DoesNotHold,
    InvalidNumber,
    InvalidTable,
    NotCovered,
    TooLarge,
    UnknownColumn,
)
from pramana.evaluation.arguments import (
    mechanism_of,
    original_of,
    release_at,
    schema_of,
    table_of,
)
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.certificate import Certificate
from pramana.risk.attacks.inference import SensitiveValues, closest_risk, inference_risks
from pramana.risk.attacks.linkage import Links, linkage_risks
from pramana.risk.attacks.microaggregated import grouped_linkage, withheld_linkage
from pramana.risk.attacks.records import Records, read_pair, require_belongs
from pramana.risk.coded_table import CodedTable, ReportedSets, number_column
from pramana.risk.frequencies import Frequencies, HouseholdRisk
from pramana.risk.individual import IndividualRisks
from pramana.risk.table_audit import TableAudit, audit_table, sensitive_codes
from pramana.risk.unchanged import UnchangedRecords, columns_given_away, measure_unchanged
from pramana.schema.describe import settle_missing
from pramana.schema.households import households_of
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import REPORTED, Role, Schema
from pramana.types import Form, Say, TableLike
from pramana.verification.owner import against_truth
from pramana.verification.whole_file import FileRisk, Publishable, verdict_of

SEED = 20
"""Audits give the same figures every time: nothing that is drawn here is published."""

QUICK = 4_000
"""This many people are looked for where an answer is wanted soon."""

FEWER = 5_000
"""This many people stand for all, where all are more than can be compared."""

NO_MATRICES = (
    "This release has no matrices that could be run again: the strongest linker, inference and the "
    "distance to the closest record were not measured."
)
GROUPED = (
    "Keys were replaced within groups: there are no matrices, so that only the nearest record is "
    "tried; what members of a group share is not hidden by it."
)

WITHHELD = (
    "The matrices of this release are withheld, so that the mechanism cannot be run again: the "
    "strongest linker, inference and the distance to the closest record were not measured. In "
    "Python, audit(..., mechanism=...) takes the matrices that the steward keeps."
)


@dataclass(frozen=True, repr=False)
class ReleaseAudit(Shown):
    """What attacks on a release achieve, and what its certificate promises.

    Attributes:
        records: the number of released records.
        measured: every attack with its interval, baseline and bound.
        before: the risk of the original data by its keys.
        after: the same of the released table.
        verbatim: how many records stand in the release unchanged.
        suggested: what the promises let a reader expect of that, for the unique ones.
        notes: what was not measured, and why.
        households: how many the strongest linker finds, where something numbers them.
        file_risk: the risk of the whole released file.
        publishable: the colour of the release and the reason for it.
    """

    records: int
    measured: tuple[Measured, ...]
    before: TableAudit
    after: TableAudit
    verbatim: UnchangedRecords
    suggested: float | None = None
    notes: tuple[str, ...] = ()
    households: HouseholdRisk | None = None
    file_risk: FileRisk | None = None
    publishable: Publishable | None = None

    @property
    def seen(self) -> list[str]:
        """Who is found by unchanged columns, and how many records are released unchanged."""
        warning = self.verbatim.warning(self.suggested)
        homes = [] if self.households is None else [self.households.sentence()]
        file = [] if self.file_risk is None else self.file_risk.sentences()
        return [*file, *homes, self.verbatim.sentence(), *([] if warning is None else [warning])]

    @property
    def standing_out(self) -> str:
        """How many records no other looks like, before and after; of reports, among their set."""
        after = f", {self.after.uniques:,} after"
        if self.after.by_set:
            after = (
                f"; after, {self.after.uniques:,} on the keys that they were asked, among the "
                "records that were asked for the same set"
            )
        return (
            f"Unique on their keys: {counted(self.before.uniques, 'record')} before{after}; a "
            "released unique is a random one."
        )

    @property
    def holds(self) -> bool:
        """Whether no guarantee is exceeded beyond its error level."""
        return not any(found.broken for found in self.measured)

    @property
    def tested(self) -> bool:
        """Whether any attack was held against a promise."""
        return any(found.bound is not None for found in self.measured)

    @property
    def verdict(self) -> str:
        """Whether promises hold, in words."""
        if not self.tested:
            return "no guarantee was tested"
        return "no guarantee is exceeded" if self.holds else "A GUARANTEE IS EXCEEDED"

    def require(self) -> None:
        """Raise for the first broken promise."""
        for found in self.measured:
            found.require_bound()

    def sentences(self) -> list[str]:
        """The findings in plain words."""
        verdict = [] if self.publishable is None else [self.publishable.sentence]
        attacks = [attack.sentence() for attack in self.measured]
        return [*verdict, *attacks, *self.seen, *self.notes]

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it."""
        return f"Audit of a release of {self.records:,} records: {self.verdict}", self.sentences()

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "records holds before after notes households publishable") | {
            "attacks": [found.to_json() for found in self.measured],
            "verbatim": self.verbatim.to_json() | {"suggested": self.suggested},
            "risk": None if self.file_risk is None else self.file_risk.to_json(),
        }


def linking_bound(certificate: Certificate) -> float | None:
    """1/k of the certificate: the most that a link may be believed."""
    bounds = (claim.attained.link_bound for claim in certificate.claims)
    return min((bound for bound in bounds if bound is not None), default=None)


def audit_release(
    release: Release,
    truth: OpenedTable,
    *,
    k: float = 2,
    mechanism: Mechanism | None = None,
    sensitive: Sequence[str] | None = None,
    belongs: bool = False,
    household: str | None = None,
    progress: Say | None = None,
) -> ReleaseAudit:
    """Attack a release with the original data at hand; the arguments are those of ``audit``."""
    release.require_sound()
    certificate, say = release.certificate, progress or (lambda _: None)
    if not belongs:
        say("Checking that the original belongs to the release")
        require_belongs(certificate, release.opened, truth)
        checks = against_truth(certificate, release.opened, truth)
        failed = [check for check in checks if not check.ok]
        if failed:
            more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
            raise DoesNotHold(
                f"The original does not belong to this release: '{failed[0].name}' "
                f"fails ({failed[0].detail}){more}."
            )
    if truth.rows < FEWEST_TRIALS:
        raise InvalidTable(
            f"An interval needs at least {FEWEST_TRIALS} records to attack, and the release has "
            f"{truth.rows}."
        )
    say("Counting who stands out, before and after")
    keys = [column.name for column in certificate.schema.keys]
    asked = ReportedSets.of(certificate.mechanism, release.opened)
    before, after = (
        audit_table(t, keys=keys, k=k, schema=certificate.schema, released=side, asked=sets)
        for t, side, sets in ((truth, False, None), (release.opened, True, asked))
    )
    verbatim = measure_unchanged(certificate.true_schema, truth, release.opened)
    measured, homes, notes = _attacked(release, truth, mechanism, sensitive, household, say)
    broken = any(found.broken for found in measured)
    return ReleaseAudit(
        records=truth.rows,
        measured=tuple(measured),
        before=before,
        after=after,
        verbatim=verbatim,
        suggested=certificate.suggested_share,
        notes=(*notes, *columns_given_away(certificate.true_schema, truth)),
        households=homes,
        file_risk=release.file_risk,
        publishable=verdict_of(
            certificate, release.file_risk, failed="an attack breaks a guarantee" if broken else ""
        ),
    )


def _attacked(
    release: Release,
    truth: OpenedTable,
    mechanism: Mechanism | None,
    sensitive: Sequence[str] | None,
    household: str | None,
    say: Say,
) -> tuple[list[Measured], HouseholdRisk | None, list[str]]:
    """Every attack; a table too small for one is still worth the others, and a note says so."""
    certificate = release.certificate
    keystream, bound = Keystream.from_seed(SEED), linking_bound(certificate)
    if certificate.nature.grouped:
        say("Forming groups and linking records")
        linked = grouped_linkage(certificate, truth, bound=bound, keystream=keystream)
        return [linked], None, [GROUPED]
    measured: list[Measured] = []
    notes: list[str] = []

    def attempt(attack: Callable[[], Sequence[Measured]]) -> None:
        try:
            measured.extend(attack())
        except (InvalidNumber, NotCovered, TooLarge) as error:
            notes.append(str(error))

    matrices = mechanism or certificate.mechanism
    if matrices is None or not matrices.columns:
        say("Linking records")
        notes.append(WITHHELD if certificate.nature.withholds_matrices else NO_MATRICES)
        attempt(lambda: [withheld_linkage(certificate, truth, release.opened, keystream=keystream)])
        return measured, None, notes
    people = _people(release, truth, matrices)
    say("Linking records")
    links = None
    try:
        links = Links.of(certificate.schema, matrices, people, keystream=keystream)
    except TooLarge as error:  # people are too many and too different
        notes.append(f"Nobody was linked: {error}")
    homes = None if household is None else _households(household, truth, links)
    if links is not None:
        measured += links.risks(bound=bound, keystream=keystream)
    if sensitive is None:
        sensitive = [c.name for c in certificate.as_they_are if c.role is Role.SENSITIVE]
    if sensitive:
        coded = ((name, *sensitive_codes(truth, name)) for name in sensitive)
        values = (
            SensitiveValues.of(name, codes, size, ordered=ordered)
            for name, codes, size, ordered, _ in coded
        )
        attempt(
            lambda: inference_risks(matrices, people, list(values), keystream=keystream, say=say)
        )
    say("Measuring distances")
    attempt(lambda: [closest_risk(certificate.schema, matrices, people, keystream=keystream)])
    return measured, homes, notes


def _households(name: str, truth: OpenedTable, links: Links | None) -> HouseholdRisk:
    """A household is found if the strongest linker finds one of its people."""
    if name not in truth.schema.names:
        raise UnknownColumn(
            f"The original has no column '{name}' that could number households.", column=name
        )
    chances = None if links is None else links.of_people(truth.rows)
    if chances is None:
        raise TooLarge(
            "The risk of households needs links of all people, and the table has too many "
            "different ones. Audit without --household, or a sample of the households."
        )
    return HouseholdRisk.of(name, households_of(truth, name), chances)


def link_risks(
    release: Release, truth: OpenedTable, *, mechanism: Mechanism | None = None
) -> tuple[Measured, ...]:
    """The attacks that look for whose record is whose, and no others: they are the quickest."""
    certificate = release.certificate
    keystream, bound = Keystream.from_seed(SEED), linking_bound(certificate)
    if certificate.nature.grouped:
        return (grouped_linkage(certificate, truth, bound=bound, keystream=keystream, most=QUICK),)
    matrices = mechanism or certificate.mechanism
    if matrices is None or not matrices.columns:
        return (withheld_linkage(certificate, truth, release.opened, keystream=keystream),)
    people = _people(release, truth, matrices)
    linked = partial(
        linkage_risks,
        certificate.schema,
        matrices,
        bound=bound,
        keystream=keystream,
        trials=QUICK,
        most=QUICK,
    )
    try:
        return linked(people)
    except TooLarge:
        # Fewer people hide a person less, so that more is found among them; never beyond a proof.
        fewer = np.sort(keystream.permutation(len(people), "fewer")[:FEWER])
        return tuple(
            found if bound is None else replace(found, value=min(found.value, bound))
            for found in linked(people.at(fewer))
        )


def _people(release: Release, truth: OpenedTable, matrices: Mechanism) -> Records:
    certificate = release.certificate
    people, _ = read_pair(
        certificate.schema,
        matrices,
        truth=truth,
        released=release.opened,
        known=certificate.known_columns,
    )
    return people


Choice = TypeVar("Choice", bound=StrEnum)


class AttackName(StrEnum):
    """The attacks by name."""

    LINKAGE = "linkage"
    """The strongest linker, who knows the original data, the matrices and the release."""

    REPEATED = "repeated"
    """Perturb the release again and again, with the matrix power next to it."""

    RECOVERY = "recovery"
    """Spectral filtering and principal components, on the release and on plain noise."""

    COMPOSITION = "composition"
    """Several releases of the same people: what of k and epsilon remains."""


class MissingValues(StrEnum):
    """What a missing value is to someone who looks for a person."""

    CATEGORY = "category"
    """A value of its own: it equals itself and nothing else."""

    WILDCARD = "wildcard"
    """It could be anything: it equals every value."""


def one_of(choices: type[Choice], what: str, given: str) -> Choice:
    """The member that was meant, or one line that lists them."""
    try:
        return choices(given)
    except ValueError:
        names = ", ".join(choices)
        raise InvalidNumber(f"{what} must be one of {names}, got {given!r}.") from None


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
        sensitive: columns whose values must not be learned; by default those of the schema.
        weight: the column of sampling weights; by default that of the schema.
        schema: what each column is, where ``keys`` and the others are not named; values are then
            looked at as they would be released: in the bins that it declares.
        missing: ``category`` or ``wildcard``.
        width: subsets of up to this many keys are looked at.
        original: for a release: the original data; attacks are then measured.
        mechanism: for a release that withholds its matrices: the matrices, or the file of a
            steward's folder that holds them.
        household: the column of the original data that numbers households; of a table that is no
            release by default that of the schema.
        belongs: ``verify(release, original=)`` was asked and holds: that the original is the one
            of the release is not checked once more.
        progress: is told what is being done.
    """
    release = release_at(table)
    described = None if schema is None else schema_of(schema)
    opened = release.opened if release is not None else table_of(table, described)  # type: ignore[arg-type]
    if mechanism is not None:
        mechanism = mechanism_of(mechanism, release, original=original)
    if original is not None:
        if release is None:
            raise InvalidNumber("--original goes with a release folder, and a table was given.")
        return audit_release(
            release,
            original_of(original, release),
            k=k,
            mechanism=mechanism,
            sensitive=sensitive,
            household=household,
            belongs=belongs,
            progress=progress,
        )
    if release is None:
        reported = None
        described = None if described is None else settle_missing(described)  # as design would
    else:
        described = described or release.certificate.schema
        reported = ReportedSets.of(release.certificate.mechanism, opened)
    columns = () if described is None else described.columns
    names = list(keys or [column.name for column in columns if column.role is Role.KEY])
    if not names:
        raise InvalidNumber(
            "Say by which columns a person could be recognised: --keys region,sex,age, or a schema."
        )
    if sensitive is None:  # the set that a record was asked for is nothing that a person has
        hidden = [column.name for column in columns if column.role is Role.SENSITIVE]
        sensitive = [name for name in hidden if reported is None or name != REPORTED]
    if weight is None and described is not None and described.weight is not None:
        weight = described.weight.name
    values = one_of(MissingValues, "missing", missing)
    found = audit_table(
        opened,
        keys=names,
        k=k,
        sensitive=list(sensitive),
        weight=weight,
        missing=values.value,
        width=width,
        schema=described,
        released=release is not None,
        household=household or (None if described is None else described.household),
        asked=reported,
    )
    if release is not None:
        return found
    coded = CodedTable.of(opened, names, schema=described)
    weights = None if weight is None else number_column(opened, weight, what="The weight")
    counts = Frequencies.of(coded, weights=weights, missing=values.value)
    return replace(found, individual=IndividualRisks.of(coded, counts))
