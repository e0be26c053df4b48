"""What the mechanism does to a whole table, one axis after the other.

Independent steps form a Kronecker product; it is never written out. Each axis gets a channel, with
one linear map for each verb:

    forward   expected released counts from original counts       x P
    backward  its adjoint, which the EM algorithm needs           P x
    squared   original counts times squared probabilities         x P^2, entry by entry
    solve     unbiased original counts, by groups [Cator, eq. 4]  y P^-1 M
    spread    the same with squared entries, for variances        y (P^-1 M)^2
    adjoint   what each released value counts for groups          P^-1 M c

where M merges positions into groups (joint cells into the columns asked for, or what a filter
keeps); merging comes before squaring, so that the variance of a sum is right. ``expects`` is what
``spread`` expects of a record inside a group, and of one outside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partialmethod
from typing import Any, Literal, TypeAlias, TypeGuard

import numpy as np

from pramana.analysis.layout import Axis, Layout
from pramana.errors import NotCovered
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import TransitionMatrix, UniformMixture
from pramana.types import FloatArray

Verb: TypeAlias = Literal["forward", "backward", "squared", "solve", "spread", "adjoint"]

Expected: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""By group: most and least of a record of it, the most of one outside, the least of any."""

SMALL = 0.5
"""The inverse of a sparse matrix is sparse where transitions weigh at most this much."""


def sum_along(table: FloatArray, place: int) -> FloatArray:
    """The sum over one axis, which keeps its place with length 1."""
    total: FloatArray = np.add.reduce(table, axis=place, keepdims=True)  # half the time of sum
    return total


def times_along(table: FloatArray, matrix: Any, place: int) -> FloatArray:
    """Multiply one axis of a table by a matrix, dense or sparse."""
    last = place == table.ndim - 1
    moved = table if last else np.moveaxis(table, place, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    product = np.asarray(flat @ matrix, dtype=np.float64)
    times = product.reshape(*moved.shape[:-1], -1)
    return times if last else np.moveaxis(times, -1, place)


def _has_sparse_inverse(matrix: TransitionMatrix) -> TypeGuard[SparseRows]:
    """Whether the inverse of a sparse matrix is sparse: its series ends soon."""
    if not isinstance(matrix, SparseRows):
        return False
    if SMALL not in matrix.worked_out:
        positive = bool((matrix.diagonal > 0).all())
        matrix.worked_out[SMALL] = positive and float(abs(matrix.aside).sum(axis=1).max()) <= SMALL
    return bool(matrix.worked_out[SMALL])


@dataclass(frozen=True)
class Channel(ABC):
    """What happens along one axis of a table."""

    place: int
    axis: Axis

    @abstractmethod
    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """Apply the map of a verb."""

    @abstractmethod
    def expects(self, before: Expected) -> Expected:
        """What one record is expected to count, squared, for its group and for others.

        Tables are constant along an axis that was not undone yet.
        """


@dataclass(frozen=True)
class Unchanged(Channel):
    """A column that was released unchanged: positions are only merged or left out."""

    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """Merge, or spread what a group counts; entries are 0 and 1, one to per row."""
        if self.axis.whole or verb in ("forward", "backward", "squared"):
            return table
        member = self.axis.membership
        return times_along(table, member.T if verb == "adjoint" else member, self.place)

    def expects(self, before: Expected) -> Expected:
        """A record that differs in an unchanged column adds nothing: only members of groups do."""
        if self.axis.whole:
            return before
        groups = np.array(self.axis.groups)

        def among(worst: np.ufunc, table: FloatArray, start: float) -> FloatArray:
            moved = np.moveaxis(table, self.place, 0)
            worst_of = np.full((max(len(self.axis.group_cells), 1), *moved.shape[1:]), start)
            worst.at(worst_of, groups[groups >= 0], moved[groups >= 0])
            return np.moveaxis(worst_of, 0, self.place)

        most, least, outside, any_one = before
        return (
            among(np.maximum, most, 0.0),
            among(np.minimum, least, np.inf),
            among(np.maximum, outside, 0.0),
            among(np.minimum, any_one, np.inf),
        )


@dataclass(frozen=True)
class Randomised(Channel):
    """Any matrix."""

    matrix: TransitionMatrix

    @cached_property
    def _maps(self) -> dict[Verb, Any]:
        return {}

    def map(self, verb: Verb) -> Any:
        """The matrix of a verb, dense or sparse, computed when it is first needed."""
        if verb not in self._maps:
            self._maps[verb] = self._map(verb)
        return self._maps[verb]

    def _map(self, verb: Verb) -> Any:
        matrix = self.matrix
        if verb == "forward":
            return matrix.sparse if isinstance(matrix, SparseRows) else matrix.values
        if verb == "backward":
            return self.map("forward").T
        if verb in ("squared", "spread"):
            return self.map("forward" if verb == "squared" else "solve") ** 2
        if verb == "adjoint":
            inverse = self.map("solve")
            return inverse.T.tocsr() if _has_sparse_inverse(matrix) else inverse.T
        if _has_sparse_inverse(matrix):
            whole = matrix.sparse_inverse
            return whole if self.axis.whole else (whole @ self._sparse_membership).tocsr()
        member = self.axis.membership
        if isinstance(matrix, UniformMixture):
            # Rows of the inverse are same - rest on the diagonal plus rest everywhere.
            rest = float(matrix.inverse[0, -1])
            return member / float(matrix.retention) + rest * member.sum(axis=0)
        return matrix.inverse @ member

    @cached_property
    def _sparse_membership(self) -> Any:
        from scipy import sparse  # a third of a second

        groups = np.array(self.axis.groups)
        inside = np.flatnonzero(groups >= 0)
        shape = (len(groups), max(len(self.axis.group_cells), 1))
        return sparse.csr_array((np.ones(len(inside)), (inside, groups[inside])), shape=shape)

    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """By the matrix itself where it has a quicker way."""
        if not _has_sparse_inverse(self.matrix):
            whole = self.axis.whole
            if verb == "solve":
                solved = self.matrix.solve(table, axis=self.place)
                return solved if whole else times_along(solved, self.axis.membership, self.place)
            if verb == "spread" and whole:
                return self.matrix.spread(table, axis=self.place)
        return times_along(table, self.map(verb), self.place)

    def expects(self, before: Expected) -> Expected:
        """Times what one record adds here; a stranger differs in this axis or in one before."""
        shape = [1] * before[0].ndim
        shape[self.place] = -1
        most, least, other, fewest = (part.reshape(shape) for part in self._expected())
        most_in, least_in, outside, any_one = (np.take(t, [0], axis=self.place) for t in before)
        others = np.maximum(outside * np.maximum(most, other), most_in * np.maximum(other, 0))
        return most_in * most, least_in * least, others, any_one * np.minimum(least, fewest)

    def _expected(self) -> Expected:
        """What ``spread`` expects of one record, by group."""
        if not _has_sparse_inverse(self.matrix):
            if self.axis.whole:
                return self.matrix.expected_spread
            squares, inside = self.matrix.values @ self.map("spread"), self.axis.membership > 0
            sides = inside, ~inside
            most, others = (np.where(side, squares, -np.inf).max(axis=0) for side in sides)
            least, fewest = (np.where(side, squares, np.inf).min(axis=0) for side in sides)
            return most, least, others, fewest
        # By entries that are not 0; some original value is so far that it adds nothing to a group.
        entries = (self.map("forward") @ self.map("spread")).tocsr()
        member = entries.multiply(self._sparse_membership).tocsr()
        most, other = (
            np.maximum(part.max(axis=0).toarray().ravel(), 0) for part in (member, entries - member)
        )
        least, listed = np.full(len(most), np.inf), member.tocoo()
        np.minimum.at(least, listed.col, listed.data)
        return most, np.where(np.isinf(least), 0.0, least), other, np.zeros_like(most)


@dataclass(frozen=True)
class Mixed(Randomised):
    """A uniform mixture: everything takes time linear in the table."""

    matrix: UniformMixture

    @cached_property
    def _entries(self) -> tuple[float, float]:
        """Retention, and the weight of every other value."""
        kept = float(self.matrix.retention)
        return kept, (1 - kept) / self.matrix.size

    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """By closed forms; the matrix and its inverse are symmetric."""
        kept, other = self._entries
        if verb in ("forward", "backward"):
            return sum_along(table, self.place) * other + kept * table
        if verb == "squared":
            diagonal = (kept + other) ** 2 - other**2
            return sum_along(table, self.place) * other**2 + diagonal * table
        if verb in ("solve", "adjoint"):
            if self.axis.whole:
                return self.matrix.solve(table, axis=self.place)
            return times_along(table, self.map(verb), self.place)
        return super().along(verb, table)

    def _expected(self) -> Expected:
        (kept, other), rest = self._entries, float(self.matrix.inverse[0, -1])
        sizes = self.axis.membership.sum(axis=0)
        inside, outside = 1 / kept + rest * sizes, rest * sizes
        more, some = inside**2 - outside**2, sizes < self.axis.size
        member = (kept + other * sizes) * more + outside**2
        stranger = other * sizes * more + outside**2
        return member, member, np.where(some, stranger, -np.inf), np.where(some, stranger, np.inf)


@dataclass(frozen=True)
class Stratified(Channel):
    """One matrix for each stratum: the strata are axes of the table, released unchanged."""

    parts: tuple[tuple[tuple[int | slice, ...], Channel], ...]

    @classmethod
    def of(cls, place: int, layout: Layout) -> Stratified:
        """The channel of an axis whose matrix depends on others."""
        axis = layout.axes[place]
        assert axis.step is not None  # noqa: S101 - for the type checker
        apart = {other.columns: at for at, other in enumerate(layout.axes) if other.step is None}
        for name in axis.step.strata:
            if (name,) not in apart:
                raise NotCovered(
                    "The matrix depends on '{column}', which was itself randomised: there is no "
                    "estimate of its original value. Release strata unchanged.",
                    column=name,
                )
        parts = []
        for labels, matrix in axis.step.by_stratum.items():
            # A slice of one keeps the axis, so that every channel finds its place.
            index: list[int | slice] = [slice(None)] * len(layout.axes)
            for name, label in zip(axis.step.strata, labels, strict=True):
                code = [cell[0] for cell in layout.axes[apart[name,]].cells].index(label)
                index[apart[name,]] = slice(code, code + 1)
            parts.append((tuple(index), channel_of(place, axis, matrix)))
        return cls(place, axis, tuple(parts))

    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """Stratum by stratum; of strata without a matrix there must be no records."""
        if verb != "adjoint":
            known = sum(float(np.abs(table[index]).sum()) for index, _ in self.parts)
            if known < (1 - 1e-9) * float(np.abs(table).sum()):
                raise NotCovered(
                    "Some released records of {columns} are in strata for which the certificate "
                    "has no matrix. Filter on the strata that it has.",
                    columns=", ".join(self.axis.columns),
                )
        results = [(at, channel.along(verb, table[at])) for at, channel in self.parts]
        return self._whole(results, table.shape)

    def expects(self, before: Expected) -> Expected:
        """Stratum by stratum."""
        shape = before[0].shape
        parts = [
            (at, channel.expects(tuple(table[at] for table in before)))  # type: ignore[arg-type]
            for at, channel in self.parts
        ]
        most, least, outside, any_one = (
            self._whole([(at, tables[part]) for at, tables in parts], shape) for part in range(4)
        )
        return most, least, outside, any_one

    def _whole(
        self,
        results: list[tuple[tuple[int | slice, ...], FloatArray]],
        before: tuple[int, ...],
    ) -> FloatArray:
        shape = list(before)
        shape[self.place] = results[0][1].shape[self.place]
        whole = np.zeros(shape)
        for index, result in results:
            whole[index] = result
        return whole


def channel_of(place: int, axis: Axis, matrix: TransitionMatrix) -> Randomised:
    """What one matrix does along an axis."""
    kind = Mixed if isinstance(matrix, UniformMixture) else Randomised
    return kind(place, axis, matrix)  # type: ignore[arg-type]  # the kind fits the matrix


@dataclass(frozen=True)
class Channels:
    """All channels of a table."""

    layout: Layout

    @cached_property
    def each(self) -> tuple[Channel, ...]:
        """One channel an axis."""
        channels: list[Channel] = []
        for place, axis in enumerate(self.layout.axes):
            if axis.step is None:
                channels.append(Unchanged(place, axis))
            elif axis.step.matrix is not None:
                channels.append(channel_of(place, axis, axis.step.matrix))
            else:
                channels.append(Stratified.of(place, self.layout))
        return tuple(channels)

    @property
    def randomised(self) -> bool:
        """Whether any axis was randomised at all."""
        return any(not isinstance(channel, Unchanged) for channel in self.each)

    def closure(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The axes at ``places`` and those on which their matrices depend, in order."""
        axes = self.layout.axes
        steps = [axes[place].step for place in places]
        strata = {name for step in steps if step is not None for name in step.strata}
        more = {place for place, axis in enumerate(axes) if strata.intersection(axis.columns)}
        return tuple(sorted({*places, *more}))

    @cached_property
    def _late_unchanged(self) -> list[Channel]:
        """Strata must not be merged before the axes that depend on them are undone."""
        return sorted(self.each, key=lambda channel: isinstance(channel, Unchanged))

    def along(self, verb: Verb, table: FloatArray) -> FloatArray:
        """Apply the maps of a verb along all axes; ``adjoint`` is that of ``solve``."""
        order = self._late_unchanged
        for channel in reversed(order) if verb == "adjoint" else order:
            table = channel.along(verb, table)
        return table

    forward = partialmethod(along, "forward")
    backward = partialmethod(along, "backward")
    squared = partialmethod(along, "squared")
    solve = partialmethod(along, "solve")
    spread = partialmethod(along, "spread")
    adjoint = partialmethod(along, "adjoint")

    @property
    def in_total(self) -> FloatArray:
        """What each released cell counts for all groups; rows of a whole inverse sum to 1."""
        table = np.ones(self.layout.grouped_shape)
        for channel in reversed(self._late_unchanged):
            table = table if channel.axis.whole else channel.along("adjoint", table)
        return table

    @property
    def one_more(self) -> tuple[FloatArray, FloatArray]:
        """What one more original record of a group adds to its variance at most, and one fewer.

        How many there are is known, so that one more is in the place of a stranger, and the other
        way round.
        """
        most, least, outside, any_one = self._expected
        return np.maximum(most - 1 - any_one, 0), outside - (least - 1)

    def least_variance(self, squares: FloatArray) -> FloatArray:
        """The smallest variance that any original table gives, for these squared weights.

        Each record adds what one of the group does, or a stranger; those who differ in an unchanged
        column add nothing.
        """
        _, least, _, any_one = self._expected
        each = np.maximum(np.minimum(least - 1, any_one), 0)
        return np.where(np.isfinite(each), each, 0.0) * self.known(squares)

    def known(self, table: FloatArray) -> FloatArray:
        """For each group the sum over all records with the same unchanged values."""
        for channel in self._late_unchanged:
            unchanged = isinstance(channel, Unchanged)
            table = channel.along("solve", table) if unchanged else sum_along(table, channel.place)
        return np.broadcast_to(table, self.layout.grouped_shape)

    @cached_property
    def _expected(self) -> Expected:
        ones = np.broadcast_to(1.0, self.layout.shape)
        expected: Expected = (ones, ones, np.broadcast_to(0.0, ones.shape), ones)
        for channel in self._late_unchanged:
            expected = channel.expects(expected)
        return expected

    def merge(self, table: FloatArray) -> FloatArray:
        """True counts merged into groups."""
        for place, axis in enumerate(self.layout.axes):
            if not axis.whole:
                table = times_along(table, axis.membership, place)
        return table


# -- operations on whole tables ---------------------------------------------------------------

Margins = Sequence[tuple[int, ...]]


def divide(above: FloatArray, below: FloatArray) -> FloatArray:
    """``above / below``, and 0 where nothing is below."""
    if np.minimum.reduce(below, axis=None, initial=np.inf) > 0:  # nearly always, and twice as fast
        return above / below
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def expected_original(released: FloatArray, guess: FloatArray, channels: Channels) -> FloatArray:
    """The expected original table of the released records, if originals are like ``guess``."""
    return guess * channels.backward(divide(released, channels.forward(guess)))


def margin_of(table: FloatArray, keep: tuple[int, ...]) -> FloatArray:
    """The margin over some axes, in a shape that broadcasts against the table."""
    out = tuple(axis for axis in range(table.ndim) if axis not in keep)
    margin: FloatArray = np.add.reduce(table, axis=out, keepdims=True)
    return margin


def fit_margins(table: FloatArray, targets: Sequence[FloatArray], margins: Margins) -> FloatArray:
    """Scale ``table`` to the given margins in turn: a round of iterative proportional fitting."""
    for target, keep in zip(targets, margins, strict=True):
        table = table * divide(target, margin_of(table, keep))
    return table
