"""Trials: a method aimed at a target, released in memory, asked and attacked; the one to take.

``advise``, ``compare`` and the studio share trials and one rule of recommendation. A target of one
in k means for each method what its own guarantee says: k for retention and for groups, alpha = 1/k
for ``optimal``, xi = 1/k for ``inverse-frequency``. Their adversaries differ. What makes trials
comparable is measured on the same people: risk is the larger of two shares, how often the strongest
link is right and how many unique records are released unchanged; loss is averaged over the
questions. A single release may be lucky, so that questions are asked of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace

import numpy as np

from pramana.analysis.release import Release
from pramana.base.measured_share import Measured
from pramana.base.processes import side_by_side
from pramana.base.rounding import require_choice
from pramana.base.text import as_list, percent_up, text_down, text_up
from pramana.base.translation import gettext, numeral
from pramana.errors import Copies, InvalidNumber, NotCovered, PramanaError, unheard
from pramana.evaluation.audit import QUICK, link_risks
from pramana.evaluation.questions import (
    SEED,
    Answer,
    Errors,
    QuestionLoss,
    StatedQuestion,
    typical,
)
from pramana.guarantees.base import Guarantee, Need
from pramana.guarantees.claims import GUARANTEES
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.methods.base import METHODS, Method
from pramana.methods.choice import design, settle_bins
from pramana.methods.context import require_coded
from pramana.methods.microaggregated import Grouped
from pramana.methods.plan import Plan
from pramana.microaggregation.groups import shared_groups
from pramana.protecting import trial_release
from pramana.release.kinds import NewKeys
from pramana.risk.unchanged import UnchangedRecords, measure_unchanged
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.origins import ALL_DECLARED, DataChoices
from pramana.schema.schema import Schema, require_keys
from pramana.types import FloatArray, Form, Progress
from pramana.verification.whole_file import (
    Colour,
    FileRisk,
    Publishable,
    unchanged_by_chance,
    verdict_of,
)

DRAWS = 3
"""Releases that are asked; the first one is attacked."""

THREADS = 2
LINKING = ("nearest record", "likeliest record")

MOST_RESPONSES = 3
"""Columns by whose values groups are formed."""

LARGER = (5, 20)
"""Sizes of groups that are tried as multiples of k."""

MOST_LARGER = 3
"""Methods that are tried with larger groups."""

TAKES_LONGER = "not tried here, it takes more than a minute with {}."


@dataclass(frozen=True)
class Scenario:
    """One method aimed at one target.

    Attributes:
        method: its name.
        target: in words.
        guarantee: what is asked of it.
        refused: why nothing can be asked of it; other methods are tried all the same.
        responses: numbers that similar records should share, where the method forms groups by them.
        min_size: the least size of a group, where it is larger than the target asks for.
        chance: the one in k that it is aimed at, if it is aimed at one.
    """

    method: str
    target: str
    guarantee: Guarantee
    refused: str = ""
    responses: tuple[str, ...] = ()
    min_size: int | None = None
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
        larger = ("--min-size", str(self.min_size)) if self.min_size else ()
        return ("--method", self.method, *more, *larger)

    @property
    def chosen(self) -> str | Method:
        """The method as ``design`` takes it."""
        made: Callable[..., Method] = METHODS[self.method]
        if not self.responses and not self.min_size:
            return self.method
        return made(responses=self.responses, min_size=self.min_size)


@dataclass(frozen=True)
class MethodTrial:
    """What became of a scenario.

    Attributes:
        scenario: what was tried.
        plan: the design; ``None`` where it was refused.
        attained: each attained guarantee by name, with its numbers.
        questions: what is lost of each question, on average over the draws.
        losses: what is lost of each kind of question, 0 to 1: one figure a draw.
        answers: tables of the first draw next to the original data.
        errors: of these tables, over several releases where chance decides much.
        risk: the strongest linking attack; ``None`` where none could be measured.
        unchanged: how many records are released unchanged.
        by_chance: the share of unique records that would be if keys were assigned at random.
        seconds: to design and protect.
        measuring: seconds to attack the release and to compare it with the original data.
        note: why there is no outcome, or what was left out.
        choices: what the data decided, where an epsilon is stated.
        refusal: the error by which it was refused.
        left_out: whether it was not tried, as it would take long.
        verdict: the colour that a release would have, and why.
    """

    scenario: Scenario
    plan: Plan | None = None
    attained: Mapping[str, Form] = field(default_factory=dict)
    questions: tuple[QuestionLoss, ...] = ()
    losses: Mapping[str, Sequence[float]] = field(default_factory=dict)
    answers: tuple[Answer, ...] = ()
    errors: Errors = field(default_factory=dict)
    risk: Measured | None = None
    unchanged: UnchangedRecords | None = None
    by_chance: float = 0.0
    seconds: float = 0.0
    measuring: float = 0.0
    note: str = ""
    choices: DataChoices = ALL_DECLARED
    refusal: PramanaError | None = None
    left_out: bool = False
    verdict: Publishable | None = None

    @property
    def method(self) -> type[Method]:
        """The method."""
        return METHODS[self.scenario.method]

    @property
    def _draws(self) -> FloatArray:
        """The loss of each draw: every kind of question counts once."""
        draws: FloatArray = np.mean(list(self.losses.values()), axis=0)
        return draws

    @property
    def loss(self) -> float | None:
        """What is lost of the answers, on average; of a typical table where none was asked for."""
        if self.losses:
            return float(self._draws.mean())
        errors = {answer.columns: 1.0 for answer in self.answers} | dict(self.errors)
        return typical(errors, errors)

    @property
    def error(self) -> float:
        """The loss; all where nothing was made."""
        return 1.0 if self.loss is None else self.loss

    @property
    def spread(self) -> float | None:
        """The standard deviation of the loss of one release."""
        return float(self._draws.std(ddof=1)) if self.losses and len(self._draws) > 1 else None

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The questions that a release by this method cannot answer."""
        if self.questions:
            return tuple(question.text for question in self.questions if not question.answered)
        return tuple(answer.name for answer in self.answers if answer.released is None)

    @property
    def answers_all(self) -> bool:
        """Whether it was made, and answers every question."""
        return self.loss is not None and not self.unanswered

    @property
    def link(self) -> float | None:
        """How often the strongest link is right."""
        return None if self.risk is None else self.risk.value

    @property
    def copies(self) -> float | None:
        """The share of unique records that are released unchanged."""
        return None if self.unchanged is None else self.unchanged.unique_share

    @property
    def exposure(self) -> float:
        """The share of people at risk; 1 where no attack could be measured."""
        return self.scenario.exposure(self.link, self.copies or 0.0)

    @property
    def precise(self) -> bool:
        """Whether the typical relative error of each question is small."""
        errors = [one.loss if one.median is None else one.median for one in self.questions]
        return max(errors, default=self.error) <= PRECISE

    @property
    def usable(self) -> bool:
        """Whether its answers leave something to learn: each question, else a typical table."""
        return self.precise if self.questions else self.error <= USABLE

    @property
    def publishable(self) -> bool:
        """Whether its release would be green; where no verdict is known, changes records."""
        if self.verdict is None:
            return self.changes_records
        return self.verdict.colour is Colour.GREEN

    @property
    def changes_records(self) -> bool:
        """Whether hardly more unique records are released unchanged than the chance allows."""
        chance = self.scenario.chance or 0.0
        return (self.copies or 0.0) <= chance + (1 - chance) * self.by_chance

    @property
    def measured(self) -> bool:
        """Whether both risk and loss are known."""
        return self.risk is not None and self.loss is not None


# -- scenarios -------------------------------------------------------------------------------------


def compared(*, fixed: bool = False) -> list[str]:
    """The methods that are compared where none is stated: all that aim at a guarantee.

    With ``fixed`` only those whose guarantees hold whatever the data are.
    """
    return [
        name
        for name, method in METHODS.items()
        if method.aims and not (fixed and method.data_dependent)
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
    scenarios = [_one_in_k(method, number, schema) for method in methods for number in k]
    scenarios += [
        Scenario(method, f"epsilon = {text_up(number, 6)}", DifferentialPrivacy(epsilon=number))
        for method in methods
        for number in epsilon
        if DifferentialPrivacy.name in METHODS[method].aims
    ]
    if not scenarios:
        raise InvalidNumber(
            "A comparison needs methods and targets: --k 10,100 --method retention."
        )
    return tuple(scenarios)


def _one_in_k(method: str, k: float, schema: Schema) -> Scenario:
    """A scenario by the guarantee that the method aims at; without one it is checked for k."""
    aims = METHODS[method].aims
    kind = GUARANTEES[aims[0]] if aims else PkAnonymity
    try:
        guarantee = kind.one_in(k, schema=schema)
    except NotCovered as error:
        reference = PkAnonymity.one_in(k)
        return Scenario(method, f"1 in {text_down(k, 6)}", reference, str(error), chance=1 / k)
    option = kind.cli_options[0]
    asked = guarantee.shown()[option.entry].replace(",", "")
    return Scenario(method, f"{option.field} = {asked}", guarantee, chance=1 / k)


def response_scenarios(
    scenarios: Sequence[Scenario],
    schema: Schema,
    table: OpenedTable,
    questions: Sequence[StatedQuestion],
) -> list[Scenario]:
    """Methods that draw keys from members of a group, with groups that are alike in responses.

    Responses are the unchanged numbers whose means or models are asked for, else all sensitive
    ones, a few.
    """
    numbers = [
        column.name
        for column in schema.released_as_is
        if not column.role.traits.known and is_number(table.schema.field(column.name).type)
    ]
    wanted = {name for question in questions for name in question.response}
    responses = tuple([name for name in numbers if name in wanted] or numbers)[:MOST_RESPONSES]
    return [
        replace(scenario, responses=responses)
        for scenario in scenarios
        if responses and getattr(METHODS[scenario.method], "new_keys", None) is NewKeys.FROM_MEMBERS
    ]


def larger_groups(trials: Sequence[MethodTrial]) -> list[Scenario]:
    """Larger groups, where the best method leaves too many unique records unchanged.

    Members of a larger group have equal keys less often.
    """
    best, chances = best_of(trials), {trial.scenario.chance for trial in trials}
    if best is None or best.publishable or len(chances) > 1:
        return []
    grouped = [t for t in trials if t.answers_all and t.precise and issubclass(t.method, Grouped)]
    grouped.sort(key=lambda trial: trial.copies or 0.0)
    return [
        replace(trial.scenario, min_size=round(times / trial.scenario.chance))
        for trial in grouped[:MOST_LARGER]
        for times in LARGER
        if trial.scenario.chance
    ]


# -- trials ----------------------------------------------------------------------------------------


def settled(schema: Schema, table: OpenedTable) -> Schema:
    """The schema as methods take it: with keys, bins and codes that fit the table."""
    require_keys(schema)
    schema = settle_bins(schema)
    require_coded(schema, table)
    return schema


def run_trials(
    try_one: Callable[[Scenario], MethodTrial],
    scenarios: Sequence[Scenario],
    progress: Progress | None,
) -> list[MethodTrial]:
    """All trials, in worker threads; the share of copies is in each trial."""

    def tried(scenario: Scenario) -> MethodTrial:
        trial = try_one(scenario)
        if progress is not None:
            progress(1)
        return trial

    with unheard(Copies), shared_groups(), side_by_side(THREADS) as pool:
        running = [pool.submit(copy_context().run, tried, scenario) for scenario in scenarios]
        return [trial.result() for trial in running]


def try_scenario(
    table: OpenedTable,
    schema: Schema,
    scenario: Scenario,
    ask: Callable[[Plan, Release], Form],
    *,
    quick: bool = False,
    risk: FileRisk | None = None,
) -> MethodTrial:
    """Design, protect, ask and attack.

    Args:
        table: the original data.
        schema: what each column is.
        scenario: method and target.
        ask: asks a release; returns fields of the trial: questions, losses, answers, errors.
        quick: whether slow methods are left out, and only some people are attacked.
        risk: of the unchanged columns, for a verdict on the release.
    """
    if scenario.refused:
        return MethodTrial(scenario, note=scenario.refused)
    slow = METHODS[scenario.method].slow_reason(schema, table.rows) if quick else ""
    if slow:
        return MethodTrial(scenario, note=TAKES_LONGER.format(slow), left_out=True)
    start = time.perf_counter()
    try:
        plan = design(schema, scenario.guarantee, data=table, method=scenario.chosen)
        release = trial_release(table, plan, seed=SEED)
    except PramanaError as error:
        return MethodTrial(scenario, note=str(error), refusal=error)
    made = time.perf_counter()
    # A seed takes some guarantees away; a published release has none, so that the plan's count too.
    claims = (*plan.published, *release.certificate.claims)
    promises = {claim.attained.name: claim.attained.to_json() for claim in claims}
    fixed = any(Need.FIXED_MATRICES in claim.attained.needs for claim in claims)
    choices = DataChoices.of(plan.schema) if fixed else ALL_DECLARED
    trial = MethodTrial(scenario, plan, promises, seconds=made - start, choices=choices)
    certificate = release.certificate
    try:
        trial = replace(trial, **ask(plan, release))
        unchanged = measure_unchanged(certificate.true_schema, table, release.opened)
        trial = replace(trial, unchanged=unchanged)
        if not trial.changes_records:
            by_chance, _ = unchanged_by_chance(certificate.true_schema, release.opened)
            trial = replace(trial, by_chance=by_chance)
        if risk is not None:
            published = replace(
                certificate, claims=plan.published, reproducible=False, accepted_risk=()
            )
            whole = replace(risk, by_chance=trial.by_chance, alone=unchanged.uniques)
            verdict = verdict_of(published, whole)
            trial = replace(trial, verdict=verdict)
        attacks = link_risks(
            release,
            table,
            mechanism=certificate.mechanism or plan.mechanism,
            most=QUICK if quick else None,
        )
        links = [attack for attack in attacks if attack.name in LINKING]
        trial = replace(trial, risk=max(links, key=lambda link: link.value, default=None))
    except PramanaError as error:
        trial = replace(trial, note=str(error), refusal=error)
    return replace(trial, measuring=time.perf_counter() - made)


def asked_in_draws(
    plan: Plan,
    table: OpenedTable,
    release: Release,
    exact: Release,
    questions: Sequence[StatedQuestion],
) -> Form:
    """Fields of a trial: what several releases by a plan lose of the questions."""
    again = (trial_release(table, plan, seed=SEED + draw) for draw in range(1, DRAWS))
    draws = [
        [question.loss_of(drawn, exact) for question in questions] for drawn in (release, *again)
    ]
    kinds = dict.fromkeys(question.kind for question in questions)
    return {
        "questions": tuple(QuestionLoss.mean_of(question) for question in zip(*draws, strict=True)),
        "losses": {
            f"{kind} asked for": [
                float(np.mean([loss.loss for loss in draw if loss.kind == kind])) for draw in draws
            ]
            for kind in kinds
        },
    }


def in_percent(share: float, rounded: Callable[[float], str] = percent_up) -> str:
    """A share of people or records, rounded up unless stated; tiny ones by their bound."""
    if 0 < share < UNNOTICED:
        return gettext("less than {least:g} %", least=100 * UNNOTICED)
    return numeral(rounded(share))


UNNOTICED = 1e-4
"""Shares below this are treated as equal."""

USABLE = 0.3
"""Error of a typical table, at most, of a method that is recommended without questions."""

PRECISE = 0.1
"""Median error of each question, at most, of a method that is recommended."""

ONE_CHANCE = (
    "The recommended scenario answers every question and identifies at most one person in k. "
    f"Scenarios with errors of at most {100 * PRECISE:g} % in every question come first. Among "
    "them, the one with the least loss is taken whose release is green, or else the one that "
    "leaves fewest unique records unchanged. If no scenario meets 1/k, the one that identifies "
    "fewest people is taken."
)
"""The rule of every recommendation."""


def best_of(trials: Iterable[MethodTrial]) -> MethodTrial | None:
    """The one to take of scenarios aimed at one chance; the rule of every recommendation.

    It answers every question, its exposure is within the chance, and its loss is the least. Ties go
    to methods that do not depend on the data. Methods whose releases are green and lose little come
    first, then those that lose little and leave fewest unique records unchanged. Where none is
    within the chance, the least exposed.
    """
    able = [trial for trial in trials if trial.answers_all]

    def order(trial: MethodTrial) -> tuple[float, bool]:
        return round(trial.error, 4), trial.method.data_dependent

    within = [trial for trial in able if trial.exposure <= (trial.scenario.chance or 0.0)]
    precise = [trial for trial in within if trial.precise]
    green = [trial for trial in precise if trial.publishable]
    if precise and not green:
        return min(precise, key=lambda trial: (round(trial.copies or 0.0, 2), *order(trial)))
    if within:
        return min(green or within, key=order)
    return min(able, key=lambda trial: (trial.exposure, *order(trial)), default=None)
