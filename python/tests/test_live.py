"""Factors row by row give the bits of a panel with these rows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_library import FIELDS, SYMBOLS, TIMES, _fields

import cenote

KNOWN = 260


@pytest.fixture(scope="module")
def fields() -> dict[str, pd.DataFrame]:
    return _fields()


def _row(fields: dict[str, pd.DataFrame], time: int) -> dict[str, Any]:
    return {name: frame.iloc[time].to_numpy() for name, frame in fields.items()}


def test_rows_have_the_bits_of_a_panel(fields: dict[str, pd.DataFrame]) -> None:
    wanted: Any = [cenote.Library.alpha101(), cenote.Library.standard()]
    whole = cenote.Panel.from_wide(fields).factors(wanted).to_panel()
    known = cenote.Panel.from_wide({name: frame[:KNOWN] for name, frame in fields.items()})
    live = known.factors(wanted).live()
    assert len(live) == KNOWN and live.symbols == known.symbols
    assert live.fields == whole.fields and sorted(live.inputs) == sorted(FIELDS)
    expected = {name: whole[name].to_numpy() for name in whole.fields}
    there = 0
    for time in range(KNOWN, TIMES):
        found = live.push(_row(fields, time))
        assert list(found) == whole.fields
        for name, values in found.items():
            assert values.tobytes() == expected[name][time].tobytes(), (name, time)
            there += int(np.isfinite(values).sum())
    assert len(live) == TIMES and there > 0.4 * (TIMES - KNOWN) * SYMBOLS * len(whole.fields)
    assert "101 factors of 17 symbols, 300 rows" in repr(live)


def test_a_row_that_is_wrong_is_not_taken(fields: dict[str, pd.DataFrame]) -> None:
    panel = cenote.Panel.from_wide({name: frame[:KNOWN] for name, frame in fields.items()})
    live = panel.factors({"a": "rank(delta(close, 3))", "b": "mean(volume, 4)"}).live()
    assert live.inputs == ["close", "volume"]
    row = _row(fields, KNOWN)
    with pytest.raises(KeyError, match='the row has no "volume"'):
        live.push({"close": row["close"]})
    with pytest.raises(KeyError, match='no field "clsoe"; there are open'):
        live.push({**row, "clsoe": row["close"]})
    with pytest.raises(ValueError, match='"close" has 3 values; there are 17 symbols'):
        live.push({**row, "close": [1.0, 2.0, 3.0]})
    with pytest.raises(TypeError):
        live.push({**row, "close": ["x"] * SYMBOLS})
    assert len(live) == KNOWN
    values = live.push({"close": list(row["close"]), "volume": row["volume"]})["b"]
    expected = fields["volume"].rolling(4).mean().iloc[KNOWN].to_numpy()
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_threads_take_turns(fields: dict[str, pd.DataFrame]) -> None:
    live = cenote.Panel.from_wide(fields).factors({"a": "mean(close, 5)"}).live()
    row = _row(fields, 10)
    threads = [threading.Thread(target=lambda: [live.push(row) for _ in range(50)])
               for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(live) == TIMES + 200
    assert live.push(row)["a"].tolist() == pytest.approx(row["close"].tolist(), nan_ok=True)
