"""Scenarios side by side: promises, what attacks achieve, what is lost, how long it takes.

A target of one in k means for each method what its own guarantee says: k for retention and for
groups, alpha = 1/k for ``optimal``, xi = 1/k for ``inverse-frequency``. Their adversaries differ;
what makes scenarios comparable is the strongest linking attack, measured on the same people.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pramana.assess.release_audit import audit_release
from pramana.assess.utility import UtilityReport, assess_utility
from pramana.errors import InvalidNumber, PramanaError
from pramana.formats.opening import open_table
from pramana.guarantees.base import Guarantee
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.k_anonymity import KAnonymity
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.matrices.mechanism import Mechanism
from pramana.methods.base import require_choice
from pramana.methods.plan import Plan
from pramana.methods.registry import METHODS
from pramana.readings.release import Release
from pramana.risk.measured import Measured
from pramana.table.schema import Schema

__all__ = ["Comparison", "Scenario", "ScenarioOutcome", "compare_scenarios", "scenarios_of"]

SEED = 20
THREADS = 2
WIDTH = 3
LINKING = ("nearest record", "likeliest record")


class Design(Protocol):
    """The verb that finds a plan."""

    def __call__(self, schema: Schema, *guarantees: Guarantee, data: Any, method: str) -> Plan:
        """As ``pramana.design``."""


class Protect(Protocol):
    """The verb that makes a release."""

    def __call__(self, table: Any, plan: Plan, *, seed: int) -> Release:
        """As ``pramana.protect``."""


@dataclass(frozen=True)
class Scenario:
    """One method aimed at one target."""

    method: str
    target: str
    guarantee: Guarantee

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
        loss: the share of records in the wrong cell of two-way tables, as an analyst gets them.
        utility: all figures of what is lost.
        seconds: to design and protect.
        note: why there is no outcome, or what was left out.
    """

    scenario: Scenario
    promises: dict[str, dict[str, Any]]
    risk: Measured | None = None
    loss: float | None = None
    utility: UtilityReport | None = None
    seconds: float = 0.0
    note: str = ""

    @property
    def measured(self) -> bool:
        """Whether both risk and loss are known."""
        return self.risk is not None and self.loss is not None

    def to_json(self) -> dict[str, Any]:
        """A plain form."""
        return {
            "method": self.scenario.method,
            "target": self.scenario.target,
            "promises": self.promises,
            "risk": None if self.risk is None else self.risk.to_json(),
            "loss": self.loss,
            "utility": None if self.utility is None else self.utility.to_json()["mean_l1"],
            "seconds": self.seconds,
            "note": self.note,
        }


@dataclass(frozen=True)
class Comparison:
    """All scenarios, in the order asked."""

    outcomes: tuple[ScenarioOutcome, ...]

    @property
    def frontier(self) -> tuple[ScenarioOutcome, ...]:
        """Those that no other one beats in risk and in loss."""
        known = [outcome for outcome in self.outcomes if outcome.measured]
        return tuple(one for one in known if not any(_beats(other, one) for other in known))

    @property
    def recommended(self) -> ScenarioOutcome | None:
        """The one on the frontier that is nearest to no loss and no risk, each by its range."""
        best = self.frontier
        if not best:
            return None
        losses = np.array([one.loss for one in best], dtype=np.float64)
        risks = np.log10([max(_risk(one), 1e-6) for one in best])
        scaled = [(v - v.min()) / (np.ptp(v) or 1.0) for v in (losses, risks)]
        return best[int((scaled[0] ** 2 + scaled[1] ** 2).argmin())]

    def sentences(self) -> list[str]:
        """The recommendation in words."""
        one = self.recommended
        if one is None or one.loss is None:
            return ["No scenario could be measured; see the notes."]
        lines = [
            f"Recommended: {one.scenario.name}, with {100 * one.loss:.3g} % of the records in the "
            "wrong cell of two-way tables and the "
            f"strongest link right for {100 * _risk(one):.3g} % of people.",
            "It lies on the frontier (nothing here has both less risk and less loss) and is the "
            "nearest there to no risk and no loss.",
        ]
        if len({outcome.scenario.guarantee.name for outcome in self.outcomes}) > 1:
            lines.append(
                "Promises of different methods speak of different adversaries: pk-anonymity holds "
                "against who knows the whole true table, the others against who knows less."
            )
        others = [other for other in self.frontier if other is not one]
        if others:
            names = "; ".join(other.scenario.name for other in others)
            lines.append(f"Also on the frontier, for who weighs otherwise: {names}.")
        beaten = [o for o in self.outcomes if o.measured and o not in self.frontier]
        if beaten:
            names = "; ".join(other.scenario.name for other in beaten)
            lines.append(f"Beaten in both: {names}.")
        return lines

    def to_json(self) -> dict[str, Any]:
        """A plain form."""
        chosen = self.recommended
        return {
            "scenarios": [outcome.to_json() for outcome in self.outcomes],
            "frontier": [outcome.scenario.name for outcome in self.frontier],
            "recommended": None if chosen is None else chosen.scenario.name,
            "recommendation": self.sentences(),
        }


def _risk(outcome: ScenarioOutcome) -> float:
    return outcome.risk.value if outcome.risk is not None else 1.0


def _beats(one: ScenarioOutcome, other: ScenarioOutcome) -> bool:
    """At least as good in both, and better in one."""
    mine, theirs = (_risk(one), one.loss or 0.0), (_risk(other), other.loss or 0.0)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


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
        Scenario(method, f"epsilon = {one:g}", DifferentialPrivacy(epsilon=one))
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
    """What one in k means for what a method aims at."""
    aims = METHODS[method].aims
    if KAnonymity.name in aims:
        return Scenario(method, f"k = {k:g}", KAnonymity(k=int(k)))
    if SpontaneousRecognition.name in aims:
        width = min(WIDTH, len(schema.keys))
        guarantee = SpontaneousRecognition(alpha=1 / k, width=width)
        return Scenario(method, f"alpha = {1 / k:g}", guarantee)
    if CorrectMatch.name in aims:
        return Scenario(method, f"xi = {1 / k:g}", CorrectMatch(xi=1 / k))
    return Scenario(method, f"k = {k:g}", PkAnonymity(k=k))


def compare_scenarios(
    table: Any,
    schema: Schema,
    scenarios: Iterable[Scenario],
    *,
    design: Design,
    protect: Protect,
    threads: int = THREADS,
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Run every scenario on the same table, several at a time.

    The releases are made with a seed, attacked, compared and thrown away: none is published.
    """

    def run(scenario: Scenario) -> ScenarioOutcome:
        outcome = _run(table, schema, scenario, design, protect)
        if progress is not None:
            progress(1)
        return outcome

    with ThreadPoolExecutor(threads) as pool:
        return Comparison(tuple(pool.map(run, scenarios)))


def _run(
    table: Any, schema: Schema, scenario: Scenario, design: Design, protect: Protect
) -> ScenarioOutcome:
    start = time.perf_counter()
    try:
        plan = design(schema, scenario.guarantee, data=table, method=scenario.method)
        release = protect(table, plan, seed=SEED)
    except PramanaError as error:
        return ScenarioOutcome(scenario, {}, note=str(error))
    seconds = time.perf_counter() - start
    claims = release.certificate.claims
    promises = {claim.attained.name: claim.attained.to_json() for claim in claims}
    truth = open_table(table)
    utility = assess_utility(release, truth)
    risk, note = _measured(release, truth, plan.mechanism)
    loss = utility.mean_l1(width=2) or utility.mean_l1(width=1)
    return ScenarioOutcome(scenario, promises, risk, loss / 2, utility, seconds, note)


def _measured(release: Release, truth: Any, mechanism: Mechanism) -> tuple[Measured | None, str]:
    """The strongest of the linking attacks."""
    try:
        audit = audit_release(release, truth, mechanism=mechanism, sensitive=())
    except PramanaError as error:
        return None, str(error)
    found = [measured for measured in audit.measured if measured.name in LINKING]
    return max(found, key=lambda measured: measured.value, default=None), ""
