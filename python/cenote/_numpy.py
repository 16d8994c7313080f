"""Columns as NumPy arrays."""

from __future__ import annotations

from typing import Any

from cenote import _cenote


def to_numpy(frame: _cenote.Frame, name: str) -> Any:
    """A column as an array: in place where that can be, else as PyArrow converts it."""
    import numpy

    parts = _cenote.column_values(frame, name)
    if isinstance(parts, str):
        return frame.column(name).to_numpy()
    arrays = [numpy.asarray(part) for part in parts]
    return arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)
