"""What other libraries cannot take of a frame: which column, of what type, and the way out."""

from __future__ import annotations

from typing import Any

from cenote import _cenote
from cenote._errors import CenoteError, UnsupportedType

_LACKS = ["interval", "union", "decimal256"]
"""Kinds of types at which Polars panics, with text on standard error that nobody asked for."""
_MISREADS = ["decimal32", "decimal64"]
"""Kinds whose values Polars (2.1) takes for ones of 128 bits, and reads past their end."""


def to_polars(frame: _cenote.Frame) -> Any:
    """The frame as a polars.DataFrame."""
    import polars

    names = frame.column_names
    twin = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twin is not None:
        raise UnsupportedType(
            f"two columns are called {twin!r}, and Polars has one column a name; "
            "frame.to_arrow().rename_columns(names) gives each its own"
        )
    for kinds, why in ((_LACKS, "it has no such type"), (_MISREADS, "it misreads this type")):
        at = _cenote.column_with(frame, kinds)
        if at is not None:
            raise UnsupportedType(_polars(frame, at, why))
    try:
        return polars.DataFrame(frame)
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, (CenoteError, KeyboardInterrupt, SystemExit, MemoryError)):
            raise
        for at in range(len(names)):
            try:
                polars.DataFrame(_cenote.one_column(frame, at))
            except BaseException as own:
                raise UnsupportedType(_polars(frame, at, str(own))) from error
        raise


def _polars(frame: _cenote.Frame, at: int, why: str) -> str:
    return (
        f"{_which(frame, at)} cannot be Polars': {_line(why)}; columns= leaves it out, and "
        "frame.to_arrow() has it, to be cast to another type"
    )


def pandas(frame: _cenote.Frame, table: Any, error: Exception) -> UnsupportedType:
    """What to raise where PyArrow cannot make a DataFrame."""
    at, why = 0, error
    for at in range(table.num_columns):
        try:
            table.select([at]).replace_schema_metadata(None).to_pandas()
        except Exception as own:
            why = own
            break
    else:
        return UnsupportedType(f"the frame cannot be pandas': {_line(str(error))}")
    return UnsupportedType(
        f"{_which(frame, at)} cannot be pandas': {_line(str(why))}; "
        "types_mapper=pandas.ArrowDtype takes it as it is, and columns= leaves it out"
    )


def numpy(frame: _cenote.Frame, name: str, error: Exception) -> UnsupportedType:
    """What to raise where PyArrow cannot make an array."""
    at = frame.column_names.index(name)
    return UnsupportedType(
        f"{_which(frame, at)} cannot be NumPy's: {_line(str(error))}; "
        f"frame.column({name!r}) has it as it is"
    )


def _which(frame: _cenote.Frame, at: int) -> str:
    return f"column {frame.column_names[at]!r} of type {_cenote.column_type(frame, at)}"


def _line(text: str) -> str:
    return " ".join(text.split())[:300].rstrip(".")
