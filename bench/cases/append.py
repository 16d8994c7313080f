"""One day appended to a frame of 10, 1,000 and 5,000 parts.

A day is 500 rows of an int64 and five float64 columns, 24 KiB. The frame grows a day at a time;
at each size 200 appends are timed, in turns with the peer. Ours is durable before it replies,
and each makes a version whose readers see all rows. The peer writes a file a day into a folder
on the same tmpfs: all that a dataset of files does, which has no versions and no one place that
says which files belong to it.

At the end all days are read and compared.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import interleave

GOAL = "flat in the number of parts"
LIMIT_S = 300
SIZES = (10, 1_000, 5_000)
TIMED = 200
BLOCK = 20
METRICS = [f"append a day to {size:,} parts" for size in SIZES]


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    sides = {"ours": bench.client(pool)}
    peer = bench.peer("ipc file", METRICS)
    if peer is not None:
        sides["ipc file"] = peer
    days = 0
    for size, metric in zip(SIZES, METRICS, strict=True):
        for side in sides.values():
            side.call("append_days", name="days", first=days, count=size - days)
        days = size
        firsts = {name: iter(range(days, days + TIMED, BLOCK)) for name in sides}
        samples = interleave({
            name: lambda side=side, name=name: side.call(
                "append_days", name="days", first=next(firsts[name]), count=BLOCK)
            for name, side in sides.items()}, rounds=TIMED // BLOCK, warmup=0)
        days += TIMED
        if "ipc file" in samples:
            bench.row(metric, samples["ours"], "ipc file", samples["ipc file"], unit="µs")
        else:
            bench.row(metric, samples["ours"], unit="µs")
    assert sides["ours"].call("count_days", name="days") == days
