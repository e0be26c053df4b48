"""Inverse-frequency post-randomisation: rare values of a column are exchanged for frequent ones.

The design of [Ghatak] leaves expected frequencies unchanged (t P = t) and bounds the chance of a
correct match by xi. Three slips of the paper are put right here: the probability that enters the
bound is that of being turned *into* the rare value; the block size rounds up; and the bound must
hold for every value of the block, not only for the one that the block was made for.

Flows are free to be any symmetric table (``symmetric_flows``), which serves all rare values at once
with the fewest expected changes; the paper's disjoint blocks need about three times as many.

Probabilities are integers over 2**64, rounded pair by pair so that t P = t holds exactly. The bound
xi is checked on the integers themselves.
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
from pramana.errors import Infeasible, InvalidNumber, InvalidSchema
from pramana.guarantees.base import Guarantee
from pramana.guarantees.claims import attained
from pramana.guarantees.correct_match import CorrectMatch, frequencies_by_label, kept_risk
from pramana.mechanisms.mechanism import Mechanism, SparseRows, Step
from pramana.mechanisms.transition import Label
from pramana.methods.base import (
    Method,
    Withheld,
    fingerprint,
    option,
    published_standard_errors,
    single_target,
)
from pramana.methods.context import DesignContext
from pramana.methods.plan import Plan
from pramana.methods.symmetric_flows import Flows, balanced, least_flows, theta_of
from pramana.release.certificate import Certificate
from pramana.schema.schema import Column, require_keys
from pramana.types import Entries, FloatArray, Form, IntArray

if TYPE_CHECKING:
    from pramana.schema.joint_cells import Counts

Triples = tuple[list[int], list[int], list[int]]

ROUNDING: Final = 1e-6
"""Integers over 2**64 attain 1/n up to this share."""


@dataclass(frozen=True)
class InverseFrequencyDesign:
    """A matrix that leaves expected frequencies unchanged and bounds the correct match.

    ``theta`` is the flow that the paper's bound asks of the rarest case: the largest root of
    psi = xi over the rare values. ``gap`` says by which share the expected changes may exceed the
    least that any symmetric flows need. The matrix and the frequencies are the owner's secret.
    """

    matrix: SparseRows = field(repr=False)
    frequencies: Mapping[Label, int] = field(repr=False)
    xi: float
    attained: CorrectMatch
    theta: float
    expected_changes: float
    smallest_diagonal: float
    gap: float

    @property
    def unchanged(self) -> bool:
        """Whether nothing had to be done."""
        return len(self.matrix.moves) == 0

    def variances(self) -> dict[Label, float]:
        """The variance of each released frequency: sum_i T_i p_ij (1 - p_ij)."""
        times = _times(self.matrix.labels, self.frequencies)
        entries = self.matrix.sparse.tocoo()
        spread = times[entries.row] * entries.data * (1 - entries.data)
        totals = np.bincount(entries.col, spread, self.matrix.size)
        return dict(zip(self.matrix.labels, totals.tolist(), strict=True))


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

    ``exempt`` values stay as they are.

    >>> design = inverse_frequency_design({"a": 2, "b": 205, "c": 431}, xi=0.1)
    >>> design.attained.xi <= 0.1
    True
    """
    times = _checked(frequencies, xi, column)
    sets = _groups(times, exempt)
    _require_attainable(times, sets, xi, column)
    labels = tuple(times)
    numbers = np.array([times[label] for label in labels], dtype=np.int64)
    where = {label: position for position, label in enumerate(labels)}
    moves: Triples = ([], [], [])
    least = 0.0
    for members in sets:
        positions = np.array([where[label] for label in members])
        if not numbers[positions].any():
            continue  # nobody is there to be matched
        flows, part = _serve_group(numbers[positions], xi, column)
        least += flows.least
        for total, new, kind in zip(moves, part, range(3), strict=True):
            total.extend(positions[new].tolist() if kind < 2 else new)
    return _design(times, xi, moves, least=least)


def _serve_group(times: IntArray, xi: float, column: str) -> tuple[Flows, Triples]:
    """Flows inside one group, checked on the integers; full mixing where only that will do."""
    flows = least_flows(times, 1 / xi)
    local = dict(enumerate(times.tolist()))
    for moves in (_moves_of_flows(times, flows), _full_mixing(times, xi)):
        matrix = SparseRows.from_moves(
            tuple(local), rows=moves[0], columns=moves[1], moves=np.array(moves[2], dtype=np.uint64)
        )
        if CorrectMatch.of(matrix, local).xi <= xi:
            return flows, moves
    raise Infeasible(
        f"No flows on {column} give a correct match of at most {xi!r} in integers over 2**64. "
        "Raise xi by a millionth."
    )


def _moves_of_flows(times: IntArray, flows: Flows) -> Triples:
    rows, columns, moves = balanced(times.tolist(), flows.first, flows.second, flows.flow, up=True)
    return rows.tolist(), columns.tolist(), moves.tolist()


def _full_mixing(times: IntArray, xi: float) -> Triples:
    """p_ij = T_j / n for all pairs with a rare value: the most that symmetric flows can do."""
    unit = TOTAL // int(times.sum())
    occurs = times > 0
    rare = np.array([0 < number * Fraction(xi) < 1 for number in times.tolist()])
    pairs = (rare[:, None] | rare[None, :]) & occurs[:, None] & occurs[None, :]
    rows, columns = np.nonzero(pairs & ~np.eye(len(times), dtype=bool))
    return rows.tolist(), columns.tolist(), [int(times[j]) * unit for j in columns.tolist()]


def _design(
    times: Mapping[Label, int],
    xi: float,
    moves: Triples,
    *,
    least: float,
) -> InverseFrequencyDesign:
    """Wrap the transitions, and check the bound on the integers once more."""
    matrix = SparseRows.from_moves(
        tuple(times), rows=moves[0], columns=moves[1], moves=np.array(moves[2], dtype=np.uint64)
    )
    numbers = _times(matrix.labels, times)
    changes = float((numbers * (1 - matrix.diagonal)).sum())
    rare = [number for number in times.values() if 0 < number * xi < 1]
    return InverseFrequencyDesign(
        matrix=matrix,
        frequencies=dict(times),
        xi=xi,
        attained=CorrectMatch.of(matrix, times),
        theta=max((theta_of(number, 1 / xi) for number in rare), default=0.0),
        expected_changes=changes,
        smallest_diagonal=float(matrix.diagonal.min()),
        gap=max(changes / least - 1, 0.0) if least else 0.0,
    )


def _times(labels: tuple[Label, ...], frequencies: Mapping[Label, int]) -> FloatArray:
    return np.array([frequencies.get(label, 0) for label in labels], dtype=np.float64)


def _checked(frequencies: Mapping[Label, int] | Counts, xi: float, column: str) -> dict[Label, int]:
    """Whole frequencies by label; a declared value that nobody has counts 0."""
    require_number("xi", xi, low=0, high=1, low_open=True, high_open=True)
    times = frequencies_by_label(frequencies)
    if not isinstance(frequencies, Mapping) and len(frequencies.columns) == 1:
        times = {label: times.get(label, 0) for label in frequencies.labels[0]}
    if any(number != int(number) or number < 0 for number in times.values()):
        raise InvalidNumber(f"Frequencies of {column} must be whole numbers at or above 0.")
    if len(times) < 2:
        raise InvalidSchema(
            f"A design for {column} needs at least two categories to exchange, got {len(times)}. "
            "Leave the column out, or declare its other categories."
        )
    return {label: int(number) for label, number in times.items()}


def _totals(times: Mapping[Label, int], sets: list[list[Label]]) -> list[int]:
    """The records of each group that has some."""
    return [total for members in sets if (total := sum(times[label] for label in members)) > 0]


def _groups(times: Mapping[Label, int], exempt: Collection[Label]) -> list[list[Label]]:
    """The values that may be exchanged, and each exempt value by itself."""
    free = [label for label in times if label not in exempt]
    return [part for part in (free, *([label] for label in times if label in exempt)) if part]


def _require_attainable(
    times: Mapping[Label, int], sets: list[list[Label]], xi: float, column: str
) -> None:
    """Full mixing of a group of n records gives 1/n, and no symmetric flows give less."""
    totals = _totals(times, sets)
    short = [total for total in totals if total * Fraction(xi) < 1]
    if short:
        least = min(short)
        where = "it has" if len(sets) == 1 else f"{len(short)} of {len(sets)} groups have"
        raise Infeasible(
            f"No flows on {column} give xi = {text_up(xi, 6)}: {where} fewer than "
            f"{math.ceil(1 / xi)} records; the nearest attainable is xi = 1/{least} "
            f"({text_up(Fraction(1, least))}). Raise xi, merge groups, exempt fewer values, or "
            "take the least attainable (--relax)."
        )


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
        False, "Where xi is not attainable, take the least that is; the certificate says so."
    )

    name: ClassVar[str] = "inverse-frequency"
    when: ClassVar[str] = "Tables of single columns matter, and who searches by one key shall err."
    aims: ClassVar[tuple[str, ...]] = ("correct-match",)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A matrix for each randomised column; refused where anything but one xi is asked."""
        schema = context.schema
        require_keys(schema)
        target = stated = single_target(asked, CorrectMatch, method=self.name)
        if schema.impossible:
            raise InvalidSchema(
                "Method inverse-frequency moves one column at a time, so it cannot rule out "
                "impossible combinations. Drop the rules, or use another method."
            )
        counts = context.counts
        least = _least_attainable(context)
        relaxed = self.relax and target.xi < least < 1
        if relaxed:
            target, asked = CorrectMatch(least), (CorrectMatch(least),)
        if kept_risk(schema.known, counts, anonymity_set=context.anonymity_set) > target.xi:
            needed = 1 / target.xi if target.xi else math.inf
            raise context.too_few_records(f"{target} cannot be met.", needed, lower="raise xi")
        designs = _designs(context, target.xi)
        computed = (
            () if schema.known else (CorrectMatch(max(d.attained.xi for d in designs.values())),)
        )
        mechanism = Mechanism(tuple(Step((name,), one.matrix) for name, one in designs.items()))
        return Plan(
            schema=schema,
            mechanism=mechanism,
            method=self,
            records=counts.total,
            anonymity_set=context.anonymity_set,
            asked=tuple(asked),
            attained=attained(context.counted(mechanism), asked, computed=computed),
            statistics=_figures(designs),
            public=published_standard_errors(
                {name: list(design.variances().values()) for name, design in designs.items()},
                least=lambda _: math.sqrt(2 / target.xi),  # what one rare value costs
            )
            | ({"relaxed_from": float(stated.xi)} if relaxed else {}),
            basis=fingerprint(counts),
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """The same for all, but for a weaker xi that was asked for and not attainable."""
        options, figures = super().expected_fields(certificate)
        stated = certificate.statistics.get("relaxed_from")
        given = next(c.attained for c in certificate.claims if isinstance(c.attained, CorrectMatch))
        if isinstance(stated, float) and 0 <= stated < given.xi:
            figures = {**figures, "relaxed_from": stated}
        return options, figures

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The certificate states the xi that was attained: nothing is left to relax."""
        del certificate
        return cls()


def _least_attainable(context: DesignContext) -> float:
    """The least xi of these records: 1 over the records of the smallest group, rounded up."""
    kept = kept_risk(context.schema.known, context.counts, anonymity_set=context.anonymity_set)
    fewest = [context.records]
    for column in context.schema.randomised:
        times = _frequencies(context, column)
        fewest += _totals(times, _groups(times, column.fixed))
    least = max(kept, (1 + ROUNDING) / min(fewest))
    return float(text_up(least)) if least * context.records <= 1 + ROUNDING else coarse_up(least)


def _designs(context: DesignContext, xi: float) -> dict[str, InverseFrequencyDesign]:
    """A design for each randomised column, by itself."""
    return {
        column.name: inverse_frequency_design(
            _frequencies(context, column),
            xi=xi,
            exempt=column.fixed,
            column=f"'{column.name}'",
        )
        for column in context.schema.randomised
    }


def _frequencies(context: DesignContext, column: Column) -> dict[Label, int]:
    numbers = context.counts.margin(column.name).dense().tolist()
    return dict(zip(column.labels, numbers, strict=True))


def _figures(designs: dict[str, InverseFrequencyDesign]) -> Form:
    thetas = {name: design.theta for name, design in designs.items()}
    return {
        "theta": next(iter(thetas.values())) if len(thetas) == 1 else thetas,
        "expected_changes": math.fsum(design.expected_changes for design in designs.values()),
        "smallest_diagonal": min(design.smallest_diagonal for design in designs.values()),
        "gap": max(design.gap for design in designs.values()),
        "unchanged": all(design.unchanged for design in designs.values()),
    }
