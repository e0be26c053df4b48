"""Method ``optimal``: its plan, on the joint cells of all randomised columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Final, Literal, get_args

from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import records_that, text_up
from pramana.engine.base import Table
from pramana.errors import DoesNotHold, Infeasible, SingularMatrix
from pramana.guarantees.base import Guarantee, only_the_owner
from pramana.guarantees.claims import attained
from pramana.guarantees.spontaneous_recognition import (
    Choices,
    SpontaneousRecognition,
    choices_of_keys,
)
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.sparse_rows import ListedCells
from pramana.methods.base import Method, option, single_target
from pramana.methods.context import DesignContext, randomised
from pramana.methods.optimal.cells import DONORS, LOSSES, Donors, KeyCells, Loss, numbers_by_label
from pramana.methods.optimal.covering import WHOLE, listed_cells
from pramana.methods.optimal.publication import (
    BIASED,
    FEW_CELLS,
    GRIDS,
    as_listed,
    best_on_grid,
    bytes_of_certificate,
    bytes_of_matrix,
    bytes_of_records,
    bytes_of_values,
    estimated_changes,
    published_errors,
    with_decoys,
)
from pramana.methods.optimal.search import OptimalDesign, optimal_design, require_alpha
from pramana.methods.plan import Plan
from pramana.release.certificate import Certificate
from pramana.schema.joint_cells import CellRules, Counts
from pramana.schema.opened_table import OpenedTable
from pramana.schema.schema import Schema, require_keys
from pramana.types import Entries, FloatArray

Publish = Literal["fitting", "always", "never"]

LITTLE: Final = 8 * 1024
"""A certificate of at most this many bytes is published, however few records there are."""

WITHHELD: Final = (
    "The matrix is withheld{why}: analysts use released counts of single keys, with the errors "
    "that the certificate states, and no tables of several keys or of keys with other columns. "
    "{instead}--steward-folder keeps it for audits."
)
INSTEAD: Final = (
    "With fewer or coarser keys it is smaller; --publish-matrix always publishes it in any case;  "
)

LISTED_FOR = 0.95
"""Targets are listed for an aim this share of the alpha asked: the grid may lower the aim."""

ROUNDED = 0.01
"""The share of the loss that a coarse grid may cost; otherwise a finer grid is used."""

MOST_AIMS = 8
"""The most times that the aim is lowered where columns released unchanged split the counts."""


@dataclass(frozen=True)
class Optimal(Method):
    """The least loss under condition C1 [Cator], on the joint cells of all randomised columns.

    Columns that are released unchanged can be known too and split the counts: the aim is then
    lowered until the target holds with them.

    Attributes:
        publish: whether the matrix is published: where it takes no more room than the records, or
            always, or never.
        loss: the squared error of the estimated shares (l2), or the Kullback-Leibler divergence to
            second order (kl), which is for up to 256 joint cells.
        donors: any, or frequent cells in proportion to their frequency, as far as this costs at
            most 1 % more loss.
    """

    publish: Publish = option(
        "fitting",
        "Publish the matrix only if it is no larger than the data, always, or never.",
        flag="--publish-matrix",
    )
    loss: Loss = option(
        "l2", "Loss to minimise: the squared error of shares, or Kullback-Leibler divergence."
    )
    donors: Donors = option(
        "any",
        "Cells whose records change: any, or frequent cells at a cost of at most 1 % of the loss.",
    )

    name: ClassVar[str] = "optimal"
    when: ClassVar[str] = (
        "Up to ten keys; an acquaintance who knows a few of them must rarely recognise a person."
    )
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
        counts = context.counts.margin(*(column.name for column in schema.randomised))
        width, choices = _known_together(target, schema, counts.columns)
        cells = _cells(target.alpha, schema, counts, width, choices)

        @cache
        def solve(alpha: float) -> OptimalDesign:
            """Before the matrix is put on a grid; with less effort for lower aims."""
            roughly = alpha < target.alpha
            return optimal_design(
                counts, alpha=alpha, width=width, choices=choices, cells=cells, roughly=roughly,
                loss=self.loss, donors=self.donors,
            )  # fmt: skip

        solve(target.alpha)  # where no matrix meets it, none on a grid does
        reached = 0.0
        tried = _grids(cells, self.donors)
        for place, (steps, most) in enumerate(tried):
            aim = target.alpha
            for _ in range(MOST_AIMS):
                try:
                    design = solve(aim)
                    rounded = best_on_grid(design.matrix, steps, design.cells, aim)
                    if design.objective_of(rounded) > most * design.objective_of(design.matrix):
                        break
                    plan = self._plan(design.with_matrix(rounded), target, context)
                except (Infeasible, SingularMatrix):
                    if aim == target.alpha and place == len(tried) - 1:
                        raise
                    break
                reached = next(
                    g.alpha for g in plan.attained if isinstance(g, SpontaneousRecognition)
                )
                if reached <= target.alpha:
                    return self._withheld_if_large(replace(plan, asked=(target,)), context)
                if reached >= 1:
                    break
                aim *= 0.97 * target.alpha / reached
            if reached >= 1:
                break
        needed = 1 / target.alpha if target.alpha else math.inf
        raise context.too_few_records(
            f"alpha = {text_up(target.alpha, 6)} cannot be met: columns that are released "
            "unchanged can be known like any key, and with them alpha is "
            f"{text_up(reached, 3)}.",
            needed,
            lower="raise alpha",
        )

    def _plan(
        self, design: OptimalDesign, target: SpontaneousRecognition, context: DesignContext
    ) -> Plan:
        """The plan of a design for the randomised columns, with what it attains."""
        mechanism = Mechanism((Step(design.counts.columns, design.matrix),))
        computed = () if context.schema.known else (design.attained,)
        return context.plan(
            self,
            mechanism,
            (),
            attained(context.counted(mechanism), (target,), computed=computed),
            statistics={
                "loss": design.loss,
                "expected_changes": design.expected_changes,
                "smallest_diagonal": design.smallest_diagonal,
                "gap": design.gap,
                "unchanged": design.unchanged,
                "worst_keys": list(design.attained.keys),
            }
            | ({"divergence": design.divergence} if self.loss == "kl" else {})
            | (
                # The share of changes from the most frequent cells, and what the preference costs
                {"from_three_cells": design.given_by(3), "donors_cost": design.donors_cost}
                if self.donors == "frequent"
                else {}
            ),
        )

    def estimate_changes(
        self, context: DesignContext, asked: Sequence[Guarantee]
    ) -> tuple[float, float]:
        """By the combinations of keys that too few people share."""
        target = single_target(asked, SpontaneousRecognition, method=self.name)
        require_alpha(target.alpha, context.records)
        names = tuple(column.name for column in context.schema.randomised)
        target = replace(target, choices=target.choices or context.schema.choices)
        width, choices = _known_together(target, context.schema, names)
        combinations = choices_of_keys(names, width=width, choices=choices)
        totals = (context.counts.margin(*keys).numbers for keys in combinations)
        return estimated_changes(totals, target.alpha)

    def release(self, plan: Plan, opened: OpenedTable, keystream: Keystream) -> tuple[Table, Plan]:
        """As every matrix; the published one has decoys among the cells without records."""
        context = DesignContext.of(plan.schema, opened)
        (step,) = plan.mechanism
        if isinstance(step.matrix, ListedCells):
            lacking = int(context.records - _numbers(step, context).sum())
            if lacking:
                raise DoesNotHold(
                    f"The plan was made for another table: {records_that(lacking, 'has', 'have')} "
                    "a combination of keys that does not occur there. Design again with these data."
                )
        # Whether the matrix is published is decided anew for these records
        plan = replace(plan, kind=None, public={})
        made, plan = randomised(plan, opened, keystream, context=context)
        plan = self._withheld_if_large(plan, context)
        if plan.kind is not None:
            return made, plan
        (step,) = plan.mechanism
        mechanism = Mechanism((_published(step, context, keystream),))
        # Decoys have no records, so that what rests on counts stays the same
        owners = tuple(claim for claim in plan.attained if only_the_owner(type(claim)))
        reached = attained(context.counted(mechanism), plan.asked, computed=owners)
        return made, replace(plan, mechanism=mechanism, attained=reached)

    def _withheld_if_large(self, plan: Plan, context: DesignContext) -> Plan:
        """The plan with its matrix withheld, where it is not to be published."""
        (step,) = plan.mechanism
        notice = WITHHELD.format(why="", instead="") if self.publish == "never" else ""
        if self.publish == "fitting":
            notice = _too_large(step, context)
        if not notice:
            return plan
        return replace(
            plan,
            kind=self.other_kinds[0],
            public=published_errors(step, _numbers(step, context)),
            statistics={**plan.statistics, "about_matrices": [notice]},
        )

    @classmethod
    def expected_fields(cls, certificate: Certificate) -> tuple[Entries, Entries]:
        """Options that are not the usual ones; how counts are read without the matrix."""
        options = cls(**certificate.options).disclosed()
        return options, {} if certificate.nature.shows_matrices else BIASED

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Method | None:
        """The same method; whether the matrix is published does not change it."""
        return replace(cls(**certificate.options), publish="never")

    def disclosed(self) -> Entries:
        """What the design minimised and whose records may change, where not as usual."""
        chosen = {"loss": self.loss, "donors": self.donors}
        return {name: value for name, value in chosen.items() if value not in ("l2", "any")}


def _grids(cells: KeyCells, donors: Donors) -> tuple[tuple[tuple[float, ...], float], ...]:
    """The grids to try in turn, each with the largest loss allowed, as a multiple of the least."""
    if cells.size <= FEW_CELLS:  # the coarsest grid reveals least
        return tuple((steps, math.inf) for steps in GRIDS)
    # Coarse steps would cost thousands of cells far more than they cost a few, and change donors
    if cells.partial or donors == "frequent":
        return ((GRIDS[-1], math.inf),)
    limited = tuple((steps, 1 + ROUNDED) for steps in GRIDS[:-1])
    return limited + tuple((steps, math.inf) for steps in GRIDS[::-1])


def _too_large(step: Step, context: DesignContext) -> str:
    """A notice on a matrix that takes more room than the records; empty for one that fits."""
    matrix = _published(step, context, Keystream.from_seed(0)).matrices[0]
    room = bytes_of_certificate(matrix, context)
    if room <= LITTLE:
        return ""
    records = bytes_of_records(step, _numbers(step, context), context, enough=room)
    most = max(records, LITTLE)
    if room <= records or (bytes_of_values(context) > most and bytes_of_matrix(matrix) <= most):
        return ""  # in the second case nothing would fit without the matrix either
    why = (
        f", since a certificate with it would take about {room / 1000:,.0f} kB, and the released "
        f"records may take as little as {records / 1000:,.0f} kB"
    )
    return WITHHELD.format(why=why, instead=INSTEAD)


def _published(step: Step, context: DesignContext, keystream: Keystream) -> Step:
    """What is published of a step, with decoys, in the form that takes least room."""
    columns = [context.schema.column(name).labels for name in step.columns]
    rules = CellRules.of(context.schema, step.columns, columns)
    numbers = _numbers(step, context)
    matrix = with_decoys(step.matrices[0], numbers, keystream, columns=columns, rules=rules)
    return Step(step.columns, as_listed(matrix))


def _numbers(step: Step, context: DesignContext) -> FloatArray:
    """The number of records in each cell of the matrix."""
    return numbers_by_label(step.labels, context.counts.margin(*step.columns))


def _cells(alpha: float, schema: Schema, counts: Counts, width: int, choices: Choices) -> KeyCells:
    """All cells that can exist, or the relevant ones where they are too many to enumerate."""
    rules = CellRules.of(schema, counts.columns, counts.labels)
    if math.prod(counts.sizes) <= WHOLE:
        return KeyCells.of(counts, width=width, choices=choices, rules=rules)
    return listed_cells(counts, LISTED_FOR * alpha, rules=rules, width=width, choices=choices)


def _known_together(
    target: SpontaneousRecognition, schema: Schema, names: tuple[str, ...]
) -> tuple[int, Choices]:
    """The width and the choices, as far as they are about randomised columns."""
    randomised_keys = (tuple(key for key in keys if key in names) for keys in target.choices)
    width = min(target.width, len(names)) if schema.known else target.width
    return width, tuple(dict.fromkeys(keys for keys in randomised_keys if keys))
