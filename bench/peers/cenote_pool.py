"""Cenote: a client of a served pool, through the public Python surface only."""

from __future__ import annotations

import time
from typing import Any

from bench import data, measure, queries
from bench.peers.ipc_file import touch

SETTLE_S = 0.2
"""Time for the pool to take dropped space back before the next put."""
POLL_S = 0.001


class CenotePool:
    """One client. The daemon is the case's (`bench.pool`), never this process's.

    A large put uses as many threads as it has cores, so `threads` limits the cores.
    """

    def __init__(self) -> None:
        self._pool: Any = None
        self._kept: Any = None

    def open(self, address: str | None = None, threads: int | None = None) -> str:
        if threads is not None:
            measure.use_cores(threads)
        import cenote
        import pyarrow  # noqa: F401  (loaded by every reader, on every side)

        self._cenote = cenote
        if address is not None:
            self._pool = cenote.connect(address)
        return f"cenote {getattr(cenote, '__version__', '?')}"

    def close(self) -> None:
        self._kept = None
        self._pool = None

    def wait(self, address: str, within_s: float) -> int:
        """Connects as soon as a daemon answers; returns when, on the monotonic clock.

        `info()` is asked for, since a name is found in shared memory without the daemon.
        """
        deadline = time.monotonic() + within_s
        while True:
            try:
                pool = self._cenote.connect(address)
                pool.info()
                answered = time.monotonic_ns()
                self._pool = pool
                return answered
            except self._cenote.PoolUnavailable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(POLL_S)

    def info(self) -> dict[str, Any]:
        return {key: value for key, value in dict(self._pool.info()).items()
                if isinstance(value, (int, float, str))}

    def count(self) -> int:
        """Frames in the pool."""
        return len(self._pool)

    # -- the table of 100 columns

    def load_wide(self) -> list[float]:
        self._pool.put("wide", data.wide_table(), replace=True)
        return data.wide_digest(self._pool.get("wide").to_arrow())

    def get_wide(self, repeats: int, held: bool = False) -> list[int]:
        """`get` alone: 100 columns leased. `held`: an earlier frame is still alive."""
        get = self._pool.get
        kept = get("wide")
        assert len(kept.schema) == data.WIDE_COLUMNS
        if not held:
            kept = None
        taken = measure.each(lambda: get("wide"), repeats)
        del kept
        return taken

    def get_wide_arrow(self, repeats: int) -> list[int]:
        """`get` and `to_arrow`: what a peer's get returns, a table ready for use."""
        get = self._pool.get
        return measure.each(lambda: get("wide").to_arrow(), repeats)

    def first_get_wide(self) -> list[int]:
        """`get`, then `to_arrow`, as the first acts of this process."""
        clock = time.perf_counter_ns
        start = clock()
        frame = self._pool.get("wide")
        got = clock()
        table = frame.to_arrow()
        done = clock()
        assert table.num_columns == data.WIDE_COLUMNS
        return [got - start, done - got]

    def to_arrow_first(self, repeats: int) -> list[int]:
        """`to_arrow` of a frame that has not made one; frame and table dropped each time."""
        taken = []
        clock = time.perf_counter_ns
        with measure.collector_off():
            for _ in range(repeats):
                frame = self._pool.get("wide")
                start = clock()
                table = frame.to_arrow()
                taken.append(clock() - start)
                assert table.num_columns == data.WIDE_COLUMNS
                del table, frame
        return taken

    def to_arrow_repeat(self, repeats: int, held: bool) -> list[int]:
        """`to_arrow` of a frame that has made one before. `held`: the table still lives."""
        frame = self._pool.get("wide")
        table = frame.to_arrow()
        assert data.wide_digest(table)[0] == data.WIDE_COLUMNS
        if not held:
            del table
        return measure.each(frame.to_arrow, repeats)

    # -- rows by a predicate

    def load_scan(self) -> int:
        self._pool.put("days", data.days_table(), replace=True)
        return len(self._pool.get("days"))

    def _where(self, one: bool) -> str:
        where = f"value > {data.DAYS_ABOVE}"
        return f"day = {data.DAYS_ONE} and {where}" if one else where

    def count_scan(self, one: bool) -> int:
        return self._pool.get("days", where=self._where(one)).num_rows

    def get_scan(self, one: bool, repeats: int) -> list[int]:
        """`get` with a predicate, and `to_arrow`: the rows, ready for use."""
        get, where = self._pool.get, self._where(one)
        return measure.each(lambda: get("days", where=where).to_arrow(), repeats)

    # -- the gigabyte

    def load_array(self, n_bytes: int) -> None:
        self._array = data.array(n_bytes)

    def put_array(self, repeats: int) -> list[int]:
        columns = {"x": self._array}
        return measure.each(lambda: self._pool.put("array", columns), repeats,
                            settle_s=SETTLE_S, after=lambda _: self._pool.drop("array"))

    def check_array(self) -> int:
        """Puts the array once more and compares every value; returns the bytes."""
        import numpy as np

        self._pool.put("array", {"x": self._array})
        try:
            stored = self._pool.get("array").to_arrow()["x"].combine_chunks()
            assert np.array_equal(stored.to_numpy(), self._array)
            return stored.nbytes
        finally:
            stored = None
            self._pool.drop("array")

    def store_array(self, n_bytes: int) -> None:
        self._pool.put("array", {"x": data.array(n_bytes)}, replace=True)

    def read_array(self) -> int:
        """Reads a byte of each page of the array in place; keeps it; returns bytes."""
        frame = self._pool.get("array")
        self._kept = (frame, frame.to_arrow())
        return touch(self._kept[1])

    # -- queries

    def load_trades(self) -> int:
        """Bytes of the frame."""
        self._pool.put("trades", data.trades(), replace=True)
        return int(self._pool.get("trades").nbytes)

    def open_trades(self, engine: str) -> int:
        """Opens the frame for an engine and queries it once; the anonymous bytes gained."""
        __import__(engine)
        small = self._pool.get("trades", rows=(0, 1000))
        for query in queries.open_table(engine, small.to_arrow(), own=False).values():
            query()
        before = queries.anonymous()
        self._kept = self._pool.get("trades")
        self._queries = queries.open_table(engine, self._source(engine), own=False)
        if engine == "duckdb":  # Polars has opened it now, DuckDB reads it when it is queried.
            self._queries["aggregate"]()
        return max(queries.anonymous() - before, 0)

    def _source(self, engine: str) -> Any:
        return self._kept if engine == "polars" else self._kept.to_arrow()

    def query(self, name: str, repeats: int) -> list[int]:
        return measure.each(self._queries[name], repeats)

    # -- many small frames

    def put_small(self, first: int, count: int) -> list[int]:
        inputs = [(f"small-{number}", data.small_table(number))
                  for number in range(first, first + count)]
        put = self._pool.put
        return measure.each_of(lambda pair: put(*pair), inputs)[0]

    def get_small(self, numbers: list[int]) -> list[int]:
        """`get` and `to_arrow` of each: as much as the peers give back."""
        get = self._pool.get
        taken, tables = measure.each_of(lambda name: get(name).to_arrow(),
                                        [f"small-{number}" for number in numbers])
        assert [table["x"][0].as_py() for table in tables] == numbers
        return taken

    def append_days(self, name: str, first: int, count: int) -> list[int]:
        """Appends so many days to a frame, each a partition of its own."""
        days = [data.day_table(number) for number in range(first, first + count)]
        append = self._pool.append
        taken, versions = measure.each_of(lambda day: append(name, day), days)
        assert versions[-1] - versions[0] == count - 1
        return taken

    def count_days(self, name: str) -> int:
        """Days of a frame, all of which are read."""
        table = self._pool.get(name).to_arrow()
        days = table["day"].to_numpy().reshape(-1, data.DAY_ROWS)
        assert (days == days[:, :1]).all() and (days[:, 0] == range(len(days))).all()
        return len(days)

    def get_one(self, number: int, repeats: int) -> list[int]:
        """`get` of one name, over and over; the frame is dropped each time."""
        get, name = self._pool.get, f"small-{number}"
        assert get(name).to_arrow()["x"][0].as_py() == number
        return measure.each(lambda: get(name), repeats)

    def fill(self, n_bytes: int, frames_max: int, within_s: float) -> dict[str, int]:
        """Puts frames of one float64 column of `n_bytes` until the pool is full.

        Returns how many fitted, the bytes of data in them, and whether it was full (not
        where `frames_max` or `within_s` ended it).
        """
        columns = {"x": data.array(n_bytes)}
        deadline = time.monotonic() + within_s
        frames, full = 0, False
        while frames < frames_max and not full and time.monotonic() < deadline:
            try:
                self._pool.put(f"frame-{frames}", columns)
                frames += 1
            except self._cenote.PoolExhausted:
                full = True
        return {"frames": frames, "bytes": frames * n_bytes, "full": full}
