"""A full pool refuses with numbers, and waits only as long as it was told."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import cenote
from conftest import Served, contents, settled

CAPACITY = 64 << 20
PIECE = {"x": np.zeros(1 << 20)}  # 8 MiB


@pytest.fixture
def small():
    served = Served(CAPACITY)
    try:
        yield served
        assert settled(served.connect())["leaked"] == 0
    finally:
        served.close()


def _fill(pool: cenote.Pool) -> int:
    count = 0
    while True:
        try:
            pool.put(f"piece {count}", PIECE)
        except cenote.PoolExhausted:
            return count
        count += 1


def test_numbers_and_holders(small: Served) -> None:
    pool = small.connect()
    pool.put("held", PIECE)
    held = pool["held"]
    pool.drop("held")
    assert _fill(pool) >= 4
    before = contents(pool)
    with pytest.raises(MemoryError) as caught:
        pool.put("big", {"x": np.zeros(8 << 20)})
    error = caught.value
    assert isinstance(error, cenote.PoolExhausted)
    assert error.asked >= 8 << 20 and error.capacity == CAPACITY
    assert error.largest <= error.free < error.asked and error.limit == "capacity"
    assert error.holders and error.holders[0]["bytes"] >= 8 << 20 and error.holders[0]["pid"] > 0
    assert "64 MiB" in str(error)
    assert contents(pool) == before
    del held
    settled(pool)
    pool.put("fits", PIECE)
    for name in list(pool):
        pool.drop(name)
    assert settled(pool)["sealed"] == 0
    assert _fill(pool) >= 4


def test_a_stream_that_does_not_fit_leaves_nothing(small: Served) -> None:
    pool = small.connect()
    before = contents(pool)
    with pytest.raises(cenote.PoolExhausted):
        pool.put("endless", (PIECE for _ in range(1000)))
    with pytest.raises(cenote.PoolExhausted), pool.writer("w", {"x": "float64"}) as writer:
        writer.allocate(100 << 20)
    assert contents(pool) == before
    pool.put("fits", PIECE)


def test_waiting_has_a_deadline(small: Served) -> None:
    pool = small.connect()
    _fill(pool)
    start = time.monotonic()
    with pytest.raises(cenote.PoolExhausted):
        pool.put("late", PIECE, timeout=0.5)
    assert 0.4 < time.monotonic() - start < 5
    freed = threading.Timer(0.3, lambda: (pool.drop("piece 0"), pool.drop("piece 1")))
    freed.start()
    assert pool.put("late", PIECE, timeout=20) == 1
    freed.join()
