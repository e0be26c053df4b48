"""The style tokens of all pages: colours and sizes in light and dark."""

from functools import cache
from importlib.resources import files


@cache
def tokens() -> str:
    """The style sheet that comes first in every page."""
    return files("pramana.base").joinpath("tokens.css").read_text(encoding="utf-8")
