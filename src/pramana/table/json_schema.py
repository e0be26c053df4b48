"""The form of a schema file as a JSON Schema, by which editors complete and check it."""

from __future__ import annotations

from typing import Final, get_args

from pramana.table.domains import RELEASES
from pramana.table.recoding import DATES, DISTRIBUTIONS
from pramana.table.replicates import Replication
from pramana.table.schema import MISSING
from pramana.table.toml_form import ROLES
from pramana.types import Form

__all__ = ["json_schema"]

LABEL: Final[Form] = {
    "oneOf": [
        {"type": ["string", "number", "boolean"]},
        {"type": "object", "properties": {"missing": {"const": True}}, "required": ["missing"],
         "additionalProperties": False},
    ]
}  # fmt: skip
LABELS: Final = {"oneOf": [{"type": "array", "items": LABEL}, LABEL]}
NAMES: Final = {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}

COLUMN: Final[dict[str, tuple[Form, str]]] = {
    "role": ({"type": "string"}, "What the column means to someone who looks for a person."),
    "categories": (LABELS, "The values that can occur."),
    "ordered": ({"type": "boolean"}, "Whether the order of the categories means something."),
    "bins": (
        {"type": "array", "items": {"type": "number"}, "minItems": 2},
        "Edges at which a number is cut, rising.",
    ),
    "labels": ({"type": "array", "items": {"type": "string"}}, "A name for each bin."),
    "release": ({"enum": list(RELEASES)}, "What is published of a bin."),
    "missing": ({"enum": list(MISSING)}, "What becomes of records without a value."),
    "missing_values": (LABELS, "Codes that say why there is none; each stays a value of its own."),
    "exempt": (LABELS, "Values that stay as they are."),
    "randomise": ({"type": "boolean"}, "Whether it goes through a matrix, whatever its role."),
    "declared": ({"type": "boolean"}, "False where the domain was read off the data."),
    "missing_codes": (LABELS, "Values that mean that there is none."),
    "date": ({"enum": list(DATES)}, "Dates become their year, quarter or month."),
    "date_format": (
        {"type": "string"},
        "How dates are written in text that is not ISO, such as %d.%m.%Y.",
    ),
    "merge": (
        {"type": "object", "additionalProperties": LABELS},
        "New categories, each with the values that it takes up.",
    ),
    "bottom": ({"type": "number"}, "Smaller numbers become this one."),
    "top": ({"type": "number"}, "Larger numbers become this one."),
    "round": ({"type": "number", "exclusiveMinimum": 0}, "Numbers become multiples of this."),
    "noise": (
        {
            "type": "object",
            "properties": {
                "distribution": {"enum": list(DISTRIBUTIONS)},
                "scale": {"type": "number", "exclusiveMinimum": 0},
            },
            "required": ["distribution", "scale"],
            "additionalProperties": False,
        },
        "Is added to every released number of a sensitive column.",
    ),
}
"""Every entry of a column: its form, and what it says."""

TOP: Final[dict[str, tuple[Form, str]]] = {
    "missing_codes": (LABELS, "Codes for every column that states none of its own."),
    "strata": (NAMES, "Columns within which the rest is randomised apart."),
    "impossible": (
        {"type": "array", "items": {"type": "object", "additionalProperties": LABELS}},
        "Combinations that no record can have and none may be given.",
    ),
    "choices": ({"type": "array", "items": NAMES}, "What an acquaintance may know together."),
    "tables": (NAMES, "Tables that will be asked for, such as sex*age."),
    "household": ({"type": "string"}, "The identifier that numbers households."),
    "replicate_weights": (
        {
            "type": "object",
            "properties": {
                "columns": {"anyOf": [NAMES, {"type": "string"}]},
                "method": {"enum": list(get_args(Replication))},
                "fay": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                "scale": {"type": "number", "exclusiveMinimum": 0},
            },
            "required": ["columns"],
            "additionalProperties": False,
        },
        "Columns of replicate weights, and how they were made.",
    ),
    "keys": (NAMES, "Columns of role key."),
    "sensitive": (NAMES, "Columns of role sensitive."),
    "plain": (NAMES, "Columns of role plain."),
    "identifiers": (NAMES, "Columns of role identifier."),
    "weight": (NAMES, "The column of sampling weights."),
}
"""Every entry at the top."""


def json_schema() -> Form:
    """The form of a schema file; words of other tools are understood on reading and not offered."""
    roles = {"examples": sorted({str(role) for role in ROLES.values()})}
    column = {name: form | {"description": text} for name, (form, text) in COLUMN.items()}
    column["role"] |= roles
    top = {name: form | {"description": text} for name, (form, text) in TOP.items()}
    columns = {
        "type": "object",
        "description": "One table a column.",
        "additionalProperties": {
            "type": "object",
            "properties": column,
            "additionalProperties": False,
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pramana schema file",
        "type": "object",
        "properties": {"columns": columns, **top},
    }
