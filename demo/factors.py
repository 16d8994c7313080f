"""The eight factors: definition, source, and the computation, per ticker in time order.

Conventions:

* A row is a bar; windows count the bars of one ticker, never calendar days. The value at a
  bar uses that bar's close and what came before, nothing later.
* A factor is signed so that its source expects *more* of it to mean a higher return: a
  positive information coefficient is what the literature says.
* Rolling means need four fifths of their window; ends of a window must both exist. Else
  the value is null. Nothing is filled forward.
* A price that is not positive and finite, and a volume of zero, count as missing
  (`audit` counts them); so do high and low of a bar whose high is below its low.

Each factor is written for one of two libraries: Polars (an expression) or pandas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

YEAR_BARS = 252


@dataclass(frozen=True)
class Windows:
    """Lengths in bars. Fixed before anything is computed."""

    year: int = YEAR_BARS
    quarter: int = 63
    month: int = 21
    week: int = 5

    @classmethod
    def for_history(cls, n_dates: int) -> Windows:
        """The usual lengths, or shorter ones where a year is over a quarter of the history.

        The proportions stay: a quarter is a quarter of the year, a month a twelfth.
        """
        year = min(YEAR_BARS, max(24, n_dates // 4))
        month = max(3, round(year / 12))
        return cls(year, max(6, round(year / 4)), month, max(2, round(month / 4)))

    def least(self, window: int) -> int:
        """How many bars of a rolling window must exist: four fifths, and two."""
        return max(2, -(-window * 4 // 5))


@dataclass(frozen=True)
class Factor:
    """One factor. `needs`: which fields of a bar. `engine`: the library of `compute`.

    Polars: `compute(windows)` is an expression over one ticker's bars. pandas:
    `compute(bars, windows)` is a Series over all bars, in their order.
    """

    name: str
    title: str
    definition: Callable[[Windows], str]
    source: str
    needs: tuple[str, ...]
    engine: str
    compute: Callable[..., Any]


# -- fields of a bar, with what is unusable as null


def _price(name: str) -> pl.Expr:
    import polars as pl

    value = pl.col(name).cast(pl.Float64)
    return pl.when(value.is_finite() & (value > 0)).then(value)


def _high() -> pl.Expr:
    import polars as pl

    return pl.when(_price("high") >= _price("low")).then(_price("high"))


def _volume() -> pl.Expr:
    return _price("volume")


def _daily_return() -> pl.Expr:
    close = _price("close")
    return close / close.shift(1) - 1


def _usable(column: pd.Series) -> pd.Series:
    """Of a pandas column: NaN where the value is not positive and finite."""
    value = column.astype("float64")
    return value.where((value > 0) & (value < float("inf")))


# -- the factors


def _momentum(w: Windows) -> pl.Expr:
    close = _price("close")
    return close.shift(w.month) / close.shift(w.year) - 1


def _reversal(w: Windows) -> pl.Expr:
    close = _price("close")
    return 1 - close / close.shift(w.week)


def _low_volatility(w: Windows) -> pl.Expr:
    return -_daily_return().rolling_std(w.quarter, min_samples=w.least(w.quarter), ddof=1)


def _illiquidity(w: Windows) -> pl.Expr:
    traded = _price("close") * _volume()
    daily = _daily_return().abs() / traded * 1e6
    return daily.rolling_mean(w.month, min_samples=w.least(w.month))


def _year_high(w: Windows) -> pl.Expr:
    return _price("close") / _high().rolling_max(w.year, min_samples=w.least(w.year))


def _overnight(w: Windows) -> pl.Expr:
    opened, close = _price("open"), _price("close")
    night = (opened / close.shift(1)).log()
    day = (close / opened).log()
    return (night - day).rolling_mean(w.month, min_samples=w.least(w.month))


def _volume_trend(bars: pd.DataFrame, w: Windows) -> pd.Series:
    import numpy as np

    by = _usable(bars["volume"]).groupby(bars["ticker"], sort=False)
    recent = _rolling(by, w.week, w.least(w.week), "mean")
    usual = _rolling(by, w.quarter, w.least(w.quarter), "mean")
    return np.log(recent / usual)


def _max_return(bars: pd.DataFrame, w: Windows) -> pd.Series:
    close = _usable(bars["close"])
    daily = close / close.groupby(bars["ticker"], sort=False).shift(1) - 1
    by = daily.groupby(bars["ticker"], sort=False)
    return -_rolling(by, w.month, w.least(w.month), "max")


def _rolling(by: Any, window: int, least: int, what: str) -> pd.Series:
    """A rolling statistic of each ticker, back in the order of the bars."""
    return getattr(by.rolling(window, min_periods=least), what)().droplevel(0).sort_index()


FACTORS: tuple[Factor, ...] = (
    Factor("momentum_12_1", "Momentum 12-1",
           lambda w: f"close[t-{w.month}] / close[t-{w.year}] - 1",
           "Jegadeesh & Titman (1993), Journal of Finance 48, 65–91",
           ("close",), "polars", _momentum),
    Factor("reversal", "Short-term reversal",
           lambda w: f"-(close[t] / close[t-{w.week}] - 1)",
           "Lehmann (1990), Quarterly Journal of Economics 105, 1–28",
           ("close",), "polars", _reversal),
    Factor("low_volatility", "Low volatility",
           lambda w: f"-std(daily return, {w.quarter} bars)",
           "Ang, Hodrick, Xing & Zhang (2006), Journal of Finance 61, 259–299 "
           "(there: idiosyncratic, over a month)",
           ("close",), "polars", _low_volatility),
    Factor("illiquidity", "Amihud illiquidity",
           lambda w: f"mean(|daily return| / (close × volume) × 10⁶, {w.month} bars)",
           "Amihud (2002), Journal of Financial Markets 5, 31–56 (there: over a year)",
           ("close", "volume"), "polars", _illiquidity),
    Factor("year_high", "52-week-high distance",
           lambda w: f"close[t] / max(high, {w.year} bars)",
           "George & Hwang (2004), Journal of Finance 59, 2145–2176",
           ("close", "high", "low"), "polars", _year_high),
    Factor("volume_trend", "Volume trend",
           lambda w: f"log(mean(volume, {w.week} bars) / mean(volume, {w.quarter} bars))",
           "after Gervais, Kaniel & Mingelgrin (2001), Journal of Finance 56, 877–919",
           ("volume",), "pandas", _volume_trend),
    Factor("overnight", "Overnight vs intraday",
           lambda w: "mean(log(open[t] / close[t-1]) - log(close[t] / open[t]), "
                     f"{w.month} bars)",
           "after Lou, Polk & Skouras (2019), Journal of Financial Economics 134, 192–213",
           ("open", "close"), "polars", _overnight),
    Factor("max_return", "Maximum daily return",
           lambda w: f"-max(daily return, {w.month} bars)",
           "Bali, Cakici & Whitelaw (2011), Journal of Financial Economics 99, 427–446",
           ("close",), "pandas", _max_return),
)
"""All factors, in the order in which they are reported."""


def named(name: str) -> Factor:
    """The factor of that name. Raises: KeyError."""
    return {factor.name: factor for factor in FACTORS}[name]


def compute(factor: Factor, bars: Any, windows: Windows) -> Any:
    """The factor's values: shape (n_bars,), float64, null (Polars) or NaN (pandas) where
    undefined, in the order of the bars.

    `bars` is a DataFrame of the factor's library with `ticker` and the fields it needs; the
    bars of each ticker stand in time order. An infinite result counts as undefined.
    """
    if factor.engine == "polars":
        import polars as pl

        value = factor.compute(windows)
        value = pl.when(value.is_finite()).then(value)
        return bars.select(value.over("ticker").alias("value"))["value"]
    value = factor.compute(bars.reset_index(drop=True), windows)
    return value.where(value.abs() < float("inf"))
