"""What people read on the page, word for word."""

from __future__ import annotations

from typing import Final

__all__ = ["NOT_SAID", "SKIPPED", "WORDS"]

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
