"""A measured process: python -m benchmarks._child FILE MODULE ARGUMENTS...

Runs the module as a program and leaves its peak memory in the file. Seen from outside, a process
seems to have held at least the memory of the one that started it.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from benchmarks._measure import peak_memory

if __name__ == "__main__":
    _, place, module, *arguments = sys.argv
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    Path(place).write_text(str(peak_memory()))
