"""How often the owner's check finds a release that was made otherwise, and how often it errs.

Releases are made in a dozen wrong ways from tables of several kinds, and each is checked against
its truth. A row says how many were found, and what the check says it would find.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa

from benchmarks._measure import Result

DOMAINS = {"a": ("p", "q"), "b": ("r", "s", "t"), "c": ("u", "v", "w", "x")}
SHAPE = tuple(map(len, DOMAINS.values()))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--records", type=int, default=6_000)
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=list(TRUTHS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))


def run(options: argparse.Namespace) -> Result:
    result = Result(
        f"Found of {options.seeds} releases of {options.records:,} records each, by kind of truth",
        ("made", *options.truths, "found by"),
    )
    found = {kind: _found(TRUTHS[kind](options.records), options) for kind in options.truths}
    for way in options.ways:
        each = [found[kind][way] for kind in options.truths]
        hits = (str(sum(map(bool, own))) for own in each)
        by = sorted({_short(names[0]) for own in each for names in own if names})
        result.rows.append((way, *hits, ", ".join(by) or "-"))
    return result


def _found(truth: pa.Table, options: argparse.Namespace) -> dict[str, list[list[str]]]:
    """By way, and by seed, the checks that fail; each release is drawn once for all ways."""
    found: dict[str, list[list[str]]] = {way: [] for way in options.ways}
    for seed in range(options.seeds):
        made = released(truth, seed)
        for way, own in found.items():
            own.append(tried(truth, way, seed, made))
    return found


def _short(name: str) -> str:
    """Which kind of check it is."""
    return name.split(":")[0].split(" of ")[0]


def tried(truth: pa.Table, way: str, seed: int, made=None) -> list[str]:
    """The names of the checks that fail for a release made in this way."""
    from pramana.io.opening import open_table
    from pramana.verification.verify import against_original

    certificate, drawn = made or released(truth, seed)
    table = WAYS[way](truth, drawn, np.random.default_rng(seed))
    checks = against_original(certificate, open_table(table), open_table(truth))
    return [check.name for check in checks if not check.ok]


def released(truth: pa.Table, seed: int):
    """A certificate, and records drawn by its matrices that were not shuffled yet."""
    import pramana as pm
    from pramana.base.randomness import Keystream
    from pramana.mechanisms.randomiser import Randomiser

    keys = [pm.Column(n, pm.Role.KEY, pm.Categories(values)) for n, values in DOMAINS.items()]
    kept = [pm.Column(n, pm.Role.SENSITIVE) for n in truth.column_names if n not in DOMAINS]
    schema = pm.Schema((*keys, *kept))
    plan = pm.design(schema, pm.PkAnonymity(k=20), records=truth.num_rows, method="retention")
    certificate = pm.protect(truth, plan, seed=seed).certificate
    draw = Randomiser(schema, certificate.mechanism, truth.schema, Keystream.from_seed(seed + 1000))
    (batch,) = truth.combine_chunks().to_batches()
    return certificate, pa.Table.from_batches([draw(batch, 0)])


# -- truths ----------------------------------------------------------------------------------------


def _table(cells, **kept) -> pa.Table:
    codes = zip(DOMAINS.items(), np.unravel_index(cells, SHAPE), strict=True)
    return pa.table({name: np.array(values)[own] for (name, values), own in codes} | kept)


def even(records: int) -> pa.Table:
    """Every combination as often as any other: a half-randomised table has the same law."""
    return _table(np.random.default_rng(3).permutation(np.arange(records) % 24))


def even_margins(records: int) -> pa.Table:
    """Every value of a column as often as any other, columns dependent on each other."""
    random = np.random.default_rng(4)
    start = random.permutation(np.arange(records) % 12)
    c = np.where(random.random(records) < 0.5, start % 4, random.integers(0, 4, records))
    b = np.where(random.random(records) < 0.7, start % 3, random.integers(0, 3, records))
    return _table(np.ravel_multi_index((c % 2, b, c), SHAPE))


def survey(records: int) -> pa.Table:
    """Skewed shares, dependent columns."""
    random = np.random.default_rng(5)
    return _table(random.choice(24, records, p=random.dirichlet(np.full(24, 0.7))))


def with_town(records: int) -> pa.Table:
    """Even, beside one of twelve towns in which some values are frequent."""
    random = np.random.default_rng(6)
    town = random.permutation(np.arange(records) % 12)
    cells = np.where(random.random(records) < 0.5, 2 * town, random.integers(0, 24, records))
    return _table(cells, town=town)


def with_income(records: int) -> pa.Table:
    """Even, beside an income that is each person's own."""
    random = np.random.default_rng(7)
    cells = random.permutation(np.arange(records) % 24)
    return _table(cells, income=random.permutation(records) * 1.5)


TRUTHS = {
    "even": even, "even margins": even_margins, "survey": survey, "town kept": with_town,
    "income kept": with_income,
}  # fmt: skip


# -- ways ------------------------------------------------------------------------------------------


def _shuffled(table: pa.Table, random) -> pa.Table:
    return table.take(pa.array(random.permutation(table.num_rows)))


def _left(share: float, names=tuple(DOMAINS)):
    def make(truth, drawn, random):
        spared = random.random(truth.num_rows) < share
        for name in names:
            own = [table[name].to_numpy(zero_copy_only=False).astype(str) for table in
                   (truth, drawn)]  # fmt: skip
            at = drawn.column_names.index(name)
            drawn = drawn.set_column(at, name, pa.array(np.where(spared, *own)))
        return _shuffled(drawn, random)

    return make


def _coin(_truth, drawn, random):
    for name, values in DOMAINS.items():
        at = drawn.column_names.index(name)
        drawn = drawn.set_column(at, name, pa.array(random.choice(values, drawn.num_rows)))
    return _shuffled(drawn, random)


def _inside(width: int):
    def make(_truth, drawn, random):
        keys = np.arange(drawn.num_rows) // width + random.random(drawn.num_rows) * 0.99
        return drawn.take(pa.array(np.argsort(keys)))

    return make


def _stretches(width: int):
    def make(_truth, drawn, random):
        parts = random.permutation(drawn.num_rows // width)
        rest = np.arange(len(parts) * width, drawn.num_rows)
        rows = (parts[:, None] * width + np.arange(width)).ravel()
        return drawn.take(pa.array(np.append(rows, rest)))

    return make


WAYS = {
    "sound": lambda _truth, drawn, random: _shuffled(drawn, random),
    "not drawn": _left(1.0),
    "half not drawn": _left(0.5),
    "a tenth not drawn": _left(0.1),
    "first column only": _left(1.0, ("b", "c")),
    "last column not drawn": _left(1.0, ("c",)),
    "a coin": _coin,
    "not shuffled": lambda _truth, drawn, _random: drawn,
    "turned": lambda _truth, drawn, _random: drawn.take(pa.array(np.arange(drawn.num_rows)[::-1])),
    "inside 50": _inside(50),
    "inside 500": _inside(500),
    "stretches of 50": _stretches(50),
    "stretches of 200": _stretches(200),
    "sorted": lambda _truth, drawn, _random: drawn.take(np.argsort(drawn["c"].to_pylist())),
}
