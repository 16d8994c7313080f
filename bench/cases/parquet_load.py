"""Load Parquet into a pool.

Two tables, each one file with Snappy and row groups of 1,048,576 rows, as PyArrow writes
them:

* 1 GiB of float64 in 8 columns, random;
* the S&P panel of `shared/data` 50 times (30,952,000 rows of a date, five numbers and a
  name), where it is there.

Ours is `cenote put`, a fresh process a time, into a pool that recycles what the last put
left. Beside it `pyarrow.parquet.read_table`, the first of a fresh process, and the same again
in that process, where its memory is warm. Both say how long the call took, without the start
of the process. Memory is the most that was resident and belongs to the process alone
(`RssAnon`), of PyArrow less the table itself; the goal is two row groups a thread.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

from bench.case import Bench
from bench.measure import Samples
from bench.pool import binary
from bench.side import ROOT, VENV, SideFailed

GOAL = "≥ 1.1 × pyarrow.parquet.read_table; memory beyond the table ≤ two row groups a thread"
LIMIT_S = 900
POOL_BYTES = 6 << 30
ROUNDS = 5
GROUP_ROWS = 1 << 20
PANEL = ROOT.parent / "shared" / "data" / "sp500_daily" / "individual_stocks_5yr.zip"
PANEL_TIMES = 50
POLL_S = 0.005

PEER = """
import json, sys, time, pyarrow.parquet as pq
taken = []
for _ in range(2):
    start = time.perf_counter_ns()
    table = pq.read_table(sys.argv[1])
    taken.append(time.perf_counter_ns() - start)
    facts = [table.num_rows, table.nbytes]
    if len(taken) == 1:
        print(json.dumps([taken[0], *facts]), flush=True)
        sys.stdin.readline()
    del table
print(json.dumps([taken[1], *facts]), flush=True)
"""


def run(bench: Bench) -> None:
    with bench.scope():
        path = bench.tmp / "floats.parquet"
        bench.say("writing 1 GiB of float64")
        _write_floats(path)
        _beside(bench, "1 GiB of float64", path)
        path.unlink()
    if not PANEL.exists():
        bench.skip(f"{PANEL.name} is not there", "S&P panel × 50")
        return
    with bench.scope():
        path = bench.tmp / "panel.parquet"
        bench.say("writing the panel")
        _write_panel(path)
        _beside(bench, "S&P panel × 50", path)
        path.unlink()


def _write_floats(path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(20_240_229)
    rows = (1 << 30) // 8 // 8
    table = pa.table({f"f{i}": random.standard_normal(rows) for i in range(8)})
    pq.write_table(table, path, row_group_size=GROUP_ROWS)


def _write_panel(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    numbers = {name: pa.float64() for name in ("open", "high", "low", "close", "volume")}
    options = pc.ConvertOptions(column_types={**numbers, "Name": pa.string()})
    with zipfile.ZipFile(PANEL) as archive:
        names = [name for name in sorted(archive.namelist())
                 if name.endswith("_data.csv") and "__MACOSX" not in name]
        tables = [pc.read_csv(io.BytesIO(archive.read(name)), convert_options=options)
                  for name in names]
    table = pa.concat_tables(tables * PANEL_TIMES).combine_chunks()
    pq.write_table(table, path, row_group_size=GROUP_ROWS)


def _beside(bench: Bench, what: str, path: Path) -> None:
    pool = bench.served_pool(POOL_BYTES)
    ours, first, again = Samples(), Samples(), Samples()
    own, theirs = 0, 0
    n_bytes = 0
    for turn in range(ROUNDS + 1):
        bench.say(f"{what}: round {turn} of {ROUNDS}")
        put, anonymous = _put(pool.address, path)
        read, reread, rows, n_bytes, peer_anonymous = _read(path)
        assert put["num_rows"] == rows
        if turn:
            ours.ns.append(int(put["seconds"] * 1e9))
            first.ns.append(read)
            again.ns.append(reread)
            own, theirs = max(own, anonymous), max(theirs, peer_anonymous - n_bytes)
    setup = {"n_bytes": n_bytes, "state": "fresh process", "cores": len(os.sched_getaffinity(0))}
    bench.row(f"{what}, first read of a process", ours, "pyarrow read_table", first, unit="GB/s",
              better="higher", **setup)
    bench.row(f"{what}, second read of a process", ours, "pyarrow read_table", again,
              unit="GB/s", better="higher", **setup)
    bench.row(f"{what}, memory beyond the table", own / (1 << 20), "pyarrow read_table",
              theirs / (1 << 20), unit="MiB", state="fresh process")


class _Watched:
    """The most anonymous memory of a process, looked at while it runs."""

    def __init__(self, pid: int) -> None:
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(pid,), daemon=True)
        self._thread.start()

    def _watch(self, pid: int) -> None:
        while not self._over.is_set():
            try:
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            except OSError:
                return
            for line in lines:
                if line.startswith("RssAnon:"):
                    self.most = max(self.most, int(line.split()[1]) << 10)
            time.sleep(POLL_S)

    def end(self) -> int:
        self._over.set()
        self._thread.join()
        assert self.most, "memory was not looked at"
        return self.most


def _put(address: str, path: Path) -> tuple[dict, int]:
    command = [binary(), "put", path, "--name", "t", "--replace", "--json", "--address", address]
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    watched = _Watched(child.pid)
    out, _ = child.communicate(timeout=LIMIT_S)
    most = watched.end()
    if child.returncode != 0:
        raise SideFailed(f"cenote put ended with {child.returncode}")
    return json.loads(out), most


def _read(path: Path) -> tuple[int, int, int, int, int]:
    python = VENV / "bin" / "python"
    child = subprocess.Popen([python if python.exists() else sys.executable, "-c", PEER, path],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    watched = _Watched(child.pid)
    first = child.stdout.readline()
    most = watched.end()
    again, _ = child.communicate("\n", timeout=LIMIT_S)
    if child.returncode != 0:
        raise SideFailed(f"pyarrow ended with {child.returncode}")
    taken, rows, n_bytes = json.loads(first)
    return taken, json.loads(again)[0], rows, n_bytes, most
