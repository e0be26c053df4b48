"""How estimates look in a terminal: a table with bars and intervals."""

from __future__ import annotations

import csv
import math
import sys
from typing import TYPE_CHECKING

from pramana.cli.rendering import bullet, out, table_of

if TYPE_CHECKING:
    from pramana.estimation.independence import IndependenceTest
    from pramana.estimation.results import Estimate

__all__ = ["show_estimate", "show_independence", "write_csv"]

BAR = 24
"""The longest bar, in letters."""

MOST_ROWS = 200
"""So many cells are shown; --json and --csv give all of them."""


def show_estimate(estimate: Estimate) -> None:
    """One row a cell."""
    console = out()
    cells = list(estimate.cells)
    numbers = [cell["estimate"] for cell in cells if cell["estimate"] is not None]
    longest = max((abs(number) for number in numbers), default=0.0)
    heads = [*estimate.by, estimate.what, "se", f"{100 * estimate.level:g} % interval", ""]
    rows = [
        (
            *(_label(cell[name]) for name in estimate.names),
            _number(cell["estimate"]),
            _number(cell["se"]),
            f"{_number(cell['low'])} to {_number(cell['high'])}",
            _bar(cell["estimate"], longest),
        )
        for cell in cells[:MOST_ROWS]
    ]
    console.print(table_of(heads, rows, right=heads[-4:-1]))
    if len(cells) > MOST_ROWS:
        bullet(console, f"{len(cells) - MOST_ROWS:,} more cells: use --json or --csv.")
    kind = "together" if estimate.simultaneous else "each"
    about = "these records" if estimate.infer == "records" else "the population behind them"
    bullet(console, f"Method {estimate.method}: {estimate.why}")
    bullet(console, f"Intervals hold {kind}, about {about}; {estimate.records:,.0f} records.")


def show_independence(test: IndependenceTest) -> None:
    """The test in words."""
    form = test.to_json()
    console = out()
    for name, value in form.items():
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        bullet(console, f"{name.replace('_', ' ')}: {shown}")


def write_csv(estimate: Estimate) -> None:
    """All cells on stdout."""
    heads = [*estimate.names, "estimate", "se", "low", "high"]
    writer = csv.DictWriter(sys.stdout, heads, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(estimate.cells)


def _label(label: object) -> str:
    return "missing" if label is None else str(label)


def _number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "no bound"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.4g}"


def _bar(value: float | None, longest: float) -> str:
    if value is None or not longest or value <= 0 or math.isnan(value):
        return ""
    return "█" * max(1, round(BAR * value / longest))
