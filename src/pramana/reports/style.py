"""The look of every page, as one stylesheet: reports carry it inside, the studio serves it."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["STYLE"]

STYLE = files("pramana.reports").joinpath("look.css").read_text(encoding="utf-8").strip()
