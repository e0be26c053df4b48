"""Loops of the clustering as LLVM's text, for any processor: what ``kanonymity/ahead.py`` reads.

    python -m benchmarks.loops

To be run again whenever the loops are changed; a test says so. Names that Numba makes of types are
replaced by short ones, and what it needs for calls from Python is left out.
"""

from __future__ import annotations

import os
import re
from typing import Any

os.environ.update(NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")

from llvmlite.binding import llvm_version_info
from numba import float64, int64, njit, types

from pramana.kanonymity.ahead import GIVES, LLVM, LOOPS, MADE, TAKES, source_mark

I1, I2 = (types.Array(int64, axes, "C") for axes in (1, 2))
F1, F2 = (types.Array(float64, axes, "C") for axes in (1, 2))
POOL = types.Tuple((I1, I1, I1, I1, F1, F2, F2, F1, I1, I2, F2))
"""As ``refine.scratch`` makes them."""

TAKEN = {
    "offers": (F2, I1, types.Array(types.boolean, 1, "C"), I1, types.Array(types.int32, 2, "C"),
               F1, I1),
    "link": (I1,) * 5,
    "rework": (F2, I1, types.UniTuple(I1, 4), int64, I2, I1, types.Tuple((int64, int64, float64)),
               POOL),
    "anneal": (F2, I1, I1, I2, I1, I1, types.Tuple((F2, I1, F1, I2, I1)),
               types.Tuple((int64, int64, float64, float64)), types.UniTuple(float64, 2)),
}  # fmt: skip
GIVEN = {"offers": "i", "link": "i", "rework": "i", "anneal": "f f f"}


def spelled(kind: Any) -> str:
    """As ``ahead.spelled`` spells a value of that type."""
    if isinstance(kind, types.BaseTuple):
        return "(" + " ".join(map(spelled, kind)) + ")"
    if isinstance(kind, types.Array):
        word = {"int64": "<i8", "int32": "<i4", "float64": "<f8", "bool": "|b1"}[str(kind.dtype)]
        return f"{word}:{kind.ndim}"
    return "f" if kind == float64 else "i"


def made(name: str) -> str:
    """The text of one loop."""
    from pramana.kanonymity.ahead import _module

    source = getattr(_module(name), name).py_func
    own = njit(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False
    )(source)
    own.compile(TAKEN[name])
    (built,) = own.overloads.values()
    text = built.library.get_llvm_str().replace(built.fndesc.llvm_func_name, f"pramana.{name}")
    lines = [
        line
        for line in text.splitlines()
        if line and not line.startswith(("@_ZN08NumbaEnv", "target ", "; ", "source_filename"))
    ]
    text = "\n".join(re.sub(r"\s+; preds = .*", "", line) for line in lines)
    for number, long in enumerate(dict.fromkeys(re.findall(r"_Z[\w.]+", text))):
        text = text.replace(long, f"pramana.{name}.{number}")
    heads = (
        MADE + source_mark(),
        f"{LLVM}{llvm_version_info[0]}",
        TAKES + " ".join(map(spelled, TAKEN[name])),
        GIVES + GIVEN[name],
    )
    return "\n".join((*heads, text, ""))


if __name__ == "__main__":
    LOOPS.mkdir(exist_ok=True)
    for name in TAKEN:
        (LOOPS / f"{name}.ll").write_text(made(name), encoding="utf-8")
