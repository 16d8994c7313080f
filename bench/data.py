"""The data that every side stores: made once here, so that all store the same.

NumPy and PyArrow are imported inside the functions: a process that measures its own
memory must not load what it does not use.
"""

from __future__ import annotations

WIDE_COLUMNS = 100
WIDE_ROWS = 10_000
DAY_ROWS = 500
SMALL_ROWS = 128
TRADES = 4_000_000
SEED = 20_240_229
DAYS = 100
DAYS_ROWS = 50_000
DAYS_ONE = 37
DAYS_ABOVE = 0.9


def wide_table():
    """100 float64 columns of 10,000 rows (8 MB), random, no nulls."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(SEED)
    return pa.table({f"c{i:03}": random.random(WIDE_ROWS) for i in range(WIDE_COLUMNS)})


def small_table(number: int):
    """One float64 column of 128 rows: 1 KiB. Row 0 is `number`, so that a mix-up shows."""
    import numpy as np
    import pyarrow as pa

    return pa.table({"x": np.arange(number, number + SMALL_ROWS, dtype=np.float64)})


def day_table(day: int):
    """One day of a panel: an int64 column that says which, and five of float64."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(day)
    columns = {"day": np.full(DAY_ROWS, day)}
    columns |= {name: random.random(DAY_ROWS) for name in ("open", "high", "low", "close", "vwap")}
    return pa.table(columns)


def days_table():
    """A partition a day: int32 `day` and `symbol`, float64 `value` and seven more, uniform."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(SEED)
    names = ["value", *(f"v{i}" for i in range(7))]
    parts = [
        pa.table({
            "day": np.full(DAYS_ROWS, day, dtype=np.int32),
            "symbol": random.integers(0, 500, DAYS_ROWS, dtype=np.int32),
            **{name: random.random(DAYS_ROWS) for name in names},
        })
        for day in range(DAYS)
    ]
    return pa.concat_tables(parts)


def array(n_bytes: int):
    """Random float64, shape (n_bytes / 8,): no page of it is zero or repeats."""
    import numpy as np

    return np.random.default_rng(SEED).random(n_bytes // 8)


def trades():
    """4,000,000 trades of 100 symbols: symbol (string view), price, size, time."""
    import numpy as np
    import pyarrow as pa

    random = np.random.default_rng(SEED)
    symbols = pa.array([f"S{number:03}" for number in range(100)])
    return pa.table({
        "symbol": symbols.take(pa.array(random.integers(0, 100, TRADES))).cast(pa.string_view()),
        "price": random.random(TRADES) * 100,
        "size": random.integers(1, 1000, TRADES),
        "time": pa.array(np.arange(TRADES)).cast(pa.timestamp("us")),
    })


def wide_digest(table) -> list[float]:
    """Columns, rows, first and last value of an Arrow table: equal on every side."""
    first, last = table.column(0), table.column(table.num_columns - 1)
    return [table.num_columns, table.num_rows, first[0].as_py(), last[len(last) - 1].as_py()]
