"""Walk the verbs hop by hop: every function of the package that the main thread enters, in order.

    python -m benchmarks.walk [--deep | --json]

Batches that flow in threads are not seen; docs/architecture.md lists what they pass. Without
``--deep`` only the first three levels are printed, and how many functions and modules were entered.
``--json`` prints the functions that protect, crosstab and verify enter, for ``benchmarks.house``.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv

import pramana as pm

ROOT = f"{Path(pm.__file__).parent}{os.sep}"
LEVELS = 3
RECORDS = 20_000


def walk(verb: Callable[[], Any]) -> tuple[Any, list[tuple[int, str]]]:
    """What a verb gives, and the functions entered: how deep below it, and which."""
    entered: list[tuple[int, str]] = []
    stack: list[bool] = []

    def look(frame: Any, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            ours = code.co_filename.startswith(ROOT) and not code.co_name.startswith("<")
            if ours:
                place = f"{code.co_filename.removeprefix(ROOT)} {code.co_qualname}"
                entered.append((sum(stack), place))
            stack.append(ours)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(look)
    try:
        found = verb()
    finally:
        sys.setprofile(None)
    return found, entered


def show(name: str, entered: list[tuple[int, str]], *, deep: bool) -> None:
    """The walk as an indented list."""
    kinds = {place for _, place in entered}
    files = {place.split()[0] for place in kinds}
    print(f"{name}: {len(entered)} entered, {len(kinds)} functions, {len(files)} modules")
    before = None
    for depth, place in entered:
        if (deep or depth < LEVELS) and (depth, place) != before:
            print(f"  {'  ' * depth}{place}")
        before = (depth, place)


def walks() -> dict[str, list[tuple[int, str]]]:
    """A small table from file to file and to an estimate; once before, so that all is loaded."""
    keys = {"sex": ["F", "M"] * (RECORDS // 2), "region": ["a", "b", "c", "d"] * (RECORDS // 4)}
    income = [number % 97 for number in range(RECORDS)]  # tells neither persons nor keys
    csv.write_csv(pa.table(keys | {"income": income}), "people.csv")
    schema = pm.describe("people.csv", keys=list(keys), sensitive=["income"])

    def verbs(to: str) -> dict[str, list[tuple[int, str]]]:
        plan, designed = walk(
            lambda: pm.design(schema, pm.PkAnonymity(k=50), data="people.csv", method="retention")
        )
        _, protected = walk(lambda: pm.protect("people.csv", plan, to=to, seed=1))
        release, loaded = walk(lambda: pm.load(to))
        _, crossed = walk(lambda: release.crosstab("sex", "region"))
        _, verified = walk(lambda: pm.verify(to))
        return {
            "design": designed,
            "protect": protected,
            "load": loaded,
            "crosstab": crossed,
            "verify": verified,
        }

    verbs("first")
    return verbs("second")


def main(arguments: list[str]) -> None:
    """Print the walks."""
    if "--json" in arguments:
        asked = ("protect", "crosstab", "verify")
        entered = {name: [place for _, place in own] for name, own in walks().items()}
        print(json.dumps({name: entered[name] for name in asked}))
        return
    for name, entered in walks().items():
        show(name, entered, deep="--deep" in arguments)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main(sys.argv[1:])
