"""How deeply tests look: quickly (``make test``) or at full depth (``make test-all``)."""

from __future__ import annotations

import os

__all__ = ["DEEP"]

DEEP = os.environ.get("PRAMANA_TESTS") == "deep"
