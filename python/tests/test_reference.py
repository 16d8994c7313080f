"""Frames by reference, in other processes."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

import cenote
from conftest import settled


def _sum(frame: cenote.Frame) -> tuple[int, int]:
    return frame.version, int(frame["x"].to_numpy().sum())


def _put(pool: cenote.Pool, name: str) -> int:
    return pool.put(name, {"x": [1, 2, 3]})


def _return_frame(pool: cenote.Pool) -> cenote.Frame:
    pool.put("made in a child", {"x": [5]})
    return pool["made in a child"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(served, method: str) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(1000)})
    frame = pool["t"]
    part = pool.get("t", columns=["x"], rows=(10, 20))
    pool.put("t", {"x": [0]}, replace=True)
    context = multiprocessing.get_context(method)
    with context.Pool(2) as workers:
        assert workers.map(_sum, [frame] * 4 + [part]) == [(1, 499_500)] * 4 + [(1, 145)]
        assert workers.apply(_put, (pool, "from a worker")) == 1
        assert pool["from a worker"].num_rows == 3
        # A reference keeps nothing by itself: who sent it still holds it, or it has a name.
        assert workers.apply(_return_frame, (pool,))["x"].to_pylist() == [5]
        workers.close()
        workers.join()
    del frame, part
    assert settled(pool)["retired_held"] == 0


def test_a_reference_is_small_and_exact(pool: cenote.Pool) -> None:
    name = "n" * 255
    pool.put(name, {f"column {i}": np.arange(100) for i in range(500)})
    frame = pool[name]
    for given in (frame, pool.get(name, columns=[f"column {i}" for i in range(100)], rows=(5, 9))):
        data = pickle.dumps(given)
        assert len(data) < 1024
        again = pickle.loads(data)
        assert again.to_arrow().equals(given.to_arrow())
        assert (again.name, again.version, again.shape) == (given.name, given.version, given.shape)


def test_a_version_that_nobody_holds_is_gone(served) -> None:
    pool = served.connect()
    pool.put("t", {"x": [1]})
    frame = pool["t"]
    data = pickle.dumps(frame)
    pool.put("t", {"x": [2]}, replace=True)
    assert pickle.loads(data)["x"].to_pylist() == [1]
    del frame
    settled(pool)
    with pytest.raises(cenote.FrameNotFound, match="gone"):
        pickle.loads(data)


def test_pools_by_reference(served) -> None:
    pool = served.connect()
    again = pickle.loads(pickle.dumps(pool))
    assert again.address == pool.address and not again.embedded
    assert pickle.loads(pickle.dumps(pool)) is again
    pool.put("t", {"x": [1]})
    assert "t" in again


def test_an_embedded_pool_stays_in_its_process() -> None:
    pool = cenote.connect(embedded=True, capacity=64 << 20)
    pool.put("t", {"x": [1]})
    assert pickle.loads(pickle.dumps(pool)) is pool
    data = pickle.dumps(pool["t"]), pickle.dumps(pool)
    for pickled in data:
        code = f"import pickle, cenote; pickle.loads({pickled!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "PoolUnavailable" in done.stderr
    directory = pool.address
    assert directory.exists()
    del pool
    assert not directory.exists()
    with pytest.raises(cenote.PoolUnavailable):
        pickle.loads(data[0])


def test_rubbish_is_no_reference() -> None:
    from cenote._reference import open_frame

    for rubbish in (b"", b"rubbish", bytes(100), b"\xff" * 300):
        with pytest.raises(cenote.CenoteError):
            open_frame(rubbish)


def test_a_pool_that_is_gone(served) -> None:
    pool = served.connect()
    pool.put("t", {"x": [1]})
    data = pickle.dumps(pool["t"]).replace(
        served.address.encode(), served.address.encode()[:-1] + b"x")
    with pytest.raises(cenote.PoolUnavailable):
        pickle.loads(data)
