"""Weights that let a release speak for another population, or for one of several tasks.

A model is learned from records with covariates distributed as p(x) and used where they are
distributed as q(x). Under covariate shift p(y | x) is the same in both, so that records weighted by

    w(x) = q(x) / p(x)                                                      [Wei, Sec. 2]

give the risk in the other population [Wei, eq. 2]. Of m tasks, task t learns from the records of
all of them, weighted by

    w(x, y | t) = p(x, y | t) / sum_s p(s) p(x, y | s)  *  q(x | t) / p(x | t)      [Wei, eq. 3]

By Bayes' rule the first factor is p(t | x, y) / p(t): a classifier of tasks estimates it.

p is the distribution of the truth. So weights belong to synthetic records where matrices can be
undone, and to the released records where keys were replaced within groups or matrices are withheld.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.analysis.features import (
    Attribute,
    attribute_of,
    numbers_of,
    raw_feature_table,
    raw_records,
    released_attribute,
    scikit_learn,
)
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import counted, records_that
from pramana.engine.base import open_truth
from pramana.errors import InvalidTable, NotCovered, Notice, UnknownColumn
from pramana.schema.domains import label_text
from pramana.schema.schema import Role, Schema
from pramana.types import FloatArray, IntArray, Learner, TableLike

if TYPE_CHECKING:
    from pramana.analysis.release import Release

RatioMethod: TypeAlias = Literal["classifier", "nonparametric"]
RATIO_METHODS: tuple[RatioMethod, ...] = ("classifier", "nonparametric")

LEAST_EFFECTIVE, LEAST_SHARE = 50, 0.1
"""Fewer effective records, or a smaller share of the records, are warned of."""

RECORDS_A_CELL, MOST_CUTS = 20, 20
"""Numbers of more distinct values are cut into at most so many parts, with so many records each."""

MOST_CROSSED = 20
"""Up to this many features the classifier also sees their squares and products."""

THIS_RELEASE = "this release"


@dataclass(frozen=True, eq=False)
class PopulationWeights:
    """One weight a record: how much it counts in another population, or for a task.

    Attributes:
        table: The records: synthetic ones, or the released ones.
        values: Their weights, with mean 1. Weights of the release are part of them.
        columns: The covariates that were compared.
        covered: The share of the other population that has records like it in the release.
        synthetic: Whether the records are synthetic.
    """

    table: pa.Table = field(repr=False)
    values: FloatArray = field(repr=False)
    columns: tuple[str, ...]
    covered: float
    synthetic: bool

    @property
    def effective(self) -> float:
        """The effective sample size [Kish]: this many records of equal weight tell as much."""
        return effective_size(self.values)

    @property
    def why(self) -> str:
        """What the weights are worth."""
        kind = "synthetic" if self.synthetic else "released"
        uncovered = 1 - self.covered
        more = f" {uncovered:.1%} of the population has no record like it." if uncovered else ""
        return (
            f"{len(self.values):,} {kind} records count as {self.effective:,.0f} of equal weight."
            f"{more}"
        )


def effective_size(weights: FloatArray) -> float:
    """(sum w)^2 / sum w^2."""
    return float(weights.sum() ** 2 / max(np.square(weights).sum(), 1e-300))


def shift_weights(
    release: Release,
    target: TableLike,
    *,
    columns: Sequence[str] | None = None,
    method: RatioMethod = "classifier",
    classifier: Learner | None = None,
    seed: int | None = None,
) -> PopulationWeights:
    """Weights q(x) / p(x) of the records, with which they speak for another population.

    Where matrices can be undone the records are synthetic ones, else the released ones.

    Args:
        release: the release.
        target: records of the other population, a file or data frame of original values.
        columns: the covariates x; all that both have, if not given.
        method: ``classifier``, or ``nonparametric``: shares of cells, with numbers cut.
        classifier: of scikit-learn, with ``predict_proba``; logistic regression if not given.
        seed: for the same synthetic records again.
    """
    require_choice("method", method, RATIO_METHODS)
    table, base, synthetic = _learnable(release, Keystream.of(seed))
    attributes = _covariates(release, target, columns)
    x = raw_feature_table(attributes, table)
    ratio, covered = _shift(x, base, _population(attributes, target), method, classifier)
    names = tuple(attribute.name for attribute in attributes)
    return _weighted(PopulationWeights(table, base * ratio, names, covered, synthetic))


def shifted(
    release: Release,
    attributes: Sequence[Attribute],
    x: FloatArray,
    weight: FloatArray | None,
    population: TableLike,
    method: RatioMethod,
) -> FloatArray:
    """Weights for another population of records whose features a learner has in hand."""
    shared = _covariates(release, population, None)
    names = [attribute.name for attribute in shared]
    sources = [attribute.name for attribute in attributes for _ in attribute.names]
    base = np.ones(len(x)) if weight is None else weight
    attributes = [attribute for attribute in attributes if attribute.name in names]
    if not attributes:
        raise InvalidTable("The population must have columns that the model predicts from.")
    compared = x[:, np.isin(sources, names)]
    ratio, covered = _shift(compared, base, _population(attributes, population), method, None)
    weights = PopulationWeights(pa.table({}), base * ratio, tuple(names), covered, synthetic=True)
    return _weighted(weights).values


def transfer_weights(
    release: Release,
    tasks: str | Mapping[str, Release],
    *,
    response: str,
    populations: Mapping[str, TableLike] | None = None,
    columns: Sequence[str] | None = None,
    method: RatioMethod = "classifier",
    classifier: Learner | None = None,
    seed: int | None = None,
) -> dict[str, PopulationWeights]:
    """Weights by task, with which the records of all tasks speak for one of them [Wei, eq. 3].

    Args:
        release: the release.
        tasks: the column that says whose task a record is, or other releases by name; the task of
            this one is then called ``this release``.
        response: the column that is to be predicted.
        populations: by task, records for which the model is meant; a task's own if not given.
        columns: the covariates; all that all tasks have, if not given.
        method: as in ``shift_weights``.
        classifier: likewise.
        seed: likewise.
    """
    require_choice("method", method, RATIO_METHODS)
    others = {} if isinstance(tasks, str) else dict(tasks)
    releases = {THIS_RELEASE: release, **others}
    apart = (response, tasks) if isinstance(tasks, str) else (response,)
    names = [n for n in _names_in_all(releases.values(), (*apart, *(columns or ())))
             if n not in apart and (columns is None or n in columns)]  # fmt: skip
    if not names:
        raise InvalidTable("The tasks must have a covariate in common.")
    keystream = Keystream.of(seed)
    parts = [_learnable(member, keystream) for member in releases.values()]
    base = np.concatenate([weight for _, weight, _ in parts])
    table = pa.concat_tables(
        [_plain(part).select([*names, *apart]) for part, _, _ in parts],
        promote_options="permissive",
    )
    if isinstance(tasks, str):
        whose = np.array([label_text(value) for value in table[tasks].to_pylist()])
    else:
        whose = np.repeat(list(releases), [part.num_rows for part, _, _ in parts])
    schema = release.certificate.true_schema
    x, answer = (
        raw_feature_table([attribute_of(n, schema.column(n), table[n])[0] for n in side], table)
        for side in (names, [response])
    )
    labels, task = np.unique(whose, return_inverse=True)
    both = np.concatenate([x, answer], axis=1)
    chance = _posterior(both, task, base, both, method, classifier)
    shares = np.bincount(task, base) / base.sum()
    by_task = {}
    for place, label in enumerate(labels.tolist()):
        values, covered = base * chance[:, place] / shares[place], 1.0
        if populations is not None and label in populations:
            attributes = _covariates(release, populations[label], names, known=table)
            if [attribute.name for attribute in attributes] != names:
                raise InvalidTable(f"The population of a task must have {', '.join(names)}.")
            target = _population(attributes, populations[label])
            here = task == place
            ratio, covered = _shift(x[here], base[here], target, method, classifier, at=x)
            values = values * ratio
        weights = PopulationWeights(
            table, values, tuple(names), covered, any(synthetic for _, _, synthetic in parts)
        )
        by_task[label] = _weighted(weights)
    unknown = sorted(set(populations or ()) - set(by_task))
    if unknown:
        raise InvalidTable(f"{len(unknown)} populations are of no task: {', '.join(unknown)}.")
    return by_task


def _weighted(weights: PopulationWeights) -> PopulationWeights:
    """With mean 1; warns where few records carry nearly all."""
    total = float(weights.values.sum())
    if not total > 0:
        raise NotCovered("The release has no record like those of the other population.")
    scaled = replace(weights, values=weights.values * (len(weights.values) / total))
    if scaled.effective < max(LEAST_EFFECTIVE, LEAST_SHARE * len(scaled.values)):
        warnings.warn(
            Notice(
                f"{scaled.why} Compare fewer columns, or populations that are more alike.",
                code="weights-collapse",
                effective=scaled.effective,
                records=len(scaled.values),
            ),
            stacklevel=4,
        )
    return scaled


def _learnable(release: Release, keystream: Keystream) -> tuple[pa.Table, FloatArray, bool]:
    """The records, their weights, and whether they are synthetic.

    They are drawn anew wherever matrices can be undone. Otherwise released records are taken as
    they stand: methods that replace keys within groups keep their distribution [Wei, Lemma 1].
    """
    try:
        undone = bool(release.reading.channel().steps)
    except NotCovered:
        undone = False
    synthetic = undone or not release.certificate.nature.whole
    table = release.synthesized(keystream) if synthetic else release.opened.to_arrow()
    weight = release.certificate.true_schema.weight
    if weight is None:
        return table, np.ones(table.num_rows), synthetic
    return table, numbers_of(table[weight.name], 0.0), synthetic


def _plain(table: pa.Table) -> pa.Table:
    """Dictionaries as their values, so that tables can be put together."""
    for place, item in enumerate(table.schema):
        if pa.types.is_dictionary(item.type):
            values = table.column(place).cast(item.type.value_type)
            table = table.set_column(place, item.name, values)
    return table.replace_schema_metadata(None)


def _names_in_all(releases: Iterable[Release], required: Sequence[str]) -> list[str]:
    """The columns that all releases have, weights left out."""
    schemas = [release.certificate.true_schema for release in releases]
    names = [c.name for c in schemas[0].columns if c.role is not Role.WEIGHT]
    shared = [name for name in names if all(name in schema.names for schema in schemas)]
    for name in required:
        if name not in shared:
            raise UnknownColumn(f"There is no column '{name}' in every release.", column=name)
    return shared


def _covariates(
    release: Release,
    population: TableLike,
    columns: Sequence[str] | None,
    known: pa.Table | None = None,
) -> list[Attribute]:
    """The columns to compare: those asked for, or all that both have, weights left out."""
    names = _names_in_all([release], columns or ())
    schema = release.certificate.true_schema
    there = open_truth(population, Schema(tuple(map(schema.column, names)))).schema.names
    lacking = [name for name in columns or () if name not in there]
    if lacking:
        raise UnknownColumn(
            f"The population must have the column '{lacking[0]}'.", column=lacking[0]
        )
    wanted = [name for name in columns or names if name in there]
    if not wanted:
        raise InvalidTable("The population has no column of the release.")
    if known is not None:
        return [attribute_of(name, schema.column(name), known[name])[0] for name in wanted]
    return [released_attribute(release, name) for name in wanted]


def _population(attributes: Sequence[Attribute], population: TableLike) -> FloatArray:
    """The features of the other population; warns of few records and of values outside the schema.

    A value outside is like no record of the release, so that the weights cannot stand for it.
    """
    records = raw_records(attributes, population)
    outside = np.zeros(records.num_rows, dtype=bool)
    for attribute in attributes:
        outside |= attribute.outside(records[attribute.name])
    lacking = int(outside.sum())
    if lacking == records.num_rows:
        raise NotCovered(
            "Every record of the other population lacks a value or has one outside the schema, so "
            "that none is like a record of the release. Take the spelling and the range of the "
            "schema."
        )
    if lacking:
        warnings.warn(
            Notice(
                f"{records_that(lacking, 'lacks', 'lack', of='the other population')} a value or "
                f"{'has' if lacking == 1 else 'have'} one outside the schema "
                f"({lacking / records.num_rows:.1%}): no weights stand for them.",
                code="outside-schema",
                count=lacking,
            ),
            stacklevel=5,
        )
    if records.num_rows < LEAST_EFFECTIVE:
        warnings.warn(
            Notice(
                f"The other population has {counted(records.num_rows, 'record')}: weights rest on "
                f"chance with fewer than {LEAST_EFFECTIVE}.",
                code="few-records",
                records=records.num_rows,
            ),
            stacklevel=5,
        )
    return raw_feature_table(attributes, records)


def _shift(
    x: FloatArray,
    base: FloatArray,
    target: FloatArray,
    method: RatioMethod,
    classifier: Learner | None,
    at: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Q / p at some rows, and the share of q that the records of p can stand for.

    A classifier that tells both samples, each with half of the weight, has the odds q / p.
    """
    both, places = np.concatenate([x, target]), np.repeat([0, 1], [len(x), len(target)])
    weight = np.concatenate(
        [base / base.sum(), np.full(len(target), 1 / len(target))]
    ) * (len(both) / 2)  # fmt: skip
    rows = both if at is None else np.concatenate([both, at])
    chance = _posterior(both, places, weight, rows, method, classifier)
    with np.errstate(divide="ignore"):
        ratio = chance[:, 1] / chance[:, 0]
    covered = float(np.mean(ratio[len(x) : len(both)] <= ratio[: len(x)].max()))
    wanted = ratio[: len(x)] if at is None else ratio[len(both) :]
    return np.where(np.isfinite(wanted), wanted, 0.0), covered


def _posterior(
    x: FloatArray,
    classes: IntArray,
    weight: FloatArray,
    at: FloatArray,
    method: RatioMethod,
    classifier: Learner | None,
) -> FloatArray:
    """The probability of each class given the features, at other rows."""
    if method == "nonparametric":
        cells = _cells(np.concatenate([x, at]), len(x))
        size = int(cells.max()) + 1
        table = np.stack(
            [np.bincount(cells[: len(x)], weight * (classes == number), size)
             for number in range(int(classes.max()) + 1)], axis=1,
        )  # fmt: skip
        total = table.sum(axis=1, keepdims=True)
        shares = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        return np.asarray(shares[cells[len(x) :]], dtype=np.float64)
    model: Any = _classifier(x.shape[1]) if classifier is None else classifier
    if "sample_weight" in inspect.signature(model.fit).parameters:
        model.fit(x, classes, sample_weight=weight)
    elif hasattr(model, "steps"):
        model.fit(x, classes, **{f"{model.steps[-1][0]}__sample_weight": weight})
    else:
        raise NotCovered(f"{type(model).__name__} takes no weights: take a classifier that does.")
    return np.asarray(model.predict_proba(at), dtype=np.float64)


def _classifier(features: int) -> Learner:
    """Logistic regression on features, their squares and products; missing numbers apart."""
    pipeline, preprocessing = scikit_learn("pipeline"), scikit_learn("preprocessing")
    impute, linear = scikit_learn("impute"), scikit_learn("linear_model")
    degree = 2 if features <= MOST_CROSSED else 1
    learner: Learner = pipeline.make_pipeline(
        impute.SimpleImputer(add_indicator=True, keep_empty_features=True),
        preprocessing.StandardScaler(),
        preprocessing.PolynomialFeatures(degree, include_bias=False),
        preprocessing.StandardScaler(),
        linear.LogisticRegression(max_iter=1000),
    )
    return learner


def _cells(x: FloatArray, fitted: int) -> IntArray:
    """One number for each combination of values, with numbers of many values cut at quantiles."""
    many = [len(np.unique(column[:fitted])) > MOST_CUTS for column in x.T]
    parts = (fitted / RECORDS_A_CELL) ** (1 / max(sum(many), 1))
    parts = int(np.clip(parts, 2, MOST_CUTS))
    cells = np.zeros(len(x), dtype=np.int64)
    for column, cut in zip(x.T, many, strict=True):
        values = np.unique(column[np.isfinite(column)])
        if cut:
            known = column[:fitted][np.isfinite(column[:fitted])]
            values = np.unique(np.quantile(known, np.arange(1, parts) / parts))
        codes = np.searchsorted(values, column, side="right")
        codes[np.isnan(column)] = len(values) + 1
        cells = np.unique(cells * (len(values) + 2) + codes, return_inverse=True)[1]
    return cells
