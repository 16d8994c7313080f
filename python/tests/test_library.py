"""Factors by name, and what they say of returns; pandas is the oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cenote

TIMES, SYMBOLS = 300, 17
FIELDS = ("open", "high", "low", "close", "volume")


def _fields() -> dict[str, pd.DataFrame]:
    random = np.random.default_rng(5)
    close = 50 * np.exp(np.cumsum(random.normal(0, 0.02, (TIMES, SYMBOLS)), axis=0))
    open_ = close * (1 + random.normal(0, 0.005, close.shape))
    high = np.maximum(open_, close) * (1 + random.random(close.shape) / 100)
    low = np.minimum(open_, close) * (1 - random.random(close.shape) / 100)
    volume = np.round(random.lognormal(9, 1, close.shape))
    gaps = random.random(close.shape) < 0.02
    index = pd.date_range("2020-01-01", periods=TIMES, name="date")
    columns = [f"S{i:02d}" for i in range(SYMBOLS)]
    values = dict(zip(FIELDS, (open_, high, low, close, volume), strict=True))
    return {n: pd.DataFrame(np.where(gaps, np.nan, v), index, columns) for n, v in values.items()}


@pytest.fixture(scope="module")
def fields() -> dict[str, pd.DataFrame]:
    return _fields()


@pytest.fixture(scope="module")
def panel(fields: dict[str, pd.DataFrame]) -> cenote.Panel:
    return cenote.Panel.from_wide(fields)


def test_wide_tables_are_a_panel(panel: cenote.Panel, fields: dict[str, pd.DataFrame]) -> None:
    assert panel.fields == list(FIELDS) and panel.shape == (TIMES, SYMBOLS)
    pd.testing.assert_frame_equal(
        panel["high"].to_pandas(), fields["high"], check_freq=False, check_index_type=False)
    with pytest.raises(ValueError, match='row 299 of "low" is of another time'):
        cenote.Panel.from_wide({"close": fields["close"], "low": fields["low"][:-1]})
    with pytest.raises(TypeError, match='column "S00" is .*a field must be numbers'):
        cenote.Panel.from_wide({"close": fields["close"].astype({"S00": str})})


def test_a_library_lists_and_describes_its_factors() -> None:
    library = cenote.Library.alpha101()
    assert len(library) == 101 == len(list(library)) and library.names[0] == "alpha001"
    assert "WorldQuant retains rights" in library.source and "101 factors" in repr(library)
    alpha = library["ALPHA012"]
    assert "sign(delta(volume, 1))" in alpha.formula
    assert (alpha.name, alpha.fields, alpha.lookback) == ("alpha012", ["close", "volume"], 1)
    assert library["alpha043"].adv == "shares" and library["alpha042"].delay == 0
    assert cenote.Library.standard()["rsi_14"].lookback is None
    assert "Jegadeesh" in cenote.Library.standard()["momentum_12_1"].about
    assert "alpha101" in library and "alpha102" not in library
    with pytest.raises(KeyError, match="no factor \"alpha102\"; did you mean alpha"):
        library["alpha102"]
    few = library.select(["alpha101", "alpha007"])
    assert few.names == ["alpha101", "alpha007"]
    with pytest.raises(KeyError, match="not among the 2"):
        few["alpha001"]


def test_what_a_panel_lacks_is_said(panel: cenote.Panel) -> None:
    library = cenote.Library.alpha101()
    missing = library.missing(panel)
    assert len(missing) == 19 and missing["alpha056"] == ["cap"]
    assert missing["alpha048"] == ["subindustry"]
    factors = panel.factors(library)
    assert factors.left_out == missing and len(factors.fields) == 82
    assert factors.stand_ins == {
        "vwap": "(high + low + close) / 3", "amount": "close * volume"}
    assert "19 left out" in repr(factors) and "vwap = (high" in repr(factors)
    assert panel.factors({"a": "rank(close)"}).stand_ins == {}
    made = panel.formula("vwap - close").rank(axis=1)
    assert list(panel.factors({"a": made}).stand_ins) == ["vwap"]
    assert panel.factors({"a": panel["close"].rank(axis=1)}).stand_ins == {}


def test_all_in_one_stream_are_each_by_itself(panel: cenote.Panel) -> None:
    library = cenote.Library.alpha101()
    own = {"mine": "rank(close)", "ours": panel["close"].pct_change(3)}
    together = panel.factors([library, cenote.Library.standard(), own]).to_panel()
    assert len(together.fields) == 82 + len(cenote.Library.standard()) + 2
    for name in ("alpha001", "alpha053", "alpha098", "macd", "mine"):
        alone = (own[name] if name in own else
                 next(lib[name].formula for lib in (library, cenote.Library.standard())
                      if name in lib))
        one = panel.factors({name: alone}) if name in own else panel.factors(
            (library if name in library else cenote.Library.standard()).select([name]))
        assert one.to_panel()[name].to_numpy().tobytes() == together[name].to_numpy().tobytes()
    with pytest.raises(ValueError, match='two factors are named "alpha001"'):
        panel.factors([library, {"alpha001": "close"}])
    with pytest.raises(ValueError, match="must be a Library"):
        panel.factors("rank(close)")  # type: ignore[arg-type]


def test_adv_is_in_dollars_where_the_reading_is_literal(panel: cenote.Panel) -> None:
    def share(literal: bool) -> float:
        library = cenote.Library.alpha101(literal=literal).select(["alpha007"])
        values = panel.factors(library).to_panel()["alpha007"].to_numpy()
        return float((values[~np.isnan(values)] == -1).mean())

    assert share(True) > 0.99 and share(False) < 0.95


def test_a_file_of_factors(panel: cenote.Panel, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('fields = ["close", "cap"]\n[definitions]\nm = "delta(close, 5)"\n'
                    '[factors]\na = "rank(m)"\nb = "rank(m / cap)"\n')
    factors = panel.factors(cenote.Library.read(file))
    assert factors.fields == ["a"] and factors.left_out == {"b": ["cap"]}
    file.write_text('[factors]\na = "rank(m"\n')
    with pytest.raises(ValueError, match=r"mine.toml:2: a: (.|\n)*\^"):
        panel.factors(cenote.Library.read(file))
    with pytest.raises(ValueError, match="text:1: no key \"factor\""):
        cenote.Library.parse("factor = 1\n")
    with pytest.raises(FileNotFoundError, match="none.toml"):
        cenote.Library.read(tmp_path / "none.toml")


def test_an_ic_is_that_of_pandas(panel: cenote.Panel, fields: dict[str, pd.DataFrame]) -> None:
    library = cenote.Library.alpha101().select(["alpha012", "alpha042", "alpha101"])
    factors = panel.factors([library, {"mine": "-delta(close, 3)"}])
    found = factors.ic(horizons=[1, 5], bins=3, least=5)
    assert found.factors == ["alpha012", "alpha042", "alpha101", "mine"] and len(found) == 8
    table = found.to_pandas()
    values, close = factors.to_panel(), fields["close"]
    by_date = found.by_date()
    assert by_date.symbols == found.factors and by_date.shape == (TIMES, 4)
    for name in found.factors:
        # Alpha 42 is traded at the close that it reads, as the paper says.
        delay = 0 if name == "alpha042" else 1
        factor = values[name].to_pandas()
        for horizon in (1, 5):
            row = table.loc[(name, horizon)]
            assert row["delay"] == delay
            returns = close.shift(-delay - horizon) / close.shift(-delay) - 1
            both = factor.notna() & returns.notna()
            x, y = factor.where(both).rank(axis=1), returns.where(both).rank(axis=1)
            few = (both.sum(axis=1) < 5) | (x.nunique(axis=1) < 2)
            expected = x.corrwith(y, axis=1).mask(few)
            assert expected.notna().sum() > 200
            series = by_date[f"ic_{horizon}"].to_pandas()[name]
            np.testing.assert_allclose(series, expected, rtol=1e-11, atol=1e-13)
            assert row["dates"] == expected.notna().sum()
            assert row["mean"] == pytest.approx(expected.mean(), rel=1e-10)
            assert row["icir"] == pytest.approx(expected.mean() / expected.std(), rel=1e-10)
            there = (factor.notna() & close.notna()).sum(axis=1) / close.notna().sum(axis=1)
            assert row["coverage"] == pytest.approx(there.mean(), rel=1e-12)
            bins = np.ceil(factor.rank(axis=1).mul(3).div(factor.count(axis=1), axis=0) - 1e-12)
            means = pd.DataFrame({b: returns.where(bins == b).mean(axis=1) for b in (1, 2, 3)})
            assert row["return_3"] == pytest.approx(means[3].mean(), rel=1e-9)
            assert row["spread"] == pytest.approx((means[3] - means[1]).mean(), rel=1e-9)
            assert row["turnover"] == pytest.approx((row["turnover_1"] + row["turnover_3"]) / 2)


def test_an_ic_shows_what_it_rests_on(panel: cenote.Panel) -> None:
    found = panel.factors({"a": "rank(vwap - close)", "same": "close * 0 + 1"}).ic(least=5)
    table = found.to_pandas()
    assert table.loc[("a", 1), "stand_ins"] == "vwap" and table.loc[("same", 1), "stand_ins"] == ""
    assert table["nearly_constant"].tolist() == [False, True]
    assert np.isnan(table.loc[("same", 1), "mean"]) and table.loc[("same", 1), "dates"] == 0
    text = repr(found)
    assert "(high + low + close) / 3 stands in for it, in 1 of 2 factors" in text
    assert "same " in text and "nearly constant" in text and "mean IC" in text


def test_an_ic_of_what_is_in_the_pool(panel: cenote.Panel, pool: cenote.Pool) -> None:
    factors = panel.factors(cenote.Library.alpha101().select(["alpha002", "alpha013"]))
    pool.put("factors", factors)
    stored = cenote.Panel(pool["factors"])
    ours, theirs = stored.ic(panel, horizons=[1, 3]), factors.ic(horizons=[1, 3])
    assert ours.to_arrow() == theirs.to_arrow()
    assert stored.ic(panel["open"]).to_pandas()["mean"].tolist() != ours.to_pandas()["mean"].tolist()
    pool.put("ic", theirs)
    assert pool["ic"].num_rows == 4
    pool.put("ic_by_date", theirs.by_date())
    assert cenote.Panel(pool["ic_by_date"]).fields == ["ic_1", "spread_1", "ic_3", "spread_3"]


def test_what_stood_in_is_known_of_what_is_stored(panel: cenote.Panel, pool: cenote.Pool) -> None:
    factors = panel.factors({"a": "rank(vwap - close)", "b": "rank(close)"})
    pool.put("factors", factors)
    assert pool["factors"].schema.field("a").metadata == {
        b"cenote.formula": b"rank(vwap - close)",
        b"cenote.stand_ins": b"vwap = (high + low + close) / 3"}
    for stored in (cenote.Panel(pool["factors"]), factors.to_panel()):
        assert stored.ic(panel).to_pandas()["stand_ins"].tolist() == ["vwap", ""]
        of_them = stored.factors({"c": stored["a"] * 2, "d": "delta(a, 1)", "e": "delta(b, 1)"})
        found = of_them.ic(prices=panel).to_pandas()["stand_ins"].tolist()
        assert found == ["vwap", "vwap", ""]


def test_what_makes_no_sense_is_refused(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    factors = panel.factors({"a": "rank(close)"})
    for keywords, words in (
        ({"horizons": []}, "at least one"), ({"horizons": [0]}, "horizon=0"),
        ({"bins": 0}, "bins=0"), ({"delay": -1}, "delay=-1"), ({"least": 1}, "least=1"),
        ({"prices": 3}, "prices is .*int"),
    ):
        with pytest.raises(ValueError, match=words):
            factors.ic(**keywords)
    shorter = cenote.Panel.from_wide({"close": fields["close"][:-1]})
    with pytest.raises(ValueError, match="prices have other times"):
        factors.ic(prices=shorter)
    fewer = cenote.Panel.from_wide({"close": fields["close"].iloc[:, 1:]})
    with pytest.raises(ValueError, match="prices have other symbols"):
        factors.ic(prices=fewer["close"])
    with pytest.raises(KeyError, match='no field "close"'):
        panel.factors({"a": "close"}).ic(prices=factors.to_panel())
