"""The certificate: all that anyone needs to check the guarantees, and no original data.

It holds what was requested and attained, every matrix (unless withheld), the scope, the
assumptions, and the fingerprint of the data file. It holds no seed, no original count, no date.

The file has one spelling only (sorted keys, fixed indent), so that any changed byte shows: either
the spelling or the digest is wrong. The digest finds accidents; a signature finds malice.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from pramana.base.text import counted, listed, percent_up, text_up
from pramana.base.translation import ENGLISH, gettext, in_language, noop, numeral
from pramana.errors import AlteredRelease, NotARelease, PramanaError, harmless
from pramana.guarantees.base import Evidence
from pramana.guarantees.claims import ANY_SIZE, Claim, Made, household_scope
from pramana.guarantees.composition import Disclosure
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.io.base import FORMATS
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.certificate_fields import (
    AS_IT_IS,
    BINNED,
    NOISY,
    LabelsForm,
    Number,
    SchemaForm,
    Struct,
    Text,
    canonical,
    converted,
    labels_of,
    labels_to_json,
    mechanism_to_json,
    parse,
    schema_of,
    schema_to_json,
)
from pramana.release.kinds import KINDS, Kind
from pramana.schema.domains import Labels
from pramana.schema.schema import COUNT, REPORTED, Column, Schema
from pramana.types import Entries, Form

FORMAT: Final = "pramana-certificate"
FORMAT_VERSION: Final = 2

TEXT_VERSION: Final = 5
"""Raise it when a sentence of a certificate, of the README or of the codebook changes.

Sentences follow from numbers and are compared to the letter, so that a forged one shows. A
certificate with sentences of another version cannot be compared, and is refused.
"""

NO_GUARANTEE: Final = noop(
    "There is no guarantee: no target was requested, and numbers that only the owner can compute "
    "would disclose original counts."
)

NOT_FOR_PUBLICATION: Final = "reproducible: not for publication"

FILE_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
"""The name of a file inside the folder: no path, not hidden, no pattern of several files."""

DEEPEST: Final = 6  # how deep statistics and options may be nested


JsonValue: TypeAlias = "str | int | float | bool | list[JsonValue] | dict[str, JsonValue] | None"
Count: TypeAlias = Annotated[int, Meta(ge=1, le=2**63 - 1)]
Several: TypeAlias = Annotated[int, Meta(ge=2, le=2**63 - 1)]
Digest: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


@dataclass(frozen=True)
class DataFile:
    """The data file of a release and its fingerprint."""

    name: Annotated[str, Meta(pattern=rf"\A{FILE_NAME}\Z")]
    format: Text
    sha256: Digest
    size: Annotated[int, Meta(ge=0, le=2**63 - 1)]


@dataclass(frozen=True)
class Panel:
    """That the same people were asked in several waves, each released by itself.

    Attributes:
        wave: which one this is.
        waves: how many there are.
        epsilon: of all waves together, for who gives the same answers in all of them, once a wave.
        changing_epsilon: the same for whoever else.
    """

    wave: Count
    waves: Several
    epsilon: Number
    changing_epsilon: Number

    def __post_init__(self) -> None:
        if not (self.wave <= self.waves and 0 <= self.epsilon <= self.changing_epsilon):
            raise NotARelease("collected.panel must name one of its waves, and rising epsilons.")

    def sentence(self) -> str:
        """What all waves tell, in words."""
        return (
            f"This is wave {self.wave} of {self.waves} of a panel. All numbers above are of one "
            "wave, against an attacker who sees no other wave. All waves together have an epsilon "
            f"of at most {text_up(self.epsilon, 3)} for a person who gave the same answers in all "
            f"waves on one device, and of at most {text_up(self.changing_epsilon, 3)} for anybody "
            "who answered at most once per wave. For a person who answered m times in each wave, "
            "multiply the second epsilon by m. Suppose that n people took part in all waves, each "
            "once per wave. An attacker who sees all waves then links a record to a person with "
            "probability at most 1 in 1 + (n - 1) * exp(-2 epsilon), with the second epsilon. The "
            "first epsilon applies if all n people gave the same answers in all waves, each on one "
            "device."
        )


@dataclass(frozen=True)
class Collected:
    """That people randomised their own answers, so that nobody held the original ones.

    Attributes:
        survey: the identity of its definition: questions and channel.
        expected: how many people the matrices were made for.
        codes: whether each person could answer once only.
        panel: the wave, where people were asked several times.
    """

    survey: Digest
    expected: Several
    codes: bool
    panel: Panel | None = None

    def to_json(self, *, picked: bool = False) -> Form:
        """As JSON."""
        form: Form = {
            "survey": self.survey,
            "expected": self.expected,
            "codes": self.codes,
            "statement": self.sentence(picked=picked),
        }
        return form if self.panel is None else form | {"panel": asdict(self.panel)}

    def sentence(self, *, picked: bool = False) -> str:
        """What it rests on, in words; also where chance ``picked`` a person's questions."""
        secret = (
            "People saw which questions were drawn for them. For a person who disclosed this, or "
            "was observed while answering, the anonymity set has only the records with the same "
            "questions. "
            if picked
            else ""
        )
        once = (
            "Each person had a code that could be used once."
            if self.codes
            else "Nothing prevented a person from answering on several devices. A person who "
            "answered m times has m times the epsilon, and k = 1 + (n - m) / m * exp(-2 epsilon) "
            "among n records. No central epsilon covers this person."
        )
        text = (
            "Nobody held the original answers: people randomised them before sending, by survey "
            f"{self.survey}. This requires that people opened the page of this survey, and that "
            "the channel does not disclose who sent which record. For an attacker who invented or "
            "knows m of the n records, the anonymity set has n - m records, and k and the central "
            f"epsilon are computed from n - m. {secret}{once}"
        )
        return text if self.panel is None else f"{text} {self.panel.sentence()}"


@dataclass(frozen=True)
class Certificate:
    """What is claimed about a release.

    Attributes:
        schema: the released columns; identifiers are not among them.
        kind: how the release is to be read: a name among ``KINDS``.
        mechanism: the matrices where they are published, ``None`` otherwise.
        method: the design that found them.
        records: the number of released records.
        anonymity_set: the size of the smallest group that the known columns form.
        claims: every guarantee, requested and attained.
        data_dependent: whether the matrices were chosen by looking at the data.
        reproducible: whether a seed was used, so that the release is not for publication.
        expected_error: the price in words, where known.
        statistics: what else the method wants analysts to know.
        data: the data file, once there is one.
        signature: hexadecimal, once signed.
        options: public options of the method.
        labels: what the true file says about the released columns and their values.
        smallest_unchanged_group: the fewest records that agree in all columns released unchanged,
            where some are taken to be unknown and matrices are fixed.
        collected: the survey, where people randomised their own answers.
        copies: the same records in further formats.
        households: whether the original table numbered households; the number is not released.
        accepted_risk: columns that the owner releases unchanged although they identify people or
            give a randomised column away.
    """

    schema: Schema
    kind: str
    mechanism: Mechanism | None
    method: str
    records: int
    anonymity_set: int
    claims: tuple[Claim, ...]
    data_dependent: bool = False
    reproducible: bool = False
    expected_error: str | None = None
    statistics: Entries = field(default_factory=dict)
    data: DataFile | None = None
    signature: str | None = None
    options: Entries = field(default_factory=dict)
    smallest_unchanged_group: int | None = None
    labels: Labels = field(default_factory=Labels)
    collected: Collected | None = None
    copies: tuple[DataFile, ...] = ()
    households: bool = False
    accepted_risk: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unchanged = {column.name for column in self.schema.released_as_is}
        if len(set(self.accepted_risk)) < len(self.accepted_risk) or not unchanged.issuperset(
            self.accepted_risk
        ):
            raise NotARelease("Columns of accepted risk must be released unchanged, each once.")
        files = [file.name for file in (self.data, *self.copies) if file is not None]
        if len(set(files)) < len(files):
            raise NotARelease("The data file and its copies must have different names.")
        if self.kind not in KINDS:
            raise NotARelease(
                "The kind of a release must be one of {kinds}.", kinds=", ".join(KINDS)
            )
        if self.nature.shows_matrices != (self.mechanism is not None):
            raise NotARelease("A certificate must hold matrices exactly if they are published.")

    @cached_property
    def nature(self) -> Kind:
        """What follows from its kind."""
        return KINDS[self.kind]

    @property
    def known_columns(self) -> tuple[str, ...]:
        """Columns that are released unchanged and that an adversary may know."""
        return self.schema.known

    @property
    def marks(self) -> tuple[str, ...]:
        """What records may say that they were asked for; none where all of them tell everything."""
        return () if self.mechanism is None else self.mechanism.marks

    @property
    def rows(self) -> int:
        """The number of rows of the data file."""
        return self.records if self.mechanism is None else self.mechanism.rows(self.records)

    @cached_property
    def evidence(self) -> Evidence:
        """What a stranger can compute guarantees from."""
        return Evidence(
            self.true_schema,
            self.records,
            self.anonymity_set,
            self.mechanism,
            data_dependent=self.data_dependent,
            smallest_unchanged_group=self.smallest_unchanged_group,
            seeded=self.reproducible,
            besides=self.nature.offers,
            statistics=self.statistics,
        )

    @property
    def suggested_share(self) -> float | None:
        """The share of unique records that its guarantees suggest: 1 in k, xi, alpha."""
        bounds = (claim.attained.suggests for claim in self.claims)
        return min((bound for bound in bounds if bound is not None), default=None)

    @cached_property
    def true_schema(self) -> Schema:
        """The released columns of the original table, without those that a method adds."""
        if self.nature.whole:
            return self.schema
        added = (REPORTED, COUNT) if self.nature.counted else (REPORTED,)
        columns = tuple(column for column in self.schema.columns if column.name not in added)
        return replace(self.schema, columns=columns)

    @property
    def as_they_are(self) -> tuple[Column, ...]:
        """The columns of the original table that are published unchanged."""
        return self.true_schema.released_as_is

    def to_json(self) -> Form:
        """The claim without digest and signature; its sentences are English."""
        with in_language(ENGLISH):
            return self._fields()

    def _fields(self) -> Form:
        return {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "kind": self.kind,
            "method": self.method,
            "records": self.records,
            "schema": schema_to_json(self.schema, treatment=self.nature.treatment),
            "options": dict(self.options),
            "mechanism": None
            if self.mechanism is None
            else mechanism_to_json(self.mechanism, self.schema),
            "matrices": {
                "published": self.nature.shows_matrices,
                "depend_on_the_data": self.data_dependent,
            },
            "guarantees": [claim.to_json(self.true_schema, self.made) for claim in self.claims],
            "scope": self.scope(),
            "anonymity_set": {
                "size": self.anonymity_set,
                "known_columns": list(self.known_columns),
                "smallest_unchanged_group": self.smallest_unchanged_group,
                "statement": self.among_whom(),
            },
            "shuffled": True,
            "seed": NOT_FOR_PUBLICATION if self.reproducible else "none",
            "expected_error": self.expected_error,
            "statistics": dict(self.statistics),
            "text_version": TEXT_VERSION,
            "data": None if self.data is None else asdict(self.data),
        } | self._extras()

    def scope(self) -> Form:
        """Which columns are randomised and which are not, and in words what follows."""
        left = [c.name for c in self.as_they_are if not (c.binned or c.noisy)]
        binned = [column.name for column in self.true_schema.binned]
        noisy = [column.name for column in self.true_schema.noisy]
        parts = [
            f"{counted(len(names), 'column is', 'columns are')} {gettext(how)} "
            f"({self._titles(names)})"
            for names, how in ((left, AS_IT_IS), (binned, BINNED), (noisy, NOISY))
            if names
        ]
        words = noop("{columns}: no finite epsilon covers them.")
        if len(left) + len(binned) + len(noisy) == 1:
            words = noop("{columns}: no finite epsilon covers it.")
        statement = gettext(words, columns="; ".join(parts))
        form: Form = {
            "randomised": [column.name for column in self.schema.randomised],
            "released_unchanged": left,
            "binned_not_randomised": binned,
            "statement": statement if parts else gettext("Every released column is randomised."),
        }
        return form | ({"with_noise": noisy} if noisy else {})

    def _titles(self, columns: Iterable[str]) -> str:
        """Columns in a row, each with its label on one line."""
        return ", ".join(" ".join(self.labels.title(name).splitlines()) for name in columns)

    def among_whom(self) -> str:
        """The anonymity set of a person, in words."""
        size, known = self.anonymity_set, self.known_columns
        if self.nature.anonymity_set:
            inside = gettext("all {size:,} records", size=size)
            if known:
                inside = gettext("records that share {columns}", columns=", ".join(known))
            return gettext(self.nature.anonymity_set, inside=inside)
        words = noop("The anonymity set of a person is all {size:,} records.")
        if len(known) == 1:
            words = noop(
                "An attacker may know {columns}, which is released unchanged. The anonymity set of "
                "a person is the records with the same value there, at least {size:,}."
            )
        elif known:
            words = noop(
                "An attacker may know {columns}, which are released unchanged. The anonymity set "
                "of a person is the records with the same values there, at least {size:,}."
            )
        text = gettext(words, columns=self._titles(known), size=size)
        text += gettext(" The size of this set alone is not a guarantee.")
        fewest = self.smallest_unchanged_group
        if fewest == 1:
            text += gettext(
                " Some records are the only ones with their values of the unchanged columns."
            )
        elif fewest is not None:
            text += gettext(
                " At least {records:,} records share the values of all columns released unchanged.",
                records=fewest,
            )
        return text

    def _extras(self) -> Form:
        """What only some certificates have."""
        extras: Form = {"labels": labels_to_json(self.labels)} if self.labels else {}
        if self.collected is not None:
            extras["collected"] = self.collected.to_json(picked=self.made.picked)
        if self.households:
            extras["households"] = {"statement": household_scope(self.true_schema)}
        if self.copies:
            extras["copies"] = [asdict(copy) for copy in self.copies]
        if self.accepted_risk:
            extras["accepted_risk"] = {
                "columns": list(self.accepted_risk),
                "statement": accepted_words(self.accepted_risk),
            }
        return extras

    def signed_part(self) -> bytes:
        """The bytes that a signature covers: the claim with its digest."""
        return canonical(self._with_digest())

    def to_bytes(self) -> bytes:
        """The certificate file."""
        signature = {} if self.signature is None else {"signature": self.signature}
        return canonical(self._with_digest() | signature)

    def _with_digest(self) -> Form:
        claim = self.to_json()
        return claim | {"digest": hashlib.sha256(canonical(claim)).hexdigest()}

    @classmethod
    def from_bytes(cls, content: bytes) -> Certificate:
        """The certificate in a file; refused unless it is, byte by byte, as it was written."""
        value = parse(content, what="certificate.json")
        _require_format(value)
        form = converted(value, CertificateForm, what="certificate.json")
        try:
            certificate = cls._of(form)
            written = certificate.to_bytes()
        except NotARelease:
            raise
        except PramanaError as error:
            words = harmless(str(error))
            raise NotARelease("The certificate contradicts itself: {words}", words=words) from None
        except ValueError:  # a number that no certificate could state
            raise AlteredRelease("The certificate was altered: one of its numbers is.") from None
        if written != content:
            raise _altered(value, json.loads(written))
        return certificate

    @classmethod
    def _of(cls, form: CertificateForm) -> Certificate:
        """What the file says; what only follows from it is compared afterwards."""
        if form.kind not in KINDS:
            raise NotARelease(
                "The kind of a release must be one of {kinds}.", kinds=", ".join(KINDS)
            )
        _require_shallow(form.statistics, "statistics")
        _require_shallow(form.options, "options")
        converted(form.statistics, StatisticsForm, what="statistics")
        for copy in form.copies:
            if copy.name != copy_name(copy.format):
                raise NotARelease("copies must be of the data, in formats that can be written.")
        schema, risk, mechanism = schema_of(form.schema), form.accepted_risk, None
        if form.mechanism is not None:
            mechanism = KINDS[form.kind].mechanism(form.mechanism, schema=schema)
        return cls(
            schema=schema,
            kind=form.kind,
            mechanism=mechanism,
            method=form.method,
            records=form.records,
            anonymity_set=form.anonymity_set.size,
            claims=tuple(map(_claim_of, form.guarantees)),
            data_dependent=form.matrices.depend_on_the_data,
            reproducible=form.seed != "none",
            expected_error=form.expected_error,
            statistics=form.statistics,
            data=form.data,
            signature=form.signature,
            options=form.options,
            smallest_unchanged_group=form.anonymity_set.smallest_unchanged_group,
            labels=Labels() if form.labels is None else labels_of(form.labels),
            collected=form.collected,
            copies=form.copies,
            households=form.households is not None,
            accepted_risk=() if risk is None else risk.columns,
        )

    def with_data(self, data: DataFile, copies: tuple[DataFile, ...] = ()) -> Certificate:
        """The same claim about a written data file and its copies."""
        return replace(self, data=data, copies=copies)

    def data_as(self, *formats: str) -> DataFile | None:
        """The records in the first of these formats that there is; else the data file."""
        files = {file.format: file for file in (*self.copies, self.data) if file is not None}
        return next((files[file] for file in formats if file in files), self.data)

    @cached_property
    def made(self) -> Made:
        """How records were made, as far as sentences depend on it."""
        sizes = ANY_SIZE if self.households else ()
        entries = {**self.options, **self.statistics}
        picked = () if self.mechanism is None else self.mechanism.picked
        return Made.of(self.true_schema, entries, picked, households=sizes)

    def promise(self, claim: Claim) -> str:
        """One guarantee in words, and whom it does not cover."""
        return claim.sentence(self.true_schema, self.made)

    def sentences(self) -> list[str]:
        """The guarantees in words, and what limits them."""
        promises = [self.promise(claim) for claim in self.claims] or [gettext(NO_GUARANTEE)]
        if self.collected is not None:
            promises.append(self.collected.sentence(picked=self.made.picked))
        if self.households:
            promises.append(household_scope(self.true_schema))
        if self.accepted_risk:
            promises.append(accepted_words(self.accepted_risk))
        if "suppressed_cells" in self.statistics:
            cells = self.statistics["suppressed_cells"]
            promises.append(_suppressed_words(cells["least"], cells["at_most"]))
        if "unchanged_records" in self.statistics:
            promises.append(self._unchanged_words())
        return promises

    def _unchanged_words(self) -> str:
        """How many original records appear in the release, in words."""
        seen = self.statistics["unchanged_records"]
        share, unique = float(seen["records_at_most"]), float(seen["unique_records_at_most"])
        text = gettext(
            "On average at most {share} of the original records, and at most {unique} of those "
            "that are unique in the original data, appear unchanged in the release (estimated, "
            "rounded up).",
            share=numeral(percent_up(share)), unique=numeral(percent_up(unique)),
        )  # fmt: skip
        suggested = self.suggested_share
        if suggested is not None and unique > suggested:
            text += gettext(
                " Everybody can read these records. The guarantee bounds only the probability of "
                "linking them to a person."
            )
        return text

    def __repr__(self) -> str:
        attained = ", ".join(repr(claim.attained) for claim in self.claims)
        return f"<Certificate: {self.method}, {self.records:,} records, {attained}>"

    def __str__(self) -> str:
        head = f"Method {self.method}, {self.records:,} records."
        return harmless("\n".join([head, *(f"* {sentence}" for sentence in self.sentences())]))


def _suppressed_words(least: int, at_most: int) -> str:
    """The sentence about local suppression."""
    if not at_most:
        return gettext("Local suppression set no cell of a key to missing.")
    words = noop(
        "Local suppression set at most {most:,} cells of keys to missing: tables count them as "
        "missing."
    )
    if least:
        words = noop(
            "Local suppression set at least {least:,} and at most {most:,} cells of keys to "
            "missing: tables count them as missing."
        )
    return gettext(words, least=least, most=at_most)


def accepted_words(columns: tuple[str, ...]) -> str:
    """The sentence about columns whose risk the owner accepted."""
    words = noop(
        "The owner accepted the risk of {columns}: no guarantee covers what they disclose."
    )
    if len(columns) == 1:
        words = noop(
            "The owner accepted the risk of {columns}: no guarantee covers what it discloses."
        )
    return gettext(words, columns=listed(columns, 8))


# -- reading ---------------------------------------------------------------------------------------
# Fields that follow from others, such as sentences, are compared when the certificate is written.


class MatricesForm(msgspec.Struct):
    """Whether the matrices were chosen by looking at the data."""

    depend_on_the_data: bool


class AnonymitySetForm(msgspec.Struct):
    """The size of the anonymity set."""

    size: Count
    smallest_unchanged_group: Count | None


class ClaimForm(msgspec.Struct):
    """A guarantee, requested and attained."""

    name: Text
    asked: dict[Text, Any] | None
    attained: dict[Text, Any]


class UnchangedRecordsForm(Struct):
    """Bounds on the shares of records that are released unchanged."""

    records_at_most: Number
    unique_records_at_most: Number


class SuppressedCellsForm(Struct):
    """Bounds on the number of key cells that were set to missing.

    ``complete_keys`` had no missing value before: the schema did not allow for one.
    """

    least: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    at_most: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    complete_keys: list[str] = msgspec.field(default_factory=list)


class StatisticsForm(msgspec.Struct):
    """Statistics that sentences are made of; null is none of them."""

    suppressed_cells: SuppressedCellsForm | msgspec.UnsetType = msgspec.UNSET
    unchanged_records: UnchangedRecordsForm | msgspec.UnsetType = msgspec.UNSET


class AcceptedRiskForm(msgspec.Struct):
    """Columns whose risk the owner accepted."""

    columns: Annotated[tuple[Text, ...], Meta(min_length=1)]


class CertificateForm(msgspec.Struct):
    """The file."""

    kind: Text
    method: Annotated[str, Meta(pattern=r"\A[\w.-]{1,100}\Z")]
    records: Count
    schema: SchemaForm
    options: dict[Text, Any]
    mechanism: list[Any] | None
    matrices: MatricesForm
    guarantees: list[ClaimForm]
    anonymity_set: AnonymitySetForm
    seed: Text
    expected_error: Text | None
    statistics: dict[Text, Any]
    data: DataFile | None
    signature: Annotated[str, Meta(pattern=r"\A[0-9a-f]{128}\Z")] | None = None
    labels: LabelsForm | None = None
    collected: Collected | None = None
    copies: tuple[DataFile, ...] = ()
    households: Any = None
    accepted_risk: AcceptedRiskForm | None = None


def _require_format(value: Any) -> None:
    """Refuse another file, and other versions, before anything else is looked at."""
    form = value if isinstance(value, dict) else {}
    if form.get("format") != FORMAT:
        raise NotARelease("certificate.json must be a pramana certificate, and is not.")
    for name, read in (("version", FORMAT_VERSION), ("text_version", TEXT_VERSION)):
        version = form.get(name)
        if type(version) is not int or version != read:
            number = version if type(version) is int and abs(version) < 10**6 else "unknown"
            raise NotARelease(
                "The certificate has {name} {number}; this pramana reads {name} {read}. Use the "
                "pramana that wrote the release.",
                name=name,
                number=number,
                read=read,
            )


def _require_shallow(value: JsonValue, name: str, depth: int = 1) -> None:
    """Refuse entries that are nested too deep, or hold a negative zero."""
    if isinstance(value, dict | list):
        if depth > DEEPEST + 1:
            raise NotARelease(
                "{name} must be nested {deepest} deep at most.", name=name, deepest=DEEPEST
            )
        for entry in value.values() if isinstance(value, dict) else value:
            _require_shallow(entry, name, depth + 1)
    elif isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        raise NotARelease("{name} must not hold a negative zero.", name=name)


def _claim_of(form: ClaimForm) -> Claim:
    """A claim from its numbers; its sentences follow from them."""
    for numbers in (form.asked, form.attained):
        _require_shallow(numbers, "guarantees")
    try:
        claim = Claim.from_json({"name": form.name, "asked": form.asked, "attained": form.attained})
        claim.attained.sentence()
    except (PramanaError, ArithmeticError, LookupError, TypeError, ValueError):
        # A guarantee may be of another package, and check its numbers in its own way.
        raise NotARelease(
            "guarantees must hold numbers of {form!r}.", form=form.name[:60]
        ) from None
    return claim


def copy_name(file_format: str) -> str | None:
    """What a copy in a format is called; ``None`` where there is no such format."""
    known = file_format in FORMATS and FORMATS[file_format].writes
    return f"data{FORMATS[file_format].endings[0]}" if known else None


def _altered(value: Form, written: Form) -> AlteredRelease:
    """The error that names the first field which is not what follows from the others."""
    # The digest follows from all other fields, so that it is compared last.
    path = _difference(value | {"digest": written["digest"]}, written)
    path = path or _difference(value, written)
    problem = f"{harmless(path)} does not follow from the rest" if path else "its spelling is"
    return AlteredRelease("The certificate was altered: {problem}.", problem=problem)


def _difference(stated: JsonValue, made: JsonValue, path: str = "") -> str | None:
    """Where two JSON values first differ."""
    if isinstance(stated, dict) and isinstance(made, dict):
        for name in sorted(set(stated) | set(made)):
            if name not in stated or name not in made:
                return f"{path}.{name}".lstrip(".")
            where = _difference(stated[name], made[name], f"{path}.{name}")
            if where:
                return where
        return None
    if isinstance(stated, list) and isinstance(made, list) and len(stated) == len(made):
        parts = enumerate(zip(stated, made, strict=True))
        return next(filter(None, (_difference(a, b, f"{path}[{i}]") for i, (a, b) in parts)), None)
    same = type(stated) is type(made) and stated == made
    return None if same else path.lstrip(".")


def disclosed(certificate: Certificate) -> Disclosure:
    """What a release discloses about its people, and what it guarantees by itself."""
    attained = [claim.attained for claim in certificate.claims]
    central = next(
        (guarantee for guarantee in attained if isinstance(guarantee, ShuffledPrivacy)), None
    )
    bounds = [guarantee.link_bound for guarantee in attained if guarantee.link_bound]
    return Disclosure.of(
        certificate.evidence,
        method=certificate.method,
        central=central,
        alone=1 / min(bounds) if bounds and certificate.nature.grouped else None,
        panel=certificate.collected is not None and certificate.collected.panel is not None,
    )
