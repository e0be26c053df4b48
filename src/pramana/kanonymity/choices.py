"""What can be chosen about groups, said apart: a list of choices loads nothing of what they do."""

from __future__ import annotations

from typing import Literal

__all__ = ["Clustering", "Draw"]

Clustering = Literal["default", "greedy", "mdav", "cells"]
"""How groups are found."""

Draw = Literal["whole", "sequential"]
"""Whole members of a group, or key after key."""
