"""Errors, coverage, bias and speed of the estimates from a release.

--show four-way   the full table of four columns by every method
--show association   errors and Cramer's V from independent to strongly dependent pairs
--show coverage   how often 95 % intervals hold, by size of the cell
--show few        the same where few records move, beside the least that single records force
--show errors     errors by method and k on the ACS sample (needs --data)
--show speed      large tables and many records
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
from tests.analysis.worlds import moments_of_counts, moments_of_records

from benchmarks import _lattice as lattice
from benchmarks import _worlds as worlds
from benchmarks._measure import Result
from pramana.analysis.channels import Channels
from pramana.analysis.counts import clip, estimate_counts
from pramana.analysis.layout import Layout
from pramana.analysis.means import estimate_values
from pramana.analysis.regularised_em import climb, fitted_original, onto_simplex
from pramana.analysis.synthesis import synthesize_records
from pramana.base.randomness import Keystream
from pramana.evaluation.utility import cramers_v
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import Dense

RETENTION = 0.3255
"""Equal retention of columns of 2, 18, 12 and 3 values at n = 100,000 and k = 2."""


def arguments(parser) -> None:
    shows = [name.replace("_", "-") for name in SHOWS]
    parser.add_argument("--show", choices=shows, default="four-way")
    parser.add_argument("--data", help="folder of real data; or the variable PRAMANA_DATA")
    parser.add_argument("--draws", type=int, help="releases to draw")
    parser.add_argument("--seed", type=int, default=0, help="of the first truth of a pair")


def run(options) -> Result:
    return SHOWS[options.show.replace("-", "_")](options)


def four_way(options) -> Result:
    truths = {"generated": worlds.generated(5, worlds.FOUR_WAY, 100_000)}
    data = worlds.folder(options.data)
    if data:
        for name in ("Status3", "Race3"):
            codes = worlds.survey(data, ["Gender", "Age18", "Income12", name], 100_000)
            truths[f"ACS, {name}"] = worlds.table_of(codes)
    head = ("truth", "unbiased", "clipped", "plain EM", "pairwise", "default", "inverse / default")
    result = Result("Error of the four-way table, share of the records", head)
    for name, truth in truths.items():
        errors = _four_way_errors(truth, options.draws or 5)
        ratio = errors[0] / errors[-1]
        result.rows.append((name, *(f"{value:.3f}" for value in errors), f"{ratio:.1f}"))
    result.notes.append(f"n = 100,000, equal retention {RETENTION}, mean of the draws.")
    return result


def _four_way_errors(truth, draws):
    rng = np.random.default_rng(1)
    layout = worlds.layout_of(truth.shape, [RETENTION] * truth.ndim)
    channels, errors = Channels(layout), []
    pairs = [(a, b) for a in range(truth.ndim) for b in range(a)]
    even = np.full(truth.shape, truth.sum() / truth.size)
    for _ in range(draws):
        table = worlds.released(truth, layout, rng)
        solved = channels.solve(table)
        estimates = (
            solved,
            clip(solved),
            _plain_em(table, channels),
            climb(table, even, even, channels, pairs, pull=0.0, tolerance=1e-5, most=900),
            fitted_original(table, channels),
        )
        errors.append([worlds.error(estimate, truth) for estimate in estimates])
    return np.mean(errors, axis=0)


def _plain_em(table, channels):
    """Unregularised EM, stopped when chi-squared falls to one a cell."""
    guess = np.full(table.shape, table.sum() / table.size)
    for _ in range(2000):
        expected = channels.forward(guess)
        if ((table - expected) ** 2 / expected).sum() <= table.size:
            break
        guess = guess * channels.backward(table / expected)
    return guess


def _five_keys(sizes, seeds):
    kept = retentions(sizes, 5, 5000)
    return [
        _independent([sizes[a], sizes[b]], [kept[a], kept[b]], draw * 100 + 10 * a + b)
        for draw in seeds
        for a in range(5)
        for b in range(a)
    ]


def association(options) -> Result:
    """Two-way tables beside what their margins alone say, and beside undoing and clipping."""
    draws = options.draws or 20
    head = ("truth", "records", "retention", "V", "margins", "clipped", "default",
            "more than margins", "V clipped", "V default", "largest")  # fmt: skip
    title = "Error of two-way tables (share of the records) and Cramer's V of the estimates"
    result = Result(title, head)
    seeds = range(options.seed, options.seed + draws)
    for sizes in FIVE_KEYS:
        tables = _five_keys(sizes, seeds)
        name = f"independent, five keys of {', '.join(map(str, sizes))}, k = 5"
        result.rows.append(_associated(name, tables))
    for shape, records, kept in PAIRS:
        layout = worlds.layout_of(shape, [kept] * 2)
        for kind, strength in DEPENDENCE:
            truths = [_pair(seed, shape, records, kind, strength) for seed in seeds]
            tables = [(truth, layout, seed) for seed, truth in zip(seeds, truths, strict=True)]
            name = f"{shape[0]} x {shape[1]}, {kind} {strength:g}"
            result.rows.append(_associated(name, tables))
    result.notes.append("more than margins: default less margins, with its Monte Carlo error.")
    return result


FIVE_KEYS = ((2, 5, 4, 6, 3), (2, 8, 5, 4, 10))
PAIRS = (((3, 3), 5000, 0.21), ((4, 6), 5000, 0.3), ((2, 10), 5000, 0.33),
         ((10, 8), 20_000, 0.3), ((18, 12), 100_000, RETENTION))  # fmt: skip
DEPENDENCE = (("scores", 0.0), ("scores", 0.15), ("scores", 0.4), ("scores", 1.0), ("dense", 0.3),
              ("diagonal", 0.3), ("diagonal", 1.0))  # fmt: skip


def _independent(sizes, kept, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.choice(size, 5000, p=rng.dirichlet(np.full(size, 3.0))) for size in sizes]
    flat = np.ravel_multi_index(tuple(columns), sizes)
    truth = np.bincount(flat, minlength=sizes[0] * sizes[1]).reshape(sizes)
    return truth, worlds.layout_of(sizes, kept), seed


def _pair(seed, shape, records, kind, strength):
    """Uneven margins; dependence through one hidden score, in every cell, or along a diagonal."""
    rng = np.random.default_rng(seed)
    shares = np.outer(*(rng.dirichlet(np.full(size, 2.0)) for size in shape))
    if kind == "scores":
        logs = strength * np.outer(*(rng.normal(size=size) for size in shape))
    elif kind == "dense":
        logs = strength * rng.normal(size=shape)
    else:
        rows, columns = (np.linspace(0, 1, size) for size in shape)
        logs = -10 * strength * (rows[:, None] - columns) ** 2
    shares = shares * np.exp(logs)
    return rng.multinomial(records, (shares / shares.sum()).ravel()).reshape(shape)


def _associated(name, tables):
    errors, strengths = [], []
    for truth, layout, seed in tables:
        channels = Channels(layout)
        table = worlds.released(truth, layout, np.random.default_rng(seed + 1000))
        clipped, found = clip(channels.solve(table)), fitted_original(table, channels)
        margins = [
            onto_simplex(channels.solve(table).sum(axis=axis), table.sum()) for axis in (1, 0)
        ]
        parts = (np.outer(*margins) / table.sum(), clipped, found)
        errors.append([worlds.error(part, truth) for part in parts])
        strengths.append([cramers_v(part) for part in (truth, clipped, found)])
    more = np.array(errors)[:, 2] - np.array(errors)[:, 0]
    noise = more.std() / np.sqrt(len(more))
    means, (own, clipped, found) = np.mean(errors, axis=0), np.mean(strengths, axis=0)
    kept = tables[0][1].axes[0].step.matrix.retention
    return (name, f"{tables[0][0].sum():,}", f"{float(kept):.2f}", f"{own:.3f}",
            *(f"{value:.3f}" for value in means), f"{more.mean():+.3f} ± {noise:.3f}",
            f"{clipped:.3f}", f"{found:.3f}", f"{np.max(strengths, axis=0)[2]:.3f}")  # fmt: skip


def coverage(options) -> Result:
    """One- and two-way tables by default and by inverse; means and totals."""
    draws = options.draws or 1000
    truth = worlds.generated(5, (2, 18, 12), 100_000, (1.0, 0.5, 0.15))
    head = ("table", "method", "empty", *SIZES)
    result = Result(f"Coverage of 95 % intervals over {draws} releases, by size of the cell", head)
    tables = {
        " x ".join(str(truth.shape[axis]) for axis in keep): (
            truth.sum(axis=tuple(axis for axis in range(3) if axis not in keep)),
            RETENTION,
        )
        for keep in ((1,), (0, 1), (1, 2))
    }
    tables["10, strong noise"] = (_independent([10, 5], [1, 1], 1)[0].sum(axis=1), 0.1)
    tables["4 x 6, strong noise"] = (_independent([4, 6], [1, 1], 1)[0], 0.21)
    tables["3 x 3, V 0.8, strong noise"] = (_pair(1, (3, 3), 5000, "diagonal", 1.0), 0.21)
    tables["10 x 8, diagonal"] = (_pair(1, (10, 8), 20_000, "diagonal", 3.0), 0.3)
    for name, (margin, kept) in tables.items():
        for method in ("unbiased", "auto"):
            result.rows.append(_coverage_of_counts(name, margin, kept, method, draws))
    result.rows += _coverage_of_values(truth.sum(axis=2), draws)
    result.rows.append(_coverage_of_rare_groups(draws))
    result.notes.append("Of means, those with a bounded interval are counted.")
    return result


SIZES = ("1-29", "30-299", "300-2999", "3000+")


def _coverage_of_counts(name, truth, kept, method, draws):
    rng = np.random.default_rng(2)
    layout, held, used = worlds.layout_of(truth.shape, [kept] * truth.ndim), 0.0, set()
    for _ in range(draws):
        moments = moments_of_counts(worlds.released(truth, layout, rng))
        found = estimate_counts(moments, layout, method=method)
        used.add(found.method)
        held = held + ((found.low <= truth) & (truth <= found.high))
    return (name, f"{method} ({', '.join(sorted(used))})", *_by_size(held, truth, draws))


def few(options) -> Result:
    """Counts that few records move, class by class, beside what any interval must hold."""
    draws = options.draws or 4000
    head = ("world", "people", "held", "least of any", "least of both sides")
    result = Result(f"Coverage of 95 % intervals over {draws} releases where few move", head)
    for name, truth, matrix in _few_worlds():
        held = _held_of_few(truth, matrix, draws)
        for group in np.unique(truth, return_index=True)[1]:
            law = lattice.law_of_error(truth, matrix, int(group))
            forced = (
                ("-", "-")
                if law is None
                else tuple(
                    f"{least(law, 0.95):.3f}"
                    for least in (lattice.least_held, lattice.both_sides_held)
                )
            )
            result.rows.append((name, str(truth[group]), f"{held[group]:.3f}", *forced))
    result.notes.append("least of any: of all intervals that hold in 0.95 or more of the releases;")
    result.notes.append("of both sides: of those that miss to each side in at most 0.025.")
    return result


def _few_worlds():
    """One way, both ways, rare values that mostly leave, and a design of ``optimal``."""
    for moves in (0.1, 0.5, 1, 2, 4, 8):
        leave = moves / 100
        yield (
            f"one way, {moves:g} move",
            np.array([100, 100]),
            np.array([[1 - leave, leave], [0, 1]]),
        )
    for moves in (0.1, 1, 4, 8):
        leave = moves / 100
        even = np.full((3, 3), leave / 2) + (1 - 1.5 * leave) * np.eye(3)
        yield f"both ways, {2 * moves:g} move", np.array([100, 100, 100]), even
    for keep in (0.3, 0.5, 0.7, 0.9):
        rare = np.diag([1, keep, keep, keep, keep])
        rare[1:, 0] = 1 - keep
        yield f"rare, stay with {keep}", np.array([1000, 1, 3, 8, 25]), rare
    yield _optimal_world()


def _optimal_world():
    """Two keys of 400 people, by the matrix that ``optimal`` publishes for alpha 0.2."""
    import pramana as pm

    rng = np.random.default_rng(3)
    shares = [np.array([0.62, 0.3, 0.07, 0.01]), np.array([0.7, 0.27, 0.03])]
    table = pa.table({f"k{at}": rng.choice(len(p), 400, p=p) for at, p in enumerate(shares)})
    schema = pm.describe(table, keys=table.column_names)
    plan = pm.design(schema, pm.SpontaneousRecognition(alpha=0.2, width=2), data=table)
    (step,) = plan.mechanism.steps
    order = {cell: at for at, cell in enumerate(step.cells)}
    truth = np.zeros(len(order), dtype=np.int64)
    for cell in zip(*(table[name].to_pylist() for name in step.columns), strict=True):
        truth[order[cell]] += 1
    return "optimal, 400 people", truth, np.asarray(step.matrix.values)


def _held_of_few(truth, matrix, draws):
    """How often the interval of each value holds; each released table is looked at once."""
    rng = np.random.default_rng(6)
    labels = tuple(range(len(truth)))
    step = Step(("c0",), Dense.of(labels, matrix))
    layout = Layout.of(["c0"], labels={"c0": labels}, mechanism=Mechanism((step,)))
    rows = matrix / matrix.sum(axis=1, keepdims=True)
    drawn = [rng.multinomial(own, row, size=draws) for own, row in zip(truth, rows, strict=True)]
    tables, times = np.unique(np.sum(drawn, axis=0), axis=0, return_counts=True)
    held = np.zeros(len(truth))
    for table, many in zip(tables, times, strict=True):
        found = estimate_counts(moments_of_counts(table), layout, method="unbiased")
        held += many * ((found.low <= truth + 1e-9) & (truth <= found.high + 1e-9))
    return held / draws


def _coverage_of_values(truth, draws):
    """A value whose level and spread depend on the true cell; sums drawn cell by cell."""
    rng = np.random.default_rng(3)
    layout = worlds.layout_of(truth.shape, [RETENTION] * truth.ndim)
    codes = np.argwhere(np.ones(truth.shape)).repeat(truth.ravel(), axis=0)
    values = 20 + 2 * codes[:, 0] + codes[:, 1] + rng.exponential(10, len(codes))
    name = " x ".join(map(str, truth.shape))
    return _held_by_values(name, codes, values, layout, draws, rng)


def _coverage_of_rare_groups(draws):
    """Groups of 1 to 10 % whose mean is twice and half that of all others, strong noise."""
    rng = np.random.default_rng(4)
    codes = rng.choice(6, 10_000, p=[0.5, 0.24, 0.1, 0.08, 0.05, 0.03])[:, None]
    values = np.exp(rng.normal(10, 0.6, len(codes))) * np.array([1, 1, 2, 0.5, 2, 0.5])[codes[:, 0]]
    layout = worlds.layout_of((6,), [0.3])
    return _held_by_values("6, rare groups", codes, values, layout, draws, rng)[0]


def _held_by_values(name, codes, values, layout, draws, rng):
    truth, total = (layout.table(codes, part) for part in (np.ones(len(codes)), values))
    mean = np.divide(total, truth, out=np.full(truth.shape, np.nan), where=truth > 0)
    held = {"mean": 0.0, "total": 0.0}
    bounded = np.zeros(truth.shape)
    for _ in range(draws):
        moved = np.stack(worlds.released_records(list(codes.T), layout, rng), axis=1)
        moments = moments_of_records(layout, moved, values=values)
        found = estimate_values(moments, layout, of="value")
        told = np.isfinite(found.high)
        bounded += told
        held["mean"] = held["mean"] + (told & (found.low <= mean) & (mean <= found.high))
        found = estimate_values(moments, layout, total=True, of="value")
        held["total"] = held["total"] + ((found.low <= total) & (total <= found.high))
    every = {"mean": bounded, "total": draws}
    return [
        (f"{name}, {what}", "unbiased", *_by_size(held[what], truth, every[what])) for what in held
    ]


def _by_size(held, truth, draws):
    """Shares of intervals that held, of all that were given for cells of a size."""
    classes = np.digitize(truth, [1, 30, 300, 3000])
    given = np.broadcast_to(draws, truth.shape)
    return tuple(
        f"{held[classes == size].sum() / given[classes == size].sum():.3f}"
        if given[classes == size].sum() > 0
        else "-"
        for size in range(len(SIZES) + 1)
    )


def errors(options) -> Result:
    """One-, two- and four-way tables of gender, age in 10 bins, education, and state."""
    data = worlds.folder(options.data)
    if data is None:
        raise SystemExit(
            "--show errors needs --data, the folder with acs2018_income_sample.parquet."
        )
    codes = worlds.survey(data, ["Gender", "Age10", "Education", "State"])
    truth, draws = worlds.table_of(codes), options.draws or 3
    head = ("k", "table", "cells", "unbiased", "clipped", "shrunk", "default takes")
    title = f"Error by method and k: ACS sample, {truth.sum():,} records, share of the records"
    result = Result(title, head)
    for k in (2, 10, 100, 1000):
        kept = retentions(truth.shape, k, int(truth.sum()))
        for keep, name in (((1,), "age"), ((0, 1), "gender x age"), ((1, 2), "age x education"),
                           ((1, 3), "age x state"), ((0, 1, 2), "gender x age x education"),
                           ((0, 1, 2, 3), "all four")):  # fmt: skip
            margin = truth.sum(axis=tuple(axis for axis in range(4) if axis not in keep))
            row = _errors_of(margin, [kept[axis] for axis in keep], draws)
            result.rows.append((str(k), name, f"{margin.size:,}", *row))
    result.notes.append("Retentions as designed for Pk-anonymity with the given k.")
    return result


def retentions(shape, k: int, records: int) -> list[float]:
    """The retentions of the default design."""
    import pramana as pm
    from pramana.schema.domains import Categories
    from pramana.schema.roles import Role
    from pramana.schema.schema import Column, Schema

    columns = [
        Column(f"c{place}", Role.KEY, Categories(tuple(range(size))), missing="refuse")
        for place, size in enumerate(shape)
    ]
    plan = pm.design(
        Schema(tuple(columns)), pm.PkAnonymity(k=k), records=records, method="retention"
    )
    return [float(step.matrix.retention) for step in plan.mechanism]


def _errors_of(truth, kept, draws):
    rng = np.random.default_rng(5)
    layout, found = worlds.layout_of(truth.shape, kept), []
    channels, takes = Channels(layout), set()
    for _ in range(draws):
        table = worlds.released(truth, layout, rng)
        solved = channels.solve(table)
        fitted = fitted_original(table, channels)
        found.append([worlds.error(part, truth) for part in (solved, clip(solved), fitted)])
        se = np.sqrt(np.maximum(channels.spread(table) - solved, 0))
        takes.add("unbiased" if np.sqrt(2 / np.pi) * se.sum() / table.sum() <= 0.05 else "shrunk")
    return (*(f"{value:.3f}" for value in np.mean(found, axis=0)), ", ".join(sorted(takes)))


def speed(_options) -> Result:
    """Seconds of one process on one core."""
    result = Result("Speed", ("what", "seconds", "of the processor"))
    rng = np.random.default_rng(7)
    for shape in ((10,) * 6, (100, 100, 100)):
        layout = worlds.layout_of(shape, [0.5] * len(shape))
        truth = worlds.generated(1, shape, 1_000_000, (0.5, 0.25))
        moments = moments_of_counts(worlds.released(truth, layout, rng))
        what = f"em, {truth.size:,} cells of {len(shape)} columns, errors included"
        result.rows.append((what, *_timed(estimate_counts, moments, layout, method="shrunk")))
    shape = (2, 10, 8, 5, 10, 25, 9, 5)
    layout = worlds.layout_of(shape, [0.5] * 8)
    hidden = rng.integers(0, 6, 1_000_000)
    codes = [(hidden + rng.integers(0, size, len(hidden)) ** 2) % size for size in shape]
    moved = worlds.released_records(codes, layout, rng)
    what = "rebuild, 1,000,000 records x 8 columns"
    key = Keystream.from_seed(1)
    result.rows.append((what, *_timed(synthesize_records, moved, layout, keystream=key)))
    return result


def _timed(function, *arguments, **options) -> tuple[str, str]:
    clock, processor = time.perf_counter(), time.process_time()
    function(*arguments, **options)
    spent = time.perf_counter() - clock, time.process_time() - processor
    return f"{spent[0]:.1f}", f"{spent[1]:.1f}"


SHOWS = {
    function.__name__: function
    for function in (
        four_way,
        association,
        coverage,
        few,
        errors,
        speed,
    )
}
