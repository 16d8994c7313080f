"""Queries of Polars and DuckDB over one table, whoever holds it.

A side opens the table with `open_table(engine, source)`: `source` is what it has, a frame of the
pool or the table itself, and the engine reads that in place (`own=False`) or makes a table of
its own of it. Everything is imported inside: a process must not load what it does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

QUERIES = ("group-by", "filter", "aggregate")
ENGINES = ("polars", "duckdb")


def _polars(table: Any) -> dict[str, Callable[[], Any]]:
    import polars as pl

    price, size = pl.col("price"), pl.col("size")
    return {
        "group-by": lambda: table.group_by("symbol").agg(price.mean(), size.sum()),
        "filter": lambda: table.filter((price > 90) & (size < 100)).select(
            pl.len().alias("rows"), price.sum()),
        "aggregate": lambda: table.select(
            price.std().alias("spread"), size.max(), (price * size).sum().alias("turnover")),
    }


def _duckdb(connection: Any) -> dict[str, Callable[[], Any]]:
    texts = {
        "group-by": "select symbol, avg(price), sum(size) from t group by symbol",
        "filter": "select count(*), sum(price) from t where price > 90 and size < 100",
        "aggregate": "select stddev(price), max(size), sum(price * size) from t",
    }
    return {name: (lambda text=text: connection.execute(text).fetchall())
            for name, text in texts.items()}


def open_table(engine: str, source: Any, own: bool) -> dict[str, Callable[[], Any]]:
    """The queries, by name."""
    if engine == "polars":
        import polars as pl

        table = pl.DataFrame(source)
        return _polars(table.clone() if own else table)
    import duckdb

    connection = duckdb.connect()
    connection.register("source" if own else "t", source)
    if own:
        connection.execute("create table t as select * from source")
        connection.unregister("source")
    return _duckdb(connection)


def anonymous() -> int:
    """Bytes of this process that no file backs."""
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Anonymous")) * 1024
