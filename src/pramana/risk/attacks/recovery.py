"""Data recovery: spectral filtering and principal components against noise and replacement.

Both attacks see correlated columns plus independent noise and keep the directions in which the data
vary more than the noise:

    spectral   [Kargupta03]  directions whose variance exceeds the largest that noise alone would
                             show, sigma**2 (1 + sqrt(columns / records))**2
    pca        [Huang05]     cov(X) = cov(Y) - Sigma, and of that the dominant components: those
                             before the deepest fall, in proportion, between eigenvalues

Read as truth plus noise, random replacement has noise that depends on the original data
[Dowd, Thm 1]; an attacker who ignores that can still estimate its variance from the matrix and the
frequencies, and filter. ``posterior`` is the attack made for random replacement: the mean true
value given the released one, the matrix and the frequencies. Values are the centres of their bins
or their positions. If nearly all of the noise is left, nothing was recovered. With attribute
sampling each set is attacked by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pramana.base.measured_share import FEWEST_TRIALS
from pramana.base.randomness import Keystream, Stream
from pramana.base.rounding import require_choice
from pramana.base.text import json_fields, percent_down, percent_up
from pramana.errors import InvalidNumber
from pramana.mechanisms.mechanism import AttributeSampler, Mechanism, Step
from pramana.risk.attacks.attacker_records import Records, cells_by_set, rerun
from pramana.schema.domains import Bins
from pramana.schema.schema import Schema
from pramana.types import FloatArray, Form, IntArray

NoiseFilter = Literal["spectral", "pca"]
METHODS: tuple[NoiseFilter, ...] = ("spectral", "pca")


@dataclass(frozen=True)
class Recovery:
    """How much nearer to the original data an attack comes than the released values themselves.

    Attributes:
        method: the attack.
        noise: root mean squared error of the released values.
        error: root mean squared error of the recovered values.
        components: the directions that were kept.
        columns: the number of columns.
    """

    method: str
    noise: float
    error: float
    components: int
    columns: int

    @property
    def left(self) -> float:
        """The share of the noise that is left: 1 says that nothing was recovered."""
        return self.error / self.noise if self.noise else 1.0

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "method noise error left components columns")


def recover(
    released: ArrayLike, *, variance: ArrayLike, method: NoiseFilter = "spectral"
) -> tuple[FloatArray, int]:
    """Records with the noise filtered out, and how many directions were kept.

    Args:
        released: one row per record, one column a number, noise added.
        variance: the variance of the noise in each column, as the attacker knows it.
        method: ``spectral`` or ``pca``.
    """
    data = np.asarray(released, dtype=np.float64)
    if data.ndim != 2 or len(data) < 2:
        raise InvalidNumber("Recovery needs a table of at least two records, one row each.")
    require_choice("method", method, METHODS)
    noise = np.broadcast_to(np.asarray(variance, dtype=np.float64), (data.shape[1],))
    if not (noise > 0).all():
        raise InvalidNumber("The variance of the noise must be above 0 in every column.")
    mean, units = data.mean(axis=0), np.sqrt(noise)
    scaled = (data - mean) / units  # noise of variance one in every column
    eigenvalues, vectors = np.linalg.eigh(np.atleast_2d(np.cov(scaled, rowvar=False)))
    kept = kept_components(eigenvalues[::-1], records=len(data), method=method)
    directions = vectors[:, ::-1][:, :kept]
    return scaled @ directions @ directions.T * units + mean, kept


def kept_components(eigenvalues: FloatArray, *, records: int, method: NoiseFilter) -> int:
    """How many of the falling eigenvalues of unit noise plus data belong to the data."""
    columns = len(eigenvalues)
    ceiling = (1 + np.sqrt(columns / records)) ** 2  # the largest that noise shows: [Marchenko67]
    if method == "spectral":
        return max(1, int((eigenvalues > ceiling).sum()))
    floor = ceiling - 1  # below, a corrected eigenvalue may be chance
    true = np.maximum(eigenvalues - 1, floor)
    return int((true / np.append(true[1:], floor)).argmax()) + 1


def recovery_attack(
    true_values: ArrayLike, released: ArrayLike, *, variance: ArrayLike
) -> tuple[Recovery, ...]:
    """Both attacks on records with known true values, in units of each column's noise."""
    original = np.asarray(true_values, dtype=np.float64)
    seen = np.asarray(released, dtype=np.float64)
    if original.shape != seen.shape:
        raise InvalidNumber("The true and the released records must be the same ones.")
    units = np.sqrt(np.broadcast_to(np.asarray(variance, dtype=np.float64), (seen.shape[1],)))
    noise = _error(original, seen, units)
    attacks = []
    for method in METHODS:
        cleaned, kept = recover(seen, variance=variance, method=method)
        error = _error(original, cleaned, units)
        attacks.append(Recovery(method, noise, error, kept, seen.shape[1]))
    return tuple(attacks)


def _error(original: FloatArray, other: FloatArray, units: FloatArray) -> float:
    return float(np.sqrt((((original - other) / units) ** 2).mean()))


@dataclass(frozen=True)
class ReleaseRecovery:
    """Recovery attacks on random replacement, and on additive noise of the same size.

    Attributes:
        columns: the columns read as numbers.
        replacement: the attacks on the release's mechanism.
        noise: the same attacks on the same truths with Gaussian noise of the same variance.
        exact: the share of values that the most likely value gets right.
        released_exact: the share of values that are released unchanged.
        guess: the share that naming the most frequent value gets right.
    """

    columns: tuple[str, ...]
    replacement: tuple[Recovery, ...]
    noise: tuple[Recovery, ...]
    exact: float
    released_exact: float
    guess: float

    def sentences(self) -> list[str]:
        """The findings in words."""
        best = min(self.replacement, key=lambda attack: attack.left)
        easy = min(self.noise, key=lambda attack: attack.left)
        return [
            f"Of the noise that replacement adds, {percent_down(best.left)} is left after the best "
            f"attack ({best.method}); of independent additive noise of the same size "
            f"{percent_down(easy.left)}.",
            f"The most likely value is right for {percent_up(self.exact)} of values; "
            f"{percent_up(self.released_exact)} are released unchanged, and naming the most "
            f"frequent value gets {percent_down(self.guess)}.",
        ]

    def to_json(self) -> Form:
        """Values for JSON."""
        return json_fields(self, "columns replacement exact released_exact guess") | {
            "attack": "recovery",
            "additive_noise": [attack.to_json() for attack in self.noise],
        }


def recovery_of_release(
    schema: Schema, mechanism: Mechanism, original: Records, *, keystream: Keystream
) -> ReleaseRecovery:
    """Attack the mechanism on these people, run once more with the pairing kept."""
    if len(original) < FEWEST_TRIALS:
        raise InvalidNumber(
            f"Recovery needs at least {FEWEST_TRIALS} records, got {len(original)}."
        )
    groups = list(_groups(schema, mechanism, original, keystream))
    if not groups:
        raise InvalidNumber(
            f"Recovery needs an attribute set with at least {FEWEST_TRIALS} records, and there is "
            "none."
        )
    parts = [_attacked(views, keystream, number) for number, views in enumerate(groups)]
    weights = [float(views[0].before.shape[0]) for views in groups]
    means = {
        name: float(np.average([getattr(part, name) for part in parts], weights=weights))
        for name in ("exact", "released_exact", "guess")
    }
    return ReleaseRecovery(
        columns=mechanism.columns,
        replacement=_pooled([part.replacement for part in parts], weights),
        noise=_pooled([part.noise for part in parts], weights),
        **means,
    )


def _groups(
    schema: Schema, mechanism: Mechanism, original: Records, keystream: Keystream
) -> Iterator[list[_View]]:
    """Records with the same columns, as numbers: all of them, or those of each attribute set."""
    released = rerun(mechanism, original, keystream=keystream, stream="recovery")
    if not isinstance(mechanism, AttributeSampler):
        yield [
            _view(schema, step, original.codes[place], released.codes[place])
            for place, step in enumerate(mechanism)
        ]
        return
    for attribute_set, rows, reported, known in cells_by_set(mechanism, released, original):
        if known is not None and len(rows) >= FEWEST_TRIALS:
            yield [
                _view(
                    schema, Step(attribute_set.columns, attribute_set.matrix), known[rows], reported
                )
            ]


def _attacked(views: list[_View], keystream: Keystream, number: int) -> ReleaseRecovery:
    """The attacks on records that report the same columns."""
    original, seen, means = (
        np.concatenate([getattr(view, name) for view in views], axis=1)
        for name in ("before", "after", "means")
    )
    variance = np.concatenate([view.variance for view in views])
    attacked = recovery_attack(original, seen, variance=variance)
    normal = keystream.normals(Stream("plain noise", number), 0, original.size)
    noisy = original + normal.reshape(original.shape) * np.sqrt(variance)
    by_noise = recovery_attack(original, noisy, variance=variance)
    error = _error(original, means, np.sqrt(variance))
    informed = Recovery("posterior", attacked[0].noise, error, len(variance), len(variance))
    return ReleaseRecovery(
        columns=(),
        replacement=(*attacked, informed),
        noise=by_noise,
        exact=float(np.mean([view.right for view in views])),
        released_exact=float(np.mean([view.kept for view in views])),
        guess=float(np.mean([view.guess for view in views])),
    )


def _pooled(parts: list[tuple[Recovery, ...]], weights: list[float]) -> tuple[Recovery, ...]:
    """The same attacks on several groups of records as one: squared errors are averaged."""
    pooled = []
    for same in zip(*parts, strict=True):
        squares = [[attack.noise**2, attack.error**2] for attack in same]
        cells = np.array(weights) * [attack.columns for attack in same]
        noise, error = np.sqrt(np.average(squares, axis=0, weights=cells)).tolist()
        components = sum(attack.components for attack in same)
        columns = sum(attack.columns for attack in same)
        pooled.append(Recovery(same[0].method, noise, error, components, columns))
    return tuple(pooled)


@dataclass(frozen=True, eq=False)
class _View:
    """The columns of a step as numbers: true, released, and by their mean given the release."""

    before: FloatArray
    after: FloatArray
    means: FloatArray
    variance: FloatArray
    right: float
    kept: float
    guess: float


def _view(schema: Schema, step: Step, original: IntArray, released: IntArray) -> _View:
    matrix = step.matrices[0]
    shares = np.bincount(original, minlength=matrix.size) / len(original)
    joint = shares[:, None] * matrix.values
    posterior = joint / np.maximum(joint.sum(axis=0), 1e-300)
    values = np.stack([_numbers(schema, step, place) for place in range(len(step.columns))], axis=1)
    gaps = [(joint * (v[:, None] - v[None, :]) ** 2).sum() for v in values.T]
    return _View(
        before=values[original],
        after=values[released],
        means=(posterior.T @ values)[released],
        variance=np.maximum(gaps, 1e-12),
        right=float((posterior.argmax(axis=0)[released] == original).mean()),
        kept=float((original == released).mean()),
        guess=float(shares.max()),
    )


def _numbers(schema: Schema, step: Step, place: int) -> FloatArray:
    """The number that each cell of a step represents in one of its columns."""
    column = schema.column(step.columns[place])
    numbers = [float(position) for position in range(len(column.labels))]
    if isinstance(column.domain, Bins) and np.isfinite(column.domain.edges).all():
        numbers[: column.domain.size] = map(float, column.domain.centres)
    number_of = dict(zip(column.labels, numbers, strict=True))
    cells: Any = step.labels
    labels = cells if len(step.columns) == 1 else [cell[place] for cell in cells]
    return np.array([number_of[label] for label in labels])
