"""JSON of certificates: canonical writing, strict reading; forms of schema, labels and mechanism.

The standard library parses files, and refuses a repeated name; msgspec then checks types and names
against structs. Rules that span several fields are checked by the classes that are built from them,
and by the certificate, which is written again and compared byte by byte.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import msgspec
from msgspec import Meta

from pramana.errors import NotARelease, harmless
from pramana.mechanisms.mechanism import (
    AttributeSampler,
    AttributeSet,
    Mechanism,
    ShuffledRounds,
)
from pramana.mechanisms.sparse_rows import WEIGHTS, listed_form, listed_weights
from pramana.mechanisms.transition import Label, UniformMixture
from pramana.schema.domains import Bins, Labels, NumberGrid
from pramana.schema.origins import Provenance
from pramana.schema.schema import Column, Dataset, Impossible, Schema
from pramana.schema.schema_entries import ReplicatesEntry, read_column, read_replicates
from pramana.types import Entries, Form

MOST_BYTES: Final = 2**28  # larger files are not read: 256 MiB hold a dense matrix of 3,000 values
MOST_DIGITS: Final = 31  # codes may be integers of more than 64 bits; they are released as texts
MOST_SHOWN: Final = 200  # letters of an error of msgspec, which may quote a name from the file
T = TypeVar("T")


class Struct(msgspec.Struct, forbid_unknown_fields=True):
    """An object of a file with exactly these names and types."""


def canonical(form: Entries) -> bytes:
    """The canonical bytes of a JSON object: names in order, one value a line."""
    text = json.dumps(form, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return msgspec.json.format(text.encode(), indent=1) + b"\n"


def parse(content: bytes, *, what: str) -> Any:
    """The value in a JSON file; refused if it is no JSON, repeats a name or cannot be written."""
    if len(content) > MOST_BYTES:
        raise NotARelease(f"{what} must have at most {MOST_BYTES:,} bytes.")
    try:
        value = json.loads(
            content.decode("utf-8"), object_pairs_hook=_unique_names, parse_int=_bounded
        )
        # Lone surrogates, NaN and numbers that overflow to infinity have no JSON in UTF-8.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except NotARelease as error:
        raise NotARelease(f"{what} {error}") from None
    except (ValueError, RecursionError):
        raise NotARelease(f"{what} must be a JSON file, and is not.") from None
    return value


def _unique_names(pairs: list[tuple[str, Any]]) -> Form:
    form = dict(pairs)
    if len(form) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in form if names.count(name) > 1)
        raise NotARelease(f"must give each name once, and repeats {repeated[:80]!r}.")
    return form


def _bounded(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError("too many digits")
    return int(digits)


def converted(value: Any, kind: type[T], *, what: str) -> T:
    """The value as a struct, or as another type that msgspec checks."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise NotARelease(f"{what} is not valid: {harmless(str(error)[:MOST_SHOWN])}.") from None


MOST_SET_CELLS: Final = 10_000_000
"""Cells of all sets together, before they are listed."""

MOST_MOVES: Final = 5_000_000
"""Transitions of one matrix, before an array of them is made: cells may share a listed row."""

AS_IT_IS: Final = "released unchanged"
BINNED: Final = "binned, not randomised"
NOISY: Final = "released with noise, not randomised"

Text: TypeAlias = Annotated[str, Meta(max_length=100_000)]
Int: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Number: TypeAlias = Int | float
Value: TypeAlias = Text | int | float | bool | None
Position: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Weight: TypeAlias = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,19})\Z")]
"""An integer over 2**64, written as text."""


# -- a schema --------------------------------------------------------------------------------------

OPEN_ENDS: Final = {-math.inf: None, math.inf: None}


class SchemaForm(Struct):
    """The released columns and the rules between them; columns have the entries of schema files."""

    columns: list[dict[Text, Any]]
    impossible: tuple[dict[Text, list[Value]], ...] = ()
    strata: tuple[Text, ...] = ()
    choices: tuple[tuple[Text, ...], ...] = ()
    replicate_weights: ReplicatesEntry | None = None
    origin: Any = Provenance.DECLARED.words
    dataset: dict[Text, Text] | None = None


def schema_to_json(schema: Schema, *, treatment: str = "randomised") -> Form:
    """The form of the released columns; dropped columns are not named."""
    parts: Form = {
        "impossible": [rule.to_dict() for rule in schema.impossible],
        "strata": list(schema.strata),
        "choices": [list(choice) for choice in schema.choices],
        "replicate_weights": None if schema.replicates is None else schema.replicates.to_dict(),
        "origin": "" if schema.origin.declared else schema.origin.words,
        "dataset": schema.dataset.to_dict(),
    }
    columns = [_column_to_json(column, treatment) for column in schema.released]
    return {"columns": columns} | {name: part for name, part in parts.items() if part}


def _column_to_json(column: Column, treatment: str) -> Form:
    form: Form = {
        "name": column.name,
        "role": str(column.role),
        "treatment": treatment_of(column, treatment),
    }
    if column.recoding:
        form["recoding"] = column.recoding.to_dict()
    domain = column.domain
    if domain is None or not (column.coded or column.listed):
        return form  # a domain that nothing is drawn from could only tell what occurred
    form |= domain.to_dict()
    if isinstance(domain, Bins):
        form["bins"] = [OPEN_ENDS.get(edge, edge) for edge in domain.edges]
    elif isinstance(domain, NumberGrid):
        del form["release"]
    else:
        form["ordered"] = domain.ordered
    form["domain"] = column.origin.words
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


def schema_of(form: SchemaForm) -> Schema:
    """The schema of a certificate."""
    stated = form.replicate_weights
    return Schema(
        tuple(map(_column_of, form.columns)),
        impossible=tuple(map(Impossible.of, form.impossible)),
        strata=form.strata,
        choices=form.choices,
        replicates=None if stated is None else read_replicates(msgspec.to_builtins(stated)),
        origin=_origin_of(form.origin),
        dataset=Dataset.of(form.dataset or {}),
    )


def _origin_of(words: object) -> Provenance:
    """The origin that a certificate names."""
    for origin in Provenance:
        if origin.words == words:
            return origin
    raise NotARelease(f"An origin must be one of: {', '.join(o.words for o in Provenance)}.")


def _column_of(form: Form) -> Column:
    """A column; whatever is read too kindly here differs when the certificate is written again."""
    entries = dict(form)
    name, recoding = entries.pop("name", None), entries.pop("recoding", {})
    if not isinstance(name, str) or not isinstance(recoding, dict):
        raise NotARelease("A column must have a name, and its recoding must be an object.")
    entries |= recoding
    entries["randomise"] = entries.pop("treatment", None) not in (AS_IT_IS, BINNED, NOISY)
    entries["origin"] = _origin_of(entries.pop("domain", Provenance.DECLARED.words))
    edges = entries.get("bins")
    if isinstance(edges, list) and edges:
        entries["bins"] = [
            -math.inf if edges[0] is None else edges[0],
            *(math.nan if edge is None else edge for edge in edges[1:-1]),  # ends may be open
            *(math.inf if edge is None else edge for edge in edges[1:][-1:]),
        ]
    return read_column(name, entries)


# -- labels ----------------------------------------------------------------------------------------


class LabelsForm(Struct):
    """Labels of columns and of values."""

    variables: dict[Text, Text]
    values: dict[Text, list[tuple[Value, Text]]]


def labels_to_json(labels: Labels) -> Form:
    """The form of labels. A value is no name in JSON, so that pairs are listed."""
    values = {
        name: [[value, text] for value, text in texts.items()]
        for name, texts in labels.values.items()
    }
    return {"variables": dict(labels.variables), "values": values}


def labels_of(form: LabelsForm) -> Labels:
    """The labels of a certificate."""
    return Labels(form.variables, {name: dict(pairs) for name, pairs in form.values.items()})


# -- a mechanism -----------------------------------------------------------------------------------

Cells: TypeAlias = Annotated[list[Value | list[Value]], Meta(min_length=1)]
"""Labels of one column, or lists of labels of several."""


class UniformMixtureForm(Struct, tag_field="family", tag="uniform-mixture"):
    """A matrix whose off-diagonal weights are equal."""

    labels: Cells
    other: Weight

    def require_size(self, width: int) -> None:
        """Refuse labels of another number of columns."""
        _require_width(self.labels, width)


class DenseForm(Struct, tag_field="family", tag="dense"):
    """A matrix with all its weights."""

    labels: Cells
    rows: list[list[Weight]]

    def require_size(self, width: int) -> None:
        """Refuse a matrix that is not square in its labels."""
        _require_width(self.labels, width)
        size = len(self.labels)
        if len(self.rows) != size or any(len(row) != size for row in self.rows):
            raise NotARelease(f"A dense matrix must have {size} rows of {size} weights.")


class SparseRowsForm(Struct, tag_field="family", tag="sparse-rows"):
    """The identity plus listed transitions."""

    labels: Cells
    starts: list[Position]
    targets: list[Position]
    moves: list[Weight]

    def require_size(self, width: int) -> None:
        """Refuse positions that lie outside the matrix, before arrays are made of them."""
        _require_width(self.labels, width)
        size, starts, targets = len(self.labels), self.starts, self.targets
        rising = starts == sorted(starts) and len(starts) == size + 1
        if not rising or starts[-1] != len(self.moves):
            raise NotARelease("The starts of sparse rows must rise to the number of transitions.")
        if len(targets) != len(self.moves) or max(targets, default=0) >= size:
            raise NotARelease("Every transition of sparse rows must have the position of a label.")
        if any(int(weight) >= 2**64 for weight in self.moves):
            raise NotARelease("The transitions of sparse rows must be weights below 2**64.")


class ListedCellsForm(Struct, tag_field="family", tag="listed-cells"):
    """Transitions between listed joint cells; lists of numbers are packed into texts."""

    axes: list[list[Value]]
    rising: bool
    cells: str
    sources: str
    rows: str
    lengths: str
    targets: str
    which: str
    weights: str

    def require_size(self, width: int) -> None:
        """Refuse numbers of cells, rows and weights that are not there."""
        sizes = [len(axis) for axis in self.axes]
        if len(sizes) != width or not all(sizes):
            raise NotARelease(f"Listed cells must have the labels of {width} columns.")
        if self.rising and not self.cells and math.prod(sizes) > MOST_MOVES:
            raise NotARelease(f"More than {MOST_MOVES:,} cells must be listed.")
        if not re.fullmatch(WEIGHTS, self.weights):
            raise NotARelease("The weights of listed cells must have a blank between them.")
        weights = listed_weights(self.weights)
        packed = {name: getattr(self, name) for name in self.__struct_fields__}
        try:
            numbers = listed_form(packed, sizes)
        except ValueError:
            raise NotARelease("The numbers of listed cells must be packed.") from None
        _require_cells(numbers, domain=math.prod(sizes))
        if max(weights, default=0) >= 2**64:
            raise NotARelease("The weights of listed cells must be below 2**64.")
        if max(numbers["which"], default=-1) >= len(weights):
            raise NotARelease("Every transition of listed cells must have a weight.")


def _require_cells(numbers: dict[str, list[int]], *, domain: int) -> None:
    """Refuse positions of cells and rows that are not there."""
    cells, rows, lengths = numbers["cells"], numbers["rows"], numbers["lengths"]
    moves = len(numbers["targets"])
    if len(set(cells)) < len(cells) or max(cells, default=0) >= domain:
        raise NotARelease("Listed cells must be different combinations of the labels.")
    if max([*numbers["sources"], *numbers["targets"]], default=0) >= len(cells):
        raise NotARelease("Sources and targets of listed cells must be positions of cells.")
    if len(rows) != len(numbers["sources"]) or max(rows, default=-1) >= len(lengths):
        raise NotARelease("Every source of listed cells must have a row.")
    if sum(lengths) != moves or len(numbers["which"]) != moves:
        raise NotARelease("Every transition of listed cells must have a target and a weight.")
    if sum(lengths[row] for row in rows) > MOST_MOVES:
        raise NotARelease(f"Listed cells must have at most {MOST_MOVES:,} transitions.")


MatrixForm: TypeAlias = UniformMixtureForm | DenseForm | SparseRowsForm | ListedCellsForm


class StratumForm(Struct):
    """The matrix of one stratum."""

    stratum: list[Value]
    matrix: MatrixForm


class StepForm(Struct):
    """Columns that are moved together: by one matrix, or by one for each stratum."""

    columns: Annotated[list[Text], Meta(min_length=1)]
    matrix: MatrixForm | None = None
    strata: tuple[Text, ...] = ()
    by_stratum: tuple[StratumForm, ...] = ()

    def require_matrices(self) -> None:
        """Refuse a step with no matrix, or whose matrices do not fit its columns."""
        if (self.matrix is None) == (not self.by_stratum):
            raise NotARelease("A step must have one matrix, or one for each stratum.")
        if any(len(entry.stratum) != len(self.strata) for entry in self.by_stratum):
            raise NotARelease(f"A stratum must be given by {len(self.strata)} labels.")
        single = [] if self.matrix is None else [self.matrix]
        for matrix in (*single, *(entry.matrix for entry in self.by_stratum)):
            matrix.require_size(len(self.columns))


class MixtureOfKnownCells(Struct, tag_field="family", tag="uniform-mixture"):
    """A uniform mixture; its labels may follow from a schema or the questions of a survey."""

    other: Weight
    labels: Cells | None = None


class AttributeSetForm(Struct):
    """An attribute set that records may be asked for."""

    columns: Annotated[list[Text], Meta(min_length=1)]
    weight: Weight
    matrix: MixtureOfKnownCells


def mechanism_of(value: Any, *, schema: Schema | None = None, what: str = "mechanism") -> Mechanism:
    """The steps of a mechanism from their parsed JSON, which lists all of their labels."""
    del schema
    steps = converted(value, list[StepForm], what=what)
    if not steps:
        raise NotARelease(f"{what} must have at least one step.")
    for step in steps:
        step.require_matrices()
    return Mechanism.from_json(value)


def reporting_of(value: Any, *, schema: Schema, what: str = "mechanism") -> AttributeSampler:
    """The attribute sets of a mechanism from their parsed JSON."""
    return AttributeSampler(_sets_of(value, schema, what))


def rounds_of(value: Any, *, schema: Schema, what: str = "mechanism") -> ShuffledRounds:
    """The sets of a mechanism in which everybody answers all of them."""
    return ShuffledRounds(_sets_of(value, schema, what))


def _sets_of(value: Any, schema: Schema, what: str) -> tuple[AttributeSet, ...]:
    """Attribute sets; those that list no cells have all combinations of the schema's labels."""
    entries = converted(value, list[Any], what=what)
    sets, size = [], 0
    for entry in entries:
        form = converted(entry, AttributeSetForm, what=what)
        labels = None
        if form.matrix.labels is None:
            columns = [column for column in schema.columns if column.name in form.columns]
            if len(columns) < len(form.columns) or any(column.domain is None for column in columns):
                raise NotARelease(f"{what} must name columns with a domain in its sets.")
            size += math.prod(len(column.labels) for column in columns)
            if size > MOST_SET_CELLS:
                raise NotARelease(f"{what} must have at most {MOST_SET_CELLS:,} cells in its sets.")
            labels = all_combinations(form.columns, schema)
        sets.append(attribute_set_of(entry, labels, what=what))
    return tuple(sets)


def all_combinations(columns: Sequence[str], schema: Schema) -> tuple[Label, ...]:
    """All combinations of the labels of some columns, as the labels of a matrix."""
    if len(columns) == 1:
        return schema.column(columns[0]).labels
    return tuple(product(*(schema.column(name).labels for name in columns)))


def mechanism_to_json(mechanism: Mechanism, schema: Schema) -> list[Form]:
    """The steps or sets of a mechanism; cells of a set that follow from the schema are left out."""
    if not isinstance(mechanism, AttributeSampler):
        return mechanism.to_json()
    forms = []
    for asked in mechanism.sets:
        columns = [schema.column(name) for name in asked.columns]
        declared = all(column.domain is not None for column in columns)
        size = math.prod(len(column.labels) for column in columns) if declared else 0
        if asked.matrix.size == size and asked.matrix.labels == all_combinations(
            asked.columns, schema
        ):
            matrix = {"family": asked.matrix.family, "other": str(asked.matrix.other)}
            forms.append(
                {"columns": list(asked.columns), "weight": str(asked.weight), "matrix": matrix}
            )
        else:
            forms.append(asked.to_json())
    return forms


def attribute_set_of(
    value: Any, labels: tuple[Label, ...] | None = None, *, what: str = "mechanism"
) -> AttributeSet:
    """An attribute set from its parsed JSON; with ``labels`` where the file must not state them."""
    form = converted(value, AttributeSetForm, what=what)
    if (labels is None) == (form.matrix.labels is None):
        raise NotARelease(f"{what} must state the labels of a matrix exactly once.")
    if labels is None:
        cells = form.matrix.labels or []
        _require_width(cells, len(form.columns))
        labels = tuple(tuple(cell) if isinstance(cell, list) else cell for cell in cells)
    return AttributeSet(
        tuple(form.columns), int(form.weight), UniformMixture(labels, int(form.matrix.other))
    )


def _require_width(cells: list[Any], width: int) -> None:
    """Refuse labels that are not those of ``width`` columns."""
    widths = {len(cell) if isinstance(cell, list) else 1 for cell in cells}
    lists = {isinstance(cell, list) for cell in cells}
    if widths != {width} or lists != {width > 1}:
        raise NotARelease(f"The labels of a matrix must have {width} columns.")
