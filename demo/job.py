"""The job itself, in order: serve, put, compute in eight processes, compare, judge."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from demo import alphas, audit, claims, factors, load, memory, served, worth
from demo.bars import PRICES, Task
from demo.claims import Witness, settled
from demo.crew import Crew, Record
from demo.factors import FACTORS, Windows
from demo.load import Data
from demo.outcome import Check, Outcome, Put
from demo.served import ServedPool

VICTIM = "low_volatility"
"""The factor whose first process is killed."""

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
        if pool_served.parent != served.SHARED_MEMORY:
            say(f"{served.SHARED_MEMORY} has not the room: the pool is in {pool_served.parent}, "
                "on disk")
        put = _put(data, pool_served, pool, say)
        frame = pool.get(PRICES)
        columns = load.meanings(pa.schema(frame.schema).names)
        prices = _in_place(pool, columns)
        found = audit.examine(prices)
        windows = Windows.for_history(found.n_dates)
        chosen = [factor for factor in FACTORS if set(factor.needs) <= set(columns)]
        tasks = [Task(factor.name, windows, columns, found.in_order) for factor in chosen]

        say(f"{len(tasks)} processes compute a factor each, in place; "
            "one of them is killed on the way")
        witness = Witness(pool)
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
        outcome.checks += witness.checks + claims.of_pool(pool, info, outcome)
        if compare:
            say(f"the same without the pool: {len(tasks)} processes, each with a copy of its own")
            schema = pa.schema(frame.schema)
            outcome.own = Crew().work([_own(task, data.path, schema, scratch) for task in tasks])
            outcome.checks += claims.against_own(pool, outcome)

        say("information coefficients, read from the pool in place")
        axes, close = worth.close_matrix(prices)
        outcome.dates = axes.dates
        outcome.verdicts = [worth.judge(factor, worth.factor_matrix(pool, factor, axes), close)
                            for factor in chosen]
        say("the 101 formulaic alphas over the same prices, in one pass, into the pool")
        try:
            outcome.alphas = alphas.run(
                alphas.Request(pool_served.address, columns, found.in_order))
        except alphas.AlphasFault as error:
            raise JobFault(str(error)) from error
        outcome.checks += outcome.alphas.checks()
        del pool, frame, prices
    outcome.checks.append(Check("the demo's pool is gone: daemon ended, directory removed",
                                not pool_served.run_dir.exists()))
    outcome.wall_s = time.monotonic() - began
    return outcome


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
    return replace(task, own_path=path, own_result=Path(scratch) / f"{task.factor}.arrow",
                   own_schema=pa.schema([schema.field(name) for name in names]))


def _span(records: list[Record]) -> float:
    """Seconds from the first process that began to the last stored result."""
    began = min(record.steps["began"].at for record in records)
    return max(record.steps["stored"].at for record in records if record.done) - began


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for package in ("cenote", "pyarrow", "polars", "pandas", "numpy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "?"
    return found
