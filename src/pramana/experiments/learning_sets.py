"""Tables with a class to learn: made by rule, or two classics from files; and how to bin them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from pramana import api
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.experiments.agrawal import RANGES, make_applicants
from pramana.experiments.harness import Setting
from pramana.mechanisms.mechanism import UniformMixture
from pramana.methods.given import GivenMatrices
from pramana.schema.domains import Bins, Categories, Domain
from pramana.schema.schema import Column, Role, Schema
from pramana.types import FloatArray, Form

__all__ = ["Cut", "LearningSet", "applicants", "bin_schema", "domain_of", "pendigits", "release_at",
           "spambase"]  # fmt: skip

Cut = Literal["width", "mass"]

SPAM_TRAINING = 3_101


@dataclass(frozen=True, eq=False)
class LearningSet:
    """Records to learn from, clean ones to test on, and what the paper's tree reached.

    Attributes:
        name: as in the paper's Table 1.
        train: the true records, of which a learner sees a release only.
        test: clean records.
        target: the column of classes.
        printed: the accuracy that the paper prints for the original data.
        ranges: where attributes lie, where that is known without looking.
    """

    name: str
    train: pa.Table = field(repr=False)
    test: pa.Table = field(repr=False)
    target: str = "class"
    printed: float | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def attributes(self) -> list[str]:
        """The columns to learn from."""
        return [name for name in self.train.column_names if name != self.target]


def applicants(function: int, *, records: int, tests: int, seed: int) -> LearningSet:
    """One of the five rules."""
    printed = {1: 1.0, 2: 0.8936, 3: 1.0, 4: 0.9922, 5: 0.9848}[function]
    train = make_applicants(records, function=function, keystream=Keystream.from_seed(seed))
    test = make_applicants(tests, function=function, keystream=Keystream.from_seed(seed + 1))
    return LearningSet(f"synth{function}", train, test, printed=printed, ranges=RANGES)


def pendigits(setting: Setting) -> LearningSet | None:
    """Pen digits, as split by their authors."""
    files = setting.file("pendigits.tra"), setting.file("pendigits.tes")
    if files[0] is None or files[1] is None:
        return None
    tables = [_named(np.loadtxt(file, delimiter=",")) for file in files if file is not None]
    return LearningSet("pendigits", tables[0], tables[1], printed=0.920526)


def spambase(setting: Setting) -> LearningSet | None:
    """Spam, divided at random into the paper's 3,101 and the rest."""
    file = setting.file("spambase_named.csv")
    if file is None:
        return None
    from pyarrow import csv

    table = csv.read_csv(file)
    table = table.rename_columns([*table.column_names[:-1], "class"])
    order = Keystream.from_seed(setting.seeded(57)).permutation(table.num_rows, "spam")
    train, test = table.take(order[:SPAM_TRAINING]), table.take(order[SPAM_TRAINING:])
    return LearningSet("spambase", train, test, printed=0.917333)


def _named(rows: FloatArray) -> pa.Table:
    columns: Form = {f"a{j}": rows[:, j] for j in range(rows.shape[1] - 1)}
    return pa.table(columns | {"class": rows[:, -1].astype(np.int64)})


# -- bins ----------------------------------------------------------------------------------


def domain_of(
    values: FloatArray, bins: int, *, cut: Cut = "width", ends: tuple[float, float] | None = None
) -> Domain:
    """At most ``bins`` values: the distinct ones where there are few enough, bins otherwise."""
    distinct = np.unique(values)
    if distinct.size <= max(bins, 2):
        if distinct.size == 1:  # a constant column still needs two values to be randomised
            distinct = np.append(distinct, distinct[0] + 1)
        return Categories(tuple(_plain(value) for value in distinct), ordered=True)
    if cut == "mass":
        return Bins(_mass_edges(values, bins))
    low, high = (distinct[0], distinct[-1]) if ends is None else ends
    return Bins(tuple(float(edge) for edge in np.linspace(low, high, bins + 1)))


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _mass_edges(values: FloatArray, bins: int) -> tuple[float, ...]:
    """Bins of about equal mass; a value that holds as much alone has a bin of its own."""
    distinct, counts = np.unique(values, return_counts=True)
    reached = np.cumsum(counts)
    edges, first, before = [float(distinct[0])], 0, 0
    for rest in range(bins, 1, -1):
        goal = before + (reached[-1] - before) / rest
        last = max(int(np.searchsorted(reached, goal)), first)
        if last > first and goal - reached[last - 1] < reached[last] - goal:
            last -= 1
        if last + 1 >= distinct.size:
            break
        edges.append(float(distinct[last + 1]))
        first, before = last + 1, int(reached[last])
    end = float(distinct[-1])
    return (*edges, end if end > edges[-1] else edges[-1] + 1.0)


def bin_schema(data: LearningSet, bins: int, *, cut: Cut = "width") -> Schema:
    """Every attribute a key with at most ``bins`` values; the class is released as it is."""
    columns = []
    for name in data.attributes:
        values = data.train[name].to_numpy().astype(np.float64)
        domain = domain_of(values, bins, cut=cut, ends=data.ranges.get(name))
        columns.append(Column(name, Role.KEY, domain, missing="refuse", declared=False))
    classes = Categories(tuple(sorted(set(data.train[data.target].to_pylist()))))
    return Schema((*columns, Column(data.target, Role.SENSITIVE, classes, missing="refuse")))


def release_at(data: LearningSet, schema: Schema, *, gamma: float, seed: int) -> Release:
    """Every attribute through the gamma-diagonal matrix [Dowd, Sec. 5.1]."""
    matrices = {c.name: UniformMixture.of(c.labels, gamma=gamma) for c in schema.randomised}
    plan = api.design(schema, data=data.train, method=GivenMatrices(matrices))
    return api.protect(data.train, plan, seed=seed)
