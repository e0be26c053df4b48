"""What is compared: a method aimed at a target, and what became of it.

Scenarios side by side: promises, what attacks achieve, what is lost, how long it takes.

A target of one in k means for each method what its own guarantee says: k for retention and for
groups, alpha = 1/k for ``optimal``, xi = 1/k for ``inverse-frequency``. Their adversaries differ;
what makes scenarios comparable is measured on the same people: risk is the larger of two shares,
how often the strongest link is right and how many unique records stand in the release word for
word; loss is averaged over what will be asked: what the steward states, or tables of one and of two
keys, keys with other columns, means by key. A single release may be lucky: each scenario is drawn
several times, and loss is the mean, told with how far one release lies from it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from pramana.analysis.release import Release
from pramana.base.measured_share import Measured
from pramana.base.processes import side_by_side
from pramana.base.rounding import require_choice
from pramana.base.text import Shown, as_list, percent, percent_up, plain, text_down, text_up
from pramana.engine.base import open_source
from pramana.errors import Copies, InvalidNumber, NotCovered, PramanaError, unheard
from pramana.evaluation.arguments import schema_of
from pramana.evaluation.audit import audit_release
from pramana.evaluation.questions import (
    QuestionLoss,
    StatedQuestion,
    as_it_is,
    losses_of,
    questions_of,
)
from pramana.evaluation.utility import UtilityReport, assess_utility
from pramana.guarantees.base import Guarantee, Need
from pramana.guarantees.claims import Claim, guarantee_from_json
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.registry import GUARANTEES, central_text
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design, settle_bins
from pramana.methods.context import require_coded
from pramana.protecting import trial_release
from pramana.release.kinds import NewKeys
from pramana.reporting.charts import Point
from pramana.reporting.document import Row
from pramana.reporting.pages import render_comparison
from pramana.risk.unchanged import UnchangedRecords
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.origins import ALL_DECLARED, DataChoices
from pramana.schema.schema import Role, Schema, require_keys
from pramana.types import FloatArray, Form, Progress, TableLike


@dataclass(frozen=True)
class Scenario:
    """One method aimed at one target.

    Attributes:
        method: its name.
        target: in words.
        guarantee: what is asked of it.
        refused: why nothing can be asked of it, if so: other methods are tried all the same.
        responses: numbers that similar records should share, where the method forms groups by them.
        chance: the one in k that it is aimed at, if it is aimed at one.
    """

    method: str
    target: str
    guarantee: Guarantee
    refused: str = ""
    responses: tuple[str, ...] = ()
    chance: float | None = None

    def exposure(self, link: float | None, copies: float) -> float:
        """The share of people at risk: those who are linked, or all where no link could be tried.

        Records that are released unchanged count where the guarantee bounds no link.
        """
        share = 1.0 if link is None else link
        return share if self.guarantee.link_bound is not None else max(share, copies)

    @property
    def name(self) -> str:
        """Method and target in words."""
        return f"{self.title}, {self.target}"

    @property
    def title(self) -> str:
        """The method with its options."""
        return " ".join([self.method, *self.flags[2:]])

    @property
    def flags(self) -> tuple[str, ...]:
        """The method as options of the command line."""
        more = ("--response", as_list(self.responses)) if self.responses else ()
        return ("--method", self.method, *more)

    @property
    def chosen(self) -> str | Method:
        """The method as ``design`` takes it."""
        made: Callable[..., Method] = METHODS[self.method]
        return made(responses=self.responses) if self.responses else self.method


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
        verbatim: how many records stand in the release unchanged.
        seconds: to design and protect.
        measuring: seconds to attack the release and to compare it with the original data.
        note: why there is no outcome, or what was left out.
        choices: what the data decided, where epsilons are stated.
    """

    scenario: Scenario
    promises: dict[str, Form]
    risk: Measured | None = None
    losses: Mapping[str, Sequence[float]] = field(default_factory=dict)
    utility: UtilityReport | None = None
    seconds: float = 0.0
    measuring: float = 0.0
    note: str = ""
    verbatim: UnchangedRecords | None = None
    choices: DataChoices = ALL_DECLARED

    @property
    def exposure(self) -> float:
        """The share of people at risk; 1 where no attack could be measured."""
        copies = 0.0 if self.verbatim is None else self.verbatim.unique_share
        return self.scenario.exposure(None if self.risk is None else self.risk.value, copies)

    @property
    def answers_all(self) -> bool:
        """Whether it was made, and answers every question that was asked."""
        asked = () if self.utility is None else self.utility.asked
        return self.measured and all(question.answered for question in asked)

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
        """Values for JSON."""
        return plain(self, "promises risk verbatim loss spread seconds measuring note") | {
            "method": self.scenario.method,
            "target": self.scenario.target,
            "losses": {kind: float(np.mean(own)) for kind, own in self.losses.items()} or None,
            "read_off": list(self.choices.read),
        }


def compared(*, fixed: bool = False) -> list[str]:
    """The methods that are compared where none is stated: all that aim at a promise.

    With ``fixed`` only those whose promises hold whatever the data are.
    """
    return [
        name for name, own in METHODS.items() if own.aims and not (fixed and own.data_dependent)
    ]


MOST_RESPONSES = 3
"""Columns by whose values groups are formed."""


def responses_of(
    schema: Schema, table: OpenedTable, asked: Sequence[StatedQuestion]
) -> tuple[str, ...]:
    """Unchanged numbers whose means or models are asked for; else all sensitive ones, a few."""
    numbers = [
        column.name
        for column in schema.released_as_is
        if column.role is Role.SENSITIVE and is_number(table.schema.field(column.name).type)
    ]
    wanted = {name for question in asked for name in question.response}
    return tuple([name for name in numbers if name in wanted] or numbers)[:MOST_RESPONSES]


def by_responses(scenarios: Sequence[Scenario], responses: tuple[str, ...]) -> list[Scenario]:
    """Methods that draw keys from members of a group, with groups that are alike in responses."""
    return [
        replace(scenario, responses=responses)
        for scenario in scenarios
        if responses and getattr(METHODS[scenario.method], "new_keys", None) is NewKeys.FROM_MEMBERS
    ]


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
        return Scenario(method, f"1 in {text_down(k, 6)}", one, str(error), chance=1 / k)
    letter = kind.cli_options[0]
    asked = guarantee.shown()[letter.entry].replace(",", "")
    return Scenario(method, f"{letter.field} = {asked}", guarantee, chance=1 / k)


SEED = 20
DRAWS = 3
"""So often is each scenario drawn to tell what is lost; attacked is the first."""

THREADS = 2
LINKING = ("nearest record", "likeliest record")
UNNOTICED = 1e-4
"""Shares below are not told apart: nothing that anyone would notice."""


ONE_CHANCE = (
    "Of the scenarios that answer every question and find no more people than the chance allows, "
    "it loses least; where none does, it finds fewest."
)
"""The rule of every recommendation."""

FRONTIER = (
    "It lies on the frontier (nothing here has both less risk and less loss) and is the "
    "nearest there to the corner of least risk and least loss, both by their logarithms, "
    "from their least to their greatest value; of those that keep the same promise, with a "
    "risk within it, the one with the least loss counts."
)


class Rated(Protocol):
    """A scenario that was tried."""

    @property
    def scenario(self) -> Scenario:
        """The method and its target."""

    @property
    def answers_all(self) -> bool:
        """Whether every question has an answer."""

    @property
    def exposure(self) -> float:
        """The share of people at risk."""

    @property
    def loss(self) -> float | None:
        """What is lost of the answers."""


Tried = TypeVar("Tried", bound=Rated)


def best_of(tried: Iterable[Tried]) -> Tried | None:
    """The one to take of scenarios aimed at one chance; the rule of every recommendation.

    It answers every question, its exposure is within the chance, and its loss is the least. Ties go
    to methods that do not depend on the data. Where none is within the chance, the least exposed.
    """
    able = [one for one in tried if one.answers_all]

    def order(one: Tried) -> tuple[float, bool]:
        lost = 1.0 if one.loss is None else one.loss
        return round(lost, 4), METHODS[one.scenario.method].data_dependent

    within = [one for one in able if one.exposure <= (one.scenario.chance or 0.0)]
    if within:
        return min(within, key=order)
    return min(able, key=lambda one: (one.exposure, *order(one)), default=None)


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """All scenarios, in the order asked."""

    outcomes: tuple[ScenarioOutcome, ...]

    @property
    def refused(self) -> bool:
        """Whether no scenario could be made."""
        return not any(outcome.promises for outcome in self.outcomes)

    @property
    def _one_chance(self) -> bool:
        """Whether all scenarios are aimed at one chance in k."""
        chances = {one.scenario.chance for one in self.outcomes}
        return len(chances) == 1 and None not in chances

    @property
    def frontier(self) -> tuple[ScenarioOutcome, ...]:
        """Those that no other one beats in risk and in loss."""
        known = [outcome for outcome in self.outcomes if outcome.measured]
        return tuple(one for one in known if not any(_beats(other, one) for other in known))

    @property
    def recommended(self) -> ScenarioOutcome | None:
        """The best of one chance; of several, the one on the frontier nearest to its corner.

        The corner is that of least risk and least loss. Both count by their logarithms, from their
        least to their greatest value; as they are, one scenario with a huge loss would make ten
        times the loss of another look small. Of scenarios that keep the same promise and whose risk
        stays within it, the one with the least loss stands for all: what was asked for is met, and
        only loss is left to weigh. Of two that are as near, as any two alone are, the one with less
        risk is taken.
        """
        if self._one_chance:
            return best_of(self.outcomes)
        best = [one for one in self.frontier if not any(_spares(o, one) for o in self.frontier)]
        if not best:
            return None
        shares = np.array([[one.loss or 0.0, one.exposure] for one in best])
        logs = np.log10(np.maximum(shares, UNNOTICED))
        width = np.ptp(logs, axis=0)
        away = (((logs - logs.min(axis=0)) / np.where(width > 0, width, 1)) ** 2).sum(axis=1)
        return best[int(np.lexsort((shares[:, 1], away.round(9)))[0])]

    def sentences(self) -> list[str]:
        """The recommendation in words."""
        one = self.recommended
        if one is None or one.loss is None:
            return self._unable() or ["No scenario could be measured; see the notes."]
        lines = [
            f"Recommended: {one.scenario.name}, with a loss of {_percent(one.loss)} and a risk of "
            f"{_risk(one.exposure)}{_risk_words(one)}.",
            f"Loss is averaged over what will be asked: {_loss_words(one)}; over {DRAWS} draws of "
            "each scenario, ± the standard deviation of one.",
            ONE_CHANCE if self._one_chance else FRONTIER,
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
        choices = DataChoices.together(outcome.choices for outcome in self.outcomes)
        if choices:
            lines.append(f"Of every epsilon here:{choices.sentence()}")
        return [*lines, *self._unable()]

    def _unable(self) -> list[str]:
        """Scenarios that cannot answer a question."""
        return [
            f"{one.scenario.name} cannot answer: {', '.join(unanswered)}."
            for one in self.outcomes
            if one.utility is not None
            and (unanswered := [asked.text for asked in one.utility.asked if not asked.answered])
        ]

    def rows(self) -> tuple[Row, list[Row]]:
        """Heads and rows of a table of text."""
        heads = (
            "method", "target", "attained", "local epsilon", "central epsilon", "strongest link",
            "unique verbatim", "loss", "time", "",
        )  # fmt: skip
        best = self.frontier
        return heads, [_row(outcome, frontier=outcome in best) for outcome in self.outcomes]

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt shows it: the recommendation, then a line a scenario."""
        head, rows = self.rows()
        del head
        lines = [", ".join(entry for entry in map(str, row) if entry) for row in rows]
        return self.sentences()[0], lines

    def to_html(self) -> str:
        """One self-contained HTML page, with the plot."""
        heads, rows = self.rows()
        best = self.frontier
        points = [
            Point(outcome.scenario.name, outcome.loss, outcome.exposure, outcome in best)
            for outcome in self.outcomes
            if outcome.risk is not None and outcome.loss is not None
        ]
        return render_comparison(
            heads=(*heads[:-1], "verdict"), rows=rows, points=points, sentences=self.sentences()
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_json(self) -> Form:
        """Values for JSON."""
        chosen = self.recommended
        return {
            "scenarios": [outcome.to_json() for outcome in self.outcomes],
            "frontier": [outcome.scenario.name for outcome in self.frontier],
            "recommended": None if chosen is None else chosen.scenario.name,
            "recommendation": self.sentences(),
        }


def _row(outcome: ScenarioOutcome, *, frontier: bool) -> Row:
    risk, loss, seen = outcome.risk, outcome.loss, outcome.verbatim
    asked = outcome.promises.get(outcome.scenario.guarantee.name, {})
    name = outcome.scenario.guarantee.name
    shown = guarantee_from_json(name, asked).shown() if asked else {}
    refused = "" if outcome.promises else "refused"
    return (
        outcome.scenario.method,
        outcome.scenario.target,
        ", ".join(f"{key} = {text}" for key, text in shown.items()),
        *_epsilons(outcome.promises),
        "" if risk is None else _risk(risk.value),
        "" if seen is None else _risk(seen.unique_share),
        "" if loss is None else _around(loss, outcome.spread),
        f"{outcome.seconds:.1f} s" if outcome.promises else "",
        "on the frontier" if frontier else refused,
    )


def _epsilons(promises: dict[str, Form]) -> tuple[str, str]:
    """Before the shuffle, and of the release as a whole: the one to compare with other tools."""
    local, central = (
        guarantee_from_json(kind.name, promises[kind.name]) if kind.name in promises else None
        for kind in (DifferentialPrivacy, ShuffledPrivacy)
    )
    return (
        "" if local is None else local.shown()["epsilon"],
        central_text(central) if isinstance(central, ShuffledPrivacy) else "",
    )


def _risk(share: float) -> str:
    return "less than 0.01 %" if 0 < share < UNNOTICED else percent_up(share)


def _percent(share: float) -> str:
    """Small shares as what they are: nothing that anyone would notice."""
    return "less than 0.01 %" if 0 < share < UNNOTICED else percent(share)


def _around(loss: float, spread: float | None) -> str:
    if spread is None or loss < UNNOTICED:
        return _percent(loss)
    return f"{100 * loss:.3g} ± {percent(spread, 2)}"


def _risk_words(one: ScenarioOutcome) -> str:
    if one.risk is None or one.verbatim is None:
        return ""
    return (
        f": the strongest link is right for {_risk(one.risk.value)} of people, and "
        f"{_risk(one.verbatim.unique_share)} of the unique records stand in the release word "
        "for word"
    )


def _loss_words(one: ScenarioOutcome) -> str:
    losses = {kind: float(np.mean(own)) for kind, own in one.losses.items()}
    return ", ".join(f"{kind} {_percent(loss)}" for kind, loss in losses.items()) or "nothing"


def _beats(one: ScenarioOutcome, other: ScenarioOutcome) -> bool:
    """At least as good in both, and better in one."""
    mine, theirs = (one.exposure, one.loss or 0.0), (other.exposure, other.loss or 0.0)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]


def _spares(one: ScenarioOutcome, other: ScenarioOutcome) -> bool:
    """Whether it loses less at the same promise, with risks that both stay within it."""
    promise = one.scenario.guarantee
    if promise != other.scenario.guarantee or promise.link_bound is None:
        return False
    within = max(one.exposure, other.exposure) <= promise.link_bound
    return within and (one.loss or 0.0) < (other.loss or 0.0)


def compare(
    table: TableLike,
    schema: Schema | str | Path,
    *,
    k: Sequence[float] = (),
    epsilon: Sequence[float] = (),
    methods: Sequence[str] = (),
    asked: Sequence[str] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Try several targets and methods on a table, and put them side by side.

    Each scenario is designed, protected, attacked and compared with the original data in memory.
    One in k means alpha = 1/k for method ``optimal`` and xi = 1/k for ``inverse-frequency``.

    Args:
        table: the original data: a file or data frame.
        schema: what each column is.
        k: targets.
        epsilon: targets.
        methods: which to try, by name; where not given, all that aim at a promise, or with
            ``epsilon`` those whose promises hold whatever the data are.
        asked: what will be asked, and loss is averaged over: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``. Else the tables that the schema
            states, else tables and means of the keys.
        progress: is told of each scenario done.
    """
    schema = schema_of(schema)
    tried = methods or compared(fixed=bool(epsilon))
    scenarios = scenarios_of(schema, methods=tried, k=k, epsilon=epsilon)
    opened = open_source(table, schema=schema)
    require_keys(schema)
    schema = settle_bins(schema)
    require_coded(schema, opened)
    questions = questions_of(asked, schema)
    if asked:
        scenarios += tuple(by_responses(scenarios, responses_of(schema, opened, questions)))
    schema = replace(schema, tables=tuple(dict.fromkeys(own.columns for own in questions)))

    def made(own: Schema, method: Method) -> Release:
        return trial_release(opened, design(own, data=opened, method=method), seed=SEED)

    with unheard(Warning):  # nothing is promised, and nothing leaves
        exact = as_it_is(schema, made) if questions else None

    def lost(release: Release) -> tuple[QuestionLoss, ...]:
        return losses_of(release, exact, questions)

    def run(scenario: Scenario) -> ScenarioOutcome:
        outcome = _run(opened, schema, scenario, lost)
        if progress is not None:
            progress(1)
        return outcome

    # Each scenario's note says it, with its name.
    with unheard(Copies), side_by_side(THREADS) as pool:
        return Comparison(tuple(pool.map(run, scenarios)))


def _run(
    table: OpenedTable,
    schema: Schema,
    scenario: Scenario,
    lost: Callable[[Release], tuple[QuestionLoss, ...]],
) -> ScenarioOutcome:
    if scenario.refused:
        return ScenarioOutcome(scenario, {}, note=scenario.refused)
    start = time.perf_counter()
    try:
        plan = design(schema, scenario.guarantee, data=table, method=scenario.method)
        release = trial_release(table, plan, seed=SEED)
    except PramanaError as error:
        return ScenarioOutcome(scenario, {}, note=str(error))
    seconds = time.perf_counter() - start
    # A seed takes some promises away; one that is published has none, so that the plan's count too.
    claims = (*plan.published, *release.certificate.claims)
    promises = {claim.attained.name: claim.attained.to_json() for claim in claims}
    fixed = any(Need.FIXED_MATRICES in claim.attained.needs for claim in claims)
    choices = DataChoices.of(plan.schema) if fixed else ALL_DECLARED
    done = ScenarioOutcome(scenario, promises, seconds=seconds, choices=choices)
    try:
        utility = replace(assess_utility(release, table), asked=lost(release))
        again = (trial_release(table, plan, seed=SEED + draw) for draw in range(1, DRAWS))
        parts = [utility.losses, *(_losses(own, table, lost(own)) for own in again)]
        losses = {kind: [part[kind] for part in parts] for kind in utility.losses}
        done = replace(done, utility=utility, losses=losses)
        audit = audit_release(release, table, mechanism=plan.mechanism, sensitive=(), belongs=True)
    except PramanaError as error:
        return replace(done, measuring=time.perf_counter() - start - seconds, note=str(error))
    done = replace(done, measuring=time.perf_counter() - start - seconds)
    links = [measured for measured in audit.measured if measured.name in LINKING]
    strongest = max(links, key=lambda measured: measured.value, default=None)
    said = _copied(audit.verbatim, claims) if links else " ".join(audit.notes)
    return replace(done, risk=strongest, verbatim=audit.verbatim, note=said)


def _losses(
    release: Release, table: OpenedTable, asked: tuple[QuestionLoss, ...]
) -> dict[str, float]:
    """What another draw loses: of the steward's questions, where there are some."""
    whole = UtilityReport((), None) if asked else assess_utility(release, table)
    return replace(whole, asked=asked).losses


def _copied(seen: UnchangedRecords | None, claims: Sequence[Claim]) -> str:
    """What a reader of the promises would not expect of the copies."""
    bounds = [claim.attained.suggests for claim in claims if claim.attained.suggests is not None]
    return (seen.warning(min(bounds, default=None)) or "") if seen is not None else ""
