"""Data recovery: spectral filtering and principal components against noise.

Both attacks see correlated columns plus independent noise and keep the directions in which the data
vary more than the noise:

    spectral   [Kargupta03]  directions whose variance exceeds the largest that noise alone would
                             show, sigma**2 (1 + sqrt(columns / records))**2
    pca        [Huang05]     cov(X) = cov(Y) - Sigma, and of that the dominant components: those
                             before the deepest fall, in proportion, between eigenvalues

``posterior`` is the attack made for random replacement: the most likely true value given the
released one, the matrix and the frequencies. A figure near 1 means that nothing was recovered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pramana.errors import InvalidNumber
from pramana.numeric import require_choice
from pramana.text import percent_down
from pramana.types import FloatArray, Form

__all__ = ["METHODS", "Recovery", "kept_components", "recover", "recovery_attack"]

NoiseFilter = Literal["spectral", "pca"]
METHODS: tuple[NoiseFilter, ...] = ("spectral", "pca")


@dataclass(frozen=True)
class Recovery:
    """How much nearer to the truth an attack comes than the released values themselves.

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

    def sentence(self) -> str:
        """The finding in plain words."""
        return (
            f"{self.method}: {percent_down(self.left)} of the noise is left after recovery "
            f"({self.components} of {self.columns} directions kept)."
        )

    def to_json(self) -> Form:
        """A plain form."""
        return {
            "method": self.method,
            "noise": self.noise,
            "error": self.error,
            "left": self.left,
            "components": self.components,
            "columns": self.columns,
        }


def recover(
    released: ArrayLike, *, variance: ArrayLike, method: NoiseFilter = "spectral"
) -> tuple[FloatArray, int]:
    """Records with the noise filtered out, and how many directions were kept.

    Args:
        released: one row a record, one column a number, noise added.
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
    truth: ArrayLike, released: ArrayLike, *, variance: ArrayLike
) -> tuple[Recovery, ...]:
    """Both attacks on records whose truth is at hand, in units of each column's noise."""
    original, seen = np.asarray(truth, dtype=np.float64), np.asarray(released, dtype=np.float64)
    if original.shape != seen.shape:
        raise InvalidNumber("The true and the released records must be the same ones.")
    units = np.sqrt(np.broadcast_to(np.asarray(variance, dtype=np.float64), (seen.shape[1],)))
    noise = _error(original, seen, units)
    found = []
    for method in METHODS:
        cleaned, kept = recover(seen, variance=variance, method=method)
        error = _error(original, cleaned, units)
        found.append(Recovery(method, noise, error, kept, seen.shape[1]))
    return tuple(found)


def _error(truth: FloatArray, other: FloatArray, units: FloatArray) -> float:
    return float(np.sqrt((((truth - other) / units) ** 2).mean()))
