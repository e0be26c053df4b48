"""A guarantee as someone outside the package would write it: one file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from pramana.base.rounding import float_up, log_of, require_number
from pramana.base.text import text_up
from pramana.guarantees.base import CliOption, Evidence, Guarantee, Need


@dataclass(frozen=True, slots=True)
class Surprise(Guarantee):
    """No truth makes a release more than ``odds`` times as likely as another truth does."""

    odds: float

    name: ClassVar[str] = "toy-surprise"
    needs: ClassVar[frozenset[Need]] = frozenset({Need.FIXED_MATRICES})
    assumption: ClassVar[str] = "Covers the randomised columns, for the sake of a test."
    not_promised: ClassVar[str] = "Anything that the library itself promises."
    cli_options: ClassVar[tuple[CliOption, ...]] = (
        CliOption("--surprise-odds", "Surprise nobody beyond these odds.", number="odds"),
    )
    page: ClassVar[str] = "nowhere"

    def __post_init__(self) -> None:
        require_number("odds", self.odds, low=1)

    @classmethod
    def evaluate(cls, evidence: Evidence, *, asked: Surprise | None = None) -> Surprise:  # noqa: ARG003
        assert evidence.mechanism is not None
        return cls(float_up(evidence.mechanism.gamma))

    def implies(self, other: Surprise) -> bool:
        return self.odds <= other.odds

    def log_amplification(self, *, anonymity_set: int) -> float:  # noqa: ARG002
        return log_of(Fraction(self.odds)) if self.odds < math.inf else math.inf

    def sentence(self) -> str:
        return f"A toy says that no release surprises beyond {text_up(self.odds)} to 1."

    def to_json(self) -> dict[str, Any]:
        return {"odds": None if math.isinf(self.odds) else self.odds}
