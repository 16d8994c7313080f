"""What the columns of a dict are, for the native side: kind, bytes, width of an item."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}
"""Arrow counts times in days, seconds and less."""
_FINEST = ("s", "ms", "us", "ns")

Described = tuple[str, Any, int]
Problem = tuple[str, str]


def describe(value: Any) -> Described | Problem:
    """How a column is to be read.

    (kind, data, width): "list" with a list; "text" and "bytes" with a buffer of `width`
    characters an item; "buffer" with any buffer of one dimension; else NumPy's name of a
    type, with a buffer of it. Or ("type" or "value", what is wrong).
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return _array(numpy, value)
    if isinstance(value, (list, tuple, range)):
        return "list", [_plain(numpy, item) for item in value], 0
    if isinstance(value, memoryview) and value.ndim != 1:
        return "value", f"it has shape {value.shape}; a column has one dimension"
    try:
        view = memoryview(value)
    except TypeError:
        pass
    else:
        return ("buffer", view, 0) if view.contiguous else ("list", view.tolist(), 0)
    if isinstance(value, Sequence):
        return "list", [_plain(numpy, item) for item in value], 0
    return "type", f"{type(value).__name__} is no column: an array, a list or an Arrow array is"


def _plain(numpy: Any, item: Any) -> Any:
    """NumPy's scalars as Python's."""
    if numpy is not None and isinstance(item, numpy.generic) and item.dtype.kind in "biufUS":
        return item.item()
    return item


def _array(numpy: Any, array: Any) -> Described | Problem:
    if array.ndim != 1:
        return "value", f"it has shape {array.shape}; a column has one dimension"
    if isinstance(array, numpy.ma.MaskedArray):
        return "type", "a masked array has no Arrow counterpart; use .filled() or an Arrow array"
    dtype = array.dtype
    if dtype.kind == "O":
        return "list", [_plain(numpy, item) for item in array.tolist()], 0
    if dtype.kind == "T":
        return "list", array.tolist(), 0
    if dtype.kind not in "biufMmUS":
        return "type", f"NumPy's {dtype} has no Arrow counterpart"
    # Arrow's order is the machine's; text is read as little-endian.
    array = numpy.ascontiguousarray(array, dtype.newbyteorder("<" if dtype.kind == "U" else "="))
    if dtype.kind in "US":
        kind, size = ("text", 4) if dtype.kind == "U" else ("bytes", 1)
        # Items of no width still count.
        data = array.view(f"<u{size}") if dtype.itemsize else bytes(array.size)
        return kind, data, dtype.itemsize // size
    if dtype.kind in "Mm":
        return _times(numpy, array)
    return array.dtype.name, array, 0


def _times(numpy: Any, array: Any) -> Described | Problem:
    kind = "datetime64" if array.dtype.kind == "M" else "timedelta64"
    unit, count = numpy.datetime_data(array.dtype)
    if unit == "generic":
        return "type", f"NumPy's {array.dtype} has no unit"
    if kind == "timedelta64" and unit in ("Y", "M"):
        return "type", f"NumPy's {array.dtype} is no fixed length of time"
    target = _UNITS.get(unit, unit)
    if kind == "timedelta64" and target == "D":
        target = "s"
    if target not in (*_FINEST, "D"):
        return "type", f"NumPy's {array.dtype} is finer than Arrow's times"
    if (unit, count) != (target, 1):
        array = array.astype(f"{kind}[{target}]")
    return f"{kind}[{target}]", array.view(numpy.int64), 0
