"""Rows by a predicate that one partition of a hundred can have.

100 partitions of 50,000 rows: a day, a symbol's number, and eight float64 columns (336 MB). Ours:
`pool.get(name, where=…).to_arrow()`. All: a predicate that no statistics decide, `value > 0.9`. One
of a hundred: the same, and one day. Beside Polars' lazy scan of an IPC file, and PyArrow's dataset
of a Parquet file with a row group a partition and statistics, each with the same predicate.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import interleave

GOAL = "one of a hundred ≤ 2 % of all"
LIMIT_S = 300
ROUNDS = 9
REPEATS = {"all": 1, "one": 5}


def run(bench: Bench) -> None:
    ours = bench.client(bench.served_pool(capacity=1 << 30))
    rows = ours.call("load_scan")
    sides = {"ours": ours}
    metrics = ["all partitions", "one partition of a hundred"]
    for kind in ("polars ipc", "parquet dataset"):
        peer = bench.peer(kind, metrics, folder=str(bench.shm / kind.replace(" ", "-")))
        if peer is not None:
            assert peer.call("load_scan") == rows, f"{kind} stored another table"
            sides[kind] = peer
    counts = {kind: [side.call("count_scan", one=one) for one in (False, True)]
              for kind, side in sides.items()}
    assert all(count == counts["ours"] for count in counts.values()), counts
    assert 0 < counts["ours"][1] < counts["ours"][0]
    samples = interleave({
        (kind, what): lambda side=side, what=what: side.call(
            "get_scan", one=what == "one", repeats=REPEATS[what])
        for kind, side in sides.items() for what in REPEATS
    }, rounds=ROUNDS, warmup=2)
    for what, metric in zip(REPEATS, metrics, strict=True):
        for kind in list(sides)[1:] or [None]:
            theirs = samples[kind, what] if kind else None
            bench.row(metric, samples["ours", what], kind, theirs, unit="ms")
    bench.row("one partition of a hundred, beside all", samples["ours", "one"], "ours, all",
              samples["ours", "all"], unit="ms")
