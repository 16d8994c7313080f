"""Bad input: an error that says what and where, and no trace."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import cenote
from conftest import contents

NAMES = {
    "": "at least one character",
    "n" * 10_000: "10000 bytes",
    "a/b": "path separator",
    "../up": "path separator",
    "a\\b": "path separator",
    ".": "only dots",
    "..": "only dots",
    " a": "white space",
    "a\n": "control character",
    "a\0b": "control character",
}


def test_names(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [1]})
    before = contents(pool)
    for name, text in NAMES.items():
        for call in (
            lambda name: pool.put(name, {"x": [1]}),
            lambda name: pool.writer(name, {"x": "int64"}),
            lambda name: pool.rename("t", name),
        ):
            with pytest.raises(ValueError) as caught:
                call(name)
            assert text in str(caught.value) and len(str(caught.value)) < 300, name
            assert isinstance(caught.value, cenote.CenoteError)
        for call in (pool.get, pool.drop, pool.__getitem__):
            with pytest.raises(KeyError) as caught:
                call(name)
            assert len(str(caught.value)) < 300
    for name in (5, None, b"t"):
        with pytest.raises(TypeError):
            pool.put(name, {"x": [1]})
        with pytest.raises(TypeError):
            pool[name]
    with pytest.raises(ValueError):
        pool.put("\ud800", {"x": [1]})
    assert contents(pool) == before


def test_columns_and_rows(pool: cenote.Pool) -> None:
    pool.put("t", {"x": np.arange(10), "y": np.arange(10)})
    before = contents(pool)
    for columns, error in ((["z"], KeyError), ("z", KeyError), (["x", 5], TypeError), (5, TypeError),
                           (["x", "X" * 10_000], KeyError)):
        with pytest.raises(error) as caught:
            pool.get("t", columns=columns)
        assert isinstance(caught.value, cenote.CenoteError) and len(str(caught.value)) < 300
    for rows in ((-1, 5), (5, -1), (5, 3), (11, 12), (0, 2**70), slice(0, 10, 2), range(0, 10, 3),
                 range(5, 3), (1, 2, 3), slice(-5, None)):
        with pytest.raises(ValueError) as caught:
            pool.get("t", rows=rows)
        assert isinstance(caught.value, cenote.CenoteError)
    for rows in (5, "1:2", [1, 2], ("a", "b"), (0.5, 2)):
        with pytest.raises(TypeError):
            pool.get("t", rows=rows)
    with pytest.raises(ValueError, match=r'no rows -1\.\.5 in frame "t": it has 10'):
        pool.get("t", rows=(-1, 5))
    with pytest.raises(KeyError):
        pool["t"].column("z")
    with pytest.raises(KeyError):
        pool["t"]["z"]
    assert contents(pool) == before


def test_what_is_no_table(pool: cenote.Pool) -> None:
    before = contents(pool)
    for data in (5, None, "text", b"bytes", object(), np.zeros(5), np.zeros((2, 2)), [1, 2],
                 {1, 2}, pa.array([1, 2]), pa.chunked_array([[1]]), pa.table, cenote.Frame,
                 pd.Series([1, 2]), pa.schema([("x", pa.int64())]), lambda: 5):
        with pytest.raises(TypeError) as caught:
            pool.put("bad", data)
        assert isinstance(caught.value, cenote.CenoteError), data
    with pytest.raises(TypeError):
        pool.put("bad")
    assert contents(pool) == before


def test_pandas_columns_are_named(pool: cenote.Pool) -> None:
    before = contents(pool)
    for frame, error, text in (
        (pd.DataFrame({"fine": [1, 2], "odd": [1, "b"]}), TypeError, "'odd' of type object"),
        (pd.DataFrame({"fine": [1], "odd": [object()]}), TypeError, "'odd'"),
        (pd.DataFrame({"fine": [1], "odd": [1 + 2j]}), TypeError, "'odd' of type complex128"),
    ):
        with pytest.raises(error) as caught:
            pool.put("bad", frame)
        assert text in str(caught.value)
        assert isinstance(caught.value, cenote.CenoteError)
    assert contents(pool) == before


def test_broken_text(pool: cenote.Pool) -> None:
    """Arrow arrays that promise UTF-8 and have none are not stored."""
    before = contents(pool)
    offsets = pa.py_buffer(np.array([0, 2], dtype="int32"))
    broken = pa.Array.from_buffers(pa.string(), 1, [None, offsets, pa.py_buffer(b"\xff\xfe")])
    with pytest.raises(cenote.CenoteError) as caught:
        pool.put("bad", pa.table({"fine": [1], "broken": broken}))
    assert 'column "broken"' in str(caught.value)
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 7]), ["only one"], safe=False)
    with pytest.raises(cenote.CenoteError) as caught:
        pool.put("bad", pa.table({"fine": [1, 2], "keys": keys}))
    assert 'column "keys"' in str(caught.value)
    assert contents(pool) == before


def test_other_arguments(pool: cenote.Pool) -> None:
    before = contents(pool)
    for timeout in (-1, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError):
            pool.put("t", {"x": [1]}, timeout=timeout)
    with pytest.raises(TypeError):
        pool.put("t", {"x": [1]}, timeout="soon")
    with pytest.raises(TypeError):
        pool.put("t", {"x": [1]}, source=5)
    with pytest.raises((OverflowError, TypeError)):
        pool.evict(-1)
    assert contents(pool) == before


def test_addresses() -> None:
    for address in ("", ".", "..", " ", "a\nb", "a\0b"):
        with pytest.raises(ValueError):
            cenote.connect(address)
    for capacity in (0, -1, 1.5, "a lot"):
        with pytest.raises(ValueError):
            cenote.connect(embedded=True, capacity=capacity)
    with pytest.raises(ValueError):
        cenote.connect("/dev/shm/x", embedded=True)
    with pytest.raises(ValueError):
        cenote.connect("/dev/shm/x", capacity=1 << 30)
    with pytest.raises(cenote.PoolUnavailable):
        cenote.connect(embedded=True, capacity=1)
    with pytest.raises(TypeError):
        cenote.connect(5)
    with pytest.raises(ConnectionError):
        cenote.connect("/nonexistent/pool")
