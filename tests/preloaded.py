"""What workers of a studio load sooner or later: to be loaded before they are forked."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

OURS = ("assess", "cli", "engines", "estimation", "formats", "guarantees", "methods",
        "microaggregation", "model", "readings", "release", "reports", "risk", "studio",
        "table")  # fmt: skip
OTHERS = ("altair", "charset_normalizer", "duckdb", "pandas", "pyarrow.dataset",
          "pyreadstat", "scipy.linalg", "scipy.spatial", "tests.brief", "typst",
          "vl_convert")  # fmt: skip

for _name in OURS:
    _package = import_module(f"pramana.{_name}")
    for _module in walk_packages(_package.__path__, f"{_package.__name__}."):
        import_module(_module.name)
for _name in OTHERS:
    with suppress(ImportError):  # an extra that is not installed
        import_module(_name)
