"""Words that a report uses for roles."""

from __future__ import annotations

__all__ = ["TREATMENT_OF_ROLE"]

TREATMENT_OF_ROLE = {
    "key": "by which a person could be recognised",
    "sensitive": "not known to outsiders",
    "weight": "sampling weight",
    "plain": "may be known to outsiders",
}
