"""Operations along one axis of a table.

The channel of a matrix that is the identity and a few transitions.

Where these are few and small the inverse is sparse too (``SparseRows.sparse_inverse``): that of a
matrix over many thousand cells is written down entry by entry, and its squares, which every
variance needs, with it.

What the mechanism does to a whole table, one axis after the other.

Independent steps form a Kronecker product; it is never written out. Each axis gets a channel with

    forward   expected released counts from true counts           x P
    backward  its adjoint, which the EM algorithm needs           P x
    solve     unbiased true counts, by groups                     y P^-1 M
    spread    the same with squared entries, for variances        y (P^-1 M)^2
    cross     times the sum over all groups, for ratios           y (P^-1 M * P^-1 M 1)
    gross     that sum squared: the variance of the total         y (P^-1 M 1)^2
    adjoint   what each released value counts for groups          P^-1 M c
    expects   what spread expects of a record inside a group, and of one outside it

where M merges positions into groups (joint cells into the columns asked for, or what a filter
keeps). Merging before squaring is what makes the variance of a sum right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from pramana.analysis.layout import Axis, Layout
from pramana.errors import NotCovered
from pramana.mechanisms.mechanism import SparseRows, UniformMixture
from pramana.mechanisms.transition import TransitionMatrix
from pramana.types import FloatArray

Expected: TypeAlias = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
"""By group: most and least of a record of it, the most of one outside, the least of any."""


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
    found = product.reshape(*moved.shape[:-1], -1)
    return found if last else np.moveaxis(found, -1, place)


def expected_along(along: Expected, place: int, before: Expected) -> Expected:
    """What one record is expected to count for a group, squared, one axis further.

    ``along`` has that along the axis, by group. Who stands outside differs in this axis or in one
    before it.
    """
    shape = [1] * before[0].ndim
    shape[place] = -1
    most, least, other, fewest = (part.reshape(shape) for part in along)
    most_in, least_in, outside, any_one = (np.take(table, [0], axis=place) for table in before)
    others = np.maximum(outside * np.maximum(most, other), most_in * np.maximum(other, 0))
    return most_in * most, least_in * least, others, any_one * np.minimum(least, fewest)


SMALL = 0.5
"""The series is used where transitions have at most this weight beside the diagonal."""


MOST_HELD, MOST_ENTRIES = 32, 20_000
"""So many ways to merge a matrix are worked out once, where its inverse has up to so many entries
(a megabyte a way): a table, its shares and their errors ask for few, and each release of a plan for
the same."""


def has_sparse_inverse(matrix: SparseRows) -> bool:
    """Whether the series ends soon."""
    found = matrix.worked_out.get(SMALL)
    if found is None:
        small = (matrix.diagonal > 0).all()
        found = bool(small) and float(abs(matrix.aside).sum(axis=1).max()) <= SMALL
        matrix.worked_out[SMALL] = found
    return bool(found)


@dataclass(frozen=True, eq=False)
class _Merged:
    """The inverse of a matrix with its columns merged into groups, and what variances need of it.

    Attributes:
        matrix: What is undone.
        groups: Of each cell; less than 0 where it is in none.
        number: How many groups there are.
    """

    matrix: SparseRows
    groups: tuple[int, ...]
    number: int

    @classmethod
    def of(cls, matrix: SparseRows, axis: Axis) -> _Merged:
        """That of an axis, worked out once where it is small."""
        number = max(len(axis.group_cells), 1)
        held, asked = matrix.worked_out, (axis.groups, number)
        found = held.get(asked)
        if found is None:
            found = cls(matrix, axis.groups, number)
            if matrix.sparse_inverse.nnz <= MOST_ENTRIES and len(held) < MOST_HELD:
                held[asked] = found
        return found

    @cached_property
    def inverse(self) -> Any:
        """Its merged columns."""
        inverse = self.matrix.sparse_inverse
        if self.groups == tuple(range(self.matrix.size)):
            return inverse
        return (inverse @ self._membership).tocsr()

    @cached_property
    def squares(self) -> Any:
        """Each entry squared."""
        return self.inverse.power(2)

    @cached_property
    def sums(self) -> FloatArray:
        """Over all groups."""
        return np.asarray(self.inverse.sum(axis=1)).reshape(-1)

    @cached_property
    def crossed(self) -> Any:
        """Each entry times the sum of its row."""
        return self.inverse.multiply(self.sums.reshape(-1, 1)).tocsr()

    @cached_property
    def turned(self) -> Any:
        """Its rows as columns."""
        return self.inverse.T.tocsr()

    @cached_property
    def expected(self) -> Expected:
        """By entries that are not 0; some truth is so far that it counts nothing for a group."""
        squares = (self.matrix.sparse @ self.squares).tocsr()
        member = squares.multiply(self._membership).tocsr()
        most, other = (
            np.maximum(part.max(axis=0).toarray().ravel(), 0) for part in (member, squares - member)
        )
        least = np.full(len(most), np.inf)
        entries = member.tocoo()
        np.minimum.at(least, entries.col, entries.data)
        return most, np.where(np.isinf(least), 0.0, least), other, np.zeros_like(most)

    @cached_property
    def _membership(self) -> Any:
        from scipy import sparse

        groups = np.array(self.groups)
        inside = np.flatnonzero(groups >= 0)
        shape = (len(groups), self.number)
        entries = (np.ones(len(inside)), (inside, groups[inside]))
        return sparse.csr_array(entries, shape=shape)


@dataclass(frozen=True)
class Sparse:
    """Nothing of the size of the matrix squared is ever formed."""

    place: int
    axis: Axis
    matrix: SparseRows

    def forward(self, table: FloatArray) -> FloatArray:
        """Counts times the matrix."""
        return times_along(table, self.matrix.sparse, self.place)

    def backward(self, table: FloatArray) -> FloatArray:
        """The matrix times values of released cells."""
        return times_along(table, self.matrix.sparse.T, self.place)

    def squared(self, table: FloatArray) -> FloatArray:
        """Counts times the squared matrix."""
        return times_along(table, self.matrix.sparse.power(2), self.place)

    def solve(self, table: FloatArray) -> FloatArray:
        """Counts times merged columns of the inverse."""
        return times_along(table, self._merged.inverse, self.place)

    def spread(self, table: FloatArray) -> FloatArray:
        """Counts times merged columns of the inverse, squared."""
        return times_along(table, self._merged.squares, self.place)

    def cross(self, table: FloatArray) -> FloatArray:
        """Merged columns times their sum over all groups."""
        return times_along(table, self._merged.crossed, self.place)

    def gross(self, table: FloatArray) -> FloatArray:
        """That sum squared."""
        shape = [1] * table.ndim
        shape[self.place] = -1
        return sum_along(table * (self._merged.sums**2).reshape(shape), self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """Merged rows of the inverse."""
        return times_along(table, self._merged.turned, self.place)

    def expects(self, before: Expected) -> Expected:
        """Times what one record counts here; a stranger differs in this axis or in another one."""
        return expected_along(self._merged.expected, self.place, before)

    @cached_property
    def _merged(self) -> _Merged:
        return _Merged.of(self.matrix, self.axis)


class Channel(Protocol):
    """What happens along one axis of a table."""

    @property
    def place(self) -> int:
        """The axis."""

    def forward(self, table: FloatArray) -> FloatArray:
        """Expected released counts from true counts."""

    def backward(self, table: FloatArray) -> FloatArray:
        """The adjoint of ``forward``."""

    def solve(self, table: FloatArray) -> FloatArray:
        """Unbiased true counts of the groups."""

    def spread(self, table: FloatArray) -> FloatArray:
        """Counts times the squared entries of what ``solve`` applies."""

    def cross(self, table: FloatArray) -> FloatArray:
        """Counts times entries of what ``solve`` applies times their sum over all groups."""

    def gross(self, table: FloatArray) -> FloatArray:
        """Counts times that sum squared, on an axis of length 1."""

    def adjoint(self, table: FloatArray) -> FloatArray:
        """What each released value counts, from what each group does."""

    def squared(self, table: FloatArray) -> FloatArray:
        """True counts times the squared entries of the matrix."""

    def expects(self, before: Expected) -> Expected:
        """What one record is expected to count, squared, for its own group and for others.

        Tables are alike along an axis that was not undone yet.
        """


@dataclass(frozen=True)
class Same:
    """A column that was released as it is: positions are only merged or left out."""

    place: int
    axis: Axis

    def forward(self, table: FloatArray) -> FloatArray:
        """Nothing happens."""
        return table

    backward = squared = forward

    def solve(self, table: FloatArray) -> FloatArray:
        """Merge into groups."""
        return table if self.axis.whole else times_along(table, self.axis.membership, self.place)

    spread = cross = solve  # the entries are 0 and 1, one to a row

    def gross(self, table: FloatArray) -> FloatArray:
        """The sum of what is not left out."""
        return sum_along(self.solve(table), self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """A value counts what its group does."""
        return table if self.axis.whole else times_along(table, self.axis.membership.T, self.place)

    def expects(self, before: Expected) -> Expected:
        """Who differs here is known to, and counts nothing: of the members of each group."""
        if self.axis.whole:
            return before
        most, least, outside, any_one = before
        return (
            self._among(np.maximum, most, 0.0),
            self._among(np.minimum, least, np.inf),
            self._among(np.maximum, outside, 0.0),
            self._among(np.minimum, any_one, np.inf),
        )

    def _among(self, worst: np.ufunc, table: FloatArray, start: float) -> FloatArray:
        moved, groups = np.moveaxis(table, self.place, 0), np.array(self.axis.groups)
        found = np.full((max(len(self.axis.group_cells), 1), *moved.shape[1:]), start)
        worst.at(found, groups[groups >= 0], moved[groups >= 0])
        return np.moveaxis(found, 0, self.place)


@dataclass(frozen=True)
class General:
    """Any matrix."""

    place: int
    axis: Axis
    matrix: TransitionMatrix

    def forward(self, table: FloatArray) -> FloatArray:
        """Counts times the matrix."""
        return self.matrix.apply(table, axis=self.place)

    def backward(self, table: FloatArray) -> FloatArray:
        """The matrix times values of released cells."""
        return times_along(table, self._transposed, self.place)

    def squared(self, table: FloatArray) -> FloatArray:
        """Counts times the squared matrix."""
        return times_along(table, self._squares, self.place)

    def solve(self, table: FloatArray) -> FloatArray:
        """Counts times the inverse, then merged."""
        found = self.matrix.solve(table, axis=self.place)
        return found if self.axis.whole else times_along(found, self.axis.membership, self.place)

    def spread(self, table: FloatArray) -> FloatArray:
        """Merged columns of the inverse, squared."""
        if self.axis.whole:
            return self.matrix.spread(table, axis=self.place)
        return times_along(table, self._merged**2, self.place)

    @cached_property
    def _transposed(self) -> FloatArray:
        matrix = self.matrix
        return matrix.sparse.T if isinstance(matrix, SparseRows) else matrix.values.T

    @cached_property
    def _squares(self) -> FloatArray:
        matrix = self.matrix
        return matrix.sparse.power(2) if isinstance(matrix, SparseRows) else matrix.values**2

    def cross(self, table: FloatArray) -> FloatArray:
        """Rows of a whole inverse sum to 1."""
        if self.axis.whole:
            return self.solve(table)
        return times_along(
            table, self._merged * self._merged.sum(axis=1, keepdims=True), self.place
        )

    def gross(self, table: FloatArray) -> FloatArray:
        """Rows of a whole inverse sum to 1."""
        if self.axis.whole:
            return sum_along(table, self.place)
        return times_along(table, self._merged.sum(axis=1, keepdims=True) ** 2, self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """Merged rows of the inverse."""
        return times_along(table, self._merged.T, self.place)

    def expects(self, before: Expected) -> Expected:
        """Times what one record counts here; a stranger differs in this axis or in another one."""
        return expected_along(self._expected, self.place, before)

    @cached_property
    def _expected(self) -> Expected:
        """By group."""
        if self.axis.whole:
            return self.matrix.expected_spread
        found, member = self.matrix.values @ self._merged**2, self.axis.membership > 0
        most, least = (np.where(own, -np.inf, found).max(axis=0) for own in (~member, member))
        return (
            most,
            np.where(member, found, np.inf).min(axis=0),
            least,
            np.where(member, np.inf, found).min(axis=0),
        )

    @cached_property
    def _merged(self) -> FloatArray:
        return self.matrix.inverse @ self.axis.membership


@dataclass(frozen=True)
class UniformChannel(General):
    """A uniform mixture: everything takes time linear in the table."""

    matrix: UniformMixture

    @cached_property
    def _entries(self) -> tuple[float, float, float]:
        """Retention, weight of every other value, and the smallest entry of the inverse."""
        kept = float(self.matrix.retention)
        return kept, (1 - kept) / self.matrix.size, float(self.matrix.inverse[0, -1])

    def forward(self, table: FloatArray) -> FloatArray:
        """Keep a part, spread the rest evenly."""
        kept, other, _ = self._entries
        return sum_along(table, self.place) * other + kept * table

    backward = forward  # the matrix is symmetric

    def squared(self, table: FloatArray) -> FloatArray:
        """The same with squared entries."""
        kept, other, _ = self._entries
        own = (kept + other) ** 2 - other**2
        return sum_along(table, self.place) * other**2 + own * table

    def solve(self, table: FloatArray) -> FloatArray:
        """By the closed form of the inverse, or its merged columns."""
        if self.axis.whole:
            return self.matrix.solve(table, axis=self.place)
        return times_along(table, self._merged, self.place)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """The inverse is symmetric."""
        if self.axis.whole:
            return self.matrix.solve(table, axis=self.place)
        return times_along(table, self._merged.T, self.place)

    @cached_property
    def _expected(self) -> Expected:
        kept, other, rest = self._entries
        sizes = self.axis.membership.sum(axis=0)
        inside, outside = 1 / kept + rest * sizes, rest * sizes
        more, others = inside**2 - outside**2, sizes < self.axis.size
        own = (kept + other * sizes) * more + outside**2
        strangers = other * sizes * more + outside**2
        return own, own, np.where(others, strangers, -np.inf), np.where(others, strangers, np.inf)

    @cached_property
    def _merged(self) -> FloatArray:
        # Rows of the inverse are same - rest on the diagonal plus rest everywhere.
        member, rest = self.axis.membership, self._entries[2]
        merged: FloatArray = member / self._entries[0] + rest * member.sum(axis=0)
        return merged


@dataclass(frozen=True)
class Stratified:
    """One matrix for each stratum: the strata are axes of the table, released as they are."""

    place: int
    axis: Axis
    parts: tuple[tuple[tuple[int | slice, ...], Channel], ...]

    def forward(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("forward", table)

    def backward(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("backward", table)

    def squared(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("squared", table)

    def solve(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("solve", table)

    def spread(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("spread", table)

    def cross(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("cross", table)

    def gross(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum."""
        return self._each("gross", table)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """Stratum by stratum; of strata without a matrix there are no records."""
        return self._apart("adjoint", table)

    def expects(self, before: Expected) -> Expected:
        """Stratum by stratum."""
        most, least, outside, any_one = before
        found = [
            (at, channel.expects((most[at], least[at], outside[at], any_one[at])))
            for at, channel in self.parts
        ]
        parts = ([(at, own[part]) for at, own in found] for part in range(4))
        one, two, three, four = (self._whole(results, most.shape) for results in parts)
        return one, two, three, four

    def _each(self, verb: str, table: FloatArray) -> FloatArray:
        known = sum(float(np.abs(table[index]).sum()) for index, _ in self.parts)
        if known < (1 - 1e-9) * float(np.abs(table).sum()):
            raise NotCovered(
                f"Some released records of {', '.join(self.axis.columns)} stand in strata for "
                "which the certificate has no matrix. Filter on the strata that it has."
            )
        return self._apart(verb, table)

    def _apart(self, verb: str, table: FloatArray) -> FloatArray:
        results = [(index, getattr(channel, verb)(table[index])) for index, channel in self.parts]
        return self._whole(results, table.shape)

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


@dataclass(frozen=True)
class Channels:
    """All channels of a table."""

    layout: Layout

    @cached_property
    def each(self) -> tuple[Channel, ...]:
        """One channel an axis."""
        return tuple(_channel(place, self.layout) for place in range(len(self.layout.axes)))

    @property
    def randomised(self) -> bool:
        """Whether any axis was randomised at all."""
        return any(not isinstance(channel, Same) for channel in self.each)

    def closure(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The axes at ``places`` and those on which their matrices depend, in order."""
        axes = self.layout.axes
        steps = [axes[place].step for place in places]
        strata = {name for step in steps if step is not None for name in step.strata}
        more = {place for place, axis in enumerate(axes) if strata.intersection(axis.columns)}
        return tuple(sorted({*places, *more}))

    def forward(self, table: FloatArray) -> FloatArray:
        """Expected released counts from true counts."""
        for channel in self.each:
            table = channel.forward(table)
        return table

    def backward(self, table: FloatArray) -> FloatArray:
        """The adjoint of ``forward``."""
        for channel in self.each:
            table = channel.backward(table)
        return table

    def squared(self, table: FloatArray) -> FloatArray:
        """True counts times the squared probabilities of what they are released as."""
        for channel in self.each:
            table = channel.squared(table)
        return table

    def solve(self, table: FloatArray) -> FloatArray:
        """Unbiased true counts of the groups [Cator, eq. 4]."""
        return self._grouped("solve", table)

    def spread(self, table: FloatArray) -> FloatArray:
        """Counts times the squared entries of what ``solve`` applies."""
        return self._grouped("spread", table)

    def cross(self, table: FloatArray) -> FloatArray:
        """What makes the covariance of each group with the total of all groups."""
        return self._grouped("cross", table)

    def gross(self, table: FloatArray) -> FloatArray:
        """What makes the variance of the total of all groups: one number."""
        return self._grouped("gross", table)

    def adjoint(self, table: FloatArray) -> FloatArray:
        """What each released cell counts towards a sum of groups: the adjoint of ``solve``."""
        early = [channel for channel in self.each if isinstance(channel, Same)]
        for channel in [*early, *(c for c in self.each if c not in early)]:
            table = channel.adjoint(table)
        return table

    @property
    def one_more(self) -> tuple[FloatArray, FloatArray]:
        """What one more true record of a group adds to its variance at most, and one fewer.

        How many there are is known, so that one more is in the place of a stranger, and the other
        way round.
        """
        most, least, outside, any_one = self._expected
        return np.maximum(most - 1 - any_one, 0), outside - (least - 1)

    def least_variance(self, squares: FloatArray) -> FloatArray:
        """What no variance is below, whatever the truth, of records with such squared weights.

        Each of them adds what one of the group does, or a stranger, and those who differ in a
        column that was released as it is add nothing.
        """
        _, least, _, any_one = self._expected
        each = np.maximum(np.minimum(least - 1, any_one), 0)
        return np.where(np.isfinite(each), each, 0.0) * self.known(squares)

    def known(self, table: FloatArray) -> FloatArray:
        """For each group the sum over all that it cannot be told apart from.

        They agree in the columns that were released as they are, also where a filter is on these.
        """
        for channel in self.each:
            if not isinstance(channel, Same):
                table = sum_along(table, channel.place)
        for channel in self.each:
            table = channel.solve(table) if isinstance(channel, Same) else table
        return np.broadcast_to(table, self.layout.grouped_shape)

    @cached_property
    def _expected(self) -> Expected:
        ones = np.broadcast_to(1.0, self.layout.shape)
        expected: Expected = (ones, ones, np.broadcast_to(0.0, ones.shape), ones)
        for channel in self._late_kept:
            expected = channel.expects(expected)
        return expected

    def merge(self, table: FloatArray) -> FloatArray:
        """True counts merged into groups."""
        for place, axis in enumerate(self.layout.axes):
            if not axis.whole:
                table = times_along(table, axis.membership, place)
        return table

    def _grouped(self, verb: str, table: FloatArray) -> FloatArray:
        for channel in self._late_kept:
            table = getattr(channel, verb)(table)
        return table

    @cached_property
    def _late_kept(self) -> list[Channel]:
        """Strata must still stand apart when the axes that depend on them are undone."""
        late = [channel for channel in self.each if isinstance(channel, Same)]
        return [*(c for c in self.each if c not in late), *late]


def _channel(place: int, layout: Layout) -> Channel:
    axis = layout.axes[place]
    if axis.step is None:
        return Same(place, axis)
    if axis.step.matrix is not None:
        return channel_of(place, axis, axis.step.matrix)
    return _stratified(place, layout)


def channel_of(place: int, axis: Axis, matrix: TransitionMatrix) -> Channel:
    """What one matrix does along an axis."""
    if isinstance(matrix, UniformMixture):
        return UniformChannel(place, axis, matrix)
    if isinstance(matrix, SparseRows) and has_sparse_inverse(matrix):
        return Sparse(place, axis, matrix)
    return General(place, axis, matrix)


def _stratified(place: int, layout: Layout) -> Stratified:
    axis = layout.axes[place]
    assert axis.step is not None  # noqa: S101 - for the type checker
    where = [_place_of(name, layout.axes) for name in axis.step.strata]
    codes = [
        {cell[0]: code for code, cell in enumerate(layout.axes[stratum].cells)} for stratum in where
    ]
    parts = []
    for labels, matrix in axis.step.by_stratum.items():
        # A slice of one keeps the axis, so that every channel finds its place.
        index: list[int | slice] = [slice(None)] * len(layout.axes)
        for stratum, known, label in zip(where, codes, labels, strict=True):
            index[stratum] = slice(known[label], known[label] + 1)
        parts.append((tuple(index), channel_of(place, axis, matrix)))
    return Stratified(place, axis, tuple(parts))


def _place_of(name: str, axes: Sequence[Axis]) -> int:
    for place, axis in enumerate(axes):
        if axis.columns == (name,) and axis.step is None:
            return place
    raise NotCovered(
        f"The matrix depends on '{name}', which was itself randomised: there is no estimate "
        "of what it was. Release strata as they are.",
        column=name,
    )
