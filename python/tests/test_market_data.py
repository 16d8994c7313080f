"""The types of real market data, through every library and back."""

from __future__ import annotations

import datetime
import decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote

ROWS = 1000
_DAY = datetime.date(2020, 1, 1)
_TIME = datetime.datetime(2020, 1, 1, 9, 30)


def _values(make, nulls: bool) -> list:
    return [None if nulls and i % 7 == 3 else make(i) for i in range(ROWS)]


TYPES: dict[str, tuple[pa.DataType, object]] = {
    **{
        str(t): (t, lambda i: i % 100)
        for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(),
                  pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    "float16": (pa.float16(), lambda i: np.float16(i % 50)),
    "float32": (pa.float32(), lambda i: i / 4),
    "float64": (pa.float64(), lambda i: i / 3),
    "bool": (pa.bool_(), lambda i: i % 3 == 0),
    "string": (pa.string(), lambda i: f"row {i} é" * (i % 3)),
    "large_string": (pa.large_string(), lambda i: f"row {i}"),
    "string_view": (pa.string_view(), lambda i: f"row {i}" * (i % 5)),
    "binary": (pa.binary(), lambda i: bytes([i % 256]) * (i % 4)),
    "fixed_binary": (pa.binary(3), lambda i: bytes([i % 256] * 3)),
    "date32": (pa.date32(), lambda i: _DAY + datetime.timedelta(days=i)),
    "date64": (pa.date64(), lambda i: _DAY + datetime.timedelta(days=i)),
    "time32": (pa.time32("s"), lambda i: datetime.time(9, i % 60, 1)),
    "time64": (pa.time64("us"), lambda i: datetime.time(9, i % 60, 1, i)),
    **{
        f"timestamp {unit}": (pa.timestamp(unit), lambda i: _TIME + datetime.timedelta(seconds=i))
        for unit in ("s", "ms", "us", "ns")
    },
    "timestamp New York": (
        pa.timestamp("ns", tz="America/New_York"),
        lambda i: (_TIME + datetime.timedelta(hours=i)).replace(tzinfo=datetime.UTC),
    ),
    "timestamp UTC": (
        pa.timestamp("us", tz="UTC"),
        lambda i: (_TIME + datetime.timedelta(hours=i)).replace(tzinfo=datetime.UTC),
    ),
    "duration": (pa.duration("ns"), lambda i: datetime.timedelta(microseconds=i)),
    "decimal128": (pa.decimal128(18, 4), lambda i: decimal.Decimal(i * 10_001) / 10_000),
    "decimal256": (pa.decimal256(50, 2), lambda i: decimal.Decimal(i * 101) / 100),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda i: f"S{i % 11}"),
    "dictionary int8": (pa.dictionary(pa.int8(), pa.string()), lambda i: f"S{i % 11}"),
    "list": (pa.list_(pa.float64()), lambda i: [i / 2] * (i % 4)),
    "large_list": (pa.large_list(pa.int32()), lambda i: [i] * (i % 4)),
    "list of strings": (pa.list_(pa.string()), lambda i: [f"{i}"] * (i % 3)),
    "fixed_list": (pa.list_(pa.int64(), 2), lambda i: [i, i + 1]),
    "struct": (pa.struct([("bid", pa.float64()), ("n", pa.int32())]), lambda i: {"bid": i / 2, "n": i}),
    "null": (pa.null(), lambda i: None),
}


def _table(kind: str, nulls: bool) -> pa.Table:
    data_type, make = TYPES[kind]
    if pa.types.is_dictionary(data_type):
        array = pa.array(_values(make, nulls), pa.string()).dictionary_encode()
        array = pa.DictionaryArray.from_arrays(
            array.indices.cast(data_type.index_type), array.dictionary)
    else:
        array = pa.array(_values(make, nulls), data_type)
    return pa.table({"value": array, "row": pa.array(range(ROWS))})


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=256 << 20)


@pytest.mark.parametrize("nulls", [False, True], ids=["full", "nulls"])
@pytest.mark.parametrize("kind", TYPES)
def test_arrow(shared: cenote.Pool, kind: str, nulls: bool) -> None:
    table = _table(kind, nulls)
    inputs = {
        "whole": table,
        "slice": table.slice(3, 501),
        "chunks": pa.concat_tables([table.slice(0, 100), table.slice(100)]),
        "empty": table.slice(0, 0),
        "batch": table.to_batches()[0].slice(13, 40),
    }
    for name, data in inputs.items():
        shared.put(kind, data, replace=True)
        back = shared[kind].to_arrow()
        back.validate(full=True)
        expected = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        assert back.schema.equals(expected.schema), name
        assert back.equals(expected), name
        part = shared.get(kind, rows=(min(5, len(data)), 38)).to_arrow()
        assert part.equals(expected.slice(5, 33)), name


# Polars reads no 256-bit decimals, and exports a null column with a buffer that the C data
# interface does not have.
@pytest.mark.parametrize("kind", [k for k in TYPES if k not in ("decimal256", "null")])
def test_polars(shared: cenote.Pool, kind: str) -> None:
    frame = pl.from_arrow(_table(kind, True))
    shared.put(kind, frame, replace=True)
    back = shared[kind].to_polars()
    assert back.schema == frame.schema
    assert back.equals(frame, null_equal=True)


def test_polars_categories(shared: cenote.Pool) -> None:
    frame = pl.DataFrame({
        "cat": pl.Series(["b", "a", None, "b"], dtype=pl.Categorical),
        "enum": pl.Series(["x", "y", None, "x"], dtype=pl.Enum(["x", "y", "z"])),
    })
    shared.put("categories", frame, replace=True)
    back = shared["categories"].to_polars()
    assert back.with_columns(pl.all().cast(pl.String)).equals(
        frame.with_columns(pl.all().cast(pl.String)))


@pytest.mark.parametrize(
    "kind", [k for k in TYPES if k not in ("float16", "null", "date64", "decimal256")])
def test_duckdb(shared: cenote.Pool, kind: str) -> None:
    table = _table(kind, True)
    expected = duckdb.sql('select * from "table" order by row').to_arrow_table()
    shared.put(kind, table, replace=True)
    frame = shared[kind]
    assert duckdb.sql("select * from frame order by row").to_arrow_table().equals(expected)
    shared.put(kind, duckdb.sql('select * from "table" order by row'), replace=True)
    assert shared[kind].to_arrow().equals(expected)


FRAMES = {
    "range index": pd.DataFrame({"x": np.arange(10.0)}),
    "shifted range": pd.DataFrame({"x": np.arange(10.0)}, index=pd.RangeIndex(5, 25, 2, name="n")),
    "dates": pd.DataFrame({"x": np.arange(10.0)}, index=pd.date_range("2020", periods=10, name="t")),
    "zoned dates": pd.DataFrame(
        {"x": np.arange(10.0)}, index=pd.date_range("2020", periods=10, tz="America/New_York")),
    "two levels": pd.DataFrame(
        {"x": np.arange(6.0)}, index=pd.MultiIndex.from_product([["A", "B"], [1, 2, 3]], names=["s", "d"])),
    "names": pd.DataFrame({"x": [1, 2]}, index=["a", "b"]),
    "numbers as names": pd.DataFrame({0: [1, 2], 1: [3.0, 4.0]}),
    "kinds": pd.DataFrame({
        "i": pd.array([1, None, 3], dtype="Int64"),
        "f": [1.0, np.nan, 3.0],
        "b": [True, False, True],
        "s": ["a", None, "c"],
        "c": pd.Categorical(["x", "y", "x"], categories=["y", "x"], ordered=True),
        "t": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        "z": pd.to_datetime(["2020-01-01", None, "2020-01-03"]).tz_localize("Europe/Berlin"),
        "d": pd.to_timedelta([1, None, 3], unit="s"),
        "p": pd.period_range("2020-01", periods=3, freq="M"),
    }),
    "empty": pd.DataFrame({"x": np.array([], dtype="float64"), "s": pd.Series([], dtype="str")}),
    "no columns": pd.DataFrame(index=pd.RangeIndex(3)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_pandas(shared: cenote.Pool, kind: str) -> None:
    frame = FRAMES[kind]
    shared.put(kind, frame, replace=True)
    for writable in (False, True):
        back = shared[kind].to_pandas(writable=writable)
        pd.testing.assert_frame_equal(back, frame, check_freq=False)
    if len(frame) >= 3:
        part = shared.get(kind, rows=(1, 3)).to_pandas()
        pd.testing.assert_frame_equal(part, frame.iloc[1:3], check_freq=False)


def test_pandas_without_its_index_columns(shared: cenote.Pool) -> None:
    shared.put("dates", FRAMES["dates"], replace=True)
    assert shared.get("dates", columns=["x"]).to_pandas()["x"].tolist() == list(range(10))


def test_a_writable_copy_is_the_callers(shared: cenote.Pool) -> None:
    shared.put("kinds", FRAMES["kinds"], replace=True)
    own = shared["kinds"].to_pandas(writable=True)
    own.loc[0, "f"] = 9.0
    own.loc[1, "s"] = "b"
    own.loc[0, "t"] = pd.Timestamp("2021-01-01")
    pd.testing.assert_frame_equal(shared["kinds"].to_pandas(), FRAMES["kinds"])


def test_wide_and_long(shared: cenote.Pool) -> None:
    table = pa.table({f"c{i}": np.arange(100.0) + i for i in range(1000)})
    shared.put("wide", table, replace=True)
    assert shared["wide"].to_arrow().equals(table)
    names = [f"c{i}" for i in range(999, 899, -1)]
    assert shared.get("wide", columns=names).to_arrow().equals(table.select(names))


def test_metadata_is_kept(shared: cenote.Pool) -> None:
    schema = pa.schema(
        [pa.field("x", pa.int64(), nullable=False, metadata={"unit": "USD"})], metadata={"by": "me"})
    table = pa.table([pa.array([1, 2])], schema=schema)
    shared.put("metadata", table, replace=True)
    assert shared["metadata"].schema.equals(schema, check_metadata=True)
    assert shared["metadata"].to_arrow().schema.equals(schema, check_metadata=True)


def test_rows_without_columns(shared: cenote.Pool) -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))
    shared.put("bare", batch, replace=True)
    assert shared["bare"].shape == (5, 0)
    assert shared["bare"].to_arrow().num_rows == 5
