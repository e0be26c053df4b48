"""The chance that an intruder who knows one value of a person picks the right record.

The intruder of [Ghatak, Sec. 2] knows that the target has the value c of one column, looks at the
a records that are released as c, and picks one of them at random. ``CorrectMatch(xi)`` says that
the pick is right with probability at most xi, whichever a was seen and whichever value c the
target has.

The paper bounds this for one rare value (psi). Other rare values of the same block can be left
above the bound, so every value that occurs is evaluated here, each by the exact law of the
released count. Proof: docs/proofs/correct_match.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need
from pramana.numeric import float_up, in_numbers_of_python, require_number
from pramana.text import text_up
from pramana.types import Form

if TYPE_CHECKING:
    from pramana.matrices import Label, Mechanism, TransitionMatrix
    from pramana.table.counts import Counts
    from pramana.table.schema import Schema

__all__ = ["CorrectMatch"]


@dataclass(frozen=True, slots=True)
class CorrectMatch(Guarantee):
    """An intruder who knows one value of a person is right with probability at most ``xi``.

    >>> from pramana.matrices import UniformMixture
    >>> coin = UniformMixture.of(("no", "yes"), retention=0)
    >>> CorrectMatch.of(coin, {"no": 3, "yes": 7}).xi
    0.1
    """

    xi: float

    name: ClassVar[str] = "correct-match"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.MATRICES, Need.COUNTS})
    assumption: ClassVar[str] = (
        "The intruder knows the target's value of one column and nothing else of the record, and "
        "picks at random among the records released with it; the figure rests on the true counts."
    )
    not_promised: ClassVar[str] = (
        "It is about someone who knows one value and picks at random among the records released "
        "with it. Who uses several columns may do better. It rests on counts that are not "
        "published."
    )
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption(
            "--xi",
            "Who searches by one key is right at most this often.",
            first=True,
            slider=("Who searches by one key is right at most so often", 0.01, 0.5, 0.1),
        ),
    )
    page: ClassVar[str] = "correct_match"
    of_household: ClassVar[str] = "m xi"

    def __post_init__(self) -> None:
        in_numbers_of_python(self)
        require_number("xi", self.xi, low=0, high=1)

    @classmethod
    def of(
        cls,
        mechanism: Mechanism | TransitionMatrix,
        counts: Counts | Mapping[Label, int],
    ) -> CorrectMatch:
        """The strongest such guarantee that holds for these counts, rounded up.

        A mechanism is read column by column, with the counts of each column; a step that depends
        on strata is read inside each stratum, which the intruder then knows too.
        """
        from pramana.guarantees.match_risk import worst_risk

        return cls(worst_risk(mechanism, counts))

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: CorrectMatch | None = None) -> CorrectMatch:
        """From the matrices and the true counts.

        Who knows a value that is released as it is picks among the records that have it.
        """
        from pramana.guarantees.match_risk import kept_risk

        assert evidence.mechanism is not None  # noqa: S101 - both are among the needs
        assert evidence.counts is not None  # noqa: S101
        kept = kept_risk(evidence.schema.known, evidence.counts, crowd=evidence.crowd)
        return cls(max(kept, cls.of(evidence.mechanism, evidence.counts).xi))

    @classmethod
    def one_in(cls, k: float, *, schema: Schema | None = None) -> CorrectMatch:
        """Right once in k."""
        return cls(xi=1 / k)

    def implies(self, other: CorrectMatch) -> bool:
        """A smaller chance is stronger."""
        return self.xi <= other.xi

    def impossible(self, evidence: Evidence) -> str | None:
        """Whoever picks one of all records is right once in their number.

        Where as many are released with a value as can be, the target is among them if its value
        may stay as it is, so that the chance is 1 over at most all records. Values that never stay
        are never found by them. A column that is released as it is shows how many share a value.
        """
        alone = len(evidence.schema.known) == 1
        if alone and Fraction(self.xi) * evidence.crowd < 1:
            return (
                f"a guess among the {evidence.crowd:,} who share what is known is right more often"
            )
        steps = () if evidence.mechanism is None else evidence.mechanism.steps
        moved = any(one.matrix is None or not one.matrix.diagonal.all() for one in steps)
        if moved or Fraction(self.xi) * evidence.records >= 1:
            return None
        return f"a guess among {evidence.records:,} records is right more often"

    def to_json(self) -> Form:
        """The number by name."""
        return {"xi": self.xi}

    @property
    def suggests(self) -> float:
        """A chance of xi to be right about a person sounds like as many copies."""
        return self.xi

    def household(self, members: int) -> Mapping[str, float]:
        """Who searches for each of its people is right about one or more: chances add up."""
        return {"xi": min(1.0, float_up(Fraction(self.xi) * members))}

    def sentence(self) -> str:
        """The guarantee in plain words."""
        return (
            "Someone who knows one value of a person that an outsider may know and picks a record "
            f"released with it is right with probability at most {text_up(self.xi)}."
        )
