"""What each consumer makes of each type of column, and what it copies for it.

`python consumers.py` prints the table of `docs/consumers.md`. Each consumer is measured in a
fresh process: for every type a frame of one column, `x`, is read from a pool, and the growth of
that process's anonymous memory is set beside the column's bytes. Results are kept until the
end, so that nothing freed is used again. `test_types_consumers.py` compares table and truth.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

ROWS = 1 << 19
SMALL = 8
OWN_SHARE, OWN_BYTES = 0.05, 256 << 10
"""What a reader may take for itself and has not copied the column: of its bytes, and at least."""
IN_PLACE, COPIED, REFUSED, NOT_ASKED = "in place", "copied", "refused", "–"
QUIET = {"MALLOC_MMAP_THRESHOLD_": "65536", "ARROW_DEFAULT_MEMORY_POOL": "system"}
"""Has what is freed given back to the system at once."""


def _numbers(rows: int) -> pa.Array:
    return pa.array(np.arange(rows, dtype="int64") % 1000)


def _texts(rows: int, kind: pa.DataType) -> pa.Array:
    words = pa.array([f"a text of some length, {i}" for i in range(1000)], kind)
    return words.take(_numbers(rows))


def with_nulls(array: pa.Array) -> pa.Array:
    missing = pa.array(np.arange(len(array)) % 7 == 0)
    # Small decimals become larger ones there.
    return pa.compute.if_else(missing, pa.scalar(None, array.type), array).cast(array.type)


def _run_ends(rows: int) -> pa.Array:
    ends = np.arange(4, rows + 1, 4, dtype="int32")
    return pa.RunEndEncodedArray.from_arrays(ends, _numbers(len(ends)))


def _union(rows: int, dense: bool) -> pa.Array:
    kinds = pa.array(np.arange(rows, dtype="int8") % 2)
    numbers, words = _numbers(rows), _texts(rows, pa.string())
    if not dense:
        return pa.UnionArray.from_sparse(kinds, [numbers, words])
    offsets = pa.array(np.arange(rows, dtype="int32"))
    return pa.UnionArray.from_dense(kinds, offsets, [numbers, words])


def _lists(kind: type, index: str) -> Callable[[int], pa.Array]:
    def make(rows: int) -> pa.Array:
        offsets = np.arange(rows + 1, dtype=index) * 2
        values = _numbers(2 * rows)
        if "View" in kind.__name__:
            return kind.from_arrays(offsets[:-1], np.full(rows, 2, index), values)
        return kind.from_arrays(offsets, values)
    return make


TYPES: dict[str, Callable[[int], pa.Array]] = {
    "int64": _numbers,
    "int64, nulls": lambda rows: with_nulls(_numbers(rows)),
    "uint8": lambda rows: _numbers(rows).cast(pa.int16()).cast(pa.uint8(), safe=False),
    "float16": lambda rows: pa.array((np.arange(rows) % 1000).astype("float16")),
    "float64": lambda rows: _numbers(rows).cast(pa.float64()),
    "float64, nulls": lambda rows: with_nulls(_numbers(rows).cast(pa.float64())),
    "bool": lambda rows: pa.array(np.arange(rows) % 3 == 0),
    "timestamp[us]": lambda rows: _numbers(rows).cast(pa.timestamp("us")),
    "timestamp[ns, zone]": lambda rows: _numbers(rows).cast(pa.timestamp("us", "Asia/Tokyo")).cast(
        pa.timestamp("ns", "Asia/Tokyo")),
    "date32": lambda rows: _numbers(rows).cast(pa.int32()).cast(pa.date32()),
    "time64": lambda rows: _numbers(rows).cast(pa.time64("us")).cast(pa.time64("ns")),
    "duration": lambda rows: _numbers(rows).cast(pa.duration("ms")),
    "interval": lambda rows: pa.array([pa.MonthDayNano([1, 2, 3000])]).take(
        pa.array(np.zeros(rows, "int8"))),
    "decimal32": lambda rows: _numbers(rows).cast(pa.decimal128(21, 2)).cast(pa.decimal32(9, 2)),
    "decimal64": lambda rows: _numbers(rows).cast(pa.decimal128(21, 2)).cast(pa.decimal64(12, 2)),
    "decimal128": lambda rows: _numbers(rows).cast(pa.decimal128(30, 2)),
    "decimal256": lambda rows: _numbers(rows).cast(pa.decimal256(60, 2)),
    "string": lambda rows: _texts(rows, pa.string()),
    "large string": lambda rows: _texts(rows, pa.large_string()),
    "string view": lambda rows: _texts(rows, pa.string()).cast(pa.string_view()),
    "binary": lambda rows: _texts(rows, pa.binary()),
    "fixed-size binary": lambda rows: pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(16), rows, [None, pa.py_buffer(np.arange(2 * rows, dtype="int64"))]),
    "dictionary": lambda rows: pa.DictionaryArray.from_arrays(
        _numbers(rows).cast(pa.int32()), _texts(1000, pa.string())),
    "list": _lists(pa.ListArray, "int32"),
    "large list": _lists(pa.LargeListArray, "int64"),
    "list view": _lists(pa.ListViewArray, "int32"),
    "fixed-size list": lambda rows: pa.FixedSizeListArray.from_arrays(_numbers(2 * rows), 2),
    "struct": lambda rows: pa.StructArray.from_arrays(
        [_numbers(rows), _numbers(rows).cast(pa.float64())], ["a", "b"]),
    "map": lambda rows: pa.MapArray.from_arrays(
        np.arange(rows + 1, dtype="int32"), _texts(rows, pa.string()), _numbers(rows)),
    "sparse union": lambda rows: _union(rows, False),
    "dense union": lambda rows: _union(rows, True),
    "run-end encoded": _run_ends,
    "null": lambda rows: pa.nulls(rows),
}


def frame_name(kind: str, small: bool = False) -> str:
    return f"{'small' if small else 'large'} {kind}"


def fill(pool: Any) -> None:
    """Puts a frame of each type, and one of a few rows to warm up with."""
    for kind, make in TYPES.items():
        for small in (True, False):
            pool.put(frame_name(kind, small), pa.table({"x": make(SMALL if small else ROWS)}))


def pyarrow(frame: Any) -> Any:
    return frame.to_arrow()


def pandas(frame: Any) -> Any:
    return frame.to_pandas()


def pandas_arrow(frame: Any) -> Any:
    import pandas

    return frame.to_pandas(types_mapper=pandas.ArrowDtype)


def polars(frame: Any) -> Any:
    return frame.to_polars()


def numpy(frame: Any) -> Any:
    return frame.to_numpy("x")


_connections: list[Any] = []


def duckdb(frame: Any) -> Any:
    """A query over it: DuckDB has no table of its own then."""
    import duckdb

    if not _connections:
        _connections.append(duckdb.connect(config={"threads": 1}))
    return _connections[0].sql("select count(x), max(x) from frame").fetchall()


def datafusion(frame: Any) -> Any:
    """The same, over the table that DataFusion makes of the stream."""
    import datafusion

    context = datafusion.SessionContext()
    table = context.from_arrow(frame, "t")
    return context, table, context.sql("select count(x) from t").to_pydict()


def lightgbm(frame: Any) -> Any:
    """A data set for training: values are sorted into bins of a byte or two."""
    import lightgbm

    data = lightgbm.Dataset(frame.to_arrow(), params={"verbosity": -1, "num_threads": 1})
    return data.construct()


CONSUMERS = {make.__name__: make for make in (
    pyarrow, pandas, pandas_arrow, polars, numpy, duckdb, datafusion, lightgbm)}


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous")) * 1024


NUMBERS = ("int64", "int64, nulls", "uint8", "float64", "float64, nulls", "bool")
ASKED = {lightgbm: NUMBERS}
"""LightGBM takes numbers, and ends the whole process where it is given others."""


def asked(consumer: str) -> tuple[str, ...]:
    return ASKED.get(CONSUMERS[consumer], tuple(TYPES))


def measure(consumer: str, address: str) -> None:
    """In a fresh process: prints one JSON object a type."""
    import cenote

    pool = cenote.connect(address)
    consume = CONSUMERS[consumer]
    kept = []
    for kind in asked(consumer):
        line: dict[str, object] = {"type": kind}
        try:
            for _ in range(2):
                consume(pool[frame_name(kind, small=True)])
            frame = pool[frame_name(kind)]
            gc.collect()
            before = anonymous()
            kept.append((frame, consume(frame)))
            line.update(copied=max(anonymous() - before, 0), nbytes=frame.nbytes)
        except BaseException as error:  # a panic of a Rust library is no Exception
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            line["refused"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line), flush=True)


def measured(consumer: str, address: str) -> dict[str, str]:
    """What a consumer does with each type, from a fresh process."""
    done = subprocess.run([sys.executable, __file__, consumer, address], capture_output=True,
                          text=True, env={**os.environ, **QUIET})
    assert done.returncode == 0, f"{consumer}: {done.stderr[-2000:]}"
    said = dict.fromkeys(TYPES, NOT_ASKED)
    for line in map(json.loads, done.stdout.splitlines()):
        if "refused" in line:
            said[line["type"]] = REFUSED
        else:
            own = line["copied"] <= max(OWN_BYTES, OWN_SHARE * line["nbytes"])
            said[line["type"]] = IN_PLACE if own else COPIED
    return said


TITLES = {"pyarrow": "PyArrow", "pandas": "pandas", "pandas_arrow": "pandas, ArrowDtype",
          "polars": "Polars", "numpy": "NumPy", "duckdb": "DuckDB", "datafusion": "DataFusion",
          "lightgbm": "LightGBM"}


def table(columns: dict[str, dict[str, str]]) -> str:
    """As Markdown."""
    lines = ["| type | " + " | ".join(TITLES[name] for name in columns) + " |",
             "| --- |" + " --- |" * len(columns)]
    lines += [f"| {kind} | " + " | ".join(said[kind] for said in columns.values()) + " |"
              for kind in TYPES]
    return "\n".join(lines)


def read_table(text: str) -> dict[str, dict[str, str]]:
    """The columns of `table`."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in text.splitlines() if line.startswith("|")]
    names = {title: name for name, title in TITLES.items()}
    start = next(at for at, row in enumerate(rows) if row[0] == "type")
    titles, found = rows[start][1:], {}
    for at, title in enumerate(titles):
        found[names[title]] = {row[0]: row[at + 1] for row in rows[start + 2:]
                               if len(row) == len(titles) + 1}
    return found


def main() -> None:
    from conftest import Served

    served = Served(2 << 30)
    try:
        fill(served.connect())
        print(table({name: measured(name, served.address) for name in CONSUMERS}))
    finally:
        served.close()


if __name__ == "__main__":
    measure(*sys.argv[1:]) if sys.argv[1:] else main()
