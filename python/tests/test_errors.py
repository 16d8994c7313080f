"""Errors say what is meant, and what to do, in Python's own words."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cenote
from conftest import Served, settled


def said(error: type[BaseException], call: Any, *arguments: Any, **named: Any) -> str:
    with pytest.raises(error) as caught:
        call(*arguments, **named)
    return str(caught.value)


def test_the_nearest_names(pool: cenote.Pool) -> None:
    pool.put("prices", {"date": [1], "close": [2.0]})
    for call in (pool.get, pool.drop, pool.__getitem__):
        assert 'did you mean "prices"?' in said(cenote.FrameNotFound, call, "prcies")
    assert 'did you mean "prices"?' in said(cenote.FrameNotFound, pool.rename, "pricse", "q")
    assert "list(pool)" in said(cenote.FrameNotFound, pool.get, "weights")
    text = said(cenote.ColumnNotFound, pool.get, "prices", columns=["clos"])
    assert 'its columns are "date", "close"; did you mean "close"?' in text
    assert 'did you mean "date"?' in said(KeyError, pool["prices"].column, "Date")


def test_how_to_go_on_is_said_in_python(pool: cenote.Pool) -> None:
    pool.put("a", {"x": [1]})
    pool.put("b", {"x": [1]})
    text = said(cenote.FrameExists, pool.put, "a", {"x": [1]})
    assert "replace=True" in text and "--" not in text
    text = said(cenote.FrameExists, pool.rename, "a", "b")
    assert '"b" exists' in text and "replace" not in text
    text = said(cenote.ArgumentError, pool.get, "a", rows=(5, 9))
    assert 'there are no rows 5..9 in frame "a": it has 1' in text


def test_room_for_more_rows_than_there_can_be(pool: cenote.Pool) -> None:
    for rows in (2**58, 2**62, 2**63 - 1):
        with pytest.raises(cenote.PoolExhausted) as caught:
            pool.writer("t", {"x": "float64"}).allocate(rows)
        assert caught.value.asked >= min(8 * rows, 2**62)
    for rows in (-1, 2**63, 2**80):
        text = said(cenote.ArgumentError, pool.writer("t", {"x": "float64"}).allocate, rows)
        assert str(rows) in text
    for rows in ("5", 1.5, None):
        said(TypeError, pool.writer("t", {"x": "float64"}).allocate, rows)
    assert settled(pool)["frames"] == 0


@pytest.mark.parametrize(
    ("capacity", "size"),
    [("64MiB", 64 << 20), ("0.0625 gb", 64 << 20), (64 << 20, 64 << 20), (np.int64(64 << 20), 64 << 20)],
)
def test_capacity_as_people_write_it(capacity: Any, size: int) -> None:
    assert cenote.connect(embedded=True, capacity=capacity).info()["capacity"] == size


@pytest.mark.parametrize("capacity", ["many", "", "1 parsec", "0", 0, -1, True, 1.5, 2**64, b"1GiB"])
def test_no_capacity(capacity: Any) -> None:
    said(cenote.ArgumentError, cenote.connect, embedded=True, capacity=capacity)


def test_an_address_that_nobody_serves(tmp_path: Path) -> None:
    began = time.monotonic()
    text = said(cenote.PoolUnavailable, cenote.connect, tmp_path / "pool")
    assert str(tmp_path / "pool") in text
    assert f"`cenote serve --address {tmp_path}/pool`" in text
    assert time.monotonic() - began < 1


def test_a_directory_that_is_open_to_others(served: Served) -> None:
    os.chmod(served.address, 0o755)
    try:
        text = said(cenote.PoolUnavailable, served.connect)
    finally:
        os.chmod(served.address, 0o700)
    assert "mode 0755" in text and f"`chmod 700 {served.address}`" in text


def test_too_few_addresses(served: Served) -> None:
    """What the shell's `ulimit -v` has left is named, as the shell counts it."""
    pool = served.connect()
    pool.put("t", {"x": np.zeros(200_000)})
    code = f"""
import resource, cenote
pool = cenote.connect({served.address!r})
frame = pool["t"]
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, ((used >> 20) + 8 << 20, resource.RLIM_INFINITY))
try:
    frame.__arrow_c_stream__()
except cenote.CenoteError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "ulimit -v" in done.stdout and "unlimited" in done.stdout, done


def test_connect_waits_while_the_daemon_is_started_again(served: Served) -> None:
    """A new connection came in the moment between two daemons, and was refused."""
    served.connect().put("t", {"x": [1]})
    served.kill()
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(served.connect()["t"].num_rows))
    reader.start()
    time.sleep(0.3)
    assert reader.is_alive(), "it waits"
    served.start()
    reader.join(20)
    assert found == [1]
