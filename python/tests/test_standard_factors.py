"""The standard factors beside their definitions in pandas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from test_alphas import compute, generated


def definitions(p: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    open_, high, low, close, volume = (p[n] for n in ("open", "high", "low", "close", "volume"))
    returns = close / close.shift(1) - 1
    mean = returns.mean(axis=1)
    market = returns.copy()
    market[:] = np.where(returns.notna(), mean.to_numpy()[:, None], np.nan)
    year = returns.rolling(252)
    with_market = year.corr(market)
    change = close.diff()

    def ewm(x: pd.DataFrame, span: int) -> pd.DataFrame:
        return x.ewm(span=span, adjust=False, ignore_na=True).mean().where(x.notna())

    gain, loss = ewm(change.clip(lower=0), 27), ewm((-change).clip(lower=0), 27)
    before = close.shift(1)
    true_range = np.maximum(high, before) - np.minimum(low, before)
    macd = ewm(close, 12) - ewm(close, 26)
    day = np.arange(60.0) - 29.5
    slope = np.log(close).rolling(60).apply(lambda x: (x * day).sum() / (day**2).sum(), raw=True)
    impact = returns.abs() / (close * volume)
    return {
        "momentum_12_1": close.shift(21) / close.shift(252) - 1,
        "reversal_1m": -(close / close.shift(21) - 1),
        "volatility_60": returns.rolling(60).std() * np.sqrt(252),
        "beta_252": year.cov(market) / market.rolling(252).var(),
        "residual_volatility_252": year.std() * np.sqrt(252) * np.sqrt(1 - with_market**2),
        "amihud_21": impact.where(np.isfinite(impact)).rolling(21).mean() * 1e6,
        "rsi_14": 100 * gain / (gain + loss),
        "macd": macd / close,
        "macd_histogram": (macd - ewm(macd, 9)) / close,
        "bollinger_20": (close - close.rolling(20).mean()) / (2 * close.rolling(20).std()),
        "atr_14": ewm(true_range, 27) / close,
        "parkinson_20": np.sqrt(
            (np.log(high / low) ** 2).rolling(20).mean() / (4 * np.log(2)) * 252
        ),
        "volume_trend_20": volume.rolling(20).mean() / volume.rolling(120).mean(),
        "volume_shock": volume / volume.shift(1).rolling(20).mean(),
        "skewness_60": returns.rolling(60).skew(),
        "max_return_21": -returns.rolling(21).max(),
        "high_252": close / high.rolling(252).max(),
        "trend_60": slope / returns.rolling(60).std(),
        "gap_21": (open_ / before - 1).rolling(21).mean(),
    }


def test_standard_factors_are_their_definitions(tmp_path: Path) -> None:
    fields = generated()
    found = compute("standard", fields, tmp_path)
    expected = definitions({name: pd.DataFrame(values) for name, values in fields.items()})
    assert set(found) == set(expected) and len(found) >= 12
    for name, values in found.items():
        theirs = expected[name].to_numpy()
        assert (~np.isnan(theirs)).mean() > 0.1, name
        np.testing.assert_array_equal(np.isnan(values), np.isnan(theirs), err_msg=name)
        np.testing.assert_allclose(values, theirs, rtol=1e-9, atol=1e-12, err_msg=name)
