"""Designs for the data at hand: loss, changes, time and memory under C1 and under xi.

--show small      48 cells like the paper's example: loss, gap, diagonal, seconds
--show survey     six keys with 20,250 and 97,200 cells of the ACS sample (or generated)
--show match      2,000 random frequency vectors: the largest excess over xi, and the gap
--show apart      the loss beside that of a long run of an independent method
--show searches   72 to 240 cells: the coarsest grid beside the search over all matrices
--show rare       how the least loss falls when rare records may move
"""

from __future__ import annotations

import time
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow.parquet
from tests.methods.test_optimal import CELLS, conditional_gradient, like_the_paper

from benchmarks import _worlds as worlds
from benchmarks._child import peak_memory
from benchmarks._measure import Result
from benchmarks.kl_loss import kl_loss
from pramana.base.randomness import Keystream
from pramana.guarantees.correct_match import match_risks
from pramana.guarantees.spontaneous_recognition import SpontaneousRecognition
from pramana.methods.frequency_preserving import inverse_frequency_design
from pramana.methods.optimal import dense as dense_module
from pramana.methods.optimal.cells import squared_error
from pramana.methods.optimal.publication import GRIDS, best_on_grid, on_grid
from pramana.methods.optimal.search import optimal_design
from pramana.schema.joint_cells import Counts

SURVEY = {
    "20,250 cells": ("Region", "Age", "Marital Status", "Race", "Gender", "Citizenship status"),
    "97,200 cells": ("Division", "Age", "Marital Status", "Race", "Gender", "Education"),
}
SIZES = {"20,250 cells": (5, 9, 5, 9, 2, 5), "97,200 cells": (10, 9, 5, 9, 2, 12)}
SCATTERED = (
    (100, (4, 3, 3, 2), 600),
    (102, (4, 4, 3, 2), 900),
    (106, (5, 4, 4, 2), 2_000),
    (107, (4, 4, 3, 2, 2), 1_500),
    (110, (5, 4, 4, 3), 2_500),
)
RECORDS = 100_000


def arguments(parser) -> None:
    parser.add_argument("--show", choices=sorted(SHOWS), default="small")
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--vectors", type=int, default=2_000)


def run(options) -> Result:
    return SHOWS[options.show](options)


def small(_) -> Result:
    head = ("seed", "n^2 loss", "gap", "changes", "smallest diagonal", "posterior", "seconds")
    result = Result("48 cells, 2,500 records, alpha 0.1, all triples", head)
    for seed in (25, 47, 50, 56, 86):  # 17 rare cells and 5 rare triples, as the paper's
        counts = dict(zip(CELLS, like_the_paper(seed).tolist(), strict=True))
        begin = time.perf_counter()
        design = optimal_design(counts, alpha=0.1, width=3)
        seconds = time.perf_counter() - begin
        result.rows.append(
            (
                str(seed),
                f"{design.loss * 2500**2:.3f}",
                f"{design.gap:.4f}",
                f"{design.expected_changes:.2f}",
                f"{design.smallest_diagonal:.4f}",
                f"{design.attained.alpha:.7f}",
                f"{seconds:.2f}",
            )
        )
    return result


def apart(_) -> Result:
    head = ("seed", "ours", "independent", "ours / independent")
    result = Result("n^2 loss beside 150 rounds of plain Frank-Wolfe from a random start", head)
    for seed in (25, 47, 86):
        numbers = like_the_paper(seed)
        design = optimal_design(dict(zip(CELLS, numbers.tolist(), strict=True)))
        ours, other = design.loss * 2500**2, conditional_gradient(numbers, 150)
        result.rows.append((str(seed), f"{ours:.4f}", f"{other:.4f}", f"{ours / other:.5f}"))
    return result


def searches(_) -> Result:
    head = ("cells", "all matrices", "rounded up", "coarsest grid", "ratio", "processor seconds")
    result = Result("n^2 loss of tables of scattered cells, alpha 0.1, all triples", head)
    for seed, sizes, records in SCATTERED:
        counts, seconds = _scattered(seed, sizes, records), [time.process_time()]
        design = optimal_design(counts, alpha=0.1)
        seconds.append(time.process_time())
        coarsest = best_on_grid(design.matrix, GRIDS[0], design.cells, 0.1)
        seconds.append(time.process_time())
        every = design
        if design.matrix.size > dense_module.ENUMERATED:  # the same with more programs, as a whole
            with mock.patch.object(dense_module, "ENUMERATED", 10_000):
                every = optimal_design(counts, alpha=0.1)
        matrices = (every.matrix, on_grid(every.matrix, GRIDS[0]), coarsest)
        losses = [squared_error(matrix, design.numbers) for matrix in matrices]
        spent = ", ".join(f"{second:.1f}" for second in np.diff(seconds))
        row = (str(int(np.prod(sizes))), *(f"{loss:.2f}" for loss in losses))
        result.rows.append((*row, f"{losses[2] / losses[0]:.3f}", spent))
    return result


def _scattered(seed: int, sizes: tuple[int, ...], records: int) -> Counts:
    """Cells of very different sizes without order, on which the searches differ most."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(int(np.prod(sizes)), 0.35))
    drawn = generator.choice(len(shares), records, p=shares)
    codes = [code.astype(np.uint8) for code in np.unravel_index(drawn, sizes)]
    return Counts.of_codes("abcde"[: len(sizes)], tuple(tuple(range(s)) for s in sizes), codes)


def rare(_) -> Result:
    head = ("keep", "n^2 loss", "changes", "smallest diagonal", "KL", "+-", "KL undefined")
    result = Result("The paper's example with a bound on the diagonal", head)
    counts = dict(zip(CELLS, like_the_paper(25).tolist(), strict=True))
    for keep in (0.99, 0.9, 0.5, 0.05):
        design = optimal_design(counts, keep=keep)
        kl = kl_loss(design.matrix, design.numbers, keystream=Keystream.from_seed(1), rounds=400)
        result.rows.append(
            (
                str(keep),
                f"{design.loss * 2500**2:.3f}",
                f"{design.expected_changes:.2f}",
                f"{design.smallest_diagonal:.4f}",
                f"{kl.value:.2e}",
                f"{kl.error:.0e}",
                f"{kl.undefined:.2f}",
            )
        )
    return result


def survey(options) -> Result:
    data = worlds.folder(options.data)
    head = ("domain", "occurring", "rare", "changes", "gap", "posterior", "seconds", "peak MiB")
    title = "ACS sample" if data else "Generated keys"
    result = Result(f"{title}, {RECORDS:,} records, alpha 0.1, all triples", head)
    for name in SURVEY:
        counts = _acs(data, SURVEY[name]) if data else _generated(SIZES[name])
        begin = time.perf_counter()
        design = optimal_design(counts, alpha=0.1, width=3)
        seconds = time.perf_counter() - begin
        again = SpontaneousRecognition.of(design.matrix, counts, width=3)
        result.rows.append(
            (
                name,
                f"{len(counts.numbers):,}",
                f"{int((counts.numbers < 10).sum()):,}",
                f"{design.expected_changes:.1f}",
                f"{design.gap:.3f}",
                f"{again.alpha:.7f}",
                f"{seconds:.1f}",
                f"{peak_memory() / 2**20:.0f}",
            )
        )
    return result


def match(options) -> Result:
    generator = np.random.default_rng(1)
    gaps, excess, seconds, served = [], -np.inf, 0.0, 0
    while served < options.vectors:
        sizes = generator.lognormal(
            generator.uniform(0, 4), generator.uniform(0.3, 2), generator.integers(2, 30)
        )
        times = dict(enumerate(np.minimum(sizes, 1e6).astype(int).tolist()))
        xi = float(generator.choice([0.05, 0.1, 0.15, 0.2, 0.3, 0.5]))
        if sum(times.values()) * xi < 1:
            continue
        begin = time.perf_counter()
        design = inverse_frequency_design(times, xi=xi)
        seconds += time.perf_counter() - begin
        excess = max(excess, match_risks(design.matrix, times).max() - xi)
        gaps.append(design.gap)
        served += 1
    head = ("vectors", "largest excess over xi", "gap: median", "90 %", "largest", "seconds each")
    result = Result("Inverse-frequency flows on random frequencies", head)
    middle, high, top = np.quantile(gaps, [0.5, 0.9, 1])
    row = (f"{served:,}", f"{excess:.1e}", f"{middle:.3f}", f"{high:.3f}", f"{top:.3f}")
    result.rows.append((*row, f"{seconds / served:.3f}"))
    return result


def _acs(folder: Path, keys) -> Counts:
    table = pyarrow.parquet.read_table(folder / "acs2018_income_sample.parquet", columns=[*keys])
    chosen = np.random.default_rng(0).permutation(table.num_rows)[:RECORDS]
    codes, labels = [], []
    for key in keys:
        values = table[key].to_numpy(zero_copy_only=False)
        if key == "Age":
            edges = np.unique(np.floor(np.quantile(values, np.linspace(0, 1, 10))))
            code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
            labels.append(tuple(range(len(edges) - 1)))
        else:
            names, code = np.unique(values.astype(str), return_inverse=True)
            if key == "Education":  # 24 levels by name, two by two
                code, names = code % 12, np.arange(12)
            labels.append(tuple(names.tolist()))
        codes.append(code[chosen].astype(np.uint8))
    return Counts.of_codes(keys, labels, codes)


def _generated(sizes) -> Counts:
    generator = np.random.default_rng(0)
    codes = []
    for size in sizes:
        chance = generator.dirichlet(np.full(size, 0.7))
        codes.append(generator.choice(size, RECORDS, p=chance).astype(np.uint8))
    names = [f"key{i}" for i in range(len(sizes))]
    return Counts.of_codes(names, [tuple(range(size)) for size in sizes], codes)


SHOWS = {
    "apart": apart,
    "small": small,
    "survey": survey,
    "match": match,
    "rare": rare,
    "searches": searches,
}
