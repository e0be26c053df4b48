"""How time grows: protect to 10^8 records, clustering to 10^6, ``optimal`` to 10^5 cells.

Every point runs in a process of its own, start-up included; plots go to ``benchmarks/plots``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import _roads
from benchmarks._measure import Result, in_child

PLOTS = Path(__file__).parent / "plots"
SIZES = {
    "protect": [10**4, 10**5, 10**6, 10**7, 10**8],
    "clustering": [10**3, 10**4, 10**5, 10**6],
    "optimal": [10**2, 10**3, 10**4, 10**5],
}
UNITS = {"protect": "records", "clustering": "records", "optimal": "cells"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--work", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--most", type=float, default=10**8, help="leave larger sizes out")


def run(options: argparse.Namespace) -> Result:
    result = Result("Growth of time and memory", ("work", "size", "seconds", "ns each", "peak GiB"))
    for work in options.work:
        points = []
        for size in (size for size in SIZES[work] if size <= options.most):
            measured = _measured(work, size)
            points.append((size, measured.seconds))
            result.rows.append(
                (
                    work,
                    f"{size:,} {UNITS[work]}",
                    f"{measured.seconds:.2f}",
                    f"{measured.seconds / size * 1e9:,.0f}",
                    f"{measured.peak / 2**30:.2f}",
                )
            )
        _plot(work, points)
    names = ", ".join(f"plots/{work}.svg" for work in options.work)
    result.notes.append(f"Plots: {names}.")
    return result


def _measured(work: str, size: int):
    with tempfile.TemporaryDirectory() as temporary:
        source, target = Path(temporary) / "in.parquet", Path(temporary) / "out"
        if work == "protect":
            _roads.generate(size, source)
            return in_child("benchmarks._roads", "protect", str(source), str(target))
        return in_child("benchmarks.scaling", work, str(size))


def clustering(records: int) -> None:
    import numpy as np

    from pramana.base.randomness import Keystream
    from pramana.microaggregation.clustering import form_groups
    from pramana.microaggregation.groups import Key

    points = np.random.default_rng(1).normal(size=(records, 5))
    form_groups([Key(str(c), points[:, c]) for c in range(5)], k=5,
                keystream=Keystream.from_seed(1))  # fmt: skip


def optimal(cells: int) -> None:
    """Skewed margins, and 40 records a cell: about a third of the cells are rare."""
    import numpy as np

    from pramana.methods.optimal.search import optimal_design
    from pramana.schema.joint_cells import Counts

    rng = np.random.default_rng(1)
    side = max(2, round(cells ** (1 / 3)))
    shape = (side, side, -(-cells // side**2))
    margins = [np.arange(1, size + 1) ** -0.7 for size in shape]
    shares = np.einsum("i,j,k->ijk", *margins) * rng.lognormal(0, 0.5, size=shape)
    table = rng.multinomial(40 * cells, (shares / shares.sum()).ravel()).reshape(shape)
    labels = [tuple(range(size)) for size in shape]
    optimal_design(Counts.from_dense(("a", "b", "c"), labels, table), alpha=0.1, width=3)


def _plot(work: str, points) -> None:
    from pramana.experiments.harness import lines

    PLOTS.mkdir(exist_ok=True)
    curve = {work: tuple(zip(*points, strict=True))}
    title, seconds = f"Time of {work}", "seconds, start-up included"
    lines(title, UNITS[work], seconds, curve, log_x=True, log_y=True).write(PLOTS / work)
    (PLOTS / f"{work}.png").unlink()


if __name__ == "__main__":
    begin = time.perf_counter()
    globals()[sys.argv[1]](int(sys.argv[2]))
