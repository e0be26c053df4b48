"""The entries of a schema file: their types and meanings, JSON Schema, and reading of a column.

``COLUMN_ENTRIES`` and ``TOP_ENTRIES`` say once which entries there are. The reader of schema files,
the schema part of certificates and the JSON Schema for editors follow from them. Reading accepts
the terms of other tools (keyVars, quasi_ident, sens_att, ...) for roles.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Annotated, Any, Final, Literal, NoReturn, TypeAlias

import msgspec
from msgspec import Meta

from pramana.errors import InvalidNumber, InvalidSchema, PramanaError
from pramana.schema.domains import RELEASES, Bins, Categories, Domain, Label, NumberGrid
from pramana.schema.origins import Provenance
from pramana.schema.recoding import DATES, DIRECTIVES, DISTRIBUTIONS, Noise, Recoding
from pramana.schema.roles import TERMS, Role
from pramana.schema.schema import (
    MISSING,
    REPLICATIONS,
    Column,
    Dataset,
    Impossible,
    Replicates,
    origin_named,
)
from pramana.types import Entries, Form

Entry: TypeAlias = tuple[Any, str]
"""The type that msgspec accepts, and what the entry says. The schema's classes check the rest."""


def _json(**keywords: object) -> Meta:
    """Keywords that JSON Schema has and types have not."""
    return Meta(extra_json_schema=dict(keywords))


def _words(words: Iterable[str]) -> str:
    """A pattern of words as reading compares them: without case, underscores and the like."""
    gap = "[-_ .]*"
    spelled = (gap.join(f"[{letter}{letter.upper()}]" for letter in word) for word in words)
    return f"^{gap}({'|'.join(spelled)}){gap}$"


STRATA: Final = ("strata", "stratavar", "stratavars", "stratum")
SPELLINGS: Final = {"randomize": "randomise", "levels": "categories", "values": "categories",
                    "edges": "bins", "breaks": "bins"}  # fmt: skip

LARGEST: Final = sys.float_info.max
UNIQUE: Final = _json(uniqueItems=True)
SOME: Final = _json(uniqueItems=True, minItems=1)


def _one_of(words: Iterable[str]) -> Any:
    return Annotated[str, _json(enum=[str(word) for word in words])]


Number: TypeAlias = int | float
Finite: TypeAlias = Annotated[Number, _json(minimum=-LARGEST, maximum=LARGEST)]
AboveZero: TypeAlias = Annotated[Number, _json(exclusiveMinimum=0, maximum=LARGEST)]
Rising: TypeAlias = Annotated[list[Number], _json(minItems=2)]
Value: TypeAlias = str | int | float | bool
Codes: TypeAlias = Annotated[list[Value], UNIQUE] | Value
Possible: TypeAlias = Annotated[Value, _json(minimum=-LARGEST, maximum=LARGEST)]
NoValue: TypeAlias = Annotated[
    dict[str, bool], _json(properties={"missing": {"const": True}}, required=["missing"])
]
"""TOML has no null: a missing value is written as {missing = true}."""
AnyLabel: TypeAlias = str | int | float | bool | NoValue | None
Name: TypeAlias = Annotated[str, Meta(min_length=1)]
Names: TypeAlias = list[Name] | Name
Origin: TypeAlias = Annotated[Any, _json(enum=[str(origin) for origin in Provenance])]
Labels: TypeAlias = Annotated[list[AnyLabel], _json(minItems=1)] | AnyLabel
Combination: TypeAlias = Annotated[dict[str, Labels], _json(minProperties=2)]
DateFormat: TypeAlias = Annotated[
    str,
    _json(
        allOf=[{"pattern": "%[Yy]"}, {"pattern": "%[mbB]"}],
        **{"not": {"pattern": f"%[^{''.join(sorted(DIRECTIVES))}]"}},
    ),
]
Texts: TypeAlias = Annotated[
    dict[str, Any],
    _json(properties={entry.name: {"type": "string"} for entry in fields(Dataset)}),
]


class NoiseEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Distribution and scale of noise."""

    distribution: _one_of(DISTRIBUTIONS)  # type: ignore[valid-type]
    scale: AboveZero


class ReplicatesEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Columns of replicate weights, by name or with a star, and how they were made."""

    columns: Annotated[list[Name], _json(minItems=2, uniqueItems=True)] | Name
    method: _one_of(REPLICATIONS) = "brr"  # type: ignore[valid-type]
    fay: Annotated[Number, _json(minimum=0, exclusiveMaximum=1)] | None = None
    scale: AboveZero | None = None


class HierarchyEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A file of levels, and the level whose categories take the place of values."""

    file: Name
    level: Name


COLUMN_ENTRIES: Final[dict[str, Entry]] = {
    "role": (Annotated[str, _json(pattern=_words(TERMS))], "the role of the column"),
    "categories": (Annotated[list[Possible], SOME] | Possible, "the values that can occur"),
    "ordered": (bool, "true or false: whether the categories are ordered"),
    "bins": (Rising, "a list of numbers: rising edges of the bins"),
    "labels": (Annotated[list[str], UNIQUE] | str, "a name for each bin"),
    "integers": (bool, "true or false: whether the bins contain whole numbers only"),
    "release": (_one_of([*RELEASES, "grid"]), "what is published of a bin; points of a grid"),
    "points": (Rising, "points of a grid, rising, to which a number is rounded by chance"),
    "range": (
        Annotated[list[Number], Meta(min_length=2, max_length=2)],
        "first and last point of an even grid",
    ),
    "grid": (Annotated[Number, _json(minimum=2, multipleOf=1)], "the points of an even grid"),
    "step": (AboveZero, "numbers on a grid are multiples of this, from its first point on"),
    "missing": (_one_of(MISSING), "treatment of records without a value"),
    "missing_values": (
        Annotated[list[Possible], UNIQUE] | Possible,
        "codes for the reason of a missing value; each stays a separate value",
    ),
    "exempt": (list[AnyLabel] | AnyLabel, "values that stay unchanged"),
    "randomise": (bool, "true or false: whether it is randomised, whatever its role"),
    "origin": (Origin, "origin of its values and recodings"),
    "missing_codes": (Codes, "values that mean missing"),
    "date": (_one_of(DATES), "dates become their year, quarter or month"),
    "date_format": (DateFormat, "format of dates that are not ISO, such as %d.%m.%Y"),
    "merge": (
        dict[str, Annotated[list[Value], SOME] | Value],
        'new categories with the values that they contain, as {"other" = ["5", "6"]}',
    ),
    "hierarchy": (
        HierarchyEntry,
        'the categories of a level in a file, as {file = "regions.csv", level = "state"}',
    ),
    "bottom": (Finite, "the number that replaces smaller ones"),
    "top": (Finite, "the number that replaces larger ones"),
    "round": (AboveZero, "the number to whose multiples all others are rounded"),
    "noise": (
        NoiseEntry,
        'noise on every released number, as {distribution = "laplace", scale = 500}',
    ),
}
"""The entries of a column."""

RECODINGS: Final = ("missing_codes", "date", "date_format", "merge", "bottom", "top", "round",
                    "noise")  # fmt: skip

TOP_ENTRIES: Final[dict[str, Entry]] = {
    "missing_codes": (Codes, "missing_codes of every column without this entry"),
    "origin": (Origin, "origin of columns, roles, method and target"),
    "rest": (Literal["refuse", "drop"], "refuse or drop: treatment of columns not named here"),
    "dataset": (Texts, "title, version, publisher, contact, licence and purpose of the data set"),
    "strata": (Names, "columns within which other columns are randomised separately"),
    "impossible": (
        list[Combination] | Combination,
        'combinations that cannot exist, as [{age = ["[0, 16)"], marital = ["married"]}]',
    ),
    "choices": (list[Names], "lists of columns that an acquaintance may know together"),
    "tables": (Names, "tables of interest, such as sex*age"),
    "household": (Name, "the identifier that numbers households"),
    "replicate_weights": (ReplicatesEntry, "columns of replicate weights, and their method"),
    "keys": (Names, "columns of role key"),
    "sensitive": (Names, "columns of role sensitive"),
    "public": (Names, "columns of role public"),
    "identifiers": (Names, "columns of role identifier"),
    "weight": (Names, "the column of sampling weights"),
}
"""The entries at the top of a file."""


def json_schema() -> Form:
    """The JSON Schema of a schema file, for completion and checks in editors.

    Terms of other tools are accepted as on reading, and not offered.
    """

    def described(entries: Mapping[str, Entry]) -> dict[str, Form]:
        types = {
            name: Annotated[kind, Meta(description=f"{meaning[0].upper()}{meaning[1:]}.")]
            for name, (kind, meaning) in entries.items()
        }
        made, parts = msgspec.json.schema_components(types.values())
        structs.update(parts)
        return dict(zip(types, made, strict=True))

    structs: dict[str, Form] = {}
    column = described(COLUMN_ENTRIES)
    column["role"] |= {"anyOf": [{"enum": [str(role) for role in Role]}, {}]}
    columns = {
        "type": "object",
        "description": "One table per column.",
        "additionalProperties": {
            "type": "object",
            "properties": column,
            "patternProperties": {f"^{word}$": column[entry] for word, entry in SPELLINGS.items()},
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pramana schema file",
        "type": "object",
        "properties": {"columns": columns, **described(TOP_ENTRIES)},
        "patternProperties": {_words((*TERMS, *STRATA)): msgspec.json.schema(Names)},
        "additionalProperties": False,
        "$defs": structs,
    }


# -- reading one entry ---------------------------------------------------------------------------


def check_entry(
    entry: str, value: object, known: Mapping[str, Entry], column: str | None = None
) -> None:
    """Refuse a value of another type than the entry has."""
    try:
        msgspec.convert(value, known[entry][0])
    except (msgspec.ValidationError, RecursionError):
        of = "" if column is None else f" of '{column}'"
        raise InvalidSchema(
            "{entry}{of} must state {known}.",
            column=column,
            entry=entry,
            of=of,
            known=known[entry][1],
        ) from None


def normalised_term(word: str) -> str:
    """A term without case and marks between its words."""
    return re.sub("[-_ .]", "", word.lower())


def refuse_unknown(word: str, known: Iterable[str], column: str | None = None) -> NoReturn:
    """Refuse an entry that is not known, with the one that was probably meant."""
    where = "The schema" if column is None else f"Column '{column}'"
    words = list(known)
    near = difflib.get_close_matches(word.lower(), words, n=1)
    hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(words)}."
    raise InvalidSchema(
        "{where} has an unknown entry {entry!r}. {hint}",
        code="unknown-entry",
        column=column,
        entry=word,
        where=where,
        hint=hint,
    )


def as_list(value: Any) -> list[Any]:
    """A list as it is, and anything else as a list of one."""
    return value if isinstance(value, list) else [value]


def _labels(value: Any, entry: str, column: str | None = None) -> tuple[Label, ...]:
    """Labels, of which ``{missing = true}`` is a missing one."""
    if any(isinstance(item, dict) and item != {"missing": True} for item in as_list(value)):
        raise InvalidSchema(
            "{entry} must list texts, numbers, truth values or {missing = true}.",
            column=column,
            entry=entry,
        )
    return tuple(None if isinstance(item, dict) else item for item in as_list(value))


def read_column(
    name: str, stated: Entries, *, role: Role | None = None, codes: Iterable[Label] = ()
) -> Column:
    """The column that these entries state.

    Args:
        name: The name of the column.
        stated: Its entries.
        role: Its role, where a list at the top of the file names it.
        codes: Codes for missing values, for a column that lists none.
    """
    entries: Form = {}
    for word, value in stated.items():
        entry = SPELLINGS.get(word, word)
        if entry not in COLUMN_ENTRIES:
            refuse_unknown(word, COLUMN_ENTRIES, name)
        if entry != "role":
            check_entry(entry, value, COLUMN_ENTRIES, name)
        entries[entry] = value
    read_role = _role(name, entries.get("role"), role)
    if (listed := list(codes)) and read_role.traits.released:
        entries.setdefault("missing_codes", listed)
    try:
        domain, recoding = _domain(name, entries), _recoding(entries)
    except PramanaError as error:
        if error.fields.get("column"):
            raise
        raise InvalidSchema(
            "Column '{column}': {error}",
            code=error.code,
            entry=error.fields.get("entry"),
            column=name,
            error=error,
        ) from None
    return Column(
        name=name,
        role=read_role,
        domain=domain,
        missing=entries.get("missing"),
        exempt=_labels(entries.get("exempt", []), "exempt", name),
        recoding=recoding,
        randomise=entries.get("randomise"),
        origin=origin_named(entries.get("origin", Provenance.DECLARED), name),
    )


def read_combination(cells: Entries) -> Impossible:
    """An impossible combination from its labels by column."""
    return Impossible.of({name: _labels(labels, "impossible") for name, labels in cells.items()})


def read_replicates(form: Entries | None) -> Replicates | None:
    """Replicate weights from their table; none where there is no table."""
    if form is None:
        return None
    try:
        return Replicates(
            form["columns"], kind=form.get("method", "brr"),
            fay=form.get("fay"), scale=form.get("scale"),
        )  # fmt: skip
    except InvalidNumber as error:
        raise InvalidSchema(
            "replicate_weights: {error}", entry="replicate_weights", error=error
        ) from None


def _role(name: str, word: object, listed: Role | None) -> Role:
    if word is None and listed is None:
        raise InvalidSchema(
            "Column '{column}' must have a role: {role}.", column=name, role=", ".join(Role)
        )
    role = listed
    if word is not None:
        role = TERMS.get(normalised_term(word)) if isinstance(word, str) else None
    if role is None:
        near = difflib.get_close_matches(str(word).lower(), list(Role), n=1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        raise InvalidSchema(
            "Role of '{column}' must be one of {role}, got {word!r}.{hint}",
            column=name,
            entry="role",
            role=", ".join(Role),
            word=word,
            hint=hint,
        )
    if listed not in (None, role):
        raise InvalidSchema(
            "'{column}' has two roles, {role} and {listed}. Give it one.",
            column=name,
            entry="role",
            role=role,
            listed=listed,
        )
    return role


NEEDS: Final = {
    "ordered": ("categories",),
    "labels": ("bins",),
    "integers": ("bins",),
    "range": ("grid",),
    "grid": ("range",),
    "step": ("points", "range"),
    "release": ("bins", "points", "range"),
    "missing_values": ("categories", "bins", "points", "range"),
}
"""Entries of a domain that need another one."""


def _domain(name: str, entries: Entries) -> Domain | None:
    kinds = [kind for kind in ("bins", "points", "range", "categories") if kind in entries]
    if len(kinds) > 1:
        raise InvalidSchema(
            "'{column}' must have one of categories, bins, points or range with grid, not both "
            "{kinds} and {entry}.",
            column=name,
            entry=kinds[1],
            kinds=kinds[0],
        )
    for entry, needed in NEEDS.items():
        if entry in entries and not set(needed) & set(entries):
            raise InvalidSchema(
                "{entry} of '{column}' needs {needed}.",
                column=name,
                entry=entry,
                needed=" or ".join(needed),
            )
    if not kinds:
        return None
    (kind,) = kinds
    missing = tuple(as_list(entries.get("missing_values", [])))
    if kind == "categories":
        values = tuple(as_list(entries["categories"]))
        return Categories(values, entries.get("ordered", False), missing)
    if kind == "bins":
        return Bins(
            tuple(entries["bins"]),
            entries.get("release", "label"),
            missing,
            tuple(as_list(entries.get("labels", []))),
            entries.get("integers", False),
        )
    if entries.get("release", "grid") != "grid":
        raise InvalidSchema(
            "'{column}' is rounded to a grid, whose points are released: release = \"grid\".",
            column=name,
            entry="release",
        )
    step = entries.get("step", 1)
    if kind == "points":
        return NumberGrid(tuple(entries["points"]), missing_values=missing, step=step)
    low, high = entries["range"]
    return NumberGrid.even(low, high, entries["grid"], step=step, missing_values=missing)


def _recoding(entries: Entries) -> Recoding:
    stated = {entry: entries[entry] for entry in RECODINGS if entry in entries}
    if "missing_codes" in stated:
        stated["missing_codes"] = as_list(stated["missing_codes"])
    if "merge" in stated:
        stated["merge"] = {new: as_list(values) for new, values in stated["merge"].items()}
    if "noise" in stated:
        stated["noise"] = Noise(**stated["noise"])
    return Recoding(**stated)
