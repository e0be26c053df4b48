"""How low could any clustering go? A floor under the within-group sum of squares.

Clusterings are the 0/1 solutions of a linear programme over all groups S of k to 2k - 1 records
(larger ones can be divided): minimise the sum of cost(S), every record in one group. Its dual puts
a price on every record. Where no group's prices add up to more than its cost, no clustering costs
less than all prices together (Aloise, Hansen, Rocha and Santi 2014,
Column generation bounds for numerical microaggregation).

Groups are made as they are asked for. Those whose prices exceed their cost are looked for by local
search from every record; the floor holds as far as that search sees.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_matrix, hstack, identity

from benchmarks._measure import Result
from benchmarks._tables import numeric_tables
from pramana.base.randomness import Keystream
from pramana.microaggregation.clustering import form_groups
from pramana.microaggregation.groups import Key, embed

ROUNDS = 15  # of moving a centre to its cheapest members
POLISHED = 400  # groups whose members are exchanged one by one on top
OUTSIDE = 80  # records that may come in for a member
STARTS = 4  # clusterings to begin with


def arguments(parser: argparse.ArgumentParser) -> None:
    folder = os.environ.get("PRAMANA_DATA")
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--tables", nargs="+", help="names, or parts of them; all where not given")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--rows", type=int, default=1100, help="of every table")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each table and k")


def run(options: argparse.Namespace) -> Result:
    result = Result(
        "The default beside a floor under all clusterings, both over mdav",
        ("table", "k", "records", "default", "floor", "groups looked at", "seconds"),
    )
    for name, points in numeric_tables(options.data).items():
        if options.tables and not any(part in name for part in options.tables):
            continue
        keys = [Key(str(c), points[: options.rows, c]) for c in range(points.shape[1])]
        for k in options.k:
            begin = time.perf_counter()
            mdav = form_groups(keys, k=k, method="mdav", keystream=Keystream.from_seed(0)).within
            starts = [
                form_groups(keys, k=k, keystream=Keystream.from_seed(s)) for s in range(STARTS)
            ]
            points_ = embed(keys, responses=(), weight=1.0)
            low, looked = floor(points_, k, [s.labels for s in starts], options.seconds)
            seconds = time.perf_counter() - begin
            result.rows.append(
                (
                    name,
                    str(k),
                    f"{len(points_):,}",
                    f"{starts[0].within / mdav:.4f}",
                    f"{low / mdav:.4f}",
                    f"{looked:,}",
                    f"{seconds:.0f}",
                )
            )
    result.notes.append("The floor holds as far as the search for groups sees.")
    return result


def floor(points, k: int, starts, seconds: float) -> tuple[float, int]:
    """The highest floor found in time, and how many groups stood in the programme.

    Prices are held near the best ones so far (du Merle's stabilisation): free ones swing wildly.
    """
    pool: dict[tuple[int, ...], float] = {}
    for labels in starts:
        for group in range(labels.max() + 1):
            members = np.flatnonzero(labels == group)
            pool.setdefault(tuple(members.tolist()), cost(points, members))
    centre, width, best = first_prices(points, starts[0]), 0.3, -np.inf
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        prices, slack = priced(pool, centre, width)
        found = {
            group: own
            for group in cheapest_groups(points, prices, k)
            if (own := cost(points, list(group))) < prices[list(group)].sum() - 1e-7
        }
        worst = min((own - prices[list(group)].sum() for group, own in found.items()), default=0.0)
        low = prices.sum() + (len(points) // k) * worst
        best, centre, width = (low, prices, width) if low > best else (best, centre, width * 0.8)
        if not found.keys() - pool.keys():
            if slack < 1e-6 or width < 0.01:
                break
            centre = prices
        pool |= found
    return best, len(pool)


def cost(points, members) -> float:
    """The sum of squares of a group."""
    own = points[members]
    return float(np.square(own - own.mean(axis=0)).sum())


def first_prices(points, labels):
    """What a record costs its group, half of it shared by the members."""
    gaps = np.zeros(len(points))
    for group in range(labels.max() + 1):
        own = points[labels == group]
        gaps[labels == group] = np.square(own - own.mean(axis=0)).sum(axis=1)
    shared = np.bincount(labels, gaps) / np.bincount(labels)
    return (gaps + shared[labels]) / 2


def priced(pool, centre, width):
    """Prices of the programme over the pool, and by how much it is still held up by the centre."""
    groups, n = list(pool), len(centre)
    sizes = [len(group) for group in groups]
    rows = np.concatenate([np.array(group) for group in groups])
    columns = np.repeat(np.arange(len(groups)), sizes)
    inside = csc_matrix((np.ones(rows.size), (rows, columns)), shape=(n, len(groups)))
    reach = width * np.maximum(centre, np.median(centre) / 10)
    costs = np.concatenate([list(pool.values()), centre + reach, reach - centre])
    bounds = [(0, None)] * len(groups) + [(0, 0.2)] * (2 * n)
    matrix = hstack([inside, identity(n), -identity(n)], format="csc")
    solved = linprog(costs, A_eq=matrix, b_eq=np.ones(n), bounds=bounds, method="highs-ds")
    return solved.eqlin.marginals, float(np.abs(solved.x[len(groups) :]).sum())


def cheapest_groups(points, prices, k: int):
    """Groups whose cost less prices is low: by moving centres, then by exchanging members."""
    most, squares = min(2 * k - 1, len(points)), np.square(points).sum(axis=1)
    middle = points
    for _ in range(ROUNDS):
        gaps = np.square(middle).sum(axis=1)[:, None] - 2 * middle @ points.T + squares - prices
        order = np.argsort(gaps, axis=1)[:, :most]
        sizes = np.maximum(k, (np.take_along_axis(gaps, order, 1) < 0).sum(axis=1))
        moved = np.cumsum(points[order], axis=1)[np.arange(len(points)), sizes - 1] / sizes[:, None]
        if np.allclose(moved, middle):
            break
        middle = moved
    groups = {tuple(sorted(row[:size].tolist())) for row, size in zip(order, sizes, strict=True)}
    ranked = sorted(groups, key=lambda g: cost(points, list(g)) - prices[list(g)].sum())
    return groups | {_polished(points, prices, k, group) for group in ranked[:POLISHED]}


def _polished(points, prices, k: int, group):
    """Replace, drop or add members while cost less prices falls."""
    members = list(group)
    while True:
        inside, size = np.array(members), len(members)
        gaps = np.square(points - points[inside].mean(axis=0)).sum(axis=1)
        outside = np.setdiff1d(np.argsort(gaps - prices)[:OUTSIDE], inside)
        leaving, coming = prices[inside] - gaps[inside], gaps[outside] - prices[outside]
        apart = np.square(points[inside][:, None] - points[outside]).sum(axis=-1)
        # Row: who leaves, the last for nobody. Column: who comes, the last for nobody.
        change = np.full((size + 1, len(outside) + 1), np.inf)
        change[:-1, :-1] = leaving[:, None] + coming - apart / size
        if size > k:
            change[:-1, -1] = prices[inside] - gaps[inside] * size / (size - 1)
        if size < 2 * k - 1:
            change[-1, :-1] = gaps[outside] * size / (size + 1) - prices[outside]
        who, by = divmod(int(change.argmin()), change.shape[1])
        if change[who, by] > -1e-9:
            return tuple(sorted(members))
        if who < size:
            members.pop(who)
        if by < len(outside):
            members.append(int(outside[by]))
