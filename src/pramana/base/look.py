"""The style tokens of all pages, and templates of text files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def tokens() -> str:
    """The style sheet that comes first in every page."""
    return files("pramana.base").joinpath("tokens.css").read_text(encoding="utf-8")


def text_templates(package: str, folder: str, **filters: Callable[[Any], Any]) -> Environment:
    """Templates of text files in a folder of a package; values pass the filter of a language."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(  # noqa: S701 - no pages
        loader=PackageLoader(package, folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= filters
    return templates
