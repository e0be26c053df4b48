"""Method ``shuffled-marginals``: each record answers every table, each in a separate round.

Each round is shuffled separately, so that the answers of one person in two rounds cannot be linked
[docs/proofs/shuffled_marginals.md]. A round then reveals only the count of each cell of its table,
and the release consists of these counts. The guarantee is the central one, composed
over all rounds from the integers of their matrices.

With gamma_S the ratio of the uniform mixture on the D_S cells of a table S, a round has about the
privacy loss of Gaussian noise with variance V_S / n, V_S = 2 (gamma_S - 1)^2 / (gamma_S + D_S - 1).
The sum of V_S is the budget. The sum of errors w_S sqrt(D_S) sd_S is least if V_S is proportional
to (w_S D_S)^(2/3), as sd_S is proportional to sqrt(D_S / V_S).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from pramana.base.randomness import Keystream
from pramana.base.rounding import TOTAL, root_between
from pramana.base.text import listed, records_that
from pramana.engine.base import Table, engine_of
from pramana.errors import Infeasible, InvalidSchema, OutsideDomain
from pramana.guarantees.base import Guarantee
from pramana.guarantees.shuffled_privacy import ShuffledPrivacy, usual_delta
from pramana.mechanisms.mechanism import AttributeSet, ShuffledRounds, table_of_rounds
from pramana.mechanisms.randomiser import Randomiser
from pramana.mechanisms.sampler import draw_rounds
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.attribute_sampling import (
    NEARLY,
    AttributeSampling,
    Set,
    SetCells,
    require_sampled,
)
from pramana.methods.base import single_target
from pramana.methods.context import (
    DesignContext,
    counting_refusals,
    plan_for_table,
    unattainable,
)
from pramana.methods.expected_error import ExpectedError, likely_shares
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.codec import encode
from pramana.schema.domains import Labels
from pramana.schema.joint_cells import cell_codes, cell_numbers
from pramana.schema.opened_table import OpenedTable
from pramana.schema.roles import Role
from pramana.schema.schema import COUNT, REPORTED, Column, Schema, require_domains, require_keys
from pramana.types import FloatArray, IntArray

EXPONENT = 2 / 3
"""V_S goes with this power of w_S D_S."""

CLOSE = 2e-3
"""A design ends when the epsilon attained is below the target by less than this share."""

LABELS = {
    REPORTED: "columns of the table of this cell; other columns are empty",
    COUNT: "number of people in this cell after randomisation",
}


@dataclass(frozen=True)
class ShuffledMarginals(AttributeSampling):
    """Everybody answers every table, each in a round that is shuffled by itself.

    Attributes:
        tables: the tables of interest, asked in addition to all single columns; by default the
            tables of the schema, or all pairs of columns.
    """

    name: ClassVar[str] = "shuffled-marginals"
    when: ClassVar[str] = (
        "The target is a central epsilon, and you need tables, models or synthetic records. The "
        "most precise method; it releases counts and no records."
    )
    aims = ("shuffled-privacy",)
    kind: ClassVar[str] = "shuffled-marginals"
    instead: ClassVar[str] = "releases counts of tables, each shuffled separately"

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """The ratio of each round, at the largest budget that meets the target."""
        target = single_target(asked, ShuffledPrivacy, method=self.name)
        schema, records = context.schema, context.records
        require_keys(schema)
        require_domains(schema)
        require_sampled(schema)
        if COUNT in schema.names:
            raise InvalidSchema(
                "Counts are released in a column '{count}', and the table has one too. Rename it.",
                count=COUNT,
            )
        unchanged = [column.name for column in schema.released_as_is]
        if unchanged:
            raise Infeasible(
                "Method {name} releases counts of randomised columns and no records: "
                "{unchanged} cannot be released unchanged. Make them keys, drop them "
                '(role = "identifier" in the schema), or choose another method.',
                name=self.name,
                unchanged=listed(unchanged),
            )
        cells, weights = SetCells(schema), self._rounds(schema)
        delta = usual_delta(records) if target.delta is None else target.delta
        if delta == 0 or records < 2:
            raise Infeasible(
                "Method {name} needs a delta above 0, and 2 records or more.", name=self.name
            )

        def made(budget: float, trim: float = 0.0) -> ShuffledRounds:
            ratios = ratios_of([cells.count(table) for table in weights], weights.values(), budget)
            return _mechanism(zip(weights, 1 + (ratios - 1) * (1 - trim), strict=True), cells)

        def attained(budget: float) -> float:
            mechanism = made(budget)
            if mechanism.gamma == 1:
                raise unattainable(target)
            return ShuffledPrivacy.of(
                mechanism, anonymity_set=records, delta=delta, most=target.epsilon
            ).epsilon

        budget = largest_budget(attained, target.epsilon, records, delta)
        mechanism, reached = context.within(asked, lambda trim: made(budget, trim))
        stated = tuple(self._stated(schema))
        return context.plan(
            replace(self, tables=self.tables or schema.tables),
            mechanism,
            asked,
            reached,
            expected_error=expected_error(mechanism, schema, records, stated),
            statistics={
                "rounds": [
                    {
                        "columns": list(one.columns),
                        "cells": one.matrix.size,
                        "retention": float(one.matrix.retention),
                    }
                    for one in mechanism.sets
                ]
            },
        )

    def _rounds(self, schema: Schema) -> dict[Set, float]:
        """All rounds with their weights: single columns, and the tables wanted."""
        weights: dict[Set, float] = {(column.name,): 1.0 for column in schema.randomised}
        for table, weight in self._wanted(schema).items():
            weights[table] = weight if len(table) > 1 else max(weight, 1.0)
        return weights

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """The counts of all rounds, drawn from the true counts."""
        from pramana.engine.local import LocalTable

        context = DesignContext.of(plan.schema, opened)
        plan = plan_for_table(plan, context, seeded=keystream.reproducible)
        assert isinstance(plan.mechanism, ShuffledRounds)  # noqa: S101 - design made it
        with counting_refusals(plan.schema, opened):
            true = true_counts(plan.schema, plan.mechanism, opened, keystream)
        others = [one.matrix.other for one in plan.mechanism.sets]
        counts = np.concatenate(draw_rounds(true, others, keystream))
        table = table_of_rounds(plan.schema, plan.mechanism)
        return LocalTable.of(table.append_column(COUNT, pa.array(counts, pa.int64()))), plan

    @classmethod
    def published_labels(cls, labels: Labels) -> Labels:
        """The labels of the table, and those of the columns that name the round and its counts."""
        return replace(labels, variables={**labels.variables, **LABELS})

    def published_schema(self, schema: Schema) -> Schema:
        """The randomised columns, the name of the round, and the count."""
        schema = super().published_schema(schema)
        count = Column(COUNT, Role.SENSITIVE, missing="refuse")
        return replace(schema, columns=(*schema.columns, count))

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> ExpectedError | None:
        """The expected error of the published rounds."""
        mechanism, schema = certificate.mechanism, certificate.true_schema
        if not isinstance(mechanism, ShuffledRounds):
            return None
        stated = tuple(cls._listed(certificate)._stated(schema))
        return expected_error(mechanism, schema, certificate.records, stated)

    @classmethod
    def reproduces_matrices(cls, certificate: Certificate) -> bool | None:
        """Whether the published tables, or all pairs, lead to these rounds and shares of budget."""
        mechanism = certificate.mechanism
        if not isinstance(mechanism, ShuffledRounds):
            return None
        method = cls(tables=cls._listed(certificate).tables)
        weights = method._rounds(certificate.true_schema)
        if [one.columns for one in mechanism.sets] != list(weights):
            return False
        sizes = np.array([one.matrix.size for one in mechanism.sets])
        spent = np.array([_variance(one.matrix) for one in mechanism.sets])
        share = spent / _shares(sizes, weights.values())
        return bool(np.ptp(share[sizes > 1]) <= NEARLY * share.max())


# -- the budget ------------------------------------------------------------------------------------


def gaussian_variance(epsilon: float, delta: float) -> float:
    """The variance of the privacy loss of Gaussian noise with this epsilon and delta.

    >>> round(gaussian_variance(1.0, 1e-6) ** 0.5, 4)
    0.2367
    """
    from scipy.special import log_ndtr

    def above(log_mu: float) -> float:
        mu = math.exp(log_mu)
        first, second = log_ndtr(-epsilon / mu + mu / 2), log_ndtr(-epsilon / mu - mu / 2)
        rest = -math.expm1(min(epsilon + second - first, -1e-15))
        return float(first + math.log(rest)) - math.log(delta)

    return math.exp(2 * root_between(above, -20, 7))


def largest_budget(
    attained: Callable[[float], float], target: float, records: int, delta: float
) -> float:
    """A budget whose epsilon is at or just below the target.

    Of many records epsilon follows from the budget as for Gaussian noise, so that a step or two
    suffice. Of few, steps are kept between budgets that are too small and too large.
    """
    goal = gaussian_variance((1 - CLOSE / 2) * target, delta)
    low, high, budget = 0.0, math.inf, records * goal
    for turn in range(60):
        epsilon = attained(budget)
        if (1 - CLOSE) * target <= epsilon <= target:
            return budget
        low, high = (budget, high) if epsilon < target else (low, budget)
        budget *= goal / gaussian_variance(epsilon, delta)
        if not low < budget < high or turn % 3 == 2:
            middle = math.sqrt(low * high) if high < math.inf else 4 * low
            budget = middle or high / 4
    return low


def ratios_of(sizes: Sequence[int], weights: Iterable[float], budget: float) -> FloatArray:
    """The gamma of each round, so that all V sum to the budget: t^2 = V (t + D) / 2, t = gamma - 1.

    >>> ratios = ratios_of([2, 6], [1, 1], 10)
    >>> sum(2 * (r - 1) ** 2 / (r + d - 1) for r, d in zip(ratios, [2, 6])).round(9)
    np.float64(10.0)
    """
    shares = _shares(np.asarray(sizes), weights)
    budgets = budget * shares / shares.sum()
    gamma: FloatArray = 1 + budgets / 4 + np.sqrt(budgets**2 / 16 + budgets * np.asarray(sizes) / 2)
    return gamma


def _shares(sizes: IntArray, weights: Iterable[float]) -> FloatArray:
    values: FloatArray = (np.fromiter(weights, dtype=np.float64) * sizes) ** EXPONENT
    return values


def _variance(matrix: UniformMixture) -> float:
    """V of a round."""
    gamma = float(matrix.gamma)
    return 2 * (gamma - 1) ** 2 / (gamma + matrix.size - 1)


def _mechanism(rounds: Iterable[tuple[Set, float]], cells: SetCells) -> ShuffledRounds:
    return ShuffledRounds(
        sets=tuple(
            AttributeSet(columns, TOTAL, UniformMixture.of(cells.labels(columns), gamma=ratio))
            for columns, ratio in rounds
        )
    )


# -- the expected error ----------------------------------------------------------------------------


def expected_error(
    mechanism: ShuffledRounds, schema: Schema, records: int, stated: Sequence[Set]
) -> ExpectedError:
    """The errors of single columns and of all tables that some round contains.

    A table T is put together from its effects U, each from every round that contains U, weighted by
    its information p^2 / (1 - p). Let I_U be the information of all these rounds. An answer x of a
    round that shares the columns R with T then counts, in a cell t of T,

        h(x) = p^2 / (1 - p) sum_U prod_U (1[x_a = t_a] - 1 / D_a) / (I_U prod_(T - U) D_a)

    over the effects U of R, and adds (1 - p) / p (E h^2 + mean(h^2) / p) to the variance. The last
    terms sum to rank(U) / (I_U D_T^2) over the effects. Shares of cells are taken to be as uneven
    as usual, and those of the other cells as even.
    """
    sizes = {column.name: len(column.labels) for column in schema.randomised}
    cells = {round_.columns: round_.matrix.size for round_ in mechanism.sets}
    information: dict[frozenset[str], float] = {}
    kept: dict[frozenset[str], float] = {}
    for round_ in mechanism.sets:
        rate = float(round_.matrix.retention)
        for effect in map(frozenset, _effects(round_.columns)):
            information[effect] = information.get(effect, 0.0) + rate**2 / (1 - rate)
            kept[effect] = kept.get(effect, 0.0) + rate**3 / (1 - rate)
    errors = {}
    for table in dict.fromkeys([*cells, *itertools.combinations(sizes, 2), *stated]):
        if frozenset(table) not in information:
            continue
        count = cells.get(table) or math.prod(sizes[name] for name in table)
        sizes_here = {name: sizes[name] for name in table}
        noise, member, other = _squares(sizes_here, information, kept)
        shares = likely_shares(1 / count)
        deviation = float(np.sqrt(noise + shares * member + (1 - shares) * other).mean())
        errors[table] = count * deviation * math.sqrt(2 / math.pi / records)
    return ExpectedError(tuple(errors.items()), tuple(t for t in stated if t in errors))


def _squares(
    sizes: Mapping[str, int],
    information: Mapping[frozenset[str], float],
    kept: Mapping[frozenset[str], float],
) -> tuple[float, float, float]:
    """The variance of a cell by noise, and by each record inside it and outside, on average."""
    table, whole = tuple(sizes), math.prod(sizes.values())
    noise = sum(
        math.prod(sizes[name] - 1 for name in effect) / information[frozenset(effect)]
        for effect in _effects(table)
    )
    added = dict.fromkeys(((), *_effects(table)), 0.0)
    for columns in _effects(table):
        # p^3 / (1 - p) of the rounds that hold these columns of the table and no other one
        alone = sum(
            (-1) ** (len(more) - len(columns)) * kept[frozenset(more)]
            for more in _effects(table)
            if set(columns) <= set(more)
        )
        for agreeing in added:
            counted = sum(
                math.prod(sizes[name] * (name in agreeing) - 1 for name in effect)
                / information[frozenset(effect)]
                for effect in _effects(columns)
            )
            added[agreeing] += alone * (counted / whole) ** 2
    member = added.pop(table)
    cells = {
        agreeing: math.prod(n - 1 for a, n in sizes.items() if a not in agreeing)
        for agreeing in added
    }
    other = sum(cells[agreeing] * square for agreeing, square in added.items()) / max(whole - 1, 1)
    return noise / whole**2, member, other


def _effects(table: Set) -> Iterator[Set]:
    """All non-empty subsets of the columns of a table."""
    for size in range(1, len(table) + 1):
        yield from itertools.combinations(table, size)


# -- the counts ------------------------------------------------------------------------------------


def true_counts(
    schema: Schema, mechanism: ShuffledRounds, opened: OpenedTable, keystream: Keystream
) -> list[IntArray]:
    """The number of records in each cell of each round, in one pass over the records.

    Numbers of a grid are rounded by chance, each once for all rounds.
    """
    names = list(mechanism.columns)
    labels = {name: schema.column(name).labels for name in names}
    wanted = tuple(
        (round_.columns, tuple(len(labels[name]) for name in round_.columns))
        for round_ in mechanism.sets
    )
    columns = tuple(schema.column(name) for name in names)
    if any(column.gridded for column in columns):
        opened = _rounded(schema, mechanism, opened, keystream)
        columns = ()
    parts = opened.summaries(partial(_counted, columns, wanted), names)
    totals = [sum(by_part) for by_part in zip(*parts, strict=True)]
    counts, impossible = [], 0
    for round_, (_, shape), total in zip(mechanism.sets, wanted, totals, strict=True):
        codes = cell_codes([labels[name] for name in round_.columns], round_.cells)
        counts.append(np.asarray(total)[cell_numbers(list(codes), shape)])
        impossible = max(impossible, int(np.sum(total) - counts[-1].sum()))
    if impossible:
        raise OutsideDomain(
            "{records} a combination that the schema calls impossible. Correct them, or drop the "
            "rule.",
            records=records_that(impossible, "holds", "hold"),
        )
    return counts


def _counted(
    columns: tuple[Column, ...],
    wanted: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...],
    batches: Iterator[pa.RecordBatch],
) -> list[IntArray]:
    """The counts of all combinations of each table, in some batches."""
    totals = [np.zeros(math.prod(shape), dtype=np.int64) for _, shape in wanted]
    for batch in batches:
        codes = {column.name: encode(column, batch.column(column.name)) for column in columns}
        if not columns:  # they are codes already
            codes = {name: batch.column(name).to_numpy() for name in batch.schema.names}
        wide = {name: values.astype(np.int64) for name, values in codes.items()}
        flat = np.empty(batch.num_rows, dtype=np.int64)
        for total, (names, shape) in zip(totals, wanted, strict=True):
            flat[:] = wide[names[0]]
            for name, size in zip(names[1:], shape[1:], strict=True):
                np.multiply(flat, size, out=flat)
                np.add(flat, wide[name], out=flat)
            total += np.bincount(flat, minlength=len(total))
    return totals


def _rounded(
    schema: Schema, mechanism: ShuffledRounds, opened: OpenedTable, keystream: Keystream
) -> OpenedTable:
    """The codes of all columns, by the words of each record."""
    randomiser = Randomiser(schema, mechanism, opened.schema, keystream)
    names = mechanism.columns

    def codes(batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        arrays = [
            pa.array(randomiser.codes(schema.column(name), batch, position).astype(np.int32))
            for name in names
        ]
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    types = pa.schema([(name, pa.int32()) for name in names])
    return engine_of(opened).map_batches(codes, schema=types).to_opened()
