"""JSON Schema of the schema file, for completion and checks in editors."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import fields
from typing import Final, get_args

from pramana.schema.dataset import Dataset
from pramana.schema.domains import RELEASES
from pramana.schema.origins import Provenance
from pramana.schema.recoding import DATES, DIRECTIVES, DISTRIBUTIONS
from pramana.schema.replicates import Replication
from pramana.schema.schema import MISSING, Role
from pramana.schema.toml import REST, ROLES, SPELLINGS, STRATA
from pramana.types import Form

LARGEST: Final = sys.float_info.max
"""Beyond it there is only what JSON has no word for."""

VALUE: Final[Form] = {"type": ["string", "number", "boolean"]}
LABEL: Final[Form] = {
    "oneOf": [
        VALUE,
        {"type": "object", "properties": {"missing": {"const": True}}, "required": ["missing"],
         "additionalProperties": False},
    ]
}  # fmt: skip
NAME: Final[Form] = {"type": "string", "minLength": 1}


def _or_list(one: Form, **more: object) -> Form:
    """One of a kind, or a list of such."""
    return {"oneOf": [{"type": "array", "items": one, **more}, one]}


LABELS: Final = _or_list(LABEL)
NAMES: Final = _or_list(NAME)
FINITE: Final[Form] = {"type": "number", "minimum": -LARGEST, "maximum": LARGEST}
POSSIBLE: Final = FINITE | VALUE
ABOVE_ZERO: Final[Form] = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST}
ORIGIN: Final[Form] = {"enum": [str(origin) for origin in Provenance]}
IMPOSSIBLE: Final[Form] = {
    "type": "object",
    "additionalProperties": _or_list(LABEL, minItems=1),
    "minProperties": 2,
}


def _worded(words: Iterable[str]) -> str:
    """A pattern of words as reading compares them: without case, underscores and the like."""
    gap = "[-_ .]*"
    spelled = (gap.join(f"[{letter}{letter.upper()}]" for letter in word) for word in words)
    return f"^{gap}({'|'.join(spelled)}){gap}$"


COLUMN: Final[dict[str, tuple[Form, str]]] = {
    "role": (
        {
            "anyOf": [{"enum": [str(role) for role in Role]}, {"pattern": _worded(ROLES)}],
            "type": "string",
        },
        "What the column means to someone who looks for a person.",
    ),
    "categories": (_or_list(POSSIBLE, uniqueItems=True, minItems=1), "The values that can occur."),
    "ordered": ({"type": "boolean"}, "Whether the order of the categories means something."),
    "bins": (
        {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "Edges at which a number is cut, rising.",
    ),
    "labels": (_or_list({"type": "string"}, uniqueItems=True), "A name for each bin."),
    "integers": ({"type": "boolean"}, "Whether only whole numbers lie in the bins."),
    "release": ({"enum": [*RELEASES, "grid"]}, "What is published of a bin; points of a grid."),
    "points": (
        {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "Points of a grid, rising, to which a number is rounded by chance.",
    ),
    "range": (
        {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        "First and last point of an even grid.",
    ),
    "grid": ({"type": "integer", "minimum": 2}, "How many points an even grid has."),
    "step": (ABOVE_ZERO, "Numbers on a grid are multiples of this, from its first point on."),
    "missing": ({"enum": list(MISSING)}, "What becomes of records without a value."),
    "missing_values": (
        _or_list(POSSIBLE, uniqueItems=True),
        "Codes that say why there is none; each stays a value of its own.",
    ),
    "exempt": (LABELS, "Values that stay as they are."),
    "randomise": ({"type": "boolean"}, "Whether it goes through a matrix, whatever its role."),
    "origin": (ORIGIN, "Where its values and recodings come from."),
    "missing_codes": (_or_list(VALUE, uniqueItems=True), "Values that mean that there is none."),
    "date": ({"enum": list(DATES)}, "Dates become their year, quarter or month."),
    "date_format": (
        {
            "type": "string",
            "allOf": [{"pattern": "%[Yy]"}, {"pattern": "%[mbB]"}],
            "not": {"pattern": f"%[^{''.join(sorted(DIRECTIVES))}]"},
        },
        "How dates are written in text that is not ISO, such as %d.%m.%Y.",
    ),
    "merge": (
        {"type": "object", "additionalProperties": _or_list(VALUE, uniqueItems=True, minItems=1)},
        "New categories, each with the values that it takes up.",
    ),
    "bottom": (FINITE, "Smaller numbers become this one."),
    "top": (FINITE, "Larger numbers become this one."),
    "round": (ABOVE_ZERO, "Numbers become multiples of this."),
    "noise": (
        {
            "type": "object",
            "properties": {
                "distribution": {"enum": list(DISTRIBUTIONS)},
                "scale": ABOVE_ZERO,
            },
            "required": ["distribution", "scale"],
            "additionalProperties": False,
        },
        "Is added to every released number of a sensitive column.",
    ),
}
"""Every entry of a column: its form, and what it says."""

TOP: Final[dict[str, tuple[Form, str]]] = {
    "missing_codes": (
        _or_list(VALUE, uniqueItems=True),
        "Codes for every column that states none of its own.",
    ),
    "origin": (ORIGIN, "Where columns, roles, method and target come from."),
    "rest": ({"enum": list(REST)}, "What becomes of columns that are not named here."),
    "dataset": (
        {
            "type": "object",
            "properties": {field.name: {"type": "string"} for field in fields(Dataset)},
            "additionalProperties": False,
        },
        "What is said about the data set: title, version, publisher, contact, licence, purpose.",
    ),
    "strata": (NAMES, "Columns within which the rest is randomised apart."),
    "impossible": (
        _or_list(IMPOSSIBLE),
        "Combinations that no record can have and none may be given.",
    ),
    "choices": ({"type": "array", "items": NAMES}, "What an acquaintance may know together."),
    "tables": (NAMES, "Tables that will be asked for, such as sex*age."),
    "household": (NAME, "The identifier that numbers households."),
    "replicate_weights": (
        {
            "type": "object",
            "properties": {
                "columns": _or_list(NAME, minItems=2, uniqueItems=True),
                "method": {"enum": list(get_args(Replication))},
                "fay": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                "scale": ABOVE_ZERO,
            },
            "required": ["columns"],
            "additionalProperties": False,
        },
        "Columns of replicate weights, and how they were made.",
    ),
    "keys": (NAMES, "Columns of role key."),
    "sensitive": (NAMES, "Columns of role sensitive."),
    "public": (NAMES, "Columns of role public."),
    "identifiers": (NAMES, "Columns of role identifier."),
    "weight": (NAMES, "The column of sampling weights."),
}
"""Every entry at the top."""


def json_schema() -> Form:
    """The form of a schema file; words of other tools are taken as on reading, and not offered."""
    column = {name: form | {"description": text} for name, (form, text) in COLUMN.items()}
    top = {name: form | {"description": text} for name, (form, text) in TOP.items()}
    columns = {
        "type": "object",
        "description": "One table a column.",
        "additionalProperties": {
            "type": "object",
            "properties": column,
            "patternProperties": {f"^{word}$": COLUMN[own][0] for word, own in SPELLINGS.items()},
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pramana schema file",
        "type": "object",
        "properties": {"columns": columns, **top},
        "patternProperties": {_worded((*ROLES, *sorted(STRATA))): NAMES},
        "additionalProperties": False,
    }
