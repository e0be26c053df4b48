"""What a certificate must fit of the method that it names, and what a reader must know of keys.

A method says of itself what kind of releases it makes. Its certificate is compared with that
where the method is known; a method from outside must be installed where its releases are verified.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Protocol

from pramana.base.registry import Registry
from pramana.release.certificate import Certificate
from pramana.schema.domains import Labels
from pramana.types import Entries


class NewKeys(StrEnum):
    """Where the keys of a record come from that are replaced within groups; told to everyone."""

    HANDED_ROUND = "handed round within the group"
    FROM_MEMBERS = "drawn from members of the group"
    AROUND = "drawn around the group"
    CENTRE = "the centre of the group"


class Priced(Protocol):
    """A price that can be put in words."""

    def sentence(self) -> str:
        """In plain words."""


class MethodProtocol(Protocol):
    """What a method says about the releases that it makes."""

    name: ClassVar[str]
    kind: ClassVar[str]

    other_kinds: ClassVar[tuple[str, ...]]
    """Other kinds of releases that it makes where need be."""

    data_dependent: ClassVar[bool]

    aims: ClassVar[tuple[str, ...]]
    """The guarantees that can be asked of it, by name; any, where it aims at none."""

    new_keys: ClassVar[NewKeys | None]
    """Where keys come from that are replaced within groups."""

    keeps_rules: ClassVar[bool]
    """Whether it can keep to combinations that the schema calls impossible."""

    owner_statistics: ClassVar[frozenset[str] | None]
    """The figures that only the owner can count, by name; ``None`` where it does not say."""

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The options, and the other figures, that its certificate has if all else is as it is."""

    @classmethod
    def published_labels(cls, labels: Labels) -> Labels:
        """What is said about the columns of its releases: of one that it adds, in its own words."""

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> Priced | None:
        """The expected error of published matrices; ``None`` where it states none."""

    @classmethod
    def reproduces_matrices(cls, certificate: Certificate) -> bool | None:
        """Whether it chooses these very matrices for the options told; ``None``: none are told."""

    @classmethod
    def matches_expected_error(cls, certificate: Certificate, words: str | None) -> bool:
        """Whether it gives these words about the expected error beside these matrices."""


METHOD_CLASSES: Registry[type[MethodProtocol]] = Registry(
    "pramana.methods",
    {
        "retention": "pramana.methods.retention:Retention",
        "attribute-sampling": "pramana.methods.attribute_sampling:AttributeSampling",
        "optimal": "pramana.methods.optimal.method:Optimal",
        "inverse-frequency": "pramana.methods.frequencies:InverseFrequency",
        "invariant": "pramana.methods.frequencies:Invariant",
        "matrix": "pramana.methods.given:GivenMatrices",
        "matrix-from-data": "pramana.methods.given:MatricesFromData",
        "resample": "pramana.methods.microaggregated:Resample",
        "permute": "pramana.methods.microaggregated:Permute",
        "gaussian": "pramana.methods.microaggregated:Gaussian",
        "centroid": "pramana.methods.microaggregated:Centroid",
    },
)
"""Methods by name. Stewards see the same list, with all that a method does, as ``METHODS``."""
