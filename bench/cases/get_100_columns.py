"""Get a table of 100 columns by name.

100 float64 columns of 10,000 rows, put by another process. Ours: `pool.get(name)`, which
leases all 100 columns, and the same with `to_arrow()`, which is what the peers' get gives.
Peers: `ray.get(ref)` in the process that put it, Vineyard's `get(id)`, and opening, mapping
and reading an Arrow IPC file on tmpfs. Cold: the first get of a fresh process that has its
libraries loaded and is connected.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "≤ 5 µs; ≤ 1/40 of Ray's get"
LIMIT_S = 300
ROUNDS = 20
BLOCK = {"ours": 500, "ray": 100, "vineyard": 3, "ipc file": 100}
FRESH_PROCESSES = 5
METRICS = ["get", "get + to_arrow", "first get in a process, + to_arrow"]


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    digest = bench.client(pool).call("load_wide")
    reader = bench.client(pool)
    peers = {}
    for kind in ("ray", "vineyard", "ipc file"):
        peer = bench.peer(kind, METRICS)
        if peer is not None:
            assert peer.call("load_wide") == digest, f"{kind} stored another table"
            peers[kind] = peer

    blocks = {
        "ours": lambda: reader.call("get_wide", repeats=BLOCK["ours"]),
        "held": lambda: reader.call("get_wide", repeats=BLOCK["ours"], held=True),
        "arrow": lambda: reader.call("get_wide_arrow", repeats=BLOCK["ours"]),
    }
    for kind, peer in peers.items():
        blocks[kind] = lambda peer=peer, kind=kind: peer.call("get_wide", repeats=BLOCK[kind])
    bench.say("warm")
    warm = interleave(blocks, rounds=ROUNDS, warmup=2)
    for kind in peers:
        bench.row("get", warm["ours"], kind, warm[kind], unit="µs")
    for kind in peers:
        bench.row("get + to_arrow", warm["arrow"], kind, warm[kind], unit="µs")
    bench.row("get, an earlier frame still held", warm["held"], "ours, none held", warm["ours"],
              unit="µs")

    bench.say("cold")
    get, arrow = Samples(), Samples()
    theirs = {kind: Samples() for kind in peers}
    for _ in range(FRESH_PROCESSES):
        with bench.scope():
            get_ns, arrow_ns = bench.client(pool).call("first_get_wide")
            get.ns.append(get_ns)
            arrow.ns.append(get_ns + arrow_ns)
        for kind, peer in peers.items():
            theirs[kind].ns.extend(_first_get(bench, kind, peer))
    bench.row("first get in a process", get, unit="µs", state="cold")
    for kind in peers:
        bench.row("first get in a process, + to_arrow", arrow, kind, theirs[kind], unit="µs",
                  state="cold")


def _first_get(bench: Bench, kind: str, peer) -> list[int]:
    if kind == "ray":
        return peer.call("first_get_wide", processes=1)
    with bench.scope():
        if kind == "vineyard":
            fresh = bench.side(kind, socket=peer.options["socket"], serve=False)
            fresh.call("join_wide", wide_id=peer.call("wide_id"))
        else:
            fresh = bench.side(kind, folder=peer.options["folder"])
        return fresh.call("get_wide", repeats=1)
