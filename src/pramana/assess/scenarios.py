"""What is compared: a method aimed at a target, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pramana.assess.utility import UtilityReport
from pramana.errors import InvalidNumber, NotCovered
from pramana.guarantees.base import Guarantee
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.registry import GUARANTEES
from pramana.methods.registry import METHODS
from pramana.numeric import require_choice
from pramana.risk.measured import Measured
from pramana.risk.verbatim import Verbatim
from pramana.table.schema import Schema
from pramana.text import text_down, text_up
from pramana.types import FloatArray, Form

__all__ = ["Scenario", "ScenarioOutcome", "compared", "scenarios_of"]


@dataclass(frozen=True)
class Scenario:
    """One method aimed at one target.

    Attributes:
        method: its name.
        target: in words.
        guarantee: what is asked of it.
        refused: why nothing can be asked of it, if so: other methods are tried all the same.
    """

    method: str
    target: str
    guarantee: Guarantee
    refused: str = ""

    @property
    def name(self) -> str:
        """Method and target in words."""
        return f"{self.method}, {self.target}"


@dataclass(frozen=True)
class ScenarioOutcome:
    """What became of a scenario.

    Attributes:
        scenario: what was tried.
        promises: each attained guarantee by name, with its numbers.
        risk: the strongest linking attack; ``None`` where none could be measured.
        losses: of each kind of question that will be asked, 0 to 1, as an analyst gets it: one
            figure a draw.
        utility: all figures of what is lost, of the first draw.
        verbatim: how many records stand in the release word for word.
        seconds: to design and protect.
        measuring: seconds to attack the release and to compare it with the truth.
        note: why there is no outcome, or what was left out.
        read_off: columns whose lists of values were read off the data, where epsilons are stated.
    """

    scenario: Scenario
    promises: dict[str, Form]
    risk: Measured | None = None
    losses: Mapping[str, Sequence[float]] = field(default_factory=dict)
    utility: UtilityReport | None = None
    seconds: float = 0.0
    measuring: float = 0.0
    note: str = ""
    verbatim: Verbatim | None = None
    read_off: tuple[str, ...] = ()

    @property
    def exposure(self) -> float:
        """Link or copy, whichever is the larger share; 1 where no attack could be measured."""
        link = 1.0 if self.risk is None else self.risk.value
        return link if self.verbatim is None else max(link, self.verbatim.unique_share)

    @property
    def loss(self) -> float | None:
        """The average over the kinds of questions, each counted once, and over the draws."""
        return float(self._draws.mean()) if self.losses else None

    @property
    def spread(self) -> float | None:
        """How far the loss of one release lies from that: a standard deviation."""
        return float(self._draws.std(ddof=1)) if self.losses and len(self._draws) > 1 else None

    @property
    def _draws(self) -> FloatArray:
        found: FloatArray = np.mean(list(self.losses.values()), axis=0)
        return found

    @property
    def measured(self) -> bool:
        """Whether both risk and loss are known."""
        return self.risk is not None and self.loss is not None

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "method": self.scenario.method,
            "target": self.scenario.target,
            "promises": self.promises,
            "risk": None if self.risk is None else self.risk.to_json(),
            "verbatim": None if self.verbatim is None else self.verbatim.to_json(),
            "loss": self.loss,
            "spread": self.spread,
            "losses": {kind: float(np.mean(own)) for kind, own in self.losses.items()} or None,
            "seconds": self.seconds,
            "measuring": self.measuring,
            "note": self.note,
            "read_off": list(self.read_off),
        }


def compared() -> tuple[str, ...]:
    """What is compared where nothing is stated: promises that hold whatever the data are."""
    return tuple(name for name, own in METHODS.items() if own.aims and not own.data_dependent)


def scenarios_of(
    schema: Schema,
    *,
    methods: Sequence[str],
    k: Sequence[float] = (),
    epsilon: Sequence[float] = (),
) -> tuple[Scenario, ...]:
    """Every method with every target that it can aim at."""
    for method in methods:
        require_choice("method", method, tuple(METHODS))
    found = [_of_k(method, one, schema) for method in methods for one in k]
    found += [
        Scenario(method, f"epsilon = {text_up(one, 6)}", DifferentialPrivacy(epsilon=one))
        for method in methods
        for one in epsilon
        if DifferentialPrivacy.name in METHODS[method].aims
    ]
    if not found:
        raise InvalidNumber(
            "A comparison needs methods and targets: --k 10,100 --method retention."
        )
    return tuple(found)


def _of_k(method: str, k: float, schema: Schema) -> Scenario:
    """What one in k means for what a method aims at; one that aims at nothing is checked for k."""
    aims = METHODS[method].aims
    kind = GUARANTEES[aims[0]] if aims else PkAnonymity
    try:
        guarantee = kind.one_in(k, schema=schema)
    except NotCovered as error:
        one = PkAnonymity.one_in(k)
        return Scenario(method, f"1 in {text_down(k, 6)}", one, refused=str(error))
    letter = kind.cli_options[0]
    asked = guarantee.shown()[letter.entry].replace(",", "")
    return Scenario(method, f"{letter.field} = {asked}", guarantee)
