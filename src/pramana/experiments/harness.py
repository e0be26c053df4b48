"""Runs an experiment and writes its findings, tables and figures.

An experiment is a module with ``TITLE``, ``steps(size)`` and ``run(setting)``, which gives an
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

from pramana.base.atomic_files import whole_folder
from pramana.base.charts import COLOURS, altair, rows_of, styled, write_picture
from pramana.base.randomness import Keystream
from pramana.base.rounding import require_choice
from pramana.base.text import plain
from pramana.errors import InvalidNumber, InvalidTable, OutputExists
from pramana.types import Entries, Form

Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]

WIDE, TALL = 330, 250
BINS = 30
MOST_TICKS = 12
NUMBERS = ",.4~r"


@dataclass(frozen=True)
class Picture:
    """What all pictures have."""

    title: str
    x: str
    y: str
    note: str = ""


@dataclass(frozen=True)
class Lines(Picture):
    """Curves by name."""

    series: Curves = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    level: float | None = None


@dataclass(frozen=True)
class Scatter(Picture):
    """Clouds of points by name."""

    series: Curves = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Panels(Picture):
    """Several pictures of curves side by side."""

    panels: Mapping[str, Lines] = field(default_factory=dict)


@dataclass(frozen=True)
class Surface(Picture):
    """Values over a grid, one panel a name: rows are y, columns are x."""

    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    panels: Entries = field(default_factory=dict)
    unit: str = ""


@dataclass(frozen=True)
class Histograms(Picture):
    """Distributions of values, one panel a name, with the same bins."""

    panels: Mapping[str, Sequence[float]] = field(default_factory=dict)
    level: float | None = None


def draw(picture: Picture, path: Path) -> None:
    """Write ``path``.png and ``path``.svg."""
    chart = _DRAWERS[type(picture)](picture).properties(title=picture.title)
    write_picture(styled(chart), path)


def _axis(picture: Lines | Scatter, side: str) -> Form:
    """One side of a picture; numbers are written out, also on axes of logarithms."""
    alt, log = altair(), picture.log_x if side == "x" else picture.log_y
    own = [row[side] for row in _points(picture)]
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=False, nice=True)
    ticks = {"values": _ticks(min(own), max(own))} if log and own else {"tickCount": 6}
    axis = alt.Axis(format=NUMBERS, labelOverlap="greedy", labelFlush=False, **ticks)
    title = picture.x if side == "x" else picture.y
    return {"shorthand": f"{side}:Q", "title": title, "scale": scale, "axis": axis}


def _ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten; powers alone where there are many."""
    steps = (1,) if high / low > 2_000 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [own for p in powers for s in steps if low * 0.99 <= (own := s * 10.0**p) <= high * 1.01]


def _points(picture: Lines | Scatter) -> list[Form]:
    """Rows that can be drawn: finite, and above 0 on an axis of logarithms."""
    return [
        {"series": name, "x": float(x), "y": float(y)}
        for name, (xs, ys) in picture.series.items()
        for x, y in zip(xs, ys, strict=True)
        if _shown(x, log=picture.log_x) and _shown(y, log=picture.log_y)
    ]


def _shown(value: float, *, log: bool) -> bool:
    return math.isfinite(value) and (value > 0 or not log)


def _base(picture: Lines | Scatter) -> Any:
    alt = altair()
    names = list(picture.series)
    shades = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    colour = alt.Color(
        "series:N", title=None, sort=names, scale=alt.Scale(domain=names, range=shades),
        legend=alt.Legend(orient="bottom", columns=2) if len(names) > 1 else None,
    )  # fmt: skip
    return alt.Chart(rows_of(_points(picture))).encode(
        x=alt.X(**_axis(picture, "x")),
        y=alt.Y(**_axis(picture, "y")),
        color=colour,
    )


def _lines(picture: Lines) -> Any:
    alt, base = altair(), _base(picture)
    layers = [base.mark_line(point=alt.OverlayMarkDef(size=25))]
    if picture.level is not None:
        rule = alt.Chart(rows_of([{"level": picture.level}]))
        layers.append(rule.mark_rule(color="#6b6b6b", strokeDash=[4, 3]).encode(y=alt.Y("level:Q")))
    return alt.layer(*layers).properties(width=WIDE, height=TALL)


def _scatter(picture: Scatter) -> Any:
    marks = _base(picture).mark_point(filled=True, size=28, opacity=0.7)
    return marks.properties(width=WIDE, height=TALL)


def _panels(picture: Panels) -> Any:
    parts = [_lines(panel).properties(title=name) for name, panel in picture.panels.items()]
    return _beside(parts).resolve_scale(color="independent")


def _beside(parts: Sequence[Any]) -> Any:
    return altair().hconcat(*parts, bounds="flush", spacing=70)


def _surface(picture: Surface) -> Any:
    alt = altair()
    values = [np.asarray(panel, dtype=np.float64) for panel in picture.panels.values()]
    ends = [min(float(v.min()) for v in values), max(float(v.max()) for v in values)]
    colour = alt.Color(
        "value:Q", title=picture.unit or None, scale=alt.Scale(scheme="viridis", domain=ends)
    )
    parts = []
    for name, value in zip(picture.panels, values, strict=True):
        rows = [
            {"x": _number(x), "y": _number(y), "value": float(value[down, across])}
            for down, y in enumerate(picture.ys)
            for across, x in enumerate(picture.xs)
        ]
        grid = alt.Chart(rows_of(rows)).mark_rect()
        across = alt.X("x:N", title=picture.x, sort=_named(picture.xs), axis=_few(picture.xs))
        down = alt.Y("y:N", title=picture.y, sort=_named(picture.ys)[::-1], axis=_few(picture.ys))
        parts.append(
            grid.encode(x=across, y=down, color=colour).properties(
                width=WIDE - 60, height=TALL, title=name
            )
        )
    return _beside(parts)


def _number(value: float) -> str:
    return f"{value:g}"


def _named(values: Sequence[float]) -> list[str]:
    return [_number(value) for value in values]


def _few(values: Sequence[float]) -> Any:
    """Names of some values, so that they do not touch."""
    step = -(-len(values) // MOST_TICKS)
    return altair().Axis(values=_named(values)[::step], labelAngle=0)


def _histograms(picture: Histograms) -> Any:
    alt = altair()
    values = np.concatenate([np.asarray(panel, float) for panel in picture.panels.values()])
    edges = np.linspace(values.min(), values.max() + 1e-12, BINS + 1)
    parts = []
    for name, panel in picture.panels.items():
        counts, _ = np.histogram(panel, bins=edges)
        rows = [
            {"from": float(low), "to": float(high), "count": int(count)}
            for low, high, count in zip(edges, edges[1:], counts, strict=False)
        ]
        layers = [
            alt.Chart(rows_of(rows))
            .mark_bar(color=COLOURS[0])
            .encode(
                x=alt.X("from:Q", title=picture.x, axis=alt.Axis(format=NUMBERS, tickCount=6),
                        scale=alt.Scale(domain=[float(edges[0]), float(edges[-1])], nice=False)),
                x2=alt.X2("to:Q"),
                y=alt.Y("count:Q", title=picture.y),
                y2=alt.Y2Datum(0),
            )
        ]  # fmt: skip
        if picture.level is not None:
            rule = alt.Chart(rows_of([{"level": picture.level}]))
            layers.append(
                rule.mark_rule(color=COLOURS[1], strokeDash=[4, 3]).encode(x=alt.X("level:Q"))
            )
        parts.append(alt.layer(*layers).properties(width=WIDE - 90, height=TALL - 40, title=name))
    return _beside(parts)


_DRAWERS: dict[type[Picture], Callable[[Any], Any]] = {
    Histograms: _histograms,
    Lines: _lines,
    Panels: _panels,
    Scatter: _scatter,
    Surface: _surface,
}


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
    """What a paper found, and whether it is so here.

    Attributes:
        question: the finding as a question.
        paper: what the paper prints.
        ours: what came out here.
        holds: whether what came out is within the threshold.
        threshold: what would count as the same finding, said before anyone looks.
        because: why it may come out otherwise, where that is understood.
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
        return plain(self, "question paper ours threshold answer") | {"holds": bool(self.holds)}


@dataclass(frozen=True)
class Experiment:
    """What an experiment gives.

    Attributes:
        data: which data it ran on, in words.
        findings: the checks.
        tables: columns of numbers by the name of their CSV file.
        pictures: figures by the name of their files.
        remarks: what else a reader must know.
    """

    data: str
    findings: tuple[Finding, ...]
    tables: Mapping[str, Mapping[str, Sequence[Any]]]
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
    """How an experiment is to run: with which data, how large, from which seed."""

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
        """A seed of its own for each part of an experiment."""
        mixed = self.seed
        for number in numbers:
            mixed = (mixed * 1_000_003 + number + 1) % (2**61 - 1)
        return mixed

    def file(self, name: str) -> Path | None:
        """A data file, or ``None`` where data are to be generated."""
        if self.data is None:
            return None
        path = self.data / name
        if not path.is_file():
            raise InvalidTable(f"The folder of data must hold {name}, and does not: {self.data}.")
        return path

    def advance(self, steps: int = 1) -> None:
        """Tell whoever watches."""
        if self.progress is not None:
            self.progress(steps)


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
        name: one of ``EXPERIMENTS``.
        to: the folder to write; if it is there already, it must be empty.
        data: the folder of real data; the one that ``PRAMANA_DATA`` names if not given; without
            either the data are generated, and the page says so.
        size: ``quick`` takes under a minute, ``usual`` minutes, ``full`` hours: as many trials as
            in the paper.
        seed: the same seed gives the same numbers.
        progress: is told how many more steps are done.
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
    from pyarrow import csv

    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(folder, may_go=_require_empty) as work:
        for file, columns in outcome.tables.items():
            csv.write_csv(pa.table(dict(columns)), work / f"{file}.csv")
        for file, picture in outcome.pictures.items():
            draw(picture, work / file)
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
    lines = [f"# {title(name)}", "", f"Experiment `{name}`, {SIZES[size]}, seed {seed}."]
    lines += [f"Data: {outcome.data}.", ""]
    lines += [
        "## Findings",
        "",
        "| question | the paper | counts as the same | here | |",
        "|---|---|---|---|---|",
    ]
    for found in outcome.findings:
        cells = (found.question, found.paper, found.threshold, found.ours, f"**{found.answer}**")
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"- {remark}" for remark in outcome.remarks), "", "## Figures", ""]
    for file, picture in outcome.pictures.items():
        lines += [f"![{picture.title}]({file}.svg)", "", f"{picture.title}. {picture.note}", ""]
    lines += ["## Tables", ""]
    lines += [f"- [{file}.csv]({file}.csv)" for file in outcome.tables]
    return "\n".join(lines) + "\n"
