"""How estimates look in a terminal: a table with bars and intervals."""

from __future__ import annotations

import csv
import itertools
import math
import sys
from typing import TYPE_CHECKING

from pramana.base.text import percent
from pramana.cli.rendering import bullet, out, table_of
from pramana.errors import InputError

if TYPE_CHECKING:
    from pramana.analysis.contrasts import Contrast
    from pramana.analysis.estimates import Estimate
    from pramana.analysis.independence import IndependenceTest
    from pramana.analysis.regression_results import Regression
    from pramana.mechanisms.transition import Label
    from pramana.schema.labels import Labels

__all__ = [
    "contrast_of",
    "show_contrast",
    "show_estimate",
    "show_independence",
    "show_regression",
    "write_csv",
]

BAR = 24
"""The longest bar, in letters."""

MOST_ROWS = 200
"""So many cells are shown; --json and --csv give all of them."""


def show_estimate(estimate: Estimate, labels: Labels) -> None:
    """One row a cell; codes, by which cells are asked for, with their labels."""
    console = out()
    words = estimate.words
    cells = list(estimate.cells)
    numbers = (abs(cell["estimate"]) for cell in cells if cell["estimate"] is not None)
    longest = max(filter(math.isfinite, numbers), default=0.0)
    figures = [name for name in estimate.figures if name not in ("low", "high")]
    ends = [f"{percent(estimate.level, 6)} interval"]
    if estimate.no_interval:
        figures, ends = figures[:1], []
    heads = [*map(labels.title, estimate.by), estimate.what, *figures[1:], *ends, ""]
    rows = [
        (
            *(words[name][cell[name]] for name in estimate.names),
            *(_number(cell[name]) for name in figures),
            *(_ends(cell["low"], cell["high"]) for _ in ends),
            _bar(cell["estimate"], longest),
        )
        for cell in cells[:MOST_ROWS]
    ]
    console.print(table_of(heads, rows, right=heads[len(estimate.by) : -1]))
    if len(cells) > MOST_ROWS:
        bullet(console, f"{len(cells) - MOST_ROWS:,} more cells: use --json or --csv.")
    bullet(console, f"Method {estimate.method}: {estimate.why}")
    if estimate.weight:
        bullet(console, f"Weighted by {estimate.weight}.")
    if estimate.no_interval:
        bullet(console, f"No interval: {estimate.no_interval}")
        return
    kind = "together" if estimate.simultaneous else "each"
    about = "these records" if estimate.infer == "records" else "the population behind them"
    bullet(console, f"Intervals hold {kind}, about {about}; {estimate.records:,.0f} records.")


def contrast_of(
    estimate: Estimate, difference: tuple[str, str] | None, ratio: tuple[str, str] | None
) -> Contrast:
    """Two cells of the table, named by their labels with commas."""
    if difference and ratio:
        raise InputError("Ask for --difference or for --ratio, one at a time.")
    first, second = (_cell(estimate, text) for text in difference or ratio or ("", ""))
    verb = estimate.difference if difference else estimate.ratio
    return verb(first, second)


def _cell(estimate: Estimate, text: str) -> tuple[Label, ...]:
    """Labels may hold commas themselves, so that every cell is compared with the text."""
    for index in itertools.product(*estimate.labels):
        if ",".join(_label(label) for label in index) == text:
            return index
    raise InputError(
        f"The table of {', '.join(estimate.by)} has no such cell. Name it by one label for each "
        "column, with commas: F,north."
    )


def show_contrast(found: Contrast) -> None:
    """One line."""
    console = out()
    ends = (
        f" (se {_number(found.se)}), {percent(found.level, 6)} interval "
        f"{_ends(found.low, found.high)}"
    )
    bullet(console, f"{found.what}: {_number(found.estimate)}{ends if found.stated else ''}.")
    bullet(console, found.note)


def show_regression(found: Regression) -> None:
    """One row a coefficient."""
    console = out()
    console.print(f"{found.family}: {found.formula}")
    heads = ["", "coefficient", "se", "z", "p", f"{percent(found.question.level, 6)} interval"]
    rows = []
    for name in found.names:
        own = found[name]
        figures = [f"{own[key]:.5g}" for key in ("coefficient", "se")]
        low, high = (
            "no bound" if math.isinf(own[end]) else f"{own[end]:.5g}" for end in ("low", "high")
        )
        rows.append(
            (name, *figures, f"{own['z']:.2f}", f"{own['p_value']:.3g}", f"{low} to {high}")
        )
    console.print(table_of(heads, rows, right=heads[1:]))
    bullet(console, found.note)


def show_independence(test: IndependenceTest) -> None:
    """The test in words."""
    console = out()
    words = {
        "pearson": "Chi-square",
        "likelihood-ratio": "Likelihood ratio",
        "rao-scott": "Chi-square corrected for weights",
    }
    bullet(
        console,
        f"{words.get(test.method, test.method)} {test.statistic:,.4g} on {test.degrees:.4g} "
        f"degrees of freedom, p = {test.p_value:.3g}.",
    )
    told = "are not independent" if test.p_value < 0.05 else "may be independent"
    bullet(console, f"At the level of 5 %, {test.by[0]} and {test.by[1]} {told}.")
    bullet(console, f"Valid because {test.why}")
    if test.weight:
        bullet(console, f"Weighted by {test.weight}.")


def write_csv(found: Estimate | Regression) -> None:
    """All rows on stdout, without letters that command a terminal."""
    from pramana.errors import harmless

    table = found.to_arrow()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for row in (table.column_names, *(tuple(row.values()) for row in table.to_pylist())):
        writer.writerow([harmless(value) if isinstance(value, str) else value for value in row])


def _label(label: object) -> str:
    return "missing" if label is None else str(label)


def _ends(low: float, high: float) -> str:
    return (
        "no bound" if math.isinf(low) and math.isinf(high) else f"{_number(low)} to {_number(high)}"
    )


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "no bound"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"


def _bar(value: float | None, longest: float) -> str:
    if value is None or not longest or value <= 0 or not math.isfinite(value):
        return ""
    return "█" * max(1, round(BAR * value / longest))
