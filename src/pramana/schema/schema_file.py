"""Read and write schema files in TOML."""

from __future__ import annotations

import csv
import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import tomli  # tomllib, until Python 3.15, stores every prefix of a dotted key: 40 kB take 1.6 GB

from pramana.base.atomic_files import read_file
from pramana.base.text import as_table, names_of_table
from pramana.errors import InvalidSchema, PramanaError
from pramana.schema.domains import require
from pramana.schema.origins import Provenance
from pramana.schema.roles import TERMS, Role
from pramana.schema.schema import Column, Dataset, Schema
from pramana.schema.schema_entries import (
    COLUMN_ENTRIES,
    STRATA,
    TOP_ENTRIES,
    Names,
    as_list,
    check_entry,
    normalised_term,
    read_column,
    read_combination,
    read_replicates,
    refuse_unknown,
)
from pramana.types import Entries, Form

DEEPEST: Final = 30
"""Nested tables and lists; a schema, plan or survey has at most five."""


def text_of(path: Path, *, what: str = "schema file") -> str:
    """The text of a schema file, or of one that it names."""
    if not path.exists():
        raise InvalidSchema("The {what} {path} does not exist.", what=what, path=path)
    try:
        return read_file(path, what=what).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSchema(
            "The {what} {path} cannot be read as UTF-8 text.", what=what, path=path
        ) from None


def read_schema_file(path: Path) -> Schema:
    """The schema in a TOML file; every error names the file, and the entry where it has one."""
    text = text_of(path)
    try:
        return read_schema(text, folder=path.parent)
    except PramanaError as error:
        entry = error.fields.get("entry")
        where = f"{path}, {entry}" if entry else str(path)
        raise error.reworded("{where}: {error}", file=str(path), where=where, error=error) from None


def read_toml(text: str, *, what: str) -> Form:
    """The tables of a TOML text, of which at most ``DEEPEST`` are nested."""
    try:
        form = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise InvalidSchema("{what} must be valid TOML: {error}.", what=what, error=error) from None
    except (ValueError, RecursionError):
        raise InvalidSchema(
            "{what} must be valid TOML: a number has too many digits, or tables or lists are "
            "nested too deeply.",
            what=what,
        ) from None
    level: list[Any] = [form]
    for _ in range(DEEPEST):
        inner = [
            part
            for whole in level
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if any(isinstance(part, int) and abs(part) >= 2**64 for part in inner):
            raise InvalidSchema("{what} must not have integers of more than 64 bits.", what=what)
        level = [part for part in inner if isinstance(part, dict | list)]
    if level:
        raise InvalidSchema(
            "{what} must not have more than {deepest} nested tables or lists.",
            what=what,
            deepest=DEEPEST,
        )
    return form


def read_schema(text: str, *, folder: Path = Path()) -> Schema:
    """The schema that a TOML text states; ``folder`` holds the files that it names."""
    raw = _dates_as_text(read_toml(text, what="The schema"))
    tables = raw.pop("columns", {})
    if not isinstance(tables, dict):
        raise InvalidSchema(
            "Columns must be given as tables, such as [columns.sex].", entry="columns"
        )
    roles: dict[str, Role] = {}
    top: Form = {}
    for word, value in raw.items():
        term = normalised_term(word)
        entry = "strata" if term in STRATA else word
        if entry in TOP_ENTRIES and term not in TERMS:
            check_entry(entry, value, TOP_ENTRIES)
            top[entry] = value
        elif (role := TERMS.get(term)) is not None:
            check_entry(word, value, {word: (Names, "a list of column names")})
            _add_roles(roles, word, role, as_list(value))
        else:
            refuse_unknown(word, ("columns", *TOP_ENTRIES))
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise InvalidSchema(
                "Column '{column}' must be one of the tables, as {header_of}.",
                column=name,
                entry=name,
                header_of=header_of(name),
            )
        if "hierarchy" in table:
            tables[name] = _with_level(name, table, folder)
    names = list(dict.fromkeys([*tables, *roles]))
    household = top.get("household")
    if household is not None and household not in names:
        names.append(household)
        roles[household] = Role.IDENTIFIER
    replicates = read_replicates(top.get("replicate_weights"))
    if replicates is not None and not isinstance(replicates.columns, str):
        fresh = [name for name in replicates.columns if name not in names]
        names += fresh
        roles |= dict.fromkeys(fresh, Role.PUBLIC)
    codes = as_list(top.get("missing_codes", []))
    return Schema(
        columns=tuple(
            read_column(name, tables.get(name, {}), role=roles.get(name), codes=codes)
            for name in names
        ),
        impossible=tuple(map(read_combination, as_list(top.get("impossible", [])))),
        strata=tuple(as_list(top.get("strata", []))),
        choices=tuple(tuple(as_list(choice)) for choice in top.get("choices", [])),
        tables=tuple(names_of_table(table) for table in as_list(top.get("tables", []))),
        household=household,
        replicates=replicates,
        origin=top.get("origin", Provenance.DECLARED),
        drops_rest=top.get("rest") == "drop",
        dataset=Dataset.of(top.get("dataset", {})),
    )


def _with_level(name: str, table: Entries, folder: Path) -> Form:
    """The entries of a column with ``merge`` in place of ``hierarchy``.

    The file is CSV with headings: the first column has the values of the table, each further one
    has their categories at a coarser level. Values that it does not list stay as they are.
    """
    check_entry("hierarchy", table["hierarchy"], COLUMN_ENTRIES, name)
    path, level = folder / table["hierarchy"]["file"], table["hierarchy"]["level"]
    known = partial(require, entry="hierarchy", column=name)
    known("merge" not in table, text=f"'{name}' must have merge or hierarchy, not both.")
    inside = path.resolve().is_relative_to(folder.resolve())
    known(inside, text=f"The hierarchy file {path} must be in the folder of the schema.")
    known(path.is_file(), text=f"The hierarchy file {path} does not exist.")
    rows = list(csv.reader(text_of(path, what="hierarchy file").splitlines()))
    heads = rows[0] if rows else []
    known(
        level in heads[1:] and all(len(row) == len(heads) for row in rows),
        text=f"{path} must have a column '{level}' to the right of the column of values, "
        "and a cell for each heading in each row.",
    )
    merge, line_of_value = dict[str, list[str]](), dict[str, int]()
    for line, row in enumerate(rows[1:], start=2):
        before = line_of_value.setdefault(row[0], line)
        known(
            before == line,
            text=f"{path}, line {line}: the value of line {before} is listed again.",
        )
        if category := row[heads.index(level)]:
            merge.setdefault(category, []).append(row[0])
    return {key: value for key, value in table.items() if key != "hierarchy"} | {"merge": merge}


def _add_roles(roles: dict[str, Role], word: str, role: Role, names: list[str]) -> None:
    if role is Role.WEIGHT and len(names) > 1:
        raise InvalidSchema(
            "{entry} must name one column, got {count}.", entry=word, count=len(names)
        )
    for name in names:
        if roles.setdefault(name, role) is not role:
            raise InvalidSchema(
                "'{column}' has two roles, {roles} and {role} (by {entry}). Give it one.",
                column=name,
                entry=word,
                roles=roles[name],
                role=role,
            )


def _dates_as_text(value: Any) -> Any:
    """Dates of TOML as their ISO text: they are labels."""
    if isinstance(value, dict):
        return {name: _dates_as_text(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_dates_as_text(part) for part in value]
    if isinstance(value, dt.date | dt.time):
        return str(value).removesuffix(" 00:00:00")
    return value


# -- writing ---------------------------------------------------------------------------------------

ORIGIN_NOTE: Final = (
    "# of roles and targets: delete it if you chose them without looking at the data"
)
READ_OFF: Final = "# read off the data: check that it lists every value that can occur"


def write_schema(
    schema: Schema,
    *,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """The schema as a TOML text that ``read_schema`` reads.

    Args:
        schema: The schema.
        reasons: A comment after the role of a column, by its name.
        notes: Comments below a column, by its name.
    """
    lines: list[str] = []
    if not schema.origin.declared:
        lines.append(f"{entry_of('origin', str(schema.origin))}  {ORIGIN_NOTE}")
    entries = {
        "strata": list(schema.strata),
        "rest": "drop" if schema.drops_rest else None,
        "choices": [list(choice) for choice in schema.choices],
        "tables": [as_table(table) for table in schema.tables],
        "household": schema.household,
        "replicate_weights": None if schema.replicates is None else schema.replicates.to_dict(),
    }
    lines += [entry_of(name, value) for name, value in entries.items() if value]
    rules = [f"  {_value(rule.to_dict())}," for rule in schema.impossible]
    lines += ["impossible = [", *rules, "]"] if rules else []
    about = [entry_of(name, text) for name, text in schema.dataset.to_dict().items()]
    lines += ["", "[dataset]", *about] if about else []
    for column in schema.columns:
        lines += ["", *_column_lines(column, (reasons or {}).get(column.name, ""))]
        lines += [comment_of(text) for text in (notes or {}).get(column.name, ())]
    return "\n".join(lines).lstrip("\n") + "\n"


def with_column_rewritten(text: str, schema: Schema, name: str) -> str:
    """The text of a schema file with one column changed; written anew if that does not suffice."""
    lines = text.splitlines()
    if header_of(name) in lines:
        begin = lines.index(header_of(name))
        after = (at for at in range(begin + 1, len(lines)) if lines[at].startswith("["))
        end = next(after, len(lines))
        gap = [""] if end < len(lines) else []
        column = _column_lines(schema.column(name))
        changed = "\n".join([*lines[:begin], *column, *gap, *lines[end:]]) + "\n"
        try:
            if read_schema(changed) == schema:
                return changed
        except PramanaError:
            pass
    return write_schema(schema)


def _column_lines(column: Column, reason: str = "") -> list[str]:
    comment = f"  {comment_of(reason)}" if reason else ""
    lines = [header_of(column.name), f'role = "{column.role}"{comment}']
    if column.domain is not None and column.origin is Provenance.READ_OFF:
        lines.append(READ_OFF)
    entries = {
        **({} if column.domain is None else column.domain.to_dict()),
        "missing": column.missing,
        **column.recoding.to_dict(),
        "exempt": list(column.exempt) or None,
        "randomise": column.randomise,
        "origin": None if column.declared else str(column.origin),
    }
    return lines + [entry_of(name, value) for name, value in entries.items() if value is not None]


def header_of(name: str) -> str:
    """The line above the entries of a column.

    >>> header_of("age"), header_of("place of birth")
    ('[columns.age]', '[columns."place of birth"]')
    """
    return f"[columns.{_key(name)}]"


def entry_of(entry: str, value: object) -> str:
    """One line of a schema file.

    >>> entry_of("merge", {"other": ["5", "6"]})
    'merge = {other = ["5", "6"]}'
    """
    return f"{entry} = {_value(value)}"


def comment_of(text: str) -> str:
    """A line that is a comment, whatever the text holds."""
    return f"# {''.join(map(_visible, text))}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    if value is None:
        return "{missing = true}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + "".join(ESCAPES.get(letter) or _visible(letter) for letter in value) + '"'
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items())
        return "{" + inside + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)


ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
