"""A measured process: python -m benchmarks._child FILE MODULE ARGUMENTS...

Runs the module as a program and leaves its peak memory in the file. Seen from outside, a process
seems to have held at least the memory of the one that started it. Nothing is loaded here that the
module might do without: it would count as its start-up, and not as that of who needs it anyway.
"""

import runpy
import sys


def peak_memory() -> int:
    """The most memory that this process has held, in bytes."""
    try:
        with open("/proc/self/status") as file:  # noqa: PTH123 - a library for paths is loaded late
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
    except OSError:  # not Linux
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    _, place, module, *arguments = sys.argv
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    with open(place, "w") as told:  # noqa: PTH123
        told.write(str(peak_memory()))
