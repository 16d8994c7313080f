"""Columns as NumPy arrays."""

from __future__ import annotations

from typing import Any

from cenote import _cenote, _consumers


def to_numpy(frame: _cenote.Frame, name: str) -> Any:
    """A column as an array: in place where that can be, else as PyArrow converts it."""
    import numpy

    parts = _cenote.column_values(frame, name)
    if isinstance(parts, str):
        column = frame.column(name)
        try:
            # PyArrow would look up what is missing in the dictionary as well.
            dictionary = hasattr(column.type, "value_type") and hasattr(column.type, "index_type")
            return (column.cast(column.type.value_type) if dictionary else column).to_numpy()
        except (ValueError, NotImplementedError) as error:  # PyArrow's own are of these
            raise _consumers.numpy(frame, name, error) from error
    arrays = [numpy.asarray(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)
