"""The look of pages: reports carry both stylesheets inside, the studio serves that of charts."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["CHART_STYLE", "STYLE"]


def _read(name: str) -> str:
    return files("pramana.reports").joinpath(name).read_text(encoding="utf-8").strip()


CHART_STYLE = _read("charts.css")
STYLE = f"{_read('look.css')}\n{CHART_STYLE}"
