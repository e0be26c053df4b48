"""All measurements of one run as ``benchmarks/RESULTS.md``."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import shutil
import subprocess
from pathlib import Path

from benchmarks._measure import Result

PLACE = Path(__file__).parent / "RESULTS.md"
RUNS = (
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
            "pyspark", "multi-freq-ldpy", "pure-ldp", "k-means-constrained")  # fmt: skip


def write(modules, parsers, *, names=None, place: Path = PLACE) -> None:
    """Run the benchmarks and write what they gave; each is written as soon as it is there.

    With ``names`` only those are run, and the rest stays as it was.
    """
    sections, machine = (_sections(place) if names else {}), _machine()
    for name, options in RUNS:
        if names and name not in names:
            continue
        print(f"{name} ...", flush=True)
        result = modules[name].run(parsers[name].parse_args(options))
        print(result.text(), flush=True)
        command = _command(name, options)
        sections[command] = f"{markdown(result)}\n{command}, {dt.date.today():%Y-%m-%d}\n"
        known = [sections.get(_command(*one)) for one in RUNS]
        place.write_text("\n".join([HEAD, *machine, "", *filter(None, known)]))


def _sections(place: Path) -> dict[str, str]:
    """What the file holds, by the command that made it."""
    if not place.exists():
        return {}
    parts = [f"## {part.strip()}\n" for part in place.read_text().split("\n## ")[1:]]
    return {part.strip().splitlines()[-1].split(", ")[0]: part for part in parts}


def _command(name: str, options: list[str]) -> str:
    return f"`{' '.join(['python -m benchmarks', name, *options])}`"


HEAD = """# Measured

Made by `make bench`. The ratios of a table are of one run on one machine, and are what to compare;
seconds are of that machine. docs/scale.md says what bounds them.
"""


def markdown(result: Result) -> str:
    """A result as a table of Markdown."""
    lines = [f"## {result.title}", ""]
    if result.rows:
        lines += [_row(result.head), _row(["---"] + ["---:"] * (len(result.head) - 1))]
        lines += [_row(row) for row in result.rows] + [""]
    return "\n".join([*lines, *result.notes, ""])


def _row(cells) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def _machine() -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"{name} {_version(name)}" for name in PACKAGES]
    return [
        f"- {dt.date.today():%Y-%m-%d}, {_processor()}, {os.cpu_count()} cores, "
        f"{memory:.0f} GiB of memory, {platform.system()}",
        f"- Load of the machine at the start: {os.getloadavg()[0]:.1f} (above 0, others ran too)",
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
