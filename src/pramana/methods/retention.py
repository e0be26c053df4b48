"""Method ``retention``: keep each value with a probability, else draw it uniformly.

k, epsilon and (rho1, rho2) all bound the same quantity, the total of ln gamma over the steps:

    epsilon:       total <= epsilon                                           [Ikarashi, Cor. 2]
    k:             total <= ln((n - 1) / (k - 1)) / 2                         [Ikarashi, Cor. 5]
    rho1 to rho2:  total <= ln(rho2 (1 - rho1) / (rho1 (1 - rho2)))           [Dowd, Sec. 5.1]

so that ln gamma is the one parameter for all three. The central epsilon grows with it, and is found
by a search. ``equal`` gives every column the same retention (the three algorithms of [Ikarashi,
Sec. 4]); ``best`` divides the total so that the mean error of one- and two-way tables is least, at
the same k and epsilon: the division has no effect on privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from pramana.base.rounding import (
    LARGEST_LOG_GAMMA,
    largest_parameter,
    require_choice,
    require_number,
    root_between,
)
from pramana.base.text import tables_of
from pramana.errors import Infeasible, InvalidNumber
from pramana.guarantees.base import Guarantee, Searched
from pramana.mechanisms.mechanism import Mechanism, Step, with_fixed
from pramana.methods.base import AmplificationAims, Method, option
from pramana.methods.context import DesignContext, unattainable
from pramana.methods.expected_error import (
    ErrorModel,
    ExpectedError,
    StepDomain,
    joint_of,
    step_domains,
)
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.schema import require_domains, require_keys
from pramana.types import FloatArray, Form

Spread = Literal["equal", "best"]

FLAT, ROUNDS = 1e-8, 200
"""Where the search for the best division ends: the largest slope, and the number of steps."""

ZERO_RETENTION = 1e-15
"""Smaller retentions are rounding errors of zero."""

IDENTITY_LOG_GAMMA = 64 * math.log(2)
"""The largest ln gamma that integers over 2**64 can express short of the identity."""


@dataclass(frozen=True)
class Retention(Method):
    """The retentions of least expected error that meet every guarantee asked.

    Attributes:
        spread: ``best`` gives each column its own retention, ``equal`` the same to all.
        max_error: instead of guarantees: the strongest protection with an expected error of at
            most this share of the records.
        retention: instead of guarantees: the retention of every column.
        joint: groups of columns that are randomised jointly, which is best for their own table.
    """

    spread: Spread = option(
        "best",
        "The same retention for all columns, or the best for each at the same k and epsilon.",
    )
    max_error: float | None = option(
        None, "Instead of a target: the strongest guarantee with at most this expected error."
    )
    retention: float | None = option(
        None, "Instead of a target: keep each value with this probability."
    )

    joint: tuple[tuple[str, ...], ...] = option(
        (), "Columns that are randomised together, such as 'age*sex'.", metavar="A*B,C*D",
        read=tables_of,
    )  # fmt: skip

    name: ClassVar[str] = "retention"
    when: ClassVar[str] = "The guarantee must hold for any data and any attacker."
    aims = AmplificationAims()
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset()
    kind: ClassVar[str] = "published"

    def __post_init__(self) -> None:
        if isinstance(self.joint, str):
            object.__setattr__(self, "joint", tables_of([self.joint]))
        object.__setattr__(self, "joint", tuple(tuple(tie) for tie in self.joint))
        require_choice("spread", self.spread, get_args(Spread))
        if self.max_error is not None:
            require_number("the maximal error", self.max_error, low=0, low_open=True)
        if self.retention is not None:
            require_number("retention", self.retention, low=0, high=1)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """A matrix for each column, or for each group of tied columns."""
        schema, records = context.schema, context.records
        require_keys(schema)
        require_domains(schema)
        require_number("the number of records", records, low=1)
        if sum((bool(asked), self.max_error is not None, self.retention is not None)) != 1:
            raise InvalidNumber(
                "State what to aim at: guarantees, or a maximal error, or a retention."
            )
        steps = step_domains(schema, self.joint)
        model = ErrorModel(steps, records=records)
        sizes = [step.size - len(step.fixed) for step in steps]

        def divide(log_gamma: float) -> list[float]:
            """The retention of each step for a total of ln gamma."""
            if self.spread == "equal":
                return [_common_retention(log_gamma, sizes)] * len(sizes)
            return _best_retentions(log_gamma, sizes, model)

        if self.retention is not None:
            retentions = [self.retention] * len(steps)
        elif self.max_error is not None:
            retentions = divide(_log_gamma_for_error(self.max_error, model, divide))
        else:
            retentions = divide(_largest_log_gamma(asked, context, steps, divide))
        mechanism, reached = context.within(
            asked, lambda trim: _mechanism(steps, [rho * (1 - trim) for rho in retentions])
        )
        statistics: Form = {"spread": self.spread if self.retention is None else "equal"}
        if statistics["spread"] == "best" and all(0 < rho < 1 for rho in retentions):
            # The gain of the best division over equal retentions, at the same k and epsilon
            log_gamma = math.fsum(
                math.log1p(size * rho / (1 - rho))
                for size, rho in zip(sizes, retentions, strict=True)
            )
            equal = model.mean([_common_retention(log_gamma, sizes)] * len(sizes))
            if math.isfinite(equal):
                statistics["gain_over_equal"] = 1 - model.mean(retentions) / equal
        return context.plan(
            self,
            mechanism,
            asked,
            reached,
            expected_error=model.at(retentions),
            statistics=statistics,
        )

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> ExpectedError | None:
        """The expected error of the published matrices."""
        mechanism = certificate.mechanism
        if mechanism is None:
            return None
        steps = step_domains(certificate.schema, joint_of(mechanism))
        model = ErrorModel(steps, records=certificate.records)
        return model.at(retentions_of(steps, mechanism))

    def errors_of(self, plan: Plan, tables: Sequence[tuple[str, ...]]) -> list[float]:
        """The expected errors of any tables."""
        steps = step_domains(plan.schema, joint_of(plan.mechanism))
        model = ErrorModel(steps, records=plan.records, tables=tables)
        errors: list[float] = model.errors(retentions_of(steps, plan.mechanism)).tolist()
        return errors

    def with_joint(self, joint: tuple[tuple[str, ...], ...]) -> Retention | None:
        """The method with these groups of columns; ``None`` if it has groups already."""
        return None if self.joint else replace(self, joint=joint)


def retentions_of(steps: Sequence[StepDomain], mechanism: Mechanism) -> list[float]:
    """The retention of each step of a mechanism."""
    matrices = {step.columns: step.matrix for step in mechanism}
    retentions = []
    for step in steps:
        matrix = matrices[step.columns]
        if matrix is None:
            raise InvalidNumber("Retention uses one matrix a step.")
        free = step.size - len(step.fixed)
        stays = float(matrix.diagonal.min())
        kept = stays - (1 - stays) / (free - 1) if free > 1 else 1.0
        retentions.append(kept if kept > ZERO_RETENTION else 0.0)
    return retentions


def _largest_log_gamma(
    asked: Sequence[Guarantee],
    context: DesignContext,
    steps: Sequence[StepDomain],
    divide: Callable[[float], list[float]],
) -> float:
    """The largest total of ln gamma that meets every target."""
    bounded = [guarantee for guarantee in asked if not isinstance(guarantee, Searched)]
    log_gamma = min(
        (context.log_gamma_for(target, method="retention") for target in bounded), default=math.inf
    )
    searched = [guarantee for guarantee in asked if isinstance(guarantee, Searched)]
    fixed = [step.name for step in steps if step.fixed]
    if fixed and (searched or log_gamma < math.inf):
        raise Infeasible(
            "Values of {fixed} are exempt or kept missing, so their records are released "
            "unchanged: no finite epsilon and no k above 1 can hold. Drop the exemption, or state "
            "a retention instead of a target.",
            fixed=", ".join(fixed),
        )

    for guarantee in searched:  # no formula gives its total

        def met(log_gamma: float, guarantee: Searched = guarantee) -> bool:
            return guarantee.met_by(context.fixed(_mechanism(steps, divide(log_gamma))))

        log_gamma = largest_parameter(met, low=0.0, high=min(log_gamma, LARGEST_LOG_GAMMA))
    if log_gamma <= 0:
        raise unattainable(*searched)
    return log_gamma


def _log_gamma_for_error(
    max_error: float, model: ErrorModel, divide: Callable[[float], list[float]]
) -> float:
    """The smallest total of ln gamma with at most this expected error."""
    low, high = 1e-6, IDENTITY_LOG_GAMMA * len(model.steps)

    def excess(log_gamma: float) -> float:
        error = model.mean(divide(log_gamma))
        return math.log(max(error, 1e-300) / max_error)

    if excess(low) <= 0:  # even nearly pure noise is accurate enough
        return low
    root = root_between(excess, low, high, nearness=1e-12, relative=1e-12)
    while excess(root) > 0:  # rounding may put the root on the wrong side
        root *= 1 + 1e-9
    return root


def _retention(log_gamma: float, size: int) -> float:
    """Rho from ln gamma: (gamma - 1) / (gamma + N - 1)."""
    if log_gamma >= IDENTITY_LOG_GAMMA:
        return 1.0
    excess = math.expm1(log_gamma)
    return excess / (excess + size)


def _common_retention(log_gamma: float, sizes: Sequence[int]) -> float:
    """The same rho for all steps, by bisection on a monotone total [Ikarashi, Alg. 1 to 3]."""
    if math.isinf(log_gamma):
        return 1.0

    def total(rho: float) -> float:
        return sum(math.log1p(size * rho / (1 - rho)) for size in sizes)

    low, high = 0.0, math.nextafter(1, 0)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) <= log_gamma else (low, middle)
    return low


def _best_retentions(log_gamma: float, sizes: Sequence[int], model: ErrorModel) -> list[float]:
    """The division of ln gamma with the least mean error of one- and two-way tables."""
    if math.isinf(log_gamma) or log_gamma <= 0 or len(sizes) == 1:
        return [_retention(log_gamma / len(sizes), size) for size in sizes]

    # Exchangeable steps have the same score: they start equal, and gradients keep them equal.
    _, first, many = np.unique(model.kinds, return_index=True, return_counts=True)
    counts = np.array(sizes, dtype=np.float64)[first]

    def shares(scores: FloatArray) -> FloatArray:
        weights = np.exp(scores - scores.max())
        parts: FloatArray = weights * (log_gamma / (many * weights).sum())
        return parts

    def retentions(scores: FloatArray) -> FloatArray:
        parts = shares(scores)
        excess = np.expm1(np.minimum(parts, IDENTITY_LOG_GAMMA))
        return np.where(parts >= IDENTITY_LOG_GAMMA, 1.0, excess / (excess + counts))[model.kinds]

    def objective(scores: FloatArray) -> float:
        return math.log(max(model.mean(retentions(scores)), 1e-300))

    def gradient(scores: FloatArray) -> FloatArray:
        parts, kept = shares(scores), retentions(scores)
        height = model.mean(kept)
        if height < 1e-300:  # no record changes: nothing can be better
            return np.zeros(len(scores))
        excess = np.expm1(np.minimum(parts, IDENTITY_LOG_GAMMA))
        by_part = np.where(
            parts >= IDENTITY_LOG_GAMMA, 0.0, counts * (excess + 1) / (excess + counts) ** 2
        )
        slope = model.slope(kept)[first] * by_part / height
        by_score: FloatArray = many * parts * (slope - slope @ (many * parts) / log_gamma)
        return by_score

    equal = _common_retention(log_gamma, sizes)
    start = np.log([math.log1p(size * equal / (1 - equal)) + 1e-12 for size in sizes])[first]
    best: list[float] = retentions(minimise(objective, start, gradient)).tolist()
    same = [equal] * len(sizes)
    return best if model.mean(best) <= model.mean(same) else same


def _mechanism(steps: Sequence[StepDomain], retentions: Sequence[float]) -> Mechanism:
    return Mechanism(
        tuple(
            Step(step.columns, with_fixed(step.labels, step.fixed, retention=rho))
            for step, rho in zip(steps, retentions, strict=True)
        )
    )


def minimise(
    function: Callable[[FloatArray], float],
    start: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """A local minimum of a smooth function, by BFGS steps from ``start``.

    These few lines save the import of an optimiser, which takes longer than the design of a small
    table.

    >>> minimise(lambda x: float((x[0] - 3) ** 2), np.zeros(1), lambda x: 2 * (x - 3)).round(2)
    array([3.])
    """
    here, height = np.asarray(start, dtype=np.float64), float(function(start))
    slope, inverse = gradient(here), np.eye(len(here))
    for _ in range(ROUNDS):
        direction = -inverse @ slope
        if not slope @ direction < 0:
            inverse, direction = np.eye(len(here)), -slope
        there, lower = _line_search(function, here, height, direction, float(slope @ direction))
        if np.abs(slope).max() < FLAT or height - lower <= 1e-12 * abs(height):
            return there if lower < height else here
        next_slope = gradient(there)
        moved, turned = there - here, next_slope - slope
        curvature = float(moved @ turned)
        if curvature > 1e-14:
            bent = np.eye(len(moved)) - np.outer(moved, turned) / curvature
            inverse = bent @ inverse @ bent.T + np.outer(moved, moved) / curvature
        here, height, slope = there, lower, next_slope
    return here


def _line_search(
    function: Callable[[FloatArray], float],
    here: FloatArray,
    height: float,
    direction: FloatArray,
    slope: float,
) -> tuple[FloatArray, float]:
    """The first of ever shorter steps with a sufficient decrease (Armijo's condition)."""
    length = min(1.0, 2.0 / float(np.abs(direction).max() or 1.0))
    while length > 1e-12:
        there = here + length * direction
        lower = float(function(there))
        if lower <= height + 1e-4 * length * slope:
            return there, lower
        length /= 2
    return here, height
