"""The alphas' process, on a pool of its own; what it says of factors that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from demo.tests.conftest import make_panel

cenote = pytest.importorskip("cenote", reason="the wheel is not installed: make venv")

from demo import alphas, alphas_worker, served  # noqa: E402

COLUMNS = {"date": "date", "ticker": "Name", "open": "open", "high": "high", "low": "low",
           "close": "close", "volume": "volume"}


def library_of(factors: str) -> Any:
    return cenote.Library.parse(f'fields = ["close", "cap"]\n{factors}')


def work(tmp_path: Path, bars: pl.DataFrame, library: Any = None, in_order: bool = True,
         look: Any = None) -> alphas.Alphas:
    (tmp_path / "bars.csv").write_text("x\n")
    with served.ServedPool(tmp_path / "bars.csv") as own:
        pool = own.connect()
        pool.put("prices", bars)
        found = alphas_worker.work(alphas.Request(own.address, COLUMNS, in_order), library)
        if look is not None:
            look(pool)
        del pool
    return found


def test_a_factor_that_is_the_same_for_all_fails(tmp_path: Path) -> None:
    library = library_of(
        '[factors]\nreal = "rank(delta(close, 3))"\nsame = "close * 0 + 1"\n'
        'nearly = "rank(close) > 0.995"\nlate = "delay(close, 900)"\n')
    found = work(tmp_path, make_panel(60, 120), library)
    assert found.constant == ["nearly", "same"] and found.silent == ["late"]
    checks = {check.claim: check for check in found.checks()}
    check = checks["no alpha is nearly the same for all tickers"]
    assert not check.held and check.facts == "nearly, same"
    honest = work(tmp_path, make_panel(60, 120), library_of(
        '[factors]\nreal = "rank(delta(close, 3))"\n'))
    assert all(check.held for check in honest.checks()) and len(honest.checks()) == 2


def test_few_tickers_say_nothing_of_constancy(tmp_path: Path) -> None:
    found = work(tmp_path, make_panel(60, 12), library_of('[factors]\na = "close * 0"\n'))
    assert found.constant == ["a"] and len(found.checks()) == 1


def test_alphas_are_in_the_pool_and_judged(tmp_path: Path) -> None:
    bars = make_panel(120, 15)

    def look(pool: Any) -> None:
        stored = cenote.Panel(pool[alphas.RESULT])
        assert len(stored.fields) == 101 and stored.shape == (120, 15)
        panel = cenote.Panel(pool[alphas.PANEL])
        own = panel.factors({"a": "(close - open) / (high - low + 0.001)"}).to_panel()["a"]
        assert own.to_numpy().tobytes() == stored["alpha101"].to_numpy().tobytes()

    found = work(tmp_path, bars, look=look)
    assert found.n_alphas == 101 and found.stored and found.same_alone
    assert found.stand_ins.keys() == {"vwap", "amount"} and found.left_out == {}
    made_up = {row["factor"] for row in found.rows if row["made_up"]}
    assert len(made_up) == 19 and "alpha056" in made_up
    quoted = {row["factor"] for row in found.quoted(5)}
    assert not quoted & made_up and len(quoted) > 50
    assert found.own_peak >= found.own_before > 0 and found.values_per_s > 0


def test_bars_are_cleaned_and_groups_are_nested(tmp_path: Path) -> None:
    bars = pl.concat([make_panel(70, 80), make_panel(70, 80)[:5]])

    def look(pool: Any) -> None:
        panel = cenote.Panel(pool[alphas.PANEL])
        assert panel.shape == (70, 80)
        volume, high = panel["volume"].to_numpy(), panel["high"].to_numpy()
        assert np.isnan(volume[9, 0]) and np.isnan(high[11, 0]) and not np.isnan(high[12, 0])
        codes = {name: panel[name].to_numpy()[69] for name in ("sector", "industry", "subindustry")}
        assert [len(set(codes[name])) for name in codes] == [11, 22, 66]
        assert (codes["industry"] == codes["subindustry"] // 3).all()
        assert np.isnan(panel["cap"].to_numpy()[:59]).all()

    work(tmp_path, bars, library_of('[factors]\na = "rank(cap)"\n'), in_order=False,
         look=look)


def test_what_the_process_says_is_passed_on() -> None:
    with pytest.raises(alphas.AlphasFault, match="the alphas: .*PoolUnavailable"):
        alphas.run(alphas.Request("/dev/shm/cenote-none/pool", COLUMNS, True))
