"""How often intervals hold in a sample of clusters, with replicate weights and without.

Clusters are drawn from a population without end, people within them; incomes of a cluster go
together, so that people count for less than they are. Sex is randomised, income is kept, and the
jackknife leaves out one cluster at a time.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import pramana as pm
from benchmarks._measure import Result
from pramana import api
from pramana.mechanisms.transition import UniformMixture
from pramana.methods.given import GivenMatrices

CLUSTERS, EACH = 30, 40
QUESTIONS = {
    "mean income of women": (lambda r, how: r.mean("income", by=["sex"], **how), 100.0),
    "share of women": (lambda r, how: r.crosstab("sex", share=True, **how), 0.5),
    "share of women with income >= 100": (
        lambda r, how: r.proportion("income>=100", by=["sex"], **how),
        0.5,
    ),
}


def sample(rng) -> pa.Table:
    """Incomes of a cluster differ by 10, those of people by 20; shares of women differ too."""
    cluster = np.repeat(np.arange(CLUSTERS), EACH)
    shift, women = rng.normal(0, 10, CLUSTERS), rng.beta(5, 5, CLUSTERS)
    weight = np.full(len(cluster), 10.0)
    columns = {
        "sex": np.where(rng.random(len(cluster)) < women[cluster], "f", "m"),
        "income": 100 + shift[cluster] + rng.normal(0, 20, len(cluster)),
        "w": weight,
    }
    for r in range(CLUSTERS):
        columns[f"r{r + 1}"] = np.where(cluster == r, 0.0, weight * CLUSTERS / (CLUSTERS - 1))
    return pa.table(columns)


def schema_of(table: pa.Table) -> pm.Schema:
    kept = [name for name in table.column_names if name not in ("sex", "w")]
    return pm.Schema(
        (
            pm.Column("sex", pm.Role.KEY, pm.Categories(("f", "m"))),
            pm.Column("w", pm.Role.WEIGHT),
            *(pm.Column(name, pm.Role.SENSITIVE) for name in kept),
        )
    )


def coverage(retention: float, *, draws: int, seed: int = 0):
    """Shares of intervals that hold: by replicates, and as if records were drawn one by one."""
    rng = np.random.default_rng(seed)
    jackknife = pm.Replicates("r*", kind="jackknife")
    held: dict[str, list] = {name: [] for name in QUESTIONS}
    for draw in range(draws):
        table = sample(rng)
        schema = schema_of(table)
        mixture = UniformMixture.of(("f", "m"), retention=retention)
        plan = api.design(schema, data=table, method=GivenMatrices({"sex": mixture}))
        release = api.protect(table, plan, seed=draw)
        for name, (ask, right) in QUESTIONS.items():
            both = []
            for replicates in (jackknife, None):
                how = {"infer": "population", "replicates": replicates}
                cell = ask(release, how).cell("f")
                both.append(cell["low"] <= right <= cell["high"])
            held[name].append(both)
    return {name: np.mean(own, axis=0) for name, own in held.items()}


def arguments(parser) -> None:
    parser.add_argument("--draws", type=int, default=300, help="samples to draw and release")
    parser.add_argument("--retention", type=float, nargs="*", default=[0.8, 0.5])


def run(options) -> Result:
    head = ("question", "retention", "with replicates", "without")
    result = Result("How often 95 % intervals hold in a sample of clusters", head)
    for retention in options.retention:
        for name, (with_them, without) in coverage(retention, draws=options.draws).items():
            result.rows.append((name, f"{retention:g}", f"{with_them:.3f}", f"{without:.3f}"))
    result.notes.append(f"{CLUSTERS} clusters of {EACH}, {options.draws} samples each.")
    return result
