"""Spark's failures as one line of ours.

A failed job tells its story in pages of Java and Python, with paths, plans and sometimes values.
What pramana itself raised in a worker is found in there and raised again; the rest is named by its
condition and never shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pramana import errors
from pramana.errors import InputError, InvalidTable, MissingExtra, PramanaError
from pramana.types import Entries

__all__ = ["one_line"]

OURS: Final = re.compile(r"pramana\.errors\.(\w+): ([^\n]+)")
NO_PACKAGE: Final = re.compile(r"No module named '(pramana|pyarrow|numpy|cryptography)[.']")
DIFFERENT: Final = (
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
    "CANNOT_MERGE_SCHEMAS",
    "CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE",
    "SchemaColumnConvertNotSupportedException",
)
LOST: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure", "crashed")


@contextmanager
def one_line() -> Iterator[None]:
    """Replace what Spark raises inside the block."""
    try:
        yield
    except PramanaError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise _translated(error) from None


def _translated(error: Exception) -> PramanaError:
    text = str(error)
    if found := OURS.search(text):
        kind = getattr(errors, found[1], InputError)
        return kind(found[2].strip()) if issubclass(kind, PramanaError) else InputError(found[2])
    if found := NO_PACKAGE.search(text):
        return MissingExtra(
            f"Spark's workers lack {found[1]}. Install 'pramana[spark]' in the Python that "
            "PYSPARK_PYTHON names, on every machine."
        )
    condition = _condition(error)
    if any(name in condition or name in text for name in DIFFERENT):
        column = _column(error, text)
        return InvalidTable(
            f"All parts of the table must agree on the type of every column, and {column} differs "
            "between partitions. Write them again with one schema."
        )
    if "PATH_NOT_FOUND" in condition or "PATH_NOT_FOUND" in text:
        return InvalidTable("The path does not exist, as Spark sees it.")
    if any(sign in text for sign in LOST):
        return InputError(
            "A Spark worker was lost and its task not repeated often enough. Nothing was written: "
            "run again, with more memory or spark.task.maxFailures."
        )
    name = condition or type(error).__name__
    return InputError(
        f"Spark failed with {name}. Nothing was written; Spark's own log says why (it may show "
        "data)."
    )


def _condition(error: Exception) -> str:
    read = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    try:
        return str(read() or "") if read is not None else ""
    except Exception:  # the JVM may be gone
        return ""


def _column(error: Exception, text: str) -> str:
    """The column that differs, if Spark says which."""
    parameters: Entries = {}
    read = getattr(error, "getMessageParameters", None)
    if read is not None:
        parameters = read() or {}
    name = parameters.get("column")
    if name is None and (found := re.search(r"[Cc]olumn:? ?[\[`]+([\w ]+)[\]`]", text)):
        name = found[1]
    return f"'{str(name).strip('[]`')}'" if name else "one"
