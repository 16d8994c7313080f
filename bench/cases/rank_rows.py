"""The rank of each symbol in its row, ties shared: 3,000 and 5,000 symbols, 1,000 rows.

Typical keys are closes in cents, of which some are equal; the others are nearly equal: 1 and up
to 4,095 of its last digits more. 3 % are missing. Nanoseconds of CPU a cell, on one core.
"""

from __future__ import annotations

from bench import alike
from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "≤ 18 ns a cell typical, ≤ 45 where keys are nearly equal, beyond 4,096 symbols too"
LIMIT_S = 600
ROWS = 1000
ROUNDS = 5
PEERS = ("bottleneck", "pandas", "kunquant")


def run(bench: Bench) -> None:
    for symbols in (3000, 5000):
        for near, keys in ((False, "typical keys"), (True, "nearly equal keys")):
            with bench.scope():
                one(bench, symbols, near, f"rank, {symbols:,} symbols, {keys}")


def one(bench: Bench, symbols: int, near: bool, metric: str) -> None:
    bench.say(metric)
    sides = [bench.side("cenote factors")]
    sides += filter(None, (bench.peer(kind, [metric]) for kind in PEERS))
    for side in sides:
        side.call("load", rows=ROWS, symbols=symbols, near=near)
        side.call("prepare", job="rank")
    for peer in sides[1:]:
        share = alike.shares(bench, [sides[0], peer], "rank")["rank"]
        assert share == 1, (peer.kind, share)
    samples = interleave({
        side.kind: lambda side=side: side.call("run", job="rank") for side in sides
    }, rounds=ROUNDS)
    cells = {kind: Samples([ns / (ROWS * symbols) for ns in found.ns])
             for kind, found in samples.items()}
    for peer in sides[1:] or [None]:
        kind = peer.kind if peer else None
        bench.row(metric, cells[sides[0].kind], kind, cells.get(kind), unit="ns")
