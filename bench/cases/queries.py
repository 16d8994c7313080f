"""Polars and DuckDB on a frame of the pool, beside the same on a table of their own.

4,000,000 trades: symbol (text), price, size, time. A group-by, a filter and an aggregate, warm.
Both read the frame in place: Polars its buffers, DuckDB an Arrow table, in pieces. The anonymous
memory that a reader has gained when Polars has opened the frame, and when DuckDB has read it
once, is given per byte of the table; its peer's own table is all anonymous.
"""

from __future__ import annotations

from bench import queries
from bench.case import Bench
from bench.measure import interleave

GOAL = "within 5 % of the same query on a table of its own; no anonymous memory for the input"
LIMIT_S = 420
ROUNDS = 15


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=2 << 30)
    n_bytes = bench.client(pool).call("load_trades")
    for engine in queries.ENGINES:
        bench.say(engine)
        with bench.scope():
            theirs = bench.peer("own table", list(queries.QUERIES), engine=engine)
            if theirs is None:
                continue
            theirs.call("open_trades")
            ours = bench.client(pool)
            gained = ours.call("open_trades", engine=engine)
            bench.row(f"{engine}, anonymous memory", gained / n_bytes, unit="of the table's bytes",
                      n_bytes=0, n_table_bytes=n_bytes)
            for name in queries.QUERIES:
                samples = interleave({
                    "ours": lambda name=name: ours.call("query", name=name, repeats=1),
                    "theirs": lambda name=name: theirs.call("query", name=name, repeats=1),
                }, rounds=ROUNDS, warmup=2)
                bench.row(f"{engine}, {name}", samples["ours"], "own table", samples["theirs"],
                          unit="ms")
