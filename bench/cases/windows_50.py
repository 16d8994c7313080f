"""One factor with 50 windows, in one run and in fifty: 1,000 symbols, 1,000 rows.

The factor is `mean(rank(correlation(rank(close), rank(volume), 10)), n)`, n from 2 to 51: all but
the last operator is common. The second has nothing common but its input: `stddev(returns, n)`.
CPU on one core.
"""

from __future__ import annotations

from bench import prices
from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "≤ 1/10 of fifty runs"
LIMIT_S = 600
ROWS, SYMBOLS = 1000, 1000
ROUNDS = 5


def run(bench: Bench) -> None:
    ours = bench.side("cenote factors")
    ours.call("load", rows=ROWS, symbols=SYMBOLS)
    for which, what in (("SMOOTHED", "a common part"), ("PLAIN", "no common part")):
        each = [f"window:{which}:{rows}" for rows in prices.FIFTY_WINDOWS]
        for job in (f"windows:{which}", *each):
            ours.call("prepare", job=job)
        samples = interleave({
            "one": lambda which=which: ours.call("run", job=f"windows:{which}"),
            "fifty": lambda each=each: [sum(ours.call("run", job=job)[0] for job in each)],
        }, rounds=ROUNDS)
        bench.row(f"50 windows, {what}", samples["one"], "ours, 50 runs", samples["fifty"],
                  unit="s")
