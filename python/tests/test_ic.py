"""Information coefficients beside pandas, date by date."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracle import example

ROWS, SYMBOLS, BINS, LEAST = 160, 37, 5, 5


def matrices() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A factor that knows a little, on a coarse grid, and prices; both with gaps."""
    random = np.random.default_rng(11)
    moves = random.normal(0, 0.02, (ROWS, SYMBOLS))
    prices = 50 * np.exp(np.cumsum(moves, axis=0))
    factor = np.round(np.roll(moves, -2, axis=0) * 20 + random.normal(0, 1, moves.shape), 1)
    factor[random.random(factor.shape) < 0.1] = np.nan
    prices[random.random(prices.shape) < 0.05] = np.nan
    factor[30] = 1.0
    factor[40, 3:] = np.nan
    factor[41] = np.nan
    return pd.DataFrame(factor), pd.DataFrame(prices)


def newey_west(series: pd.Series, horizon: int) -> float:
    """t of the mean, as statsmodels' HAC with Bartlett weights and its correction."""
    x = series - series.mean()
    n = x.notna().sum()
    total = (x * x).sum() / n
    for lag in range(1, horizon):
        total += 2 * (1 - lag / horizon) * (x * x.shift(lag)).sum() / n
    return float(series.mean() / np.sqrt(total / (n - 1)))


@pytest.mark.parametrize(("delay", "horizon"), [(1, 1), (1, 5), (0, 3)])
def test_ic_and_quantiles_are_pandas(tmp_path: Path, delay: int, horizon: int) -> None:
    program = str(example("ic"))
    factor, prices = matrices()
    for name, table in (("factor", factor), ("prices", prices)):
        table.to_numpy(np.float64).astype("<f8").tofile(tmp_path / name)
    numbers = [str(SYMBOLS), str(delay), str(horizon)]
    command = [program, tmp_path / "factor", tmp_path / "prices", *numbers, tmp_path / "out"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {line.split()[0]: float(line.split()[1]) for line in printed.splitlines()}
    series = pd.Series(np.fromfile(tmp_path / "out", "<f8"))

    returns = prices.shift(-delay - horizon) / prices.shift(-delay) - 1
    both = factor.notna() & returns.notna()
    x, y = factor.where(both), returns.where(both)
    ranks = x.rank(axis=1), y.rank(axis=1)
    expected = ranks[0].corrwith(ranks[1], axis=1)
    expected[(both.sum(axis=1) < LEAST) | (x.nunique(axis=1) < 2)] = np.nan
    assert expected[[30, 40, 41]].isna().all() and expected.notna().sum() > 140
    pd.testing.assert_series_equal(series, expected, check_names=False, rtol=1e-12, atol=1e-13)

    n = expected.notna().sum()
    assert found["dates"] == n
    assert found["mean"] == pytest.approx(expected.mean(), rel=1e-12)
    assert found["std"] == pytest.approx(expected.std(ddof=1), rel=1e-12)
    assert found["ratio"] == pytest.approx(expected.mean() / expected.std(), rel=1e-12)
    assert found["t"] == pytest.approx(found["ratio"] * np.sqrt(n), rel=1e-12)
    assert found["t_newey_west"] == pytest.approx(newey_west(expected, horizon), rel=1e-9)
    assert found["positive"] == pytest.approx((expected > 0).sum() / n)

    there = (factor.notna() & prices.notna()).sum(axis=1) / prices.notna().sum(axis=1)
    assert found["coverage"] == pytest.approx(there.mean(), rel=1e-12)
    bins = np.ceil(factor.rank(axis=1).mul(BINS).div(factor.count(axis=1), axis=0) - 1e-12)
    means = pd.DataFrame({b: returns.where(bins == b).mean(axis=1) for b in range(1, BINS + 1)})
    for b in range(1, BINS + 1):
        assert found[f"return_{b}"] == pytest.approx(means[b].mean(), rel=1e-9, abs=1e-15)
        own = bins == b
        new = (own & (bins.shift(1) != b)).sum(axis=1) / own.sum(axis=1)
        new = new.where((own.shift(1, fill_value=False)).sum(axis=1) > 0)
        assert found[f"turnover_{b}"] == pytest.approx(new.mean(), rel=1e-12)
    assert found["spread"] == pytest.approx((means[BINS] - means[1]).mean(), rel=1e-9)
    values = factor.nunique(axis=1)
    assert found["few"] == pytest.approx((values[values > 0] < BINS).mean())
