"""Prices that every factor engine is given, and what it is asked for.

NumPy alone is needed here: KunQuant has a virtual environment of its own.
"""

from __future__ import annotations

SEED = 20_160_101
MISSING = 0.03
GAP_ROWS = 10
WINDOW = 20
FIELDS = ("open", "high", "low", "close", "volume", "amount", "vwap")
TEN = tuple(f"alpha{number:03}" for number in (1, 2, 3, 6, 12, 13, 40, 44, 53, 101))

ROLLING = {
    "sum": f"sum(close, {WINDOW})",
    "max": f"ts_max(close, {WINDOW})",
    "std": f"stddev(close, {WINDOW})",
    "corr": f"correlation(close, volume, {WINDOW})",
}
RANK = {"rank": "rank(close)"}

# 50 rolling operators, to be ranked: ten kinds, five windows.
KINDS = ("sum(close, {})", "stddev(returns, {})", "ts_max(high, {})", "ts_min(low, {})",
         "delta(close, {})", "decay_linear(volume, {})", "correlation(close, volume, {})",
         "ts_argmax(close, {})", "mean(volume, {})", "ts_rank(close, {})")
WINDOWS = (5, 10, 20, 40, 60)
FIFTY = {f"f{i:02}": kind.format(rows)
         for i, (kind, rows) in enumerate((k, w) for k in KINDS for w in WINDOWS)}

# One factor, 50 windows: of its last operator, and where nothing is common but the input.
SMOOTHED = "mean(rank(correlation(rank(close), rank(volume), 10)), {})"
PLAIN = "stddev(returns, {})"
FIFTY_WINDOWS = range(2, 52)


def prices(rows: int, symbols: int) -> dict:
    """Fields by name, float64 of shape (rows, symbols): prices in cents, volumes in hundreds.

    3 % of the rows of a symbol are missing, in all fields, in stretches of ten rows.
    """
    import numpy as np

    random = np.random.default_rng(SEED)
    shape = (rows, symbols)
    market = random.normal(0.0003, 0.008, (rows, 1))
    beta = random.normal(1, 0.3, symbols)
    steps = market * beta + random.normal(0, 0.015, shape)
    close = random.lognormal(3.5, 0.8, symbols) * np.exp(np.cumsum(steps, axis=0))
    open_ = close * np.exp(random.normal(0, 0.008, shape))
    high = np.maximum(open_, close) * np.exp(np.abs(random.normal(0, 0.006, shape)))
    low = np.minimum(open_, close) * np.exp(-np.abs(random.normal(0, 0.006, shape)))
    volume = random.lognormal(13, 1.2, symbols) * np.exp(random.normal(0, 0.5, shape))
    fields = {name: np.maximum(values, 0.05).round(2) for name, values in
              (("open", open_), ("high", high), ("low", low), ("close", close))}
    fields["volume"] = np.maximum((volume / 100).round(), 1) * 100
    fields["vwap"] = (fields["high"] + fields["low"] + 2 * fields["close"]) / 4
    fields["amount"] = fields["vwap"] * fields["volume"]
    missing = np.zeros(shape, dtype=bool)
    gaps = round(MISSING * rows * symbols / GAP_ROWS)
    start, symbol = random.integers(0, rows, gaps), random.integers(0, symbols, gaps)
    for row in range(GAP_ROWS):
        missing[(start + row) % rows, symbol] = True
    for values in fields.values():
        values[missing] = np.nan
    return {name: fields[name] for name in FIELDS}


def nearly_equal(rows: int, symbols: int):
    """Float64 of shape (rows, symbols): 1 and up to 4,095 of its last digits more."""
    import numpy as np

    random = np.random.default_rng(SEED)
    one = np.float64(1).view(np.int64)
    values = (one + random.integers(0, 4096, (rows, symbols))).view(np.float64)
    values[random.random(values.shape) < MISSING] = np.nan
    return values
