"""Measurements, each with its command, in ``benchmarks/RESULTS.md``."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from benchmarks._measure import Result

PLACE = Path(__file__).parent / "RESULTS.md"
RUNS = (
    ("targets", ["--large"]),
    ("protect", []),
    ("shapes", ["--rounds", "3", "--share", "0.2"]),
    ("crosstab", []),
    ("estimation", ["--show", "four-way"]),
    ("clustering", ["--records", "100000"]),
    ("peers", []),
    ("spark", ["--rounds", "1"]),
    ("scaling", ["--work", "protect", "clustering"]),
    ("scaling", ["--work", "optimal", "--most", "10000"]),
)
"""Which benchmarks, with which options, in this order."""

PACKAGES = ("pramana", "numpy", "scipy", "numba", "pyarrow", "duckdb", "polars", "cryptography",
            "pyspark", "multi-freq-ldpy", "pure-ldp", "opendp", "k-means-constrained")  # fmt: skip


def write(modules, parsers, *, names=None, place: Path = PLACE) -> None:
    """Run the benchmarks and record each as soon as it is measured; with ``names`` only those."""
    for name, options in RUNS:
        if names and name not in names:
            continue
        print(f"{name} ...", flush=True)
        result = modules[name].run(parsers[name].parse_args(options))
        print(result.text(), flush=True)
        record(result, [name, *options], place=place)


def record(result: Result, words: Sequence[str], *, place: Path = PLACE) -> None:
    """Write a result into the file, in the place of the one that the same command gave before."""
    command = f"`{shlex.join(['python', '-m', 'benchmarks', *words])}`"
    load = f"load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the end"
    section = f"## {markdown(result)}\n{command}, {dt.date.today():%Y-%m-%d}, {load}\n"
    head, *sections = place.read_text().split("\n## ") if place.exists() else [_head()]
    sections = [f"## {own.strip()}\n" for own in sections]
    commands = [own.splitlines()[-1].partition(", 20")[0] for own in sections]
    at = commands.index(command) if command in commands else len(sections)
    sections[at : at + 1] = [section]
    place.write_text("\n".join([f"{head.strip()}\n", *sections]))


HEAD = """# Measurements

`make bench` writes this file, and `python -m benchmarks NAME --record` one table of it. All figures of a table come from one run on one machine. Compare ratios:
seconds depend on the machine. docs/scale.md describes the limits.
"""  # noqa: E501


def markdown(result: Result) -> str:
    """A result as a table of Markdown."""
    lines = [result.title, ""]
    if result.rows:
        lines += [_row(result.head), _row(["---"] + ["---:"] * (len(result.head) - 1))]
        lines += [_row(row) for row in result.rows] + [""]
    return "\n".join([*lines, *result.notes, ""])


def _row(cells) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _head() -> str:
    """The title of the file, the machine and the versions."""
    return "\n".join([HEAD, *_machine()])


def _machine() -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    return [
        f"- {dt.date.today():%Y-%m-%d}, {_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB of memory, {platform.system()}",
        f"- Python {platform.python_version()}, {', '.join(versions)}, Java {_java()}",
    ]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _java() -> str:
    if shutil.which("java") is None:
        return "absent"
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    return told.split('"')[1] if '"' in told else "unknown"
