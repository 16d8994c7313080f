"""64 processes read 1 GiB in place: what each of them has for itself.

One float64 column of 1 GiB. Each reader maps it, reads a byte of each page and keeps it.
Counted per process: private pages (smaps_rollup) plus page tables (VmPTE), less the median
of as many interpreters that loaded PyArrow and read a megabyte of their own. Peer: the same
of an Arrow IPC file mapped from tmpfs. Without huge pages the page tables alone of 1 GiB
are 2 MiB.
"""

from __future__ import annotations

import statistics

from bench import machine
from bench.case import Bench

GOAL = "≤ 2 MiB each beyond an interpreter with pyarrow (2 MiB more a GiB without huge pages)"
LIMIT_S = 400
READERS = 64
N_BYTES = 1 << 30
MIB = 1 << 20


def run(bench: Bench) -> None:
    with bench.scope():
        bare, _ = _readers(bench, "bare", READERS, 0)
    floor = statistics.median(bare)

    with bench.scope():
        pool = bench.served_pool(capacity=2 << 30)
        with bench.scope():
            bench.client(pool).call("store_array", n_bytes=N_BYTES)
        ours, our_tables = _readers(bench, "cenote", READERS, N_BYTES, address=pool.address)
    with bench.scope():
        folder = str(bench.shm / "shared")
        with bench.scope():
            bench.side("ipc file", folder=folder).call("store_array", n_bytes=N_BYTES)
        theirs, their_tables = _readers(bench, "ipc file", READERS, N_BYTES, folder=folder)
    for metric, choose in (("median", statistics.median), ("largest", max)):
        bench.row(f"private memory + page tables a reader, {metric}",
                  (choose(ours) - floor) / MIB, "ipc file", (choose(theirs) - floor) / MIB,
                  unit="MiB", state="mapped", readers=READERS,
                  interpreter_mib=round(floor / MIB, 2),
                  page_tables_ours_mib=round(statistics.median(our_tables) / MIB, 2),
                  page_tables_theirs_mib=round(statistics.median(their_tables) / MIB, 2))


def _readers(bench: Bench, kind: str, count: int, n_bytes: int,
             **options) -> tuple[list[int], list[int]]:
    """Private bytes, and bytes of page tables, of `count` readers alive at once."""
    bench.say(f"{count} readers: {kind}")
    readers = [bench.side(kind, **options) for _ in range(count)]
    for reader in readers:
        spanned = reader.call("read_array")
        assert spanned >= n_bytes, f"a reader saw {spanned} bytes of {n_bytes}"
    return ([machine.private_bytes(reader.pid) for reader in readers],
            [machine.page_table_bytes(reader.pid) for reader in readers])
