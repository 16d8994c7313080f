"""A demo that cannot fail proves nothing: each claim beside a pool for which it is false."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from demo import claims
from demo.bars import Task, frame_name
from demo.claims import Witness
from demo.crew import Crew, CrewFault, Record
from demo.factors import Windows

TASK = Task("reversal", Windows(), {"date": "date", "ticker": "Name", "close": "close"}, True)
SCHEMA = pa.schema([("date", pa.date32()), ("Name", pa.string()), ("close", pa.float64())])


@dataclass
class MadeUpPool:
    """Says what it is told to say."""

    frames: set[str] = field(default_factory=set)
    clients: list[dict[str, Any]] = field(default_factory=list)
    leaked: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self.frames

    def info(self) -> dict[str, Any]:
        return {"leaked": self.leaked, "open": 0, "path": "/dev/shm/x", "arenas": 1}

    def leases(self) -> list[dict[str, Any]]:
        return self.clients


def verdicts(pool: MadeUpPool, killed: bool) -> list[bool]:
    record = Record(TASK, pid=4_000_000, started_at=0.0)
    if killed:
        record.killed_at = time.monotonic()
    witness = Witness(pool)
    witness.look(record)
    return [check.held for check in witness.checks]


def test_half_a_result_must_be_written_and_not_be_seen() -> None:
    client = {"pid": 4_000_000, "open": 5}
    assert verdicts(MadeUpPool(clients=[client]), killed=False) == [True]
    assert verdicts(MadeUpPool(), killed=False) == [False]
    seen = MadeUpPool(frames={frame_name("reversal")}, clients=[client])
    assert verdicts(seen, killed=False) == [False]


def test_after_a_kill_nothing_may_be_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "GONE_LIMIT_S", 0.05)
    assert verdicts(MadeUpPool(), killed=True) == [True, True]
    still_there = MadeUpPool(clients=[{"pid": 4_000_000, "open": 5}])
    assert verdicts(still_there, killed=True) == [False, True]
    assert verdicts(MadeUpPool(leaked=4096), killed=True) == [True, False]
    half = MadeUpPool(frames={frame_name("reversal")})
    assert verdicts(half, killed=True) == [True, False]


def test_only_a_disk_may_round_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claims.is_tmpfs("/dev/shm/some/pool") and not claims.is_tmpfs("/proc/self")
    info = {"leaked": claims.DISK_ROUNDING, "path": "/dev/shm/x", "arenas": 1}
    assert not claims.leaked(info)[0]
    monkeypatch.setattr(claims, "is_tmpfs", lambda path: False)
    assert claims.leaked(info)[0]
    assert not claims.leaked({**info, "leaked": claims.DISK_ROUNDING + 1})[0]


def test_a_process_that_fails_fails_the_job_and_leaves_no_other(tmp_path: Path) -> None:
    good = tmp_path / "good.csv"
    good.write_text("date,Name,close\n2020-01-01,A,1\n")
    tasks = [replace(TASK, own_path=path, own_schema=SCHEMA, own_result=tmp_path / "result")
             for path in (good, tmp_path / "absent.csv")]
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    before = set(children.read_text().split())
    with pytest.raises(CrewFault, match="reversal failed: FileNotFoundError"):
        Crew().work(tasks)
    # Python's resource tracker may have been started; it is nobody's work.
    assert len(set(children.read_text().split()) - before) <= 1
