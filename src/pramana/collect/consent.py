"""What people are told before they answer, in plain words; every number rounded against us."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pramana.base.rounding import log_up
from pramana.base.text import percent_down, percent_up, text_up
from pramana.guarantees.pk_anonymity import PkAnonymity
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy

if TYPE_CHECKING:
    from pramana.collect.definition import Definition
    from pramana.collect.survey import Survey

__all__ = ["consent_of"]

_BY_TURNOUT: Final = (
    (PkAnonymity, "the bound of 1 in k"),
    (ShuffledPrivacy, "the central epsilon"),
)


def consent_of(definition: Definition) -> list[str]:
    """What this version of pramana tells people of a survey."""
    survey = definition.survey
    said = [survey.said("consent"), *_chances(definition), survey.said("consent_use")]
    said += definition.promises(definition.promised())
    said += _panel(definition)
    said += _turnout(definition)
    last = "consent_code" if survey.codes else "consent_once"
    return [*said, survey.said(last if survey.waves == 1 else f"{last}_each")]


def _turnout(definition: Definition) -> list[str]:
    """Which of the promises hang on how many people answer."""
    promised = [
        one
        for one in definition.promised()
        if not isinstance(one, PkAnonymity) or one.hides_anybody
    ]
    names = [words for kind, words in _BY_TURNOUT if any(isinstance(one, kind) for one in promised)]
    if not names:
        return []
    numbers = " and ".join(names)
    once = (
        ""
        if definition.panel is None
        else (" They are of one time by itself: who sees what was sent several times may be surer.")
    )
    return [
        f"{numbers[0].upper()}{numbers[1:]} above hold if {definition.survey.expected:,} people "
        "answer. If fewer do, they are weaker, and the release says by how much. What is said "
        f"of one record by itself (epsilon) holds however many answer.{once}"
    ]


def _chances(definition: Definition) -> list[str]:
    """How likely it is that an answer is sent as it was given."""
    survey, asked = definition.survey, definition.channel.asked
    to, questions = survey.said("to"), len(survey.questions)
    draws = [draw for one in asked for draw in one.draws]
    if not definition.channel.reports:
        each = [chance for draw in draws for chance in draw.kept_answers]
        return [survey.said("consent_each", chance=_between(each, survey))]
    together = _between([draw.kept for draw in draws], survey)
    said = [survey.said("consent_together", chance=together)]
    fewest, most = (end(len(one.columns) for one in asked) for end in (min, max))
    if fewest == questions:  # everybody is asked all of them
        return said
    number = str(fewest) if fewest == most else f"{fewest} {to} {most}"
    return [survey.said("consent_sets", number=number, questions=questions), *said]


def _panel(definition: Definition) -> list[str]:
    """All epsilons of a panel."""
    if definition.panel is None:
        return []
    one = log_up(definition.mechanism.gamma)
    filled = {
        "one": one,
        "alike": definition.panel.epsilon,
        "changing": definition.panel.changing_epsilon,
    }
    told = {mark: text_up(number, 3) for mark, number in filled.items()}
    return [definition.survey.said("consent_panel", waves=definition.survey.waves, **told)]


def _between(kept: Sequence[float], survey: Survey) -> str:
    """The smallest and the largest chance, each rounded so that no more is said than holds.

    What is not certain is never said to be.
    """
    most = max(kept)
    low, high = percent_down(min(kept)), percent_up(most)
    if most < 1 and high == percent_up(1):
        high = survey.said("consent_above", chance=percent_down(most))
        return high if low == percent_down(most) else f"{low} {survey.said('to')} {high}"
    return high if low == high else f"{low} {survey.said('to')} {high}"
