"""Run an experiment and write its findings, tables and figures.

An experiment is a module with ``TITLE``, ``steps(size)`` and ``run(setting)``, which returns an
``Experiment``. The harness finds the data, counts the progress, and writes CSV files, figures (PNG
and SVG) and a page that compares our numbers with those that the paper prints.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pyarrow import csv

from pramana.base.atomic_files import whole_folder
from pramana.base.charts import COLOURS, altair, rows_of, styled, write_picture
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import json_fields
from pramana.errors import InvalidNumber, InvalidTable, OutputExists
from pramana.types import Entries, Form

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""The x and y of points, by name."""

Columns = Mapping[str, Sequence[Any]]
"""Columns of a table, by name."""

WIDE, TALL = 330, 250
BINS = 30
MOST_TICKS = 12
NUMBERS = ",.4~r"
GREY = "#6b6b6b"


@dataclass(frozen=True)
class Picture:
    """A chart of Altair with its title, a note for the page, and the points that it shows."""

    title: str
    chart: Any
    note: str = ""
    series: Curves = field(default_factory=dict)

    def write(self, path: Path) -> None:
        """Write ``path``.png and ``path``.svg."""
        write_picture(styled(self.chart.properties(title=self.title)), path)


def lines(
    title: str,
    x: str,
    y: str,
    series: Curves,
    *,
    log_x: bool = False,
    log_y: bool = False,
    level: float | None = None,
) -> Picture:
    """Curves by name, with a dashed line at ``level``."""
    alt = altair()
    layers = [
        _points(x, y, series, log_x, log_y).mark_line(point=alt.OverlayMarkDef(size=25)),
    ]
    if level is not None:
        layers.append(_rule(GREY, level).encode(y=alt.Y("level:Q")))
    chart = alt.layer(*layers).properties(width=WIDE, height=TALL)
    return Picture(title, chart, series=series)


def scatter(title: str, x: str, y: str, series: Curves, note: str = "") -> Picture:
    """Points by name."""
    marks = _points(x, y, series, False, False).mark_point(filled=True, size=28, opacity=0.7)
    return Picture(title, marks.properties(width=WIDE, height=TALL), note, series)


def panels(title: str, pictures: Mapping[str, Picture]) -> Picture:
    """Several pictures side by side."""
    parts = [picture.chart.properties(title=name) for name, picture in pictures.items()]
    return Picture(title, _side_by_side(parts).resolve_scale(color="independent"))


def surfaces(
    title: str,
    x: str,
    y: str,
    *,
    xs: Sequence[float],
    ys: Sequence[float],
    values: Entries,
    unit: str = "",
) -> Picture:
    """Values over a grid, one panel a name: rows are y, columns are x."""
    alt = altair()
    grids = {name: np.asarray(value, dtype=np.float64) for name, value in values.items()}
    every = np.concatenate([np.zeros(0), *(grid.ravel() for grid in grids.values())])
    ends = [float(every.min()), float(every.max())] if every.size else [0.0, 1.0]
    scale = alt.Scale(scheme="viridis", domain=ends)
    x_names, y_names = [f"{value:g}" for value in xs], [f"{value:g}" for value in ys]

    def few(names: list[str]) -> Any:
        """An axis that names some values, so that they do not touch."""
        return alt.Axis(values=names[:: -(-len(names) // MOST_TICKS)], labelAngle=0)

    parts = []
    for name, grid in grids.items():
        rows = [
            {"x": x_name, "y": y_name, "value": float(grid[down, across])}
            for down, y_name in enumerate(y_names)
            for across, x_name in enumerate(x_names)
        ]
        chart = alt.Chart(rows_of(rows)).mark_rect()
        encoded = chart.encode(
            x=alt.X("x:N", title=x, sort=x_names, axis=few(x_names)),
            y=alt.Y("y:N", title=y, sort=y_names[::-1], axis=few(y_names)),
            color=alt.Color("value:Q", title=unit or None, scale=scale),
        )
        parts.append(encoded.properties(width=WIDE - 60, height=TALL, title=name))
    return Picture(title, _side_by_side(parts))


def histograms(
    title: str,
    x: str,
    y: str,
    values: Mapping[str, Sequence[float]],
    *,
    level: float | None = None,
    note: str = "",
) -> Picture:
    """Distributions of values, one panel a name, with the same bins."""
    alt = altair()
    every = np.concatenate([np.asarray(panel, float) for panel in values.values()])
    edges = np.linspace(every.min(), every.max() + 1e-12, BINS + 1)
    scale = alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)
    parts = []
    for name, panel in values.items():
        counts, _ = np.histogram(panel, bins=edges)
        rows = [
            {"from": float(low), "to": float(high), "count": int(count)}
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]
        bars = alt.Chart(rows_of(rows)).mark_bar(color=COLOURS[0])
        axis = alt.Axis(format=NUMBERS, tickCount=6)
        layers = [
            bars.encode(
                x=alt.X("from:Q", title=x, axis=axis, scale=scale),
                x2=alt.X2("to:Q"),
                y=alt.Y("count:Q", title=y),
                y2=alt.Y2Datum(0),
            )
        ]
        if level is not None:
            layers.append(_rule(COLOURS[1], level).encode(x=alt.X("level:Q")))
        parts.append(alt.layer(*layers).properties(width=WIDE - 90, height=TALL - 40, title=name))
    return Picture(title, _side_by_side(parts), note)


def _rule(colour: str, level: float) -> Any:
    return altair().Chart(rows_of([{"level": level}])).mark_rule(color=colour, strokeDash=[4, 3])


def _side_by_side(parts: Sequence[Any]) -> Any:
    return altair().hconcat(*parts, bounds="flush", spacing=70)


def _points(x: str, y: str, series: Curves, log_x: bool, log_y: bool) -> Any:
    """A chart without marks of all points that can be drawn: finite, above 0 on a log axis."""
    alt = altair()
    rows: list[dict[str, Any]] = [
        {"series": name, "x": float(at), "y": float(value)}
        for name, (xs, ys) in series.items()
        for at, value in zip(xs, ys, strict=True)
        if math.isfinite(at) and math.isfinite(value)
        and (at > 0 or not log_x) and (value > 0 or not log_y)
    ]  # fmt: skip

    def axis(side: str, title: str, log: bool) -> Form:
        """Numbers are written out, also on an axis of logarithms."""
        values = [row[side] for row in rows]
        ticks = {"values": _ticks(min(values), max(values))} if log and values else {"tickCount": 6}
        scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=True)
        form = alt.Axis(format=NUMBERS, labelOverlap="greedy", labelFlush=False, **ticks)
        return {"shorthand": f"{side}:Q", "title": title, "scale": scale, "axis": form}

    names = list(series)
    shades = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    colour = alt.Color(
        "series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(orient="bottom", columns=2) if len(names) > 1 else None,
    )  # fmt: skip
    return alt.Chart(rows_of(rows)).encode(
        x=alt.X(**axis("x", x, log_x)), y=alt.Y(**axis("y", y, log_y)), color=colour
    )


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone if there are many."""
    steps = (1,) if high / low > 2_000 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if low * 0.99 <= tick <= high * 1.01]


Size = Literal["quick", "usual", "full"]
SIZES: dict[Size, str] = {
    "quick": "quick run, small sizes",
    "usual": "usual run",
    "full": "full run, the paper's own numbers of trials",
}
"""How large an experiment is: under a minute, minutes, or as large as in the paper."""

EXPERIMENTS = ("cator", "dowd", "ghatak", "ikarashi", "wei")
"""Named after the papers."""

SEED = 2026
DATA_VARIABLE = "PRAMANA_DATA"
GENERATED = "generated data, since no --data was given and PRAMANA_DATA is not set"


@dataclass(frozen=True)
class Finding:
    """A claim of a paper, and whether it holds here.

    Attributes:
        question: The claim as a question.
        paper: What the paper prints.
        ours: The result here.
        holds: Whether the result is within the threshold.
        threshold: What counts as the same finding, fixed in advance.
        because: Why it may differ, if that is understood.
    """

    question: str
    paper: str
    ours: str
    holds: bool
    threshold: str
    because: str = ""

    @property
    def settled(self) -> bool:
        """Whether it holds, or differs for a reason that is understood."""
        return self.holds or bool(self.because)

    @property
    def answer(self) -> str:
        """Yes, no, or that it differs and why."""
        if self.holds:
            return "yes"
        return f"differs, because {self.because}" if self.because else "no"

    def to_json(self) -> Form:
        """Values for JSON."""
        stated = json_fields(self, "question paper ours threshold answer")
        return stated | {"holds": bool(self.holds)}


@dataclass(frozen=True)
class Experiment:
    """The result of an experiment.

    Attributes:
        data: The data it ran on, in words.
        findings: The claims that were checked.
        tables: Columns of numbers by the name of their CSV file.
        pictures: Figures by the name of their files.
        remarks: What else a reader must know.
    """

    data: str
    findings: tuple[Finding, ...]
    tables: Mapping[str, Columns]
    pictures: Mapping[str, Picture]
    remarks: tuple[str, ...] = ()

    def to_json(self) -> Form:
        """The findings, for machines."""
        return {
            "data": self.data,
            "findings": [finding.to_json() for finding in self.findings],
            "tables": sorted(self.tables),
            "figures": sorted(self.pictures),
        }


@dataclass(frozen=True)
class Setting:
    """The data, the size and the seed of a run."""

    data: Path | None
    size: Size
    seed: int = SEED
    progress: Callable[[int], None] | None = field(default=None, compare=False)

    @property
    def quick(self) -> bool:
        """Whether sizes are small."""
        return self.size == "quick"

    @property
    def keystream(self) -> Keystream:
        """The same seed, the same numbers."""
        return Keystream.from_seed(self.seed)

    def seeded(self, *numbers: int) -> int:
        """A separate seed for each part of an experiment."""
        mixed = self.seed
        for number in numbers:
            mixed = (mixed * 1_000_003 + number + 1) % (2**61 - 1)
        return mixed

    def file(self, name: str) -> Path | None:
        """A data file, or ``None`` if data are to be generated."""
        if self.data is None:
            return None
        path = self.data / name
        if not path.is_file():
            raise InvalidTable(f"The folder of data must hold {name}, and does not: {self.data}.")
        return path

    def advance(self, steps: int = 1) -> None:
        """Report progress."""
        if self.progress is not None:
            self.progress(steps)


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of a table from its rows."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def title(name: str) -> str:
    """What an experiment is about."""
    return str(_module(name).TITLE)


def count_steps(name: str, *, size: Size) -> int:
    """How many steps a progress bar has."""
    return int(_module(name).steps(size))


def run_experiment(
    name: str,
    *,
    to: str | Path,
    data: str | Path | None = None,
    size: Size = "usual",
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
) -> Experiment:
    """Run an experiment and write its tables, figures and page into the folder ``to``.

    Args:
        name: One of ``EXPERIMENTS``.
        to: The folder to write; an existing one must be empty.
        data: The folder of real data; by default the one that ``PRAMANA_DATA`` names. Without
            either the data are generated, and the page says so.
        size: ``quick`` takes under a minute, ``usual`` minutes, ``full`` hours: as many trials as
            in the paper.
        seed: The same seed gives the same numbers.
        progress: Called with the number of further steps done.
    """
    module, folder = _module(name), Path(to)
    require_choice("size", size, tuple(SIZES))
    if os.path.lexists(folder):
        _require_empty(folder)
    chosen = data if data is not None else os.environ.get(DATA_VARIABLE) or None
    where = None if chosen is None else Path(chosen)
    if where is not None and not where.is_dir():
        raise InvalidTable(f"The folder of data does not exist: {where}.")
    outcome: Experiment = module.run(Setting(where, size, seed, progress))
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(folder, may_go=_require_empty) as work:
        for file, columns in outcome.tables.items():
            csv.write_csv(pa.table(dict(columns)), work / f"{file}.csv")
        for file, picture in outcome.pictures.items():
            picture.write(work / file)
        (work / "README.md").write_text(_page(name, outcome, size=size, seed=seed))
    return outcome


def _module(name: str) -> Any:
    if name not in EXPERIMENTS:
        raise InvalidNumber(f"An experiment is one of {', '.join(EXPERIMENTS)}, got {name!r}.")
    return import_module(f"pramana.experiments.{name}")


def _require_empty(folder: Path) -> None:
    if not folder.is_dir() or any(folder.iterdir()):
        raise OutputExists(f"{folder} must be a new or empty folder to write to, and is not.")


def _page(name: str, outcome: Experiment, *, size: Size, seed: int) -> str:
    findings = [
        f"| {f.question} | {f.paper} | {f.threshold} | {f.ours} | **{f.answer}** |"
        for f in outcome.findings
    ]
    figures = [
        f"![{picture.title}]({file}.svg)\n\n{picture.title}. {picture.note}\n"
        for file, picture in outcome.pictures.items()
    ]
    parts = [
        f"# {title(name)}",
        "",
        f"Experiment `{name}`, {SIZES[size]}, seed {seed}.",
        f"Data: {outcome.data}.",
        "\n## Findings\n",
        "| question | the paper | counts as the same | here | |",
        "|---|---|---|---|---|",
        *findings,
        "",
        *(f"- {remark}" for remark in outcome.remarks),
        "\n## Figures\n",
        *figures,
        "## Tables\n",
        *(f"- [{file}.csv]({file}.csv)" for file in outcome.tables),
    ]
    return "\n".join(parts) + "\n"
