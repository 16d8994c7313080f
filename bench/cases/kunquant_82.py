"""KunQuant's 82 of the 101 formulaic alphas, and ours: 1,000 symbols, 1,000 rows.

KunQuant runs its own formulas with `no_fast_stat` (else one missing value spoils all that
follows), float64; Cenote its own library, on a panel of the same fields. 3 % of the rows of a
symbol are missing. CPU on one core; what compiling costs stands apart. Memory is what a first run
adds to inputs and, of KunQuant's, to the results, which it is given room for.
"""

from __future__ import annotations

from bench import alike
from bench.case import Bench
from bench.measure import interleave

GOAL = "≤ 1/4 of KunQuant's CPU; ≤ 200 MB of temporaries; no compile"
LIMIT_S = 1500
ROWS, SYMBOLS = 1000, 1000
ROUNDS = 3
COMPILE_LIMIT_S = 600


def run(bench: Bench) -> None:
    ours = bench.side("cenote factors")
    ours.call("load", rows=ROWS, symbols=SYMBOLS)
    begun = ours.call("prepare", job="all")
    metrics = ["82 alphas, CPU", "82 alphas, temporaries"]
    theirs = bench.peer("kunquant", metrics)
    if theirs is None:
        return
    theirs.call("load", rows=ROWS, symbols=SYMBOLS)
    bench.say("compiling with KunQuant")
    compiled = theirs.call("prepare", job="all", limit_s=COMPILE_LIMIT_S)
    bench.row("until the first run can begin, CPU", begun / 1e9, "kunquant", compiled / 1e9,
              unit="s", state="cold")
    peaks = [side.call("peak", job="all", limit_s=COMPILE_LIMIT_S) for side in (ours, theirs)]
    bench.row(metrics[1], peaks[0] / 1e6, "kunquant", peaks[1] / 1e6, unit="MB", state="cold")
    shares = alike.shares(bench, [ours, theirs], "all")
    assert len(shares) == 82, sorted(shares)
    samples = interleave({
        side.kind: lambda side=side: side.call("run", job="all", limit_s=COMPILE_LIMIT_S)
        for side in (ours, theirs)
    }, rounds=ROUNDS)
    bench.row(metrics[0], samples[ours.kind], "kunquant", samples["kunquant"], unit="s",
              n_cells=ROWS * SYMBOLS, alike=alike.said(shares))
