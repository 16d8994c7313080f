"""Columns of Python objects: why they cannot be put, and how they are put pickled.

A pickled column is one of bytes, a pickle a row, whose field says so. Unpickling runs code
that the bytes name, and a field's metadata may come out of any file: so nothing is restored
unless the reader asks for it.
"""

from __future__ import annotations

import pickle
from typing import Any

_KEY, _PROTOCOL = b"cenote.pickle", 5
MARK = {_KEY: str(_PROTOCOL).encode()}
"""Metadata of a field whose values are pickles."""


def _convertible(pyarrow: Any, column: Any) -> bool:
    try:
        pyarrow.array(column, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def pickled(pandas: Any, pyarrow: Any, frame: Any) -> tuple[Any, list[int]]:
    """The frame with bytes where it has objects that Arrow cannot say, and those columns."""
    found = [
        at for at, kind in enumerate(frame.dtypes)
        if kind == object and not _convertible(pyarrow, frame.iloc[:, at])
    ]
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    for at in found:
        values = [pickle.dumps(value, _PROTOCOL) for value in columns[at]]
        array = pandas.array(values, pandas.ArrowDtype(pyarrow.large_binary()))
        columns[at] = pandas.Series(array, frame.index)
    if not found:
        return frame, found
    made = pandas.concat(dict(enumerate(columns)), axis=1)
    return made.set_axis(frame.columns, axis=1), found


def marked(schema: Any) -> list[int]:
    """The columns that are pickled."""
    return [at for at, field in enumerate(schema) if _KEY in (field.metadata or {})]


def restored(frame: Any, table: Any, columns: list[int]) -> Any:
    """The frame with its objects, of columns `columns` of the table."""
    frame = frame.copy(deep=False)
    for at in columns:
        values = [None if value is None else pickle.loads(value)
                  for value in table.column(at).to_pylist()]
        frame.isetitem(at, _series(frame, values))
    return frame


def _series(frame: Any, values: list[Any]) -> Any:
    import numpy
    import pandas

    # By hand: pandas would look into what the objects hold.
    array = numpy.empty(len(values), object)
    for row, value in enumerate(values):
        array[row] = value
    return pandas.Series(array, frame.index, dtype=object)


def reason(pandas: Any, pyarrow: Any, frame: Any, error: Exception) -> str:
    """Which column it is, why, and the way out."""
    levels = [(f"index level {name!r}", frame.index.get_level_values(at))
              for at, name in enumerate(frame.index.names)]
    columns = [(f"column {name!r}", frame.iloc[:, at]) for at, name in enumerate(frame.columns)]
    for what, column in columns + levels:
        try:
            pyarrow.array(column, from_pandas=True)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as own:
            return f"{what} of type {column.dtype}: {_why(pandas, column, own)}"
    return _one_line(error)


def _why(pandas: Any, column: Any, error: Exception) -> str:
    kind = column.dtype
    if isinstance(kind, pandas.SparseDtype):
        return "Arrow has no sparse columns; put(name, data.sparse.to_dense()), or column by column"
    if getattr(kind, "kind", "") == "c":
        return "Arrow has no complex numbers; put .real and .imag as two columns"
    if kind != object:
        return _one_line(error)
    seen: dict[type, int] = {}
    for row, value in enumerate(column):
        if value is None or value is pandas.NA or value is pandas.NaT or _is_nan(value):
            continue
        seen.setdefault(type(value), row)
        if len(seen) == 2:
            break
    rows = " and ".join(f"row {row} is {kind.__name__}" for kind, row in seen.items())
    unlike = f"{rows}, and a column has one type" if len(seen) == 2 else f"{rows}; {_one_line(error)}"
    return (
        f"{unlike}; put(..., pickle=True) stores the objects pickled, for pandas alone, or "
        "convert it: .astype(str)"
    )


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _one_line(error: Exception) -> str:
    return "; ".join(str(part) for part in error.args) or type(error).__name__
