"""Rolling sum, max, std and corr over 20 rows: 3,000 symbols, 1,000 rows.

Beside bottleneck (symbol by symbol in memory, which is its best; it has no correlation), pandas
(column by column) and KunQuant. 3 % of the rows of a symbol are missing. Nanoseconds of CPU a cell
on one core; results and their memory included.
"""

from __future__ import annotations

from bench import alike
from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "sum ≤ 2 ns a cell, max ≤ 2.5, std ≤ 4, corr ≤ 7"
LIMIT_S = 900
ROWS, SYMBOLS = 1000, 3000
ROUNDS = 5
PEERS = {"sum": ("bottleneck", "pandas", "kunquant"), "max": ("bottleneck", "pandas", "kunquant"),
         "std": ("bottleneck", "pandas", "kunquant"), "corr": ("pandas", "kunquant")}
AGREE = 0.99


def run(bench: Bench) -> None:
    sides = {"ours": bench.side("cenote factors")}
    for kind in PEERS["sum"]:
        metrics = [f"{job}, 20 rows" for job in PEERS if kind in PEERS[job]]
        sides[kind] = bench.peer(kind, metrics)
    sides = {kind: side for kind, side in sides.items() if side is not None}
    for side in sides.values():
        side.call("load", rows=ROWS, symbols=SYMBOLS)
    for job, peers in PEERS.items():
        bench.say(job)
        chosen = {kind: side for kind, side in sides.items() if kind in ("ours", *peers)}
        for side in chosen.values():
            side.call("prepare", job=job)
        for kind, side in chosen.items():
            if kind != "ours":
                share = alike.shares(bench, [sides["ours"], side], job)[job]
                assert share > AGREE, (kind, job, share)
        samples = interleave({
            kind: lambda side=side, job=job: side.call("run", job=job)
            for kind, side in chosen.items()
        }, rounds=ROUNDS)
        cells = {kind: Samples([ns / (ROWS * SYMBOLS) for ns in found.ns])
                 for kind, found in samples.items()}
        for kind in list(chosen)[1:] or [None]:
            bench.row(f"{job}, 20 rows", cells["ours"], kind, cells.get(kind), unit="ns")
