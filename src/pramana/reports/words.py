"""What each guarantee does not promise, and where the words of a report come from."""

from __future__ import annotations

__all__ = ["NOT_PROMISED", "TREATMENT_OF_ROLE"]

NOT_PROMISED = {
    "pk-anonymity": (
        "It speaks of linking a released record to a person. It does not keep secret what the "
        "statistics of a group tell about everybody in it, nor columns that are released as they "
        "are and that an adversary knows of a person."
    ),
    "differential-privacy": (
        "It covers the randomised columns only. Columns released as they are have no such bound, "
        "and several releases of the same people add up."
    ),
    "privacy-breach": (
        "It bounds what is learned about one person's randomised values. It says nothing about "
        "columns released as they are, nor about facts that were likely before."
    ),
    "spontaneous-recognition": (
        "It is about someone who looks at a few keys at a time. Who searches with all keys, or "
        "knows more, may be surer. It rests on counts that are not published."
    ),
    "correct-match": (
        "It is about someone who knows one value and picks at random among the records released "
        "with it. Who uses several columns may do better. It rests on counts that are not "
        "published."
    ),
    "k-anonymity": (
        "It bounds linking by the keys. If all members of a group share a sensitive value, that "
        "value is told of each of them; and the other columns must not be known to the adversary."
    ),
}
"""By the name of the guarantee."""

TREATMENT_OF_ROLE = {
    "key": "by which a person could be recognised",
    "sensitive": "not known to outsiders",
    "weight": "sampling weight",
    "plain": "may be known to outsiders",
}
