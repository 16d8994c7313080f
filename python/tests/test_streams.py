"""Tables that come in batches."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cenote
from conftest import contents


def test_iterators_of_anything_tabular(pool: cenote.Pool) -> None:
    batch = pa.record_batch({"x": [1, 2]})
    for name, tables in {
        "batches": [batch, batch],
        "tables": [pa.table(batch), pa.concat_tables([pa.table(batch)] * 2)],
        "dicts": [{"x": np.array([1, 2])}, {"x": [3, 4]}],
        "polars": [pl.DataFrame(batch), pl.DataFrame(batch)],
        "mixed": [batch, {"x": [3, 4]}, pa.table(batch)],
        "pandas": [pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [3, 4]})],
    }.items():
        rows = sum(len(table["x"]) if isinstance(table, dict) else len(table) for table in tables)
        for data in (tables, tuple(tables), iter(tables), (table for table in tables)):
            pool.put(name, data, replace=True)
            assert pool[name].num_rows == rows, name
    assert pool["pandas"].to_pandas().index.tolist() == [0, 1, 2, 3]


def test_a_record_batch_reader(pool: cenote.Pool) -> None:
    batches = [pa.record_batch({"x": np.arange(1000) + i}) for i in range(20)]
    pool.put("t", pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches)))
    assert pool["t"].to_arrow().equals(pa.Table.from_batches(batches))
    empty = pa.RecordBatchReader.from_batches(batches[0].schema, [])
    pool.put("empty", empty)
    assert pool["empty"].shape == (0, 1)


def test_an_exception_comes_back_and_leaves_no_trace(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [1]})
    before = contents(pool)

    def failing(after: int):
        for _ in range(after):
            yield {"x": np.arange(500_000)}
        raise LookupError("the feed broke off")

    for after in (0, 1, 12):
        with pytest.raises(LookupError, match="broke off"):
            pool.put("t", failing(after), replace=True)
    reader = pa.RecordBatchReader.from_batches(
        pa.schema([("x", pa.int64())]), (pa.record_batch(b) for b in failing(3)))
    with pytest.raises(cenote.CenoteError, match="broke off"):
        pool.put("t", reader, replace=True)
    assert contents(pool) == before
    assert pool["t"]["x"].to_pylist() == [1]


def test_another_schema_is_named(pool: cenote.Pool) -> None:
    before = contents(pool)
    for other, text in (
        ({"y": [1]}, 'batch 2 is unlike the first: column "y" stands where "x" was'),
        ({"x": ["a"]}, 'batch 2 is unlike the first: column "x" is Utf8, not Int64'),
        ({"x": [1], "y": [1]}, "batch 2 is unlike the first: it has 2 columns, not 1"),
        (5, "batch 2 of the iterator is int"),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            pool.put("t", iter([{"x": [1]}, {"x": [2]}, other]))
        assert text in str(caught.value)
    with pytest.raises(ValueError, match="no batch"):
        pool.put("t", iter([]))
    assert contents(pool) == before


def test_a_generator_may_use_the_pool(pool: cenote.Pool) -> None:
    pool.put("a", {"x": np.arange(1000)})

    def doubled():
        for start in range(0, 1000, 100):
            part = pool.get("a", rows=(start, start + 100)).to_polars()
            pool.put("progress", {"at": [start]}, replace=True)
            yield part * 2

    pool.put("b", doubled())
    assert pool["b"]["x"].to_numpy().sum() == 999_000
    assert pool["progress"].version == 10


def test_memory_is_bounded(served) -> None:
    """1 GB through a pool of 2 GB: the process itself stays small."""
    script = textwrap.dedent("""
        import resource, sys
        import numpy as np
        import cenote
        pool = cenote.connect(sys.argv[1])

        def anonymous():
            for line in open("/proc/self/status"):
                if line.startswith("RssAnon"):
                    return int(line.split()[1]) * 1024

        pool.put("warm", {"x": np.arange(10)})
        start, most = anonymous(), 0
        def batches():
            global most
            for i in range(200):
                yield {"x": np.full(130_000, float(i))}
                most = max(most, anonymous() - start)
        pool.put("t", batches())
        assert pool["t"].num_rows == 200 * 130_000
        print(most)
    """)
    out = subprocess.run([sys.executable, "-c", script, served.address], check=True,
                         capture_output=True, text=True)
    assert int(out.stdout) < 100 << 20, "a stream of 208 MB was held in memory"
    assert served.connect()["t"].nbytes >= 200 * 130_000 * 8
