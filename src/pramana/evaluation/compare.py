"""Comparison of scenarios: guarantees, what attacks achieve, what is lost, how long it takes.

Loss is averaged over the planned analyses: what the steward states, or tables of one and of two
keys, keys with other columns, means by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pramana.analysis.release import Release
from pramana.base.text import Shown, counted, percent
from pramana.engine.base import open_source
from pramana.evaluation.audit import schema_of
from pramana.evaluation.questions import SEED, exact_release, questions_of
from pramana.evaluation.trials import (
    DRAWS,
    ONE_CHANCE,
    UNNOTICED,
    MethodTrial,
    Scenario,
    asked_in_draws,
    best_of,
    compared,
    in_percent,
    larger_groups,
    response_scenarios,
    run_trials,
    scenarios_of,
    settled,
    try_scenario,
)
from pramana.evaluation.utility import assess_utility
from pramana.guarantees.claims import central_text, guarantee_from_json
from pramana.guarantees.differential_privacy import DifferentialPrivacy
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy
from pramana.methods.plan import Plan
from pramana.protecting import trial_release
from pramana.reporting.document import Chapter, Document, Grid, Row, Words, to_html
from pramana.reporting.report_charts import Point, frontier
from pramana.schema.origins import DataChoices
from pramana.schema.schema import Schema
from pramana.types import Form, Progress, TableLike

FRONTIER = (
    "It lies on the frontier: no other scenario has both less risk and less loss. On the frontier "
    "it is nearest to the corner of least risk and least loss, on logarithmic scales. Of scenarios "
    "that meet the same guarantee, only the one with the least loss is considered."
)
CLOSING = "For the owner of the data: contains figures of the original data. Do not publish."


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """All scenarios, in the order asked."""

    outcomes: tuple[MethodTrial, ...]

    @property
    def refused(self) -> bool:
        """Whether no scenario could be made."""
        return not any(trial.attained for trial in self.outcomes)

    @property
    def _one_chance(self) -> bool:
        """Whether all scenarios are aimed at one chance in k."""
        chances = {trial.scenario.chance for trial in self.outcomes}
        return len(chances) == 1 and None not in chances

    @property
    def frontier(self) -> tuple[MethodTrial, ...]:
        """Those that no other one beats in risk and in loss."""
        known = [trial for trial in self.outcomes if trial.measured]
        return tuple(one for one in known if not any(_beats(other, one) for other in known))

    @property
    def recommended(self) -> MethodTrial | None:
        """The best scenario, if its errors leave something to learn."""
        best = self.best
        return best if best is not None and best.usable else None

    @property
    def best(self) -> MethodTrial | None:
        """The best of one chance; of several, the one on the frontier nearest to its corner.

        The corner is that of least risk and least loss. Both count by their logarithms, from their
        least to their greatest value: otherwise one scenario with a huge loss would make ten times
        the loss of another look small. Of scenarios with the same guarantee and a risk within it
        only the one with the least loss counts: what was asked for is met, and only loss is left to
        weigh. Of two that are as near, as any two alone are, the one with less risk is taken.
        """
        if self._one_chance:
            return best_of(self.outcomes)
        best = [one for one in self.frontier if not any(_spares(o, one) for o in self.frontier)]
        if not best:
            return None
        shares = np.array([[trial.error, trial.exposure] for trial in best])
        logs = np.log10(np.maximum(shares, UNNOTICED))
        width = np.ptp(logs, axis=0)
        distance = (((logs - logs.min(axis=0)) / np.where(width > 0, width, 1)) ** 2).sum(axis=1)
        return best[int(np.lexsort((shares[:, 1], distance.round(9)))[0])]

    def sentences(self) -> list[str]:
        """The recommendation in words."""
        best = self.best
        unable = [
            f"{trial.scenario.name} cannot answer: {', '.join(trial.unanswered)}."
            for trial in self.outcomes
            if trial.unanswered
        ]
        if best is None or best.loss is None:
            return unable or ["No scenario could be measured; see the notes."]
        details = ""
        if best.link is not None and best.copies is not None:
            details = (
                f": the strongest link is right for {in_percent(best.link)} of people, and "
                f"{in_percent(best.copies)} of the unique records are released unchanged"
            )
        means = {kind: float(np.mean(draws)) for kind, draws in best.losses.items()}
        by_kind = ", ".join(f"{kind} {in_percent(loss, percent)}" for kind, loss in means.items())
        verdict = (
            "Recommended:" if best.usable else "Not publishable: no scenario is usable. The best is"
        )
        lines = [
            f"{verdict} {best.scenario.name}, with a loss of {in_percent(best.loss, percent)} "
            f"and a risk of {in_percent(best.exposure)}{details}.",
            f"Loss is the mean over the planned analyses ({by_kind or 'none'}) and over {DRAWS} "
            "releases of each scenario, ± the standard deviation of one release.",
            ONE_CHANCE if self._one_chance else FRONTIER,
        ]
        if len({trial.scenario.guarantee.name for trial in self.outcomes}) > 1:
            lines.append(
                "Guarantees of different methods assume different attackers. Only Pk-anonymity "
                "assumes an attacker who knows the original data."
            )
        others = [trial.scenario.name for trial in self.frontier if trial is not best]
        if others:
            lines.append(f"Also on the frontier, for other preferences: {'; '.join(others)}.")
        beaten = [t.scenario.name for t in self.outcomes if t.measured and t not in self.frontier]
        if beaten:
            lines.append(f"Worse in both: {'; '.join(beaten)}.")
        choices = DataChoices.together(trial.choices for trial in self.outcomes)
        if choices:
            lines.append(f"This holds for every epsilon:{choices.sentence()}")
        return [*lines, *unable]

    def rows(self) -> tuple[Row, list[Row]]:
        """Heads and rows of a table of text."""
        heads = (
            "method", "target", "attained", "local epsilon", "central epsilon", "strongest link",
            "unique, unchanged", "loss", "time", "",
        )  # fmt: skip
        best = self.frontier
        return heads, [_row(trial, frontier=trial in best) for trial in self.outcomes]

    def shown(self) -> tuple[str, list[str]]:
        """As the prompt shows it: the recommendation, then a line a scenario."""
        _, rows = self.rows()
        return self.sentences()[0], [", ".join(filter(None, row)) for row in rows]

    def to_html(self) -> str:
        """One self-contained HTML page, with the plot."""
        heads, rows = self.rows()
        best = self.frontier
        points = [
            Point(trial.scenario.name, trial.loss, trial.exposure, trial in best)
            for trial in self.outcomes
            if trial.risk is not None and trial.loss is not None
        ]
        reading = Words("Filled: on the frontier. Loss to the right, risk upwards.", "quiet")
        plot = frontier("frontier", points, title="Risk and loss of each scenario")
        table = Grid(
            (*heads[:-1], "verdict"), tuple(rows), "Guarantees, attacks and losses", numbers=2
        )
        parts = (
            Chapter("recommendation", "Recommendation", tuple(map(Words, self.sentences()))),
            Chapter("plot", "Risk and loss", (reading, plot)),
            Chapter("scenarios", "All scenarios", (table,)),
        )
        first = (Words(f"{counted(len(rows), 'scenario')} on the same table.", "big"),)
        return to_html(Document("Comparison of scenarios", (), first, parts, CLOSING))

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_json(self) -> Form:
        """Values for JSON."""
        best = self.recommended
        return {
            "scenarios": [_form(trial) for trial in self.outcomes],
            "frontier": [trial.scenario.name for trial in self.frontier],
            "recommended": None if best is None else best.scenario.name,
            "recommendation": self.sentences(),
        }


def _form(trial: MethodTrial) -> Form:
    return {
        "method": trial.scenario.method,
        "target": trial.scenario.target,
        "attained_guarantees": dict(trial.attained),
        "risk": None if trial.risk is None else trial.risk.to_json(),
        "unchanged_records": None if trial.unchanged is None else trial.unchanged.to_json(),
        "losses": {kind: float(np.mean(draws)) for kind, draws in trial.losses.items()} or None,
        "loss": trial.loss,
        "spread": trial.spread,
        "seconds": trial.seconds,
        "measuring": trial.measuring,
        "note": trial.note,
        "read_off": list(trial.choices.read),
    }


def _row(trial: MethodTrial, *, frontier: bool) -> Row:
    guarantees = {
        name: guarantee_from_json(name, numbers) for name, numbers in trial.attained.items()
    }
    asked = guarantees.get(trial.scenario.guarantee.name)
    attained = {} if asked is None else asked.shown()
    local = guarantees.get(DifferentialPrivacy.name)
    central = guarantees.get(ShuffledPrivacy.name)
    loss = ""
    if trial.loss is not None:
        loss = in_percent(trial.loss, percent)
        if trial.spread is not None and trial.loss >= UNNOTICED:
            loss = f"{100 * trial.loss:.3g} ± {percent(trial.spread, 2)}"
    return (
        trial.scenario.method,
        trial.scenario.target,
        ", ".join(f"{key} = {text}" for key, text in attained.items()),
        "" if local is None else local.shown()["epsilon"],
        central_text(central) if isinstance(central, ShuffledPrivacy) else "",
        "" if trial.link is None else in_percent(trial.link),
        "" if trial.copies is None else in_percent(trial.copies),
        loss,
        f"{trial.seconds:.1f} s" if trial.attained else "",
        "on the frontier" if frontier else "" if trial.attained else "refused",
    )


def _beats(one: MethodTrial, other: MethodTrial) -> bool:
    """At least as good in both, and better in one."""
    ours, theirs = (one.exposure, one.error), (other.exposure, other.error)
    return ours != theirs and ours[0] <= theirs[0] and ours[1] <= theirs[1]


def _spares(one: MethodTrial, other: MethodTrial) -> bool:
    """Whether it loses less under the same guarantee, with risks that both stay within it."""
    guarantee = one.scenario.guarantee
    if guarantee != other.scenario.guarantee or guarantee.link_bound is None:
        return False
    return max(one.exposure, other.exposure) <= guarantee.link_bound and one.error < other.error


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
        methods: which to try, by name; where not given, all that aim at a guarantee, or with
            ``epsilon`` those whose guarantees hold whatever the data are.
        asked: what will be asked, and loss is averaged over: tables as ``sex*age``, means as
            ``income by region``, models as ``income ~ age + sex``. Else the tables that the schema
            states, else tables and means of the keys.
        progress: is called after each scenario.
    """
    schema = schema_of(schema)
    tried = methods or compared(fixed=bool(epsilon))
    scenarios = scenarios_of(schema, methods=tried, k=k, epsilon=epsilon)
    opened = open_source(table, schema=schema)
    schema = settled(schema, opened)
    questions = questions_of(asked, schema)
    if asked:
        scenarios += tuple(response_scenarios(scenarios, schema, opened, questions))
    schema = replace(
        schema, tables=tuple(dict.fromkeys(question.columns for question in questions))
    )
    exact = exact_release(schema, opened) if questions else None

    def ask(plan: Plan, release: Release) -> Form:
        if exact is not None:
            return asked_in_draws(plan, opened, release, exact, questions)
        again = (trial_release(opened, plan, seed=SEED + draw) for draw in range(1, DRAWS))
        draws = [assess_utility(made, opened).losses for made in (release, *again)]
        return {"losses": {kind: [draw[kind] for draw in draws] for kind in draws[0]}}

    def run(scenario: Scenario) -> MethodTrial:
        trial = try_scenario(opened, schema, scenario, ask)
        if trial.plan is not None and trial.risk is not None and trial.unchanged is not None:
            bounds = [claim.attained.suggests for claim in trial.plan.published]
            bound = min((bound for bound in bounds if bound is not None), default=None)
            trial = replace(trial, note=trial.unchanged.warning(bound) or "")
        return trial

    outcomes = run_trials(run, scenarios, progress)
    if not methods:
        larger = run_trials(run, larger_groups(outcomes), progress)
        outcomes += [trial for trial in larger if trial.attained]
    return Comparison(tuple(outcomes))
