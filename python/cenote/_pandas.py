"""pandas DataFrames in and out.

In: PyArrow converts, where it is installed, and notes index and types in the schema's
metadata. It shares memory with the DataFrame, which may change at any time; the pool copies it
before `put` returns (apache/arrow#51162). Out: without a copy where the memory is as pandas
wants it. Names that stand for several columns are set aside on both ways: PyArrow finds
columns by name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cenote import _consumers, _objects
from cenote._errors import ArgumentError, UnsupportedType

_DTYPE = "cenote.dtype"
"""Key of a column's note for the pandas type that PyArrow does not write down."""

def to_columns(frame: Any, pickle: bool) -> Any:
    """A DataFrame as something that the native side reads: an Arrow table or a dict.

    `pickle`: object columns that Arrow cannot say are stored pickled.
    """
    import pandas

    try:
        import pyarrow
    except ImportError:
        return _without_pyarrow(pandas, frame)
    try:
        own, pickled = _objects.pickled(pandas, pyarrow, frame) if pickle else (frame, [])
        table = _marked(pandas, _table(pyarrow, own), own)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        reason = _objects.reason(pandas, pyarrow, frame, error)
        raise UnsupportedType(f"the DataFrame cannot be put: {reason}") from error
    for at in pickled:
        field = table.schema.field(at).with_metadata(_objects.MARK)
        table = table.set_column(at, field, table.column(at))
    if table.num_rows == 0:
        # As a batch: a table's stream has none where it has no rows, and then no categories.
        arrays = [column.combine_chunks() for column in table.columns]
        return pyarrow.RecordBatch.from_arrays(arrays, schema=table.schema)
    return table


def _marked(pandas: Any, table: Any, frame: Any) -> Any:
    """The table, with notes of which decimals are Arrow's: PyArrow notes them as objects."""
    found = [at for at, kind in enumerate(frame.dtypes)
             if isinstance(kind, pandas.ArrowDtype) and "decimal" in str(kind)]
    if not found:
        return table
    notes = table.schema.pandas_metadata
    for at in found:
        note = notes["columns"][at]
        note["metadata"] = {**(note["metadata"] or {}), _DTYPE: str(frame.dtypes.iloc[at])}
    return _noted(table, notes)


def _table(pyarrow: Any, frame: Any) -> Any:
    names = frame.columns
    if not names.has_duplicates:
        return pyarrow.Table.from_pandas(frame)
    numbered = frame.set_axis(range(len(names)), axis=1)
    table = pyarrow.Table.from_pandas(numbered)
    # How the names are to be read again, from a frame that has each once.
    once = pyarrow.Schema.from_pandas(frame.iloc[:0, ~names.duplicated()]).pandas_metadata
    texts = [str(name) for name in names]
    notes = table.schema.pandas_metadata
    notes["column_indexes"] = once["column_indexes"]
    for column, name in zip(notes["columns"], texts, strict=False):
        column["name"] = column["field_name"] = name
    for at, level in enumerate(notes["index_columns"]):
        if isinstance(level, str):
            own = f"__index_level_{at}__" if level in texts else level
            notes["index_columns"][at] = notes["columns"][len(texts)]["field_name"] = own
            texts.append(own)
    return _noted(table.rename_columns(texts), notes)


def _noted(table: Any, notes: dict[str, Any]) -> Any:
    metadata = {**(table.schema.metadata or {}), b"pandas": json.dumps(notes).encode()}
    return table.replace_schema_metadata(metadata)


def _without_pyarrow(pandas: Any, frame: Any) -> dict[str, Any]:
    index = frame.index
    if not (isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1):
        raise ArgumentError(
            "without PyArrow the DataFrame's index would be lost: install pyarrow, or put "
            "frame.reset_index()"
        )
    if frame.columns.has_duplicates:
        name = frame.columns[frame.columns.duplicated()][0]
        raise ArgumentError(f"the DataFrame has more than one column {name!r}: install pyarrow")
    columns = {}
    for at, name in enumerate(frame.columns):
        column = frame.iloc[:, at]
        values = column.to_numpy()
        if values.dtype.kind == "O":
            missing = column.isna().to_numpy()
            values = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        columns[name] = values
    return columns


def to_pandas(
    frame: Any,
    writable: bool,
    types_mapper: Callable[[Any], Any] | None,
    pickle: bool,
) -> Any:
    """A cenote.Frame as a DataFrame."""
    import pyarrow

    table = frame.to_arrow()
    if _lacks_types(pyarrow, table.schema):
        # Read before pandas had told PyArrow of its types.
        table = pyarrow.table(frame)
    pickled = _objects.marked(table.schema)
    if pickled and not pickle:
        names = ", ".join(repr(table.schema.names[at]) for at in pickled)
        raise UnsupportedType(
            f"pickled objects are in {names}: to_pandas(pickle=True) restores them, running "
            "whatever code they name, so only where you trust who put them; columns= leaves "
            "them out"
        )
    try:
        data = _frame(table, types_mapper)
    except (pyarrow.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        raise _consumers.pandas(frame, table, error) from error
    if pickled:
        data = _objects.restored(data, table, pickled)
    return data.copy(deep=True) if writable else data


def _lacks_types(pyarrow: Any, schema: Any) -> bool:
    """Whether columns of pandas' own types (period, interval) are seen without them."""
    own = [
        field for field in schema
        if (field.metadata or {}).get(b"ARROW:extension:name", b"").startswith(b"pandas.")
    ]
    if not own:
        return False
    import pandas.core.arrays.arrow.extension_types  # noqa: F401 (registers them)

    return any(not isinstance(field.type, pyarrow.BaseExtensionType) for field in own)


def _frame(table: Any, types_mapper: Callable[[Any], Any] | None) -> Any:
    names = table.column_names
    if len(set(names)) == len(names):
        return _known(table, types_mapper)
    notes = table.schema.pandas_metadata or {"index_columns": [], "columns": []}
    index = {name for name in notes["index_columns"] if isinstance(name, str)}
    own = [at for at, name in enumerate(names) if name not in index]
    # The names as pandas had them, from a table that has each once.
    order = {name: at for at, name in enumerate(dict.fromkeys(names[at] for at in own))}
    once = table.slice(0, 0).select([names.index(name) for name in order]).to_pandas().columns
    texts = [f"\0{at}" if at in own else name for at, name in enumerate(names)]
    numbered = table.rename_columns(texts)
    if table.schema.pandas_metadata is not None:
        for at, column in enumerate(notes["columns"]):
            if at in own:
                column["name"] = column["field_name"] = texts[at]
        numbered = _noted(numbered, {**notes, "column_indexes": []})
    data = _known(numbered, types_mapper)
    data.columns = once.take([order[names[at]] for at in own])
    return data


def _known(table: Any, types_mapper: Callable[[Any], Any] | None) -> Any:
    """By PyArrow, but for what it makes another type of than was put."""
    notes = table.schema.pandas_metadata or {"index_columns": [], "columns": []}
    makers = {}
    for at, field in enumerate(table.schema):
        if field.name in notes["index_columns"] or (types_mapper and types_mapper(field.type)):
            continue
        note: dict[str, Any] = next(
            (c for c in notes["columns"] if c["field_name"] == field.name), {})
        maker = _maker(field.type, note)
        if maker:
            makers[at] = maker
            note["numpy_type"] = "object"
    if not makers:
        return table.to_pandas(split_blocks=True, types_mapper=types_mapper)
    import pyarrow

    rest = table
    for at in makers:
        rest = rest.set_column(at, rest.schema.names[at], pyarrow.nulls(table.num_rows))
    rest = _noted(rest, notes) if notes["columns"] else rest
    data = rest.to_pandas(split_blocks=True, types_mapper=types_mapper)
    for at, maker in makers.items():
        data.isetitem(at, maker(table.column(at)).set_axis(data.index))
    return data


def _maker(kind: Any, note: dict[str, Any]) -> Callable[[Any], Any] | None:
    """What makes a series of a column's chunks where PyArrow would not make it as it was."""
    import pandas
    import pyarrow

    if isinstance(kind, pyarrow.BaseExtensionType) and not kind.extension_name.startswith("pandas."):
        # Of these it makes no block of their own, and loses the column (split_blocks).
        return lambda column: column.to_pandas()
    dtype = (note.get("metadata") or {}).get(_DTYPE) or note.get("numpy_type", "")
    if dtype.endswith("[pyarrow]"):
        # PyArrow asks pandas what the text means: of lists, structs and decimals it cannot say.
        try:
            pandas.api.types.pandas_dtype(dtype)
        except (TypeError, NotImplementedError):
            return lambda column: pandas.Series(pandas.arrays.ArrowExtensionArray(column))
    elif dtype == "object" and (pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)):
        # Text in a column of objects, which it would make one of text.
        return lambda column: pandas.Series(column.to_numpy(), dtype=object)
    return None
