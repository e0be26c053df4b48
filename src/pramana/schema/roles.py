"""The roles of a column: what each means to an adversary, and how its column is treated.

A new role is a member of ``Role`` with its traits. All else follows from the traits: treatment,
known columns, terms of schema files, pages of the studio, reports. Only proposals test for a role
by name: ``column_rules.py`` says when ``describe`` proposes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """What a column means to an adversary."""

    KEY = "key"
    SENSITIVE = "sensitive"
    WEIGHT = "weight"
    PUBLIC = "public"
    IDENTIFIER = "identifier"
    DROPPED = "dropped"

    @property
    def traits(self) -> RoleTraits:
        """What follows from the role."""
        return TRAITS[self]


@dataclass(frozen=True)
class RoleTraits:
    """What follows from a role.

    Attributes:
        words: What it means, and what becomes of the column.
        terms: Its names in schema files, those of other tools among them: without case,
            underscores and hyphens.
        released: Whether the column is in the release, or dropped.
        randomised: Whether it is randomised unless the schema says otherwise.
        randomisable: Whether the schema may say so.
        known: Whether outsiders may know its values.
        analysed: Whether its values say something about people, or how many a record stands for.
    """

    words: str
    terms: str
    released: bool = True
    randomised: bool = False
    randomisable: bool = True
    known: bool = True
    analysed: bool = True


TRAITS: Final = {
    Role.KEY: RoleTraits(
        "identifies people together with other keys; randomised",
        """key keys keyvar keyvars keyvariable keyvariables quasi quasiident quasiidents
        quasiidentifier quasiidentifiers quasiidentifying quasiidentifyingattribute qi qid qis
        pramvar pramvars categoricalkey""",
        randomised=True,
    ),
    Role.SENSITIVE: RoleTraits(
        "known to no outsider; released unchanged, or randomised on a grid",
        """sensitive sens sensatt sensatts sensitiveatt sensitiveattribute
        sensitiveattributes sensitivevar sensitivevars sensiblevar confidential""",
        known=False,
    ),
    Role.WEIGHT: RoleTraits(
        "how many people a record stands for",
        "weight weights weightvar samplingweight sampleweight surveyweight",
        randomisable=False,
        analysed=False,
    ),
    Role.PUBLIC: RoleTraits(
        "may be known to others; released unchanged",
        "public plain insensitive insensitiveattribute nonsensitive other unchanged",
    ),
    Role.IDENTIFIER: RoleTraits(
        "names and numbers of persons; dropped",
        """identifier identifiers ident idents identifying identifyingattribute
        directidentifier directidentifiers direct""",
        released=False,
        randomisable=False,
    ),
    Role.DROPPED: RoleTraits(
        "dropped, though no identifier: it would disclose another column or find people",
        "dropped drop excluded exclude excludevars omitted",
        released=False,
        randomisable=False,
    ),
}

TERMS: Final = {term: role for role in Role for term in role.traits.terms.split()}
"""The role that a term of a schema file names."""
