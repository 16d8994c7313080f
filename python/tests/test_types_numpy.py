"""Columns for NumPy and for whatever reads buffers or DLPack."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import cenote
from conftest import settled

KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64", "datetime64[s]", "datetime64[ns]", "timedelta64[us]"]


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=128 << 20)


def _address(frame: cenote.Frame, name: str) -> int:
    chunk = frame[name].chunk(0)
    width = chunk.type.bit_width // 8
    return int(chunk.buffers()[1].address + chunk.offset * width)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_stay_where_they_are(shared: cenote.Pool, kind: str) -> None:
    array = (np.arange(1000) % 100).astype(kind)
    shared.put("t", {"x": array}, replace=True)
    for rows in ((0, 1000), (7, 500), (1000, 1000)):
        frame = shared.get("t", rows=rows)
        back = frame.to_numpy("x")
        assert back.dtype == array.dtype and not back.flags.writeable
        assert np.array_equal(back, array[slice(*rows)])
        values = frame.values("x")
        assert (values.dtype, values.shape, len(values)) == (kind, back.shape, len(back))
        if len(back):
            assert back.ctypes.data == _address(frame, "x"), "no copy"
            assert np.asarray(values).ctypes.data == back.ctypes.data
        if array.dtype.kind in "mM":
            with pytest.raises(BufferError, match="numpy.asarray"):
                memoryview(values)
            continue
        view = memoryview(values)
        assert view.readonly and view.nbytes == back.nbytes and view.itemsize == array.itemsize
    assert values.__array__("float64" if array.dtype.kind in "iuf" else None).shape == (0,)


def test_copies_are_made_where_they_are_asked_for(shared: cenote.Pool) -> None:
    shared.put("t", {"x": np.arange(10)}, replace=True)
    values = shared["t"].values("x")
    own = np.array(values, copy=True)
    own[0] = 7
    assert values.__array__(copy=False)[0] == 0
    assert np.asarray(values, dtype="float32").dtype == "float32"
    with pytest.raises(ValueError):
        np.array(values, dtype="float32", copy=False)
    with pytest.raises(ValueError):
        np.asarray(values)[0] = 1
    with pytest.raises(ValueError):
        np.frombuffer(values, dtype="int64").setflags(write=True)
    with open("/dev/zero", "rb") as zeros, pytest.raises((BufferError, TypeError)):
        zeros.readinto(values)
    assert bytes(values) == np.arange(10).tobytes()


def test_dlpack(shared: cenote.Pool) -> None:
    array = np.arange(1000, dtype="float32")
    shared.put("t", {"x": array, "t": array.astype("datetime64[s]")}, replace=True)
    values = shared["t"].values("x")
    assert values.__dlpack_device__() == (1, 0)
    back = np.from_dlpack(values)
    assert np.array_equal(back, array) and not back.flags.writeable
    assert back.ctypes.data == _address(shared["t"], "x")
    assert "dltensor_versioned" in repr(values.__dlpack__(max_version=(1, 0)))
    with pytest.raises(BufferError):
        values.__dlpack__()  # An older reader could write.
    with pytest.raises(BufferError):
        np.from_dlpack(shared["t"].values("t"))  # DLPack has no times.


def test_a_view_holds_the_lease(pool: cenote.Pool) -> None:
    pool.put("t", {"x": np.arange(200_000)})
    array = pool["t"].to_numpy("x")
    capsule = np.from_dlpack(pool["t"].values("x"))
    pool.drop("t")
    for i in range(5):
        pool.put("other", {"x": np.full(200_000, i)}, replace=True)
    gc.collect()
    assert array.sum() == capsule.sum() == 199_999 * 100_000
    del array, capsule
    gc.collect()
    assert settled(pool)["retired_held"] == 0


def test_the_rest_is_converted(shared: cenote.Pool) -> None:
    shared.put("t", pa.table({
        "nulls": [1, None, 3], "text": ["a", None, "c"], "flag": [True, False, True],
        "date": pa.array([0, 1, None], pa.date32()), "list": [[1], [], None]}), replace=True)
    frame = shared["t"]
    assert np.array_equal(frame.to_numpy("nulls"), [1, np.nan, 3], equal_nan=True)
    assert frame.to_numpy("text").tolist() == ["a", None, "c"]
    assert frame.to_numpy("flag").tolist() == [True, False, True]
    assert frame.to_numpy("date").dtype == "datetime64[D]"
    assert frame.to_numpy("list")[0].tolist() == [1]
    for name, why in (("nulls", "values of it are missing"), ("text", "its type"),
                      ("flag", "its type"), ("date", "its type"), ("list", "its type")):
        with pytest.raises(TypeError, match=f'column "{name}" has no values to be seen in place: {why}'):
            frame.values(name)
    with pytest.raises(KeyError):
        frame.to_numpy("none")


def test_partitions_are_joined(shared: cenote.Pool) -> None:
    shared.put("t", ({"x": np.arange(i, i + 10)} for i in (0, 10)), replace=True)
    assert shared["t"].to_numpy("x").tolist() == list(range(20))
    with pytest.raises(TypeError, match=r'it lies in 2 partitions; to_numpy\("x"\) copies it'):
        shared["t"].values("x")
    assert shared.get("t", rows=(12, 15)).values("x").shape == (3,)


def test_no_other_library_is_needed() -> None:
    script = """
import sys
for name in ("numpy", "pyarrow", "pandas", "polars"):
    sys.modules[name] = None
import array, cenote
pool = cenote.connect(embedded=True, capacity=64 << 20)
pool.put("t", {"x": array.array("d", [1.5, 2.5])})
view = memoryview(pool["t"].values("x"))
assert view.tolist() == [1.5, 2.5] and view.format == "d" and view.readonly
try:
    pool["t"].to_numpy("x")
except ImportError as error:
    assert "numpy" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_pyarrow_numbers_are_numpy_s() -> None:
    script = """
import sys
sys.modules["pyarrow"] = None
import numpy as np, cenote
pool = cenote.connect(embedded=True, capacity=64 << 20)
pool.put("t", ({"x": np.arange(3) + i, "s": ["a", None, "b"]} for i in range(2)))
assert pool["t"].to_numpy("x").tolist() == [0, 1, 2, 1, 2, 3]
assert pool.get("t", rows=(0, 0)).to_numpy("x").dtype == "int64"
try:
    pool["t"].to_numpy("s")
except ImportError as error:
    assert "pyarrow" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", script], check=True)
