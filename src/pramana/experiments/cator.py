"""The optimal matrix against spontaneous recognition [Cator, Sec. 4].

The example with 48 cells and 2,500 records: expected changes, smallest diagonal, loss, the chance
of change against the frequency (Figure 1), and where changed records go.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from pramana.experiments.harness import (
    Experiment,
    Finding,
    Picture,
    Setting,
    Size,
    columns_of,
    scatter,
)
from pramana.methods.optimal.method import ROUNDED
from pramana.methods.optimal.publication import GRIDS, best_on_grid
from pramana.methods.optimal.search import OptimalDesign, optimal_design
from pramana.types import Form, IntArray

TITLE = "The matrix of least loss against spontaneous recognition"

SHAPE = (2, 2, 2, 2, 3)
RECORDS = 2_500
ALPHA = 0.1
EXAMPLE = (
    0, 1, 0, 3, 2, 1, 4, 3, 0, 9, 13, 13, 1, 3, 1, 4, 8, 15, 13, 9, 17, 66, 54, 107,
    2, 2, 3, 13, 16, 18, 8, 11, 15, 58, 70, 88, 12, 13, 18, 63, 69, 77, 58, 65, 86, 430, 434, 524,
)  # fmt: skip
"""The paper's records are not printed. This table has what it says of them: 5 rare combinations, 17
rare cells, 4 changes at the least."""

RARE = (5, 17)
"""Rare combinations and rare cells of the paper's table."""

CHANGES, LEAST_DIAGONAL, DONATED = 4.0, 0.9971, 0.88
PAPER_LOSS = 6.4e-7
CORNERS = 3
"""The cells (0, 0, 0, 0, *), which receive nearly all changed records."""

COMBINATIONS = 104
FREQUENT = 3


def steps(size: Size) -> int:  # noqa: ARG001 - the same for all
    """The example, and the grids."""
    return 2


def run(setting: Setting) -> Experiment:
    """The example by frequent donors, by any, and by the other loss; then coarser grids."""
    table = np.array(EXAMPLE).reshape(SHAPE)
    paper = optimal_design(table, alpha=ALPHA, donors="frequent")
    free = optimal_design(table, alpha=ALPHA)
    divergence = optimal_design(table, alpha=ALPHA, loss="kl")
    setting.advance()
    designs = {"frequent donors": paper, "any donors": free, "divergence": divergence}
    grids = _grids(designs, records=24 if setting.quick else 60)
    setting.advance()
    return Experiment(
        data=(
            "a table with the properties of the paper's 2,500 records, which are not printed: "
            "domain, size, 5 rare combinations, 17 rare cells, 4 changes"
        ),
        findings=(
            *_example_findings(table, paper, free),
            _divergence_finding(free, divergence),
            _grid_finding(grids),
        ),
        tables=_tables(designs) | {"grids": grids},
        pictures={"figure_1": _figure_1(paper)},
        remarks=(
            "Each change moves two cells by 1/n: the loss of 4 changes is 8/n^2 = 1.28e-6, and the "
            "paper prints 4/n^2 = 6.4e-7.",
            f"Any donors: loss {free.loss:.3e} instead of {paper.loss:.3e}, smallest diagonal "
            f"{free.smallest_diagonal:.4f}, {free.given_by(FREQUENT):.0%} from the {FREQUENT} most "
            "frequent cells. Losses are nearly equal, so that the choice of donors is free.",
        ),
    )


def _received(design: OptimalDesign) -> float:
    """The share of changed records that arrives in the three cells of most arrivals."""
    arrivals = np.array(list(design.arrivals().values()))
    return float(arrivals[:CORNERS].sum() / arrivals.sum())


def _rare(table: IntArray) -> tuple[int, int, int]:
    """Combinations (pi, k0), the rare ones among them that are not empty, and rare cells."""

    def rare(counts: IntArray) -> int:
        return int(((counts > 0) & (counts < 1 / ALPHA)).sum())

    others = combinations(range(table.ndim), table.ndim - 3)
    margins = [table.sum(axis=axes) for axes in others]
    return sum(margin.size for margin in margins), sum(map(rare, margins)), rare(table)


def _grids(designs: dict[str, OptimalDesign], *, records: int) -> Form:
    """What publishing on each grid costs, and how many small tables then share a matrix."""
    small = [
        optimal_design({("a",): a, ("b",): b, ("c",): records - a - b}, alpha=ALPHA, width=1)
        for a in range(1, int(1 / ALPHA))
        for b in range(a, (records - a) // 2 + 1)
    ]
    rows = []
    for steps in GRIDS:
        shown = {best_on_grid(d.matrix, steps, d.cells, ALPHA).values.tobytes() for d in small}
        costs = {name: _cost_of_grid(design, steps) for name, design in designs.items()}
        row = {"steps": len(steps), "tables": len(small), "matrices": len(shown)}
        rows.append(row | costs)
    return columns_of(rows)


def _cost_of_grid(design: OptimalDesign, steps: tuple[float, ...]) -> float:
    """The share of what is minimised that the grid adds."""
    published = best_on_grid(design.matrix, steps, design.cells, ALPHA)
    return design.objective_of(published) / design.objective_of(design.matrix) - 1


def _loss_by_covariance(design: OptimalDesign) -> float:
    """l2 from the covariance of the released counts: a second way to the closed form."""
    P, numbers = design.matrix.values, design.numbers
    covariance = np.diag(numbers @ P) - P.T @ (numbers[:, None] * P)
    inverse = np.linalg.inv(P)
    return float(np.trace(inverse.T @ covariance @ inverse) / numbers.sum() ** 2)


def _example_findings(
    table: IntArray, design: OptimalDesign, free: OptimalDesign
) -> tuple[Finding, ...]:
    total, rare, cells = _rare(table)
    predicted, by_covariance = 2 * design.expected_changes / RECORDS**2, _loss_by_covariance(design)
    agree = abs(design.loss / predicted - 1) < 0.05 and abs(by_covariance / design.loss - 1) < 1e-6
    more = design.loss / free.loss - 1
    return (
        Finding(
            "Are there 104 combinations of three variables and their values?",
            "104; 5 of them rare, 17 rare cells",
            f"{total}; {rare} of them rare, {cells} rare cells",
            (total, rare, cells) == (COMBINATIONS, *RARE),
            "exactly 104, 5 and 17",
        ),
        Finding(
            "Do few changes suffice for alpha = 0.1?",
            f"{CHANGES:.0f} of 2,500 records on average, smallest diagonal {LEAST_DIAGONAL}",
            f"{design.expected_changes:.1f} records, smallest diagonal "
            f"{design.smallest_diagonal:.4f}, no bound imposed; worst posterior "
            f"{design.attained.alpha:.6f}",
            abs(design.expected_changes - CHANGES) < 0.1
            and abs(design.smallest_diagonal - LEAST_DIAGONAL) < 5e-4
            and design.attained.alpha <= ALPHA,
            "4 changes within 0.1, the diagonal within 0.0005, alpha at most 0.1",
        ),
        Finding(
            "Is the loss 2 E[changes] / n^2 near the identity?",
            "not printed",
            f"{design.loss:.3e}; by that formula {predicted:.3e}; from the covariance of the "
            f"released counts {by_covariance:.3e}",
            agree,
            "within 5 % of the formula, and the covariance within 1e-6",
        ),
        Finding(
            "Is the loss 6.4e-07?",
            f"{PAPER_LOSS} for 4 changes",
            f"{design.loss:.3e}, {design.loss / PAPER_LOSS:.2f} times as much",
            abs(design.loss / PAPER_LOSS - 1) < 0.05,
            "within 5 %",
            "the paper's number is the changes over n^2, and a change moves two cells by "
            "1/n: closed form, formula and covariance all give twice as much"
            if agree and abs(design.loss / PAPER_LOSS - 2) < 0.05
            else "",
        ),
        Finding(
            "Is a chance of change that is linear in the frequency (Figure 1) as good?",
            "the optimal matrix that it found is almost linear",
            f"meets the condition at {more:+.2%} of the least loss: the optimum is flat",
            design.attained.alpha <= ALPHA and -0.001 < more < 0.1,  # less refutes the optimum
            "meets it at no less loss than the optimum, and less than 10 % more",
        ),
        Finding(
            "Do changed records go to a few cells that cover the rare combinations?",
            f"0.99999 of them to {CORNERS} cells",
            f"{_received(design):.5f} of them to {CORNERS} cells",
            _received(design) > 0.9999,
            "more than 0.9999 of them",
        ),
        Finding(
            "Are the changed records mostly of the most frequent cells?",
            f"{DONATED:.0%} from the three most frequent",
            f"{design.given_by(FREQUENT):.0%} from the {FREQUENT} most frequent",
            abs(design.given_by(FREQUENT) - DONATED) < 0.05,
            "88 % within 5 points",
        ),
    )


def _divergence_finding(free: OptimalDesign, kl: OptimalDesign) -> Finding:
    return Finding(
        "Does the Kullback-Leibler loss lead to another matrix?",
        "named and not minimised",
        f"its divergence is {kl.divergence:.2e} instead of {free.divergence:.2e}, its squared "
        f"error {kl.loss:.3e} instead of {free.loss:.3e}; {kl.given_by(FREQUENT):.0%} of its "
        f"changes are from the {FREQUENT} most frequent cells",
        kl.divergence < free.divergence
        and kl.loss > (1 - 1e-3) * free.loss
        and kl.attained.alpha <= ALPHA,
        "less divergence and no less squared error than the least squared error, alpha",
    )


def _grid_finding(grids: Form) -> Finding:
    """The least cost of a grid is small for every design, and coarse steps hide a table."""
    steps, tables, matrices = (grids[name] for name in ("steps", "tables", "matrices"))
    costs = {
        name: grid for name, grid in grids.items() if name not in ("steps", "tables", "matrices")
    }
    return Finding(
        "Does publishing on a grid of probabilities cost little?",
        "not discussed",
        "; ".join(
            f"{many} steps a decade: "
            + ", ".join(f"{name} {by_place[place]:+.2%}" for name, by_place in costs.items())
            + f", {tables[place]} tables share {matrices[place]} matrices"
            for place, many in enumerate(steps)
        ),
        all(min(by_place) <= ROUNDED for by_place in costs.values())
        and matrices[0] < matrices[-1] <= tables[0],
        f"at most {ROUNDED:.0%} more of what is minimised on some grid, and fewer matrices on the "
        "coarsest grid than on the finest",
    )


def _tables(designs: dict[str, OptimalDesign]) -> dict[str, Any]:
    """All designs; the chance of change and the arrivals of the first one by cell."""
    first = next(iter(designs.values()))
    names = ("expected_changes", "smallest_diagonal", "loss", "divergence", "gap")
    rows = [
        {"design": name}
        | {what: getattr(design, what) for what in names}
        | {"worst_posterior": design.attained.alpha}
        for name, design in designs.items()
    ]
    chances, arrivals = first.chance_of_change(), first.arrivals()
    return {
        "designs": columns_of(rows),
        "figure_1": {
            "cell": [str(cell) for cell in chances],
            "frequency": [frequency for frequency, _ in chances.values()],
            "chance_of_change": [chance for _, chance in chances.values()],
        },
        "arrivals": {
            "cell": [str(cell) for cell in arrivals],
            "expected_records": list(arrivals.values()),
        },
    }


def _figure_1(design: OptimalDesign) -> Picture:
    title = "Figure 1: chance of change against frequency"
    frequency, chance = zip(*design.chance_of_change().values(), strict=True)
    series = {"cells that occur": (frequency, chance)}
    return scatter(title, "frequency of the cell", "chance of change", series)
