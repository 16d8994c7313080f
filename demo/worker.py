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
from typing import TYPE_CHECKING, Any

from demo import factors, memory
from demo.bars import Own, Pooled, Task, as_result
from demo.factors import Factor

if TYPE_CHECKING:
    import pyarrow as pa

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Step:
    """A process says where it is. `at`: seconds of the monotonic clock; `cpu_s`: CPU seconds
    of the process so far."""

    name: str
    at: float
    cpu_s: float
    memory: memory.Memory | None = None
    facts: dict[str, Any] = field(default_factory=dict)


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

    source = Pooled(task, factor) if task.address else Own(task, factor)
    table = source.table()
    n_bytes = _touch_every_page(table)
    _tell(parent, "holding", measured=True, rows=table.num_rows, bytes=n_bytes)

    table, bars = source.bars(table)
    values = factors.compute(factor, bars, task.windows)
    _tell(parent, "computed", measured=True)
    del bars

    result = as_result(table, values)
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


def _touch_every_page(table: pa.Table) -> int:
    """Reads a byte of each page of each buffer, so that all are mapped; returns the bytes."""
    import numpy as np

    n_bytes = 0
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                if buffer is not None and buffer.size:
                    np.frombuffer(buffer, dtype=np.uint8)[:: os.sysconf("SC_PAGE_SIZE")].sum()
                    n_bytes += buffer.size
    return n_bytes
