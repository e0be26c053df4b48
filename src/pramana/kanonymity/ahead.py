"""Loops of the default clustering that were compiled before: the first call waits for no compiler.

``loops/`` holds what Numba made of ``kernels.py`` and ``kernels_anneal.py``, for any processor, as
LLVM's own text; a fifth of a second turns it into instructions of this one, where Numba takes six.
Each file says of which source it was made and what it takes. Where one of these is not what it was,
or the text is of another LLVM than is there, Numba compiles as it always did: the same arithmetic,
so that groups are the same to the last bit. `make loops` writes them anew.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

__all__ = ["LOOPS", "SOURCES", "loop", "source_mark", "spelled"]

LOOPS: Final = Path(__file__).with_name("loops")
SOURCES: Final = {
    "offers": "kernels", "link": "kernels", "rework": "kernels", "anneal": "kernels_anneal",
}  # fmt: skip
"""Each loop and the module that it is written in."""

MADE, LLVM, TAKES, GIVES = "; made of ", "; by LLVM ", "; takes ", "; gives "
DONE: Final = (0, -2)
"""What a loop returns that ran to its end: with a result, or without."""

_LOCK = threading.Lock()


def loop(name: str) -> Callable[..., Any]:
    """The loop of that name."""

    def run(*values: Any) -> Any:
        with _LOCK:
            ready = _ready(name)
        if ready is not None and ready.takes == " ".join(map(spelled, values)):
            return ready(*values)
        return getattr(_module(name), name)(*values)

    return run


def source_mark() -> str:
    """A digest of all that loops are written in."""
    texts = (Path(__file__).with_name(f"{name}.py") for name in sorted(set(SOURCES.values())))
    joined = b"".join(text.read_bytes().replace(b"\r\n", b"\n") for text in texts)
    return sha256(joined).hexdigest()


def spelled(value: Any) -> str:
    """What a value is, in a word: arrays by their kind and dimensions, those with gaps as none."""
    if isinstance(value, tuple):
        return "(" + " ".join(map(spelled, value)) + ")"
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}:{value.ndim}" if value.flags.c_contiguous else "gaps"
    return "f" if isinstance(value, float) else "i"


def _module(name: str) -> Any:
    return import_module(f"pramana.kanonymity.{SOURCES[name]}")


class _Ready:
    """Instructions at an address, and what belongs to them."""

    def __init__(self, text: str, name: str) -> None:
        import llvmlite.binding as llvm

        made, by, self.takes, gives = (
            line.removeprefix(mark)
            for line, mark in zip(text.splitlines()[:4], (MADE, LLVM, TAKES, GIVES), strict=True)
        )
        if made != source_mark() or int(by) > llvm.llvm_version_info[0]:
            raise ValueError("Made of another source, or for a later LLVM.")
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        features = llvm.get_host_cpu_features().flatten()
        machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True
        )
        module = llvm.parse_assembly(text)
        module.triple, module.data_layout = machine.triple, str(machine.target_data)
        module.verify()
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        self._address = self._engine.get_function_address(f"pramana.{name}")
        if not self._address:
            raise ValueError("There is no such loop in it.")
        self._count = len(gives.split())
        self._result = (ctypes.c_double if "f" in gives else ctypes.c_int64) * 4
        self._function: Any = None

    def __call__(self, *values: Any) -> Any:
        given: list[Any] = []
        _add_words(given, values)
        if self._function is None:  # what it takes never changes, so that it is made once
            kinds = (ctypes.c_double if type(own) is float else ctypes.c_int64 for own in given)
            call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *kinds)
            self._function = call(self._address)
        found, error = self._result(), ctypes.c_void_p()
        code = self._function(ctypes.byref(found), ctypes.byref(error), *given)
        if code not in DONE:
            raise RuntimeError(f"A compiled loop ended with {code}.")
        return tuple(found[: self._count]) if self._count > 1 else found[0]


@cache
def _ready(name: str) -> _Ready | None:
    """The loop as it was compiled before; nothing where it cannot be used here."""
    if sys.byteorder != "little" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        return _Ready((LOOPS / f"{name}.ll").read_text(encoding="utf-8"), name)
    except (ImportError, OSError, RuntimeError, ValueError):
        return None


def _add_words(words: list[Any], value: Any) -> None:
    """Arguments as Numba hands them on: of an array its owner, sizes, place and steps."""
    if isinstance(value, tuple):
        for own in value:
            _add_words(words, own)
    elif isinstance(value, np.ndarray):
        # Nobody counts who refers to it.
        words += (0, 0, value.size, value.itemsize, _place(value), *value.shape, *value.strides)
    else:
        words.append(float(value) if isinstance(value, float) else int(value))


def _place(value: Any) -> int:
    """Where an array lies; of one that can be written to it is told in a fifth of the time."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(value))
    except (BufferError, TypeError, ValueError):  # read-only, with gaps, or nothing in it
        return int(value.__array_interface__["data"][0])
