"""What a frame occupies beyond its bytes, as the file system says (st_blocks).

A pool of fixed capacity is filled until it refuses, so that space made ready ahead is in
use and the whole run directory counts: arenas, board, catalog, lease pages. Chunks of 1 MiB
and 8 bytes (the worst for page rounding above 1 MiB), of 16 MiB, and frames of 1 KiB.
Where the pool is not full by the bounds on frames and time, the row says so and is an upper bound.
Peer: one Arrow IPC file a frame on tmpfs.
"""

from __future__ import annotations

from bench import machine
from bench.case import Bench

GOAL = "≤ 2 % for chunks ≥ 1 MiB; ≤ 2 KiB a small frame beyond its bytes"
LIMIT_S = 400
FILL_WITHIN_S = 100
KIB = 1 << 10
MIB = 1 << 20
LARGE_POOL = 1 << 30
SMALL_POOL = 256 * MIB
LARGE_CHUNKS = (MIB + 8, 16 * MIB)
SMALL_FRAME = KIB
SMALL_FRAMES_MAX = 200_000
PEER_FRAMES = 200


def run(bench: Bench) -> None:
    for n_bytes in LARGE_CHUNKS:
        ours, setup = _ours(bench, LARGE_POOL, n_bytes, LARGE_POOL // n_bytes + 1)
        theirs = _theirs(bench, n_bytes)
        bench.row(f"space beyond the bytes, chunks of {n_bytes / MIB:g} MiB",
                  100 * ours / n_bytes, "ipc file", 100 * theirs / n_bytes, unit="%",
                  state="full pool", **setup)
    ours, setup = _ours(bench, SMALL_POOL, SMALL_FRAME, SMALL_FRAMES_MAX)
    bench.row("space beyond the bytes, frames of 1 KiB", ours / KIB, "ipc file",
              _theirs(bench, SMALL_FRAME) / KIB, unit="KiB", state="full pool", **setup)


def _ours(bench: Bench, capacity: int, n_bytes: int, frames_max: int) -> tuple[float, dict]:
    """Bytes beyond the data for each frame, and what was found."""
    bench.say(f"filling with frames of {n_bytes} bytes")
    with bench.scope():
        pool = bench.served_pool(capacity)
        client = bench.client(pool)
        filled = client.call("fill", n_bytes=n_bytes, frames_max=frames_max,
                             within_s=FILL_WITHIN_S, limit_s=FILL_WITHIN_S + 30)
        occupied, files = machine.occupied_bytes(pool.run_dir)
        assert filled["frames"] and files, "nothing was stored"
        beyond = (occupied - filled["bytes"]) / filled["frames"]
        return beyond, {"frames": filled["frames"], "full": filled["full"], "files": files,
                        "occupied_bytes": occupied, "info": client.call("info")}


def _theirs(bench: Bench, n_bytes: int) -> float:
    with bench.scope():
        folder = bench.shm / f"ipc-{n_bytes}"
        peer = bench.side("ipc file", folder=str(folder))
        frames = min(PEER_FRAMES, LARGE_POOL // n_bytes)
        stored = peer.call("put_frames", n_frames=frames, n_bytes=n_bytes)
        occupied, files = machine.occupied_bytes(folder)
        assert files == frames
        return (occupied - stored) / frames
