"""Tasks for a worker, in a module that loads next to nothing: each worker begins with it."""

from __future__ import annotations

import os
import re
import threading
import time
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pramana.errors import Copies, InputError, unheard

if TYPE_CHECKING:
    from pramana.studio.worker import Workbench


def double(bench: Workbench, *, number: int) -> dict[str, Any]:
    """Twice a number, and who computed it."""
    advance = bench.expect(10)
    for _ in range(10):
        advance(1)
    return {"number": 2 * number, "process": os.getpid()}


def slow(bench: Workbench, *, folder: str) -> None:
    """Writes a folder, and takes long over it."""
    from pramana.base.atomic_files import whole_folder

    advance = bench.expect(1000)
    with whole_folder(Path(folder)) as place:
        place.mkdir(exist_ok=True)
        (place / "half").write_text("half")
        bench.say("Writing")
        for _ in range(1000):
            time.sleep(0.05)
            advance(1)


def search(bench: Workbench, *, number: int) -> dict[str, Any]:
    """Something that takes long, and ends when nobody waits for it."""
    bench.keep("searched", list).append(number)
    with bench.giving_way():
        for _ in range(1000 if number < 3 else 0):
            time.sleep(0.05)
    return {"searched": bench.keep("searched", list), "process": os.getpid()}


def left_off(bench: Workbench) -> None:
    """A trial in a thread that is not waited for: it speaks, and puts back filters, later on."""

    def run() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            time.sleep(0.3)
        warnings.warn("of a trial", Copies, stacklevel=1)
        time.sleep(0.3)

    bench.keep("beside", lambda: threading.Thread(target=run)).start()


def telling(bench: Workbench) -> None:
    """Speaks when the trial has ended; what is tried within it is not spoken of."""
    bench.keep("beside", dict).join()
    with unheard(Copies):
        warnings.warn("of what is tried here", Copies, stacklevel=1)
    warnings.warn("of the release", Copies, stacklevel=1)


def trials(bench: Workbench) -> dict[str, Any]:
    """Three things made patiently, the second of which takes long the first time."""
    made = bench.keep("made", list)

    def make(at: int) -> None:
        made.append(at)
        try:
            time.sleep(60 if made == [0, 1] else 0)
        except BaseException as error:  # as a library does that is written in another language
            raise RuntimeError("interrupted") from error

    for at in range(3):
        bench.patiently(str(at), partial(make, at))
        bench.show(at + 1)
    return {"made": made, "process": os.getpid()}


def speak(bench: Workbench) -> None:
    """A library prints a cell, where Python does not see it."""
    os.write(2, b"Mrs Secret, 42")


def linger(bench: Workbench) -> None:
    """Something short."""
    time.sleep(1)


def fill(bench: Workbench, *, pieces: int) -> int:
    """Takes and leaves memory, in pieces as tables have them; megabytes held meanwhile."""
    import numpy as np
    import pyarrow as pa

    own = [np.ones(10_000) for _ in range(pieces)]
    arrays = [pa.concat_arrays([pa.array(piece)] * 2) for piece in own]
    return held(os.getpid()) if arrays else 0


def held(process: int) -> int:
    """Megabytes in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def refuse(bench: Workbench) -> None:
    """Something that cannot be."""
    raise InputError("The worker says no.")


def break_down(bench: Workbench) -> None:
    """A fault whose words would show a cell."""
    raise RuntimeError("Mrs Secret, 42")
