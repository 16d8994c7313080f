"""Put 1 GiB of float64.

One column of 134,217,728 random values from a NumPy array, checksum on; what was put is
dropped between puts.

* warm and mapped: the client has put before, its arenas are mapped and recycled. Beside
  glibc's memcpy into mapped, warm tmpfs pages with as many threads, beside Ray and Vineyard
  after their first puts (ours then with all cores), and beside writing an Arrow IPC file
  (fresh pages every time).
* a second client's first put: a fresh process, into space that an earlier client's put
  warmed.
* the first put into a pool that has been up for 10 s. Both beside the first put into a Ray,
  and into a Vineyard, that have been up for 10 s.
"""

from __future__ import annotations

import os
import time

from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = ("warm and mapped ≥ 0.9 × memcpy with the same threads; a second client's first put, and "
        "a first put into a pool up for 10 s, ≥ 3 × Ray's first put")
LIMIT_S = 600
N_BYTES = 1 << 30
POOL_BYTES = 4 << 30
ROUNDS = 7
WARMUP = 2
COLD_ROUNDS = 3
UP_S = 10


def run(bench: Bench) -> None:
    for threads in [n for n in (1, 2) if n <= len(os.sched_getaffinity(0))]:
        _warm(bench, "memcpy", f"put, {threads} thread{'s' * (threads > 1)}", threads,
              threads=threads)
    for kind in ("ray", "vineyard", "ipc file"):
        _warm(bench, kind, "put", None)
    _first_puts(bench)


def _warm(bench: Bench, kind: str, metric: str, our_threads: int | None, **options) -> None:
    """Our warm put beside one peer: two sides at a time, for memory's sake."""
    bench.say(f"warm, beside {kind}")
    with bench.scope():
        pool = bench.served_pool(POOL_BYTES)
        ours = bench.client(pool, threads=our_threads)
        peer = bench.peer(kind, [metric], **options)
        if peer is None:
            return
        for side in (ours, peer):
            side.call("load_array", n_bytes=N_BYTES)
        samples = interleave({
            "ours": lambda: ours.call("put_array", repeats=1),
            "theirs": lambda: peer.call("put_array", repeats=1),
        }, rounds=ROUNDS, warmup=WARMUP)
        assert ours.call("check_array") == N_BYTES
        bench.row(metric, samples["ours"], kind, samples["theirs"], unit="GB/s", better="higher",
                  state="warm, mapped", n_bytes=N_BYTES, threads=our_threads or "default",
                  peer_state="fresh pages" if kind == "ipc file" else "warm, mapped")


def _first_puts(bench: Bench) -> None:
    first, second = Samples(), Samples()
    theirs: dict[str, Samples] = {}
    metrics = {"first": f"first put, pool up for {UP_S} s", "second": "a second client's first put"}
    for turn in range(COLD_ROUNDS):
        bench.say(f"first puts, round {turn + 1} of {COLD_ROUNDS}")
        with bench.scope():
            pool = bench.served_pool(POOL_BYTES)
            time.sleep(UP_S)
            for samples in (first, second):
                with bench.scope():
                    samples.ns.extend(_first_put(bench.client(pool)))
        for kind in ("ray", "vineyard"):
            with bench.scope():
                absent = [] if turn else list(metrics.values())
                peer = bench.peer(kind, absent)
                if peer is not None:
                    time.sleep(UP_S)
                    theirs.setdefault(kind, Samples()).ns.extend(_first_put(peer))
    for which, samples in (("first", first), ("second", second)):
        for kind, peer_samples in theirs.items():
            bench.row(metrics[which], samples, kind, peer_samples, unit="GB/s", better="higher",
                      state="cold", n_bytes=N_BYTES,
                      peer_does=f"first put into a store up for {UP_S} s")


def _first_put(side) -> list[int]:
    side.call("load_array", n_bytes=N_BYTES)
    return side.call("put_array", repeats=1)
