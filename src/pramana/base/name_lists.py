"""Names as texts and back: in lists, in tables, and in commands to paste.

Lists part names by commas, tables by stars. A name that holds such a mark itself, or blanks at an
end, stands between double quotes, which are doubled inside it, as in CSV.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from pramana.errors import InvalidNumber

__all__ = ["as_file", "as_list", "as_part", "as_table", "as_tables", "in_shell", "names_in",
           "names_of_table", "parts_of", "pasted", "program", "tables_in", "tables_of"]  # fmt: skip


def parts_of(text: str, apart: str = ",") -> list[str]:
    """What stands in a list; a part in double quotes may hold the sign that sets them apart.

    >>> parts_of('sex, "pets, if any", ,"say ""no"" "'), parts_of("job=a, b; sex=F", ";")
    (['sex', 'pets, if any', 'say "no" '], ['job=a, b', 'sex=F'])
    """
    return [name for name, _ in _parts(text, apart) if name]


def as_part(text: str, apart: str = ",") -> str:
    """A part as it is written in such a list.

    >>> as_part("sex"), as_part("pets, if any"), parts_of(as_part(' "a, b"')) == [' "a, b"']
    ('sex', '"pets, if any"', True)
    """
    return _quoted(text, apart)


def names_in(text: str) -> list[str]:
    r"""The names of a list.

    >>> names_in('sex, "age, in years",a*b')
    ['sex', 'age, in years', 'a*b']
    """
    return parts_of(text)


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
    found: list[tuple[str, ...]] = []
    names: list[str] = []
    for name, mark in _parts(text, "*,"):
        names.append(name)
        if mark != "*":
            found.append(tuple(names))
            names = []
    return [table for table in found if table != ("",)]


def tables_of(stated: str | Sequence[str | Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Tables from options: columns joined by ``*`` (tables apart by commas), or listed.

    >>> tables_of(["age*income, region*sex*age", ("age", "sex")])
    (('age', 'income'), ('region', 'sex', 'age'), ('age', 'sex'))
    """
    if not _are_tables(stated):
        raise InvalidNumber(f"Tables are texts such as 'age*sex', or lists of columns: {stated!r}.")
    found: list[tuple[str, ...]] = []
    for one in [stated] if isinstance(stated, str) else stated:
        found += tables_in(one) if isinstance(one, str) else [tuple(one)]
    return tuple(found)


def _are_tables(stated: object) -> bool:
    """Whether these are texts, or lists of texts."""
    return isinstance(stated, Sequence) and all(
        isinstance(one, Sequence) and all(isinstance(name, str) for name in one) for one in stated
    )


def as_list(names: Iterable[str]) -> str:
    """What :func:`names_in` reads as these names.

    >>> as_list(["sex", "age, in years"])
    'sex,"age, in years"'
    """
    return ",".join(map(as_part, names))


def as_table(names: Iterable[str], *, marks: str = "*") -> str:
    """What :func:`names_of_table` reads as these columns.

    >>> as_table(["sex", "a*b"])
    'sex*"a*b"'
    """
    return "*".join(_quoted(name, marks) for name in names)


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
    return ADDRESS.sub(lambda found: f"{found['kind']}://{found['who'] or ''}", path)


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


def _visible(letter: str) -> str:
    if letter.isprintable():
        return letter
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def _quoted(name: str, marks: str) -> str:
    plain = name and name == name.strip() and name[0] != '"' and not set(marks) & set(name)
    return name if plain else '"' + name.replace('"', '""') + '"'


def _parts(text: str, marks: str) -> list[tuple[str, str]]:
    """Every name, and the mark after it; quotes that do not close are letters of a name."""
    pattern = re.compile(rf'\s*"((?:[^"]|"")*)"\s*([{marks}]|$)|([^{marks}]*)([{marks}]|$)')
    found, at = [], 0
    while True:
        part = pattern.match(text, at)
        assert part is not None  # noqa: S101 - its second half takes anything
        quoted, mark, plain, after = part.groups()
        name = plain.strip() if quoted is None else quoted.replace('""', '"')
        found.append((name, mark or after or ""))
        at = part.end()
        if not found[-1][1]:
            return found
