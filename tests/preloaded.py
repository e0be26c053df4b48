"""What workers of a studio load sooner or later: to be loaded before they are forked."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages

import pramana

NEVER = ("pramana.__main__", "pramana.collect", "pramana.engine.spark", "pramana.experiments")
OTHERS = ("altair", "charset_normalizer", "duckdb", "pandas", "pyarrow.dataset",
          "pyreadstat", "scipy.linalg", "scipy.spatial", "tests.brief", "typst",
          "vl_convert")  # fmt: skip

for _module in walk_packages(pramana.__path__, "pramana."):
    if not _module.name.startswith(NEVER):
        import_module(_module.name)
for _name in OTHERS:
    with suppress(ImportError):  # an extra that is not installed
        import_module(_name)
