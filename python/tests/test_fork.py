"""Forks: a child keeps what it inherited, has a connection of its own, or is told."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable

import numpy as np
import pytest

import cenote
from conftest import Served, settled

CHILD_LIMIT_S = 60


def in_child(work: Callable[[], None]) -> int:
    """Forks; the child does `work` and ends, 0 if it held. Returns its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(CHILD_LIMIT_S)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended_well(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_keeps_what_its_parent_lets_go(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(200_000)})
    frame, table = pool["t"], pool.get("t", rows=(5, 100_000)).to_arrow()
    read, write = os.pipe()

    def child() -> None:
        os.read(read, 1)  # The parent has replaced and dropped everything.
        for _ in range(20):
            assert frame["x"].to_numpy().sum() == 199_999 * 100_000
            assert table["x"].to_numpy()[0] == 5
            assert frame.to_arrow()["x"][-1].as_py() == 199_999

    pid = in_child(child)
    del frame, table
    pool.drop("t")
    for i in range(10):
        pool.put("other", {"x": np.full(200_000, i)}, replace=True)
    assert pool.info()["retired_held"] > 0
    os.write(write, b"x")
    assert ended_well(pid)
    os.close(read), os.close(write)
    assert settled(pool)["retired_held"] == 0


def test_a_child_has_a_connection_of_its_own(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": [1]})
    mine = {s["session"] for s in pool.leases() if s["pid"] == os.getpid()}

    def child() -> None:
        assert pool["t"]["x"].to_pylist() == [1]
        assert pool.put("c", {"x": [2]}) == 1
        own = {s["session"] for s in pool.leases() if s["pid"] == os.getpid()}
        assert own and not own & mine
        pool.drop("t")

    assert ended_well(in_child(child))
    assert list(pool) == ["c"]
    pool.put("t", {"x": [3]})


def test_a_child_of_a_child(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(1000)})
    frame = pool["t"]

    def grandchild() -> None:
        time.sleep(0.3)
        assert frame["x"].to_numpy().sum() == 499_500
        assert pool["t"].version == 2

    def child() -> None:
        assert frame["x"].to_numpy().sum() == 499_500
        own = pool["t"]
        pid = in_child(grandchild)
        assert own.version == frame.version == 1
        assert ended_well(pid)

    pid = in_child(child)
    time.sleep(0.1)
    del frame
    pool.put("t", {"x": [1]}, replace=True)
    assert ended_well(pid)
    assert settled(pool)["retired_held"] == 0


def test_forks_while_threads_read(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(1000)})
    frame = pool["t"]
    stop = threading.Event()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                assert pool["t"]["x"].to_numpy().sum() == 499_500
                pool.put(f"own {threading.get_ident()}", {"x": [1]}, replace=True)
        except BaseException as error:
            failures.append(error)

    def child() -> None:
        assert frame["x"].to_numpy().sum() == 499_500
        assert pool["t"]["x"].to_numpy().sum() == 499_500
        pool.put(f"child {os.getpid()}", {"x": [1]})

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(30):
            assert ended_well(in_child(child))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert len([name for name in pool if name.startswith("child")]) == 30


def test_an_embedded_pools_child_is_told() -> None:
    pool = cenote.connect(embedded=True, capacity=64 << 20)
    pool.put("t", {"x": [1]})
    frame = pool["t"]
    writer = pool.writer("w", {"x": "int64"})

    def child() -> None:
        for call in (lambda: pool["t"], pool.info, lambda: pool.put("c", {"x": [1]}),
                     lambda: "t" in pool, lambda: list(pool), frame.to_arrow):
            with pytest.raises(cenote.PoolUnavailable):
                call()
        with pytest.raises(cenote.CenoteError):
            writer.write({"x": [1]})

    assert ended_well(in_child(child))
    assert pool["t"]["x"].to_pylist() == [1]
    writer.write({"x": [5]})
    assert writer.commit() == 1
    assert pool.address.exists()


def test_a_writer_is_its_own_process(served: Served) -> None:
    pool = served.connect()
    writer = pool.writer("w", {"x": "int64"})
    writer.write({"x": [1]})

    def child() -> None:
        with pytest.raises(cenote.CenoteError):
            writer.commit()

    assert ended_well(in_child(child))
    assert writer.commit() == 1
    assert pool["w"]["x"].to_pylist() == [1]


def test_a_child_that_is_killed_leaves_nothing(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(100_000)})
    frame = pool["t"]
    pid = in_child(lambda: (pool["t"], time.sleep(30)))
    time.sleep(0.2)
    del frame
    pool.drop("t")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    info = settled(pool)
    assert (info["retired_held"], info["leaked"]) == (0, 0)
