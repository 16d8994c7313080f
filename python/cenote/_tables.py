"""What is no table, or holds what no column can: why, and what to put instead.

Called by the native side, which knows tables by their Arrow methods alone. Libraries are told
by their modules' names: none is imported to look.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def _of(data: Any) -> tuple[str, str]:
    kind = type(data)
    return kind.__module__.partition(".")[0], kind.__name__


def refused(data: Any) -> str | None:
    """Why an object is refused although it exports Arrow data; None: it is not."""
    module, name = _of(data)
    if module != "polars" or name != "DataFrame":
        return None
    for column, kind in data.schema.items():
        # Polars exports the addresses of Python objects, which mean nothing elsewhere.
        if "Object" in str(kind):
            return (
                f"column {column!r} holds Python objects ({kind}), which Arrow cannot; cast it "
                f"or leave it out: df.drop({column!r})"
            )
        if "Int128" in str(kind):
            return (
                f"column {column!r} is of type {kind}, which Arrow does not have; cast it: "
                f"pl.col({column!r}).cast(pl.Decimal(38, 0))"
            )
    return None


def instead(data: Any) -> str | None:
    """How to put something that is no table; None: nothing is known of it."""
    module, name = _of(data)
    said = _known(module, name)
    if said is None and isinstance(data, (str, os.PathLike)):
        said = "a path is no table; pool.load(path) loads files"
    elif said is None and module == "numpy":
        said = _numpy(data)
    elif said is None and hasattr(data, "__arrow_c_array__"):
        said = _COLUMN
    return said and f"cannot put {_full(data)}: {said}"


_COLUMN = 'it is one column; give it a name: put(name, {"column": data})'


def _full(data: Any) -> str:
    kind = type(data)
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def _known(module: str, name: str) -> str | None:
    if module == "polars":
        return {
            "LazyFrame": "it has not been computed; put(name, data.collect())",
            "Series": _COLUMN,
            "Expr": "an expression has no data; select it from a DataFrame",
        }.get(name)
    if module == "pandas":
        if name == "Series":
            return _COLUMN
        if name.endswith("Index"):
            return "put(name, data.to_frame())"
        if "GroupBy" in name:
            return "groups are no table; aggregate them, or put(name, data.obj)"
        return None
    if module == "pyarrow":
        if name.endswith("Array"):
            return _COLUMN
        if name.endswith(("Dataset", "Fragment")):
            return "put(name, data.scanner().to_reader()) reads it batch by batch"
        if name == "Scanner":
            return "put(name, data.to_reader()) reads it batch by batch"
        return None
    if module == "dask":
        return "put(name, data.compute()), or an iterator of its partitions"
    return None


def _numpy(data: Any) -> str | None:
    numpy = sys.modules["numpy"]
    if not isinstance(data, numpy.ndarray):
        return None
    if data.dtype.names:
        return "put(name, {field: data[field] for field in data.dtype.names})"
    if data.ndim == 2:
        return "name its columns: put(name, dict(zip(names, data.T)))"
    return _COLUMN if data.ndim == 1 else f"it has shape {data.shape}; a column has one dimension"
