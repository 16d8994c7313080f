"""Building a frame in place."""

from __future__ import annotations

import gc

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cenote
from conftest import contents

SCHEMA = {"time": "datetime64[ns]", "price": "float64", "size": np.int32}


def test_in_place(pool: cenote.Pool) -> None:
    with pool.writer("t", SCHEMA) as writer:
        rows = writer.allocate(1000)
        assert rows.num_rows == 1000 and list(rows) == ["time", "price", "size"]
        assert dict(rows).keys() == {"time", "price", "size"} and "price" in rows
        assert rows["price"].shape == (1000,) and not rows["price"].any()
        rows["time"][:] = np.datetime64("2020-01-01", "ns") + np.arange(1000)
        rows["price"][:] = np.arange(1000) / 2
        rows["size"][:] = 7
        assert "t" not in pool
    assert writer.version == 1 and pool["t"].version == 1
    table = pool["t"].to_arrow()
    assert table.schema.types == [pa.timestamp("ns"), pa.float64(), pa.int32()]
    assert table["price"].to_numpy().sum() == 249_750
    assert table["size"].unique().to_pylist() == [7]
    assert table["time"][999].value - table["time"][0].value == 999
    table.validate(full=True)


def test_rows_stand_in_the_order_of_the_calls(pool: cenote.Pool) -> None:
    writer = pool.writer("t", pa.schema([("x", pa.int64())]))
    writer.write({"x": [0, 1]})
    first = writer.allocate(2)
    second = writer.allocate(1)
    second["x"][:] = [4]
    first["x"][:] = [2, 3]
    writer.write(pa.table({"x": [5]}))
    writer.write(pl.DataFrame({"x": [6]}))
    writer.write(iter([{"x": [7]}, {"x": [8]}]))
    with pytest.raises(BufferError, match="sealed"):
        first["x"]
    writer.allocate(1)["x"][:] = [9]
    assert writer.commit() == 1
    assert pool["t"]["x"].to_pylist() == list(range(10))


def test_what_is_sealed_cannot_be_written(pool: cenote.Pool) -> None:
    writer = pool.writer("t", {"a": "float64", "b": "float64"})
    rows = writer.allocate(10)
    a, b = rows["a"], memoryview(rows["b"])
    a[:] = 1
    for _ in range(2):
        with pytest.raises(BufferError, match='"a", "b"'):
            writer.commit()
    with pytest.raises(BufferError):
        writer.write({"a": [1.0], "b": [1.0]})
    b.release()
    with pytest.raises(BufferError, match='views of "a" are'):
        writer.commit()
    part = a[3:]
    del a
    with pytest.raises(BufferError):
        writer.commit()
    del part
    assert writer.commit() == 1
    with pytest.raises(BufferError, match="sealed"):
        rows["a"]
    for late in (lambda: writer.write({"a": [1.0], "b": [1.0]}), writer.commit,
                 lambda: writer.allocate(1)):
        with pytest.raises(ValueError, match="ended"):
            late()
    writer.abort()
    assert pool["t"]["a"].to_pylist() == [1.0] * 10


def test_an_exception_leaves_no_trace(pool: cenote.Pool) -> None:
    before = contents(pool)
    with pytest.raises(ZeroDivisionError), pool.writer("t", SCHEMA) as writer:
        writer.allocate(100_000)["price"][:] = 1 / 0
    assert "without a commit" in repr(writer)
    with pytest.raises(TypeError), pool.writer("t", SCHEMA) as writer:
        writer.write(5)
    writer = pool.writer("t", SCHEMA)
    writer.allocate(1000)
    del writer
    with pytest.raises(ValueError, match="schema"), pool.writer("t", SCHEMA) as writer:
        writer.write({"other": [1]})
    assert contents(pool) == before and "t" not in pool


def test_a_view_that_outlives_its_writer_writes_nowhere_else(pool: cenote.Pool) -> None:
    """The memory of an aborted writer goes to the next put only when the last view is gone."""
    writer = pool.writer("lost", {"x": "float64"})
    view = writer.allocate(1000)["x"]
    writer.abort()
    for i in range(5):
        pool.put(f"t{i}", {"x": np.zeros(1000)})
    view[:] = 666
    del writer
    gc.collect()
    view[:] = 667
    for i in range(5):
        assert not pool[f"t{i}"]["x"].to_numpy().any()
    del view
    pool.put("next", {"x": np.zeros(1000)})
    assert not pool["next"]["x"].to_numpy().any()


def test_a_with_block_that_holds_a_view_says_so(pool: cenote.Pool) -> None:
    with pytest.raises(BufferError), pool.writer("t", {"x": "float64"}) as writer:
        view = writer.allocate(10)["x"]
    assert "t" not in pool
    view[:] = 1


def test_an_empty_frame(pool: cenote.Pool) -> None:
    with pool.writer("t", SCHEMA):
        pass
    assert pool["t"].shape == (0, 3)
    assert pool["t"].to_arrow().schema.names == list(SCHEMA)


def test_types_that_cannot_be_filled_in_place(pool: cenote.Pool) -> None:
    before = contents(pool)
    for schema in (pa.schema([("s", pa.string())]), {"b": "bool"}):
        with pool.writer("t", schema) as writer:
            with pytest.raises(cenote.CenoteError):
                writer.allocate(10)
            writer.abort()
    for bad in ({"x": "complex128"}, {"x": "nonsense"}, {5: "float64"}, 5, "float64"):
        with pytest.raises((TypeError, ValueError)):
            pool.writer("t", bad)
    with pytest.raises(ValueError, match="-1"):
        pool.writer("t", SCHEMA).allocate(-1)
    assert contents(pool) == before


def test_every_fixed_type(pool: cenote.Pool) -> None:
    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
             "float32", "float64", "datetime64[s]", "datetime64[us]", "timedelta64[ns]"]
    with pool.writer("t", {name: name for name in names}) as writer:
        rows = writer.allocate(5)
        for name in names:
            assert rows[name].dtype == name
            rows[name][:] = np.arange(5).astype(name)
    for name in names:
        assert np.array_equal(pool["t"][name].to_numpy(), np.arange(5).astype(name)), name


def test_frames_that_exist(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [1]})
    with pytest.raises(cenote.FrameExists):
        pool.writer("t", {"x": "int64"})
    with pool.writer("t", {"x": "int64"}, replace=True, source="a writer") as writer:
        writer.write({"x": [2]})
    assert writer.version == 2 and pool.frames()[0]["source"] == "a writer"


def test_a_writer_that_expects_a_version(pool: cenote.Pool) -> None:
    with pool.writer("t", {"x": "int64"}, expect_version=0) as writer:
        writer.write({"x": [1]})
    with pool.writer("t", {"x": "int64"}, expect_version=1) as writer:
        writer.write({"x": [2]})
    assert (writer.version, pool["t"].to_arrow()["x"].to_pylist()) == (2, [2])
    # somebody comes between: it is the commit that finds out
    late = pool.writer("t", {"x": "int64"}, append=True, expect_version=2)
    late.write({"x": [3]})
    pool.put("t", {"x": [9]}, replace=True)
    before = contents(pool)
    with pytest.raises(cenote.VersionConflict, match="is at version 3, and version 2 was expected") as caught:
        late.commit()
    assert (caught.value.expected, caught.value.found, late.version) == (2, 3, None)
    with pytest.raises(cenote.VersionConflict):
        with pool.writer("t", {"x": "int64"}, expect_version=0) as writer:
            writer.write({"x": [4]})
    assert pool["t"].to_arrow()["x"].to_pylist() == [9]
    assert contents(pool) == before
