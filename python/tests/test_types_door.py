"""What comes to the door: odd arrays are taken, odd objects are told what to do."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import cenote


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=128 << 20)


def test_null_columns_of_polars(shared: cenote.Pool) -> None:
    """Polars exports a validity buffer for them, which the format does not have: refused once."""
    table = pl.DataFrame({
        "null": [None, None, None],
        "list": [[None], [], None],
        "struct": [{"z": None}, None, {"z": None}],
    })
    shared.put("t", table, replace=True)
    assert shared["t"].to_polars().equals(table)
    back = shared["t"].to_arrow()
    back.validate(full=True)
    assert back["null"].type == pa.null() and back["null"].to_pylist() == [None] * 3
    shared.put("t", {"x": table["null"]}, replace=True)
    assert shared["t"]["x"].to_pylist() == [None] * 3


def test_what_is_realigned_is_counted(shared: cenote.Pool) -> None:
    schema = pa.schema([("text", pa.string()), ("number", pa.int64()), ("flag", pa.bool_())])
    whole = pa.table({"text": ["a", None, "bc"] * 7, "number": range(21),
                      "flag": [True, False, True] * 7}, schema)
    odd = pa.Array.from_buffers(pa.int64(), 21, [None, pa.py_buffer(bytes(range(169))).slice(1)])
    with shared.writer("t", schema, replace=True) as writer:
        writer.write(whole)
        assert writer.realigned == 0
        writer.write(whole.slice(8))
        assert writer.realigned == 1, "offsets that do not start at 0"
        writer.write(whole.slice(3))
        assert writer.realigned == 4, "and two bitmaps within a byte"
        writer.write(whole.set_column(1, "number", odd))
        assert writer.realigned == 5, "and numbers at an odd address"
    back = shared["t"].to_arrow()
    assert back.equals(pa.concat_tables([
        whole, whole.slice(8), whole.slice(3), whole.set_column(1, "number", odd)]))


def test_a_slice_brings_its_own_bytes(shared: cenote.Pool) -> None:
    """100 rows of a million, at an odd bit: measured by what the chunks take."""
    rows = 1_000_000
    text = pa.array([f"a text of some length {i % 1000}" for i in range(1000)])
    whole = pa.table({
        "number": pa.array(np.arange(rows, dtype="float64")),
        "flag": pa.array(np.arange(rows) % 3 == 0),
        "text": pa.chunked_array([text.take(pa.array(np.arange(rows) % 1000))]),
        "view": pa.chunked_array([text.take(pa.array(np.arange(rows) % 1000))]).cast(pa.string_view()),
        "list": pa.ListArray.from_arrays(np.arange(rows + 1, dtype="int32"), np.arange(rows)),
    })
    slice_ = whole.slice(123_457, 100)
    shared.put("t", slice_, replace=True)
    assert shared["t"].to_arrow().equals(slice_)
    values = 100 * (8 + 1 / 8 + 4 + 25 + 16 + 2 * 25 + 4 + 8)
    assert shared["t"].nbytes <= values + 64 * 12, "beyond the rows only padding"


REFUSED = {
    "lazy frame": (lambda: pl.LazyFrame({"a": [1]}), "put(name, data.collect())"),
    "polars series": (lambda: pl.Series("a", [1]), 'put(name, {"column": data})'),
    "pandas series": (lambda: pd.Series([1]), 'put(name, {"column": data})'),
    "pandas index": (lambda: pd.Index([1]), "data.to_frame()"),
    "multi-index": (lambda: pd.MultiIndex.from_tuples([(1, 2)]), "data.to_frame()"),
    "array": (lambda: pa.array([1]), 'put(name, {"column": data})'),
    "chunked array": (lambda: pa.chunked_array([[1]]), 'put(name, {"column": data})'),
    "numpy": (lambda: np.zeros(3), 'put(name, {"column": data})'),
    "matrix": (lambda: np.zeros((3, 2)), "dict(zip(names, data.T))"),
    "cube": (lambda: np.zeros((3, 2, 2)), "shape (3, 2, 2)"),
    "records": (lambda: np.zeros(2, [("a", "i4")]), "data.dtype.names"),
    "groups": (lambda: pd.DataFrame({"a": [1]}).groupby("a"), "aggregate them"),
    "dataset": (lambda: pa.dataset.dataset(pa.table({"a": [1]})), "scanner().to_reader()"),
    "expression": (lambda: pl.col("a"), "an expression has no data"),
    "path": (lambda: "prices.parquet", "a path is no table"),
    "polars objects": (lambda: pl.DataFrame({"a": [1], "o": [object()]}), "column 'o' holds Python objects"),
    "128 bits": (lambda: pl.DataFrame({"i": pl.Series([1], dtype=pl.Int128)}), "column 'i' is of type Int128"),
    "null rows": (lambda: pa.StructArray.from_arrays(
        [pa.array([1, 2])], ["a"], mask=pa.array([False, True])), 'put(name, {"column": data})'),
    "metadata": (lambda: pa.table({"a": [1]}, pa.schema([("a", pa.int64())], {b"k": b"\xff"})),
                 "replace_schema_metadata()"),
    "dictionary of dictionaries": (lambda: pa.table({"d": pa.DictionaryArray.from_arrays(
        pa.array([0]), pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"])))}),
        'column "d" cannot be written as an arrow schema'),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_the_way_out(shared: cenote.Pool, kind: str) -> None:
    make, text = REFUSED[kind]
    before = list(shared)
    with pytest.raises(TypeError) as caught:
        shared.put("refused", make())
    assert text in str(caught.value), str(caught.value)
    assert isinstance(caught.value, cenote.UnsupportedType)
    assert list(shared) == before


def test_what_they_say_works(shared: cenote.Pool) -> None:
    lazy = pl.LazyFrame({"a": [1]})
    shared.put("t", lazy.collect(), replace=True)
    for data in (pl.Series("a", [1]), pd.Series([1]), pa.array([1]), np.ones(1, int)):
        shared.put("t", {"column": data}, replace=True)
        assert shared["t"]["column"].to_pylist() == [1]
    dataset = pa.dataset.dataset(pa.table({"a": [1, 2]}))
    shared.put("t", dataset.scanner().to_reader(), replace=True)
    assert shared["t"].num_rows == 2
    shared.put("t", duckdb.sql("select 1 as a"), replace=True)
    assert shared["t"].to_arrow().to_pydict() == {"a": [1]}


def test_null_rows_of_a_stream(shared: cenote.Pool) -> None:
    rows = pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array([False, True]))
    with pytest.raises(cenote.CenoteError, match="1 of its rows are null as a whole"):
        shared.put("refused", pa.chunked_array([rows]))
    assert "refused" not in shared


def test_offsets_of_32_bits_do_not_overflow(shared: cenote.Pool) -> None:
    """A dict's columns make one batch, so chunks are joined; 3 GiB do not fit one string array."""
    size = 3 << 29
    zeros = pa.py_buffer(np.zeros(size, "uint8"))  # never touched, so never there
    offsets = pa.py_buffer(np.array([0, size], "int32"))
    binary = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, zeros])
    with pytest.raises(ValueError) as caught:
        shared.put("refused", {"x": pa.chunked_array([binary, binary])})
    assert 'column "x": its chunks have 3221225472 bytes together' in str(caught.value)
    assert "pyarrow.Table" in str(caught.value) and "LargeBinary" in str(caught.value)
