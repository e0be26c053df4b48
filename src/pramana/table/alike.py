"""Values that mean the same in one form: what is compared, counted and released.

A number has one zero and no payload: minus zero is zero, and nan is missing. So neither tells
records apart, and neither carries anything out.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["alike", "comparable"]


def alike(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Floating numbers with one zero and missing in place of nan; all else as it is."""
    kind = array.type
    if not pa.types.is_floating(kind):
        return array
    wide = array.cast(pa.float32()) if pa.types.is_float16(kind) else array
    gone = pc.is_nan(wide)
    if pc.any(gone).as_py():
        wide = pc.if_else(gone, pa.scalar(None, wide.type), wide)
    return pc.add(wide, pa.scalar(0.0, wide.type))


def comparable(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The same for whatever can be sorted and counted: without dictionaries, times as texts."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return comparable(array.cast(kind.value_type))
    if pa.types.is_null(kind):
        return array.cast(pa.string())
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pc.replace_substring_regex(array.cast(pa.string()), r"\.0+$", "")
    if pa.types.is_time32(kind):
        return array.cast(pa.time64("us"))  # as times are released
    if pa.types.is_floating(kind):  # one value, whatever the width it was kept in
        return alike(array).cast(pa.float64())
    return array
