"""What people read on the page and agree to; every number is rounded conservatively."""

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

NOT_SAID: Final = "prefer not to say"
"""The answer of who would rather not."""

SKIPPED: Final = "does not apply"
"""The answer to a question that a person is not asked, by the answers before it."""

WORDS: Final = {
    "promise": "What is promised to you",
    "more": "The promise in numbers",
    "identity": "This survey:",
    "code": "Your invitation code",
    "code_needed": "Enter the code from your invitation.",
    "code_unknown": "This code is not known here. Look at your invitation again.",
    "code_used": "This code has answered before. It answers once, and nothing more is sent.",
    "code_again": "This code has begun on this device before, and is asked what it was asked then. "
    "Nothing was sent: please begin again.",
    "begin": "Begin",
    "question": "Question",
    "of": "of",
    "next": "Next",
    "back": "Back",
    "choose": "Choose one answer.",
    "number": "Enter a number from",
    "to": "to",
    "review": "This will be sent",
    "review_words": "Chance has changed your answers, or left them as they are. Of what you "
    "said only what stands in the last column leaves this device, with a number or code that lets "
    "it count once. Chance decides once: it cannot be tried again. Send it "
    "whatever it says: who sends only what suits them tells something true.",
    "chance": "The probability that an answer is sent as you said it was at most",
    "said": "You said",
    "sent": "Will be sent",
    "exactly": "Letter by letter:",
    "send": "Send",
    "save": "Save it as a file and send it later",
    "upload": "I have saved an answer as a file",
    "upload_file": "The file",
    "upload_wrong": "This file is not an answer to this survey that its page has saved. Nothing of "
    "it was sent.",
    "offline": "There is no connection. Try again, or save it as a file and send it later.",
    "offline_wave": "There is no connection to ask which wave it is. Try again later.",
    "insecure": "This page must be opened at an address that begins with https.",
    "refused": "It was not accepted. Try again later.",
    "closed": "The survey is closed: no more answers are taken.",
    "trial": "This page is for trying out: nothing is kept, and nothing is sent.",
    "thanks": "Thank you",
    "done": "Your changed answers have arrived.",
    "again": "You have answered before, and this device would only send the same again.",
    "noscript": "This page changes your answers by chance on this device before anything is sent, "
    "and needs JavaScript for it.",
    "consent": "Your answers are changed by chance on this device before anything is sent. The "
    "changed answers leave it, with a number or code that lets them count once: nobody, not even "
    "the office, gets the true ones.",
    "consent_sets": "Chance also decides which {number} of the {questions} questions you are "
    "asked. Tell nobody which they were: who knows it looks for you in a smaller anonymity set.",
    "consent_together": "With a probability of {chance} all that is sent is what you said; "
    "otherwise at least one answer is another one, drawn by chance.",
    "consent_each": "With a probability of {chance} an answer is sent as you gave it; otherwise "
    "another one is sent, drawn by chance. That is decided for each question by itself, and "
    "together for questions that depend on each other.",
    "consent_use": "From many changed answers the office can compute how many people gave which "
    "answer, and not what you did. You can always say that what was sent was chance.",
    "consent_panel": "You will be asked {waves} times. This device keeps a changed answer for each "
    "true one, for good, and changes it once more each time. One time by itself tells no more than "
    "an epsilon of {one}; all {waves} together no more than {alike} while your answers stay the "
    "same, and no more than {changing} if they change or you change the device; a copy of this "
    "page in a file counts as another device. That holds if you "
    "answer once each time: to answer on several devices the same time tells more.",
    "consent_code": "Your code lets you answer once. It is kept as a mark that it was used, and "
    "not beside your answers.",
    "consent_once": "Answer once only. This device keeps what it sent, changed as it was, and "
    "sends the same again; answers from several devices would tell more about you.",
    "consent_code_each": "Your code lets you answer once each time. It is kept as a mark that it "
    "was used, and not beside your answers.",
    "consent_once_each": "Answer once each time, and always on this device. What it has sent it "
    "keeps, changed as it was, and until the next time it sends nothing else.",
    "consent_above": "more than {chance}",
    SKIPPED: "Does not apply to me",
    NOT_SAID: "I prefer not to say",
}
"""All that a page says; an office may say it in another language. What stands in braces is filled
in, and may not be left out."""


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
