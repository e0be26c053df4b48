"""Names of columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pramana.errors import InvalidTable

__all__ = ["require_distinct_names"]


def require_distinct_names(names: Sequence[str], *, where: str) -> None:
    """Refuse a table in which two columns have one name."""
    times = Counter(names)
    double = next((name for name in names if times[name] > 1), None)
    if double is not None:
        raise InvalidTable(
            f"Column names must differ, and {where} has '{double}' {times[double]} times. "
            "Rename them."
        )
