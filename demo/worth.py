"""What the factors are worth: from long frames in the pool to information coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from demo import ic
from demo.bars import frame_name
from demo.factors import Factor
from demo.ic import Axes, Matrix
from demo.outcome import Verdict

HORIZONS_DAYS = (5, 21)
"""How far ahead returns are foretold: about a week, about a month."""


def close_matrix(prices: pl.DataFrame) -> tuple[Axes, Matrix]:
    """The axes of all matrices, and the closes: shape (n_dates, n_tickers)."""
    bars = prices.select("date", "ticker", pl.col("close").cast(pl.Float64)).drop_nulls(
        ["date", "ticker"])
    axes = Axes(bars["date"].unique().sort().to_numpy(),
                bars["ticker"].unique().sort().to_list())
    close = _matrix(bars.rename({"close": "value"}), axes)
    close[~(np.isfinite(close) & (close > 0))] = np.nan
    return axes, close


def factor_matrix(pool: Any, factor: Factor, axes: Axes) -> Matrix:
    """A factor out of the pool, read in place: shape (n_dates, n_tickers)."""
    frame: pl.DataFrame = pool.get(frame_name(factor.name)).to_polars()
    return _matrix(frame.with_columns(pl.col("date").cast(pl.Date)), axes)


def _matrix(long: pl.DataFrame, axes: Axes) -> Matrix:
    column_of = pl.Enum(axes.tickers)
    tickers = long["ticker"].cast(pl.String).cast(column_of).to_physical().to_numpy()
    values = long["value"].to_numpy()
    return ic.wide(axes, long["date"].to_numpy(), tickers.astype(np.int64), values)


def judge(factor: Factor, values: Matrix, close: Matrix) -> Verdict:
    """ICs at each horizon, and returns by fifths at the longest."""
    summaries = {}
    quantiles = np.full(ic.QUANTILES, np.nan)
    for horizon_days in HORIZONS_DAYS:
        forward = ic.forward_returns(close, horizon_days)
        summaries[horizon_days] = ic.summarise(ic.rank_ic(values, forward), horizon_days)
        quantiles = ic.quantile_returns(values, forward)
    return Verdict(factor, summaries, quantiles)
