"""People randomise their own answers, and nobody ever holds the original data [Ikarashi, Fig. 1b].

survey.toml -> Survey -> Definition (signed) -> a page that randomises in the browser -> a store of
randomised records only -> a release folder like any other.
"""

from __future__ import annotations

from pramana.base.registry import stub_exports

__getattr__, __all__ = stub_exports(__name__)
