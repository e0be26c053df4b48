"""Schemas as TOML text: reading, writing, and the line of an entry.

Reading accepts the terms of other tools (keyVars, quasi_ident, sens_att, ...) as the role of a
column or as a list at the top. Writing needs only strings, numbers and lists. Neither tomllib nor
tomlkit reports the positions of values, so that lines are found here: a schema file has one key a
line, below the header of its column.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pramana.base.atomic_files import read_file
from pramana.base.text import as_table, names_of_table
from pramana.errors import InvalidNumber, InvalidSchema, PramanaError
from pramana.schema.dataset import Dataset
from pramana.schema.domains import Bins, Categories, Domain, Label, NumberGrid
from pramana.schema.origins import Provenance
from pramana.schema.recoding import Noise, Recoding
from pramana.schema.replicates import Replicates
from pramana.schema.schema import Column, Impossible, Role, Schema, origin_named
from pramana.types import Entries, Form

HEADER = re.compile(r"^\s*\[+\s*(.+?)\s*\]+\s*(#.*)?$")
KEY = re.compile(r"""^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=""")


ELSEWHERE = "\0"
"""Stands for the tables of a file that are no columns, such as ``[[impossible]]``."""


@dataclass(frozen=True)
class Line:
    """A header (without key) or an entry (of a column, or of the schema) of a schema file."""

    number: int
    column: str | None
    key: str | None

    def __str__(self) -> str:
        return f"line {self.number}" if self.key is None else f"line {self.number}, {self.key}"


def line_of(text: str, column: str | None, entry: str | None) -> Line | None:
    r"""The line of an entry of a column, else of the whole schema, else of the column's header.

    >>> str(line_of("[columns.age]\nrole = 'key'\nbins = [1]\n", "age", "bins"))
    'line 3, bins'
    """
    lines = _lines(text)
    for owner in (column, None):
        for line in lines:
            if entry is not None and (line.column, line.key) == (owner, entry):
                return line
    headers = (line for line in lines if column is not None and line.column == column)
    return next((line for line in headers if line.key is None), None)


def section_of(text: str, column: str) -> tuple[int, int]:
    r"""From where to where the lines of a column go, counted from 0; an empty stretch for none.

    >>> section_of("[columns.a]\nrole = 'key'\n\n[columns.b]\nrole = 'key'\n", "a")
    (0, 3)
    """
    heads = [line for line in _lines(text) if line.key is None]
    begin = next((line.number - 1 for line in heads if line.column == column), 0)
    lines = text.splitlines()
    after = (at for at in range(begin + 1, len(lines)) if HEADER.match(lines[at]))
    found = any(line.column == column for line in heads)
    return begin, next(after, len(lines)) if found else begin


def _lines(text: str) -> list[Line]:
    found: list[Line] = []
    column: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if header := HEADER.match(line):
            parts = _parts(header[1])
            column = _column_of(parts)
            if column not in (None, ELSEWHERE):
                found.append(Line(number, column, None))
            elif column is not None and parts:
                found.append(Line(number, None, parts[0]))
        elif key := KEY.match(line):
            parts = _parts(key[1])
            if column is None and parts[:1] == ["columns"] and len(parts) > 1:
                found.append(Line(number, parts[1], parts[2] if len(parts) > 2 else None))
            elif parts:
                found.append(Line(number, column, parts[0]))
    return found


def _column_of(parts: list[str]) -> str | None:
    """The column that a header opens; none under ``[columns]``, which opens them all."""
    if parts == ["columns"]:
        return None
    return parts[1] if parts[:1] == ["columns"] and len(parts) == 2 else ELSEWHERE


def _parts(dotted: str) -> list[str]:
    """The parts of a key with dots, as TOML reads them."""
    try:
        table = tomllib.loads(f"{dotted} = 0")
    except (ValueError, RecursionError):
        return []
    parts = []
    while isinstance(table, dict):
        if not table:  # nothing but a remark
            return []
        name, table = next(iter(table.items()))
        parts.append(name)
    return parts


ORIGIN_NOTE = "# of roles and targets: delete it if you state them without a look at the data"
READ_OFF = "# read off the data: check that it lists every value that can occur"

# Compared without case, underscores and hyphens.
SYNONYMS = {
    Role.KEY: """key keys keyvar keyvars keyvariable keyvariables quasi quasiident quasiidents
        quasiidentifier quasiidentifiers quasiidentifying quasiidentifyingattribute qi qid qis
        pramvar pramvars categoricalkey""",
    Role.SENSITIVE: """sensitive sens sensatt sensatts sensitiveatt sensitiveattribute
        sensitiveattributes sensitivevar sensitivevars sensiblevar confidential""",
    Role.WEIGHT: "weight weights weightvar samplingweight sampleweight surveyweight",
    Role.PUBLIC: "public plain insensitive insensitiveattribute nonsensitive other unchanged",
    Role.IDENTIFIER: """identifier identifiers ident idents identifying identifyingattribute
        directidentifier directidentifiers direct excludevars""",
}
ROLES = {word: role for role, words in SYNONYMS.items() for word in words.split()}
STRATA = {"strata", "stratavar", "stratavars", "stratum"}
REST = ("refuse", "drop")
TOP = ("columns", "impossible", "strata", "choices", "tables", "household", "replicate_weights",
       "missing_codes", "origin", "dataset", "keys", "sensitive", "weight", "public",
       "identifiers", "rest")  # fmt: skip
RECODINGS = ("missing_codes", "date", "date_format", "merge", "bottom", "top", "round", "noise")
ENTRIES = ("role", "categories", "ordered", "bins", "labels", "release", "missing",
           "integers", "points", "range", "step", "grid", "missing_values", "exempt", "randomise",
           "origin",
           *RECODINGS)  # fmt: skip
SPELLINGS = {"randomize": "randomise", "levels": "categories", "values": "categories",
             "edges": "bins", "breaks": "bins"}  # fmt: skip


def text_of(path: Path) -> str:
    """What stands in a schema file."""
    if not path.exists():
        raise InvalidSchema(f"The schema file {path} does not exist.")
    try:
        return read_file(path, what="schema file").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSchema(f"The schema file {path} cannot be read as UTF-8 text.") from None


def read_schema_file(path: Path) -> Schema:
    """The schema in a TOML file; every error names the file."""
    text = text_of(path)
    try:
        return read_schema(text)
    except PramanaError as error:
        line = line_of(text, error.fields.get("column"), error.fields.get("entry"))
        where = str(path) if line is None else f"{path}, {line}"
        number = None if line is None else line.number
        raise error.reworded(f"{where}: {error}", file=str(path), line=number) from None


def read_toml(text: str, *, what: str) -> Form:
    """What a TOML text states; one that is none, or is nested without end, is refused."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSchema(f"{what} must be valid TOML: {error}.") from None
    except (ValueError, RecursionError):
        raise InvalidSchema(
            f"{what} must be valid TOML: a number has too many digits, or lists are too deep."
        ) from None


def read_schema(text: str) -> Schema:
    """The schema that a TOML text states."""
    raw = read_toml(text, what="The schema")
    roles: dict[str, Role] = {}
    known: Form = {
        "columns": {},
        "impossible": [],
        "strata": [],
        "choices": [],
        "tables": [],
        "household": None,
        "replicate_weights": None,
        "missing_codes": [],
        "origin": Provenance.DECLARED,
        "rest": "refuse",
        "dataset": {},
    }
    for word, value in raw.items():
        if word in known:
            known[word] = value
        elif _plainly(word) in STRATA:
            known["strata"] = _names(word, value)
        elif (role := ROLES.get(_plainly(word))) is not None:
            _add_roles(roles, word, role, _names(word, value))
        else:
            _unknown(word, TOP)
    return _build(known, roles)


def _build(known: Form, roles: dict[str, Role]) -> Schema:
    tables = known["columns"]
    if not isinstance(tables, dict):
        raise InvalidSchema(
            "Columns must be given as tables, such as [columns.sex].", entry="columns"
        )
    for name in (name for name, own in tables.items() if not isinstance(own, dict)):
        raise InvalidSchema(
            f"Column '{name}' must be one of the tables, as {header_of(name)}.",
            column=name,
            entry=name,
        )
    if known["rest"] not in REST:
        raise InvalidSchema(
            f"rest must be one of {', '.join(REST)}, got {known['rest']!r}. It says what becomes "
            "of columns that the schema does not name.",
            entry="rest",
        )
    names = [*tables, *(name for name in roles if name not in tables)]
    household = known["household"]
    if household is not None and not (isinstance(household, str) and household):
        raise InvalidSchema("household must be the name of a column.", entry="household")
    if household is not None and household not in names:
        names.append(household)
        roles[household] = Role.IDENTIFIER
    replicates = _replicates(known["replicate_weights"])
    if replicates is not None and not isinstance(replicates.columns, str):
        fresh = [name for name in replicates.columns if name not in names]
        names += fresh
        roles |= dict.fromkeys(fresh, Role.PUBLIC)
    choices = known["choices"]
    if not isinstance(choices, list):
        raise InvalidSchema("choices must be a list of lists of column names.", entry="choices")
    codes = _labels("missing_codes", known["missing_codes"])
    return Schema(
        columns=tuple(
            _column(name, tables.get(name, {}), roles.get(name), codes) for name in names
        ),
        impossible=_impossible(known["impossible"]),
        strata=tuple(_names("strata", known["strata"])),
        choices=tuple(tuple(_names("choices", choice)) for choice in choices),
        tables=tuple(names_of_table(text) for text in _names("tables", known["tables"])),
        household=household,
        replicates=replicates,
        origin=known["origin"],
        drops_rest=known["rest"] == "drop",
        dataset=Dataset.of(known["dataset"]),
    )


def _replicates(form: object) -> Replicates | None:
    """Columns, by name or with a star, and how they were made."""
    if form is None:
        return None
    must = "replicate_weights must be a table of columns, method and perhaps fay or scale"
    if not isinstance(form, dict) or not {"columns"} <= set(form) <= REPLICATED:
        raise InvalidSchema(f"{must}.", entry="replicate_weights")
    columns = form["columns"]
    named = columns if isinstance(columns, str) else tuple(_names("columns", columns))
    numbers = {name: form[name] for name in ("fay", "scale") if name in form}
    if not all(isinstance(own, int | float) for own in numbers.values()):
        raise InvalidSchema(f"{must}, which are numbers.", entry="replicate_weights")
    try:
        return Replicates(named, kind=form.get("method", "brr"), **numbers)
    except InvalidNumber as error:
        raise InvalidSchema(f"replicate_weights: {error}", entry="replicate_weights") from None


REPLICATED = {"columns", "method", "fay", "scale"}


def _plainly(word: str) -> str:
    return "".join(letter for letter in word.lower() if letter not in "_- .")


def _unknown(word: str, words: Iterable[str], column: str | None = None) -> NoReturn:
    where = "The schema" if column is None else f"Column '{column}'"
    words = list(words)
    near = difflib.get_close_matches(word.lower(), words, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(words)}."
    raise InvalidSchema(
        f"{where} has an unknown entry '{word}'. {hint}",
        code="unknown-entry",
        column=column,
        entry=word,
    )


def _names(word: str, value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise InvalidSchema(f"{word} must be a list of column names.", entry=word)
    return names


def _add_roles(roles: dict[str, Role], word: str, role: Role, names: list[str]) -> None:
    if role is Role.WEIGHT and len(names) > 1:
        raise InvalidSchema(f"{word} must name one column, got {len(names)}.", entry=word)
    for name in names:
        if roles.setdefault(name, role) is not role:
            raise InvalidSchema(
                f"'{name}' has two roles, {roles[name]} and {role} (by {word}). Give it one.",
                column=name,
                entry=word,
            )


def _column(name: str, given: Entries, listed: Role | None, codes: tuple[Label, ...]) -> Column:
    entries: Form = {}
    for word, value in given.items():
        entry = SPELLINGS.get(word, word)
        if entry not in ENTRIES:
            _unknown(word, ENTRIES, name)
        entries[entry] = value
    for entry in ("ordered", "integers", "randomise"):
        if not isinstance(entries.get(entry, False), bool):
            raise InvalidSchema(
                f"{entry} of '{name}' must be true or false.", column=name, entry=entry
            )
    role = _role(name, entries.get("role"), listed)
    if codes and role is not Role.IDENTIFIER:
        entries.setdefault("missing_codes", list(codes))
    return Column(
        name=name,
        role=role,
        domain=_domain(name, entries),
        missing=entries.get("missing"),
        exempt=_labels("exempt", entries.get("exempt", []), column=name),
        recoding=_recoding(name, entries),
        randomise=entries.get("randomise"),
        origin=origin_named(entries.get("origin", Provenance.DECLARED), name),
    )


def _recoding(name: str, entries: Entries) -> Recoding:
    given = {entry: entries[entry] for entry in RECODINGS if entry in entries}
    merge, noise = given.get("merge", {}), given.get("noise")
    try:
        if "missing_codes" in given:
            given["missing_codes"] = _labels("missing_codes", given["missing_codes"])
        if not isinstance(merge, dict):
            raise InvalidSchema('merge must read like {"other" = ["5", "6"]}.', entry="merge")
        given["merge"] = {new: _labels("merge", old) for new, old in merge.items()}
        if noise is not None:
            if not isinstance(noise, dict) or set(noise) != {"distribution", "scale"}:
                raise InvalidSchema(
                    'noise must read like {distribution = "laplace", scale = 500}.', entry="noise"
                )
            given["noise"] = Noise(**noise)
        return Recoding(**given)
    except PramanaError as error:
        raise _in_column(name, error) from None


def _role(name: str, word: object, listed: Role | None) -> Role:
    if word is None:
        if listed is None:
            raise InvalidSchema(
                f"Column '{name}' must have a role: {', '.join(Role)}.", column=name
            )
        return listed
    role = ROLES.get(_plainly(word)) if isinstance(word, str) else None
    if role is None:
        near = difflib.get_close_matches(str(word).lower(), list(Role), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InvalidSchema(
            f"Role of '{name}' must be one of {', '.join(Role)}, got '{word}'.{hint}",
            column=name,
            entry="role",
        )
    if listed not in (None, role):
        raise InvalidSchema(
            f"'{name}' has two roles, {role} and {listed}. Give it one.", column=name, entry="role"
        )
    return role


OF_BINS = {
    "release": "it says what is published of a bin",
    "labels": "it names them, one label each",
    "integers": "it says that only whole numbers lie in them",
}


def _grid(name: str, entries: Entries) -> NumberGrid | None:
    """Points of a number that is rounded by chance: listed, or as many as ``grid`` in a range."""
    stated = {"points", "range", "grid"} & set(entries)
    if not stated and "step" not in entries:
        return None
    others = {"categories", "bins", "labels", "integers", "ordered"} & set(entries)
    if stated not in ({"points"}, {"range", "grid"}) or others:
        raise InvalidSchema(
            f"'{name}' must have points, or range and grid, and neither categories nor bins.",
            column=name,
            entry=min(stated, default="step"),
        )
    if entries.get("release", "grid") != "grid":
        raise InvalidSchema(
            f"'{name}' is rounded to a grid, whose points are released: release = \"grid\".",
            column=name,
            entry="release",
        )
    codes, step = (
        _labels("missing_values", entries.get("missing_values", [])),
        entries.get("step", 1),
    )
    if "points" in entries:
        return NumberGrid(_labels("points", entries["points"]), missing_values=codes, step=step)
    ends = entries["range"]
    if not isinstance(ends, list) or len(ends) != 2:
        raise InvalidSchema("range must be the lowest and the highest number.", entry="range")
    low, high = ends
    return NumberGrid.even(low, high, entries["grid"], step=step, missing_values=codes)


def _domain(name: str, entries: Entries) -> Domain | None:
    try:
        return _grid(name, entries) or _listed(name, entries)
    except InvalidSchema as error:
        raise error if error.fields.get("column") else _in_column(name, error) from None


def _listed(name: str, entries: Entries) -> Domain | None:
    if "categories" in entries and "bins" in entries:
        raise InvalidSchema(
            f"'{name}' must have categories or bins, not both.", column=name, entry="categories"
        )
    for entry, what in OF_BINS.items():
        if entry in entries and "bins" not in entries:
            raise InvalidSchema(
                f"{entry} of '{name}' needs bins: {what}.", column=name, entry=entry
            )
    if "ordered" in entries and "categories" not in entries:
        raise InvalidSchema(f"ordered of '{name}' needs categories.", column=name, entry="ordered")
    if "missing_values" in entries and not {"categories", "bins"} & set(entries):
        raise InvalidSchema(
            f"missing_values of '{name}' need categories or bins beside them.",
            column=name,
            entry="missing_values",
        )
    codes = _labels("missing_values", entries.get("missing_values", []))
    if "categories" in entries:
        values = _labels("categories", entries["categories"])
        return Categories(values, entries.get("ordered", False), codes)
    if "bins" in entries:
        if not isinstance(entries["bins"], list):
            raise InvalidSchema("Bins must be a list of numbers in rising order.", entry="bins")
        names = _labels("labels", entries.get("labels", []))
        release = entries.get("release", "label")
        integers = entries.get("integers", False)
        return Bins(tuple(entries["bins"]), release, codes, names, integers)  # type: ignore[arg-type]
    return None


def _in_column(name: str, error: PramanaError) -> InvalidSchema:
    """The same error with the column that it is in."""
    fields = error.fields | {"column": name}
    return InvalidSchema(f"Column '{name}': {error}", code=error.code, **fields)


def _labels(entry: str, value: object, column: str | None = None) -> tuple[Label, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(_label(entry, item, column) for item in values)


def _label(entry: str, item: object, column: str | None) -> Label:
    if isinstance(item, dt.date | dt.datetime | dt.time):
        return str(item).removesuffix(" 00:00:00")
    if item == {"missing": True}:  # TOML has no null
        return None
    if isinstance(item, str | int | float):
        return item
    what = entry if column is None else f"{entry} of '{column}'"
    raise InvalidSchema(
        f"{what} must list texts, numbers, truth values or {{missing = true}}.",
        column=column,
        entry=entry,
    )


def _impossible(value: Any) -> tuple[Impossible, ...]:
    rules = value if isinstance(value, list) else [value]
    if not all(isinstance(rule, dict) for rule in rules):
        raise InvalidSchema(
            "impossible must be a list of tables, "
            'such as {age = ["[0, 16)"], marital = ["married"]}.',
            entry="impossible",
        )
    return tuple(
        Impossible.of({name: _labels("impossible", own) for name, own in rule.items()})
        for rule in rules
    )


def entry_of(entry: str, value: object) -> str:
    """One line of a schema file.

    >>> entry_of("merge", {"other": ["5", "6"]})
    'merge = {other = ["5", "6"]}'
    """
    return f"{entry} = {_value(value)}"


def write_schema(
    schema: Schema,
    *,
    reasons: Mapping[str, str] | None = None,
    notes: Mapping[str, Iterable[str]] | None = None,
) -> str:
    """The schema as a TOML text that ``read_schema`` reads, with comments by column."""
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
        lines.extend(_column_lines(column, (reasons or {}).get(column.name, "")))
        lines.extend(comment_of(text) for text in (notes or {}).get(column.name, ()))
    return "\n".join(lines).lstrip("\n") + "\n"


def header_of(name: str) -> str:
    """The line above the entries of a column.

    >>> header_of("age"), header_of("place of birth")
    ('[columns.age]', '[columns."place of birth"]')
    """
    return f"[columns.{_key(name)}]"


def rewritten(text: str, schema: Schema, name: str) -> str:
    """The text of a schema file with one column changed; written anew if that does not suffice."""
    lines, own = text.splitlines(), _column_lines(schema.column(name), "")[1:]
    begin, end = section_of(text, name)
    gap = [""] if end < len(lines) else []
    changed = "\n".join([*lines[:begin], *own, *gap, *lines[end:]]) + "\n"
    try:
        same = begin < end and read_schema(changed) == schema
    except PramanaError:
        same = False
    return changed if same else write_schema(schema)


def _column_lines(column: Column, reason: str) -> list[str]:
    comment = f"  {comment_of(reason)}" if reason else ""
    lines = ["", header_of(column.name), f'role = "{column.role}"{comment}']
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
    return lines + [entry_of(name, own) for name, own in entries.items() if own is not None]


def comment_of(text: str) -> str:
    """A line that is a comment, whatever the text holds."""
    return f"# {''.join(map(_visible, text))}"


def _key(name: str) -> str:
    bare = name.isascii() and all(letter.isalnum() or letter in "_-" for letter in name)
    return name if bare and name else _text(name)


def _value(value: object) -> str:
    if value is None:
        return "{missing = true}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        inside = ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items())
        return "{" + inside + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return str(value)


ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def _text(text: str) -> str:
    return '"' + "".join(ESCAPES.get(letter) or _visible(letter) for letter in text) + '"'


def _visible(letter: str) -> str:
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"
