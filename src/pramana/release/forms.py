"""Plain forms of a schema and of a mechanism for the certificate, and the strict way back."""

from __future__ import annotations

import math
import re
from typing import cast, get_args

from pramana.matrices.families import FAMILIES
from pramana.matrices.listed_cells import WEIGHTS, listed_form, listed_weights
from pramana.matrices.mechanism import Mechanism
from pramana.matrices.reporting import AskedSet, Reporting
from pramana.matrices.transition import Label
from pramana.matrices.uniform_mixture import UniformMixture
from pramana.release.strict import Field
from pramana.table.domains import RELEASES, Bins, Categories, Domain
from pramana.table.labels import Labels
from pramana.table.recoding import DATES, DISTRIBUTIONS, NOTHING, Noise, Recoding
from pramana.table.replicates import Replicates, Replication
from pramana.table.schema import MISSING, Column, Impossible, Role, Schema
from pramana.types import Form

__all__ = [
    "AS_IT_IS",
    "BINNED",
    "NOISY",
    "asked_set_of",
    "labels_of",
    "labels_to_json",
    "mechanism_of",
    "reporting_of",
    "schema_of",
    "schema_to_json",
    "treatment_of",
]

DIGITS = "a text of at most 20 digits"
WEIGHT = (r"0|[1-9][0-9]{0,19}", DIGITS)

MOST_MOVES = 5_000_000
"""A row that many cells share is written once: before an array of all their moves is made."""

AS_IT_IS = "released as it is"
BINNED = "binned, not randomised"
NOISY = "released with noise, not randomised"
READ_OFF = "read off the data"


# -- a schema --------------------------------------------------------------------------------------


def schema_to_json(schema: Schema, *, treatment: str = "randomised") -> Form:
    """The released columns only: what was dropped is not named."""
    form: Form = {"columns": [_column(column, treatment) for column in schema.released]}
    if schema.impossible:
        form["impossible"] = [rule.to_dict() for rule in schema.impossible]
    if schema.strata:
        form["strata"] = list(schema.strata)
    if schema.choices:
        form["choices"] = [list(choice) for choice in schema.choices]
    if schema.replicates is not None:
        form["replicate_weights"] = schema.replicates.to_dict()
    return form


def _column(column: Column, treatment: str) -> Form:
    form: Form = {
        "name": column.name,
        "role": str(column.role),
        "treatment": treatment_of(column, treatment),
    }
    if column.recoding:
        form["recoding"] = column.recoding.to_dict()
    if column.domain is None or not (column.coded or column.listed):
        return form  # a domain that nothing is drawn from could only tell what occurred
    form |= _domain(column.domain)
    form["domain"] = "declared" if column.declared else READ_OFF
    form["missing"] = column.missing or "refuse"
    if column.exempt:
        form["exempt"] = list(column.exempt)
    return form


def treatment_of(column: Column, treatment: str) -> str:
    """What was done to a column, in the words of the certificate."""
    if column.randomised:
        return treatment
    if column.noisy:
        return NOISY
    return BINNED if column.binned else AS_IT_IS


def _domain(domain: Domain) -> Form:
    if isinstance(domain, Categories):
        form: Form = {"categories": list(domain.values), "ordered": domain.ordered}
    else:
        edges = [edge if math.isfinite(edge) else None for edge in domain.edges]
        form = {"bins": edges, "release": domain.release}
        form |= {"labels": list(domain.names)} if domain.names else {}
    codes = domain.missing_values
    return form | ({"missing_values": list(codes)} if codes else {})


def schema_of(field: Field) -> Schema:
    """The reverse of :func:`schema_to_json`."""
    form = field.fields(["columns"], free=["impossible", "strata", "choices", "replicate_weights"])
    return Schema(
        tuple(_column_of(entry) for entry in form["columns"].items(least=1)),
        impossible=tuple(map(_impossible_of, _list(form, "impossible"))),
        strata=tuple(entry.text() for entry in _list(form, "strata")),
        choices=tuple(entry.texts() for entry in _list(form, "choices")),
        replicates=_replicates_of(form["replicate_weights"])
        if "replicate_weights" in form
        else None,
    )


def _replicates_of(field: Field) -> Replicates:
    form = field.fields(["columns", "method"], free=["fay", "scale"])
    numbers = {name: form[name].number() for name in ("fay", "scale") if name in form}
    kind = cast(Replication, form["method"].text(*get_args(Replication)))
    return Replicates(form["columns"].texts(), kind=kind, **numbers)


def _list(form: dict[str, Field], name: str) -> list[Field]:
    return form[name].items(least=1) if name in form else []


def _impossible_of(field: Field) -> Impossible:
    return Impossible.of({name: labels.labels() for name, labels in field.entries().items()})


def _column_of(field: Field) -> Column:
    free = ["exempt", "missing_values", "labels"]
    described = ["categories", "ordered", "bins", "release", "domain", "missing", *free]
    form = field.fields(["name", "role", "treatment"], free=[*described, "recoding"])
    randomised = form["treatment"].text() not in (AS_IT_IS, BINNED, NOISY)
    domain = None
    if set(form) & set(described):
        kind = ["categories", "ordered"] if "categories" in form else ["bins", "release"]
        needed = ["name", "role", "treatment", "domain", "missing", *kind]
        form = field.fields(needed, free=[*free, "recoding"])
        domain = _domain_of(form)
    return Column(
        form["name"].text(),
        Role(form["role"].text(*Role)),
        domain,
        missing=form["missing"].text(*MISSING) if domain else None,  # type: ignore[arg-type]
        exempt=form["exempt"].labels() if "exempt" in form else (),
        randomise=randomised,
        recoding=_recoding_of(form["recoding"]) if "recoding" in form else NOTHING,
        declared=domain is None or form["domain"].text("declared", READ_OFF) == "declared",
    )


def _recoding_of(field: Field) -> Recoding:
    numbers = ("bottom", "top", "round")
    form = field.fields(
        [], free=["missing_codes", "date", "date_format", "merge", *numbers, "noise"]
    )
    told: Form = {name: form[name].number() for name in numbers if name in form}
    if "missing_codes" in form:
        told["missing_codes"] = form["missing_codes"].labels()
    if "date" in form:
        told["date"] = form["date"].text(*DATES)
    if "date_format" in form:
        told["date_format"] = form["date_format"].text()
    if "merge" in form:
        told["merge"] = {new: old.labels() for new, old in form["merge"].entries().items()}
    if "noise" in form:
        noise = form["noise"].fields(["distribution", "scale"])
        law = noise["distribution"].text(*DISTRIBUTIONS)
        told["noise"] = Noise(law, noise["scale"].number())  # type: ignore[arg-type]
    return Recoding(**told)


def _domain_of(form: dict[str, Field]) -> Domain:
    codes = form["missing_values"].labels() if "missing_values" in form else ()
    if "categories" in form:
        values = form["categories"].labels()
        return Categories(values, ordered=form["ordered"].truth(), missing_values=codes)
    edges = list(form["bins"].labels())
    if edges[0] is None:
        edges[0] = -math.inf
    if edges[-1] is None:
        edges[-1] = math.inf
    release = form["release"].text(*RELEASES)
    names = form["labels"].texts() if "labels" in form else ()
    return Bins(tuple(edges), release, codes, names)  # type: ignore[arg-type]


# -- labels ----------------------------------------------------------------------------------------


def labels_to_json(labels: Labels) -> Form:
    """Labels of columns and of values; a value is no name in JSON, so that pairs are listed."""
    values = {name: [[v, text] for v, text in own.items()] for name, own in labels.values.items()}
    return {"variables": dict(labels.variables), "values": values}


def labels_of(field: Field) -> Labels:
    """The reverse of :func:`labels_to_json`."""
    form = field.fields(["variables", "values"])
    variables = {name: text.text() for name, text in form["variables"].entries().items()}
    values = {}
    for name, own in form["values"].entries().items():
        pairs = own.labels(2)
        if not all(isinstance(text, str) for _, text in pairs):
            own.refuse("pairs of a value and its label")
        values[name] = dict(pairs)
    return Labels(variables, values)


# -- a mechanism -----------------------------------------------------------------------------------


def mechanism_of(field: Field) -> Mechanism:
    """What a certificate says is done to a record; every part of it has the form that it must."""
    for step in field.items(least=1):
        _require_step(step)
    return Mechanism.from_json(field.value)


def reporting_of(field: Field) -> Reporting:
    """The sets that records are asked for, and what is done to their cells."""
    return Reporting(tuple(asked_set_of(one) for one in field.items(least=1)))


def asked_set_of(field: Field, labels: tuple[Label, ...] | None = None) -> AskedSet:
    """A set that records are asked for; its labels too, unless they are known."""
    form = field.fields(["columns", "weight", "matrix"])
    columns = tuple(own.text() for own in form["columns"].items(least=1))
    weight = form["weight"].matching(r"[1-9][0-9]{0,19}", DIGITS)
    form["matrix"].entries().get("family", field).text("uniform-mixture")
    told = ["family", "other"] if labels is not None else ["family", "labels", "other"]
    matrix = form["matrix"].fields(told)
    cells = matrix["labels"].labels(len(columns)) if labels is None else labels
    other = matrix["other"].matching(*WEIGHT)
    return AskedSet(columns, int(weight), UniformMixture(cells, int(other)))


def _require_step(field: Field) -> None:
    form = field.fields(["columns"], free=["matrix", "strata", "by_stratum"])
    width = len(form["columns"].items(least=1))
    form["columns"].texts()
    if "matrix" in form:
        field.fields(["columns", "matrix"])
        _require_matrix(form["matrix"], width)
        return
    form = field.fields(["columns", "strata", "by_stratum"])
    strata = form["strata"].texts()
    for entry in form["by_stratum"].items(least=1):
        own = entry.fields(["stratum", "matrix"])
        if len(own["stratum"].labels()) != len(strata):
            own["stratum"].refuse(f"a list of {len(strata)} labels")
        _require_matrix(own["matrix"], width)


def _require_matrix(field: Field, width: int) -> None:
    rest = {
        "uniform-mixture": ["other"],
        "dense": ["rows"],
        "sparse-rows": ["starts", "targets", "moves"],
    }
    family = field.entries().get("family", Field(f"{field.path}.family", None)).text(*FAMILIES)
    if family == "listed-cells":
        _require_listed(field, width)
        return
    form = field.fields(["family", "labels", *rest[family]])
    size = len(form["labels"].labels(width))
    if family == "uniform-mixture":
        form["other"].matching(*WEIGHT)
    elif family == "dense":
        if {len(row.weights()) for row in form["rows"].items(least=size)} != {size}:
            form["rows"].refuse(f"{size} lists of {size} weights")
    else:
        _require_sparse(form, size)


def _require_listed(field: Field, width: int) -> None:
    """Numbers of cells, rows that several of them share, and the weights of those rows."""
    lists = ["cells", "sources", "rows", "lengths", "targets", "which"]
    form = field.fields(["family", "axes", "rising", "weights", *lists])
    axes = form["axes"].items(least=width)
    if len(axes) != width:
        form["axes"].refuse(f"{width} lists of labels")
    domain = math.prod(sizes := [len(axis.labels()) for axis in axes])
    for name in lists:
        form[name].packed()
    if form["rising"].truth() and not form["cells"].value and domain > MOST_MOVES:
        form["cells"].refuse(f"a list: more than {MOST_MOVES:,} cells are not all listed")
    if type(form["weights"].value) is not str or not re.fullmatch(WEIGHTS, form["weights"].value):
        form["weights"].refuse("weights with a blank between them")
    weights = listed_weights(form["weights"].value)
    try:
        own = listed_form(field.value, sizes)
    except ValueError:
        form["lengths"].refuse("the number of moves of each row")
    if max(weights, default=0) >= 2**64:
        form["weights"].refuse("weights below 2**64")
    if len(set(own["cells"])) < len(own["cells"]) or max(own["cells"], default=0) >= domain:
        form["cells"].refuse("different numbers of combinations of the labels")
    _require_rows(form, own, len(weights))


def _require_rows(form: dict[str, Field], own: dict[str, list[int]], weights: int) -> None:
    """Every source, row, target and weight that is named is there."""
    size = len(own["cells"])
    if max(own["sources"], default=0) >= size:
        form["sources"].refuse("positions of cells")
    if len(own["rows"]) != len(own["sources"]) or max(own["rows"], default=-1) >= len(
        own["lengths"]
    ):
        form["rows"].refuse("the position of a row for each source")
    if sum(own["lengths"]) != len(own["targets"]) or max(own["targets"], default=0) >= size:
        form["targets"].refuse("the position of a cell for each move of each row")
    if len(own["which"]) != len(own["targets"]) or max(own["which"], default=-1) >= weights:
        form["which"].refuse("the position of a weight for each move")
    if sum(own["lengths"][row] for row in own["rows"]) > MOST_MOVES:
        form["rows"].refuse(f"at most {MOST_MOVES:,} moves")


def _require_sparse(form: dict[str, Field], size: int) -> None:
    starts, targets = form["starts"].wholes(), form["targets"].wholes()
    moves = form["moves"].weights()
    # Before any array of that length is made.
    if len(starts) != size + 1 or list(starts) != sorted(starts) or starts[-1] != len(moves):
        form["starts"].refuse(f"{size + 1} rising numbers that end with the number of moves")
    if len(targets) != len(moves) or max(targets, default=0) >= size:
        form["targets"].refuse("the position of a label for each move")
    if max(moves, default=0) >= 2**64:
        form["moves"].refuse("weights below 2**64")
