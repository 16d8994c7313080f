"""A served pool of the benchmark's own: `cenote serve` on a run directory in its scratch.

The only place that knows the daemon's command line.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from bench.side import VENV, SideUnavailable, end_by_id

START_LIMIT_S = 30.0
STOP_LIMIT_S = 20.0


def binary() -> Path:
    """The `cenote` command: `$CENOTE_BIN`, else the one the wheel installed."""
    for place in (os.environ.get("CENOTE_BIN"), VENV / "bin" / "cenote"):
        if place and Path(place).exists():
            return Path(place)
    raise SideUnavailable("cenote: no `cenote` command in .bench/venv; run without --no-build")


class ServedPool:
    """One daemon on one run directory. The directory outlives the daemon."""

    def __init__(self, run_dir: Path, capacity: int, log: Path) -> None:
        self.run_dir = run_dir
        self.capacity = capacity
        self._log = log
        self._daemon: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        """What `cenote.connect` takes."""
        return str(self.run_dir)

    def start(self) -> int:
        """Starts the daemon; returns when, in nanoseconds of the monotonic clock.

        Does not wait until it answers: the `wait` of a client does.
        """
        command = [str(binary()), "serve", "--address", str(self.run_dir),
                   "--capacity", str(self.capacity)]
        with self._log.open("a") as log:
            started = time.monotonic_ns()
            self._daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)
        return started

    def kill(self) -> None:
        """SIGKILL, and waits for the kernel to be done with it."""
        self._daemon.send_signal(signal.SIGKILL)
        self._daemon.wait(timeout=STOP_LIMIT_S)

    def close(self) -> None:
        """Ends the daemon by id and removes the run directory."""
        if self._daemon is not None and self._daemon.poll() is None:
            self._daemon.terminate()
            try:
                self._daemon.wait(timeout=STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                end_by_id([self._daemon.pid])
                self._daemon.wait()
        shutil.rmtree(self.run_dir, ignore_errors=True)
