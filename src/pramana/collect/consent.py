"""What people read on the page and agree to.

The probability that a real answer is sent comes from the matrices. Its range is rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from pramana.base.rounding import log_up
from pramana.base.text import percent_down, percent_up, text_up

if TYPE_CHECKING:
    from pramana.collect.definition import Definition
    from pramana.collect.survey import Survey

NOT_SAID: Final = "prefer not to say"
"""The answer of a person who prefers not to answer."""

SKIPPED: Final = "does not apply"
"""The answer to a question that a person is not asked, by the answers before it."""

WORDS: Final = {
    "promise": "Before you begin",
    "more": "More about your data, and the guarantees in numbers",
    "identity": "This survey:",
    "code": "Your invitation code",
    "code_needed": "Enter the code from your invitation.",
    "code_unknown": "This code is not known here. Look at your invitation again.",
    "code_used": "This code has answered before. It answers once, and nothing more is sent.",
    "code_again": "This code has begun on this device before, and is asked what it was asked "
    "then. Nothing was sent: please begin again.",
    "begin": "Begin",
    "question": "Question",
    "of": "of",
    "next": "Next",
    "back": "Back",
    "choose": "Choose one answer.",
    "number": "Enter a number from",
    "to": "to",
    "ready": "Send your answers",
    "ready_words": "You have answered all questions. The page has now decided by chance what is "
    "sent for each question: your real answer or a random one. You do not see which. People who "
    "saw it first might send only what suits them, and their choice would reveal something about "
    "them.",
    "decline": "I do not take part",
    "declined": "You do not take part",
    "declined_words": "Nothing was sent, and your answers are deleted. You can close this page.",
    "send": "Send",
    "save": "Save it as a file and send it later",
    "upload": "I have saved an answer as a file",
    "upload_file": "The file",
    "upload_wrong": "This file is not an answer to this survey that its page has saved. Nothing "
    "of it was sent.",
    "offline": "There is no connection. Try again, or save it as a file and send it later.",
    "offline_wave": "There is no connection to ask which wave it is. Try again later.",
    "insecure": "This page must be opened at an address that begins with https.",
    "refused": "It was not accepted. Try again later.",
    "closed": "The survey is closed: no more answers are taken.",
    "trial": "This page is for trying out: nothing is kept, and nothing is sent.",
    "thanks": "Thank you",
    "done": "Your answers have arrived.",
    "again": "You have answered before on this device. Nothing more is sent.",
    "noscript": "This page replaces answers by random ones on this device before anything is "
    "sent. It needs JavaScript for this.",
    "consent_voluntary": "Taking part is voluntary. You can stop at any time before you send: "
    "choose 'I do not take part' or close this page, and nothing is sent.",
    "consent": "Before anything is sent, this page may replace your answers by random ones, on "
    "this device. Only the result is sent, with a random number or your code that lets it count "
    "once.",
    "consent_each": "In about {tenths} of 10 cases the real answer to a question is sent "
    "({chance}). Otherwise a random answer is sent. Chance decides for each question by itself, "
    "and together for questions that depend on each other.",
    "consent_doubt": "Nobody can tell which of the two happened, not even the office. A person "
    "who sees what you sent can suspect your real answers, but cannot be sure of them.",
    "consent_contact": "Contact for questions and complaints: {contact}.",
    "consent_retention": "How long the office keeps what you send: {retention}.",
    "not_stated": "not stated by the office",
    "consent_after": "After you have sent your answers you cannot take them back: the office does "
    "not store which record is yours. You do not see what is sent, because people who saw it "
    "first might send only what suits them, and their choice would reveal something about them.",
    "consent_sets": "Chance also decides which {number} of the {questions} questions you are "
    "asked. Tell nobody which they were: a person who knows it searches for you among fewer "
    "people.",
    "consent_use": "The office publishes the answers of all participants, randomised as they were "
    "sent, without names and in random order. From many of them anybody can compute how many "
    "people gave which answer, but not what you answered.",
    "consent_least": "If fewer than {least} people answer, nothing is published. The guarantees "
    "above hold for {least} answers or more.",
    "consent_least_each": "If fewer than {least} people answer one time, nothing of that time is "
    "published. The guarantees above hold for {least} answers or more, and for one time by "
    "itself: a person who sees what you sent several times may be surer.",
    "consent_panel": "You will be asked {waves} times. This device draws a random answer for "
    "every possible answer, keeps this list for good, and randomises once more each time. It "
    "deletes what it sent as soon as it has arrived: together with the list it could tell your "
    "real answers. An answer that you save as a file or do not send stays on this device. One "
    "time by itself tells no more than an epsilon of {one}; all {waves} together no more than "
    "{alike} while your answers stay the same, and no more than {changing} if they change or you "
    "change the device; a copy of this page in a file counts as another device. That holds if you "
    "answer once each time: to answer on several devices the same time tells more.",
    "consent_code": "Your code lets you answer once. The office stores that it was used, but not "
    "together with your answers.",
    "consent_once": "Answer once only. This device keeps a note that it has answered. Answers "
    "from several devices would tell more about you.",
    "consent_code_each": "Your code lets you answer once each time. The office stores that it was "
    "used, but not together with your answers.",
    "consent_once_each": "Answer once each time, and always on this device. It keeps a note that "
    "it has answered, and sends nothing else until the next time.",
    "consent_above": "more than {chance}",
    SKIPPED: "Does not apply to me",
    NOT_SAID: "I prefer not to say",
}
"""All that a page says; an office may say it in another language. What stands in braces is filled
in, and may not be left out."""


def consent_of(definition: Definition) -> list[str]:
    """What this version of pramana tells people of a survey; the first five before all else."""
    survey = definition.survey
    not_stated = survey.said("not_stated")
    once = "consent_code" if survey.codes else "consent_once"
    each = "" if survey.waves == 1 else "_each"
    return [
        survey.said("consent_voluntary"),
        survey.said("consent"),
        _chances(definition),
        survey.said("consent_doubt"),
        survey.said("consent_contact", contact=survey.contact or not_stated),
        survey.said("consent_retention", retention=survey.retention or not_stated),
        survey.said("consent_after"),
        survey.said("consent_use"),
        *_sets(definition),
        *definition.promises(definition.promised()),
        *_panel(definition),
        survey.said(f"consent_least{each}", least=f"{survey.minimum:,}"),
        survey.said(f"{once}{each}"),
    ]


def _chances(definition: Definition) -> str:
    """How likely it is that the real answer to a question is sent."""
    survey = definition.survey
    draws = [draw for asked in definition.channel.asked for draw in asked.draws]
    kept = [chance for draw in draws for chance in draw.kept_answers]
    return survey.said("consent_each", tenths=tenths(kept, survey), chance=_between(kept, survey))


def tenths(kept: Sequence[float], survey: Survey) -> str:
    """In how many of ten cases: the lowest probability rounded down, the highest rounded up."""
    low, high = (math.floor(10 * Fraction(min(kept))), math.ceil(10 * Fraction(max(kept))))
    if high == 10:
        most = survey.said("consent_above", chance=9)
        return most if low >= 9 else f"{low} {survey.said('to')} {most}"
    return str(high) if low == high else f"{low} {survey.said('to')} {high}"


def _sets(definition: Definition) -> list[str]:
    """How many of the questions a person is asked, where chance decides it."""
    survey = definition.survey
    sizes = [len(asked.columns) for asked in definition.channel.asked]
    fewest, most, questions = min(sizes), max(sizes), len(survey.questions)
    if fewest == questions:  # everybody is asked all of them
        return []
    number = str(fewest) if fewest == most else f"{fewest} {survey.said('to')} {most}"
    return [survey.said("consent_sets", number=number, questions=questions)]


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
