"""The kinds of releases, and what a method says about the releases that it makes.

What an analyst may conclude depends on what was done to a record. A kind says so once, for
certificate, verification, audit, report and estimates alike; nothing else asks for its name. A
certificate is compared with what its method says, where the method is known; a method from outside
must be installed where its releases are verified.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

from pramana.base.registry import Registry
from pramana.base.translation import ENGLISH, language
from pramana.guarantees.base import Need
from pramana.mechanisms.mechanism import Mechanism
from pramana.release.certificate_fields import mechanism_of, reporting_of, rounds_of
from pramana.schema.domains import Labels
from pramana.types import Entries

if TYPE_CHECKING:  # a certificate asks for its kind
    from pramana.release.certificate import Certificate


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One way in which records come about, and all that follows from it.

    Attributes:
        made: what was done to records; ``{depends}`` becomes whether matrices depend on the data.
        why_not: why records must not be counted directly.
        shows_matrices: whether the certificate holds the matrices, for everyone to undo.
        withholds_matrices: whether there are some that only the owner has.
        grouped: whether keys are replaced within groups of records.
        whole: whether every record contains all columns, and not only one attribute set.
        counted: whether rows are cells with their counts, and not records.
        mechanism: reads the matrices of a certificate from their parsed JSON and its schema.
        treatment: what was done to columns that are not released unchanged.
        anonymity_set: the anonymity set in words, if it is not everybody with the same values of
            known columns; ``{inside}`` becomes these people.
        offers: evidence that everyone has, in addition to matrices, records and anonymity set.
        owner_knows: evidence that only the owner has.
        tells: the figures of its certificates that only the owner can count, whatever the method.
        least_error: where certificates state the standard error of a column once, the least;
            else they state one for each value.
    """

    made: str
    why_not: str
    shows_matrices: bool = False
    withholds_matrices: bool = False
    grouped: bool = False
    whole: bool = True
    counted: bool = False
    mechanism: Callable[..., Mechanism] = mechanism_of
    treatment: str = "randomised"
    anonymity_set: str = ""
    offers: frozenset[Need] = frozenset()
    owner_knows: frozenset[Need] = frozenset()
    tells: frozenset[str] = frozenset()
    least_error: float | None = None


PUBLISHED = Kind(
    made="The matrices are published and {depends}.",
    why_not="The values of randomised columns are partly random. Direct counts, shares, means and "
    "models of these columns are biased.",
    shows_matrices=True,
    owner_knows=frozenset({Need.COUNTS}),
)
"""The matrices are in the certificate, and are undone."""

WITHHELD = Kind(
    made="The matrices are withheld and {depends}.",
    why_not="The values of randomised columns are partly random. Counts of single columns are "
    "unbiased, with the standard errors that the certificate states. Associations between columns "
    "are attenuated.",
    withholds_matrices=True,
    # Not fixed matrices: nobody can tell that hidden ones are.
    owner_knows=frozenset({Need.COUNTS, Need.MATRICES}),
)
"""The matrices are withheld, and keep every column's frequencies."""

GROUPS = Kind(
    made="Keys were replaced within groups of similar records. There are no matrices.",
    why_not="The keys of a record come from its group, and may belong to another person. "
    "Associations of keys with other columns are attenuated.",
    grouped=True,
    treatment="replaced within groups",
    anonymity_set="Groups are formed within {inside}. The anonymity set of a person is a group of "
    "at least k records.",
    owner_knows=frozenset({Need.GROUPS}),
)
"""Keys were replaced within groups of records."""

ATTRIBUTE_SAMPLING = Kind(
    made="Each record reports one set of columns, drawn at random; the other columns are empty. "
    "Sets and matrices are published and {depends}.",
    why_not="Every record reports only some columns, and their values are partly random. Direct "
    "counts are biased. Column `reported` names the columns of a record. An empty cell in another "
    "column is not a missing value.",
    shows_matrices=True,
    whole=False,
    mechanism=reporting_of,
    # Not counts: what rests on them speaks of steps on whole records.
)
"""Each record answered one set of columns; the sets are in the certificate."""

SHUFFLED_MARGINALS = Kind(
    made="Each person's values were randomised once for every set of columns. Each set was "
    "shuffled separately, and its counts are released. Sets and matrices are published and "
    "{depends}.",
    why_not="Each row is a cell of a table with its count. The counted values are partly random, "
    "so that direct counts are biased. Column `reported` names the table. All tables are about the "
    "same people.",
    shows_matrices=True,
    whole=False,
    counted=True,
    mechanism=rounds_of,
    anonymity_set="Each table is shuffled separately, and its anonymity set is {inside}. Against "
    "an attacker who sees a person's randomised values before the shuffle, only the local epsilon "
    "holds. It is the sum over all tables.",
)
"""Everybody answered all sets, and the counts of each are released."""

SEALED = replace(
    WITHHELD,
    why_not="The values of randomised columns are partly random, and the matrices are withheld. "
    "Counts of single columns have the errors that the certificate states. Associations between "
    "columns differ from the original data by an unknown amount.",
    tells=frozenset({"standard_errors", "unchanged_records"}),
    least_error=1.0,
)
"""The matrices are withheld and keep no frequencies: they took more room than the records."""

NAMES = ("published", "withheld", "groups", "attribute-sampling", "shuffled-marginals", "sealed")

KINDS: Registry[Kind] = Registry(
    "pramana.kinds", {name: f"{__name__}:{name.upper().replace('-', '_')}" for name in NAMES}
)
"""Kinds by the name in certificates."""


# -- methods ---------------------------------------------------------------------------------------


class NewKeys(StrEnum):
    """Where the keys of a record come from that are replaced within groups; published."""

    HANDED_ROUND = "permuted within the group"
    FROM_MEMBERS = "drawn from members of the group"
    AROUND = "drawn around the group"
    CENTRE = "the centre of the group"


class Priced(Protocol):
    """An expected error that can be put in words."""

    def sentence(self) -> str:
        """In words."""

    def matches_text(self, words: str | None) -> bool:
        """Whether these are its words, up to rounding of the matrices."""


class MethodProtocol(Protocol):
    """What a method says about the releases that it makes."""

    name: ClassVar[str]
    """The name in commands and certificates."""

    aims: ClassVar[tuple[str, ...]]
    """The names of the guarantees that can be its targets."""

    kind: ClassVar[str]
    """The kind of its releases."""

    other_kinds: ClassVar[tuple[str, ...]] = ()
    """Further kinds of releases; the plan says which kind it makes."""

    data_dependent: ClassVar[bool] = False
    """Whether its matrices or groups are chosen by looking at the data."""

    new_keys: ClassVar[NewKeys | None] = None
    """Where the new keys come from, for methods that replace keys within groups."""

    owner_statistics: ClassVar[frozenset[str] | None] = None
    """The names of the certificate's statistics that only the owner can compute; ``None`` if the
    method does not declare them."""

    keeps_rules: ClassVar[bool] = True
    """Whether it never releases combinations that the schema calls impossible."""

    @classmethod
    def published_labels(cls, labels: Labels) -> Labels:
        """The variable and value labels of a release."""
        return labels

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> Priced | None:
        """The expected error of published matrices; ``None`` if the method states none."""
        del certificate
        return None

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The options and the statistics that follow from the rest of a certificate."""
        del certificate
        return {}, {}

    @classmethod
    def reproduces_matrices(cls, certificate: Certificate) -> bool | None:
        """Whether the published options give the published matrices; ``None`` without options."""
        del certificate
        return None


METHOD_CLASSES: Registry[type[MethodProtocol]] = Registry(
    "pramana.methods",
    {
        "retention": "pramana.methods.retention:Retention",
        "attribute-sampling": "pramana.methods.attribute_sampling:AttributeSampling",
        "shuffled-marginals": "pramana.methods.shuffled_marginals:ShuffledMarginals",
        "optimal": "pramana.methods.optimal.method:Optimal",
        "inverse-frequency": "pramana.methods.frequency_preserving:InverseFrequency",
        "invariant": "pramana.methods.frequency_preserving:Invariant",
        "matrix": "pramana.methods.given:GivenMatrices",
        "matrix-from-data": "pramana.methods.given:MatricesFromData",
        "resample": "pramana.methods.microaggregated:Resample",
        "permute": "pramana.methods.microaggregated:Permute",
        "gaussian": "pramana.methods.microaggregated:Gaussian",
        "centroid": "pramana.methods.microaggregated:Centroid",
    },
)
"""Methods by name. Stewards see the same list, with all that a method does, as ``METHODS``."""


def error_words(certificate: Certificate) -> str:
    """The expected error that a certificate states, in the language of the reader."""
    maker = METHOD_CLASSES.get(certificate.method)
    error = None if maker is None else maker.expected_error_of(certificate)
    if error is None or language() == ENGLISH:
        return certificate.expected_error or ""
    return error.sentence()
