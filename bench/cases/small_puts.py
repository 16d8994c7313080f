"""10,000 puts of tables of 1 KiB, then a get of each.

One float64 column of 128 rows a table, a name each; gets in random order, each giving an
Arrow table whose first value is checked. One client on each side, turns of 1,000. Ours is
durable before it replies: at the end the daemon is ended by SIGKILL, a new one started, and
the frames are counted and read again.
"""

from __future__ import annotations

import random

from bench import data
from bench.case import Bench
from bench.measure import Samples, interleave
from bench.pool import START_LIMIT_S

GOAL = "≥ 10 × Ray, every one durable against SIGKILL of the daemon"
LIMIT_S = 400
FRAMES = 10_000
BLOCK = 1_000
WARMUP_FRAMES = 200
METRICS = ["put", "get + to_arrow", "10,000 puts", "10,000 gets"]


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    sides = {"ours": bench.client(pool)}
    for kind in ("ray", "vineyard", "ipc file"):
        peer = bench.peer(kind, METRICS)
        if peer is not None:
            sides[kind] = peer
    for side in sides.values():
        side.call("put_small", first=FRAMES, count=WARMUP_FRAMES)
        side.call("get_small", numbers=list(range(FRAMES, FRAMES + WARMUP_FRAMES)))

    bench.say("puts")
    firsts = {name: iter(range(0, FRAMES, BLOCK)) for name in sides}
    puts = interleave({
        name: lambda side=side, name=name: side.call("put_small", first=next(firsts[name]),
                                                     count=BLOCK)
        for name, side in sides.items()}, rounds=FRAMES // BLOCK, warmup=0)

    bench.say("gets")
    order = list(range(FRAMES))
    random.Random(data.SEED).shuffle(order)
    starts = {name: iter(range(0, FRAMES, BLOCK)) for name in sides}

    def some(name: str) -> list[int]:
        start = next(starts[name])
        return sides[name].call("get_small", numbers=order[start : start + BLOCK])

    gets = interleave({name: lambda name=name: some(name) for name in sides},
                      rounds=FRAMES // BLOCK, warmup=0)

    for metric, samples in (("put", puts), ("get + to_arrow", gets)):
        for kind in [name for name in sides if name != "ours"]:
            bench.row(metric, samples["ours"], kind, samples[kind], unit="µs")
    for metric, samples in (("10,000 puts", puts), ("10,000 gets", gets)):
        for kind in [name for name in sides if name != "ours"]:
            bench.row(metric, _total_s(samples["ours"]), kind, _total_s(samples[kind]), unit="s")
    _durable(bench, pool, sides["ours"])


def _total_s(samples: Samples) -> float:
    assert len(samples) == FRAMES
    return sum(samples.ns) / 1e9


def _durable(bench: Bench, pool, writer) -> None:
    writer.kill()
    pool.kill()
    pool.start()
    reader = bench.side("cenote")
    reader.call("wait", address=pool.address, within_s=START_LIMIT_S)
    found = reader.call("count") - WARMUP_FRAMES
    for first in range(0, FRAMES, BLOCK):
        reader.call("get_small", numbers=list(range(first, first + BLOCK)))
    bench.row("frames read after SIGKILL of client and daemon", found, "frames acknowledged",
              FRAMES, unit="frames", better="higher", state="re-adopted")
