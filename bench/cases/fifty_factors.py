"""50 factors, each a rank of a rolling operator: 3,000 symbols, 2,000 rows, 6 million cells each.

Ten operators, five windows (`bench.prices.FIFTY`). Beside the sum of what their parts cost alone,
each in a run of its own: 50 rolling operators, 50 ranks, and the bytes of inputs and results at the
speed of memcpy on one core, measured here too. CPU on one core. Memory: what a first run adds
to the inputs, with 1,000, 2,000 and 4,000 rows.
"""

from __future__ import annotations

from bench import prices
from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "≤ 2 × (the sum of the parts + bytes ÷ bandwidth); memory flat at T, 2 T, 4 T"
LIMIT_S = 1500
ROWS, SYMBOLS = 2000, 3000
ROUNDS = 3
CALL_LIMIT_S = 300
INPUT_FIELDS = 4


def run(bench: Bench) -> None:
    ours = bench.side("cenote factors")
    ours.call("load", rows=ROWS, symbols=SYMBOLS)
    parts = [*prices.FIFTY, "rank"]
    for job in ("fifty", *parts):
        ours.call("prepare", job=job)
    blocks = {"whole": lambda: ours.call("run", job="fifty", limit_s=CALL_LIMIT_S)}
    for job in parts:
        blocks[job] = lambda job=job: ours.call("run", job=job)
    samples = interleave(blocks, rounds=ROUNDS)
    n_bytes = 8 * ROWS * SYMBOLS * (INPUT_FIELDS + len(prices.FIFTY))
    copied_s = n_bytes * ours.call("copy_ns_per_byte") / 1e9
    sums = Samples([sum(samples[job].ns[turn] for job in prices.FIFTY)
                    + len(prices.FIFTY) * samples["rank"].ns[turn] + round(copied_s * 1e9)
                    for turn in range(ROUNDS)])
    bench.row("50 factors, CPU", samples["whole"], "their parts alone", sums, unit="s",
              n_cells=ROWS * SYMBOLS * len(prices.FIFTY), copy_s=round(copied_s, 3))
    for rows in (ROWS // 2, ROWS, ROWS * 2):
        with bench.scope():
            fresh = bench.side("cenote factors")
            fresh.call("load", rows=rows, symbols=SYMBOLS)
            fresh.call("prepare", job="fifty")
            peak = fresh.call("peak", job="fifty", limit_s=CALL_LIMIT_S)
            bench.row(f"50 factors, temporaries, {rows:,} rows", peak / 1e6, unit="MB",
                      state="cold")
