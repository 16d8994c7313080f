"""The surface, as a user meets it."""

from __future__ import annotations

import collections.abc
import pickle

import numpy as np
import pytest

import cenote


def test_a_table_goes_in_and_comes_out(pool: cenote.Pool) -> None:
    assert pool.put("prices", {"close": [101.5, 102.25, None], "symbol": ["A", "B", "C"]}) == 1
    frame = pool["prices"]
    assert (frame.name, frame.version, frame.num_rows, frame.num_columns) == ("prices", 1, 3, 2)
    assert (len(frame), frame.shape, frame.column_names) == (3, (3, 2), ["close", "symbol"])
    assert frame.nbytes >= 3 * 8
    assert frame.created_ns > 1_700_000_000 * 10**9
    assert frame.schema.names == ["close", "symbol"]
    assert frame.to_arrow().to_pydict() == {
        "close": [101.5, 102.25, None],
        "symbol": ["A", "B", "C"],
    }
    assert frame.column("symbol").to_pylist() == ["A", "B", "C"]
    assert frame["close"].null_count == 1
    assert "prices" in repr(frame) and "3 rows" in repr(frame)
    assert str(pool.address) in repr(pool)


def test_versions_count_and_an_old_one_stays_what_it_is(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [1]})
    old = pool["t"]
    assert pool.put("t", {"x": [2, 3]}, replace=True) == 2
    assert old.to_arrow().to_pydict() == {"x": [1]}
    assert pool["t"].to_arrow().to_pydict() == {"x": [2, 3]}
    assert pool["t"].version == 2
    with pytest.raises(cenote.FrameExists, match="replace=True"):
        pool.put("t", {"x": [4]})


def test_the_pool_is_a_mapping(pool: cenote.Pool) -> None:
    for name in ("b", "a", "c"):
        pool.put(name, {"x": [name]})
    assert isinstance(pool, collections.abc.Mapping)
    assert sorted(pool) == sorted(pool.keys()) == ["a", "b", "c"]
    assert len(pool) == 3
    assert pool.keys() & {"a", "z"} == {"a"}
    assert {name: frame["x"][0].as_py() for name, frame in pool.items()} == {n: n for n in "abc"}
    assert sorted(frame.name for frame in pool.values()) == ["a", "b", "c"]
    assert "a" in pool
    for absent in ("z", "a/b", "", 5, None, "\ud800", "x" * 10_000):
        assert absent not in pool
    assert pool


def test_drop_and_rename(pool: cenote.Pool) -> None:
    pool.put("a", {"x": [1]})
    pool.rename("a", "b")
    assert list(pool) == ["b"]
    pool.put("c", {"x": [2]})
    with pytest.raises(cenote.FrameExists):
        pool.rename("b", "c")
    held = pool["b"]
    pool.drop("b")
    assert "b" not in pool
    assert held["x"].to_pylist() == [1]
    with pytest.raises(cenote.FrameNotFound):
        pool.drop("b")
    with pytest.raises(cenote.FrameNotFound):
        pool.rename("b", "d")


def test_columns_and_rows(pool: cenote.Pool) -> None:
    pool.put("t", ({"a": np.arange(i, i + 10), "b": np.arange(10) * 0.5} for i in (0, 10, 20)))
    part = pool.get("t", columns=["b", "a"], rows=(5, 25))
    assert part.column_names == ["b", "a"]
    assert part["a"].to_pylist() == list(range(5, 25))
    assert pool.get("t", columns="a").shape == (30, 1)
    assert pool.get("t", columns=[]).shape == (30, 0)
    for rows in ((28, 99), slice(28, None), range(28, 99)):
        assert pool.get("t", rows=rows)["a"].to_pylist() == [28, 29]
    assert pool.get("t", rows=slice(None, 2))["a"].to_pylist() == [0, 1]
    assert pool.get("t", rows=(30, 30)).num_rows == 0
    assert pool.get("t", rows=(np.int64(3), np.int64(4)))["a"].to_pylist() == [3]
    assert part.nbytes <= pool["t"].nbytes


def test_a_selection_leases_only_what_it_needs(served) -> None:
    pool = served.connect()
    pool.put("t", {"a": np.zeros(100_000), "b": np.zeros(100_000)})
    part = pool.get("t", columns=["a"])
    assert part.nbytes == 800_000
    mine = [lease for s in pool.leases() for lease in s["leases"] if lease["name"] == "t"]
    assert [lease["nbytes"] for lease in mine] == [800_000]


def test_reports(served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(1000)}, source="a test")
    (entry,) = pool.frames()
    assert entry["name"] == "t" and entry["num_rows"] == 1000 and entry["source"] == "a test"
    assert entry["version"] == 1 and entry["nbytes"] >= 8000
    info = pool.info()
    assert info["capacity"] == served.capacity and info["frames"] == 1 and info["lost"] == []
    assert info["leaked"] == 0 and info["sealed"] >= 8000 and info["used"] >= info["sealed"]
    held = pool["t"]
    me = [s for s in pool.leases() if s["leases"]]
    assert me[0]["leases"][0]["name"] == "t" and me[0]["leases"][0]["nbytes"] >= 8000
    with pytest.raises(cenote.ArgumentError):
        pool.evict(1 << 50)
    del held


def test_a_frame_can_be_read_again_and_again(pool: cenote.Pool) -> None:
    import duckdb
    import polars
    import pyarrow as pa

    pool.put("t", {"x": np.arange(10)})
    frame = pool["t"]
    for _ in range(3):
        assert pa.table(frame).num_rows == 10
        assert polars.DataFrame(frame)["x"].sum() == 45
        assert duckdb.sql("select sum(x) from frame").fetchall() == [(45,)]
    assert frame.to_arrow() is frame.to_arrow()
    assert pa.schema(frame) == frame.schema
    assert pool.put("copy", frame) == 1
    assert pool["copy"]["x"].to_pylist() == list(range(10))


def test_what_is_got_lives_longer_than_the_frame(pool: cenote.Pool) -> None:
    pool.put("t", {"x": np.arange(100_000)})
    column = pool["t"].column("x")
    pool.drop("t")
    for i in range(5):
        pool.put("other", {"x": np.full(100_000, i)}, replace=True)
    assert column[99_999].as_py() == 99_999
    assert column.to_numpy().sum() == 99_999 * 100_000 // 2


def test_memory_is_read_only_and_not_copied(pool: cenote.Pool) -> None:
    pool.put("t", {"x": np.arange(100_000, dtype="float64"), "n": np.arange(100_000)})
    frame = pool["t"]
    address = frame["x"].chunk(0).buffers()[1].address
    values = frame["x"].to_numpy()
    assert not values.flags.writeable
    table = frame.to_pandas()
    assert table["x"].to_numpy().ctypes.data == address == values.ctypes.data
    assert frame.to_polars()["x"].to_numpy().ctypes.data == address
    with pytest.raises(ValueError):
        table["x"].to_numpy()[0] = 1.0
    own = frame.to_pandas(writable=True)
    own.iloc[0, 0] = -1.0
    own.loc[5, "n"] = 77
    assert own["x"].to_numpy().ctypes.data != address
    assert frame["x"][0].as_py() == 0.0


def test_what_was_put_may_change_afterwards(pool: cenote.Pool) -> None:
    import pandas as pd

    array = np.arange(1000.0)
    table = pd.DataFrame({"x": np.arange(1000.0)})
    pool.put("array", {"x": array})
    pool.put("table", table)
    array[:] = -1
    table.loc[:, "x"] = -1.0
    assert pool["array"]["x"].to_numpy().sum() == pool["table"]["x"].to_numpy().sum() == 499_500


def test_errors_are_what_a_user_would_catch(pool: cenote.Pool) -> None:
    pool.put("prices", {"close": [1.0]})
    for error, builtin in (
        (cenote.FrameNotFound, KeyError),
        (cenote.ColumnNotFound, KeyError),
        (cenote.PoolExhausted, MemoryError),
        (cenote.PoolUnavailable, ConnectionError),
        (cenote.ArgumentError, ValueError),
        (cenote.UnsupportedType, TypeError),
    ):
        assert issubclass(error, builtin) and issubclass(error, cenote.CenoteError)
    with pytest.raises(KeyError) as caught:
        pool["price"]
    assert str(caught.value).startswith('no frame "price"')
    with pytest.raises(KeyError) as caught:
        pool["prices"].column("open")
    assert '"open"' in str(caught.value) and '"close"' in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is cenote.ColumnNotFound and str(again) == str(caught.value)


def test_classes_are_closed(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [1]})
    for thing in (pool, pool["t"]):
        with pytest.raises(AttributeError):
            thing.extra = 1
    with pytest.raises(TypeError):
        cenote.Frame()
    with pytest.raises(TypeError):
        cenote.Pool()
    for public in (cenote.Pool, cenote.Frame, cenote.Writer, cenote.Schema, cenote.FrameNotFound):
        assert public.__module__ == "cenote" and public.__doc__


def test_every_public_method_says_what_it_does() -> None:
    looked = 0
    for public in (cenote.Pool, cenote.Frame, cenote.Writer, cenote.Partition, cenote.Schema):
        for name, member in vars(public).items():
            if not name.startswith("_"):
                assert member.__doc__, f"{public.__name__}.{name} has no docstring"
                looked += 1
    assert looked > 30
