"""Numbers, counts and names as text, lists of names read back, and the representation of results.

A number that states a privacy guarantee is rounded conservatively: ``2.9999`` is not 3, and 1 in
2.9999 is not 33.3 %.

>>> percent_up(1 / Fraction(2.9999)), floor_text(2.9999)
('33.4 %', '2.99')

Names in lists are separated by commas, columns of a table by stars. A name that contains such a
mark, or blanks at an end, is written between double quotes, which are doubled inside, as in CSV.
"""

from __future__ import annotations

import math
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.base.translation import gettext, noop, numeral
from pramana.errors import InvalidNumber, harmless
from pramana.types import Form

if TYPE_CHECKING:
    from jinja2 import Environment

Number = Fraction | float | int
"""As text, a float is the shortest decimal that is read back as that float."""

MANY = 10**6
FEW = Decimal("0.0001")
"""Numbers outside this range are written with a power of ten."""

COMPUTED = re.compile(r"[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet may take for a formula, also in wide letters."""

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

EXP_DIGITS = 4

MOST_LINES = 12
"""Findings that a representation shows; the result has all of them."""


def json_fields(result: object, names: str = "") -> Form:
    """Attributes of a result for JSON; all fields where none are named.

    >>> from pramana.base.measured_share import Measured
    >>> json_fields(Measured("link", 0.5, 0.4, 0.6, 10), "value trials")
    {'value': 0.5, 'trials': 10}
    """

    def form(value: Any) -> Any:
        if hasattr(value, "to_json"):
            return value.to_json()
        return [form(item) for item in value] if isinstance(value, tuple | list) else value

    return {name: form(getattr(result, name)) for name in names.split() or vars(result)}


class Shown:
    """A result that shows a headline and its findings at a prompt and in a notebook.

    >>> class Found(Shown):
    ...     def shown(self):
    ...         return "Two things", ["one", "<other>"]
    >>> Found()
    Two things
    * one
    * <other>
    >>> Found()._repr_html_()
    '<p><strong>Two things</strong></p><ul><li>one</li><li>&lt;other&gt;</li></ul>'
    """

    def shown(self) -> tuple[str, Sequence[str]]:
        """The headline and the findings."""
        raise NotImplementedError

    def _harmless(self) -> tuple[str, list[str]]:
        head, lines = self.shown()
        return harmless(head), [harmless(line) for line in lines]

    def __repr__(self) -> str:
        head, lines = self._harmless()
        more = [f"... {len(lines) - MOST_LINES} more"] if len(lines) > MOST_LINES else []
        return "\n".join([head, *(f"* {line}" for line in lines[:MOST_LINES]), *more])

    def _repr_html_(self) -> str:
        head, lines = self._harmless()

        items = "".join(f"<li>{escape(line)}</li>" for line in lines)
        return f"<p><strong>{escape(head)}</strong></p>" + (f"<ul>{items}</ul>" if items else "")


def listed(names: Sequence[str], most: int = 5) -> str:
    """Names in a row; where some are left out, how many.

    >>> listed(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = gettext(" and {number:,} more", number=len(names) - most) if len(names) > most else ""
    return ", ".join(names[:most]) + more


def quoted(names: Sequence[str]) -> str:
    """All of some names, as a sentence has them.

    >>> quoted(["a"]), quoted(["a", "b"]), quoted(["a", "b", "c"])
    ("'a'", "'a' and 'b'", "'a', 'b' and 'c'")
    """
    marked = [f"'{name}'" for name in names]
    return gettext(" and ").join(filter(None, (", ".join(marked[:-1]), marked[-1])))


def as_it_is(names: Sequence[str]) -> str:
    """What is said of columns that are left alone, in the number that goes with them.

    >>> as_it_is(["w"]), as_it_is(["w", "region"])
    ('is released unchanged', 'are released unchanged')
    """
    one, many = noop("is released unchanged"), noop("are released unchanged")
    return gettext(one if len(names) == 1 else many)


def records_that(count: int, one: str, many: str, *, of: str = "") -> str:
    """A number of records and what they do, in the number that goes with it.

    >>> records_that(1, "holds", "hold", of="'a'"), records_that(1200, "is", "are")
    ("1 record of 'a' holds", '1,200 records are')
    """
    words = noop("{count:,} record of {of} {verb}") if of else noop("{count:,} record {verb}")
    if count != 1:
        words = noop("{count:,} records of {of} {verb}") if of else noop("{count:,} records {verb}")
    return gettext(words, count=count, of=of, verb=gettext(one if count == 1 else many))


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things, in the number that goes with it.

    >>> counted(1, "column"), counted(1200, "column"), counted(1, "column is", "columns are")
    ('1 column', '1,200 columns', '1 column is')
    """
    return f"{numeral(f'{count:,}')} {gettext(one if count == 1 else many or one + 's')}"


def text_up(number: Number, digits: int = 4) -> str:
    """The number rounded up to a number of significant digits.

    >>> text_up(1.00001), text_up(2/3, 3), text_up(12345.6, 3), text_up(1.5e9)
    ('1.001', '0.667', '12,400', '1.5e+9')
    """
    return _text(number, digits, ROUND_CEILING)


def text_down(number: Number, digits: int = 4) -> str:
    """The number rounded down to a number of significant digits.

    >>> text_down(2.9999), text_down(5e-324, 3)
    ('2.999', '5e-324')
    """
    return _text(number, digits, ROUND_FLOOR)


def percent_up(share: Number, digits: int = 3) -> str:
    """A share as a percentage that is not below it.

    >>> percent_up(0.5), percent_up(Fraction(1, 3))
    ('50 %', '33.4 %')
    """
    return f"{text_up(_hundredfold(share), digits)} %"


def percent_down(share: Number, digits: int = 3) -> str:
    """A share as a percentage that is not above it."""
    return f"{text_down(_hundredfold(share), digits)} %"


def percent(share: float, digits: int = 3) -> str:
    """A share as a percentage in significant digits, to the nearest.

    >>> percent(0.12345), percent(0.996, 2), percent(12.5)
    ('12.3 %', '100 %', '1,250 %')
    """
    number = f"{100 * share:.{digits}g}"
    return f"{100 * share:,.0f} %" if "e+" in number else f"{number} %"


def significant(number: float, digits: int = 3) -> str:
    """The number in significant digits, to the nearest, without a power of ten.

    >>> significant(1317.4), significant(0.12345), significant(100.6)
    ('1,320', '0.123', '101')
    """
    text = f"{number:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def floor_text(number: Number) -> str:
    """A number of people: whole above ten, else with two decimals, and never more than it is.

    >>> floor_text(99.99), floor_text(2.3), floor_text(1234567.8)
    ('99', '2.3', '1,234,567')
    """
    if number == math.inf:
        return "inf"
    exact = _decimal(number)
    if exact >= 10:
        return f"{math.floor(exact):,}"
    return _grouped_digits(Decimal(math.floor(100 * exact)) / 100)


def exp_text_up(exponent: float) -> str:
    """Exp of a number as text that is not below it.

    >>> exp_text_up(0.0), exp_text_up(6.0), exp_text_up(math.inf)
    ('1', '403.5', 'inf')
    """
    if exponent > MANY:
        return "inf"
    wide = Context(prec=EXP_DIGITS + 30)
    near = wide.exp(Decimal(exponent))  # to the nearest, in thirty digits more than are shown
    above = near if exponent == 0 else wide.next_plus(near)
    return _grouped_digits(Context(prec=EXP_DIGITS, rounding=ROUND_CEILING).plus(above))


@lru_cache(typed=True)
def _hundredfold(share: Number) -> Number:
    return share if share == math.inf else 100 * _decimal(share)


def _decimal(number: Number) -> Fraction:
    """What is read where a float is written: comparing texts then compares the floats."""
    return Fraction(repr(float(number))) if isinstance(number, float) else Fraction(number)


@lru_cache(typed=True)  # a float and the fraction that equals it are read differently
def _text(number: Number, digits: int, rounding: str) -> str:
    if number == math.inf:
        return "inf"
    exact = _decimal(number)
    context = Context(prec=digits, rounding=rounding, Emin=-5000, Emax=5000)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    return _grouped_digits(rounded)


def _grouped_digits(rounded: Decimal) -> str:
    """Without idle zeros, in groups of three digits; very large and very small with a power."""
    if rounded == 0:
        return "0"
    if not FEW <= abs(rounded) < MANY:
        return f"{rounded.normalize():e}"
    return f"{rounded.normalize():,f}"


def parts_of(text: str, apart: str = ",") -> list[str]:
    """The entries of a list; a part in double quotes may hold the sign that sets them apart.

    >>> parts_of('sex, "pets, if any", ,"say ""no"" "'), parts_of("job=a, b; sex=F", ";")
    (['sex', 'pets, if any', 'say "no" '], ['job=a, b', 'sex=F'])
    """
    return [name for name, _ in _parts(text, apart) if name]


def as_part(text: str, apart: str = ",") -> str:
    """A part as it is written in such a list.

    >>> as_part("sex"), as_part("pets, if any"), parts_of(as_part(' "a, b"')) == [' "a, b"']
    ('sex', '"pets, if any"', True)
    """
    bare = text and text == text.strip() and text[0] != '"' and not set(apart) & set(text)
    return text if bare else '"' + text.replace('"', '""') + '"'


def names_of_table(text: str) -> tuple[str, ...]:
    """The columns of one table.

    >>> names_of_table('sex * "a*b"')
    ('sex', 'a*b')
    """
    return tuple(name for name, _ in _parts(text, "*"))


def tables_in(text: str) -> list[tuple[str, ...]]:
    """The tables of a list.

    >>> tables_in('sex*age, region*"a,b*c"')
    [('sex', 'age'), ('region', 'a,b*c')]
    """
    tables: list[tuple[str, ...]] = []
    names: list[str] = []
    for name, mark in _parts(text, "*,"):
        names.append(name)
        if mark != "*":
            tables.append(tuple(names))
            names = []
    return [table for table in tables if table != ("",)]


def tables_of(stated: str | Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tables from options: columns joined by ``*`` (tables apart by commas), or listed.

    >>> tables_of(["age*income, region*sex*age", ("age", "sex")])
    (('age', 'income'), ('region', 'sex', 'age'), ('age', 'sex'))
    """
    if not _are_tables(stated):
        raise InvalidNumber(f"Tables are texts such as 'age*sex', or lists of columns: {stated!r}.")
    tables: list[tuple[str, ...]] = []
    for one in [stated] if isinstance(stated, str) else stated:
        tables += tables_in(one) if isinstance(one, str) else [tuple(one)]
    return tuple(tables)


def _are_tables(stated: object) -> bool:
    """Whether these are texts, or lists of texts."""
    return isinstance(stated, Sequence) and all(
        isinstance(one, Sequence) and all(isinstance(name, str) for name in one) for one in stated
    )


def as_list(names: Iterable[str]) -> str:
    """What :func:`parts_of` reads as these names.

    >>> as_list(["sex", "age, in years"])
    'sex,"age, in years"'
    """
    return ",".join(map(as_part, names))


def as_table(names: Iterable[str], *, marks: str = "*") -> str:
    """What :func:`names_of_table` reads as these columns.

    >>> as_table(["sex", "a*b"])
    'sex*"a*b"'
    """
    return "*".join(as_part(name, marks) for name in names)


def as_tables(tables: Iterable[Iterable[str]]) -> str:
    """What :func:`tables_in` reads as these tables."""
    return ",".join(as_table(table, marks="*,") for table in tables)


def as_file(path: str) -> str:
    """A file that no command takes for an option, or an address with both of its slashes.

    A password is not repeated: the database asks its own files and variables for it.

    >>> as_file("-people.csv"), as_file("people.csv"), as_file("postgres:/office:x@host/db#people")
    ('./-people.csv', 'people.csv', 'postgres://office@host/db#people')
    """
    if path.startswith("-"):
        return f"./{path}"
    return ADDRESS.sub(lambda match: f"{match['kind']}://{match['who'] or ''}", path)


ADDRESS = re.compile(r"^(?P<kind>[a-z][a-z0-9]+):/{1,2}(?:(?P<who>[^:/@#]*)(?::[^/#]*)?(?=@))?")
"""The beginning of an address, as it is or as a path object has it: kind, user, password."""


def pasted(words: Sequence[str]) -> str:
    r"""A command that a shell reads as these words, in one line without letters nobody sees.

    >>> pasted(["pramana", "schema", "my schema.toml", "--without", "a\tb"])
    "pramana schema 'my schema.toml' --without $'a\\tb'"
    """
    first, *rest = words
    return " ".join(map(in_shell, (program() if first == PROGRAM else first, *rest)))


PROGRAM = "pramana"


def program() -> str:
    """The program as it was typed, such as ``.venv/bin/pramana``: it need not be on the path."""
    typed = Path(sys.argv[0])
    if typed.stem != PROGRAM or (typed.is_absolute() and shutil.which(PROGRAM)):
        return PROGRAM
    return str(typed)


ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def in_shell(word: str) -> str:
    """One word of a command; letters that cannot be seen are spelled, as bash and zsh read them."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(ESCAPES.get(letter) or _visible(letter) for letter in word) + "'"


def no_formula(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would compute it.

    >>> no_formula("=1+1"), no_formula("-8"), no_formula("- none")
    ("'=1+1", '-8', "'- none")
    """
    return f"'{text}" if COMPUTED.match(text) and not NUMBER.fullmatch(text) else text


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def _parts(text: str, marks: str) -> list[tuple[str, str]]:
    """Every name, and the mark after it; quotes that do not close are letters of a name."""
    pattern = re.compile(rf'\s*"((?:[^"]|"")*)"\s*([{marks}]|$)|([^{marks}]*)([{marks}]|$)')
    parts, at = [], 0
    while True:
        part = pattern.match(text, at)
        assert part is not None  # noqa: S101 - its second half takes anything
        quoted, mark, unquoted, after = part.groups()
        name = unquoted.strip() if quoted is None else quoted.replace('""', '"')
        parts.append((name, mark or after or ""))
        at = part.end()
        if not parts[-1][1]:
            return parts


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
