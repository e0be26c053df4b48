"""Words that stewards choose from; light, so that a command line can offer them at once."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from pramana.errors import InvalidNumber

__all__ = ["AttackName", "MissingValues", "one_of"]

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
