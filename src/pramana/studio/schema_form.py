"""From the form of a column to the column, and back: structure only, nothing is counted here."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from pramana import Bins, Categories, Column, Role, Schema, api
from pramana.api import Provenance
from pramana.base.text import as_part, parts_of
from pramana.errors import InputError
from pramana.studio.view import OUT_OF_DATE, Form, number_in, place_in

HOUSEHOLD: Final = "household"
ROLES: Final = {
    "key": "Key: people are recognised by it; it is randomised",
    "sensitive": "Sensitive: nobody outside knows it; released as it is",
    "public": "Public: others may know it; released as it is",
    "weight": "Weight: how many people a record stands for",
    HOUSEHOLD: "Household: its number; dropped, and promises are told for households",
    "identifier": "Identifier: names and numbers of persons; dropped",
}
MISSING: Final = {
    "": "decided by the data",
    "category": "a value like others, randomised",
    "keep": "stays missing",
    "refuse": "must not occur",
}


ORIGINS: Final = {
    Provenance.DECLARED: "Declared: known without a look at these data",
    Provenance.READ_OFF: "Read off these data, or merged after a look at them",
    Provenance.TRIALS: "Chosen by trials on these data",
}


def role_of(schema: Schema, column: Column) -> str:
    """The role of a column as pages name it: the one that numbers households is told apart."""
    return HOUSEHOLD if column.name == schema.household else str(column.role)


def role_named(word: str) -> Role:
    """The role that a page means."""
    if word not in ROLES:
        raise InputError(OUT_OF_DATE)
    return Role.IDENTIFIER if word == HOUSEHOLD else Role(word)


def entries_of(column: Column) -> dict[str, Any]:
    """What the form of a column shows."""
    own = column.recoding
    domain = column.domain
    return {
        "missing": column.missing or "",
        "edges": edges_text(domain.edges) if isinstance(domain, Bins) else "",
        "release": domain.release if isinstance(domain, Bins) else "label",
        "categories": [_text(v) for v in domain.values] if isinstance(domain, Categories) else [],
        "merged": [(new, [_text(v) for v in old]) for new, old in own.merged],
        "coded": [_text(code) for code in own.missing_codes],
        "codes": "\n".join(as_part(_text(code), "\n") for code in own.missing_codes),
        "date": own.date or "",
        "bottom": own.bottom,
        "top": own.top,
        "round": own.round,
    }


def edges_text(edges: tuple[float, ...]) -> str:
    """Edges as people type them."""
    return ", ".join(_text(edge) for edge in edges)


def changed_column(column: Column, form: Form) -> Column:
    """The column as the form wants it."""
    role = role_named(form.get("role", str(column.role)))
    if role is Role.IDENTIFIER:
        return Column(column.name, role)
    missing: Any = form.get("missing") or None
    # As the form says; saving a form declares nothing by itself.
    word = form.get("origin")
    origin = Provenance(word) if word in ORIGINS else column.origin
    before = column.recoding
    date: Any = form.get("date") or None
    lines = form.get("codes").replace("\r\n", "\n")
    codes = [*parts_of(lines, "\n"), *form.exact("code")]
    recoding = replace(
        before,
        missing_codes=tuple(_label(text, before.missing_codes) for text in dict.fromkeys(codes)),
        date=date,
        date_format=before.date_format if date else None,
        bottom=form.number("bottom"),
        top=form.number("top"),
        round=form.number("round"),
    )
    new = replace(
        column,
        role=role,
        missing=missing,
        recoding=recoding,
        domain=_domain(column, form),
        origin=origin,
    )
    ticked = form.all("tick")
    if len(ticked) > 1 and isinstance(new.domain, Categories):
        values = [new.domain.values[place_in(own, len(new.domain.values))] for own in ticked]
        # The page shows how many records have each value: who merges here has looked.
        looked = Provenance.weakest(new.origin, Provenance.READ_OFF)
        new = replace(api.merge_values(new, values, form.get("into") or "other"), origin=looked)
    return new


def _domain(column: Column, form: Form) -> Bins | Categories | None:
    domain = column.domain
    text = form.get("edges")
    if not text:
        return domain if isinstance(domain, Categories) else None
    edges = tuple(_number(word) for word in re.split(r"[\s,;]+", text) if word)
    if isinstance(domain, Bins):
        names = domain.names if len(domain.names) == len(edges) - 1 else ()
        release: Any = form.get("release") or domain.release
        return replace(domain, edges=edges, names=names, release=release)
    return Bins(edges)


def _number(word: str) -> float:
    return number_in(word, "Edges of bins must be numbers, such as 0, 18, 65, 120.")


def _label(text: str, known: tuple[Any, ...]) -> Any:
    """A code as the data have it: a number where it reads as one."""
    for own in known:
        if _text(own) == text:
            return own
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else text


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
