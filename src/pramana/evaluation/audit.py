"""Audits and attacks: what could go wrong with a table, and what attacks on a release achieve.

Released records are shuffled, and no one keeps the pairing. An audit of a release measures the
mechanism on the same people: it runs the mechanism on the original data once more, keeps the
pairing in memory, and attacks that table. The release itself enters by its certificate, and by the
check that the original data belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal

import numpy as np

from pramana.analysis.release import Release, load_release
from pramana.base.measured_share import FEWEST_TRIALS, Measured
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import Shown, counted, json_fields
from pramana.base.translation import gettext, noop
from pramana.engine.base import open_original, open_source
from pramana.errors import (
    DoesNotHold,
    InputError,
    InvalidNumber,
    InvalidTable,
    NotCovered,
    TooLarge,
    UnknownColumn,
)
from pramana.guarantees.claims import unknown_words
from pramana.ledger.fingerprints import table_prints
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism
from pramana.mechanisms.transition import TransitionMatrix
from pramana.release.certificate import Certificate
from pramana.release.folder import CERTIFICATE, read_mechanism
from pramana.risk.attacks.attacker_records import (
    Records,
    cells_by_set,
    read_pair,
    read_released,
    require_belongs,
    require_matrices,
)
from pramana.risk.attacks.inference import SensitiveValues, inference_risks
from pramana.risk.attacks.linkage import TRIALS, Links, optimal_linkage
from pramana.risk.attacks.microaggregated import grouped_linkage, withheld_linkage
from pramana.risk.attacks.recovery import recovery_of_release
from pramana.risk.attacks.repeated_releases import compose_releases, repeated_attack
from pramana.risk.coded_table import ReportedSets
from pramana.risk.frequencies import HouseholdRisk, MissingPolicy
from pramana.risk.table_audit import TableAudit, audit_table, sensitive_codes
from pramana.risk.unchanged import UnchangedRecords, columns_given_away, measure_unchanged
from pramana.schema.describe import settle_missing
from pramana.schema.households import households_of
from pramana.schema.joint_cells import cell_codes
from pramana.schema.opened_table import OpenedTable
from pramana.schema.recoded_table import recoded
from pramana.schema.roles import Role
from pramana.schema.schema import REPORTED, Schema
from pramana.types import FloatArray, Form, IntArray, Say, TableLike
from pramana.verification.verify import against_original
from pramana.verification.whole_file import FileRisk, Publishable, verdict_of

SEED = 20
"""Audits and attacks give the same figures every time: nothing that is drawn here is published."""

QUICK = 4_000
"""People who are linked where an answer is wanted soon."""

SAMPLED = 5_000
"""People who are linked where all are more than can be compared."""

NO_MATRICES = noop(
    "This release has no matrices, so the mechanism cannot be run again: the strongest linker, "
    "inference and the distance to the closest record were not measured."
)
GROUPED = noop(
    "Keys were replaced within groups, without matrices: only the nearest record is tried. Values "
    "that all members of a group share are not hidden."
)
WITHHELD = noop(
    "The matrices of this release are withheld, so that the mechanism cannot be run again: the "
    "strongest linker, inference and the distance to the closest record were not measured. In "
    "Python, audit(..., mechanism=...) takes the matrices that the steward keeps."
)
MATRICES_WITH_FOLDER = "Matrices go with a release folder and its original (--original FILE)."


class AttackName(StrEnum):
    """The attacks by name."""

    LINKAGE = "linkage"
    """The strongest linker, who knows the original data, the matrices and the release."""

    REPEATED = "repeated"
    """Perturb the release again and again, with the matrix power next to it."""

    RECOVERY = "recovery"
    """Spectral filtering and principal components, on the release and on independent additive
    noise.
    """

    COMPOSITION = "composition"
    """Several releases of the same people: what of k and epsilon remains."""


class MissingValues(StrEnum):
    """The value that an attacker compares with a missing one."""

    CATEGORY = "category"
    """A unique value: it equals only itself."""

    WILDCARD = "wildcard"
    """It could be anything: it equals every value."""


# -- arguments of the verbs ------------------------------------------------------------------------


def release_of(given: Release | str | Path) -> Release:
    """The release, or the release in a folder."""
    return load_release(given) if isinstance(given, str | Path) else given


def schema_of(given: Schema | str | Path) -> Schema:
    """The schema, or the schema in a file."""
    return given if isinstance(given, Schema) else Schema.load(given)


def original_of(original: TableLike, release: Release) -> OpenedTable:
    """The original data, recoded as those of the release."""
    return open_original(original, release.certificate.true_schema)


def _table_of(table: TableLike, schema: Schema | None) -> OpenedTable:
    """A table that need not have all columns of the schema, recoded as far as it has them."""
    opened = open_source(table)
    return opened if schema is None else recoded(opened, schema)


def mechanism_of(
    mechanism: Mechanism | str | Path, release: Release | None, *, original: TableLike | None
) -> Mechanism:
    """The matrices of a release, which must move its columns."""
    if release is None or original is None:
        raise InputError(MATRICES_WITH_FOLDER)
    if isinstance(mechanism, str | Path):
        mechanism = read_mechanism(Path(mechanism))
    certificate, schema = release.certificate, release.certificate.schema
    randomised = {column.name for column in schema.randomised}
    if set(mechanism.columns) != randomised:
        raise InputError(
            "The matrices are of another release: they randomise {count} columns, and this "
            "release randomises {others} others.",
            count=len(mechanism.columns),
            others=len(randomised),
        )
    try:
        for step in mechanism.steps:
            cell_codes([schema.column(name).labels for name in step.columns], step.cells)
    except KeyError:
        raise InputError(
            "The matrices are of another release: they change values that this one does not list."
        ) from None
    if not set(mechanism.strata) <= set(schema.strata):
        raise InputError("The matrices are of another release: their strata are not in this one.")
    if certificate.nature.grouped:
        raise InputError("Keys were replaced within groups, by no matrices: leave --mechanism out.")
    published = certificate.mechanism
    if published is not None:
        same_steps = {step.columns for step in mechanism} == {step.columns for step in published}
        # Matrices made from the data are published with decoys, and are kept without.
        if not same_steps or not (certificate.data_dependent or mechanism == published):
            raise InputError(
                "These matrices differ from the published ones of the certificate. Leave "
                "--mechanism out."
            )
    return mechanism


# -- the audit of a release ------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class ReleaseAudit(Shown):
    """What attacks on a release achieve, and the guarantees of its certificate.

    Attributes:
        records: the number of released records.
        measured: every attack with its interval, baseline and bound.
        before: the risk of the original data by its keys.
        after: the same of the released table.
        unchanged: how many records are released unchanged.
        suggested: the share of unique records that the guarantees suggest for that.
        notes: what was not measured, and why.
        households: how many the strongest linker finds, where something numbers them.
        file_risk: the risk of the whole released file.
        publishable: the colour of the release and the reason for it.
    """

    records: int
    measured: tuple[Measured, ...]
    before: TableAudit
    after: TableAudit
    unchanged: UnchangedRecords
    suggested: float | None = None
    notes: tuple[str, ...] = ()
    households: HouseholdRisk | None = None
    file_risk: FileRisk | None = None
    publishable: Publishable | None = None

    @property
    def seen(self) -> list[str]:
        """Sentences on the risk of unchanged columns, and on records released unchanged."""
        warning = self.unchanged.warning(self.suggested)
        homes = [] if self.households is None else [self.households.sentence()]
        file = [] if self.file_risk is None else self.file_risk.sentences()
        return [*file, *homes, self.unchanged.sentence(), *([] if warning is None else [warning])]

    @property
    def standing_out(self) -> str:
        """How many records no other looks like, before and after; of reports, among their set."""
        after = gettext(", {uniques:,} after", uniques=self.after.uniques)
        if self.after.by_set:
            after = gettext(
                "; after, {uniques:,} on their reported keys, among the records with "
                "the same attribute set",
                uniques=self.after.uniques,
            )
        return gettext(
            "Unique on their keys: {records} before{after}; a "
            "unique record in the release has random values.",
            records=counted(self.before.uniques, "record"),
            after=after,
        )

    @property
    def holds(self) -> bool:
        """Whether no guarantee is exceeded beyond its error level."""
        return not any(attack.broken for attack in self.measured)

    @property
    def tested(self) -> bool:
        """Whether any attack is bounded by a guarantee."""
        return any(attack.bound is not None for attack in self.measured)

    @property
    def verdict(self) -> str:
        """Whether guarantees hold, in words."""
        if not self.tested:
            return gettext("no guarantee was tested")
        words = noop("no guarantee is exceeded") if self.holds else noop("A GUARANTEE IS EXCEEDED")
        return gettext(words)

    def require(self) -> None:
        """Raise for the first guarantee that is exceeded."""
        for attack in self.measured:
            attack.require_bound()

    def sentences(self) -> list[str]:
        """The findings in words."""
        verdict = [] if self.publishable is None else [self.publishable.sentence]
        attacks = [attack.sentence() for attack in self.measured]
        return [*verdict, *attacks, *self.seen, *self.notes]

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt and notebooks show it."""
        return gettext(
            "Audit of a release of {records:,} records: {verdict}",
            records=self.records,
            verdict=self.verdict,
        ), self.sentences()

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "records holds before after notes households publishable") | {
            "attacks": [attack.to_json() for attack in self.measured],
            "unchanged_records": self.unchanged.to_json() | {"suggested": self.suggested},
            "risk": None if self.file_risk is None else self.file_risk.to_json(),
        }


def linking_bound(certificate: Certificate) -> float | None:
    """1/k of the certificate: the most that a link may be believed."""
    bounds = (claim.attained.link_bound for claim in certificate.claims)
    return min((bound for bound in bounds if bound is not None), default=None)


def audit_release(
    release: Release,
    original: OpenedTable,
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
        require_belongs(certificate, release.opened, original)
        checks = against_original(certificate, release.opened, original)
        failed = [check for check in checks if not check.ok]
        if failed:
            more = gettext(", and {number} more", number=len(failed) - 1) if len(failed) > 1 else ""
            raise DoesNotHold(
                "The original does not belong to this release: '{failed}' fails ({detail}){more}.",
                failed=failed[0].name,
                detail=failed[0].detail,
                more=more,
            )
    if original.rows < FEWEST_TRIALS:
        raise InvalidTable(
            "An interval needs at least {fewest_trials} records to attack, and the release has "
            "{rows}.",
            fewest_trials=FEWEST_TRIALS,
            rows=original.rows,
        )
    say("Counting unique records, before and after")
    keys = [column.name for column in certificate.schema.keys]
    asked = ReportedSets.of(certificate.mechanism, release.opened)
    before, after = (
        audit_table(t, keys=keys, k=k, schema=certificate.schema, released=side, asked=sets)
        for t, side, sets in ((original, False, None), (release.opened, True, asked))
    )
    unchanged = measure_unchanged(certificate.true_schema, original, release.opened)
    measured, homes, notes = _attacked(release, original, mechanism, sensitive, household, say)
    broken = any(attack.broken for attack in measured)
    return ReleaseAudit(
        records=original.rows,
        measured=tuple(measured),
        before=before,
        after=after,
        unchanged=unchanged,
        suggested=certificate.suggested_share,
        notes=(*notes, *columns_given_away(certificate.true_schema, original)),
        households=homes,
        file_risk=release.file_risk,
        publishable=verdict_of(
            certificate,
            release.file_risk,
            failed=gettext("an attack breaks a guarantee") if broken else "",
        ),
    )


def _attacked(
    release: Release,
    original: OpenedTable,
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
        linked = grouped_linkage(certificate, original, bound=bound, keystream=keystream)
        return [linked], None, [gettext(GROUPED)]
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
        notes.append(gettext(WITHHELD if certificate.nature.withholds_matrices else NO_MATRICES))
        attempt(
            lambda: [withheld_linkage(certificate, original, release.opened, keystream=keystream)]
        )
        return measured, None, notes
    people = _people(release, original, matrices)
    say("Linking records")
    links = None
    try:
        links = Links.of(certificate.schema, matrices, people, keystream=keystream)
    except TooLarge as error:  # people are too many and too different
        notes.append(gettext("Nobody was linked: {error}", error=error))
    homes = None if household is None else _households(household, original, links)
    if links is not None:
        measured += links.risks(bound=bound, keystream=keystream)
    if sensitive is None:
        sensitive = [c.name for c in certificate.as_they_are if not c.role.traits.known]
    if sensitive:
        coded = ((name, *sensitive_codes(original, name)) for name in sensitive)
        values = (
            SensitiveValues.of(name, codes, size, ordered=ordered)
            for name, codes, size, ordered, _ in coded
        )
        attempt(
            lambda: inference_risks(matrices, people, list(values), keystream=keystream, say=say)
        )
    say("Measuring distances")
    from pramana.risk.attacks.closest_record import closest_risk  # with compiled loops

    attempt(lambda: [closest_risk(certificate.schema, matrices, people, keystream=keystream)])
    return measured, homes, notes


def _households(name: str, original: OpenedTable, links: Links | None) -> HouseholdRisk:
    """A household is found if the strongest linker finds one of its people."""
    if name not in original.schema.names:
        raise UnknownColumn(
            "The original has no column '{column}' that could number households.", column=name
        )
    chances = None if links is None else links.of_people(original.rows)
    if chances is None:
        raise TooLarge(
            "The risk of households needs links of all people, and the table has too many "
            "different people. Audit without --household, or use a sample of the households."
        )
    return HouseholdRisk.of(name, households_of(original, name), chances)


def link_risks(
    release: Release,
    original: OpenedTable,
    *,
    mechanism: Mechanism | None = None,
    most: int | None = QUICK,
) -> tuple[Measured, ...]:
    """The linkage attacks alone, on at most this many people."""
    certificate = release.certificate
    keystream, bound = Keystream.from_seed(SEED), linking_bound(certificate)
    if certificate.nature.grouped:
        return (
            grouped_linkage(certificate, original, bound=bound, keystream=keystream, most=most),
        )
    matrices = mechanism or certificate.mechanism
    if matrices is None or not matrices.columns:
        return (withheld_linkage(certificate, original, release.opened, keystream=keystream),)
    people = _people(release, original, matrices)

    def linked(people: Records) -> tuple[Measured, ...]:
        links = Links.of(certificate.schema, matrices, people, keystream=keystream,
                         trials=most or TRIALS, most=most)  # fmt: skip
        return links.risks(bound=bound, keystream=keystream)

    try:
        return linked(people)
    except TooLarge:
        # Among fewer people more are found; never more than a proof allows.
        fewer = np.sort(keystream.permutation(len(people), "fewer")[:SAMPLED])
        return tuple(
            attack if bound is None else replace(attack, value=min(attack.value, bound))
            for attack in linked(people.at(fewer))
        )


def _people(release: Release, original: OpenedTable, matrices: Mechanism) -> Records:
    certificate = release.certificate
    people, _ = read_pair(
        certificate.schema,
        matrices,
        original=original,
        released=release.opened,
        known=certificate.known_columns,
    )
    return people


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
    """Measure the risk of a table, or attacks on a release with its original data.

    Args:
        table: a file or data frame; or a release, or its folder.
        keys: the columns by which a person could be recognised; by default the ones in the schema.
        k: a frequency below it is a violation.
        sensitive: columns whose values must not be learned; by default the ones in the schema.
        weight: the column of sampling weights; by default the one in the schema.
        schema: what each column is, where ``keys`` and the others are not named; values are then
            looked at as they would be released: in the bins that it declares.
        missing: ``category`` or ``wildcard``.
        width: subsets of up to this many keys are looked at.
        original: for a release: the original data; attacks are then measured.
        mechanism: for a release that withholds its matrices: the matrices, or the file of a
            steward's folder that holds them.
        household: the column of the original data that numbers households; of a table that is no
            release by default the one in the schema.
        belongs: ``verify(release, original=)`` was asked and holds: that the original is the one
            of the release is not checked once more.
        progress: is called with the name of each step.
    """
    release = table if isinstance(table, Release) else None
    if isinstance(table, str | Path) and (Path(table) / CERTIFICATE).is_file():
        release = load_release(Path(table))
    described = None if schema is None else schema_of(schema)
    opened = release.opened if release is not None else _table_of(table, described)  # type: ignore[arg-type]
    if mechanism is not None:
        mechanism = mechanism_of(mechanism, release, original=original)
    if original is not None:
        if release is None:
            raise InvalidNumber("--original is for a release folder, and a table was given.")
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
        if release.certificate.nature.counted:
            raise NotCovered(
                "The release holds counts of tables and no records, so there is no record whose "
                "risk could be measured. Its guarantees are what verify computes again."
            )
        described = described or release.certificate.schema
        reported = ReportedSets.of(release.certificate.mechanism, opened)
    columns = () if described is None else described.columns
    names = list(keys or [column.name for column in columns if column.role is Role.KEY])
    if not names:
        raise InvalidNumber(
            "Name the columns that could identify a person: --keys region,sex,age, or a schema."
        )
    if sensitive is None:  # the set that a record was asked for is nothing that a person has
        hidden = [column.name for column in columns if not column.role.traits.known]
        sensitive = [name for name in hidden if reported is None or name != REPORTED]
    if weight is None and described is not None and described.weight is not None:
        weight = described.weight.name
    require_choice("missing", missing, MissingValues)
    policy: MissingPolicy = "wildcard" if missing == "wildcard" else "category"
    return audit_table(
        opened,
        keys=names,
        k=k,
        sensitive=list(sensitive),
        weight=weight,
        missing=policy,
        width=width,
        schema=described,
        released=release is not None,
        household=household or (None if described is None else described.household),
        asked=reported,
        individual=release is None,
    )


# -- attacks by name -------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class AttackResult(Shown):
    """What an attack found.

    Attributes:
        name: the attack.
        sentences: the findings in words.
        figures: the findings for JSON.
        holds: whether what the certificate promises is kept, where it promises something.
    """

    name: str
    sentences: tuple[str, ...]
    figures: Form
    holds: bool = True

    def shown(self) -> tuple[str, tuple[str, ...]]:
        """As the prompt and notebooks show it."""
        words = gettext("A GUARANTEE IS EXCEEDED")
        if self.holds:
            words = gettext("the guarantee holds")
        return gettext("Attack {name}: {words}", name=self.name, words=words), self.sentences

    def to_json(self) -> Form:
        """Values for JSON."""
        return {"attack": self.name, "holds": self.holds, **self.figures}


def attack(
    name: AttackName | Literal["linkage", "repeated", "recovery", "composition"],
    *given: Release | str | Path,
    knowledge: TableLike | None = None,
    times: int = 8,
    seed: int = SEED,
) -> AttackResult:
    """Attack a release, or several of the same people, with what an attacker would have.

    Args:
        name: ``linkage``, ``repeated``, ``recovery`` or ``composition``.
        given: releases or their folders.
        knowledge: what the attacker knows of the original data: a file or data frame.
        times: for ``repeated``: how many perturbations in all.
        seed: for the attacker's randomness.
    """
    releases = tuple(release_of(release) for release in given)
    require_choice("The attack", name, AttackName)
    for release in releases:
        release.require_sound()
    if name == AttackName.COMPOSITION:
        owned = [_rows_by_owner(release) for release in releases]
        composed = compose_releases([release.certificate for release in releases], owned=owned)
        return AttackResult("composition", tuple(composed.sentences()), composed.to_json())
    if len(releases) != 1:
        raise InvalidNumber(
            "The attack {name} takes one release, got {count}.", name=name, count=len(releases)
        )
    (release,) = releases
    certificate = release.certificate
    schema = certificate.schema
    known = None
    if knowledge is not None:
        table = _table_of(knowledge, schema)
        known, released = read_pair(
            schema,
            require_matrices(certificate),
            original=table,
            released=release.opened,
            known=certificate.known_columns,
        )
    elif name == AttackName.REPEATED:
        released = read_released(schema, require_matrices(certificate), release.opened)
    else:
        raise InvalidNumber(
            "The attack {name} needs a table of what the attacker knows (--knowledge FILE). The "
            "worst case is the original data.",
            name=name,
        )
    mechanism, keystream = require_matrices(certificate), Keystream.from_seed(seed)
    if name == AttackName.REPEATED:
        rounds = [
            repeated_attack(column, matrix, codes, keystream=keystream, times=times, prior=prior)
            for column, matrix, codes, prior in _perturbed(mechanism, released, known)
        ]
        return AttackResult(
            "repeated",
            tuple(entry.sentence() for entry in rounds),
            {"columns": [entry.to_json() for entry in rounds]},
            not any(entry.gains for entry in rounds),
        )
    assert known is not None  # noqa: S101 - for the type checker
    if name == AttackName.LINKAGE:
        linked = optimal_linkage(mechanism, known, released, bound=linking_bound(certificate))
        sentence = linked.sentence() + unknown_words(certificate.true_schema)
        return AttackResult("linkage", (sentence,), linked.to_json(), linked.holds)
    recovered = recovery_of_release(schema, mechanism, known, keystream=keystream)
    return AttackResult("recovery", tuple(recovered.sentences()), recovered.to_json())


def _perturbed(
    mechanism: Mechanism, released: Records, known: Records | None
) -> Iterator[tuple[str, TransitionMatrix, IntArray, FloatArray | None]]:
    """Names, matrices, released codes and known frequencies of steps or reported sets."""

    def prior(matrix: TransitionMatrix, codes: IntArray | None) -> FloatArray | None:
        return None if codes is None else np.bincount(codes, minlength=matrix.size).astype(float)

    if isinstance(mechanism, AttributeSampler):
        for attribute_set, _, reported, everybody in cells_by_set(mechanism, released, known):
            mixture = attribute_set.matrix
            yield attribute_set.name, mixture, reported, prior(mixture, everybody)
        return
    for place, step in enumerate(mechanism):
        if len(step.matrices) == 1:  # powers differ by stratum
            matrix, codes = step.matrices[0], None if known is None else known.codes[place]
            yield " x ".join(step.columns), matrix, released.codes[place], prior(matrix, codes)


def _rows_by_owner(release: Release) -> dict[str, str]:
    """Public fingerprints of the rows that a release shows unchanged, by a column unique to all."""
    kept = [column.name for column in release.certificate.schema.released_as_is]
    prints = table_prints(release.opened, kept, key=b"", extra=kept)
    return {prints.columns[name].values: rows for name, rows in prints.with_distinct.items()}
