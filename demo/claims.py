"""What must hold, tried on the pool while it runs: a process dies and nothing is lost."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from demo import memory
from demo.bars import frame_name
from demo.crew import Record
from demo.outcome import Check, Outcome

GONE_LIMIT_S = 1.0
"""The pool must have noticed a death after this long."""
POLL_S = 0.005
DISK_ROUNDING = 2 * memory.MIB
"""A disk file system may allocate a whole large page where the end of an arena is written.
Only shared memory (tmpfs) accounts to the page."""


def settled(pool: Any, writing: bool = False) -> dict[str, Any]:
    """The pool's account of itself once it has taken back what ended processes held: it has
    a second for that, counted from now. `writing`: others still write."""
    deadline = time.monotonic() + GONE_LIMIT_S
    while True:
        info = dict(pool.info())
        is_final = info["leaked"] == 0 and (writing or info["open"] == 0)
        if is_final or time.monotonic() > deadline:
            return info
        time.sleep(POLL_S)


def leaked(info: dict[str, Any]) -> tuple[bool, str]:
    """Whether nothing is leaked by this account, and the figure in words."""
    n_bytes = int(info["leaked"])
    words = f"{n_bytes:,} bytes leaked"
    if n_bytes == 0 or is_tmpfs(info["path"]):
        return n_bytes == 0, words
    return (n_bytes <= info["arenas"] * DISK_ROUNDING,
            f"{words}: the pool is not in shared memory, and its disk rounds up")


def is_tmpfs(path: str) -> bool:
    """Whether a folder is in shared memory: the longest mount point above it decides."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    kinds = {words[1]: words[2] for words in mounts}
    above = [folder for folder in [path, *map(str, Path(path).parents)] if folder in kinds]
    return bool(above) and kinds[above[0]] == "tmpfs"


@dataclass
class Witness:
    """Looks at the pool just before and just after a process is killed."""

    pool: Any
    checks: list[Check] = field(default_factory=list)

    def look(self, victim: Record) -> None:
        """Before the kill (`killed_at` is None) and after it."""
        name = frame_name(victim.task.factor)
        if victim.killed_at is None:
            written = sum(client["open"] for client in self._clients(victim))
            self.checks.append(Check(
                f"half a result is no result: {name} is not to be seen",
                name not in self.pool and written > 0,
                f"{written / memory.MIB:.1f} MiB of it are written"))
            return
        gone_s = self._until_gone(victim)
        clean, words = leaked(settled(self.pool, writing=True))
        self.checks.append(Check(
            f"process {victim.pid} was killed there (SIGKILL), and the pool let go of all that "
            "it held", gone_s is not None,
            f"{1000 * (gone_s or GONE_LIMIT_S):.1f} ms after its end"))
        self.checks.append(Check("its half left no trace: no frame, nothing leaked",
                                 name not in self.pool and clean, words))

    def _clients(self, record: Record) -> list[dict[str, Any]]:
        """What the pool knows of a process: none once it is gone."""
        return [client for client in self.pool.leases() if client["pid"] == record.pid]

    def _until_gone(self, victim: Record) -> float | None:
        """Seconds after its end until the pool has forgotten it; None: too long."""
        assert victim.killed_at is not None
        while time.monotonic() < victim.killed_at + GONE_LIMIT_S:
            if not self._clients(victim):
                return time.monotonic() - victim.killed_at
            time.sleep(POLL_S)
        return None


def of_pool(pool: Any, info: dict[str, Any], outcome: Outcome) -> list[Check]:
    """All results are there, and nothing else is."""
    stored = {record.task.factor: record for record in outcome.pooled if record.done}
    rows = {name: pool.get(frame_name(name)).num_rows for name in stored
            if frame_name(name) in pool}
    expected = {name: record.steps["stored"].facts["rows"] for name, record in stored.items()}
    clean, words = leaked(info)
    again = next((record for record in outcome.pooled if record.replaces), None)
    checks = [
        Check("every result is in the pool, whole", rows == expected and len(rows) > 0,
              f"{len(rows)} frames, {sum(rows.values()):,} rows"),
        Check("nothing leaked, nothing left half written", clean and info["open"] == 0,
              f"{words}; {info['open']} open"),
    ]
    if again is not None:
        checks.insert(0, Check("another process did the lost work again", again.done,
                               f"process {again.pid}"))
    return checks


def against_own(pool: Any, outcome: Outcome) -> list[Check]:
    """The job without the pool read as many rows and computed the same."""
    assert outcome.own is not None
    rows = {record.steps["holding"].facts["rows"] for record in outcome.own}
    same = sum(_same(pool.get(frame_name(record.task.factor)).to_polars(),
                     record.task.own_result) for record in outcome.own)
    return [
        Check("no row was lost on the way in: PyArrow's own readers count the same",
              rows == {outcome.put.n_rows}, f"{outcome.put.n_rows:,} rows"),
        Check("with and without the pool, the factors are equal bit for bit",
              same == len(outcome.own), f"{same} of {len(outcome.own)}"),
    ]


def _same(pooled: pl.DataFrame, own_result: Path) -> bool:
    """Equal values for equal keys, in whatever order the rows are."""
    own = pl.DataFrame(pa.ipc.open_file(str(own_result)).read_all())
    if pooled.equals(own):
        return True
    keys = ["ticker", "date"]
    return pooled.sort(keys).equals(own.sort(keys))
