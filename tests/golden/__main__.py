"""Compute the corpus anew: ``python -m tests.golden [--write] [CASE ...]``.

Without ``--write`` it prints where computed values differ from stored ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.corpus import computed, place, stored
from tests.golden.facts import differences


def main() -> int:
    """Write or compare the cases named, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("--write", action="store_true", help="store the computed values")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    asked = parser.parse_args()
    differing = 0
    for name in asked.cases or CASES:
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            facts = computed(name, Path(folder))
        took = time.process_time() - begin
        if asked.write:
            place(name).parent.mkdir(exist_ok=True)
            place(name).write_text(json.dumps(facts, sort_keys=True) + "\n")
            _say(f"{name}: {place(name).stat().st_size:,} bytes, {took:.2f} s")
            continue
        lines = list(differences(stored(name), facts))
        differing += bool(lines)
        _say("\n  ".join([f"{name}: {len(lines)} differences, {took:.2f} s", *lines[:20]]))
    return 1 if differing else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
