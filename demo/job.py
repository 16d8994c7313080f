"""The job itself, in order: serve, put, compute in eight processes, compare, judge."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from demo import audit, factors, ic, load, memory, served, worker
from demo.crew import Crew, Record
from demo.factors import FACTORS, Factor, Windows
from demo.ic import Axes, Matrix
from demo.load import Data
from demo.outcome import Check, Outcome, Put, Verdict
from demo.served import ServedPool
from demo.worker import PRICES, Task, frame_name

HORIZONS_DAYS = (5, 21)
VICTIM = "low_volatility"
"""The factor whose first process is killed."""
GONE_LIMIT_S = 1.0
"""The pool must have noticed a death after this long."""
POLL_S = 0.005

Say = Callable[[str], None]


class JobFault(Exception):
    """A step failed; the message says which and why."""


def run(data: Data, say: Say, compare: bool = True) -> Outcome:
    """The whole job on a pool of its own, which is gone when this returns or raises.

    `compare`: also without the pool. `say` is told each step as it begins.
    Raises: DataError, PoolFault, CrewFault, JobFault.
    """
    began = time.monotonic()
    with ServedPool(data.path) as pool_served, \
            tempfile.TemporaryDirectory(prefix="cenote-demo-own-") as scratch:
        pool = pool_served.connect()
        put = _put(data, pool_served, pool, say)
        frame = pool.get(PRICES)
        columns = load.meanings(pa.schema(frame.schema).names)
        prices = _in_place(pool, columns)
        found = audit.examine(prices)
        windows = Windows.for_history(found.n_dates)
        chosen = [factor for factor in FACTORS if set(factor.needs) <= set(columns)]
        tasks = [Task(factor.name, windows, columns, found.in_order) for factor in chosen]

        say(f"{len(tasks)} processes compute a factor each, in place; one of them is killed on the way")
        witness = _Witness(pool)
        pooled = Crew(witness.look).work([_pooled(task, pool_served.address) for task in tasks])
        info = settled(pool)
        _list(pool_served, say)
        outcome = Outcome(
            data=data, audit=found, windows=windows, columns=columns,
            put=_counted(put, frame.num_rows), pooled=pooled, own=None,
            skipped=[factor for factor in FACTORS if factor not in chosen],
            pool_peak_bytes=memory.occupied_bytes(pool_served.run_dir),
            daemon_own_bytes=memory.measure(pool_served.pid).own,
            compute_s=_span(pooled), machine=memory.machine(), versions=_versions())
        outcome.checks += witness.checks + _checks_of_pool(pool, info, outcome)
        if compare:
            say(f"the same without the pool: {len(tasks)} processes, each with a copy of its own")
            schema = pa.schema(frame.schema)
            outcome.own = Crew().work([_own(task, data.path, schema, scratch) for task in tasks])
            outcome.checks += _checks_against_own(pool, outcome)

        say("information coefficients, read from the pool in place")
        axes, close = _close_matrix(prices, found.in_order)
        outcome.dates = axes.dates
        outcome.verdicts = [_judge(factor, _factor_matrix(pool, factor, axes), close)
                            for factor in chosen]
        del pool, frame, prices
    outcome.checks.append(Check("the demo's pool is gone: daemon ended, directory removed",
                                not pool_served.run_dir.exists()))
    outcome.wall_s = time.monotonic() - began
    return outcome


def settled(pool: Any, writing: bool = False) -> dict[str, Any]:
    """The pool's account of itself once it has taken back what ended processes held: it has
    a second for that, counted from now. `writing`: others still write."""
    deadline = time.monotonic() + GONE_LIMIT_S
    while True:
        info = dict(pool.info())
        if info["leaked"] == 0 and (writing or info["open"] == 0) or time.monotonic() > deadline:
            return info
        time.sleep(POLL_S)


# -- the load


def _put(data: Data, served_pool: ServedPool, pool: Any, say: Say) -> Put:
    """Runs `cenote put`, its progress on the terminal. Raises: JobFault."""
    shown = ["cenote", "put", str(data.path), "--name", PRICES]
    say(f"one command loads the data\n  $ {shlex.join(shown)}")
    before, started = os.times(), time.monotonic()
    done = subprocess.run([served.command(), *shown[1:], "--address", served_pool.address],
                          stdin=subprocess.DEVNULL)
    wall_s, after = time.monotonic() - started, os.times()
    if done.returncode:
        raise JobFault(f"`{shlex.join(shown)}` ended with status {done.returncode}")
    cpu_s = (after.children_user - before.children_user
             + after.children_system - before.children_system)
    settled(pool)
    return Put(shlex.join(shown), wall_s, cpu_s, 0, _size(data.path),
               memory.occupied_bytes(served_pool.run_dir))


def _list(served_pool: ServedPool, say: Say) -> None:
    """Shows what is in the pool, as a user would look."""
    say("what is in the pool now\n  $ cenote ls")
    subprocess.run([served.command(), "ls", "--address", served_pool.address],
                   stdin=subprocess.DEVNULL, check=False)


def _counted(put: Put, n_rows: int) -> Put:
    return Put(put.command, put.wall_s, put.cpu_s, n_rows, put.source_bytes, put.pool_bytes)


def _size(path: Path) -> int:
    files = [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def _in_place(pool: Any, columns: dict[str, str]) -> pl.DataFrame:
    """The bars under the names that the demo uses; dates as dates."""
    frame: pl.DataFrame = pool.get(PRICES, columns=list(columns.values())).to_polars()
    frame = frame.rename({name: meaning for meaning, name in columns.items()})
    if not frame.schema["date"].is_temporal():
        raise load.DataError(f"the column {columns['date']} holds {frame.schema['date']}, not "
                             "dates: write them as 2018-02-07")
    return frame.with_columns(pl.col("date").cast(pl.Date), pl.col("ticker").cast(pl.String))


# -- the processes


def _pooled(task: Task, address: str) -> Task:
    return replace(task, address=address, dies_halfway=task.factor == VICTIM)


def _own(task: Task, path: Path, schema: pa.Schema, scratch: str) -> Task:
    names = [task.columns[meaning]
             for meaning in ("date", "ticker", *factors.named(task.factor).needs)]
    return replace(task, own_path=path, own_schema=pa.schema([schema.field(name) for name in names]),
                 own_result=Path(scratch) / f"{task.factor}.arrow")


def _span(records: list[Record]) -> float:
    """Seconds from the first process that began to the last stored result."""
    began = min(record.steps["began"].at for record in records)
    return max(record.steps["stored"].at for record in records if record.done) - began


@dataclass
class _Witness:
    """Looks at the pool just before and just after a process is killed."""

    pool: Any
    checks: list[Check] = field(default_factory=list)

    def look(self, victim: Record) -> None:
        name = frame_name(victim.task.factor)
        if victim.killed_at is None:
            written = sum(client["open"] for client in self._clients(victim))
            self.checks.append(Check(
                f"half a result is no result: {name} is not to be seen",
                name not in self.pool and written > 0,
                f"{written / memory.MIB:.1f} MiB of it are written"))
            return
        gone_s = self._until_gone(victim)
        leaked = settled(self.pool, writing=True)["leaked"]
        self.checks.append(Check(
            f"process {victim.pid} was killed there (SIGKILL), and the pool let go of all that "
            "it held", gone_s is not None, f"{1000 * (gone_s or GONE_LIMIT_S):.1f} ms after its end"))
        self.checks.append(Check("its half left no trace: no frame, nothing leaked",
                                 name not in self.pool and leaked == 0, f"{leaked} bytes leaked"))

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


# -- what must hold


def _checks_of_pool(pool: Any, info: dict[str, Any], outcome: Outcome) -> list[Check]:
    stored = {record.task.factor: record for record in outcome.pooled if record.done}
    rows = {name: pool.get(frame_name(name)).num_rows for name in stored
            if frame_name(name) in pool}
    expected = {name: record.steps["stored"].facts["rows"] for name, record in stored.items()}
    again = next((record for record in outcome.pooled if record.replaces), None)
    checks = [
        Check("every result is in the pool, whole", rows == expected and len(rows) > 0,
              f"{len(rows)} frames, {sum(rows.values()):,} rows"),
        Check("nothing leaked, nothing left half written",
              info["leaked"] == 0 and info["open"] == 0,
              f"{info['leaked']} bytes leaked, {info['open']} open"),
    ]
    if again is not None:
        checks.insert(0, Check("another process did the lost work again", again.done,
                               f"process {again.pid}"))
    return checks


def _checks_against_own(pool: Any, outcome: Outcome) -> list[Check]:
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


# -- what the factors are worth


def _close_matrix(prices: pl.DataFrame, in_order: bool) -> tuple[Axes, Matrix]:
    """The axes of all matrices, and the closes: shape (n_dates, n_tickers)."""
    bars = prices.select("date", "ticker", pl.col("close").cast(pl.Float64)).drop_nulls(
        ["date", "ticker"])
    axes = Axes(bars["date"].unique().sort().to_numpy(),
                bars["ticker"].unique().sort().to_list())
    close = _matrix(bars.rename({"close": "value"}), axes)
    close[~(np.isfinite(close) & (close > 0))] = np.nan
    return axes, close


def _factor_matrix(pool: Any, factor: Factor, axes: Axes) -> Matrix:
    frame: pl.DataFrame = pool.get(frame_name(factor.name)).to_polars()
    return _matrix(frame.with_columns(pl.col("date").cast(pl.Date)), axes)


def _matrix(long: pl.DataFrame, axes: Axes) -> Matrix:
    column_of = pl.Enum(axes.tickers)
    tickers = long["ticker"].cast(pl.String).cast(column_of).to_physical().to_numpy()
    values = long["value"].to_numpy()
    return ic.wide(axes, long["date"].to_numpy(), tickers.astype(np.int64), values)


def _judge(factor: Factor, values: Matrix, close: Matrix) -> Verdict:
    summaries = {}
    quantiles = np.full(ic.QUANTILES, np.nan)
    for horizon_days in HORIZONS_DAYS:
        forward = ic.forward_returns(close, horizon_days)
        summaries[horizon_days] = ic.summarise(ic.rank_ic(values, forward), horizon_days)
        quantiles = ic.quantile_returns(values, forward)
    return Verdict(factor, summaries, quantiles)


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for package in ("cenote", "pyarrow", "polars", "pandas", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "?"
    return found
