"""A case's view of one side: start it, ask it, end it.

Every wait has a deadline, and a side ends by process id, whatever it does.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from bench import machine

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".bench" / "venv"
VINEYARD_VENV = ROOT / ".bench" / "vineyard"
KUNQUANT_VENV = ROOT / ".bench" / "kunquant"
VENV_OF = {"vineyard": VINEYARD_VENV, "kunquant": KUNQUANT_VENV, "bottleneck": KUNQUANT_VENV}
CALL_LIMIT_S = 120.0
CLOSE_LIMIT_S = 20.0


class SideUnavailable(Exception):
    """A side cannot take part; the text says why and what to do."""


class SideFailed(Exception):
    """A side took part and failed: which call, and what it printed last."""


def end_by_id(pids: list[int], grace_s: float = 3.0) -> None:
    """Ends processes: SIGTERM, `grace_s` to leave, then SIGKILL."""
    for number, limit_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 2.0)):
        for pid in pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        deadline = time.monotonic() + limit_s
        while pids and time.monotonic() < deadline:
            pids = [pid for pid in pids if _runs(pid)]
            time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat[stat.rfind(")") + 2] != "Z"


class Side:
    """One running side. `call` asks for an operation of its peer class.

    Raises `SideUnavailable` from `open` where the store cannot be imported or started.
    """

    def __init__(self, kind: str, scratch: Path, env: dict[str, str] | None = None) -> None:
        self.kind = kind
        self.version = "?"
        self.options: dict[str, Any] = {}
        python = VENV_OF.get(kind, VENV) / "bin" / "python"
        if not python.exists():
            raise SideUnavailable(f"{kind}: no virtual environment at {python.parent.parent}")
        self._log = scratch / f"{kind.replace(' ', '-')}-{time.monotonic_ns()}.log"
        with self._log.open("w") as log:
            self._child = subprocess.Popen(
                [python, "-m", "bench.child", kind], cwd=ROOT, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, start_new_session=True,
                env={**os.environ, **(env or {})})
        self._pending = b""

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid

    def open(self, **options: Any) -> Side:
        """Opens the store; returns itself. `options` are kept for a side that joins it."""
        self.options = options
        try:
            self.version = self.call("open", **options)
        except SideFailed as error:
            self.close()
            raise SideUnavailable(str(error)) from None
        return self

    def call(self, op: str, /, *, limit_s: float = CALL_LIMIT_S, **args: Any) -> Any:
        """Runs one operation in the child and returns its answer.

        Raises `SideFailed` where it fails, dies, or takes longer than `limit_s`.
        """
        self.send(op, **args)
        return self.answer(op, limit_s=limit_s)

    def send(self, op: str, **args: Any) -> None:
        """Starts an operation without waiting; pair it with `answer`."""
        try:
            self._child.stdin.write(json.dumps({"op": op, "args": args}).encode() + b"\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            raise SideFailed(self._story(op, "ended early")) from None

    def answer(self, op: str, *, limit_s: float = CALL_LIMIT_S) -> Any:
        """The answer to the operation sent last."""
        deadline = time.monotonic() + limit_s
        out = self._child.stdout.fileno()
        while b"\n" not in self._pending:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([out], [], [], left_s)[0]:
                raise SideFailed(self._story(op, f"took longer than {limit_s:g} s"))
            part = os.read(out, 1 << 20)
            if not part:
                raise SideFailed(self._story(op, "ended early"))
            self._pending += part
        line, _, self._pending = self._pending.partition(b"\n")
        answer = json.loads(line)
        if "ok" in answer:
            return answer["ok"]
        if answer["missing"]:
            raise SideUnavailable(f"{self.kind}: {answer['error']}")
        raise SideFailed(self._story(op, answer["error"]))

    def _story(self, op: str, what: str) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()[-3:]
        return f"{self.kind}: {op}: {what}" + "".join(f" | {line}" for line in lines)

    def kill(self) -> None:
        """SIGKILL, as the machine's memory killer would."""
        self._child.kill()
        self._child.wait(timeout=CLOSE_LIMIT_S)

    def close(self) -> None:
        """Asks the child to end its store, then ends whatever is left of it, by id."""
        if self._child.poll() is None:
            below = machine.descendants(self.pid)
            try:
                self.call("close", limit_s=CLOSE_LIMIT_S)
                self._child.wait(timeout=CLOSE_LIMIT_S)
            except (SideFailed, SideUnavailable, subprocess.TimeoutExpired):
                end_by_id([self.pid])
                self._child.wait()
            end_by_id([pid for pid in below if _runs(pid)])
        for pipe in (self._child.stdin, self._child.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                continue
