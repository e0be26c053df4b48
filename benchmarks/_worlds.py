"""True tables to estimate, generated or real, and releases drawn at the level of counts."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np

from pramana.analysis.layout import Layout
from pramana.mechanisms.mechanism import Mechanism, Step
from pramana.mechanisms.transition import UniformMixture

FOUR_WAY = (2, 18, 12, 3)


def generated(seed: int, shape, records: int, strengths=(0.6, 0.3, 0.12, 0.08)) -> np.ndarray:
    """Dependence of every order; pairs depend on each other through two hidden scores."""
    rng = np.random.default_rng(seed)
    logs = np.zeros(shape)
    for order, strength in zip(range(1, len(shape) + 1), strengths, strict=False):
        for subset in combinations(range(len(shape)), order):
            size = [shape[axis] if axis in subset else 1 for axis in range(len(shape))]
            if order == 2:
                scores = [rng.normal(size=(shape[axis], 2)) for axis in subset]
                logs = logs + strength * (scores[0] @ scores[1].T).reshape(size)
            else:
                logs = logs + strength * rng.normal(size=size)
    shares = np.exp(logs)
    return rng.multinomial(records, (shares / shares.sum()).ravel()).reshape(shape)


def folder(given: str | None) -> Path | None:
    """The folder of real data, or none."""
    name = given or os.environ.get("PRAMANA_DATA")
    return Path(name) if name else None


def survey(data: Path, names: list[str], records: int | None = None) -> list[np.ndarray]:
    """Columns of the ACS sample as codes: age and income in bins, the others as they are."""
    import pyarrow.parquet as pq

    source = {"Age10": "Age", "Age18": "Age", "Income12": "Income", "Status3": "Marital Status",
              "Race3": "Race"}  # fmt: skip
    columns = [source.get(name, name) for name in names]
    table = pq.read_table(data / "acs2018_income_sample.parquet", columns=sorted(set(columns)))
    if records:
        table = table.take(np.random.default_rng(0).permutation(table.num_rows)[:records])
    return [_codes(table[column], name) for column, name in zip(columns, names, strict=True)]


def _codes(column, name: str) -> np.ndarray:
    if name == "Income12":
        edges = [4e3, 1e4, 15e3, 2e4, 25e3, 3e4, 4e4, 5e4, 65e3, 9e4, 15e4]
        return np.searchsorted(edges, column.to_numpy(), side="right")
    if name in ("Age10", "Age18"):
        width, most = (8, 9) if name == "Age10" else (5, 17)
        return np.clip((column.to_numpy() - 15) // width, 0, most).astype(int)
    codes = column.combine_chunks().indices.to_numpy(zero_copy_only=False).astype(int)
    return np.minimum(codes, 2) if name.endswith("3") else codes


def table_of(codes: list[np.ndarray]) -> np.ndarray:
    """The table of some columns."""
    shape = [int(code.max()) + 1 for code in codes]
    flat = np.ravel_multi_index(tuple(codes), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def layout_of(shape, retentions) -> Layout:
    """Columns c0, c1, ... each with its retention."""
    names = [f"c{place}" for place in range(len(shape))]
    labels = {name: tuple(range(size)) for name, size in zip(names, shape, strict=True)}
    steps = [
        Step((name,), UniformMixture.of(labels[name], retention=float(kept)))
        for name, kept in zip(names, retentions, strict=True)
    ]
    return Layout.of(names, labels=labels, mechanism=Mechanism(tuple(steps)), most=np.inf)


def released(truth: np.ndarray, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """One released table, axis after axis."""
    table = truth.astype(np.int64)
    for place, axis in enumerate(layout.axes):
        values = axis.step.matrix.values
        values = values / values.sum(axis=1, keepdims=True)
        moved = np.moveaxis(table, place, -1)
        drawn = [rng.multinomial(moved[..., value], values[value]) for value in range(axis.size)]
        table = np.moveaxis(np.sum(drawn, axis=0), -1, place)
    return table.astype(float)


def released_records(codes, layout: Layout, rng: np.random.Generator) -> list[np.ndarray]:
    """Released codes of records."""
    found = []
    for code, axis in zip(codes, layout.axes, strict=True):
        kept = rng.random(len(code)) < float(axis.step.matrix.retention)
        found.append(np.where(kept, code, rng.integers(0, axis.size, len(code))))
    return found


def error(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Sum of absolute errors, as a share of the records."""
    return float(np.abs(estimate - truth).sum() / truth.sum())


def cramers_v(codes, shape) -> np.ndarray:
    """Cramer's V of every pair of columns."""
    found = []
    for a, b in combinations(range(len(shape)), 2):
        flat = codes[a].astype(np.int64) * shape[b] + codes[b]
        table = np.bincount(flat, minlength=shape[a] * shape[b]).reshape(shape[a], shape[b])
        table = table[table.sum(1) > 0][:, table.sum(0) > 0]
        expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
        square = ((table - expected) ** 2 / expected).sum()
        found.append(np.sqrt(square / table.sum() / (min(table.shape) - 1)))
    return np.array(found)
