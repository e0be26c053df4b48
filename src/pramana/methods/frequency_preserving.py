"""Methods ``invariant`` and ``inverse-frequency``: matrices that keep expected frequencies.

``invariant``: from a matrix P and frequencies t the two-stage matrix is R = P Q with Q the Bayes
inverse of P, Q_kj = t_j P_jk / s_k, s = t P. Its flows are symmetric,

    F_ij = t_i R_ij = t_i t_j sum_k P_ik P_jk / s_k = F_ji,

so that t R = t. Any mixture alpha R + (1 - alpha) I is invariant too; sdcMicro's pair (pd, alpha)
is that mixture, with P of diagonal pd. Unlike there, the diagonal is not drawn at random and never
falls below the minimum stated: alpha is lowered where R would.

``inverse-frequency`` [Ghatak] also bounds the probability of a correct match by xi. Three slips of
the paper are corrected: the probability in the bound is that of being turned *into* the rare value;
the block size rounds up; and the bound must hold for every value of the block. Flows may be any
symmetric table (``symmetric_flows``), which needs about a third of the changes of disjoint blocks.

Flows are rounded pair by pair so that integers over 2**64 keep t P = t exactly, and xi is checked
on these integers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pramana.base.rounding import TOTAL, coarse_up, require_number
from pramana.base.text import text_up
from pramana.errors import Infeasible, InvalidMatrix, InvalidNumber, InvalidSchema, OutsideDomain
from pramana.guarantees.base import Guarantee
from pramana.guarantees.claims import attained
from pramana.guarantees.correct_match import CorrectMatch, frequencies_by_label, kept_risk
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import SparseRows
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.methods.base import (
    Method,
    Withheld,
    option,
    published_standard_errors,
    single_target,
)
from pramana.methods.context import DesignContext
from pramana.methods.given import MATRIX_FILES, Matrices, files_of, matrices_for, read_matrices
from pramana.methods.plan import Plan
from pramana.methods.symmetric_flows import balanced, least_flows, theta_of
from pramana.release.certificate import Certificate
from pramana.schema.schema import Schema, require_keys
from pramana.types import Entries, FloatArray, IntArray, Words

if TYPE_CHECKING:
    from pramana.schema.joint_cells import Counts


Stratum = tuple[Label, ...]


@dataclass(frozen=True)
class InvariantDesign:
    """One invariant matrix, or one for each stratum; all of them are kept."""

    by_stratum: Mapping[Stratum, SparseRows] = field(repr=False)
    frequencies: Mapping[Stratum, Mapping[Label, int]] = field(repr=False)
    column: str
    strata: tuple[str, ...]

    @property
    def expected_changes(self) -> float:
        """The expected number of changed records."""
        return sum(
            float((_times(matrix.labels, self.frequencies[stratum]) * (1 - matrix.diagonal)).sum())
            for stratum, matrix in self.by_stratum.items()
        )

    @property
    def smallest_diagonal(self) -> float:
        """The least probability of a value to stay unchanged."""
        return min(float(matrix.diagonal.min()) for matrix in self.by_stratum.values())

    @property
    def matrix(self) -> SparseRows:
        """The matrix, where there are no strata."""
        if self.strata:
            raise InvalidSchema(
                f"'{self.column}' has a matrix for each of {len(self.by_stratum)} strata. "
                "Use by_stratum.",
                column=self.column,
            )
        return self.by_stratum[()]

    @property
    def step(self) -> Step:
        """The step of a mechanism."""
        if self.strata:
            return Step((self.column,), strata=self.strata, by_stratum=dict(self.by_stratum))
        return Step((self.column,), self.matrix)

    def variances(self) -> list[float]:
        """The variance of each released frequency over all strata."""
        by_stratum = (
            released_variances(matrix, self.frequencies[stratum])
            for stratum, matrix in self.by_stratum.items()
        )
        return list(np.sum(list(by_stratum), axis=0))


def invariant_design(
    frequencies: Mapping[Label, int] | Counts,
    *,
    matrix: TransitionMatrix | None = None,
    pd: float | None = None,
    alpha: float = 1.0,
    strata: Sequence[str] = (),
    exempt: Collection[Label] = (),
    column: str | None = None,
) -> InvariantDesign:
    """The two-stage invariant matrix for a column, in each stratum.

    Args:
        frequencies: of the column; or counts that hold the column and its strata.
        matrix: where to start from.
        pd: instead of a matrix: its diagonal, as in sdcMicro; no entry of the diagonal of the
            result falls below it.
        alpha: the share of the two-stage matrix in the mixture with the identity.
        strata: the columns whose values have a matrix each.
        exempt: values that stay unchanged, and that no other value becomes.
        column: the column, where the counts hold several.
    """
    require_number("alpha", alpha, low=0, high=1)
    if (matrix is None) == (pd is None):
        raise InvalidNumber("Give a matrix or pd, and not both.")
    stays = 0.0 if pd is None else float(pd)
    require_number("pd", stays, low=0, high=1)
    name, labels, tables = _tables(frequencies, tuple(strata), column)
    if matrix is not None and set(labels) - set(matrix.labels):
        raise OutsideDomain(
            f"The matrix on '{name}' must have a row for every value that occurs.", column=name
        )
    if matrix is None:
        P = np.full((len(labels), len(labels)), (1 - stays) / (len(labels) - 1))
        np.fill_diagonal(P, stays)
    else:
        labels, P = matrix.labels, matrix.values
    by_stratum = {
        stratum: _invariant(
            labels,
            P,
            {label: number for label, number in times.items() if label not in exempt},
            alpha=alpha,
            minimum=stays,
            name=name,
        )
        for stratum, times in tables.items()
    }
    return InvariantDesign(by_stratum, tables, name, tuple(strata))


def _refuse_rules(schema: Schema, method: str) -> None:
    if schema.impossible:
        raise InvalidSchema(
            f"Method {method} moves one column at a time, so it cannot rule out impossible "
            "combinations. Drop the rules, or use another method."
        )


def _times(labels: tuple[Label, ...], frequencies: Mapping[Label, int]) -> FloatArray:
    return np.array([frequencies.get(label, 0) for label in labels], dtype=np.float64)


def released_variances(matrix: SparseRows, frequencies: Mapping[Label, int]) -> FloatArray:
    """The variance of each released frequency: sum_i t_i P_ij (1 - P_ij)."""
    entries = matrix.sparse.tocoo()
    times = _times(matrix.labels, frequencies)
    spread = times[entries.row] * entries.data * (1 - entries.data)
    return np.bincount(entries.col, spread, matrix.size).astype(np.float64)


def _tables(
    frequencies: Mapping[Label, int] | Counts, strata: tuple[str, ...], column: str | None
) -> tuple[str, tuple[Label, ...], dict[Stratum, dict[Label, int]]]:
    """The name of the column, its labels, and its frequencies in each stratum."""
    tables: dict[Stratum, dict[Label, int]] = {}
    if isinstance(frequencies, Mapping):
        if strata:
            raise InvalidNumber("Strata need counts that name columns.")
        times = {label: int(number) for label, number in frequencies.items()}
        if any(number < 0 or number != frequencies[label] for label, number in times.items()):
            raise InvalidNumber("Frequencies must be whole numbers at or above 0.")
        name, labels, tables[()] = column or "the column", tuple(times), times
    else:
        rest = [other for other in frequencies.columns if other not in strata]
        if column is None and len(rest) != 1:
            raise InvalidNumber(f"Name the column: the counts hold {', '.join(rest) or 'none'}.")
        name = column if column is not None else rest[0]
        joint = frequencies.margin(*strata, name)
        labels = joint.labels[-1]
        for cell, number in zip(joint.cells.tolist(), joint.numbers.tolist(), strict=True):
            values = tuple(part[code] for part, code in zip(joint.labels, cell, strict=True))
            tables.setdefault(values[:-1], {})[values[-1]] = number
    _require_two(len(labels), f"'{name}'")
    return name, labels, tables


def _require_two(categories: int, column: str) -> None:
    if categories < 2:
        raise InvalidSchema(
            f"A design for {column} needs at least two categories to exchange, got {categories}. "
            "Leave the column out, or declare its other categories.",
            column=column.strip("'"),
        )


def _invariant(
    labels: tuple[Label, ...],
    P: FloatArray,
    frequencies: Mapping[Label, int],
    *,
    alpha: float,
    minimum: float,
    name: str,
) -> SparseRows:
    """The matrix of one stratum."""
    times = [int(frequencies.get(label, 0)) for label in labels]
    t = np.array(times, dtype=np.float64)
    # t_i R_ij, symmetric by construction
    released = t @ P
    roots = np.divide(1.0, np.sqrt(released), out=np.zeros(len(t)), where=released > 0)
    half = t[:, None] * P * roots[None, :]
    flows = half @ half.T
    flows = (flows + flows.T) / 2
    np.fill_diagonal(flows, 0)  # staying is no transition, and nothing rules it out
    filled = int(np.count_nonzero((P == 0) & (flows > 0)))
    if filled:
        raise InvalidMatrix(
            f"The two-stage matrix on '{name}' would fill {filled} transitions that the given "
            "matrix rules out. Give one without zeros.",
            column=name,
        )
    leaving = np.divide(flows.sum(axis=1), t, out=np.zeros(len(t)), where=t > 0).max(initial=0.0)
    # A hair less than allowed: rounding must not push a diagonal entry below the minimum.
    allowed = (1 - minimum) * (1 - 1e-14)
    share = alpha if alpha * leaving <= allowed else allowed / leaving
    i, j = np.nonzero(np.triu(flows, 1))
    rows, columns, moves = balanced(times, i, j, share * flows[i, j])
    return SparseRows.from_moves(labels, rows=rows, columns=columns, moves=moves)


@dataclass(frozen=True)
class Invariant(Withheld):
    """Matrices that leave expected frequencies unchanged, column by column and in each stratum.

    They are withheld: the frequencies that a matrix leaves unchanged could be read off it. The
    method aims at no guarantee; those asked are checked in the end.

    Attributes:
        stay: the least probability that a value stays unchanged (sdcMicro: pd).
        mixture: the share of the two-stage matrix, the rest is the identity (sdcMicro: alpha).
        matrices: instead of ``stay``: where to start from, for each column.
    """

    stay: float | None = option(None, "Smallest probability of keeping a value (sdcMicro's pd).")
    mixture: float = option(
        1.0, "Share of the two-stage matrix; the rest is the identity (sdcMicro's alpha)."
    )
    matrices: Matrices = option(None, MATRIX_FILES, flag="--matrix", metavar="COLUMN=FILE",
                                read=files_of)  # fmt: skip

    name: ClassVar[str] = "invariant"
    when: ClassVar[str] = (
        "Released frequencies must be unbiased without correction, as with sdcMicro's pram."
    )
    aims: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrices", read_matrices(self.matrices))
        if (self.stay is None) == (not self.matrices):
            raise InvalidNumber(
                "Method invariant needs the least chance to stay (--stay), or a matrix for each "
                "column, and not both."
            )
        if self.stay is not None:
            require_number("stay", self.stay, low=0, high=1)
        require_number("mixture", self.mixture, low=0, high=1)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A matrix for each randomised column in each stratum."""
        schema = context.schema
        require_keys(schema)
        _refuse_rules(schema, self.name)
        start = matrices_for(read_matrices(self.matrices), schema) if self.matrices else {}
        designs = {
            column.name: invariant_design(
                context.counts.margin(column.name, *schema.strata),
                matrix=start.get(column.name),
                pd=self.stay,
                alpha=self.mixture,
                strata=schema.strata,
                exempt=column.fixed,
                column=column.name,
            )
            for column in schema.randomised
        }
        mechanism = Mechanism(tuple(design.step for design in designs.values()))
        return context.plan(
            self,
            mechanism,
            asked,
            attained(context.counted(mechanism), asked),
            statistics={
                "expected_changes": math.fsum(d.expected_changes for d in designs.values()),
                "smallest_diagonal": min(d.smallest_diagonal for d in designs.values()),
            },
            public=published_standard_errors(
                {name: design.variances() for name, design in designs.items()},
                # Flows are symmetric, so that the variance is at most t_j (1 - P_jj^2): this is
                # the standard error where all values are equally frequent.
                least=lambda values: math.sqrt(
                    (1 - (self.stay or 0.0) ** 2) * context.records / values
                ),
            ),
        )


ROUNDING: Final = 1e-6
"""Integers over 2**64 attain 1/n up to this share."""


@dataclass(frozen=True)
class InverseFrequencyDesign(InvariantDesign):
    """A matrix that leaves expected frequencies unchanged and bounds the correct match.

    ``theta`` is the flow that the paper's bound asks of the rarest case: the largest root of
    psi = xi over the rare values. ``least`` is a lower bound on the expected changes of all
    symmetric flows. The matrix and the frequencies are the owner's secret.
    """

    xi: float
    attained: CorrectMatch
    theta: float
    least: float

    @property
    def gap(self) -> float:
        """The share by which the expected changes may exceed the least."""
        return max(self.expected_changes / self.least - 1, 0.0) if self.least else 0.0

    @property
    def unchanged(self) -> bool:
        """Whether no record changes."""
        return len(self.matrix.moves) == 0


def block_size(frequency: int, xi: float) -> int:
    """The fewest values in a block that protects a value of this frequency [Ghatak, Table 1].

    >>> block_size(frequency=2, xi=0.1)
    6
    """
    require_number("frequency", frequency, low=1)
    require_number("xi", xi, low=0, high=1, low_open=True, high_open=True)
    theta = theta_of(frequency, 1 / xi)
    # The text says "largest integer contained in"; its table, and the theorem, need the ceiling.
    return max(2, math.ceil(frequency / (frequency - theta) * (1 - 1e-12)))


def inverse_frequency_design(
    frequencies: Mapping[Label, int] | Counts,
    *,
    xi: float,
    exempt: Collection[Label] = (),
    column: str = "the column",
) -> InverseFrequencyDesign:
    """The fewest expected changes for which no value is matched with a chance above ``xi``.

    ``exempt`` values stay unchanged.

    >>> design = inverse_frequency_design({"a": 2, "b": 205, "c": 431}, xi=0.1)
    >>> design.attained.xi <= 0.1
    True
    """
    times = _checked(frequencies, xi, column)
    groups = _groups(times, exempt)
    short = [total for total in _totals(times, groups) if total * Fraction(xi) < 1]
    if short:  # full mixing of a group of n records gives 1/n, and no symmetric flows give less
        where = "it has" if len(groups) == 1 else f"{len(short)} of {len(groups)} groups have"
        raise Infeasible(
            f"No flows on {column} give xi = {text_up(xi, 6)}: {where} fewer than "
            f"{math.ceil(1 / xi)} records; the nearest attainable is xi = 1/{min(short)} "
            f"({text_up(Fraction(1, min(short)))}). Raise xi, merge groups, exempt fewer values, "
            "or take the least attainable (--relax)."
        )
    place = {label: position for position, label in enumerate(times)}
    rows, columns, moves = [], [], []
    least = 0.0
    for members in groups:
        numbers = np.array([times[label] for label in members], dtype=np.int64)
        if not numbers.any():
            continue  # nobody is there to be matched
        positions = np.array([place[label] for label in members])
        (sources, targets, weights), bound = _group_moves(numbers, xi, column)
        rows.append(positions[sources])
        columns.append(positions[targets])
        moves.append(weights)
        least += bound
    nothing = np.zeros(0, np.int64)
    matrix = SparseRows.from_moves(
        tuple(times),
        rows=np.concatenate([nothing, *rows]),
        columns=np.concatenate([nothing, *columns]),
        moves=np.concatenate([nothing.astype(np.uint64), *moves]),
    )
    rare = [number for number in times.values() if 0 < number * xi < 1]
    return InverseFrequencyDesign(
        by_stratum={(): matrix},
        frequencies={(): times},
        column=column,
        strata=(),
        xi=xi,
        attained=CorrectMatch.of(matrix, times),
        theta=max((theta_of(number, 1 / xi) for number in rare), default=0.0),
        least=least,
    )


def _group_moves(
    times: IntArray, xi: float, column: str
) -> tuple[tuple[IntArray, IntArray, Words], float]:
    """Integer moves inside one group, and the least expected changes; full mixing if need be."""
    pairs, bound = least_flows(times, 1 / xi)
    flows = balanced(times.tolist(), *pairs, up=True)
    numbers = dict(enumerate(times.tolist()))
    for rows, columns, moves in (flows, _full_mixing(times, xi)):
        matrix = SparseRows.from_moves(tuple(numbers), rows=rows, columns=columns, moves=moves)
        if CorrectMatch.of(matrix, numbers).xi <= xi:
            return (rows, columns, moves), bound
    raise Infeasible(
        f"No flows on {column} give a correct match of at most {xi!r} in integers over 2**64. "
        "Raise xi by a millionth."
    )


def _full_mixing(times: IntArray, xi: float) -> tuple[IntArray, IntArray, Words]:
    """p_ij = T_j / n for all pairs with a rare value: the most that symmetric flows can do."""
    unit = TOTAL // int(times.sum())
    occurs = times > 0
    rare = np.array([0 < number * Fraction(xi) < 1 for number in times.tolist()])
    pairs = (rare[:, None] | rare[None, :]) & occurs[:, None] & occurs[None, :]
    rows, columns = np.nonzero(pairs & ~np.eye(len(times), dtype=bool))
    moves = np.array([int(times[j]) * unit for j in columns.tolist()], dtype=np.uint64)
    return rows, columns, moves


def _checked(frequencies: Mapping[Label, int] | Counts, xi: float, column: str) -> dict[Label, int]:
    """Whole frequencies by label; a declared value that nobody has counts 0."""
    require_number("xi", xi, low=0, high=1, low_open=True, high_open=True)
    times = frequencies_by_label(frequencies)
    if not isinstance(frequencies, Mapping) and len(frequencies.columns) == 1:
        times = {label: times.get(label, 0) for label in frequencies.labels[0]}
    if any(number != int(number) or number < 0 for number in times.values()):
        raise InvalidNumber(f"Frequencies of {column} must be whole numbers at or above 0.")
    _require_two(len(times), column)
    return {label: int(number) for label, number in times.items()}


def _totals(times: Mapping[Label, int], groups: list[list[Label]]) -> list[int]:
    """The records of each group that has some."""
    return [total for members in groups if (total := sum(times[label] for label in members)) > 0]


def _groups(times: Mapping[Label, int], exempt: Collection[Label]) -> list[list[Label]]:
    """The values that may be exchanged, and each exempt value by itself."""
    free = [label for label in times if label not in exempt]
    return [part for part in (free, *([label] for label in times if label in exempt)) if part]


@dataclass(frozen=True)
class InverseFrequency(Withheld):
    """Symmetric flows that bound the correct match [Ghatak], column by column.

    The matrices are withheld, as the paper's adversary does not know them; analysts read
    frequencies as they stand, with one coarse standard error for all values of a column, so that
    it tells little of the counts behind it.

    Attributes:
        relax: where no matrix attains xi, design for the least attainable instead. It is rounded
            up to three digits where it is 1 over all records, and else on a grid of 1, 2, 5, 10,
            so that it tells no count.
    """

    relax: bool = option(
        False, "If xi is not attainable, use the least attainable; the certificate says so."
    )

    name: ClassVar[str] = "inverse-frequency"
    when: ClassVar[str] = "Tables of single columns matter; matches by one key are rarely correct."
    aims: ClassVar[tuple[str, ...]] = ("correct-match",)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A matrix for each randomised column; refused where anything but one xi is asked."""
        schema, counts = context.schema, context.counts
        require_keys(schema)
        target = stated = single_target(asked, CorrectMatch, method=self.name)
        _refuse_rules(schema, self.name)
        frequencies = {
            column: dict(
                zip(column.labels, counts.margin(column.name).dense().tolist(), strict=True)
            )
            for column in schema.randomised
        }
        # The least xi of these records is 1 over the records of the smallest group
        kept = kept_risk(schema.known, counts, anonymity_set=context.anonymity_set)
        fewest = [context.records]
        for column, times in frequencies.items():
            fewest += _totals(times, _groups(times, column.fixed))
        least = max(kept, (1 + ROUNDING) / min(fewest))
        by_records = least * context.records <= 1 + ROUNDING
        least = float(text_up(least)) if by_records else coarse_up(least)
        relaxed = self.relax and target.xi < least < 1
        if relaxed:
            target, asked = CorrectMatch(least), (CorrectMatch(least),)
        if kept > target.xi:
            needed = 1 / target.xi if target.xi else math.inf
            raise context.too_few_records(f"{target} cannot be met.", needed, lower="raise xi")
        designs = {
            column.name: inverse_frequency_design(
                times, xi=target.xi, exempt=column.fixed, column=f"'{column.name}'"
            )
            for column, times in frequencies.items()
        }
        computed = (
            () if schema.known else (CorrectMatch(max(d.attained.xi for d in designs.values())),)
        )
        mechanism = Mechanism(tuple(Step((name,), d.matrix) for name, d in designs.items()))
        thetas = {name: design.theta for name, design in designs.items()}
        return context.plan(
            self,
            mechanism,
            asked,
            attained(context.counted(mechanism), asked, computed=computed),
            statistics={
                "theta": next(iter(thetas.values())) if len(thetas) == 1 else thetas,
                "expected_changes": math.fsum(d.expected_changes for d in designs.values()),
                "smallest_diagonal": min(d.smallest_diagonal for d in designs.values()),
                "gap": max(d.gap for d in designs.values()),
                "unchanged": all(d.unchanged for d in designs.values()),
            },
            public=published_standard_errors(
                {name: design.variances() for name, design in designs.items()},
                least=lambda _: math.sqrt(2 / target.xi),  # the error that one rare value costs
            )
            | ({"relaxed_from": float(stated.xi)} if relaxed else {}),
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The same for all, but for a weaker xi that was asked for and not attainable."""
        options, statistics = super().expected_fields(certificate)
        stated = certificate.statistics.get("relaxed_from")
        matches = (c.attained for c in certificate.claims if isinstance(c.attained, CorrectMatch))
        attained_xi = next((match.xi for match in matches), None)
        if isinstance(stated, float) and attained_xi is not None and 0 <= stated < attained_xi:
            statistics = {**statistics, "relaxed_from": stated}
        return options, statistics

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The certificate states the xi that was attained: nothing is left to relax."""
        del certificate
        return cls()
