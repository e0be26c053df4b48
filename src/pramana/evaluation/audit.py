"""The audit of a release by who holds the truth: every attack, its baseline, and the promise.

Released records are shuffled, and no one keeps the pairing. What can be measured is the mechanism
on these very people: it is run on the truth once more, with the pairing kept in memory, and that
table is attacked. The release itself enters by its certificate, and by the check that the truth
belongs to it.
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
from pramana.base.text import Shown, counted
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
from pramana.risk.attacks.closest import closest_risk
from pramana.risk.attacks.inference import SensitiveValues, inference_risks
from pramana.risk.attacks.linkage import Links, linkage_risks
from pramana.risk.attacks.microaggregated import grouped_linkage, withheld_linkage
from pramana.risk.attacks.records import Records, read_pair, require_belongs
from pramana.risk.coded_table import CodedTable, ReportedSets, number_column
from pramana.risk.frequencies import Frequencies, HouseholdRisk
from pramana.risk.individual import IndividualRisks
from pramana.risk.table_audit import TableAudit, audit_table, sensitive_codes
from pramana.risk.unchanged_columns import columns_given_away
from pramana.risk.unchanged_records import UnchangedRecords, measure_unchanged
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
"""So many people are looked for where an answer is wanted soon."""

FEWER = 5_000
"""So many people stand for all, where all are more than can be compared."""

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
        before: the risk of the true table by its keys.
        after: the same of the released table.
        verbatim: how many records stand in the release word for word.
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
        """Whether no promise is broken beyond its error level."""
        return not any(found.broken for found in self.measured)

    @property
    def tested(self) -> bool:
        """Whether any attack was held against a promise."""
        return any(found.bound is not None for found in self.measured)

    @property
    def verdict(self) -> str:
        """Whether promises hold, in words."""
        if not self.tested:
            return "no promise was put to the test"
        return "no promise is broken" if self.holds else "A PROMISE IS BROKEN"

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
        """A plain form."""
        return {
            "records": self.records,
            "holds": self.holds,
            "attacks": [found.to_json() for found in self.measured],
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "verbatim": self.verbatim.to_json() | {"suggested": self.suggested},
            "notes": list(self.notes),
            "households": None if self.households is None else self.households.to_json(),
            "risk": None if self.file_risk is None else self.file_risk.to_json(),
            "publishable": None if self.publishable is None else self.publishable.to_json(),
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
    """Attack a release with the truth at hand.

    Args:
        release: the release.
        truth: the table that was released.
        k: a frequency below it is a violation, in the tables before and after.
        mechanism: the matrices, where the certificate withholds them.
        sensitive: columns to infer; by default those of role sensitive.
        belongs: whether the truth is known to belong to the release, so that it is not checked.
        household: the column of the truth that numbers households.
        progress: is told what is being done.
    """
    release.require_sound()
    audit = _attacked(
        release, truth, k=k, mechanism=mechanism, sensitive=sensitive, belongs=belongs,
        household=household, say=progress or (lambda _: None),
    )  # fmt: skip
    failed = "" if audit.holds else "an attack breaks a guarantee"
    return replace(
        audit,
        notes=(*audit.notes, *columns_given_away(release.certificate.true_schema, truth)),
        file_risk=release.file_risk,
        publishable=verdict_of(release.certificate, release.file_risk, failed=failed),
    )


def _attacked(
    release: Release,
    truth: OpenedTable,
    *,
    k: float,
    mechanism: Mechanism | None,
    sensitive: Sequence[str] | None,
    belongs: bool,
    household: str | None,
    say: Say,
) -> ReleaseAudit:
    """The audit by attacks."""
    certificate = release.certificate
    if not belongs:
        say("Checking that the original belongs to the release")
    _require_truth(certificate, release.opened, truth, belongs=belongs)
    say("Counting who stands out, before and after")
    keys = [column.name for column in certificate.schema.keys]
    asked = ReportedSets.of(certificate.mechanism, release.opened)
    before, after = (
        audit_table(t, keys=keys, k=k, schema=certificate.schema, released=side, asked=sets)
        for t, side, sets in ((truth, False, None), (release.opened, True, asked))
    )
    seen = measure_unchanged(certificate.true_schema, truth, release.opened)
    suggested = certificate.suggested_share
    keystream = Keystream.from_seed(SEED)
    if certificate.nature.grouped:
        say("Forming groups and linking records")
        linked = grouped_linkage(
            certificate, truth, bound=linking_bound(certificate), keystream=keystream
        )
        return ReleaseAudit(truth.rows, (linked,), before, after, seen, suggested, (GROUPED,))
    matrices = mechanism or certificate.mechanism
    if matrices is None or not matrices.columns:
        say("Linking records")
        found: list[Measured] = []
        missing = [WITHHELD if certificate.nature.withholds_matrices else NO_MATRICES]
        linked_by = partial(
            withheld_linkage, certificate, truth, release.opened, keystream=keystream
        )
        _try(missing, found, lambda: [linked_by()])
        return ReleaseAudit(
            truth.rows, tuple(found), before, after, seen, suggested, tuple(missing)
        )
    people = _people(certificate, release, truth, matrices)
    say("Linking records")
    notes: list[str] = []
    links = _links(certificate, matrices, people, keystream, notes)
    homes = None if household is None else _households(household, truth, links)
    measured = _attacks(
        certificate, truth, matrices, people, links, sensitive=sensitive, keystream=keystream,
        say=say, notes=notes,
    )  # fmt: skip
    return ReleaseAudit(truth.rows, measured, before, after, seen, suggested, tuple(notes), homes)


def _links(
    certificate: Certificate,
    matrices: Mechanism,
    people: Records,
    keystream: Keystream,
    notes: list[str],
) -> Links | None:
    """What linkers find; nothing, and a note, where people are too many and too different."""
    try:
        return Links.of(certificate.schema, matrices, people, keystream=keystream)
    except TooLarge as error:
        notes.append(f"Nobody was linked: {error}")
        return None


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
    people = _people(certificate, release, truth, matrices)
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
        return tuple(_within(found, bound) for found in linked(people.at(fewer)))


def _within(found: Measured, bound: float | None) -> Measured:
    """A figure of fewer people, at most what is proven for all of them."""
    return found if bound is None else replace(found, value=min(found.value, bound))


def _people(
    certificate: Certificate, release: Release, truth: OpenedTable, matrices: Mechanism
) -> Records:
    people, _ = read_pair(
        certificate.schema,
        matrices,
        truth=truth,
        released=release.opened,
        known=certificate.known_columns,
    )
    return people


def _attacks(
    certificate: Certificate,
    truth: OpenedTable,
    matrices: Mechanism,
    people: Records,
    links: Links | None,
    *,
    sensitive: Sequence[str] | None,
    keystream: Keystream,
    say: Say,
    notes: list[str],
) -> tuple[Measured, ...]:
    """Every attack on a release by matrices; what could not be measured is noted."""
    bound = linking_bound(certificate)
    measured = [] if links is None else [*links.risks(bound=bound, keystream=keystream)]
    hidden = list(_sensitive(certificate) if sensitive is None else sensitive)
    if hidden:
        _try(notes, measured, partial(_infer, hidden, truth, matrices, people, keystream, say))
    say("Measuring distances")
    closest = partial(closest_risk, certificate.schema, matrices, people, keystream=keystream)
    _try(notes, measured, lambda: [closest()])
    return tuple(measured)


def _try(
    notes: list[str], measured: list[Measured], attack: Callable[[], Sequence[Measured]]
) -> None:
    """A table too small for one attack is still worth the others: say which was left out."""
    try:
        measured += attack()
    except (InvalidNumber, NotCovered, TooLarge) as error:
        notes.append(str(error))


def _require_truth(
    certificate: Certificate, released: OpenedTable, truth: OpenedTable, *, belongs: bool
) -> None:
    """Refuse other people, by the owner's check of ``verify`` too, and too few of them."""
    if not belongs:
        require_belongs(certificate, released, truth)
        _require_checks(certificate, released, truth)
    if truth.rows < FEWEST_TRIALS:
        raise InvalidTable(
            f"An interval needs at least {FEWEST_TRIALS} records to attack, and the release has "
            f"{truth.rows}."
        )


def _require_checks(certificate: Certificate, released: OpenedTable, truth: OpenedTable) -> None:
    failed = [check for check in against_truth(certificate, released, truth) if not check.ok]
    if failed:
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise DoesNotHold(
            f"The original does not belong to this release: '{failed[0].name}' "
            f"fails ({failed[0].detail}){more}."
        )


def _sensitive(certificate: Certificate) -> list[str]:
    return [c.name for c in certificate.as_they_are if c.role is Role.SENSITIVE]


def _infer(
    names: Sequence[str],
    truth: OpenedTable,
    matrices: Mechanism,
    people: Records,
    keystream: Keystream,
    say: Say,
) -> list[Measured]:
    coded = [(name, sensitive_codes(truth, name)) for name in names]
    values = [
        SensitiveValues.of(name, codes, size, ordered=ordered)
        for name, (codes, size, ordered, _) in coded
    ]
    return inference_risks(matrices, people, values, keystream=keystream, say=say)


Choice = TypeVar("Choice", bound=StrEnum)


class AttackName(StrEnum):
    """The attacks by name."""

    LINKAGE = "linkage"
    """The strongest linker, who knows the true table, the matrices and the release."""

    REPEATED = "repeated"
    """Perturb the release again and again, with the matrix power beside it."""

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
