"""Method ``invariant``: expected frequencies stay as they are, whatever matrix one starts from.

From a matrix P and frequencies t the two-stage matrix is R = P Q with Q the Bayes inverse of P,
Q_kj = t_j P_jk / s_k, s = t P. The flows it makes are symmetric,

    F_ij = t_i R_ij = t_i t_j sum_k P_ik P_jk / s_k = F_ji,

so that t R = t. Any mixture alpha R + (1 - alpha) I is invariant too; sdcMicro's pair (pd, alpha)
is that mixture, with P of diagonal pd. Unlike there, the diagonal is not drawn at random, and it
never falls below the minimum stated: alpha is lowered where R would.

Flows are rounded so that integers over 2**64 keep t R = t exactly (``symmetric_flows.balanced``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pramana.base.rounding import require_number
from pramana.errors import InvalidMatrix, InvalidNumber, InvalidSchema, OutsideDomain
from pramana.guarantees.base import Guarantee
from pramana.guarantees.claims import attained
from pramana.mechanisms.mechanism import Mechanism, SparseRows, Step
from pramana.mechanisms.transition import Label, TransitionMatrix
from pramana.methods.base import Withheld, fingerprint, option, published_standard_errors
from pramana.methods.context import DesignContext
from pramana.methods.given import MATRIX_FILES, Matrices, files_of, matrices_for, read_matrices
from pramana.methods.plan import Plan
from pramana.methods.symmetric_flows import balanced
from pramana.schema.schema import require_keys
from pramana.types import FloatArray

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
    expected_changes: float
    smallest_diagonal: float

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
        exempt: values that stay as they are, and that no other is turned into.
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
    order = labels if matrix is None else matrix.labels
    P = _of_diagonal(len(order), stays) if matrix is None else matrix.values
    made = {
        stratum: _invariant(
            order,
            P,
            {label: number for label, number in times.items() if label not in exempt},
            alpha=alpha,
            minimum=stays,
            name=name,
        )
        for stratum, times in tables.items()
    }
    changes = 0.0
    for stratum, result in made.items():
        numbers = np.array([tables[stratum].get(label, 0) for label in order], dtype=float)
        changes += float((numbers * (1 - result.diagonal)).sum())
    return InvariantDesign(
        by_stratum=made,
        frequencies=tables,
        column=name,
        strata=tuple(strata),
        expected_changes=changes,
        smallest_diagonal=min(float(result.diagonal.min()) for result in made.values()),
    )


def _of_diagonal(size: int, pd: float) -> FloatArray:
    """The stated diagonal, and the rest of each row spread evenly."""
    P = np.full((size, size), (1 - pd) / (size - 1))
    np.fill_diagonal(P, pd)
    return P


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
    if len(labels) < 2:
        raise InvalidSchema(
            f"A design for '{name}' needs at least two categories to exchange, got {len(labels)}. "
            "Leave the column out, or declare its other categories.",
            column=name,
        )
    return name, labels, tables


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
    flows = _two_stage(P, t)
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


def _two_stage(P: FloatArray, t: FloatArray) -> FloatArray:
    """t_i R_ij, symmetric by construction."""
    released = t @ P
    roots = np.divide(1.0, np.sqrt(released), out=np.zeros(len(t)), where=released > 0)
    half = t[:, None] * P * roots[None, :]
    flows: FloatArray = half @ half.T
    return (flows + flows.T) / 2


@dataclass(frozen=True)
class Invariant(Withheld):
    """Matrices that leave expected frequencies unchanged, column by column and in each stratum.

    They are withheld: the frequencies that a matrix leaves unchanged could be read off it. The
    method aims at no guarantee; those asked are checked in the end.

    Attributes:
        stay: the least chance of a value to stay as it is (sdcMicro: pd).
        mixture: the share of the two-stage matrix beside the identity (sdcMicro: alpha).
        matrices: instead of ``stay``: where to start from, for each column.
    """

    stay: float | None = option(None, "Each value stays with at least this chance (sdcMicro's pd).")
    mixture: float = option(1.0, "The share of change beside staying (sdcMicro's alpha).")
    matrices: Matrices = option(None, MATRIX_FILES, flag="--matrix", metavar="COLUMN=FILE",
                                read=files_of)  # fmt: skip

    name: ClassVar[str] = "invariant"
    when: ClassVar[str] = "Frequencies shall be right as they stand, as with sdcMicro's pram."
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
        if schema.impossible:
            raise InvalidSchema(
                "Method invariant moves one column at a time, so it cannot rule out impossible "
                "combinations. Drop the rules, or use another method."
            )
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
        return Plan(
            schema=schema,
            mechanism=mechanism,
            method=self,
            records=context.records,
            anonymity_set=context.anonymity_set,
            asked=tuple(asked),
            attained=attained(context.counted(mechanism), asked),
            statistics={
                "expected_changes": math.fsum(d.expected_changes for d in designs.values()),
                "smallest_diagonal": min(d.smallest_diagonal for d in designs.values()),
            },
            public=published_standard_errors(
                {name: _variances(design) for name, design in designs.items()},
                least=self._even_error(context.records),
            ),
            basis=fingerprint(context.counts),
        )

    def _even_error(self, records: int) -> Callable[[int], float]:
        """The standard error of a frequency where all values are equally frequent.

        Flows are symmetric, so that the variance is at most t_j (1 - P_jj^2).
        """
        share = 1 - (self.stay or 0.0) ** 2
        return lambda values: math.sqrt(share * records / values)


def _variances(design: InvariantDesign) -> list[float]:
    """The variance of each released frequency: sum_i t_i P_ij (1 - P_ij), over all strata."""
    labels = next(iter(design.by_stratum.values())).labels
    total = np.zeros(len(labels))
    for stratum, matrix in design.by_stratum.items():
        times = np.array([design.frequencies[stratum].get(label, 0) for label in labels], float)
        entries = matrix.sparse.tocoo()
        spread = times[entries.row] * entries.data * (1 - entries.data)
        total += np.bincount(entries.col, spread, len(labels))
    found: list[float] = total.tolist()
    return found
