"""One hot name among 100,000, and among 10.

Two pools of small frames; the same client code asks for one name over and over. Five names
in turn, since a single one may be lucky in the table of names. No peer has names in shared
memory: ours among 10 stands as the peer.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "within 20 % of among 10"
LIMIT_S = 400
MANY = 100_000
FEW = 10
BLOCK = 2_000
ROUNDS = 10
HOT_OF_MANY = (3, 19_997, 50_021, 77_777, 99_991)
HOT_OF_FEW = (1, 3, 5, 7, 9)


def run(bench: Bench) -> None:
    readers = {}
    for n_frames in (FEW, MANY):
        pool = bench.served_pool(capacity=2 << 30)
        with bench.scope():
            writer = bench.client(pool)
            for first in range(0, n_frames, BLOCK):
                writer.call("put_small", first=first, count=min(BLOCK, n_frames - first))
                if first % 20_000 == 0 and first:
                    bench.say(f"{first} of {n_frames} frames")
        readers[n_frames] = bench.client(pool)
        assert readers[n_frames].call("count") == n_frames

    many, few = Samples(), Samples()
    worst = 0.0
    for of_many, of_few in zip(HOT_OF_MANY, HOT_OF_FEW, strict=True):
        samples = interleave({
            "few": lambda n=of_few: readers[FEW].call("get_one", number=n, repeats=BLOCK),
            "many": lambda n=of_many: readers[MANY].call("get_one", number=n, repeats=BLOCK),
        }, rounds=ROUNDS, warmup=1)
        worst = max(worst, samples["many"].median_ns() / samples["few"].median_ns())
        many.ns.extend(samples["many"].ns)
        few.ns.extend(samples["few"].ns)
    bench.row(f"get of a hot name, {MANY:,} frames", many, f"ours, {FEW} frames", few, unit="µs",
              worst_ratio_of_five_names=round(worst, 3))
