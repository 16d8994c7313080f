"""One row pushed, one row of 82 alphas got: 1,000 symbols, after 300 rows of history.

CPU a row on one core, in Python: ours takes and gives NumPy arrays, KunQuant's stream too.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import interleave

GOAL = "p50 ≤ 5 ms, p99 ≤ 10 ms of CPU"
LIMIT_S = 900
HISTORY, SYMBOLS = 300, 1000
ROUNDS = 10
ROWS = 20
COMPILE_LIMIT_S = 600


def run(bench: Bench) -> None:
    ours = bench.side("cenote factors")
    theirs = bench.peer("kunquant", ["a row of 82 alphas, CPU"])
    sides = [side for side in (ours, theirs) if side is not None]
    for side in sides:
        side.call("load", rows=HISTORY, symbols=SYMBOLS)
        bench.say(f"{side.kind}: history")
        count = side.call("live", job="live", limit_s=COMPILE_LIMIT_S)
        assert count == 82, count
    samples = interleave({
        side.kind: lambda side=side: side.call("push", repeats=ROWS) for side in sides
    }, rounds=ROUNDS)
    bench.row("a row of 82 alphas, CPU", samples[ours.kind], "kunquant" if theirs else None,
              samples.get("kunquant"), unit="ms")
