"""pandas DataFrames in and out.

In: PyArrow converts, where it is installed, and notes the index in the schema's metadata.
It shares memory with the DataFrame, which may change at any time; the pool copies it before
`put` returns (apache/arrow#51162). Out: without a copy where the memory is as pandas wants it.
"""

from __future__ import annotations

import json
from typing import Any

from cenote._errors import ArgumentError, UnsupportedType


def to_columns(frame: Any) -> Any:
    """A DataFrame as something that the native side reads: an Arrow table or a dict."""
    import pandas

    duplicated = frame.columns[frame.columns.duplicated()]
    if len(duplicated):
        raise ArgumentError(f"the DataFrame has more than one column {duplicated[0]!r}")
    try:
        import pyarrow
    except ImportError:
        return _without_pyarrow(pandas, frame)
    try:
        return pyarrow.Table.from_pandas(frame)
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise UnsupportedType(f"the DataFrame cannot be put: {_reason(pyarrow, frame, error)}") from error


def _reason(pyarrow: Any, frame: Any, error: Exception) -> str:
    """Which column it is, and why."""
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        try:
            pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError, NotImplementedError) as own:
            return f"column {name!r} of type {column.dtype}: {_one_line(own)}"
    return _one_line(error)


def _one_line(error: Exception) -> str:
    return "; ".join(str(part) for part in error.args) or type(error).__name__


def _without_pyarrow(pandas: Any, frame: Any) -> dict[str, Any]:
    index = frame.index
    if not (isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1):
        raise ArgumentError(
            "without PyArrow the DataFrame's index would be lost: install pyarrow, or put "
            "frame.reset_index()"
        )
    columns = {}
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        values = column.to_numpy()
        if values.dtype.kind == "O":
            missing = column.isna().to_numpy()
            values = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        columns[name] = values
    return columns


def to_pandas(table: Any, first_row: int, writable: bool) -> Any:
    """A pyarrow.Table as a DataFrame; its first row is row `first_row` of what was put."""
    frame = table.to_pandas(split_blocks=True)
    index = _range_index(table, first_row)
    if index is not None:
        frame.index = index
    return frame.copy(deep=True) if writable else frame


def _range_index(table: Any, first_row: int) -> Any:
    """A RangeIndex is not stored but described, for all rows of what was put; here for these."""
    import pandas

    try:
        (index,) = json.loads(table.schema.metadata[b"pandas"])["index_columns"]
        start, step = index["start"], index["step"]
    except (KeyError, TypeError, ValueError):
        return None
    start += step * first_row
    return pandas.RangeIndex(start, start + step * table.num_rows, step, name=index["name"])
