"""What the demo's tests share: small panels of made-up prices."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).resolve().parents[2]
SEED = 20_240_229


def make_panel(n_dates: int, n_tickers: int, seed: int = SEED) -> pl.DataFrame:
    """Random walks as daily bars in time order per ticker, some of them bad.

    Columns date, open, high, low, close, volume, Name, as in the S&P 500 files. The last
    ticker begins halfway; one open is missing, one volume is zero, one high below its low.
    """
    random = np.random.default_rng(seed)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=day) for day in range(n_dates)]
    tables = []
    for number in range(n_tickers):
        close = 50 * np.exp(np.cumsum(random.normal(0, 0.02, n_dates)))
        opened = close * np.exp(random.normal(0, 0.005, n_dates))
        reach = np.exp(np.abs(random.normal(0, 0.004, n_dates)))
        tables.append(pl.DataFrame({
            "date": days, "open": opened.round(4),
            "high": (np.maximum(opened, close) * reach).round(4),
            "low": (np.minimum(opened, close) / reach).round(4), "close": close.round(4),
            "volume": random.integers(1_000, 90_000, n_dates), "Name": f"T{number:03}",
        })[n_dates // 2 if number == n_tickers - 1 else 0 :])
    panel = pl.concat(tables)
    row = pl.int_range(pl.len())
    return panel.with_columns(
        open=pl.when(row != 7).then("open"),
        volume=pl.when(row == 9).then(0).otherwise("volume"),
        high=pl.when(row == 11).then(pl.col("low") - 1).otherwise("high"))


@pytest.fixture(scope="session")
def panel() -> pl.DataFrame:
    """120 dates, 12 tickers."""
    return make_panel(120, 12)
