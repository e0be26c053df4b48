"""Pramana: publish tables about people by post-randomisation.

Names load when they are used, so that ``import pramana`` costs next to nothing.
"""

from __future__ import annotations

import os

from pramana.base.registry import stub_exports

__getattr__, __all__ = stub_exports(__name__)

# Numba reads .numba_config.yaml in the working folder, which may name a folder of pickled functions
# to load or a class to import. What the environment states takes precedence, also if it is empty.
for _setting in ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES"):
    os.environ.setdefault(_setting, "")


def __dir__() -> list[str]:
    return list(__all__)
