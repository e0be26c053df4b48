"""Texts in the language of the reader, from gettext catalogues.

A catalogue is ``base/locale/LANGUAGE.po``, which editors of translators read; Babel compiles it
when its language is first asked for. Texts are marked by ``gettext`` in code, and by ``_`` and
``trans`` in templates; errors translate their messages where they are shown. Where no language is
chosen, as in all files of a release, texts are English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from gettext import GNUTranslations
from importlib.resources import files
from io import BytesIO
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

ENGLISH: Final = "en"
LANGUAGES: Final = {ENGLISH: "English", "de": "Deutsch"}
MARKS: Final = {"de": str.maketrans(",.", ".,")}
"""Languages that write 1.234,5 for 1,234.5."""

FIELD: Final = re.compile(r"\{(\w+)(!r)?(?::([^{}]*))?\}")
"""The place of a value in a text, as in a format string; other braces are letters of the text."""

_current: ContextVar[str] = ContextVar("language", default=ENGLISH)


def language() -> str:
    """The language of the current task."""
    return _current.get()


@contextmanager
def in_language(name: str) -> Iterator[None]:
    """All texts in here are in this language."""
    if name not in LANGUAGES:
        from pramana.errors import InputError  # errors translate themselves

        known = ", ".join(LANGUAGES)
        raise InputError(
            "The language must be one of {known}, got {name!r}.", known=known, name=name
        )
    token = _current.set(name)
    try:
        yield
    finally:
        _current.reset(token)


def accepted(header: str) -> str:
    """The first language of a browser's list that there is a catalogue for.

    >>> accepted("fr-CH, de;q=0.9, en;q=0.8"), accepted("fr")
    ('de', 'en')
    """
    asked = (part.split(";")[0].strip().lower().split("-")[0] for part in header.split(","))
    return next((name for name in asked if name in LANGUAGES), ENGLISH)


@cache
def _catalogue(name: str) -> GNUTranslations:
    try:
        from babel.messages.mofile import write_mo
        from babel.messages.pofile import read_po
    except ImportError:
        from pramana.errors import MissingExtra

        raise MissingExtra("Other languages need more: pip install 'pramana[studio]'.") from None
    text = files("pramana.base").joinpath("locale", f"{name}.po").read_bytes()
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(text), locale=name))
    compiled.seek(0)
    return GNUTranslations(compiled)


def gettext(text: str, /, **fields: object) -> str:
    """A text in the current language, with fields in the place of their names.

    Numbers get the marks of the language.

    >>> gettext("{number:,} columns", number=3000)
    '3,000 columns'
    """
    if text and language() != ENGLISH:
        text = _catalogue(language()).gettext(text)
    return FIELD.sub(lambda place: _shown(place, fields), text) if fields else text


def _shown(place: re.Match[str], fields: dict[str, object]) -> str:
    name, quoted, form = place.groups()
    if name not in fields:
        return place[0]
    value = fields[name]
    text = repr(value) if quoted else format(value, form or "")
    return numeral(text) if isinstance(value, Real) else text


def noop(text: str) -> str:
    """Mark a text that is translated where it is shown."""
    return text


def numeral(text: str) -> str:
    """A number with the marks of the current language.

    >>> with in_language("de"):
    ...     numeral("1,234.5")
    '1.234,5'
    """
    return text.translate(MARKS.get(language(), {}))


def mark_templates(environment: Environment, shown: Callable[[Any], Any]) -> None:
    """Let templates mark texts: by ``_``, or by ``trans`` if they have elements of HTML.

    Args:
        environment: of the templates.
        shown: what is done to a value before it is escaped.
    """
    from markupsafe import Markup

    def translated(text: str, /, **values: object) -> Markup:
        markup = Markup(gettext(text))  # noqa: S704 - written in a template or in a catalogue
        return markup % {name: shown(value) for name, value in values.items()}

    environment.add_extension("jinja2.ext.i18n")
    environment.newstyle_gettext = True  # type: ignore[attr-defined]
    environment.globals |= {"_": gettext, "gettext": translated, "language": language}
