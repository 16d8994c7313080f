"""One side of a case: a process that opens one store and times calls to it.

`python -m bench.child PEER` reads one JSON request a line, `{"op": …, "args": {…}}`, and
answers `{"ok": …}` or `{"error": …, "missing": bool}`. Standard output belongs to that
conversation alone: what a library prints goes to standard error.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys

PEERS = {
    "cenote": "cenote_pool.CenotePool",
    "ray": "ray_store.RayStore",
    "vineyard": "vineyard_store.VineyardStore",
    "ipc file": "ipc_file.IpcFile",
    "memcpy": "memcpy.Memcpy",
    "pyarrow": "pyarrow_import.PyArrowImport",
    "bare": "bare.Bare",
    "own table": "own_table.OwnTable",
    "cenote csv": "csv_files.CenoteCsv",
    "polars csv": "csv_files.PolarsCsv",
    "pyarrow csv": "csv_files.PyArrowCsv",
    "polars ipc": "scans.PolarsIpc",
    "parquet dataset": "scans.ParquetDataset",
    "cenote factors": "cenote_factors.CenoteFactors",
    "kunquant": "kunquant_engine.KunQuantEngine",
    "pandas": "frame_engines.PandasFactors",
    "polars": "frame_engines.PolarsFactors",
    "bottleneck": "frame_engines.BottleneckFactors",
}
PR_SET_PDEATHSIG = 1


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Asks the kernel to send `number` to this process when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def _leave(_number: int, _frame: object) -> None:
    raise SystemExit(1)


def main(kind: str) -> int:
    """Serves requests until standard input closes."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    end_with_parent()
    signal.signal(signal.SIGTERM, _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, name = PEERS[kind].partition(".")
    peer = getattr(importlib.import_module(f"bench.peers.{module}"), name)()
    try:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"ok": getattr(peer, request["op"])(**request["args"])}
            except Exception as error:  # reported to the parent, which decides
                answer = {"error": f"{type(error).__name__}: {error}",
                          "missing": request["op"] == "open" and isinstance(error, ImportError)}
            print(json.dumps(answer), file=answers)
            if request["op"] == "close":
                break
    finally:
        peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
