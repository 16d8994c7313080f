"""Panels, matrices and factors; pandas is the oracle."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

import cenote

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

TIMES, SYMBOLS = 90, 12


def _wide(seed: int = 7) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    close = 100 * np.exp(np.cumsum(random.normal(0, 0.01, (TIMES, SYMBOLS)), axis=0))
    volume = random.integers(1, 1000, (TIMES, SYMBOLS)).astype(float)
    close[random.random(close.shape) < 0.03] = np.nan
    index = pd.date_range("2020-01-01", periods=TIMES, name="date")
    columns = [f"S{i:02d}" for i in range(SYMBOLS)]
    return {
        "close": pd.DataFrame(close, index, columns),
        "volume": pd.DataFrame(volume, index, columns),
    }


def _long(wide: dict[str, Any]) -> Any:
    table = pd.concat({name: frame.stack() for name, frame in wide.items()}, axis=1)
    table = table.reset_index(names=["date", "symbol"])
    return table.sample(frac=1, random_state=3)


@pytest.fixture
def wide() -> dict[str, Any]:
    return _wide()


@pytest.fixture
def panel(wide: dict[str, Any]) -> cenote.Panel:
    return cenote.Panel.from_long(_long(wide), time="date", symbol="symbol")


def _same(ours: cenote.DataFrame, theirs: Any) -> None:
    pd.testing.assert_frame_equal(
        ours.to_pandas(), theirs, rtol=1e-10, check_freq=False, check_names=False,
        check_index_type=False, check_column_type=False,
    )


def test_a_long_table_in_any_order_is_a_panel(panel: cenote.Panel, wide: dict[str, Any]) -> None:
    assert panel.shape == (TIMES, SYMBOLS) and len(panel) == TIMES
    assert panel.fields == ["close", "volume"] and "close" in panel
    assert panel.symbols[:2] == ["S00", "S01"]
    assert str(panel.times[0])[:10] == "2020-01-01"
    _same(panel["close"], wide["close"])
    _same(panel["volume"], wide["volume"])
    assert "90 times, 12 symbols" in repr(panel)


def test_operators_are_those_of_pandas(panel: cenote.Panel, wide: dict[str, Any]) -> None:
    close, volume = panel["close"], panel["volume"]
    c, v = wide["close"], wide["volume"]
    cases = [
        (close + volume, c + v), (1 - close, 1 - c), (close / volume, c / v), (2 * close, 2 * c),
        (-close, -c), (abs(close - 100), (c - 100).abs()), (close ** 2, c ** 2),
        (close.log(), np.log(c)), (close.shift(3), c.shift(3)), (close.diff(), c.diff()),
        (close.pct_change(2), c / c.shift(2) - 1),
        (close.rolling(5).mean(), c.rolling(5).mean()),
        (close.rolling(5).sum(), c.rolling(5).sum()),
        (close.rolling(5).std(), c.rolling(5).std()),
        (close.rolling(5).var(), c.rolling(5).var()),
        (close.rolling(5).min(), c.rolling(5).min()),
        (close.rolling(5).max(), c.rolling(5).max()),
        (close.rolling(5).median(), c.rolling(5).median()),
        (close.rolling(5).rank(), c.rolling(5).rank()),
        (close.rolling(9).skew(), c.rolling(9).skew()),
        (close.rolling(9).kurt(), c.rolling(9).kurt()),
        (close.rolling(7).corr(volume), c.rolling(7).corr(v)),
        (close.rolling(7).cov(volume), c.rolling(7).cov(v)),
        (volume.ewm(span=10).mean(), v.ewm(span=10, adjust=False).mean()),
        (close.rank(axis=1), c.rank(axis=1, pct=True)),
        (close.rank(axis=1, pct=False), c.rank(axis=1)),
        (close.demean(), c.sub(c.mean(axis=1), axis=0)),
        (close.zscore(), c.sub(c.mean(axis=1), axis=0).div(c.std(axis=1), axis=0)),
        (close.scale(), c.div(c.abs().sum(axis=1), axis=0)),
        (close.fillna(0), c.fillna(0)), (close.isna(), c.isna().astype(float)),
        (volume.where(volume > 500, 0), v.where(v > 500, 0)),
        (close.rolling(5).max().rank(axis=1), c.rolling(5).max().rank(axis=1, pct=True)),
    ]
    for ours, theirs in cases:
        _same(ours, theirs)


def test_comparisons_are_missing_where_a_value_is(
    panel: cenote.Panel, wide: dict[str, Any]
) -> None:
    c = wide["close"]
    ours = (panel["close"] > 100).to_numpy()
    assert np.array_equal(np.isnan(ours), c.isna().to_numpy())
    assert np.array_equal(ours == 1, (c > 100).to_numpy())


def test_factors_go_through_the_pool(panel: cenote.Panel, wide: dict[str, Any], pool: Any) -> None:
    pool.put("prices", panel)
    stored = cenote.Panel(pool["prices"])
    assert stored.fields == panel.fields and stored.symbols == panel.symbols
    factors = stored.factors({
        "alpha": "-1 * correlation(rank(close), rank(volume), 10)",
        "momentum": stored["close"].pct_change(20).rank(axis=1),
    })
    assert factors.explain()["warm_up"] == 20
    pool.put("factors", factors)
    back = cenote.Panel(pool["factors"])
    assert back.fields == ["alpha", "momentum"]
    c, v = wide["close"], wide["volume"]
    _same(back["momentum"], (c / c.shift(20) - 1).rank(axis=1, pct=True))
    expected = -c.rank(axis=1, pct=True).rolling(10).corr(v.rank(axis=1, pct=True))
    _same(back["alpha"], expected)
    assert factors.to_panel().fields == back.fields


def test_the_same_bits_in_the_pool_and_out_of_it(panel: cenote.Panel, pool: Any) -> None:
    pool.put("prices", panel)
    formula = "rank(decay_linear(close, 7)) * stddev(returns, 5)"
    ours, stored = panel.formula(formula), cenote.Panel(pool["prices"]).formula(formula)
    assert ours.to_numpy().tobytes() == stored.to_numpy().tobytes()


def test_faults_say_what_and_where(panel: cenote.Panel, wide: dict[str, Any]) -> None:
    with pytest.raises(cenote.ArgumentError, match=r"did you mean close\?\n.*\n +\^"):
        panel.formula("rank(clsoe)")
    with pytest.raises(KeyError, match="no field \"open\"; there are close, volume"):
        panel["open"]
    with pytest.raises(ValueError, match="would look ahead"):
        panel["close"].rank()
    with pytest.raises(ValueError, match="what is ahead cannot be read"):
        panel["close"].shift(-1)
    with pytest.raises(ValueError, match="window=0"):
        panel["close"].rolling(0)
    with pytest.raises(ValueError, match="two panels"):
        panel["close"] + cenote.Panel.from_long(_long(wide), time="date", symbol="symbol")["close"]
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(panel["close"] > 1)
    with pytest.raises(TypeError, match="neither a number nor|text"):
        raise TypeError(str(pytest.raises(ValueError, panel["close"].__add__, "text").value))
    with pytest.raises(ValueError, match="factor \"a\" is .*int"):
        panel.factors({"a": 3})  # type: ignore[dict-item]
    day = dt.date(2020, 1, 1)
    twice = pa.table({"date": [day, day], "s": ["A", "A"], "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match="rows 0 and 1 are both of \"A\" at 2020-01-01"):
        cenote.Panel.from_long(twice, time="date", symbol="s")
    with pytest.raises(TypeError, match="this table is no panel"):
        cenote.Panel(twice)


def test_labels_are_groups(wide: dict[str, Any]) -> None:
    sectors = ["Tech", "Oil", "Bank"]
    table = _long(wide)
    table["sector"] = [sectors[int(symbol[1:]) % 3] for symbol in table["symbol"]]
    panel = cenote.Panel.from_long(
        table, time="date", symbol="symbol", fields=["close", "volume", "sector"])
    returns = wide["close"] / wide["close"].shift(1) - 1
    group = [int(symbol[1:]) % 3 for symbol in returns.columns]
    expected = returns.T.groupby(group).transform(lambda x: x - x.mean()).T
    _same(panel.formula("indneutralize(returns, sector)"), expected)
    library = cenote.Library.alpha101()
    missing = library.missing(panel)
    assert missing["alpha058"] == ["high", "low"] and "industry" in missing["alpha059"]
