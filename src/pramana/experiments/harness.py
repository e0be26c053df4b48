"""One way to run an experiment: tables, figures, and findings that say yes or no.

An experiment is a module with ``TITLE``, ``steps(quick)`` and ``run(setting)``, which gives an
``Outcome``. The harness finds the data, counts the progress, and writes CSV files, figures (PNG
and SVG) and a page that puts our numbers beside those that the paper prints.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa

from pramana.base.atomic_files import whole_folder
from pramana.base.randomness import Keystream
from pramana.errors import InvalidNumber, InvalidTable, OutputExists
from pramana.experiments.figures import Picture, draw
from pramana.types import Form

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Finding",
    "Setting",
    "count_steps",
    "run_experiment",
    "title",
]

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
        """A plain form."""
        return {
            "question": self.question,
            "paper": self.paper,
            "ours": self.ours,
            "threshold": self.threshold,
            "holds": self.holds,
            "answer": self.answer,
        }


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
    quick: bool
    seed: int = SEED
    progress: Callable[[int], None] | None = field(default=None, compare=False)

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


def count_steps(name: str, *, quick: bool) -> int:
    """How many steps a progress bar has."""
    return int(_module(name).steps(quick))


def run_experiment(
    name: str,
    *,
    to: str | Path,
    data: str | Path | None = None,
    quick: bool = False,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
) -> Experiment:
    """Run an experiment and write its tables, figures and page into the folder ``to``.

    Args:
        name: one of ``EXPERIMENTS``.
        to: the folder to write; if it is there already, it must be empty.
        data: the folder of real data; the one that ``PRAMANA_DATA`` names if not given; without
            either the data are generated, and the page says so.
        quick: small sizes, under a minute.
        seed: the same seed gives the same numbers.
        progress: is told how many more steps are done.
    """
    module, folder = _module(name), Path(to)
    if os.path.lexists(folder):
        _require_empty(folder)
    chosen = data if data is not None else os.environ.get(DATA_VARIABLE) or None
    where = None if chosen is None else Path(chosen)
    if where is not None and not where.is_dir():
        raise InvalidTable(f"The folder of data does not exist: {where}.")
    outcome: Experiment = module.run(Setting(where, quick, seed, progress))
    _write(folder, name, outcome, quick=quick, seed=seed)
    return outcome


def _module(name: str) -> Any:
    if name not in EXPERIMENTS:
        raise InvalidNumber(f"An experiment is one of {', '.join(EXPERIMENTS)}, got {name!r}.")
    return import_module(f"pramana.experiments.{name}")


def _require_empty(folder: Path) -> None:
    if not folder.is_dir() or any(folder.iterdir()):
        raise OutputExists(f"{folder} must be a new or empty folder to write to, and is not.")


def _write(folder: Path, name: str, outcome: Experiment, *, quick: bool, seed: int) -> None:
    from pyarrow import csv

    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(folder, may_go=_require_empty) as work:
        for file, columns in outcome.tables.items():
            csv.write_csv(pa.table(dict(columns)), work / f"{file}.csv")
        for file, picture in outcome.pictures.items():
            draw(picture, work / file)
        (work / "README.md").write_text(_page(name, outcome, quick=quick, seed=seed))


def _page(name: str, outcome: Experiment, *, quick: bool, seed: int) -> str:
    size = "quick run, small sizes" if quick else "whole run"
    lines = [f"# {title(name)}", "", f"Experiment `{name}`, {size}, seed {seed}."]
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
