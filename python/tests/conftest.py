"""Pools to test on, and a look at what is left of them.

Every test that uses `pool` or `served` ends with a check that the pool leaks nothing and that
its daemon, its directory and all processes started here are gone.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import cenote
from cenote._connect import find_command

CAPACITY = 256 << 20
START_LIMIT_S = 30.0


def command() -> str:
    """The `cenote` command: installed, or of a build."""
    builds = Path(__file__).parents[2] / "target"
    found = find_command() or next(
        (str(path) for kind in ("release", "debug") if (path := builds / kind / "cenote").exists()),
        None,
    )
    assert found, "no `cenote` command: `make venv`, or CENOTE_BIN"
    return found


class Served:
    """A daemon on a run directory of its own."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="cenote-test-", dir="/dev/shm"))
        self.address = str(self.root / "pool")
        self.capacity = capacity
        self.daemon: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        arguments = ["serve", "--address", self.address, "--capacity", str(self.capacity)]
        self.daemon = subprocess.Popen([command(), *arguments], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                cenote.connect(self.address).info()
                return
            except cenote.PoolUnavailable:
                assert self.daemon.poll() is None, "the daemon ended"
                assert time.monotonic() < deadline, "the daemon does not answer"
                time.sleep(0.01)

    def connect(self) -> cenote.Pool:
        return cenote.connect(self.address)

    def kill(self) -> None:
        assert self.daemon is not None
        self.daemon.kill()
        self.daemon.wait()

    def close(self) -> None:
        assert self.daemon is not None
        if self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(timeout=20)
        shutil.rmtree(self.root)


def settled(pool: cenote.Pool, within_s: float = 3.0) -> dict[str, object]:
    """The pool's state once nothing is held any more, or after `within_s`."""
    deadline = time.monotonic() + within_s
    while True:
        info = pool.info()
        if (info["leaked"] == 0 and info["retired_held"] == 0) or time.monotonic() > deadline:
            return dict(info)
        time.sleep(0.005)


def contents(pool: cenote.Pool) -> dict[str, object]:
    """What must be the same before and after a call that fails."""
    info = settled(pool, within_s=1.0)
    return {key: info[key] for key in ("frames", "chunks", "sealed", "retired_held", "leaked")}


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    try:
        yield served
        info = settled(served.connect())
        assert info["leaked"] == 0, info
    finally:
        served.close()


@pytest.fixture(params=["embedded", "served"])
def pool(request: pytest.FixtureRequest) -> Iterator[cenote.Pool]:
    """A pool of this process, and a client of a served one."""
    if request.param == "embedded":
        pool = cenote.connect(embedded=True, capacity=CAPACITY)
        yield pool
        assert settled(pool)["leaked"] == 0
    else:
        served = request.getfixturevalue("served")
        yield served.connect()


@pytest.fixture(autouse=True)
def children() -> Iterator[None]:
    """No test leaves a process behind."""
    yield
    own = os.getpid()
    deadline = time.monotonic() + 5
    while left := _children(own):
        assert time.monotonic() < deadline, f"left behind: {left}"
        time.sleep(0.02)


def _children(parent: int) -> list[tuple[int, str]]:
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            command_line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        # multiprocessing's own server processes stay until the interpreter ends.
        if int(stat[1]) == parent and "resource_tracker" not in command_line \
                and "forkserver" not in command_line:
            found.append((int(entry.name), command_line))
    return found
