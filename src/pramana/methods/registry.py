"""Methods by name, as commands and certificates spell them."""

from __future__ import annotations

from typing import cast

from pramana.methods.base import Method
from pramana.registry import Registry
from pramana.release.makers import MAKERS

__all__ = ["METHODS"]

METHODS = cast("Registry[type[Method]]", MAKERS)
"""The first that aims at all that is asked is the usual one."""
