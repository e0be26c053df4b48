"""Method ``optimal``: its plan, on the joint cells of all randomised columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import records_that, text_up
from pramana.engine.base import Table
from pramana.errors import DoesNotHold, Infeasible, SingularMatrix
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import attained
from pramana.guarantees.correct_match import frequencies_by_label
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition, choices_of_keys
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.mechanisms.transition import Dense, Label, TransitionMatrix
from pramana.methods.base import Method, fingerprint, option, single_target
from pramana.methods.context import DesignContext, randomised
from pramana.methods.expected_error import StepDomain, step_domains
from pramana.methods.optimal.cells import DONORS, LOSSES, WHOLE, Donors, KeyCells, Loss
from pramana.methods.optimal.listing import listed_cells
from pramana.methods.optimal.publication import (
    BIASED,
    GRIDS,
    as_listed,
    best_on_grid,
    estimated_changes,
    published_errors,
    room_of_certificate,
    room_of_matrix,
    room_of_records,
    room_of_values,
    with_decoys,
    with_listed_decoys,
)
from pramana.methods.optimal.search import OptimalDesign, optimal_design, require_alpha
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.joint_cells import CellRules, Counts
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema, require_keys
from pramana.types import Entries, FloatArray

Solver = Callable[[float], OptimalDesign]

Publish = Literal["fitting", "always", "never"]

LITTLE: Final = 8 * 1024
"""A certificate of no more bytes is little room, however few records there are."""

LOST: Final = (
    "The matrix is withheld{why}: analysts read single keys as they stand, with the errors that "
    "the certificate states, and nothing that crosses keys with each other or with other columns. "
    "{instead}--steward-folder keeps it for audits."
)
INSTEAD: Final = (
    "Fewer or coarser keys need a smaller one; --publish-matrix always publishes it all the same; "
)

LISTED_FOR = 0.95
"""Targets are listed for an aim so much below the one that is asked for."""

MOST_AIMS = 8
"""So often the aim is lowered where columns released as they are split the counts."""


@dataclass(frozen=True)
class Optimal(Method):
    """The least loss under condition C1 [Cator], on the joint cells of all randomised columns.

    Columns that are released as they are can be looked at too and split the counts: the aim is then
    lowered until the target holds with them.

    Attributes:
        publish: whether the matrix is published: where it takes no more room than the records, or
            always, or never.
        loss: the squared error of the estimated shares (l2), or the Kullback-Leibler divergence to
            second order (kl), which is for up to 256 joint cells.
        donors: any, or frequent cells alone, each with a chance in proportion to its frequency.
    """

    publish: Publish = option(
        "fitting",
        "Publish the matrix where it takes no more room than the records, always, or never.",
        flag="--publish-matrix",
    )
    loss: Loss = option(
        "l2", "What is least: the squared error of shares, or their Kullback-Leibler divergence."
    )
    donors: Donors = option(
        "any", "Whose records may change: any, or records of frequent cells, by their frequency."
    )

    name: ClassVar[str] = "optimal"
    when: ClassVar[str] = "Up to ten keys, and who looks at some of them shall recognise nobody."
    aims: ClassVar[tuple[str, ...]] = ("spontaneous-recognition",)
    owner_statistics: ClassVar[frozenset[str] | None] = frozenset()
    kind: ClassVar[str] = "published"
    other_kinds: ClassVar[tuple[str, ...]] = ("sealed",)
    data_dependent: ClassVar[bool] = True
    base_cost: ClassVar[int] = 12
    quick_keys: ClassVar[int | None] = 6

    def __post_init__(self) -> None:
        require_choice("publish", self.publish, get_args(Publish))
        require_choice("loss", self.loss, LOSSES)
        require_choice("donors", self.donors, DONORS)

    def design(self, context: DesignContext, asked: Sequence[Guarantee]) -> Plan:
        """One joint matrix; refused where anything but one alpha is asked."""
        schema = context.schema
        require_keys(schema)
        target = single_target(asked, SpontaneousRecognition, method=self.name)
        target = replace(target, choices=target.choices or schema.choices)
        listed = _listed(target, context)
        solve = _solver(target, context, listed, self)
        solve(target.alpha)  # where no matrix meets it, none on a grid does
        # Coarse steps would cost thousands of cells far more than they cost a few.
        for steps in GRIDS if listed is None else GRIDS[-1:]:
            plan, reached = self._lowered(target, context, steps, solve)
            if plan is not None:
                return self._told(replace(plan, asked=(target,)), context)
            if reached >= 1:
                break
        needed = 1 / target.alpha if target.alpha else math.inf
        raise context.too_few_records(
            f"alpha = {text_up(target.alpha, 6)} cannot be met: columns released as they are "
            f"can be looked at like any key, and {text_up(reached, 3)} is what comes out "
            "with them.",
            needed,
            lower="raise alpha",
        )

    def estimate_changes(
        self, context: DesignContext, asked: Sequence[Guarantee]
    ) -> tuple[float, float]:
        """By the combinations of keys that too few people share."""
        target = single_target(asked, SpontaneousRecognition, method=self.name)
        require_alpha(target.alpha, context.records)
        names = tuple(column.name for column in context.schema.randomised)
        stated = target.choices or context.schema.choices
        width, choices = _looked_at(replace(target, choices=stated), context.schema, names)
        chosen = choices_of_keys(names, width=width, choices=choices)
        totals = (context.counts.margin(*keys).numbers for keys in chosen)
        return estimated_changes(totals, target.alpha)

    def _lowered(
        self,
        target: SpontaneousRecognition,
        context: DesignContext,
        steps: tuple[float, ...],
        solve: Solver,
    ) -> tuple[Plan | None, float]:
        """The plan with its matrix on a grid whose aim is low enough, and what was reached."""
        aim, reached = target.alpha, 0.0
        for _ in range(MOST_AIMS):
            try:
                plan, reached = self._at(aim, target, context, steps, solve)
            except (Infeasible, SingularMatrix):
                if aim == target.alpha and steps == GRIDS[-1]:
                    raise
                return None, reached
            if reached <= target.alpha:
                return plan, reached
            if reached >= 1:
                break
            aim *= 0.97 * target.alpha / reached
        return None, reached

    def _at(
        self,
        alpha: float,
        target: SpontaneousRecognition,
        context: DesignContext,
        steps: tuple[float, ...],
        solve: Solver,
    ) -> tuple[Plan, float]:
        """The plan of a design for this alpha on the randomised columns, and what it reaches."""
        schema = context.schema
        names = tuple(column.name for column in schema.randomised)
        counts = context.counts.margin(*names)
        design = solve(alpha)
        design = design.with_matrix(best_on_grid(design.matrix, steps, design.cells, alpha))
        matrix = design.matrix if len(names) > 1 else _single(design.matrix)
        mechanism = Mechanism((Step(names, matrix),))
        computed = () if schema.known else (design.attained,)
        found = attained(context.counted(mechanism), (target,), computed=computed)
        plan = Plan(
            schema=schema,
            mechanism=mechanism,
            method=self,
            records=counts.total,
            anonymity_set=context.anonymity_set,
            asked=(),
            attained=found,
            statistics={
                "loss": design.loss,
                "expected_changes": design.expected_changes,
                "smallest_diagonal": design.smallest_diagonal,
                "gap": design.gap,
                "unchanged": design.unchanged,
                "worst_keys": list(design.attained.keys),
            }
            | ({"divergence": design.divergence} if self.loss == "kl" else {}),
            basis=fingerprint(context.counts),
        )
        return plan, next(g.alpha for g in found if isinstance(g, SpontaneousRecognition))

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """As every matrix; the one that is published has decoys among the cells nobody is in."""
        context = DesignContext.of(plan.schema, opened)
        _require_listed(plan, context)
        # Whether the matrix is published is decided anew for these people.
        plan = replace(plan, kind=None, public={})
        made, plan = randomised(plan, opened, keystream, context=context)
        plan = self._told(plan, context)
        if plan.kind is not None:
            return made, plan
        (step,) = plan.mechanism
        numbers = _in_order(step, context.counts)
        mechanism = Mechanism((_with_decoys(step, plan.schema, numbers, keystream),))
        # Decoys have no records, so that what rests on counts is as it was.
        owners = tuple(own for own in plan.attained if only_the_owner(type(own)))
        found = attained(context.counted(mechanism), plan.asked, computed=owners)
        return made, replace(plan, mechanism=mechanism, attained=found)

    def _told(self, plan: Plan, context: DesignContext) -> Plan:
        """The plan with its matrix withheld, where it is not to be published."""
        (step,) = plan.mechanism
        numbers = _in_order(step, context.counts)
        said = LOST.format(why="", instead="") if self.publish == "never" else ""
        said = _too_large(step, numbers, context) if self.publish == "fitting" else said
        if not said:
            return plan
        figures = {**plan.statistics, "about_matrices": [said]}
        public = published_errors(step, numbers)
        return replace(plan, kind=self.other_kinds[0], public=public, statistics=figures)

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """Options that are not the usual ones; how counts are read without the matrix."""
        options = cls(**certificate.options).disclosed()
        return options, {} if certificate.nature.shows_matrices else BIASED

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The same whatever is said of publishing: it leaves the matrix as it is."""
        return replace(cls(**certificate.options), publish="never")

    def disclosed(self) -> Entries:
        """What the design minimised and whose records may change, where not as usual."""
        chosen = {"loss": self.loss, "donors": self.donors}
        return {name: value for name, value in chosen.items() if value not in ("l2", "any")}


def _too_large(step: Step, numbers: FloatArray, context: DesignContext) -> str:
    """What to say of a matrix that takes more room than the records; nothing of one that fits."""
    shown = _with_decoys(step, context.schema, numbers, Keystream.from_seed(0))
    room = room_of_certificate(shown.matrices[0], context)
    if room <= LITTLE:
        return ""
    records = room_of_records(step, numbers, context, enough=room)
    most = max(records, LITTLE)
    if room_of_values(context) > most and room_of_matrix(shown.matrices[0]) <= most:
        return ""  # no certificate is without the values: nothing would fit without the matrix
    if room <= records:
        return ""
    why = (
        f", since a certificate with it would take about {room / 1000:,.0f} kB, and the released "
        f"records may take as little as {records / 1000:,.0f} kB"
    )
    return LOST.format(why=why, instead=INSTEAD)


def _with_decoys(step: Step, schema: Schema, numbers: FloatArray, keystream: Keystream) -> Step:
    """What is published of a step, in the form that takes least room."""
    matrix = step.matrices[0]
    if isinstance(matrix, ListedCells):
        labels = [schema.column(name).labels for name in step.columns]
        rules = CellRules.of(schema, step.columns, labels)
        matrix = with_listed_decoys(matrix, numbers, keystream, columns=labels, rules=rules)
    else:
        stays = _fixed_cells(schema, step.columns)
        matrix = as_listed(with_decoys(matrix, numbers, keystream, stays=stays))
    return Step(step.columns, matrix)


def _solver(
    target: SpontaneousRecognition, context: DesignContext, listed: KeyCells | None, method: Optimal
) -> Solver:
    """The design for an alpha before it is put on a grid, with less effort for lower aims."""
    schema = context.schema
    names = tuple(column.name for column in schema.randomised)
    counts = context.counts.margin(*names)
    cells = None if listed is not None else _joint_cells(schema, counts)
    width, choices = _looked_at(target, schema, names)

    @cache
    def solve(alpha: float) -> OptimalDesign:
        return optimal_design(
            counts,
            alpha=alpha,
            width=width,
            choices=choices,
            possible=None if cells is None else cells.labels,
            fixed=() if cells is None else cells.fixed,
            listed=listed,
            roughly=alpha < target.alpha,
            loss=method.loss,
            donors=method.donors,
        )

    return solve


def _looked_at(
    target: SpontaneousRecognition, schema: Schema, names: tuple[str, ...]
) -> tuple[int, tuple[tuple[str, ...], ...]]:
    """The width and the choices, as far as they are about randomised columns."""
    moved = (tuple(key for key in keys if key in names) for keys in target.choices)
    width = min(target.width, len(names)) if schema.known else target.width
    return width, tuple(dict.fromkeys(keys for keys in moved if keys))


def _listed(target: SpontaneousRecognition, context: DesignContext) -> KeyCells | None:
    """The cells that matter, where the joint cells are too many to write out."""
    schema = context.schema
    names = tuple(column.name for column in schema.randomised)
    if math.prod(len(column.labels) for column in schema.randomised) <= WHOLE:
        return None
    counts = context.counts.margin(*names)
    width, choices = _looked_at(target, schema, names)
    rules = CellRules.of(schema, names, counts.labels)
    # The aim is lowered where the grid takes too much: targets for that are listed as well.
    aim = LISTED_FOR * target.alpha
    return listed_cells(counts, aim, rules=rules, width=width, choices=choices)


def _require_listed(plan: Plan, context: DesignContext) -> None:
    """Refuse people whose cells the matrix does not list: it was made for others."""
    (step,) = plan.mechanism
    if not isinstance(step.matrix, ListedCells):
        return
    own = frequencies_by_label(context.counts.margin(*step.columns))
    lacking = sum(number for cell, number in own.items() if cell not in step.matrix.positions)
    if lacking:
        raise DoesNotHold(
            f"The plan was made for another table: {records_that(lacking, 'has', 'have')} a "
            "combination of keys that nobody had there. Design again with these data."
        )


def _in_order(step: Step, counts: Counts) -> FloatArray:
    """How many records are in each cell of the matrix."""
    own = frequencies_by_label(counts.margin(*step.columns))
    return np.array([own.get(label, 0) for label in step.labels], dtype=np.float64)


def _fixed_cells(schema: Schema, columns: Sequence[str]) -> Callable[[Label], bool]:
    """Whether a cell holds a value that must stay as it is."""
    fixed = [set(schema.column(name).fixed) for name in columns]

    def stays(cell: Label) -> bool:
        values = cell if len(columns) > 1 else (cell,)
        return any(value in own for value, own in zip(values, fixed, strict=True))

    return stays


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
