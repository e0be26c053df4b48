"""The least value of a smooth function of a few numbers.

By quasi-Newton steps (BFGS) along slopes, measured by central differences where none are given. A
few lines here save loading a library of optimisers, which takes longer than all that a small table
needs.

Method ``retention``: keep each value with a probability, else draw it anew.

k, epsilon and (rho1, rho2) all bound the same quantity, the total of ln gamma over the steps:

    epsilon:       total <= epsilon                                           [Ikarashi, Cor. 2]
    k:             total <= ln((n - 1) / (k - 1)) / 2                         [Ikarashi, Cor. 5]
    rho1 to rho2:  total <= ln(rho2 (1 - rho1) / (rho1 (1 - rho2)))           [Dowd, Sec. 5.1]

so that one dial serves all three. The central epsilon grows with the same dial, and is searched for
along it. ``equal`` gives every column the same retention (the three algorithms of [Ikarashi, Sec.
4]); ``best`` divides the total so that one- and two-way tables are least in error, at the same k
and epsilon: which column gets how much costs nothing in privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from pramana.base.name_lists import tables_of
from pramana.base.rounding import LARGEST_DIAL, largest_dial, require_choice, require_number
from pramana.errors import Infeasible, InvalidNumber
from pramana.guarantees.base import Guarantee, Searched
from pramana.mechanisms.mechanism import Mechanism, Step, with_fixed
from pramana.mechanisms.transition import TransitionMatrix
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

STEP = 1e-5
"""How far apart a slope is measured."""

FLAT = 1e-8
"""A slope that counts as none."""

ROUNDS = 200


def least(
    function: Callable[[FloatArray], float],
    start: FloatArray,
    *,
    slope: Callable[[FloatArray], FloatArray] | None = None,
) -> FloatArray:
    """Where the function is least, downhill from ``start``; ``slope`` gives its slopes.

    >>> least(lambda x: float((x[0] - 3) ** 2 + (x[0] + x[1]) ** 4), np.zeros(2)).round(2)[0]
    np.float64(3.0)
    """
    here, height = np.asarray(start, dtype=np.float64), float(function(start))
    slopes = partial(_slope, function) if slope is None else slope
    steep = slopes(here)
    inverse = np.eye(len(here))
    for _ in range(ROUNDS):
        way = -inverse @ steep
        if not steep @ way < 0:
            inverse, way = np.eye(len(here)), -steep
        there, lower = _downhill(function, here, height, way, float(steep @ way))
        if np.abs(steep).max() < FLAT or height - lower <= 1e-12 * abs(height):
            return there if lower < height else here
        after = slopes(there)
        inverse = _curved(inverse, there - here, after - steep)
        here, height, steep = there, lower, after
    return here


def _downhill(
    function: Callable[[FloatArray], float],
    here: FloatArray,
    height: float,
    way: FloatArray,
    fall: float,
) -> tuple[FloatArray, float]:
    """The first of ever shorter steps that gets down as far as the slope lets expect."""
    length = min(1.0, 2.0 / float(np.abs(way).max() or 1.0))
    while length > 1e-12:
        there = here + length * way
        lower = float(function(there))
        if lower <= height + 1e-4 * length * fall:
            return there, lower
        length /= 2
    return here, height


def _slope(function: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    moves = STEP * np.eye(len(at))
    return np.array([(function(at + m) - function(at - m)) / (2 * STEP) for m in moves])


def _curved(inverse: FloatArray, moved: FloatArray, turned: FloatArray) -> FloatArray:
    """The inverse of the curvature, corrected by what a step has shown of it."""
    along = float(moved @ turned)
    if along <= 1e-14:
        return inverse
    bent = np.eye(len(moved)) - np.outer(moved, turned) / along
    corrected: FloatArray = bent @ inverse @ bent.T + np.outer(moved, moved) / along
    return corrected


Spread = Literal["equal", "best"]

IDENTITY_DIAL = 64 * math.log(2)
"""The largest ln gamma that integers over 2**64 can express short of the identity."""


@dataclass(frozen=True)
class Retention(Method):
    """Retentions that meet every guarantee asked at the least expected error.

    Attributes:
        spread: ``best`` gives each column its own retention, ``equal`` the same to all.
        max_error: instead of guarantees: the strongest whose expected error is within this share
            of the records.
        retention: instead of guarantees: this retention in every column.
        joint: columns that one matrix randomises together: the best for a table of just these.
    """

    spread: Spread = option(
        "best", "One retention for all columns, or for each its own at the same k and epsilon."
    )
    max_error: float | None = option(
        None, "No target: the strongest whose expected error stays at or below this."
    )
    retention: float | None = option(None, "No target: keep each value with this probability.")

    joint: tuple[tuple[str, ...], ...] = option(
        (), "Columns that are randomised together, such as 'age*sex'.", metavar="A*B,C*D",
        read=tables_of,
    )  # fmt: skip

    name: ClassVar[str] = "retention"
    when: ClassVar[str] = "The promise shall hold whatever the data are, and whoever attacks."
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
        """One matrix a column, or one for columns that are tied: impossible combinations, joint."""
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
        divide = _divider(steps, model, self.spread)
        if self.retention is not None:
            retentions = [self.retention] * len(steps)
        elif self.max_error is not None:
            retentions = divide(_dial_of_error(self.max_error, model, divide))
        else:
            retentions = divide(_dial(asked, context, steps, divide))
        mechanism, found = context.within(
            asked, lambda trim: _mechanism(steps, [rho * (1 - trim) for rho in retentions])
        )
        spread = self.spread if self.retention is None else "equal"
        return Plan(
            schema=schema,
            mechanism=mechanism,
            method=self,
            records=records,
            anonymity_set=context.anonymity_set,
            asked=tuple(asked),
            attained=found,
            expected_error=model.at(retentions),
            statistics=_figures(steps, model, retentions, spread),
            smallest_unchanged_group=context.smallest_unchanged_group,
        )

    @classmethod
    def expected_error_of(cls, certificate: Certificate) -> ExpectedError | None:
        """The expected error of the published matrices."""
        mechanism = certificate.mechanism
        if mechanism is None:
            return None
        steps = step_domains(certificate.schema, joint_of(mechanism))
        matrices = {step.columns: step.matrix for step in mechanism}
        retentions = [_kept(step, matrices[step.columns]) for step in steps]
        return ErrorModel(steps, records=certificate.records).at(retentions)

    def errors_of(self, plan: Plan, tables: Sequence[tuple[str, ...]]) -> list[float]:
        """Of whole records, any table."""
        steps = step_domains(plan.schema, joint_of(plan.mechanism))
        model = ErrorModel(steps, records=plan.records, tables=tables)
        found: list[float] = model.errors(retentions_of(steps, plan.mechanism)).tolist()
        return found

    def with_joint(self, joint: tuple[tuple[str, ...], ...]) -> Retention | None:
        """One matrix for columns of a tie; what was stated stays."""
        return None if self.joint else replace(self, joint=joint)


def retentions_of(steps: Sequence[StepDomain], mechanism: Mechanism) -> list[float]:
    """How much each step keeps."""
    matrices = {step.columns: step.matrix for step in mechanism}
    return [_kept(step, matrices[step.columns]) for step in steps]


NOTHING = 1e-15
"""Retentions below this are what rounding leaves of none."""


def _kept(step: StepDomain, matrix: TransitionMatrix | None) -> float:
    """The retention of the values of a step that move."""
    if matrix is None:
        raise InvalidNumber("Retention uses one matrix a step.")
    free = step.size - len(step.fixed)
    stays = float(matrix.diagonal.min())
    kept = stays - (1 - stays) / (free - 1) if free > 1 else 1.0
    return kept if kept > NOTHING else 0.0


# -- the dial ------------------------------------------------------------------------------


def _dial(
    asked: Sequence[Guarantee],
    context: DesignContext,
    steps: Sequence[StepDomain],
    divide: Callable[[float], list[float]],
) -> float:
    """The largest total of ln gamma that meets every target."""
    bounded = [guarantee for guarantee in asked if not isinstance(guarantee, Searched)]
    log_gamma = min(
        (context.log_gamma_for(one, method="retention") for one in bounded), default=math.inf
    )
    searched = [guarantee for guarantee in asked if isinstance(guarantee, Searched)]
    _refuse_fixed(steps, finite=bool(searched) or log_gamma < math.inf)
    for guarantee in searched:
        log_gamma = _searched(guarantee, context, steps, divide, most=min(log_gamma, LARGEST_DIAL))
    if log_gamma <= 0:
        raise unattainable(*searched)
    return log_gamma


def _searched(
    guarantee: Searched,
    context: DesignContext,
    steps: Sequence[StepDomain],
    divide: Callable[[float], list[float]],
    *,
    most: float,
) -> float:
    """The largest total that meets a target which has no formula for it."""
    return largest_dial(
        lambda log_gamma: guarantee.met_by(context.fixed(_mechanism(steps, divide(log_gamma)))),
        low=0.0,
        high=most,
    )


def _dial_of_error(
    max_error: float, model: ErrorModel, divide: Callable[[float], list[float]]
) -> float:
    """The smallest total whose expected error is within bounds: errors fall as the total grows."""
    from scipy.optimize import brentq

    low, high = 1e-6, IDENTITY_DIAL * len(model.steps)

    def excess(log_gamma: float) -> float:
        error = model.mean(divide(log_gamma))
        return math.log(max(error, 1e-300) / max_error)

    if excess(low) <= 0:  # even near pure noise is good enough
        return low
    found = float(brentq(excess, low, high, xtol=1e-12, rtol=1e-12))
    while excess(found) > 0:  # the root may lie a hair on the wrong side
        found *= 1 + 1e-9
    return found


def _refuse_fixed(steps: Sequence[StepDomain], *, finite: bool) -> None:
    """Values that stay as they are make every finite target impossible: say exactly that."""
    fixed = [step.name for step in steps if step.fixed]
    if fixed and finite:
        raise Infeasible(
            f"Values of {', '.join(fixed)} are exempt or kept missing, so their records are "
            "released as they are: no finite epsilon and no k above 1 can hold. Drop the "
            "exemption, or state a retention instead of a target."
        )


# -- dividing it among the steps -----------------------------------------------------------


def _divider(
    steps: Sequence[StepDomain], model: ErrorModel, spread: Spread
) -> Callable[[float], list[float]]:
    """A function from a total of ln gamma to the retention of each step."""
    sizes = [step.size - len(step.fixed) for step in steps]
    if spread == "equal":
        return lambda log_gamma: [_common_retention(log_gamma, sizes)] * len(sizes)
    return lambda log_gamma: _best_retentions(log_gamma, sizes, model)


def _retention(log_gamma: float, size: int) -> float:
    """rho from ln gamma: (gamma - 1) / (gamma + N - 1)."""
    if log_gamma >= IDENTITY_DIAL:
        return 1.0
    excess = math.expm1(log_gamma)
    return excess / (excess + size)


def _common_retention(log_gamma: float, sizes: Sequence[int]) -> float:
    """One rho for all, by bisection on a monotone total [Ikarashi, Alg. 1 to 3]."""
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
    """Divide the dial so that the average error of one- and two-way tables is least."""
    if math.isinf(log_gamma) or log_gamma <= 0 or len(sizes) == 1:
        return [_retention(log_gamma / len(sizes), size) for size in sizes]

    # One score a kind: steps that can be exchanged begin alike, and every slope leaves them so.
    _, first, many = np.unique(model.kinds, return_index=True, return_counts=True)
    counts = np.array(sizes, dtype=np.float64)[first]

    def shares(scores: FloatArray) -> FloatArray:
        own = np.exp(scores - scores.max())
        found: FloatArray = own * (log_gamma / (many * own).sum())
        return found

    def retentions(scores: FloatArray) -> FloatArray:
        own = shares(scores)
        excess = np.expm1(np.minimum(own, IDENTITY_DIAL))
        return np.where(own >= IDENTITY_DIAL, 1.0, excess / (excess + counts))[model.kinds]

    def objective(scores: FloatArray) -> float:
        return math.log(max(model.mean(retentions(scores)), 1e-300))

    def slope(scores: FloatArray) -> FloatArray:
        own, kept = shares(scores), retentions(scores)
        height = model.mean(kept)
        if height < 1e-300:  # nothing is changed, and nothing can be better
            return np.zeros(len(scores))
        excess = np.expm1(np.minimum(own, IDENTITY_DIAL))
        turned = np.where(own >= IDENTITY_DIAL, 0.0, counts * (excess + 1) / (excess + counts) ** 2)
        steep = model.slope(kept)[first] * turned / height
        found: FloatArray = many * own * (steep - steep @ (many * own) / log_gamma)
        return found

    equal = _common_retention(log_gamma, sizes)
    start = np.log([math.log1p(size * equal / (1 - equal)) + 1e-12 for size in sizes])[first]
    better: list[float] = retentions(least(objective, start, slope=slope)).tolist()
    return (
        better if model.mean(better) <= model.mean([equal] * len(sizes)) else [equal] * len(sizes)
    )


# -- the answer -------------------------------------------------------------------


def _mechanism(steps: Sequence[StepDomain], retentions: Sequence[float]) -> Mechanism:
    return Mechanism(
        tuple(
            Step(step.columns, with_fixed(step.labels, step.fixed, retention=rho))
            for step, rho in zip(steps, retentions, strict=True)
        )
    )


def _figures(
    steps: Sequence[StepDomain], model: ErrorModel, retentions: Sequence[float], spread: Spread
) -> Form:
    """What the best division gains over one retention for all, at the same k and epsilon."""
    figures: Form = {"spread": spread}
    if spread == "equal" or not all(0 < rho < 1 for rho in retentions):
        return figures
    sizes = [step.size - len(step.fixed) for step in steps]
    log_gamma = math.fsum(
        math.log1p(size * rho / (1 - rho)) for size, rho in zip(sizes, retentions, strict=True)
    )
    equal = model.mean([_common_retention(log_gamma, sizes)] * len(sizes))
    if math.isfinite(equal):
        figures["gain_over_equal"] = 1 - model.mean(retentions) / equal
    return figures
