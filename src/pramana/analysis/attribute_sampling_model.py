"""Reports as a model of the whole table sees them: its axes, and what each set tells of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import pyarrow as pa

from pramana.analysis.attribute_sampling_sums import ReportSums, reporting_of
from pramana.analysis.independence import IndependenceTest, chi_square_tail
from pramana.analysis.latent_classes import Blend, ClassClimb
from pramana.analysis.observed import Answers, Feature, Observed, different
from pramana.analysis.question import Question
from pramana.analysis.records import ReleasedRecords
from pramana.base.randomness import Keystream
from pramana.errors import NotCovered, TooLarge
from pramana.mechanisms.mechanism import AttributeSampler, AttributeSet
from pramana.mechanisms.transition import Label
from pramana.release.released_codes import stated_sets
from pramana.schema.joint_cells import CellRules, cell_codes, cell_numbers, tied_columns
from pramana.schema.schema import Schema
from pramana.types import Codes, FloatArray, IntArray

MOST_CELLS = 200_000

STEPS = 400
"""Steps to the most likely table of a pair: both sides of a test must have arrived."""


class ModelView:
    """The axes of the model, and what each set shows of them.

    Columns that impossible combinations tie together are one axis, with the cells that can exist:
    no other can be drawn.
    """

    def __init__(self, schema: Schema, mechanism: AttributeSampler) -> None:
        self.schema = schema
        self.axes = tuple(_axes(schema, mechanism.columns))
        self.features: list[Feature] = []
        self._known: dict[tuple[str, ...], tuple[int, IntArray]] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(len(axis.cells) for axis in self.axes)

    def table(self, blend: Blend, columns: Sequence[str]) -> FloatArray:
        """The distribution of some columns under a model of the axes."""
        used = [place for place, axis in enumerate(self.axes) if set(axis.columns) & set(columns)]
        found = np.zeros([len(self.schema.column(name).labels) for name in columns])
        places: dict[str, IntArray] = {}
        for at, place in enumerate(used):
            shape = [1] * at + [-1] + [1] * (len(used) - at - 1)
            axis = self.axes[place]
            own = [codes.reshape(shape) for codes in axis.codes(axis.columns, self.schema)]
            places |= dict(zip(axis.columns, own, strict=True))
        np.add.at(found, tuple(places[name] for name in columns), blend.table(used))
        return found

    def answers(self, one: AttributeSet, codes: dict[str, Codes], counts: FloatArray) -> Answers:
        """The reports of a set, from the codes of its columns."""
        features, cells = [], []
        for place, axis in enumerate(self.axes):
            inside = tuple(name for name in axis.columns if name in one.columns)
            if inside:
                feature, lookup = self._feature(place, inside)
                features.append(feature)
                cells.append(lookup[tuple(codes[name] for name in inside)])
        rows = np.stack(cells, axis=1).astype(np.int64)
        gain = float(one.matrix.gamma) - 1
        return Answers(tuple(features), rows, counts, 1.0, gain)

    def _feature(self, place: int, inside: tuple[str, ...]) -> tuple[int, IntArray]:
        """What can be seen of an axis by some of its columns, and where their codes stand there."""
        if inside not in self._known:
            parts = self.axes[place].codes(inside, self.schema)
            shape = [len(self.schema.column(name).labels) for name in inside]
            flat = cell_numbers(parts, shape)
            seen, groups = np.unique(flat, return_inverse=True)
            lookup = np.full(prod(shape), -1, dtype=np.int64)
            lookup[seen] = np.arange(len(seen))
            whole = inside == self.axes[place].columns
            if whole:
                lookup[flat] = np.arange(len(flat))
            feature = Feature(place, len(flat)) if whole else Feature.of_groups(place, groups)
            self.features.append(feature)
            self._known[inside] = len(self.features) - 1, lookup.reshape(shape)
        return self._known[inside]


@dataclass(frozen=True)
class ModelAxis:
    """Columns of the model that move together, and their cells that can exist."""

    columns: tuple[str, ...]
    cells: tuple[tuple[Label, ...], ...]

    def codes(self, names: Sequence[str], schema: Schema) -> list[IntArray]:
        """The code of each column at each cell."""
        found = cell_codes([schema.column(name).labels for name in self.columns], self.cells)
        return [found[self.columns.index(name)] for name in names]


def _axes(schema: Schema, columns: Sequence[str]) -> Iterator[ModelAxis]:
    """Columns tied by impossible combinations together, the others apart."""
    for tied in tied_columns(columns, (rule.columns for rule in schema.impossible)):
        if prod(len(schema.column(name).labels) for name in tied) > MOST_CELLS:
            raise TooLarge(
                f"Impossible combinations tie {' and '.join(tied)} together, which makes more "
                f"than {MOST_CELLS:,} cells: too many for a model of the whole table."
            )
        yield ModelAxis(tied, CellRules.of(schema, tied).cells())


def observed_of(records: ReleasedRecords, view: ModelView, table: pa.Table) -> Observed:
    """All reports, counted by set and cell."""
    parts = []
    for _, told in answers_of(records, view, table):
        cells, counts = different(list(told.cells.T))
        parts.append(replace(told, cells=cells, counts=counts))
    return Observed(view.sizes, tuple(view.features), tuple(parts))


def answers_of(
    records: ReleasedRecords, view: ModelView, table: pa.Table
) -> Iterator[tuple[IntArray, Answers]]:
    """For each set that was asked for: which records, and what they told, one row a record."""
    sets = reporting_of(records).sets
    places = stated_sets(reporting_of(records), table)
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(sets)))
    for one, begin, end in zip(sets, [0, *ends[:-1]], ends, strict=True):
        rows = order[begin:end]
        if len(rows):
            codes, _ = records.coded(table.select(one.columns).take(rows), one.columns)
            yield rows, view.answers(one, codes, np.ones(len(rows)))


def independence_of(records: ReleasedRecords, pair: tuple[str, str]) -> IndependenceTest:
    """Twice the gain in log-likelihood of a free table over one of independent columns."""
    schema = records.certificate.schema
    sizes = tuple(len(schema.column(name).labels) for name in pair)
    cells = prod(sizes)
    held = reporting_of(records).containing(pair)
    if not held or not (sums := ReportSums.of(records, Question(pair, weighted=False))).reports:
        raise NotCovered(
            f"No report holds {' and '.join(pair)} together: nothing tells whether they go "
            "together."
        )
    if any(base.min() > 0 for base in sums.bases) and any(np.ptp(base) for base in sums.bases):
        raise NotCovered(
            f"Reports that hold {' and '.join(pair)} hold further columns, of which some "
            "combinations cannot exist: there is no test for that case. Look at the intervals of "
            "crosstab instead."
        )
    if any(np.ptp(base) > 0 for base in sums.bases):
        raise NotCovered(
            f"Some combinations of {' and '.join(pair)} cannot exist: they are not independent."
        )
    free, apart = [], []
    for one, own in zip(sums.used, sums.sets, strict=True):
        kept = float(one.matrix.retention)
        gain = kept * cells / (1 - kept)
        table = own["n"].reshape(sizes)
        free.append(Answers.of_table([0], table.ravel(), base=1.0, gain=gain))
        apart.append(Answers.of_table([0, 1], table, base=1.0, gain=gain))
    whole = _likelihood(Observed((cells,), (Feature(0, cells),), tuple(free)))
    features = tuple(Feature(place, size) for place, size in enumerate(sizes))
    statistic = 2 * max(whole - _likelihood(Observed(sizes, features, tuple(apart))), 0.0)
    degrees = (sizes[0] - 1) * (sizes[1] - 1)
    return IndependenceTest(
        pair, statistic, degrees, chi_square_tail(statistic, degrees), "likelihood-ratio",
        "the reports that hold both columns were fitted with and without independence; values "
        "that hardly occur make the test hold back.",
    )  # fmt: skip


def _likelihood(observed: Observed) -> float:
    even = np.concatenate([np.full(size, 1 / size) for size in observed.sizes])
    key = Keystream.from_seed(0)
    climb = ClassClimb(observed, even, classes=1, pull=1e-6, fits=1, keystream=key).run(STEPS)
    return float(climb.held_counts(observed) @ climb.held_out(observed))
