"""From a survey to its definition: the plan by the better of two methods, from metadata alone."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Final

from pramana.collect.cells import MOST_CELLS, cells_over
from pramana.collect.definition import METHODS, Definition
from pramana.collect.panel import two_stages
from pramana.collect.survey import Survey
from pramana.errors import (
    Infeasible,
    InputError,
    InvalidNumber,
    InvalidSchema,
    PramanaError,
    TooLarge,
)
from pramana.guarantees.base import Guarantee
from pramana.guarantees.registry import guarantees_from_options
from pramana.methods.plan import Plan
from pramana.planning import design
from pramana.text import percent_up

__all__ = ["define"]

MOST_KEPT: Final = 0.999
"""Where answers are kept with this probability there is no chance left to speak of."""

FLAG: Final = re.compile(r"--([a-z-]+)")


def define(survey: Survey, source: str) -> tuple[Definition, Plan]:
    """The plan that keeps the promise at the least error on the tables that will be asked for."""
    best = min(_plans(survey), key=_error)
    mechanism, stages = best.mechanism, None
    if survey.all_waves_epsilon is not None:
        mechanism, stages = two_stages(mechanism, survey.all_waves_epsilon)
        if mechanism.gamma == 1 or mechanism.gamma > best.mechanism.gamma:
            raise Infeasible(
                "A panel with so small an epsilon sends nothing but chance: promise a larger one."
            )
    maker = version_of("pramana")
    made = Definition(source, best.method.name, mechanism, stages=stages, maker=maker)
    _require_chance(made)
    return made, best


def _plans(survey: Survey) -> list[Plan]:
    """By each method that can keep the promise and be served; why not, where none can."""
    asked = _asked(survey)
    plans, wrong = list[Plan](), list[PramanaError]()
    for name in (survey.method,) if survey.method else METHODS:
        try:
            plan = design(survey.schema, *asked, records=survey.expected, method=name)
            if cells_over(plan.mechanism) > MOST_CELLS:
                raise TooLarge(
                    f"A survey may have at most {MOST_CELLS:,} cells over all its sets. Ask less, "
                    "or give fewer answers to choose from."
                )
            plans.append(plan)
        except PramanaError as error:
            wrong.append(error)
    if not plans:
        raise wrong[-1]
    return plans


def _asked(survey: Survey) -> list[Guarantee]:
    """What is promised; a refusal names entries of a survey, not options of commands."""
    try:
        return guarantees_from_options(survey.target)
    except InputError as error:
        words = FLAG.sub(lambda flag: flag[1].replace("-", "_"), str(error))
        raise InvalidSchema(words) from None


def _require_chance(definition: Definition) -> None:
    """Refuse a survey in which nobody could say that what was sent was chance."""
    kept = max(draw.kept for one in definition.channel.asked for draw in one.draws)
    if kept >= MOST_KEPT:
        raise InvalidNumber(
            f"Answers would be sent as they were given with a probability of {percent_up(kept)}, "
            "and people are told that it may be chance. Ask for a smaller epsilon or a larger k."
        )


def _error(plan: Plan) -> float:
    """The mean error over the tables asked for, of whichever sets of columns both state."""
    error = plan.expected_error
    if error is None:
        return float("inf")
    widest = max(len(columns) for columns, _ in error.tables)
    wanted = {frozenset(table) for table in plan.schema.tables}
    own = [
        value
        for columns, value in error.tables
        if (frozenset(columns) in wanted if wanted else len(columns) == widest)
    ]
    return sum(own) / len(own) if own else float("inf")
