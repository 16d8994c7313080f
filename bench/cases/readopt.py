"""Re-adoption: a new daemon takes over a run directory with 10,000 frames.

The old daemon is ended by SIGKILL. Timed: from starting the new `cenote serve` until a
client that polls each millisecond has connected and had an answer to `info()`, and until a
fresh client has then read a frame. Each time all frames are counted. No peer can do it:
Ray's and Vineyard's data dies with their daemons.
"""

from __future__ import annotations

import time

from bench.case import Bench
from bench.measure import Samples
from bench.pool import START_LIMIT_S

GOAL = "≤ 1 s"
LIMIT_S = 240
FRAMES = 10_000
BLOCK = 1_000
ROUNDS = 7


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    with bench.scope():
        writer = bench.client(pool)
        for first in range(0, FRAMES, BLOCK):
            writer.call("put_small", first=first, count=BLOCK)
    answered, read = Samples(), Samples()
    for turn in range(ROUNDS):
        with bench.scope():
            client = bench.side("cenote")
            pool.kill()
            started = pool.start()
            when = client.call("wait", address=pool.address, within_s=START_LIMIT_S)
            client.call("get_small", numbers=[turn])
            read.ns.append(time.monotonic_ns() - started)
            answered.ns.append(when - started)
            assert client.call("count") == FRAMES, "frames were lost"
            client.call("get_small", numbers=list(range(turn, FRAMES, 97)))
    bench.row("start to first answer", answered, unit="ms", state="re-adopted", frames=FRAMES)
    bench.row("start to first frame read", read, unit="ms", state="re-adopted", frames=FRAMES)
