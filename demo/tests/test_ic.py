"""Information coefficients beside pandas' own Spearman correlation, date by date."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from demo import ic

SHAPE = (60, 17)


@pytest.fixture(scope="module")
def matrices() -> tuple[np.ndarray, np.ndarray]:
    """A factor with ties, infinities and gaps, and closes with gaps."""
    random = np.random.default_rng(1)
    factor = random.integers(0, 9, SHAPE).astype(float)
    factor[random.random(SHAPE) < 0.2] = np.nan
    factor[3, 2] = np.inf
    factor[5] = 1.0
    factor[6, 3:] = np.nan
    close = 40 * np.exp(np.cumsum(random.normal(0, 0.02, SHAPE), axis=0))
    close[random.random(SHAPE) < 0.1] = np.nan
    return factor, close


def test_ranks_are_those_of_pandas(matrices: tuple[np.ndarray, np.ndarray]) -> None:
    factor, close = matrices
    for values in (factor, close, np.array([[0.0, -0.0, np.inf, -np.inf, np.nan]])):
        expected = pd.DataFrame(values).rank(axis=1).to_numpy()
        np.testing.assert_array_equal(ic.ranks(values), expected)


@pytest.mark.parametrize("horizon_days", [1, 5, 21])
def test_rank_ic_is_the_spearman_correlation_of_pandas(
        matrices: tuple[np.ndarray, np.ndarray], horizon_days: int) -> None:
    factor, close = matrices
    forward = ic.forward_returns(close, horizon_days)
    found = ic.rank_ic(factor, forward, names_min=5)
    n_compared = 0
    for at in range(SHAPE[0]):
        pair = pd.DataFrame({"factor": factor[at], "forward": forward[at]})
        pair = pair.replace([np.inf, -np.inf], np.nan).dropna()
        expected = pair.corr(method="spearman").iloc[0, 1] if len(pair) >= 5 else np.nan
        if math.isnan(expected):
            assert math.isnan(found[at])
        else:
            assert found[at] == pytest.approx(expected, abs=1e-12)
            n_compared += 1
    assert n_compared >= SHAPE[0] - horizon_days - 4


def test_forward_returns_start_one_close_after_the_signal() -> None:
    close = np.array([[1.0], [2.0], [3.0], [6.0], [np.nan], [12.0]])
    np.testing.assert_allclose(ic.forward_returns(close, 2)[:, 0],
                               [6 / 2 - 1, np.nan, 12 / 6 - 1, np.nan, np.nan, np.nan])
    assert np.isnan(ic.forward_returns(close, 50)).all()


def test_forward_returns_by_brute_force(matrices: tuple[np.ndarray, np.ndarray]) -> None:
    close = matrices[1]
    found = ic.forward_returns(close, 5)
    for at in range(SHAPE[0]):
        for ticker in range(SHAPE[1]):
            inside = at + 6 < SHAPE[0]
            expected = close[at + 6, ticker] / close[at + 1, ticker] - 1 if inside else np.nan
            np.testing.assert_equal(found[at, ticker], expected)


def test_a_factor_that_knows_the_future_has_an_ic_of_one(
        matrices: tuple[np.ndarray, np.ndarray]) -> None:
    forward = ic.forward_returns(matrices[1], 5)
    series = ic.rank_ic(forward, forward)
    assert series[np.isfinite(series)] == pytest.approx(1.0)
    assert ic.rank_ic(-forward, forward)[0] == pytest.approx(-1.0)


def test_the_t_takes_dates_whose_returns_do_not_overlap() -> None:
    series = np.random.default_rng(2).normal(0.02, 0.1, 103)
    series[:4] = np.nan
    summary = ic.summarise(series, 5)
    ways = [pd.Series(series[first::5]).dropna() for first in range(5)]
    expected = np.mean([way.mean() / way.std() * math.sqrt(len(way)) for way in ways])
    assert summary.t_apart == pytest.approx(expected)
    assert summary.n_apart == 19 and summary.n_dates == 99
    assert summary.mean == pytest.approx(np.nanmean(series))
    assert summary.icir == pytest.approx(np.nanmean(series) / np.nanstd(series, ddof=1))


def test_a_summary_of_nothing_is_nan_not_an_error() -> None:
    for series in (np.full(10, np.nan), np.array([]), np.array([0.3])):
        summary = ic.summarise(series, 21)
        assert math.isnan(summary.t_apart) and math.isnan(summary.icir)


def test_fifths_order_the_tickers_and_average_to_nothing() -> None:
    factor = np.tile(np.arange(20.0), (6, 1))
    forward = factor / 100
    found = ic.quantile_returns(factor, forward)
    np.testing.assert_allclose(found, [-0.08, -0.04, 0.0, 0.04, 0.08], atol=1e-15)


def test_long_becomes_wide() -> None:
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    axes = ic.Axes(days, ["A", "B"])
    matrix = ic.wide(axes, days[[1, 0]], np.array([0, 1]), np.array([1.5, 2.5]))
    np.testing.assert_array_equal(matrix, [[np.nan, 2.5], [1.5, np.nan]])
