"""The factors beside a plain transcription of their definitions, and the law that matters
most: the future does not change the past."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from demo.factors import FACTORS, Factor, Windows, compute, named

WINDOWS = Windows(year=40, quarter=16, month=6, week=3)
FIELDS = ("open", "high", "low", "close", "volume")


def values(factor: Factor, panel: pl.DataFrame, windows: Windows = WINDOWS) -> np.ndarray:
    """The factor over the panel, NaN where undefined."""
    bars = panel.rename({"Name": "ticker"}).select("ticker", *factor.needs)
    result = compute(factor, bars if factor.engine == "polars" else bars.to_pandas(), windows)
    assert len(result) == panel.height
    return np.asarray(result.to_numpy(), dtype=float)


# -- the definitions once more, bar by bar


def _share(window: np.ndarray, least: int) -> bool:
    return int(np.isfinite(window).sum()) >= least


def _plain(x: dict[str, np.ndarray], t: int, w: Windows, name: str) -> float:
    """The factor at bar t of one ticker, from its definition. May look at bars to t only."""
    close = x["close"]

    def last(series: np.ndarray, n: int) -> np.ndarray:
        return series[max(0, t - n + 1) : t + 1]

    daily = np.full(len(close), np.nan)
    daily[1:] = close[1:] / close[:-1] - 1
    if name == "momentum_12_1":
        return close[t - w.month] / close[t - w.year] - 1 if t >= w.year else np.nan
    if name == "reversal":
        return -(close[t] / close[t - w.week] - 1) if t >= w.week else np.nan
    if name == "low_volatility":
        window = last(daily, w.quarter)
        return -np.nanstd(window, ddof=1) if _share(window, w.least(w.quarter)) else np.nan
    if name == "illiquidity":
        window = last(np.abs(daily) / (close * x["volume"]) * 1e6, w.month)
        return np.nanmean(window) if _share(window, w.least(w.month)) else np.nan
    if name == "year_high":
        high = np.where(x["high"] >= x["low"], x["high"], np.nan)
        window = last(high, w.year)
        return close[t] / np.nanmax(window) if _share(window, w.least(w.year)) else np.nan
    if name == "volume_trend":
        recent, usual = last(x["volume"], w.week), last(x["volume"], w.quarter)
        both = _share(recent, w.least(w.week)) and _share(usual, w.least(w.quarter))
        return np.log(np.nanmean(recent) / np.nanmean(usual)) if both else np.nan
    if name == "overnight":
        night = np.full(len(close), np.nan)
        night[1:] = np.log(x["open"][1:] / close[:-1])
        window = last(night - np.log(close / x["open"]), w.month)
        return np.nanmean(window) if _share(window, w.least(w.month)) else np.nan
    assert name == "max_return"
    window = last(daily, w.month)
    return -np.nanmax(window) if _share(window, w.least(w.month)) else np.nan


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_a_factor_is_its_definition(factor: Factor, panel: pl.DataFrame) -> None:
    found = values(factor, panel)
    expected = []
    for bars in panel.partition_by("Name", maintain_order=True):
        fields = {name: bars[name].cast(pl.Float64).to_numpy().copy() for name in FIELDS}
        fields["volume"][fields["volume"] == 0] = np.nan
        expected += [_plain(fields, t, WINDOWS, factor.name) for t in range(bars.height)]
    assert np.isfinite(expected).sum() > 500
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_the_future_does_not_change_the_past(factor: Factor, panel: pl.DataFrame) -> None:
    cut = panel["date"].unique().sort()[80]
    is_past = (panel["date"] <= cut).to_numpy()
    whole = values(factor, panel)
    assert np.isfinite(whole[is_past]).sum() > 300

    random = np.random.default_rng(3)
    noise = pl.Series(random.uniform(0.1, 10, panel.height))
    later = pl.col("date") > cut
    other = panel.with_columns(
        pl.when(later).then(pl.col(name) * noise).otherwise(name) for name in FIELDS)
    changed = values(factor, other)
    np.testing.assert_array_equal(changed[is_past], whole[is_past])
    assert not np.array_equal(changed[~is_past], whole[~is_past], equal_nan=True)

    without = values(factor, panel.filter(pl.col("date") <= cut))
    np.testing.assert_array_equal(without, whole[is_past])


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_a_ticker_does_not_see_its_neighbours(factor: Factor, panel: pl.DataFrame) -> None:
    alone = panel.filter(pl.col("Name") == "T004")
    within = values(factor, panel)[(panel["Name"] == "T004").to_numpy()]
    np.testing.assert_allclose(values(factor, alone), within, rtol=1e-12)


@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_tickers_may_alternate_from_row_to_row(factor: Factor, panel: pl.DataFrame) -> None:
    by_date = panel.with_row_index("row").sort("date", "Name")
    found = values(factor, by_date.drop("row"))
    np.testing.assert_allclose(found, values(factor, panel)[by_date["row"].to_numpy()], rtol=1e-12)


def nothing(panel: pl.DataFrame) -> pl.DataFrame:
    return panel.with_columns(pl.lit(None, pl.Float64).alias(name) for name in FIELDS)


def zeros(panel: pl.DataFrame) -> pl.DataFrame:
    return panel.with_columns(pl.lit(0.0).alias(name) for name in FIELDS)


def not_numbers(panel: pl.DataFrame) -> pl.DataFrame:
    return panel.with_columns(pl.lit(float("nan")).alias(name) for name in FIELDS)


@pytest.mark.parametrize("spoil", [nothing, zeros, not_numbers])
@pytest.mark.parametrize("factor", FACTORS, ids=lambda factor: factor.name)
def test_of_rubbish_nothing_is_made(factor: Factor, panel: pl.DataFrame,
                                    spoil: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    assert np.isnan(values(factor, spoil(panel))).all()


def test_windows_shrink_with_a_short_history_only() -> None:
    assert Windows.for_history(1259) == Windows() == Windows.for_history(1008)
    short = Windows.for_history(200)
    assert short == Windows(year=50, quarter=12, month=4, week=2)
    least = Windows.for_history(1)
    assert least.week < least.month < least.quarter < least.year


def test_each_factor_says_what_it_is() -> None:
    assert len(FACTORS) == 8 == len({factor.name for factor in FACTORS})
    for factor in FACTORS:
        assert named(factor.name) is factor
        assert "20" in factor.source or "19" in factor.source
        assert factor.definition(WINDOWS)
    assert {factor.engine for factor in FACTORS} == {"polars", "pandas"}
