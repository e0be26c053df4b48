"""Synthetic populations, and the tables and figures of the papers reproduced."""

from __future__ import annotations

from pramana.base.registry import stub_exports

__getattr__, __all__ = stub_exports(__name__)
