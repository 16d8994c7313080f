"""What one process does: get the bars, compute one factor, store the result.

The same steps with the pool and without it. With it, the bars are read where they lie and
the result is written into the pool. Without it, the process reads the files into its own
memory and writes an Arrow file. Along the way it says where it is, when, and what memory it
then had to itself.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo import factors, load, memory
from demo.factors import Factor, Windows

if TYPE_CHECKING:
    import pyarrow as pa

PRICES = "prices"
PARTS = 4
"""A result is written in so many parts; half of them is where a process is killed."""
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Task:
    """One factor to compute. `address`: of the pool; None: without the pool.

    `columns`: which column of the table holds what. `own_path`, `own_schema`, `own_result`:
    files, types and the result's file for a process without the pool.
    """

    factor: str
    windows: Windows
    columns: dict[str, str]
    in_order: bool
    address: str | None = None
    dies_halfway: bool = False
    own_path: Path = Path()
    own_schema: Any = None
    own_result: Path = Path()


@dataclass(frozen=True)
class Step:
    """A process says where it is. `at`: seconds of the monotonic clock; `cpu_s`: CPU seconds
    of the process so far."""

    name: str
    at: float
    cpu_s: float
    memory: memory.Memory | None = None
    facts: dict[str, Any] = field(default_factory=dict)


def frame_name(factor: str) -> str:
    """The frame that holds a factor."""
    return f"factor.{factor}"


def main(task: Task, parent: Connection) -> None:
    """Entry of the process. Ends without a word where the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears Ctrl-C and ends us.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        _run(task, parent)
    except (EOFError, BrokenPipeError):
        pass
    except Exception as error:
        _tell(parent, "failed", error=f"{type(error).__name__}: {error}")


def _run(task: Task, parent: Connection) -> None:
    factor = factors.named(task.factor)
    _import(factor, task)
    _tell(parent, "ready", measured=True)
    parent.recv()  # All processes begin together.
    _tell(parent, "began")

    source = _Pooled(task, factor) if task.address else _Own(task, factor)
    table = source.table()
    n_bytes = _read_every_value(table)
    _tell(parent, "holding", measured=True, rows=table.num_rows, bytes=n_bytes)

    table, bars = source.bars(table)
    values = factors.compute(factor, bars, task.windows)
    _tell(parent, "computed", measured=True)
    del bars

    result = _result(table, values)
    source.store(result, lambda: _die_here(task, parent))
    _tell(parent, "stored", measured=True, rows=result.num_rows)


def _tell(parent: Connection, name: str, measured: bool = False, **facts: Any) -> None:
    at, cpu_s = time.monotonic(), time.process_time()
    own = None
    if measured:
        memory.settle()
        own = memory.measure()
    parent.send(Step(name, at, cpu_s, own, facts))


def _import(factor: Factor, task: Task) -> None:
    """Loads all libraries now, so that they count as the interpreter's memory."""
    import numpy  # noqa: F401
    import pyarrow  # noqa: F401
    import pyarrow.compute  # noqa: F401
    import pyarrow.csv  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    if factor.engine == "polars":
        import polars  # noqa: F401
    else:
        import pandas  # noqa: F401
    if task.address:
        import cenote  # noqa: F401


def _die_here(task: Task, parent: Connection) -> None:
    """Half of the result is in the pool: says so, and waits for the end."""
    if task.dies_halfway:
        _tell(parent, "halfway")
        signal.pause()


class _Pooled:
    """Bars in the pool, read in place."""

    def __init__(self, task: Task, factor: Factor) -> None:
        import cenote

        self._task, self._factor = task, factor
        self._pool = cenote.connect(task.address)
        self._frame = self._pool.get(PRICES, columns=_columns(task, factor))

    def table(self) -> pa.Table:
        return self._frame.to_arrow()

    def bars(self, table: pa.Table) -> tuple[pa.Table, Any]:
        if not self._task.in_order:
            table = _sorted(table, self._task)
            return table, _as_bars(_convert(table, self._factor), self._task)
        frame = self._pool.get(PRICES, columns=_columns(self._task, self._factor)[1:])
        if self._factor.engine == "polars":
            return table, _as_bars(frame.to_polars(), self._task)
        return table, _as_bars(frame.to_pandas(), self._task)

    def store(self, result: pa.Table, halfway: Any) -> None:
        source = f"{self._factor.name} of {PRICES} v{self._frame.version}"
        with self._pool.writer(frame_name(self._factor.name), result.schema,
                               source=source) as writer:
            for number, part in enumerate(_parts(result)):
                if number == PARTS // 2:
                    halfway()
                writer.write(part)


class _Own:
    """Bars read from the files into this process's own memory."""

    def __init__(self, task: Task, factor: Factor) -> None:
        self._task, self._factor = task, factor

    def table(self) -> pa.Table:
        return load.read_own(self._task.own_path, self._task.own_schema)

    def bars(self, table: pa.Table) -> tuple[pa.Table, Any]:
        if not self._task.in_order:
            table = _sorted(table, self._task)
        return table, _as_bars(_convert(table, self._factor), self._task)

    def store(self, result: pa.Table, halfway: Any) -> None:
        import pyarrow as pa

        with pa.OSFile(str(self._task.own_result), "wb") as file, \
                pa.ipc.new_file(file, result.schema) as writer:
            for part in _parts(result):
                writer.write(part)


def _columns(task: Task, factor: Factor) -> list[str]:
    """The table's names of what the factor needs."""
    return [task.columns[meaning] for meaning in ("date", "ticker", *factor.needs)]


def _convert(table: pa.Table, factor: Factor) -> Any:
    """All but the date, for the factor's library (pandas would make an object of each)."""
    if factor.engine == "polars":
        import polars as pl

        return pl.from_arrow(table.select(table.column_names[1:]))
    return table.select(table.column_names[1:]).to_pandas(split_blocks=True)


def _as_bars(frame: Any, task: Task) -> Any:
    """The table's columns under the names that the factors use."""
    names = {name: meaning for meaning, name in task.columns.items()}
    wanted = {name: names[name] for name in frame.columns if name in names}
    if hasattr(frame, "lazy"):
        return frame.rename(wanted)
    return frame.rename(columns=wanted)


def _sorted(table: pa.Table, task: Task) -> pa.Table:
    """A copy in time order per ticker, one row a day (the last), none without date or ticker."""
    import polars as pl

    keys = [task.columns["ticker"], task.columns["date"]]
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame = frame.drop_nulls(keys).unique(keys, keep="last", maintain_order=True).sort(keys)
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(table.schema)


def _result(table: pa.Table, values: Any) -> pa.Table:
    """Date and ticker as they came, without a copy, and the factor's values beside them."""
    import pyarrow as pa

    # pyarrow.array would import pandas, which a process with Polars does without.
    value = values.to_arrow() if hasattr(values, "to_arrow") else pa.Array.from_pandas(values)
    return pa.table({"date": table.column(0), "ticker": table.column(1), "value": value})


def _parts(result: pa.Table) -> list[pa.Table]:
    """The result in `PARTS` slices of nearly equal length."""
    cuts = [result.num_rows * number // PARTS for number in range(PARTS + 1)]
    return [result.slice(start, end - start) for start, end in zip(cuts, cuts[1:], strict=False)]


def _read_every_value(table: pa.Table) -> int:
    """Touches each page of each buffer, as any computation would; returns the bytes."""
    import numpy as np

    n_bytes = 0
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None and buffer.size:
                    np.frombuffer(buffer, dtype=np.uint8)[:: os.sysconf("SC_PAGE_SIZE")].sum()
                    n_bytes += buffer.size
    return n_bytes
