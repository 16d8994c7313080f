"""What a case is, and what it is given to work with.

A case is a file `bench/cases/NAME.py` with a docstring (its first line is the title),
`GOAL` (what is to be reached, in words), `LIMIT_S` (it is ended after that) and
`run(bench)`, which calls `bench.row` for each figure:

    def run(bench: Bench) -> None:
        pool = bench.served_pool(capacity=1 << 30)
        ours = bench.client(pool)
        theirs = bench.peer("ray", metrics=["get"])     # None, and a row that says why
        ...
        bench.row("get", samples["ours"], "ray", samples["ray"], unit="µs")

`python -m bench.case NAME` runs one; `bench/run` does that with the right Python.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bench import machine, measure
from bench.child import end_with_parent
from bench.measure import Samples
from bench.pool import START_LIMIT_S, ServedPool
from bench.side import Side, SideFailed, SideUnavailable

NS_PER = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
BUSY_SHARE_QUIET = 0.1
SHM_VARIABLE = "CENOTE_BENCH_SHM"
TMP_VARIABLE = "CENOTE_BENCH_TMP"


class Bench:
    """One run of one case: its scratch folders, its sides, its rows.

    Sides and pools end when their scope does, or with the case, newest first.
    """

    def __init__(self, name: str, goal: str, shm: Path, tmp: Path) -> None:
        self.name, self.goal, self.shm, self.tmp = name, goal, shm, tmp
        self._machine = machine.facts()
        self._busy = machine.busy_share()
        self._versions: dict[str, str] = {}
        self._scopes = [ExitStack()]
        self._made = 0
        self.rows = 0
        if self._busy > BUSY_SHARE_QUIET:
            self.say(f"other work takes {self._busy:.0%} of the cores: figures will be poor")

    def say(self, text: str) -> None:
        """Progress, on standard error."""
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Ends the sides and pools that its body opened."""
        with ExitStack() as stack:
            self._scopes.append(stack)
            try:
                yield
            finally:
                self._scopes.pop()

    def close(self) -> None:
        """Ends all that is left."""
        while self._scopes:
            self._scopes.pop().close()

    def _fresh(self, parent: Path, stem: str) -> Path:
        self._made += 1
        return parent / f"{stem}{self._made}"

    # -- sides

    def side(self, kind: str, **options: Any) -> Side:
        """A running side with its store open. Raises `SideUnavailable`."""
        if kind == "ray":
            options.setdefault("temp_dir", str(self._fresh(self.tmp, "r")))
        if kind == "vineyard":
            options.setdefault("socket", str(self._fresh(self.tmp, "v")))
        if kind in ("ipc file", "memcpy"):
            options.setdefault("folder", str(self._fresh(self.shm, "f")))
        side = Side(kind, self.tmp)
        self._scopes[-1].callback(side.close)
        side.open(**options)
        self._versions["ours" if kind.startswith("cenote") else kind] = side.version
        return side

    def peer(self, kind: str, metrics: list[str], **options: Any) -> Side | None:
        """`side`, or None and a row per metric that says why there is none."""
        try:
            return self.side(kind, **options)
        except SideUnavailable as why:
            for metric in metrics:
                self.skip(str(why), metric, kind)
            return None

    def served_pool(self, capacity: int) -> ServedPool:
        """A daemon on a fresh run directory on tmpfs, answering."""
        pool = ServedPool(self._fresh(self.shm, "pool"), capacity, self.tmp / "daemon.log")
        self._scopes[-1].callback(pool.close)
        pool.start()
        with self.scope():
            prober = self.side("cenote")
            try:
                prober.call("wait", address=pool.address, within_s=START_LIMIT_S)
            except SideFailed as error:
                log = (self.tmp / "daemon.log").read_text(errors="replace").strip()
                last = " | ".join(log.splitlines()[-3:])
                raise SideFailed(f"{error}; the daemon said: {last or 'nothing'}") from None
        return pool

    def client(self, pool: ServedPool, **options: Any) -> Side:
        """A client process of `pool`."""
        return self.side("cenote", address=pool.address, **options)

    # -- rows

    def row(self, metric: str, ours: Samples | float, peer: str | None = None,
            theirs: Samples | float | None = None, *, unit: str, better: str = "lower",
            state: str = "warm", n_bytes: int = 0, **setup: Any) -> None:
        """Prints one figure. Samples become medians in `unit`; `n_bytes` makes them rates."""
        facts: dict[str, Any] = {"state": state, "better": better, "goal": self.goal,
                                 "kind": "measured"}
        values: list[float | None] = []
        for who, figure in (("ours", ours), ("theirs", theirs)):
            if isinstance(figure, Samples):
                facts[f"n_{who}"] = len(figure)
                name, tail = figure.tail()
                facts[f"{name}_{who}"] = measure.rounded(_in_unit(tail, unit, n_bytes))
                values.append(_in_unit(figure.median_ns(), unit, n_bytes))
            else:
                values.append(figure)
        mine, other = values
        ratio = mine / other if mine is not None and other else None
        self._print(metric, mine, peer, other, ratio, unit, {**facts, **setup})

    def skip(self, why: str, metric: str = "all", peer: str | None = None) -> None:
        """Prints a row without figures that says why there are none."""
        self._print(metric, None, peer, None, None, None, {"skipped": why})

    def _print(self, metric: str, ours: float | None, peer: str | None,
               theirs: float | None, ratio: float | None, unit: str | None,
               setup: dict[str, Any]) -> None:
        versions = {who: version for who, version in self._versions.items()
                    if who in ("ours", peer)}
        print(json.dumps({
            "case": self.name, "metric": metric, "ours": measure.rounded(ours), "peer": peer,
            "theirs": measure.rounded(theirs), "ratio": measure.rounded(ratio, 3), "unit": unit,
            "setup": {**setup, "versions": versions, "machine": self._machine,
                      "busy_before": self._busy},
        }, ensure_ascii=False), flush=True)
        self.rows += 1


def _in_unit(ns: float, unit: str, n_bytes: int) -> float:
    return n_bytes / ns if n_bytes else ns / NS_PER[unit]


def _stop(_number: int, _frame: object) -> None:
    # Once: what follows ends daemons, and has a limit of its own.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def main(name: str) -> int:
    """Runs one case: 0 done or skipped, 1 failed, 130 interrupted."""
    end_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    case = importlib.import_module(f"bench.cases.{name}")
    shm, tmp = Path(os.environ[SHM_VARIABLE]), Path(os.environ[TMP_VARIABLE])
    bench = Bench(name, case.GOAL, shm, tmp)
    try:
        case.run(bench)
        assert bench.rows, "a case without a row did not look"
    except SideUnavailable as why:
        bench.skip(str(why))
    except SideFailed as error:
        bench.say(f"failed: {error}")
        return 1
    except KeyboardInterrupt:
        bench.say("interrupted")
        return 130
    finally:
        bench.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
