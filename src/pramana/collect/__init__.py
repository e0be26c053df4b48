"""People randomise their own answers, and nobody ever holds the original data [Ikarashi, Fig. 1b].

survey.toml -> Survey -> Definition (signed) -> a page that randomises in the browser -> a store of
randomised records only -> a release folder like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports

if TYPE_CHECKING:
    from pramana.collect.channel import Remembered
    from pramana.collect.closing import Live, close_survey, collected_release, live, status_of
    from pramana.collect.definition import Definition, remember, respond
    from pramana.collect.server import Encryption, require_server, serve_survey
    from pramana.collect.simulated_survey import demonstrate
    from pramana.collect.store import Sent
    from pramana.collect.survey import Survey, consent_of
    from pramana.collect.survey_folder import (
        answers,
        check_survey,
        invite,
        load,
        load_survey,
        new_survey,
        opened_store,
        page_of,
        seen_store,
    )

__all__ = ["Definition", "Encryption", "Live", "Remembered", "Sent", "Survey", "answers",
           "check_survey", "close_survey", "collected_release", "consent_of", "demonstrate",
           "invite", "live", "load", "load_survey", "new_survey", "opened_store", "page_of",
           "remember", "require_server", "respond", "seen_store", "serve_survey",
           "status_of"]  # fmt: skip

_SOURCES = {
    "channel": "Remembered",
    "closing": "Live close_survey collected_release live status_of",
    "definition": "Definition remember respond",
    "simulated_survey": "demonstrate",
    "survey_folder": "answers check_survey invite load load_survey new_survey opened_store page_of "
    "seen_store",
    "server": "Encryption require_server serve_survey",
    "store": "Sent",
    "survey": "Survey consent_of",
}

__getattr__ = lazy_exports(__name__, _SOURCES)
