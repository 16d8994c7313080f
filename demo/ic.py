"""Information coefficients: how well today's ranks foretell the next days' returns.

All matrices have shape (n_dates, n_tickers), float64, NaN where undefined, rows in time
order. Conventions, after alphalens:

* The rank IC of a date is Spearman's correlation, over the tickers that have both, of the
  factor at that close and the forward return. Ties get their average rank.
* Delay 1: a signal from close t is traded at close t+1, so the forward return over h days
  is close[t+1+h] / close[t+1] - 1. Rows are sessions of the panel; nothing is filled, so a
  ticker without a close on one of the two days has no forward return.
* ICIR is mean / std (ddof 1), not annualised.
* Returns of neighbouring dates overlap in h-1 of h days, so a t over all dates would be
  optimistic: it would take one event for h. The t here takes every h-th date. There are h
  ways to do so, by the date that one begins with; the t stated is the mean of the h ts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

DELAY_DAYS = 1
NAMES_MIN = 5
"""A date with fewer tickers has no IC: five ranks are the fewest that say anything."""
QUANTILES = 5


@dataclass(frozen=True)
class Axes:
    """What rows and columns of the matrices stand for, and where each bar goes."""

    dates: NDArray[np.datetime64]
    tickers: list[str]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_dates, n_tickers)."""
        return len(self.dates), len(self.tickers)


def wide(axes: Axes, dates: NDArray[np.datetime64], tickers: NDArray[np.int64],
         values: Matrix) -> Matrix:
    """A long column as a matrix. `tickers`: column number of each value, shape (n,)."""
    matrix = np.full(axes.shape, np.nan)
    matrix[np.searchsorted(axes.dates, dates), tickers] = values
    return matrix


def forward_returns(close: Matrix, horizon_days: int, delay_days: int = DELAY_DAYS) -> Matrix:
    """close[t + delay + horizon] / close[t + delay] - 1; NaN in the last rows."""
    result = np.full(close.shape, np.nan)
    n_known = close.shape[0] - horizon_days - delay_days
    if n_known > 0:
        entry = close[delay_days : delay_days + n_known]
        leave = close[delay_days + horizon_days :]
        with np.errstate(divide="ignore", invalid="ignore"):
            result[:n_known] = leave / entry - 1
    result[~np.isfinite(result)] = np.nan
    return result


def ranks(values: Matrix) -> Matrix:
    """Rank within each row from 1, ties averaged, NaN left out and kept."""
    n_columns = values.shape[1]
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    place = np.broadcast_to(np.arange(n_columns), values.shape)
    differs = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((values.shape[0], 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, differs]), place, 0), axis=1)
    last_reversed = np.where(np.hstack([differs, edge]), place, n_columns)[:, ::-1]
    last = np.minimum.accumulate(last_reversed, axis=1)[:, ::-1]
    result: Matrix = np.empty_like(values)
    np.put_along_axis(result, order, (first + last) / 2 + 1, axis=1)
    result[np.isnan(values)] = np.nan
    return result


def rank_ic(factor: Matrix, forward: Matrix, names_min: int = NAMES_MIN) -> Matrix:
    """Rank IC of each date, shape (n_dates,): NaN where fewer than `names_min` tickers have
    both, or where all of them tie."""
    both = np.isfinite(factor) & np.isfinite(forward)
    x = ranks(np.where(both, factor, np.nan))
    y = ranks(np.where(both, forward, np.nan))
    n = both.sum(axis=1)
    middle = ((n + 1) / 2)[:, None]
    x = np.where(both, x - middle, 0.0)
    y = np.where(both, y - middle, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Matrix = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    result[(n < names_min) | ~np.isfinite(result)] = np.nan
    return result


@dataclass(frozen=True)
class Summary:
    """The ICs of one factor at one horizon. NaN where there are too few dates."""

    horizon_days: int
    series: Matrix
    n_dates: int
    mean: float
    std: float
    icir: float
    positive_share: float
    n_apart: int
    """Dates that a t rests on (of the h ways, the fewest): no two share a day of return."""
    t_apart: float


def summarise(series: Matrix, horizon_days: int) -> Summary:
    """Mean, std, ICIR over all dates; t over dates whose returns do not overlap."""
    known = series[np.isfinite(series)]
    mean, std = _mean_std(known)
    ways = [series[first::horizon_days] for first in range(horizon_days)]
    ways = [way[np.isfinite(way)] for way in ways]
    return Summary(
        horizon_days=horizon_days, series=series, n_dates=len(known), mean=mean, std=std,
        icir=_ratio(mean, std),
        positive_share=float((known > 0).mean()) if len(known) else float("nan"),
        n_apart=min(len(way) for way in ways),
        t_apart=float(np.mean([_t(way) for way in ways])))


def quantile_returns(factor: Matrix, forward: Matrix, names_min: int = NAMES_MIN) -> Matrix:
    """Mean forward return of each fifth of the tickers over that of all, shape (5,).

    Fifths by rank on each date (the last holds the highest factor), equal weights; first
    the mean within a date, then over the dates.
    """
    both = np.isfinite(factor) & np.isfinite(forward)
    both &= (both.sum(axis=1) >= names_min)[:, None]
    rank = ranks(np.where(both, factor, np.nan))
    fifth = np.ceil(rank / both.sum(axis=1, keepdims=True).clip(1) * QUANTILES)
    everyone = _row_means(forward, both)
    excess = [_row_means(forward, both & (fifth == number)) - everyone
              for number in range(1, QUANTILES + 1)]
    return np.array([_mean_std(row[np.isfinite(row)])[0] for row in excess])


def _row_means(values: Matrix, chosen: NDArray[np.bool_]) -> Matrix:
    n = chosen.sum(axis=1)
    total = np.where(chosen, values, 0.0).sum(axis=1)
    return np.where(n > 0, total / n.clip(1), np.nan)


def _mean_std(values: Matrix) -> tuple[float, float]:
    mean = float(values.mean()) if len(values) else float("nan")
    return mean, float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _t(values: Matrix) -> float:
    mean, std = _mean_std(values)
    return _ratio(mean * np.sqrt(len(values)), std)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0 else float("nan")
