"""Synthetic populations, and the tables and figures of the papers reproduced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.base.registry import lazy_exports

if TYPE_CHECKING:
    from pramana.experiments.harness import EXPERIMENTS, count_steps, run_experiment, title
    from pramana.experiments.population import (
        demonstrate,
        make_population,
        population_schema,
        write_example,
    )
    from pramana.experiments.tree_grid import guide_of, reference_sets, table_sets, try_grid

__all__ = ["EXPERIMENTS", "count_steps", "demonstrate", "guide_of", "make_population",
           "population_schema", "reference_sets", "run_experiment", "table_sets", "title",
           "try_grid", "write_example"]  # fmt: skip

_SOURCES = {
    "harness": "EXPERIMENTS count_steps run_experiment title",
    "population": "demonstrate make_population population_schema write_example",
    "tree_grid": "guide_of reference_sets table_sets try_grid",
}

__getattr__ = lazy_exports(__name__, _SOURCES)
