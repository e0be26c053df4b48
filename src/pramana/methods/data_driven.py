"""Plans whose matrices are chosen by looking at the data.

Methods ``optimal``, ``inverse-frequency`` and ``invariant``.

Far fewer records change than under a matrix for all possible data; in exchange the guarantees rest
on counts that are not published, and only the owner can recompute them.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pramana.errors import Infeasible, InvalidNumber, InvalidSchema
from pramana.guarantees.base import Evidence, Guarantee
from pramana.guarantees.correct_match import CorrectMatch
from pramana.guarantees.evaluate import attained
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.matrices.families import Dense
from pramana.matrices.mechanism import Mechanism, Step
from pramana.matrices.transition import TransitionMatrix
from pramana.methods.given import by_labels
from pramana.methods.invariant import InvariantDesign, invariant_design
from pramana.methods.inverse_frequency import InverseFrequencyDesign, inverse_frequency_design
from pramana.methods.optimal.design import optimal_design
from pramana.methods.plan import Plan
from pramana.methods.steps import StepDomain, step_domains
from pramana.table.counts import Counts
from pramana.table.schema import Schema, require_keys

__all__ = [
    "invariant_plan",
    "inverse_frequency_plan",
    "on_counts",
    "optimal_plan",
]


def optimal_plan(schema: Schema, asked: Sequence[Guarantee], *, counts: Counts, crowd: int) -> Plan:
    """The least loss under condition C1 [Cator], on the joint cells of all randomised columns."""
    require_keys(schema)
    (target,) = _only(asked, SpontaneousRecognition, "optimal")
    counts = counts.margin(*(column.name for column in schema.randomised))
    cells = _joint_cells(schema, counts)
    design = optimal_design(
        counts,
        alpha=target.alpha,
        width=target.width,
        choices=target.choices or schema.choices,
        possible=None if cells is None else cells.labels,
        fixed=() if cells is None else cells.fixed,
    )
    names = counts.columns
    matrix = design.matrix if len(names) > 1 else _single(design.matrix)
    mechanism = Mechanism((Step(names, matrix),))
    return Plan(
        schema=schema,
        mechanism=mechanism,
        method="optimal",
        records=counts.total,
        crowd=crowd,
        asked=tuple(asked),
        attained=attained(
            _evidence(schema, mechanism, counts, crowd), asked, computed=(design.attained,)
        ),
        data_dependent=True,
        figures={
            "loss": design.loss,
            "expected_changes": design.expected_changes,
            "smallest_diagonal": design.smallest_diagonal,
            "gap": design.gap,
            "unchanged": design.unchanged,
            "worst_keys": list(design.attained.keys),
        },
        basis=fingerprint(counts),
    )


def inverse_frequency_plan(
    schema: Schema, asked: Sequence[Guarantee], *, counts: Counts, crowd: int, block: bool = False
) -> Plan:
    """Symmetric flows that bound the correct match [Ghatak], column by column.

    The matrices are withheld, as the paper's adversary does not know them; analysts read
    frequencies as they stand, with a standard error that is rounded up to one digit, so that it
    tells little of the counts behind it.
    """
    require_keys(schema)
    (target,) = _only(asked, CorrectMatch, "inverse-frequency")
    if schema.impossible:
        raise InvalidSchema(
            "Method inverse-frequency moves one column at a time, so it cannot rule out impossible "
            "combinations. Drop the rules, or use another method."
        )
    counts = counts.margin(*(column.name for column in schema.randomised))
    designs: dict[str, InverseFrequencyDesign] = {}
    for column in schema.randomised:
        margin = counts.margin(column.name)
        frequencies = dict(zip(column.labels, margin.dense().tolist(), strict=True))
        designs[column.name] = inverse_frequency_design(
            frequencies,
            xi=target.xi,
            exempt=column.fixed,
            method="block" if block else "flows",
            column=f"'{column.name}'",
        )
    mechanism = Mechanism(tuple(Step((name,), design.matrix) for name, design in designs.items()))
    return Plan(
        schema=schema,
        mechanism=mechanism,
        method="inverse-frequency",
        records=counts.total,
        crowd=crowd,
        asked=tuple(asked),
        attained=attained(
            _evidence(schema, mechanism, counts, crowd),
            asked,
            computed=(CorrectMatch(max(design.attained.xi for design in designs.values())),),
        ),
        data_dependent=True,
        publish_matrices=False,
        figures=_flow_figures(designs),
        public=_as_they_stand(
            {name: list(design.variances().values()) for name, design in designs.items()}
        ),
        basis=fingerprint(counts),
    )


def invariant_plan(
    schema: Schema,
    asked: Sequence[Guarantee],
    *,
    counts: Counts,
    crowd: int,
    stay: float | None = None,
    mixture: float = 1.0,
    matrices: Mapping[str, TransitionMatrix] | None = None,
) -> Plan:
    """Matrices that leave expected frequencies unchanged, column by column and in each stratum.

    They are withheld: the frequencies that a matrix leaves unchanged could be read off it.

    Args:
        schema: what each column is; its strata have a matrix each.
        asked: checked in the end; the method aims at none.
        counts: of the randomised columns and the strata.
        crowd: the size of the smallest group of known columns.
        stay: the least chance of a value to stay as it is (sdcMicro: pd).
        mixture: the share of the two-stage matrix beside the identity (sdcMicro: alpha).
        matrices: instead of ``stay``: where to start from, for each column.
    """
    require_keys(schema)
    if (stay is None) == (not matrices):
        raise InvalidNumber(
            "Method invariant needs the least chance to stay (--stay), or a matrix for each column."
        )
    designs = {
        column.name: invariant_design(
            counts.margin(column.name, *schema.strata),
            matrix=by_labels(matrices[column.name], column) if matrices else None,
            pd=stay,
            alpha=mixture,
            strata=schema.strata,
            column=column.name,
        )
        for column in schema.randomised
    }
    mechanism = Mechanism(tuple(design.step for design in designs.values()))
    return Plan(
        schema=schema,
        mechanism=mechanism,
        method="invariant",
        records=counts.total,
        crowd=crowd,
        asked=tuple(asked),
        attained=attained(_evidence(schema, mechanism, counts, crowd), asked),
        data_dependent=True,
        publish_matrices=False,
        figures={
            "expected_changes": math.fsum(d.expected_changes for d in designs.values()),
            "smallest_diagonal": min(d.smallest_diagonal for d in designs.values()),
        },
        public=_as_they_stand({name: _variances(design) for name, design in designs.items()}),
        basis=fingerprint(counts),
    )


def on_counts(plan: Plan, counts: Counts, *, crowd: int) -> Plan:
    """The plan with its guarantees for these counts; refused if they fall short of the target."""
    counts = counts.margin(*plan.mechanism.columns, *plan.mechanism.strata)
    if (fingerprint(counts), crowd) == (plan.basis, plan.crowd):
        return plan
    found = attained(_evidence(plan.schema, plan.mechanism, counts, crowd), plan.asked)
    return replace(plan, records=counts.total, crowd=crowd, attained=found)


def _evidence(schema: Schema, mechanism: Mechanism, counts: Counts, crowd: int) -> Evidence:
    """What the owner knows of matrices that were chosen by looking at the data."""
    return Evidence(schema, counts.total, crowd, mechanism, data_dependent=True, counts=counts)


def fingerprint(counts: Counts) -> str:
    """Tells whether two tables have the same counts, and nothing else."""
    digest = hashlib.sha256(repr((counts.columns, counts.labels)).encode())
    digest.update(np.ascontiguousarray(counts.cells, dtype=np.int64).tobytes())
    digest.update(np.ascontiguousarray(counts.numbers, dtype=np.int64).tobytes())
    return digest.hexdigest()


def _only(asked: Sequence[Guarantee], kind: type, method: str) -> list[Any]:
    """The one target of a method; another one is refused."""
    own = [guarantee for guarantee in asked if isinstance(guarantee, kind)]
    others = [guarantee.name for guarantee in asked if not isinstance(guarantee, kind)]
    if len(own) != 1 or others:
        letter = "alpha" if kind is SpontaneousRecognition else "xi"
        raise Infeasible(
            f"Method {method} aims at {letter} alone"
            + (f", and cannot promise {' and '.join(others)} with it." if others else ".")
            + f" State --{letter}, or choose another --method."
        )
    return own


def _joint_cells(schema: Schema, counts: Counts) -> StepDomain | None:
    """The cells that can exist and those that are fixed, where the schema speaks of either."""
    steps = step_domains(schema)
    if all(len(step.columns) == 1 and not step.fixed for step in steps):
        return None
    if len(steps) == 1 and steps[0].columns == counts.columns:
        return steps[0] if len(counts.columns) > 1 else _as_tuples(steps[0])
    tied = Schema(schema.randomised, schema.impossible)
    return _product(step_domains(tied), counts.columns)


def _product(steps: Sequence[StepDomain], columns: tuple[str, ...]) -> StepDomain:
    """The joint cells of independent step domains, in the order of the columns."""
    names = [name for step in steps for name in step.columns]
    order = [names.index(name) for name in columns]

    def cell(parts: Sequence[Any]) -> tuple[Any, ...]:
        flat = [v for step, part in zip(steps, parts, strict=True)
                for v in (part if len(step.columns) > 1 else (part,))]  # fmt: skip
        return tuple(flat[place] for place in order)

    labels, fixed = [], []
    for parts in itertools.product(*(step.labels for step in steps)):
        labels.append(cell(parts))
        if any(part in step.fixed for step, part in zip(steps, parts, strict=True)):
            fixed.append(labels[-1])
    return StepDomain(columns, tuple(labels), tuple(fixed))


def _as_tuples(step: StepDomain) -> StepDomain:
    return StepDomain(
        step.columns, tuple((v,) for v in step.labels), tuple((v,) for v in step.fixed)
    )


def _single(matrix: TransitionMatrix) -> TransitionMatrix:
    """A joint matrix of one column, with plain labels in place of tuples of one."""
    return Dense.from_weights(tuple(label for (label,) in matrix.labels), matrix.weights)


def _flow_figures(designs: dict[str, InverseFrequencyDesign]) -> dict[str, Any]:
    thetas = {name: design.theta for name, design in designs.items()}
    return {
        "theta": next(iter(thetas.values())) if len(thetas) == 1 else thetas,
        "expected_changes": math.fsum(design.expected_changes for design in designs.values()),
        "smallest_diagonal": min(design.smallest_diagonal for design in designs.values()),
        "gap": max(design.gap for design in designs.values()),
        "unchanged": all(design.unchanged for design in designs.values()),
    }


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


def _as_they_stand(variances: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """What analysts are told: standard errors are rounded up to one significant digit."""
    errors = {
        name: [_one_digit_up(math.sqrt(max(variance, 0.0))) for variance in own]
        for name, own in variances.items()
    }
    return {"frequencies": "unbiased as they stand", "standard_errors": errors}


def _one_digit_up(number: float) -> float:
    """The next number with one significant digit.

    >>> _one_digit_up(1.234), _one_digit_up(0.0), _one_digit_up(37)
    (2.0, 0.0, 40.0)
    """
    if number <= 0:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(number))
    return math.ceil(number / unit - 1e-9) * unit
