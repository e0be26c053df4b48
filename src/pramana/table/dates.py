"""Dates that are written as text: which spelling a column has, and what its values are.

ISO dates are read as they are. Others have a format, ``%d.%m.%Y`` and the like: the one that fits
every value of a column, where one alone does; where day and month may be either, nobody guesses.
"""

from __future__ import annotations

from itertools import product
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pramana.errors import InvalidTable

__all__ = ["ISO", "formats_of", "is_iso", "read_dates"]

ISO: Final = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ][0-9:.]+Z?)?$"
LOOSELY: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?$"

NUMBERS: Final = ("%d{0}%m{0}%Y", "%m{0}%d{0}%Y", "%Y{0}%m{0}%d")
WORDS: Final = ("%d %b %Y", "%d-%b-%Y", "%d%b%Y", "%d. %B %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
TIMES: Final = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
"""Spellings that are tried; two digits of a year say too little and must be stated."""

FOUR: Final = "[0-9]{4}"
LEADING: Final = (r"(^|[^0-9])0+([0-9])", r"\1\2")


def is_iso(values: pa.Array) -> bool:
    """Whether all values are spelled as ISO has them."""
    return bool(pc.all(pc.match_substring_regex(values.cast(pa.string()), ISO)).as_py())


def formats_of(values: pa.Array) -> tuple[str, ...]:
    """The spellings that fit every value; two where nothing tells day from month."""
    texts = pc.utf8_trim_whitespace(values.cast(pa.string())).drop_null()
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, FOUR)).as_py():
        return ()
    some = texts.slice(0, 20)
    days = [form.format(mark) for form in NUMBERS for mark in "./-"] + list(WORDS)
    spelled = [f"{day}{time}" for day, time in product(days, TIMES)]
    found = [form for form in spelled if _parsed(some, form) is not None]
    return tuple(form for form in found if _parsed(texts, form) is not None)


def read_dates(name: str, texts: pa.Array, form: str | None) -> pa.Array:
    """The dates of a column of text: ISO, with or without a time behind them, or by a format."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    found = _of_iso(texts) if form is None else _parsed(texts, form)
    if found is not None:
        return found
    like = "such as 2024-03-31" if form is None else f"written as {form}"
    other = "" if form is not None else " State how they are written in date_format, or name"
    raise InvalidTable(
        f"'{name}' must hold dates {like}, and has other values.{other or ' Name'} those that mean "
        "missing in missing_codes.",
        column=name,
    )


def _of_iso(texts: pa.Array) -> pa.Array | None:
    if pc.any(pc.invert(pc.match_substring_regex(texts, LOOSELY))).as_py():
        return None
    try:
        return pc.utf8_slice_codeunits(texts, 0, 10).cast(pa.date32())
    except pa.ArrowInvalid:  # its words show the value
        return None


def _parsed(texts: pa.Array, form: str) -> pa.Array | None:
    """The moments that texts are by a format; nothing where one of them is none.

    A day that its month does not have is read as one of the next: so it is spelled again.
    """
    if "%Y" in form and pc.all(pc.match_substring_regex(texts, FOUR)).as_py() is False:
        return None  # a year of two digits would be one of the first century
    moments = pc.strptime(texts, format=form, unit="s", error_is_null=True)
    if moments.null_count > texts.null_count:
        return None
    alike = pc.equal(_spelling(texts), _spelling(pc.strftime(moments, format=form)))
    return moments if pc.all(alike).as_py() is not False else None


def _spelling(texts: pa.Array) -> pa.Array:
    """In small letters and without zeros that say nothing."""
    pattern, kept = LEADING
    return pc.replace_substring_regex(pc.utf8_lower(texts), pattern, kept)
