"""Accuracy of trees over a grid of (gamma, N): what the guide of ``methods`` reads.

Every point goes the whole way: bins, release, synthetic records, tree, clean test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.analysis.counts import clip
from pramana.analysis.features import (
    LEAF,
    attribute_of,
    codes_in_test,
    default_tree,
    feature_table,
)
from pramana.analysis.learning import LearnFrom, learn_tree
from pramana.analysis.release import Release
from pramana.base.randomness import Keystream
from pramana.base.text import counted, listed
from pramana.engine.base import open_source
from pramana.errors import InvalidTable, UnknownColumn
from pramana.experiments.gain_ratio import GainRatioTree
from pramana.experiments.learning_sets import Cut, LearningSet, applicants, bin_schema, release_at
from pramana.methods.choice import GridPoint, Guide
from pramana.schema.codec import encode, encode_released
from pramana.schema.schema import Schema
from pramana.types import TableLike

WAYS: dict[str, tuple[LearnFrom, bool]] = {
    "posterior": ("posterior", False),
    "rank": ("rank", False),
    "none": ("none", False),
    "posterior, gain ratio": ("posterior", True),
    "rank, gain ratio": ("rank", True),
}
"""How a tree may be learned: from which records, and whether by gain ratio instead of gain."""


@dataclass(frozen=True)
class Trial:
    """One data set at one point of the grid.

    Attributes:
        name: The data set.
        gamma: The largest ratio of two probabilities in a column of the matrix.
        bins: The number of bins.
        accuracy: The accuracy on clean records, by way, averaged over releases.
        error: The error of the estimated distributions, averaged over attributes and releases.
    """

    name: str
    gamma: float
    bins: int
    accuracy: Mapping[str, float]
    error: float


def try_grid(
    sets: Sequence[LearningSet],
    *,
    gammas: Sequence[float],
    bins: Sequence[int],
    seed: int,
    cut: Cut = "width",
    ways: Sequence[str] = ("posterior", "rank"),
    releases: int = 1,
    advance: Callable[[int], None] | None = None,
) -> list[Trial]:
    """Every data set at every point, as many releases each as asked."""
    trials = []
    for place, data in enumerate(sets):
        for number in bins:
            schema = bin_schema(data, number, cut=cut)
            for gamma in gammas:
                base = seed + 10_007 * place + 101 * number + int(13 * gamma)
                trials.append(_try(data, schema, number, gamma, base, ways, releases))
                if advance is not None:
                    advance(1)
    return trials


def guide_of(trials: Iterable[Trial]) -> Guide:
    """The average over data sets at each point [Dowd, Fig. 6]."""
    by_point: dict[tuple[float, int], list[Trial]] = {}
    for trial in trials:
        by_point.setdefault((trial.gamma, trial.bins), []).append(trial)
    return Guide(
        tuple(
            GridPoint(
                gamma,
                bins,
                accuracy=float(np.mean([trial.accuracy["posterior"] for trial in some])),
                error=float(np.mean([trial.error for trial in some])),
            )
            for (gamma, bins), some in sorted(by_point.items())
        )
    )


def reference_sets(*, quick: bool = False) -> list[LearningSet]:
    """The five rules, for stewards who have no data yet."""
    records, tests, functions = (
        (3_000, 1_000, (1, 2)) if quick else (20_000, 5_000, (1, 2, 3, 4, 5))
    )
    return [applicants(f, records=records, tests=tests, seed=2026 + f) for f in functions]


def table_sets(
    table: TableLike, *, target: str, test: TableLike | None = None
) -> list[LearningSet]:
    """A table of the steward's own, with a file to test on or a third of the records held out."""
    rows = open_source(table).to_arrow()
    _require_numbers(rows, target)
    if test is not None:
        clean = open_source(test).to_arrow()
        _require_numbers(clean.select([n for n in rows.column_names if n in clean.column_names]),
                         target)  # fmt: skip
        return [LearningSet("table", rows, clean, target=target)]
    order = Keystream.from_seed(2026).permutation(rows.num_rows, "held out")
    held = rows.num_rows // 3
    return [LearningSet("table", rows.take(order[held:]), rows.take(order[:held]), target=target)]


def _require_numbers(rows: pa.Table, target: str) -> None:
    if target not in rows.column_names:
        raise UnknownColumn(f"The table has no column '{target}' to learn.", column=target)
    other = [
        field.name
        for field in rows.schema
        if field.name != target
        and not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type))
    ]
    missing = [name for name in rows.column_names if rows[name].null_count]
    if other or missing:
        wrong = other or missing
        raise InvalidTable(
            "The guide tries tables of numbers without gaps; "
            f"{counted(len(wrong), 'column is', 'columns are')} not: {listed(wrong)}. Leave them "
            "out, or fill them."
        )


def original_accuracy(data: LearningSet) -> float:
    """The same tree on the original data, without bins."""
    schema = bin_schema(data, 2)
    pairs = [attribute_of(name, _bare(schema, name), data.train[name]) for name in data.attributes]
    attributes, values = [own for own, _ in pairs], [value for _, value in pairs]
    tests = [codes_in_test(own, data.test[own.name]) for own in attributes]
    classes = np.asarray(data.train[data.target].to_pylist())
    truth = np.asarray(data.test[data.target].to_pylist())
    tree = default_tree(1).fit(feature_table(attributes, values), classes)
    return float(np.mean(tree.predict(feature_table(attributes, tests)) == truth))


def _bare(schema: Schema, name: str) -> Any:
    """The column without its domain: a plain number."""
    from dataclasses import replace

    return replace(schema.column(name), domain=None, randomise=False)


def _try(
    data: LearningSet,
    schema: Schema,
    bins: int,
    gamma: float,
    seed: int,
    ways: Sequence[str],
    releases: int,
) -> Trial:
    accuracies: dict[str, list[float]] = {way: [] for way in ways}
    errors = []
    for number in range(releases):
        release = release_at(data, schema, gamma=gamma, seed=seed + 1_000_003 * number)
        errors.append(_estimation_error(data, schema, release))
        for way in ways:
            synthesis, by_gain_ratio = WAYS[way]
            learned = learn_tree(
                release,
                target=data.target,
                test=data.test,
                learner=_gain_ratio_tree(data.train.num_rows) if by_gain_ratio else None,
                synthesis=synthesis,
                seed=seed,
            )
            accuracies[way].append(learned.accuracy.value if learned.accuracy else float("nan"))
    means = {way: float(np.mean(values)) for way, values in accuracies.items()}
    return Trial(data.name, gamma, bins, means, float(np.mean(errors)))


def _gain_ratio_tree(records: int) -> GainRatioTree:
    """With leaves as large as those of the default tree, so that only the criterion differs."""
    return GainRatioTree(least=max(5, round(LEAF * records)))


def _estimation_error(data: LearningSet, schema: Schema, release: Release) -> float:
    """Mean over attributes of the corrected estimate's error [Dowd, Sec. 6.1]."""
    mechanism = release.certificate.mechanism
    released = release.opened.to_arrow(data.attributes)
    errors = []
    for column in schema.randomised:
        step = None if mechanism is None else mechanism.step_of(column.name)
        if step is None or step.matrix is None:
            continue
        size = len(column.labels)
        truth = np.bincount(encode(column, data.train[column.name]), minlength=size)
        seen = np.bincount(encode_released(column, released[column.name]), minlength=size)
        estimate = clip(step.matrix.solve(seen))
        errors.append(float(np.abs(estimate - truth).sum() / truth.sum()))
    return float(np.mean(errors))
