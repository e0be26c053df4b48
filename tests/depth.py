"""How deeply tests look: quickly (``make test``) or at full depth (``make test-all``).

``PRAMANA_TESTS=deep`` runs every test at full depth, ``PRAMANA_TESTS=rest`` only what ``make test``
leaves out: tests that it does not run, and those that look less deeply there.
"""

from __future__ import annotations

import os

__all__ = ["DEEP", "REST"]

REST = os.environ.get("PRAMANA_TESTS") == "rest"
DEEP = REST or os.environ.get("PRAMANA_TESTS") == "deep"
