"""Run one benchmark, or all of them, and print what was measured.

A module here is a benchmark if it has ``arguments``, which adds its options to a parser, and
``run``, which measures and gives a ``Result``. Others are commands of their own, or serve these.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import benchmarks
from benchmarks import _report


def modules(asked: str | None = None):
    """All benchmarks by name; the one that is asked for alone, where there is one of that name."""
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    public = [name for name in names if name[0] != "_"]
    for tried in ([asked] if asked in public else []), public:  # all would load all they measure
        found = {name: importlib.import_module(f"benchmarks.{name}") for name in tried}
        offered = {name: own for name, own in found.items() if hasattr(own, "arguments")}
        if offered:
            break
    return offered


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = parser.add_subparsers(dest="name", metavar="BENCHMARK")
    parsers = {}
    known = modules(next(iter(sys.argv[1:]), None))
    for name, module in known.items():
        parsers[name] = verbs.add_parser(name, help=module.__doc__.splitlines()[0])
        module.arguments(parsers[name])
        parsers[name].add_argument("--record", action="store_true", help="write RESULTS.md too")
    parser.add_argument(
        "--write",
        nargs="*",
        metavar="NAME",
        help="write benchmarks/RESULTS.md, or these parts anew",
    )
    chosen = parser.parse_args()
    unknown = set(chosen.write or ()) - {name for name, _ in _report.RUNS}
    if unknown:
        parser.error(f"--write knows {', '.join(dict(_report.RUNS))}, not {', '.join(unknown)}.")
    if chosen.write is not None:
        _report.write(known, parsers, names=chosen.write)
        return
    wrong = 0
    for name, module in known.items():
        if chosen.name in (None, name):
            options = chosen if chosen.name else parsers[name].parse_args([])
            found = module.run(options)
            print(found.text(), flush=True)
            if options.record:
                _report.record(found, [word for word in sys.argv[1:] if word != "--record"])
            wrong += found.wrong
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
