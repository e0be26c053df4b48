"""Plain values of what the product returns: names, labels, numbers and booleans, no sentences."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pramana as pm
from pramana.release.certificate import Certificate
from tests.golden.renames import (
    ARGUMENTS,
    ATTRIBUTES,
    BUILD,
    CLASSES,
    PROSE,
    VERBS,
    WORDS,
    stored_check,
    stored_key,
    stored_word,
)

Facts = Any
"""JSON: mappings, lists, texts, numbers, booleans and null."""

DIGITS = 15
WEIGHT_DIGITS = 12
"""Digits from which on a text of digits is a probability as an integer over 2**64."""

SHOWN = 3
"""Released records that are stored in full; all others are stored as one hash."""

LONGEST = 200
"""Characters of a list of labels or integers that is stored in full."""

RELATIVE = 1e-6
"""Machines differ in the last bits of logarithms, and searches end a little apart."""

ABSOLUTE = 1e-9
ITERATED = {"sex*age*education": 5e-3}
"""Tables whose iteration stops at a tolerance: their digits beyond it depend on the machine."""


def named(name: str) -> Any:
    """A public class, by its stored name."""
    return getattr(pm, CLASSES[name])


def make(name: str, *values: Any, **options: Any) -> Any:
    """An object of a public class."""
    return named(name)(*values, **_arguments(options))


def call(owner: Any, verb: str, *values: Any, **options: Any) -> Any:
    """What a verb of the package, or of one of its results, returns."""
    return getattr(owner, VERBS[verb])(*values, **_arguments(options))


def get(owner: Any, name: str) -> Any:
    """An attribute of a result."""
    return getattr(owner, ATTRIBUTES[name])


def _arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        ARGUMENTS[name]: WORDS.get(value, value) if isinstance(value, str) else value
        for name, value in options.items()
    }


def attempt(asked: Any, *values: Any, **options: Any) -> Facts:
    """What ``asked`` returns, or the class of the error by which the product refuses."""
    try:
        return asked(*values, **options)
    except pm.PramanaError as error:
        stored = {today: name for name, today in CLASSES.items()}
        return {"refused": stored.get(type(error).__name__, type(error).__name__)}


# -- plans and certificates --------------------------------------------------------------------


def plan_facts(plan: Any) -> Facts:
    """Guarantees attained, crowd, expected errors and the matrices of a plan."""
    errors = get(plan, "expected_error")
    return {
        "method": stored_word(get(get(plan, "method"), "name")),
        "records": get(plan, "records"),
        "crowd": get(plan, "crowd"),
        "attained": {
            stored_word(get(own, "name")): numbers(own.to_json()) for own in get(plan, "attained")
        },
        "expected_error": {}
        if errors is None
        else {"*".join(names): number(error) for names, error in get(errors, "tables")},
        "mechanism": shortened(get(plan, "mechanism").to_json()),
    }


def certificate_facts(folder: Path) -> Facts:
    """All values of a certificate but its sentences and what depends on bytes of files."""
    content = (folder / "certificate.json").read_bytes()
    form = json.loads(content)
    if form["mechanism"] is not None:  # with the labels that follow from the schema
        form["mechanism"] = Certificate.from_bytes(content).mechanism.to_json()
    variables = form.get("labels", {}).get("variables", {})
    variables.pop(WORDS["asked"], None)  # a sentence
    form = plain(form)
    form["figures"] = numbers(form["figures"])
    form.get("collected", {}).pop("survey", None)  # a hash of the definition of the survey
    return shortened(form)


def plain(form: Any) -> Facts:
    """The same form under stored keys and words, without prose."""
    if isinstance(form, Mapping):
        kept = ((stored_key(key), value) for key, value in form.items())
        return {key: plain(value) for key, value in sorted(kept) if key not in PROSE | BUILD}
    if isinstance(form, list | tuple):
        return [plain(value) for value in form]
    if isinstance(form, str):
        return stored_word(form)
    return form if form is None or isinstance(form, bool | int) else number(form)


def numbers(form: Any) -> Facts:
    """A plain form without texts of several words; values of keys that are phrases as a list."""
    form = plain(form)
    if isinstance(form, dict):
        if any(" " in key for key in form):
            return [numbers(value) for value in form.values()]
        return {key: numbers(value) for key, value in form.items() if not _phrase(value)}
    if isinstance(form, list):
        return [numbers(value) for value in form if not _phrase(value)]
    return form


def _phrase(value: Facts) -> bool:
    return isinstance(value, str) and " " in value


def shortened(form: Facts) -> Facts:
    """The same form, with a summary in place of each long list of labels or integers."""
    if isinstance(form, dict):
        return {key: shortened(value) for key, value in form.items()}
    if isinstance(form, list):
        if len(json.dumps(form)) > LONGEST and all(map(_exact, form)):
            weights = [int(leaf) for leaf in _leaves(form) if _is_weight(leaf)]
            if weights:
                return {"entries": len(form), **_moments(weights)}
            return {"entries": len(form), "sha256": _digest(form)}
        return [shortened(value) for value in form]
    return form


def _exact(form: Facts) -> bool:
    """Whether a form holds neither mappings nor floats."""
    return all(map(_exact, form)) if isinstance(form, list) else not isinstance(form, dict | float)


def _leaves(form: Facts) -> Iterator[Facts]:
    if isinstance(form, list):
        for part in form:
            yield from _leaves(part)
    else:
        yield form


def _is_weight(value: Facts) -> bool:
    """Whether a value is a probability as an integer over 2**64, or a share of it."""
    return isinstance(value, str) and len(value) >= WEIGHT_DIGITS and value.isdigit()


def _moments(weights: list[int]) -> Facts:
    """The mean of integer probabilities, and their mean weighted by place: both as floats."""
    placed = sum(place * weight for place, weight in enumerate(weights, 1))
    return {"mean": sum(weights) / len(weights), "mean_by_place": placed / len(weights) ** 2}


# -- verdicts ----------------------------------------------------------------------------------


def verdict_facts(verdict: Any) -> Facts:
    """Whether a release holds, and the state of every check; those of columns under one name."""
    states: dict[str, set[str]] = {}
    for check in get(verdict, "checks"):
        name = stored_check(get(check, "name"))
        states.setdefault(name, set()).add(stored_word(str(get(check, "state"))))
    checks = {name: " ".join(sorted(found)) for name, found in sorted(states.items())}
    return {"valid": get(verdict, "valid"), "checks": checks}


# -- estimates ---------------------------------------------------------------------------------


def estimate_facts(estimate: Any) -> Facts:
    """A table of estimates: its labels, its method, and the numbers of every cell."""
    facts = {
        "by": [stored_word(name) for name in get(estimate, "by")],
        "labels": [[_value(label) for label in labels] for labels in get(estimate, "labels")],
        "method": stored_word(get(estimate, "method")),
        "records": get(estimate, "records"),
    }
    for name in ("estimate", "se", "low", "high", "unbiased"):
        facts[name] = array(get(estimate, name))
    if facts["unbiased"] == facts["estimate"]:
        del facts["unbiased"]
    return facts


def contrast_facts(contrast: Any) -> Facts:
    """A difference or ratio of two cells."""
    return {name: number(get(contrast, name)) for name in ("estimate", "se", "low", "high")}


def independence_facts(test: Any) -> Facts:
    """A test of independence."""
    facts = {name: number(get(test, name)) for name in ("statistic", "degrees", "p_value")}
    return facts | {"method": get(test, "method")}


def regression_facts(regression: Any) -> Facts:
    """Coefficients by name, with their errors and intervals."""
    frame = regression.to_arrow().to_pydict()
    return {
        name: values if name == "name" else [number(value) for value in values]
        for name, values in frame.items()
    }


# -- tables ------------------------------------------------------------------------------------


def table_facts(table: Any, *, ordered: bool = True) -> Facts:
    """Names and types of a table, its first records, and a hash of all values in their order.

    Args:
        table: An Arrow table.
        ordered: Whether the order of records is settled; otherwise they are sorted.
    """
    columns = [[_value(value) for value in column.to_pylist()] for column in table.columns]
    rows = [list(row) for row in zip(*columns, strict=True)]
    rows = rows if ordered else sorted(rows, key=json.dumps)
    return {
        "columns": [stored_word(name) for name in table.column_names],
        "types": [_type(field.type) for field in table.schema],
        "records": table.num_rows,
        "first": rows[:SHOWN],
        "sha256": _digest(rows),
    }


def _type(kind: pa.DataType) -> str:
    """What kind of values a column holds, however wide they are stored."""
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    for name in ("boolean", "integer", "floating", "temporal"):
        if getattr(pa.types, f"is_{name}")(kind):
            return name
    return "text"


def _value(value: Any) -> Facts:
    """A cell as JSON; numbers to twelve digits, since they are hashed."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.12g}")
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _digest(form: Facts) -> str:
    return hashlib.sha256(json.dumps(form).encode()).hexdigest()[:32]


# -- numbers -----------------------------------------------------------------------------------


def number(value: Any) -> Facts:
    """A number as JSON; what is no number becomes a text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    real = float(value)
    return float(f"{real:.{DIGITS}g}") if math.isfinite(real) else str(real)


def array(values: Any) -> Facts:
    """All numbers of an array, in their order."""
    return [number(value) for value in np.asarray(values, dtype=float).ravel().tolist()]


def differences(
    stored: Facts, computed: Facts, at: str = "", relative: float = RELATIVE
) -> Iterator[str]:
    """Where two forms differ: floats beyond rounding, everything else at all."""
    if isinstance(stored, dict) and isinstance(computed, dict):
        for key in sorted(stored.keys() | computed.keys()):
            if key not in stored or key not in computed:
                yield f"{at}/{key}: {'missing' if key in stored else 'not stored'}"
            else:
                within = ITERATED.get(key, relative)
                yield from differences(stored[key], computed[key], f"{at}/{key}", within)
    elif isinstance(stored, list) and isinstance(computed, list):
        if len(stored) != len(computed):
            yield f"{at}: {len(stored)} entries stored, {len(computed)} computed"
        for place, pair in enumerate(zip(stored, computed, strict=False)):
            yield from differences(*pair, f"{at}/{place}", relative)
    elif not _same(stored, computed, relative):
        yield f"{at}: {stored!r} stored, {computed!r} computed"


def _same(stored: Facts, computed: Facts, relative: float) -> bool:
    if isinstance(stored, float) or isinstance(computed, float):
        both = isinstance(stored, int | float) and isinstance(computed, int | float)
        return both and math.isclose(stored, computed, rel_tol=relative, abs_tol=ABSOLUTE)
    if _is_weight(stored) and _is_weight(computed):
        return math.isclose(int(stored), int(computed), rel_tol=relative, abs_tol=2**24)
    # two stored words may have become one
    if isinstance(stored, str) and isinstance(computed, str):
        return WORDS.get(stored, stored) == WORDS.get(computed, computed)
    return type(stored) is type(computed) and bool(stored == computed)
