"""The processes, seen from the one that started them: start, follow, kill, replace.

Every wait has a deadline, and whatever happens, no process is left when `work` returns.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from demo import worker
from demo.bars import Task
from demo.worker import Step

LIMIT_S = 240.0
"""All processes together."""


class CrewFault(Exception):
    """A process failed, or all of them took too long."""


@dataclass
class Record:
    """One process: what it was asked, who it was, and the steps that it reached."""

    task: Task
    pid: int
    started_at: float
    steps: dict[str, Step] = field(default_factory=dict)
    killed_at: float | None = None
    replaces: int | None = None
    """The process whose work this one does again."""

    @property
    def done(self) -> bool:
        """Its result is stored."""
        return "stored" in self.steps

    def own(self, step: str) -> int:
        """Own memory at a step, in bytes."""
        measured = self.steps[step].memory
        assert measured is not None, f"{step} is measured"
        return measured.own

    def page_tables(self, step: str) -> int:
        """Page tables at a step, in bytes."""
        measured = self.steps[step].memory
        assert measured is not None, f"{step} is measured"
        return measured.page_tables


@dataclass
class _Member:
    process: BaseProcess
    pipe: Connection
    record: Record


class Crew:
    """Runs tasks, each in a process of its own, all at once."""

    def __init__(self, on_halfway: Callable[[Record], None] | None = None) -> None:
        """`on_halfway`: called when a process that is to die has half of its result written,
        before (`killed_at` is None) and after it is killed."""
        self._context = multiprocessing.get_context("spawn")
        self._members: list[_Member] = []
        self._on_halfway = on_halfway
        self._begun = False

    def work(self, tasks: list[Task]) -> list[Record]:
        """Runs all tasks to their end; records in the order in which processes started.

        Processes import first and begin together. Raises: CrewFault.
        """
        deadline = time.monotonic() + LIMIT_S
        try:
            for task in tasks:
                self._start(task)
            while not all(self._ended(member) for member in self._members):
                self._follow(deadline)
            return [member.record for member in self._members]
        finally:
            for member in self._members:
                member.process.kill()
                member.process.join()
                member.pipe.close()

    def _start(self, task: Task, replaces: int | None = None) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=worker.main, args=(task, theirs), daemon=True)
        started_at = time.monotonic()
        process.start()
        theirs.close()
        assert process.pid is not None
        record = Record(task, process.pid, started_at, replaces=replaces)
        self._members.append(_Member(process, ours, record))

    def _ended(self, member: _Member) -> bool:
        return member.record.done or member.record.killed_at is not None

    def _follow(self, deadline: float) -> None:
        """Waits for news of any process and acts on it."""
        open_members = {member.pipe: member for member in self._members if not self._ended(member)}
        ready = wait(list(open_members), timeout=max(0.0, deadline - time.monotonic()))
        if not ready:
            raise CrewFault(f"the processes took longer than {LIMIT_S:.0f} s")
        for pipe in ready:
            assert isinstance(pipe, Connection)
            self._hear(open_members[pipe])

    def _hear(self, member: _Member) -> None:
        record = member.record
        try:
            step: Step = member.pipe.recv()
        except (EOFError, ConnectionResetError):
            member.process.join()
            raise CrewFault(f"the process for {record.task.factor} ended by itself, with status "
                            f"{member.process.exitcode}") from None
        record.steps[step.name] = step
        if step.name == "failed":
            raise CrewFault(f"the process for {record.task.factor} failed: {step.facts['error']}")
        if step.name == "ready":
            self._begin_together(member)
        if step.name == "halfway":
            self._kill_and_replace(member)

    def _begin_together(self, member: _Member) -> None:
        """Lets everybody begin once all are ready; who comes later begins at once."""
        if self._begun:
            member.pipe.send("begin")
        elif all("ready" in other.record.steps for other in self._members):
            self._begun = True
            for other in self._members:
                other.pipe.send("begin")

    def _kill_and_replace(self, member: _Member) -> None:
        record = member.record
        if self._on_halfway:
            self._on_halfway(record)
        os.kill(record.pid, signal.SIGKILL)
        member.process.join()
        record.killed_at = time.monotonic()
        if self._on_halfway:
            self._on_halfway(record)
        self._start(replace(record.task, dies_halfway=False), replaces=record.pid)
