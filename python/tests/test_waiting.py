"""Ctrl-C, threads, and daemons that stop, die and come back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import cenote
from conftest import Served


def _interrupted(script: str, *arguments: str, after_s: float = 1.0) -> float:
    """Runs a script, sends SIGINT once it has said "ready", returns how long it took to end."""
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script), *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    time.sleep(after_s)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert "KeyboardInterrupt" in errors, errors
    return time.monotonic() - start


def test_ctrl_c_ends_a_wait_for_room(served: Served) -> None:
    took = _interrupted("""
        import sys, numpy as np, cenote
        pool = cenote.connect(sys.argv[1])
        pool.put("first", {"x": np.zeros(20 << 20)})
        print("ready", flush=True)
        pool.put("big", {"x": np.zeros(20 << 20)}, timeout=60)
    """, served.address)
    assert took < 3


def test_ctrl_c_ends_a_stream(served: Served) -> None:
    took = _interrupted("""
        import sys, numpy as np, pyarrow as pa, cenote
        pool = cenote.connect(sys.argv[1])
        batch = pa.record_batch({"x": np.arange(10)})
        def endless():
            while True:
                yield batch
        print("ready", flush=True)
        pool.put("endless", pa.RecordBatchReader.from_batches(batch.schema, endless()))
    """, served.address, after_s=0.3)
    assert took < 3
    assert list(served.connect()) == []


def test_ctrl_c_ends_a_wait_for_a_stopped_daemon(served: Served) -> None:
    assert served.daemon is not None
    pool = served.connect()
    pool.put("t", {"x": [1]})
    os.kill(served.daemon.pid, signal.SIGSTOP)
    try:
        # A reader needs no daemon.
        assert pool["t"]["x"].to_pylist() == [1]
    finally:
        os.kill(served.daemon.pid, signal.SIGCONT)
    took = _interrupted("""
        import os, signal, sys, cenote
        pool = cenote.connect(sys.argv[1])
        os.kill(int(sys.argv[2]), signal.SIGSTOP)
        print("ready", flush=True)
        try:
            pool.info()
        finally:
            os.kill(int(sys.argv[2]), signal.SIGCONT)
    """, served.address, str(served.daemon.pid))
    assert took < 3


def test_a_handler_that_returns_does_not_end_the_wait(served: Served) -> None:
    pool = served.connect()
    pool.put("first", {"x": np.zeros(20 << 20)})
    calls: list[int] = []
    old = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    try:
        with pytest.raises(cenote.PoolExhausted):
            pool.put("big", {"x": np.zeros(20 << 20)}, timeout=1.0)
        for i in range(100):
            pool.put("t", {"x": np.arange(10_000)}, replace=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert len(calls) >= 5


def test_other_threads_go_on(served: Served) -> None:
    """A put that waits holds neither Python's lock nor anybody's get."""
    pool = served.connect()
    pool.put("t", {"x": [1]})
    pool.put("first", {"x": np.zeros(20 << 20)})
    waiting = threading.Thread(
        target=lambda: pytest.raises(
            cenote.PoolExhausted, pool.put, "big", {"x": np.zeros(20 << 20)}, timeout=1.5))
    waiting.start()
    gets = 0
    while waiting.is_alive():
        assert pool["t"]["x"].to_pylist() == [1]
        pool.info()
        gets += 1
    waiting.join()
    assert gets > 100


def test_threads_put_get_and_drop(served: Served) -> None:
    pool = served.connect()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(60):
                pool.put(f"{number}", {"x": np.full(1000, i)}, replace=True)
                frame = pool[f"{number}"]
                other = pool.get(f"{number}", rows=(10, 20))
                assert frame["x"].to_numpy().sum() == 1000 * i
                assert other.to_arrow()["x"].to_numpy().sum() == 10 * i
                pool.put("shared", {"x": np.full(1000, i)}, replace=True)
                values = pool["shared"]["x"].to_numpy()
                assert (values == values[0]).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert pool["shared"].version == 360


def test_a_killed_daemon_loses_nothing(served: Served) -> None:
    pool = served.connect()
    pool.put("t", {"x": np.arange(100_000)})
    held = pool["t"]
    pool.drop("t")
    pool.put("kept", {"x": [5]})
    served.kill()
    assert held["x"].to_numpy().sum() == 99_999 * 50_000
    assert pool["kept"]["x"].to_pylist() == [5]
    served.start()
    assert list(pool) == ["kept"]
    assert held["x"].to_numpy().sum() == 99_999 * 50_000
    assert pool.put("new", {"x": [1]}) == 1
    assert cenote.connect(served.address)["kept"]["x"].to_pylist() == [5]
