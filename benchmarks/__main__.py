"""Run one benchmark, or all of them, and print what was measured.

A module here is a benchmark if it has ``arguments``, which adds its options to a parser, and
``run``, which measures and gives a ``Result``. Others are commands of their own, or serve these.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks
from benchmarks import _report


def modules():
    names = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    found = {n: importlib.import_module(f"benchmarks.{n}") for n in names if n[0] != "_"}
    return {name: module for name, module in found.items() if hasattr(module, "arguments")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    verbs = parser.add_subparsers(dest="name", metavar="BENCHMARK")
    parsers = {}
    for name, module in modules().items():
        parsers[name] = verbs.add_parser(name, help=module.__doc__.splitlines()[0])
        module.arguments(parsers[name])
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
        _report.write(modules(), parsers, names=chosen.write)
        return
    wrong = 0
    for name, module in modules().items():
        if chosen.name in (None, name):
            options = chosen if chosen.name else parsers[name].parse_args([])
            found = module.run(options)
            print(found.text(), flush=True)
            wrong += found.wrong
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
