"""Where a process has its bars from, and where its result goes: the pool, or itself.

Both ways hand out the same Arrow table and the same columns, so that everything after is
the same code on the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from demo import load
from demo.factors import Factor, Windows

if TYPE_CHECKING:
    import pyarrow as pa

PRICES = "prices"
"""The frame that holds the bars."""
PARTS = 4
"""A result is written in so many parts; half of them is where a process is killed."""


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


def frame_name(factor: str) -> str:
    """The frame that holds a factor."""
    return f"factor.{factor}"


class Pooled:
    """Bars in the pool, read in place."""

    def __init__(self, task: Task, factor: Factor) -> None:
        import cenote

        self._task, self._factor = task, factor
        self._pool = cenote.connect(task.address)
        self._frame = self._pool.get(PRICES, columns=_columns(task, factor))

    def table(self) -> pa.Table:
        """Date, ticker and the fields that the factor needs, in place."""
        return self._frame.to_arrow()

    def bars(self, table: pa.Table) -> tuple[pa.Table, Any]:
        """The table in time order, and the same as the factor's library sees it: in place
        where the order is right."""
        if not self._task.in_order:
            table = _sorted(table, self._task)
            return table, _as_bars(_convert(table, self._factor), self._task)
        frame = self._pool.get(PRICES, columns=_columns(self._task, self._factor)[1:])
        if self._factor.engine == "polars":
            return table, _as_bars(frame.to_polars(), self._task)
        return table, _as_bars(frame.to_pandas(), self._task)

    def store(self, result: pa.Table, halfway: Callable[[], None]) -> None:
        """Writes the result part by part; it is seen when the block ends. `halfway` is called
        when half of it is written."""
        source = f"{self._factor.name} of {PRICES} v{self._frame.version}"
        with self._pool.writer(frame_name(self._factor.name), result.schema,
                               source=source) as writer:
            for number, part in enumerate(_parts(result)):
                if number == PARTS // 2:
                    halfway()
                writer.write(part)


class Own:
    """Bars read from the files into this process's own memory."""

    def __init__(self, task: Task, factor: Factor) -> None:
        self._task, self._factor = task, factor

    def table(self) -> pa.Table:
        """Date, ticker and the fields that the factor needs: a copy."""
        return load.read_own(self._task.own_path, self._task.own_schema)

    def bars(self, table: pa.Table) -> tuple[pa.Table, Any]:
        """The table in time order, and the same as the factor's library sees it."""
        if not self._task.in_order:
            table = _sorted(table, self._task)
        return table, _as_bars(_convert(table, self._factor), self._task)

    def store(self, result: pa.Table, halfway: Callable[[], None]) -> None:
        """Writes the result as an Arrow file; `halfway` is not called."""
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


def as_result(table: pa.Table, values: Any) -> pa.Table:
    """Date and ticker as they came, without a copy, and the factor's values beside them."""
    import pyarrow as pa

    # pyarrow.array would import pandas, which a process with Polars does without.
    value = values.to_arrow() if hasattr(values, "to_arrow") else pa.Array.from_pandas(values)
    return pa.table({"date": table.column(0), "ticker": table.column(1), "value": value})


def _parts(result: pa.Table) -> list[pa.Table]:
    """The result in `PARTS` slices of nearly equal length."""
    cuts = [result.num_rows * number // PARTS for number in range(PARTS + 1)]
    return [result.slice(start, end - start) for start, end in pairwise(cuts)]
