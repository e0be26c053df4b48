"""A mixture of products: people fall into classes within which columns are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.types import FloatArray

__all__ = ["Blend", "FitSetting", "LatentClasses"]


@dataclass(frozen=True)
class FitSetting:
    """How to fit: the classes of each trait, pseudo-records of the prior, steps, and traits."""

    classes: int
    pull: float
    steps: int
    traits: int = 1

    def __str__(self) -> str:
        if self.traits == 1:
            return f"{self.classes} latent classes"
        return f"{self.traits} latent traits of {self.classes} classes"


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """P(x) = sum over classes r of q_r prod over axes j of theta_jr(x_j).

    Attributes:
        weights: The share of each class.
        profiles: For each axis the distribution of its values in each class: values by classes.
    """

    weights: FloatArray
    profiles: tuple[FloatArray, ...]

    def table(self, axes: Sequence[int]) -> FloatArray:
        """The joint distribution of some axes."""
        joint = self.weights
        for axis in axes:
            joint = joint[..., None, :] * self.profiles[axis]
        table: FloatArray = joint.sum(axis=-1)
        return table


@dataclass(frozen=True, eq=False)
class Blend:
    """The average of several fits, each as good as the others.

    Attributes:
        models: The fits.
        why: One sentence on how they were chosen.
        settings: How they were fitted, the best first; none for independent columns.
    """

    models: tuple[LatentClasses, ...]
    why: str
    settings: tuple[FitSetting, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each axis has."""
        return tuple(len(profile) for profile in self.models[0].profiles)

    def merged(self) -> LatentClasses:
        """The same distribution as one model: the classes of all fits."""
        weights = np.concatenate([model.weights for model in self.models]) / len(self.models)
        profiles = tuple(
            np.concatenate(parts, axis=1)
            for parts in zip(*(model.profiles for model in self.models), strict=True)
        )
        return LatentClasses(weights, profiles)

    def table(self, axes: Sequence[int]) -> FloatArray:
        """The joint distribution of some axes."""
        parts = [model.table(axes) for model in self.models]
        mean: FloatArray = sum(parts[1:], start=parts[0]) / len(parts)
        return mean
