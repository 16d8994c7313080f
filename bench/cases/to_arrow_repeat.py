"""A repeated `to_arrow()` of the same frame of 100 columns.

Once while the first table still lives, once after it was dropped. Beside it, PyArrow
importing the 100 arrays again, as in `to_arrow_first`.
"""

from __future__ import annotations

from bench.case import Bench
from bench.measure import interleave

GOAL = "≤ 3 µs"
LIMIT_S = 120
ROUNDS = 30
BLOCK = 200


def run(bench: Bench) -> None:
    pool = bench.served_pool(capacity=1 << 30)
    bench.client(pool).call("load_wide")
    reader = bench.client(pool)
    pyarrow = bench.side("pyarrow")
    warm = interleave({
        "held": lambda: reader.call("to_arrow_repeat", repeats=BLOCK, held=True),
        "dropped": lambda: reader.call("to_arrow_repeat", repeats=BLOCK, held=False),
        "pyarrow": lambda: pyarrow.call("import_stream", repeats=BLOCK),
    }, rounds=ROUNDS, warmup=2)
    for kept, metric in (("held", "repeated to_arrow, first table held"),
                         ("dropped", "repeated to_arrow, first table dropped")):
        bench.row(metric, warm[kept], "pyarrow", warm["pyarrow"], unit="µs",
                  peer_does="export and import of a stream")
