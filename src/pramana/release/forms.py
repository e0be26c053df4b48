"""Plain forms of a schema for the certificate, and the way back."""

from __future__ import annotations

from typing import Any

from pramana.table.domains import Bins, Categories, Domain
from pramana.table.schema import Column, Impossible, Role, Schema

__all__ = ["schema_from_json", "schema_to_json"]


AS_IT_IS = "released as it is"


def schema_to_json(schema: Schema, *, treatment: str = "randomised") -> dict[str, Any]:
    """The released columns only: what was dropped is not named."""
    form: dict[str, Any] = {"columns": [_column(column, treatment) for column in schema.released]}
    if schema.impossible:
        form["impossible"] = [rule.to_dict() for rule in schema.impossible]
    if schema.strata:
        form["strata"] = list(schema.strata)
    if schema.choices:
        form["choices"] = [list(choice) for choice in schema.choices]
    return form


def schema_from_json(form: dict[str, Any]) -> Schema:
    """The reverse of :func:`schema_to_json`."""
    return Schema(
        tuple(_column_back(entry) for entry in form["columns"]),
        impossible=tuple(Impossible.of(rule) for rule in form.get("impossible", ())),
        strata=tuple(form.get("strata", ())),
        choices=tuple(tuple(choice) for choice in form.get("choices", ())),
    )


def _column(column: Column, treatment: str) -> dict[str, Any]:
    form: dict[str, Any] = {
        "name": column.name,
        "role": str(column.role),
        "treatment": treatment if column.randomised else AS_IT_IS,
    }
    if not column.randomised or column.domain is None:
        return form  # a domain that nothing is drawn from could only tell what occurred
    form |= _domain(column.domain)
    form["domain"] = "declared" if column.declared else "read off the data"
    form["missing"] = column.missing or "refuse"
    if column.exempt:
        form["exempt"] = list(column.exempt)
    return form


def _domain(domain: Domain | None) -> dict[str, Any]:
    match domain:
        case Categories():
            return {"categories": list(domain.values), "ordered": domain.ordered}
        case Bins():
            return {"bins": list(domain.edges), "release": domain.release}
        case None:
            return {}


def _column_back(form: dict[str, Any]) -> Column:
    domain: Domain | None = None
    if "categories" in form:
        domain = Categories(tuple(form["categories"]), ordered=form.get("ordered", False))
    elif "bins" in form:
        domain = Bins(tuple(form["bins"]), release=form.get("release", "label"))
    return Column(
        form["name"],
        Role(form["role"]),
        domain,
        missing=form.get("missing"),
        exempt=tuple(form.get("exempt", ())),
        randomise=form["treatment"] != AS_IT_IS,
        declared=form.get("domain", "declared") == "declared",
    )
