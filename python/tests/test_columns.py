"""A dict of columns: NumPy arrays, lists, buffers, Arrow arrays."""

from __future__ import annotations

import array

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cenote


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=128 << 20)


def _back(pool: cenote.Pool, value: object) -> pa.ChunkedArray:
    pool.put("t", {"x": value}, replace=True)
    return pool["t"]["x"]


NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float16", "float32", "float64", "bool"]


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(shared: cenote.Pool, kind: str) -> None:
    values = (np.arange(1001) % 100).astype(kind)
    for given in (values, values[::-1], values[3:700], values[::7],
                  values.astype(values.dtype.newbyteorder())):
        back = _back(shared, given)
        assert str(back.type) == {"float16": "halffloat", "float32": "float", "float64": "double"}.get(kind, kind)
        assert np.array_equal(back.to_numpy(), given)
    assert len(_back(shared, values[:0])) == 0


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_times(shared: cenote.Pool, kind: str, unit: str) -> None:
    values = np.array([0, 1, -5, 10**9], dtype="int64").view(f"{kind}[{unit}]")
    values[1] = np.array("NaT", dtype=values.dtype)
    back = _back(shared, values)
    assert back.null_count == 1 and str(back.type).endswith(f"[{unit}]")
    assert np.array_equal(back.to_numpy(), values, equal_nan=True)


def test_coarse_times(shared: cenote.Pool) -> None:
    days = np.array(["2020-01-01", "NaT", "1969-12-31"], dtype="datetime64[D]")
    assert _back(shared, days).type == pa.date32()
    assert _back(shared, days).to_pylist() == days.tolist()
    assert _back(shared, days.astype("datetime64[M]")).type == pa.date32()
    hours = np.array(["2020-01-01T05", "NaT"], dtype="datetime64[h]")
    assert _back(shared, hours).type == pa.timestamp("s")
    assert _back(shared, np.array([1, 2], "timedelta64[h]")).to_pylist()[1].seconds == 7200


def test_text(shared: cenote.Pool) -> None:
    words = ["", "a", "zzzé", "日本", "👍 x"]
    for given in (np.array(words), words, tuple(words), np.array(words, dtype=object),
                  np.array(words)[::-1][::-1]):
        assert _back(shared, given).to_pylist() == words
    assert _back(shared, np.array([""])).to_pylist() == [""]
    assert _back(shared, np.array(words[:0])).to_pylist() == []
    assert _back(shared, np.array([b"ab", b"", b"c"])).to_pylist() == [b"ab", b"", b"c"]


def test_lists(shared: cenote.Pool) -> None:
    for given, kind in (
        ([1, 2, None], pa.int64()),
        ([1, 2.5, None], pa.float64()),
        ([True, None], pa.bool_()),
        ([None, "a"], pa.string()),
        ([b"a", None], pa.binary()),
        ([2**63, 1], pa.uint64()),
        ([None, None], pa.null()),
        (range(3), pa.int64()),
        ([np.float64(1.5), np.int64(2)], pa.float64()),
        ([], pa.null()),
    ):
        back = _back(shared, given)
        assert back.type == kind and back.to_pylist() == list(given)


def test_buffers(shared: cenote.Pool) -> None:
    for code, kind in (("b", pa.int8()), ("i", pa.int32()), ("q", pa.int64()), ("d", pa.float64())):
        values = array.array(code, [1, 2, 3])
        assert _back(shared, values).type == kind
        assert _back(shared, memoryview(values)[1:]).to_pylist() == [2, 3]
        assert _back(shared, memoryview(values)[::2]).to_pylist() == [1, 3]
    assert _back(shared, bytearray(b"ab")).to_pylist() == [97, 98]


def test_arrow_arrays(shared: cenote.Pool) -> None:
    assert _back(shared, pa.array([1, None])).to_pylist() == [1, None]
    assert _back(shared, pa.chunked_array([[1], [2, 3]])).to_pylist() == [1, 2, 3]
    assert _back(shared, pa.chunked_array([], pa.string())).type == pa.string()
    assert _back(shared, pl.Series(["a", None])).to_pylist() == ["a", None]


def test_many_columns_and_none(shared: cenote.Pool) -> None:
    shared.put("t", {f"c{i}": np.full(10, i) for i in range(300)}, replace=True)
    assert shared["t"].num_columns == 300
    shared.put("t", {}, replace=True)
    assert shared["t"].shape == (0, 0)


BAD = {
    "unequal": ({"a": [1, 2], "b": [1]}, ValueError, 'column "b" has 1 rows, column "a" has 2'),
    "matrix": ({"a": np.zeros((2, 2))}, ValueError, 'column "a": it has shape (2, 2)'),
    "scalar": ({"a": 5}, TypeError, 'column "a": int is no column'),
    "word": ({"a": "word"}, TypeError, 'column "a": str is one value'),
    "mixed": ({"a": [1, "x"]}, TypeError, 'column "a": row 1 is str'),
    "objects": ({"a": [object()]}, TypeError, 'column "a": row 0 is object'),
    "object array": ({"a": np.array([1, {}], dtype=object)}, TypeError, 'column "a": row 1 is dict'),
    "complex": ({"a": np.zeros(2, complex)}, TypeError, 'column "a": NumPy\'s complex128'),
    "records": ({"a": np.zeros(2, [("x", "i4")])}, TypeError, 'column "a"'),
    "masked": ({"a": np.ma.array([1], mask=[True])}, TypeError, 'column "a": a masked array'),
    "no unit": ({"a": np.array([1], "timedelta64")}, TypeError, "no unit"),
    "picoseconds": ({"a": np.array([1], "datetime64[ps]")}, TypeError, "finer"),
    "huge number": ({"a": [2**70]}, ValueError, 'column "a": a number is beyond 64 bits'),
    "name": ({5: [1]}, TypeError, "a column's name is a str, not 5"),
    "half a character": ({"a": ["\ud800"]}, ValueError, 'column "a": row 0'),
    "half a character in an array": (
        {"a": np.array(["\ud800"])}, ValueError, 'column "a": row 0 has 0xd800'),
    "a set": ({"a": {1}}, TypeError, 'column "a": set is no column'),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_columns_are_named(shared: cenote.Pool, kind: str) -> None:
    data, error, text = BAD[kind]
    frames = list(shared)
    with pytest.raises(error) as caught:
        shared.put("bad", data)
    assert text in str(caught.value)
    assert isinstance(caught.value, cenote.CenoteError)
    assert list(shared) == frames
