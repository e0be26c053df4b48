"""Experiments: populations of our own, and the papers' tables and figures made again."""

from pramana.experiments.population import make_population, population_schema

__all__ = ["make_population", "population_schema"]
