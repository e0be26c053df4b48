"""One model of the whole table, fitted to what was released: latent classes under a channel."""

from pramana.model.choose import fit_model
from pramana.model.drawing import draw_records
from pramana.model.latent_classes import Blend, LatentClasses
from pramana.model.observed import Answers, Feature, Observed

__all__ = [
    "Answers",
    "Blend",
    "Feature",
    "LatentClasses",
    "Observed",
    "draw_records",
    "fit_model",
]
