"""What every guarantee has in common.

A guarantee is a number with a meaning. ``G.of(mechanism, ...)`` is the strongest that holds,
rounded against us; ``a.implies(b)`` compares two of a kind; ``a.sentence()`` says it plainly.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

__all__ = ["Guarantee"]

G = TypeVar("G", bound="Guarantee")


@runtime_checkable
class Guarantee(Protocol):
    """A privacy notion with its number."""

    name: ClassVar[str]
    """The name in certificates and on the command line, such as ``pk-anonymity``."""

    rests_on_data: ClassVar[bool]
    """Whether the number can only be computed by who holds the true counts."""

    assumption: ClassVar[str]
    """What is taken for granted about the adversary, in one sentence."""

    def implies(self: G, other: G) -> bool:
        """Whether whoever has this guarantee has the other one too."""

    def sentence(self) -> str:
        """The promise in plain words."""

    def to_json(self) -> dict[str, Any]:
        """The number or numbers by name."""
