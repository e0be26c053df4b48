"""What ties the keys to the other columns, and how much of it a release has lost.

Tables of keys alone say little about a method that hands keys round: it keeps them all and cuts the
tie to everything else. So each key is also asked for together with each column that is released as
it is: a table where that has few values, the mean by key where it is a number with many.

What a release is worth: what an analyst gets from it, next to the original data.

Every figure comes twice: from the released records taken at face value, and from the estimates that
undo the matrices. What an analyst who estimates gets is what counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.analysis.question import USUAL, Question
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.text import percent, plain
from pramana.errors import MissingExtra, NotCovered, PramanaError
from pramana.release.released_codes import NOT_REPORTED, released_codes
from pramana.risk.coded_table import code_column
from pramana.risk.utility import (
    Propensity,
    TableDistance,
    TreeAccuracy,
    correlation,
    cramers_v,
    interval_overlap,
    propensity,
    share_intervals,
    tree_accuracy,
)
from pramana.schema.codec import encode, encode_released
from pramana.schema.domains import Bins, label_text
from pramana.schema.joint_cells import Counts
from pramana.schema.opened_table import OpenedTable, is_number
from pramana.schema.schema import Column, Role
from pramana.types import BoolArray, Codes, FloatArray, Form, IntArray

FEW_VALUES = 20
MOST_TIES = 24
"""This many pairs of a key and another column are looked at, the first in the order of the
schema."""


@dataclass(frozen=True)
class AssociationLoss:
    """One key with one column that is released unchanged.

    Attributes:
        key: the key.
        column: the other column.
        kind: ``table``, or ``mean`` of the column by the key.
        loss: of a table the share of records in the wrong cell; of means how far they are off,
            averaged over the records, as a share of the column's mean distance from its mean.
        estimated: whether the release could be asked for it; else it was taken at face value.
    """

    key: str
    column: str
    kind: Literal["table", "mean"]
    loss: float
    estimated: bool

    def to_json(self) -> Form:
        """Values for JSON."""
        return vars(self)


def association_losses(
    release: Release,
    truth: OpenedTable,
    codes: Mapping[str, tuple[Codes, Codes]] | None = None,
) -> tuple[AssociationLoss, ...]:
    """Every key that has a domain with every other column that is no weight.

    Whoever has the codes of the keys already, before and after, hands them on.
    """
    schema = release.certificate.schema
    keys = [column for column in schema.randomised if column.domain is not None]
    kept = release.certificate.as_they_are
    others = [column for column in kept if column.role is not Role.WEIGHT]
    pairs = [(key, other) for other in others for key in keys][:MOST_TIES]
    columns = {column.name: _Kept.of(release, truth, column) for _, column in pairs}
    codes = codes or {key.name: _codes(release, truth, key) for key, _ in pairs}
    ties = (_Tie(key, columns[other.name], codes[key.name]) for key, other in pairs)
    return tuple(tie.lost(release) for tie in ties if tie.kept.asked_for)


def _codes(release: Release, truth: OpenedTable, key: Column) -> tuple[Codes, Codes]:
    """The codes of a key, before and after."""
    before = encode(key, truth.to_arrow([key.name]).column(0))
    return before, released_codes(release.certificate.mechanism, key, release.opened)


@dataclass(frozen=True, eq=False)
class _Kept:
    """Values of a column that is released unchanged, before and after: the same for every key."""

    name: str
    before: pa.ChunkedArray
    after: pa.ChunkedArray

    @classmethod
    def of(cls, release: Release, truth: OpenedTable, column: Column) -> _Kept:
        own, theirs = (t.to_arrow([column.name]).column(0) for t in (truth, release.opened))
        return cls(column.name, *_alike(own, theirs, column))

    @property
    def asked_for(self) -> bool:
        """Whether there are means of it, or a table of few values."""
        return is_number(self.before.type) or self.few

    @cached_property
    def few(self) -> bool:
        return code_column(self.before)[1] <= FEW_VALUES

    @cached_property
    def both(self) -> pa.ChunkedArray:
        return pa.chunked_array([*self.before.chunks, *self.after.chunks])

    @cached_property
    def coded(self) -> tuple[Codes, int]:
        """The codes of both, and how many values they have."""
        codes, size, _ = code_column(self.both)
        return codes, size

    @cached_property
    def texts(self) -> list[str]:
        """The text of each code."""
        values, size = self.coded
        first = np.zeros(size, np.int64)
        first[values[::-1]] = np.arange(len(values) - 1, -1, -1)
        return [label_text(value.as_py()) for value in self.both.take(pa.array(first))]

    @cached_property
    def numbers(self) -> FloatArray:
        return _numbers(self.before)

    @cached_property
    def spread(self) -> float:
        """The mean distance from the mean."""
        return float(np.nanmean(np.abs(self.numbers - np.nanmean(self.numbers)))) or 1.0


@dataclass(frozen=True, eq=False)
class _Tie:
    """Codes of a key, before and after, and a column that is released unchanged."""

    key: Column
    kept: _Kept
    codes: tuple[Codes, Codes]

    @property
    def told(self) -> BoolArray:
        """The released records that tell the key: at face value, only those of reports count."""
        return np.asarray(self.codes[1] != NOT_REPORTED)

    def lost(self, release: Release) -> AssociationLoss:
        return self._lost_table(release) if self.kept.few else self._lost_means(release)

    def _lost_table(self, release: Release) -> AssociationLoss:
        values, size = self.kept.coded
        rows = len(self.codes[0])
        truth = self._shares(self.codes[0], values[:rows], size)
        estimated = True
        try:
            by = (self.key.name, self.kept.name)
            asked = Question(by, weighted=False)
            table = release.reading.counts(asked, method="auto", share=True)
            # of a group that nobody was asked of nothing is told: it lacks all of its records
            found = self._aligned(table.labels[1], np.nan_to_num(table.estimate))
        except PramanaError:
            told = self.told
            estimated = False
            found = self._shares(self.codes[1][told], values[rows:][told], size)
        loss = float(np.abs(truth - found).sum()) / 2
        return AssociationLoss(self.key.name, self.kept.name, "table", min(loss, 1.0), estimated)

    def _shares(self, codes: Codes, values: Codes, size: int) -> FloatArray:
        cells = codes.astype(np.int64) * size + values
        counts = np.bincount(cells, minlength=len(self.key.labels) * size)
        return np.asarray(counts.reshape(-1, size) / max(len(codes), 1), dtype=np.float64)

    def _aligned(self, labels: tuple[Any, ...], estimate: FloatArray) -> FloatArray:
        """The estimate in the order of our codes."""
        place = {label_text(label): at for at, label in enumerate(labels)}
        found = np.zeros((len(self.key.labels), len(self.kept.texts)))
        for at, text in enumerate(self.kept.texts):
            if text in place:
                found[:, at] = estimate[:, place[text]]
        return found

    def _lost_means(self, release: Release) -> AssociationLoss:
        size = len(self.key.labels)
        truth, weight = _means(self.codes[0], self.kept.numbers, size)
        estimated = True
        try:
            asked = release.mean(self.kept.name, by=[self.key.name], weighted=False)
            found = np.asarray(asked.estimate, dtype=np.float64).ravel()
            if found.shape != truth.shape:
                raise PramanaError("other groups")
        except PramanaError:
            told, theirs = self.told, _numbers(self.kept.after)
            estimated, found = False, _means(self.codes[1][told], theirs[told], size)[0]
        off = np.minimum(np.nan_to_num(np.abs(found - truth) / self.kept.spread, nan=1.0), 1.0)
        loss = float((weight * off).sum())
        return AssociationLoss(self.key.name, self.kept.name, "mean", loss, estimated)


def _alike(
    own: pa.ChunkedArray, theirs: pa.ChunkedArray, column: Column
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """The original data as they are released: in bins where bins are released by labels."""
    domain = column.domain
    if own.type == theirs.type:
        return own, theirs
    if isinstance(domain, Bins) and domain.release == "label":
        own = pa.chunked_array([pa.array(column.labels).take(pa.array(encode(column, own)))])
    if is_number(own.type) and is_number(theirs.type):
        return own.cast(pa.float64(), safe=False), theirs.cast(pa.float64(), safe=False)
    return own.cast(pa.string()), theirs.cast(pa.string())


def _numbers(values: pa.ChunkedArray) -> FloatArray:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float64)


def _means(codes: Codes, values: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """The mean of each level, and the share of the records that it has."""
    known = ~np.isnan(values)
    count = np.bincount(codes[known], minlength=size).astype(np.float64)
    total = np.bincount(codes[known], values[known], minlength=size)
    means = np.divide(total, count, out=np.full(size, np.nan), where=count > 0)
    return means, count / max(count.sum(), 1.0)


MOST_CELLS = 100_000
INTERVALS = Question(infer="population")
"""Tables are compared by their intervals."""

MOST_PAIRS = 21
MODEL_CELLS = 400
"""Columns with more values together are left out of the model that tells the tables apart."""

TEST_SHARE = 0.3

PARTS = (
    "Reports tell a few columns each: at face value a table is that of the reports which tell it, "
    "and nothing is learned from them as they stand. Learn from rebuilt records."
)


@dataclass(frozen=True)
class Association:
    """How strongly two columns go together: in truth, as released, as estimated."""

    measure: str
    truth: float
    raw: float
    estimated: float | None

    def to_json(self) -> Form:
        """Values for JSON."""
        return vars(self)


@dataclass(frozen=True)
class TableUtility:
    """One table: how far release and estimate are from the original data."""

    columns: tuple[str, ...]
    raw: TableDistance
    estimated: TableDistance | None
    method: str
    overlap_raw: float
    overlap_estimated: float | None
    association: Association | None

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "columns raw estimated method association") | {
            "interval_overlap": {"raw": self.overlap_raw, "estimated": self.overlap_estimated}
        }


@dataclass(frozen=True)
class UtilityReport:
    """What is lost, over all one- and two-way tables of the keys.

    Attributes:
        tables: one entry a table.
        model: how well released records can be told from true ones.
        tree: accuracy of a tree learned on the release; ``None`` where it was not asked for.
        notes: what was left out, and why.
        ties: how much is lost of what ties keys to other columns.
    """

    tables: tuple[TableUtility, ...]
    model: Propensity | None
    tree: TreeAccuracy | None = None
    notes: tuple[str, ...] = ()
    ties: tuple[AssociationLoss, ...] = ()

    @property
    def losses(self) -> dict[str, float]:
        """The loss of each kind of question that will be asked, 0 to 1, averaged over its kind."""
        found: dict[str, float] = {}
        for width, kind in ((1, "tables of one key"), (2, "tables of two keys")):
            if any(len(table.columns) == width for table in self.tables):
                found[kind] = min(self.mean_l1(width=width) / 2, 1.0)
        for tie, kind in (("table", "keys with other columns"), ("mean", "means by key")):
            own = [entry.loss for entry in self.ties if entry.kind == tie]
            if own:
                found[kind] = float(np.mean(own))
        return found

    @property
    def loss(self) -> float:
        """The average over the kinds of questions, each counted once."""
        return float(np.mean(list(self.losses.values()) or [0.0]))

    def mean_l1(self, *, width: int, estimated: bool = True) -> float:
        """The average L1 of the tables of this many columns."""
        found = [
            (table.estimated or table.raw if estimated else table.raw).l1
            for table in self.tables
            if len(table.columns) == width
        ]
        return float(np.mean(found)) if found else 0.0

    def _rebuilt(self) -> str:
        if self.tree is None or self.tree.synthesized is None:
            return ""
        return f", {percent(self.tree.synthesized)} on rebuilt records"

    def sentences(self) -> list[str]:
        """The findings in plain words."""
        lines = []
        for width, word in ((1, "One-way"), (2, "Two-way")):
            if any(len(table.columns) == width for table in self.tables):
                raw, best = (self.mean_l1(width=width, estimated=e) for e in (False, True))
                lines.append(
                    f"{word} tables: {50 * best:.3g} % of the records are in the wrong cell by "
                    f"the estimates, {50 * raw:.3g} % by the released records at face value."
                )
        for kind, words in (
            ("keys with other columns", "Tables of a key with a column released as it is: {} of "
             "the records are in the wrong cell."),
            ("means by key", "Means by key are off by {} of what the column varies."),
        ):  # fmt: skip
            if kind in self.losses:
                lines.append(words.format(percent(self.losses[kind])))
        if self.model is not None:
            lines.append(
                "By the released columns themselves, at face value, a model tells released records "
                f"from true ones {_how_well(self.model.ratio)} (pMSE ratio {self.model.ratio:.3g}; "
                "what chance alone gives is 1, and more is worse)."
            )
        if self.tree is not None:
            lines.append(
                f"A tree for '{self.tree.target}' is right for {percent(self.tree.truth)} of "
                f"true records if learned on the truth, {percent(self.tree.released)} on the "
                f"release{self._rebuilt()}."
            )
        return lines + list(self.notes)

    def to_json(self) -> Form:
        """Values for JSON."""
        return plain(self, "loss losses ties tables tree notes") | {
            "mean_l1": {
                f"{width}-way": {
                    "raw": self.mean_l1(width=width, estimated=False),
                    "estimated": self.mean_l1(width=width),
                }
                for width in (1, 2)
            },
            "propensity": None if self.model is None else self.model.to_json(),
        }


def _how_well(ratio: float) -> str:
    if ratio <= 2:
        return "no better than chance would"
    return "somewhat better than chance" if ratio <= 10 else "clearly"


@dataclass(frozen=True, eq=False)
class _Coded:
    """The randomised columns of both tables, in the same codes."""

    columns: tuple[Column, ...]
    truth: dict[str, NDArray[Any]]
    released: dict[str, NDArray[Any]]
    whole: bool
    """Whether released records have a value in every column, as reports have not."""

    @classmethod
    def of(cls, release: Release, truth: OpenedTable) -> _Coded:
        columns = tuple(c for c in release.certificate.schema.randomised if c.domain is not None)
        before, after = {}, {}
        for column in columns:
            before[column.name] = encode(column, truth.to_arrow([column.name]).column(0))
            after[column.name] = released_codes(
                release.certificate.mechanism, column, release.opened
            )
        return cls(columns, before, after, release.certificate.nature.whole)

    def counts(self, names: Sequence[str], *, released: bool) -> IntArray:
        codes = self.released if released else self.truth
        labels = [self._by_name[name].labels for name in names]
        own = [codes[name] for name in names]
        if released and not self.whole:
            told = np.all([part != NOT_REPORTED for part in own], axis=0)
            own = [part[told] for part in own]
        return Counts.of_codes(names, labels, own).dense()

    @property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.columns}


def assess_utility(
    release: Release, truth: OpenedTable, *, target: str | None = None, seed: int = 20
) -> UtilityReport:
    """Compare a release with the original data, at face value and by estimates."""
    coded = _Coded.of(release, truth)
    notes: list[str] = []
    names = [column.name for column in coded.columns]
    pairs = list(itertools.combinations(names, 2))
    if len(pairs) > MOST_PAIRS:
        notes.append(f"Of {len(pairs)} two-way tables the first {MOST_PAIRS} are shown.")
    sizes = {column.name: len(column.labels) for column in coded.columns}
    tables = [
        _table(by, coded, release)
        for by in [(name,) for name in names] + pairs[:MOST_PAIRS]
        if prod(sizes[name] for name in by) <= MOST_CELLS
    ]
    tree = None
    if not coded.whole:
        notes.append(PARTS)
    elif target is not None:
        try:
            tree = _tree(target, coded, release, seed)
        except MissingExtra as error:
            notes.append(str(error))
    codes = {name: (coded.truth[name], coded.released[name]) for name in names}
    ties = association_losses(release, truth, codes)
    return UtilityReport(tuple(tables), _model(coded), tree, tuple(notes), ties)


def _table(by: tuple[str, ...], coded: _Coded, release: Release) -> TableUtility:
    truth, raw = (coded.counts(by, released=released) for released in (False, True))
    if not raw.any():
        raw = np.ones_like(raw)  # no report tells the table: all cells alike
    own = share_intervals(truth)
    naive = float(interval_overlap(own, share_intervals(raw)).mean())
    estimate, overlap, method = None, None, "as released"
    for question in (INTERVALS, USUAL):  # a model tells nothing about the population
        try:
            asked = replace(question, by=by, weighted=False)
            found = release.reading.counts(asked, method="auto", share=True)
        except PramanaError:
            continue  # a method without matrices: what is released is what there is
        estimate, method = np.asarray(found.estimate), found.method
        if not found.no_interval:
            overlap = float(interval_overlap(own, (found.low, found.high)).mean())
        break
    return TableUtility(
        columns=by,
        raw=TableDistance.between(truth, raw),
        estimated=None if estimate is None else TableDistance.between(truth, estimate),
        method=method,
        overlap_raw=naive,
        overlap_estimated=overlap,
        association=_association(by, coded, truth, raw, estimate) if len(by) == 2 else None,
    )


def _association(
    by: tuple[str, ...],
    coded: _Coded,
    truth: NDArray[Any],
    raw: NDArray[Any],
    estimate: NDArray[Any] | None,
) -> Association:
    columns = [column for column in coded.columns if column.name in by]
    ordered = all(c.ordered and None not in c.labels for c in columns)
    measure = correlation if ordered else cramers_v
    return Association(
        "correlation" if ordered else "Cramer's V",
        measure(truth),
        measure(raw),
        None if estimate is None else measure(estimate),
    )


def _model(coded: _Coded) -> Propensity | None:
    """The model that tells the tables apart, on the columns that it can take."""
    if not coded.whole:
        return None
    used: list[Column] = []
    for column in sorted(coded.columns, key=lambda c: len(c.labels)):
        if sum(len(c.labels) for c in [*used, column]) <= MODEL_CELLS:
            used.append(column)
    if not used:
        return None
    return propensity(
        [coded.truth[c.name] for c in used],
        [coded.released[c.name] for c in used],
        [len(c.labels) for c in used],
    )


def _tree(target: str, coded: _Coded, release: Release, seed: int) -> TreeAccuracy:
    names = [column.name for column in coded.columns if column.name != target]
    records = len(coded.truth[target])
    held = np.zeros(records, dtype=np.bool_)
    keystream = Keystream.from_seed(seed)
    held[keystream.permutation(records, "tree")[: int(TEST_SHARE * records)]] = True

    def part(codes: dict[str, NDArray[Any]]) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        return [codes[name] for name in names], codes[target].astype(np.int64)

    return tree_accuracy(
        target,
        part(coded.truth),
        part(coded.released),
        held_out=held,
        synthesized=_rebuilt(coded, release, keystream, part),
    )


def _rebuilt(coded: _Coded, release: Release, keystream: Keystream, part: Any) -> Any:
    """The synthetic records in the same codes; ``None`` where there are no matrices."""
    try:
        table = release.synthesized(keystream)
    except NotCovered:
        return None
    return part({c.name: encode_released(c, table.column(c.name)) for c in coded.columns})
