"""People randomise their own answers, and nobody ever holds the truth [Ikarashi, Fig. 1b].

survey.toml -> Survey -> Definition (signed) -> a page that randomises in the browser -> a store of
randomised records only -> a release folder like any other.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pramana.collect.channel import Remembered
    from pramana.collect.closing import close_survey, status_of
    from pramana.collect.definition import Definition, remember, respond
    from pramana.collect.folder import answers, load, new_survey
    from pramana.collect.store import Sent
    from pramana.collect.survey import Survey
    from pramana.collect.watching import Live, live

__all__ = ["Definition", "Live", "Remembered", "Sent", "Survey", "answers", "close_survey", "live",
           "load", "new_survey", "remember", "respond", "status_of"]  # fmt: skip

_ELSEWHERE = {
    "Definition": "definition",
    "Live": "watching",
    "Remembered": "channel",
    "Sent": "store",
    "Survey": "survey",
    "answers": "folder",
    "close_survey": "closing",
    "live": "watching",
    "load": "folder",
    "new_survey": "folder",
    "remember": "definition",
    "respond": "definition",
    "status_of": "closing",
}


def __getattr__(name: str) -> Any:
    """What is used is loaded."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'pramana.collect' has no attribute '{name}'")
    return getattr(import_module(f"pramana.collect.{_ELSEWHERE[name]}"), name)
