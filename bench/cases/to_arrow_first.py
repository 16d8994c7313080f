"""The first `to_arrow()` of a frame of 100 columns.

The frame has been fetched off the clock; no earlier frame or table of it lives. Beside it,
PyArrow importing the same 100 arrays that it made itself: through `pa.table(obj)` with
`__arrow_c_stream__` (export and import), and the import alone of arrays exported off the
clock. Cold: in a fresh process, where ours also maps the arena.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import Samples, interleave

GOAL = "≤ 1.3 × PyArrow's own import of the same arrays"
LIMIT_S = 180
ROUNDS = 30
BLOCK = 100
FRESH_PROCESSES = 5


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    bench.client(pool).call("load_wide")
    reader = bench.client(pool)
    pyarrow = bench.side("pyarrow")
    warm = interleave({
        "ours": lambda: reader.call("to_arrow_first", repeats=BLOCK),
        "stream": lambda: pyarrow.call("import_stream", repeats=BLOCK),
        "arrays": lambda: pyarrow.call("import_arrays", repeats=BLOCK),
    }, rounds=ROUNDS, warmup=2)
    for route, said in (("stream", "export and import of a stream"), ("arrays", "import alone")):
        bench.row("first to_arrow", warm["ours"], "pyarrow", warm[route], unit="µs",
                  peer_does=said)

    cold = {"ours": Samples(), "pyarrow": Samples()}
    for _ in range(FRESH_PROCESSES):
        with bench.scope():
            cold["ours"].ns.append(bench.client(pool).call("first_get_wide")[1])
            cold["pyarrow"].ns.extend(bench.side("pyarrow").call("import_first"))
    bench.row("first to_arrow of a process", cold["ours"], "pyarrow", cold["pyarrow"], unit="µs",
              state="cold", peer_does="export and import of a stream")
