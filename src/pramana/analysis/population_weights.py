"""Weight the records of a release for another population, or for one of several tasks.

A model is learned from records with covariates distributed as p(x) and used where they are
distributed as q(x). Under covariate shift p(y | x) is the same in both. Records weighted by

    w(x) = q(x) / p(x)                                                      [Wei, Sec. 2]

then give the risk in the other population [Wei, eq. 2]. Task t of m learns from the records of all
tasks, weighted by

    w(x, y | t) = p(x, y | t) / sum_s p(s) p(x, y | s)  *  q(x | t) / p(x | t)      [Wei, eq. 3]

By Bayes' rule the first factor is p(t | x, y) / p(t), which a classifier of tasks estimates.

p is the distribution of the original data. So weights belong to synthetic records if matrices can
be undone, and to the released records if keys were replaced within groups or matrices are withheld.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from pramana.analysis.features import (
    Attribute,
    attribute_of,
    fit_weighted,
    numbers_of,
    raw_feature_table,
    raw_records,
    released_attribute,
    scikit_learn,
)
from pramana.analysis.readings import UnchangedOnly
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import counted, records_that
from pramana.engine.base import open_original
from pramana.errors import InvalidTable, NotCovered, Notice, UnknownColumn
from pramana.schema.domains import label_text
from pramana.schema.opened_table import one_array
from pramana.schema.schema import Schema
from pramana.types import FloatArray, IntArray, Learner, TableLike

if TYPE_CHECKING:
    from pramana.analysis.release import Release

RatioMethod: TypeAlias = Literal["classifier", "nonparametric"]
RATIO_METHODS: tuple[RatioMethod, ...] = ("classifier", "nonparametric")

LEAST_EFFECTIVE, LEAST_SHARE = 50, 0.1
"""A warning is given for fewer effective records, or for a smaller share of the records."""


RECORDS_A_CELL, MOST_CUTS = 20, 20
"""Numbers of more distinct values are cut into at most this many parts, with equally many records
each.
"""


@dataclass(frozen=True, eq=False)
class PopulationWeights:
    """One weight per record: how much it counts in another population, or for a task.

    Attributes:
        table: The records, synthetic or released.
        values: Their weights, with mean 1. Weights of the release are part of them.
        columns: The covariates that were compared.
        covered: The share of the other population that has records like it in the release.
        synthetic: Whether the records are synthetic.
        distorted: Why the records do not have the distribution of the original data, so that the
            weights are biased; empty if they have it.
    """

    table: pa.Table = field(repr=False)
    values: FloatArray = field(repr=False)
    columns: tuple[str, ...]
    covered: float
    synthetic: bool
    distorted: str = ""

    def __str__(self) -> str:
        return self.why

    @property
    def effective(self) -> float:
        """The effective sample size (sum w)^2 / sum w^2 [Kish]."""
        return float(self.values.sum() ** 2 / max(np.square(self.values).sum(), 1e-300))

    @property
    def why(self) -> str:
        """The effective sample size, who is not covered, and whether weights are biased."""
        kind = "synthetic" if self.synthetic else "released"
        sentences = [
            f"{len(self.values):,} {kind} records count as {self.effective:,.0f} of equal weight."
        ]
        if self.covered < 1:
            uncovered = 1 - self.covered
            sentences.append(f"{uncovered:.1%} of the population has no record like it.")
        if self.distorted:
            sentences.append(f"The weights are biased: {self.distorted}.")
        return " ".join(sentences)

    @property
    def code(self) -> str:
        """The code of a warning that these weights deserve; empty if none."""
        if self.effective < max(LEAST_EFFECTIVE, LEAST_SHARE * len(self.values)):
            return "weights-collapse"
        if 1 - self.covered > 0.05:
            return "population-not-covered"
        return "weights-biased" if self.distorted else ""


def shift_weights(
    release: Release,
    target: TableLike,
    *,
    columns: Sequence[str] | None = None,
    method: RatioMethod = "classifier",
    classifier: Learner | None = None,
    seed: int | None = None,
) -> PopulationWeights:
    """Weights q(x) / p(x) of the records for another population.

    The records are synthetic if the matrices can be undone, otherwise released.

    Args:
        release: The release.
        target: Records of the other population, a file or data frame of original values.
        columns: The covariates x; all that both have, if not given.
        method: ``classifier``, or ``nonparametric``: shares of cells, with numbers cut.
        classifier: Of scikit-learn, with ``predict_proba``; logistic regression if not given.
        seed: For the same synthetic records again.
    """
    require_choice("method", method, RATIO_METHODS)
    table, base, synthetic = _records(release, Keystream.of(seed))
    attributes = _covariates(release, target, columns)
    x, q = raw_feature_table(attributes, table), _population(attributes, target)
    ratio, covered = _density_ratio(x, base, q, method, classifier)
    names = [attribute.name for attribute in attributes]
    distorted = _distorted(release, names, synthetic)
    return _weights(table, base * ratio, names, covered, synthetic, distorted)


def shifted(
    release: Release,
    attributes: Sequence[Attribute],
    x: FloatArray,
    weight: FloatArray | None,
    population: TableLike,
    method: RatioMethod,
    synthesis: str,
) -> PopulationWeights:
    """Weights for another population of records whose features ``x`` a learner holds."""
    names = [attribute.name for attribute in _covariates(release, population, None)]
    compared = [attribute for attribute in attributes if attribute.name in names]
    if not compared:
        raise InvalidTable("The population must have columns that the model predicts from.")
    source = [attribute.name for attribute in attributes for _ in attribute.names]
    base, q = np.ones(len(x)) if weight is None else weight, _population(compared, population)
    ratio, covered = _density_ratio(x[:, np.isin(source, names)], base, q, method, None)
    synthetic = synthesis != "none"
    distorted = _distorted(release, names, synthetic)
    return _weights(pa.table({}), base * ratio, names, covered, synthetic, distorted)


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
    """Weights by task, with which the records of all tasks represent one of them [Wei, eq. 3].

    Args:
        release: The release.
        tasks: The column that names the task of a record, or other releases by name; the task of
            this one is then called ``this release``.
        response: The column to be predicted.
        populations: By task, records for which the model is meant; a task's own if not given.
        columns: The covariates; all that all tasks have, if not given.
        method: As in ``shift_weights``.
        classifier: As in ``shift_weights``.
        seed: As in ``shift_weights``.
    """
    require_choice("method", method, RATIO_METHODS)
    releases = {"this release": release, **({} if isinstance(tasks, str) else tasks)}
    apart = (response, tasks) if isinstance(tasks, str) else (response,)
    shared = shared_names(releases.values(), (*apart, *(columns or ())))
    names = [n for n in shared if n not in apart and (columns is None or n in columns)]
    if not names:
        raise InvalidTable("The tasks must have a covariate in common.")
    keystream = Keystream.of(seed)
    parts = [_records(member, keystream) for member in releases.values()]
    base = np.concatenate([weight for _, weight, _ in parts])
    synthetic = any(part_is_synthetic for _, _, part_is_synthetic in parts)
    table = pa.concat_tables(
        [
            pa.table({name: one_array(part[name]) for name in (*names, *apart)})
            for part, _, _ in parts
        ],
        promote_options="permissive",
    )
    if isinstance(tasks, str):
        task_names = np.array([label_text(value) for value in table[tasks].to_pylist()])
    else:
        task_names = np.repeat(list(releases), [part.num_rows for part, _, _ in parts])
    schema = release.certificate.true_schema
    x, y = (
        raw_feature_table([attribute_of(n, schema.column(n), table[n])[0] for n in side], table)
        for side in (names, [response])
    )
    labels, task = np.unique(task_names, return_inverse=True)
    unknown = sorted(set(populations or ()) - set(labels.tolist()))
    if unknown:
        raise InvalidTable(f"{len(unknown)} populations are of no task: {', '.join(unknown)}.")
    both = np.concatenate([x, y], axis=1)
    chance = _class_probabilities(both, task, base, both, method, classifier)
    shares = np.bincount(task, base) / base.sum()
    compared = [*names, response]
    distorted = next(
        filter(None, (_distorted(release, compared, synthetic) for release in releases.values())),
        "",
    )
    by_task = {}
    for place, label in enumerate(labels.tolist()):
        values, covered = base * chance[:, place] / shares[place], 1.0
        if populations is not None and label in populations:
            attributes = _covariates(release, populations[label], names, known=table)
            if [attribute.name for attribute in attributes] != names:
                raise InvalidTable(f"The population of a task must have {', '.join(names)}.")
            here, q = task == place, _population(attributes, populations[label])
            ratio, covered = _density_ratio(x[here], base[here], q, method, classifier, at=x)
            values = values * ratio
        by_task[label] = _weights(table, values, names, covered, synthetic, distorted)
    return by_task


def _weights(
    table: pa.Table,
    values: FloatArray,
    names: Sequence[str],
    covered: float,
    synthetic: bool,
    distorted: str,
) -> PopulationWeights:
    """Weights of mean 1, with warnings."""
    total = float(values.sum())
    if not total > 0:
        raise NotCovered("No record of the release resembles the other population.")
    scaled = values * (len(values) / total)
    weights = PopulationWeights(table, scaled, tuple(names), covered, synthetic, distorted)
    if weights.code:
        advice = " Compare fewer columns, or populations that are more alike."
        warnings.warn(
            Notice(
                weights.why + ("" if weights.code == "weights-biased" else advice),
                code=weights.code,
                effective=weights.effective,
                covered=covered,
                records=len(values),
            ),
            stacklevel=4,
        )
    return weights


def _distorted(release: Release, names: Sequence[str], synthetic: bool) -> str:
    """Why released records do not have the distribution of the original data in these columns."""
    reading = release.reading
    if synthetic or not isinstance(reading, UnchangedOnly):
        return ""
    return reading.distorted(names)


def _records(release: Release, keystream: Keystream) -> tuple[pa.Table, FloatArray, bool]:
    """The records, their weights, and whether they are synthetic.

    Records whose keys were replaced within groups are used as they are: these methods keep the
    distribution [Wei, Lemma 1].
    """
    try:
        undone = bool(release.reading.channel().steps)
    except NotCovered:
        undone = False
    synthetic = undone or not release.certificate.nature.whole
    table = release.synthesized(keystream) if synthetic else release.opened.to_arrow()
    weight = release.certificate.true_schema.weight
    values = np.ones(table.num_rows) if weight is None else numbers_of(table[weight.name], 0.0)
    return table, values, synthetic


def shared_names(releases: Iterable[Release], required: Sequence[str]) -> list[str]:
    """The columns that all releases have, weights left out."""
    schemas = [release.certificate.true_schema for release in releases]
    names = [c.name for c in schemas[0].columns if c.role.traits.analysed]
    shared = [name for name in names if all(name in schema.names for schema in schemas)]
    for name in required:
        if name not in shared:
            raise UnknownColumn(
                f"'{name}' is not in the release, or not in all. They have: {', '.join(shared)}.",
                column=name,
            )
    return shared


def _covariates(
    release: Release,
    population: TableLike,
    columns: Sequence[str] | None,
    known: pa.Table | None = None,
) -> list[Attribute]:
    """The columns to compare: those asked for, or all that both have, weights left out."""
    names = shared_names([release], columns or ())
    schema = release.certificate.true_schema
    available = open_original(population, Schema(tuple(map(schema.column, names)))).schema.names
    lacking = [name for name in columns or () if name not in available]
    if lacking:
        raise UnknownColumn(
            f"The population must have the column '{lacking[0]}'.", column=lacking[0]
        )
    compared = [name for name in columns or names if name in available]
    if not compared:
        raise InvalidTable("The population has no column of the release.")
    if known is not None:
        return [attribute_of(name, schema.column(name), known[name])[0] for name in compared]
    return [released_attribute(release, name) for name in compared]


def _population(attributes: Sequence[Attribute], population: TableLike) -> FloatArray:
    """The features of the other population, with warnings.

    A value outside the schema is like no record of the release, so no weights represent it.
    """
    records = raw_records(attributes, population)
    outside = np.zeros(records.num_rows, dtype=bool)
    for attribute in attributes:
        outside |= attribute.outside(records[attribute.name])
    count = int(outside.sum())
    if count == records.num_rows:
        raise NotCovered(
            "Every record of the other population lacks a value or has one outside the schema, so "
            "that none is like a record of the release. Use the spelling and the range of the "
            "schema."
        )
    if count:
        warnings.warn(
            Notice(
                f"{records_that(count, 'lacks', 'lack', of='the other population')} a value or "
                f"{'has' if count == 1 else 'have'} one outside the schema "
                f"({count / records.num_rows:.1%}): no weights represent them.",
                code="outside-schema",
                count=count,
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


def _density_ratio(
    x: FloatArray,
    base: FloatArray,
    target: FloatArray,
    method: RatioMethod,
    classifier: Learner | None,
    at: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Q / p at some rows, and the share of q that has records of p like it.

    A classifier that tells the samples apart, each with half of the weight, has the odds q / p.
    """
    both, places = np.concatenate([x, target]), np.repeat([0, 1], [len(x), len(target)])
    weight = np.concatenate([base / base.sum(), np.full(len(target), 1 / len(target))])
    rows = both if at is None else np.concatenate([both, at])
    chance = _class_probabilities(both, places, weight * (len(both) / 2), rows, method, classifier)
    with np.errstate(divide="ignore"):
        ratio = chance[:, 1] / chance[:, 0]
    covered = float(np.mean(ratio[len(x) : len(both)] <= ratio[: len(x)].max()))
    asked = ratio[: len(x)] if at is None else ratio[len(both) :]
    return np.where(np.isfinite(asked), asked, 0.0), covered


def _class_probabilities(
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
        fitted, size = cells[: len(x)], int(cells.max()) + 1
        by_class = [
            np.bincount(fitted, weight * (classes == number), size)
            for number in range(int(classes.max()) + 1)
        ]
        table = np.stack(by_class, axis=1)
        total = table.sum(axis=1, keepdims=True)
        shares = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
        return np.asarray(shares[cells[len(x) :]], dtype=np.float64)
    model: Any = _logistic_regression(x.shape[1]) if classifier is None else classifier
    fit_weighted(model, x, classes, weight)
    return np.asarray(model.predict_proba(at), dtype=np.float64)


def _logistic_regression(features: int) -> Learner:
    """Logistic regression on features, their squares and products, and indicators of missing."""
    pipeline, preprocessing = scikit_learn("pipeline"), scikit_learn("preprocessing")
    impute, linear = scikit_learn("impute"), scikit_learn("linear_model")
    degree = 2 if features <= 20 else 1  # otherwise the features alone
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
