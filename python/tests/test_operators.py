"""Every method of a matrix, its windows and its groups; pandas is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cenote

np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

TIMES, SYMBOLS = 120, 15


def _fields() -> dict[str, Any]:
    """Prices with gaps, volumes with ties and zeros, and groups that change; some have none."""
    random = np.random.default_rng(17)
    shape = (TIMES, SYMBOLS)
    close = 100 * np.exp(np.cumsum(random.normal(0, 0.02, shape), axis=0))
    close[random.random(shape) < 0.03] = np.nan
    volume = random.integers(0, 6, shape).astype(float)
    volume[:, 3] = 7.0
    group = np.where(random.random(shape) < 0.9, np.arange(SYMBOLS) % 4, 1.0)
    group[random.random(shape) < 0.05] = np.nan
    index = pd.date_range("2021-01-01", periods=TIMES, name="date")
    columns = [f"S{i:02d}" for i in range(SYMBOLS)]
    fields = {"close": close, "volume": volume, "group": group}
    return {name: pd.DataFrame(values, index, columns) for name, values in fields.items()}


@pytest.fixture(scope="module")
def fields() -> dict[str, Any]:
    return _fields()


@pytest.fixture(scope="module")
def panel(fields: dict[str, Any]) -> cenote.Panel:
    table = pd.concat({name: frame.stack() for name, frame in fields.items()}, axis=1)
    return cenote.Panel.from_long(
        table.reset_index(names=["date", "symbol"]), time="date", symbol="symbol")


def _same(ours: cenote.DataFrame, theirs: Any, what: str) -> None:
    found, expected = ours.to_numpy(), np.asarray(theirs, dtype=float)
    assert np.array_equal(np.isnan(found), np.isnan(expected)), what
    assert not np.isnan(expected).all(), what
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=what)


def _methods(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


Rolling = dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any, int], Any]]]

ROLLING: Rolling = {
    "sum": (lambda r: r.sum(), lambda r, x, n: r.sum()),
    "mean": (lambda r: r.mean(), lambda r, x, n: r.mean()),
    "std": (lambda r: r.std(), lambda r, x, n: r.std()),
    "var": (lambda r: r.var(), lambda r, x, n: r.var()),
    "min": (lambda r: r.min(), lambda r, x, n: r.min()),
    "max": (lambda r: r.max(), lambda r, x, n: r.max()),
    "argmin": (lambda r: r.argmin(), lambda r, x, n: r.apply(lambda w: w.argmin() + 1, raw=True)),
    "argmax": (lambda r: r.argmax(), lambda r, x, n: r.apply(lambda w: w.argmax() + 1, raw=True)),
    "rank": (lambda r: r.rank(pct=True), lambda r, x, n: r.rank(pct=True)),
    "median": (lambda r: r.median(), lambda r, x, n: r.median()),
    "quantile": (lambda r: r.quantile(0.3), lambda r, x, n: r.quantile(0.3)),
    "prod": (lambda r: r.prod(), lambda r, x, n: r.apply(np.prod, raw=True)),
    "skew": (lambda r: r.skew(), lambda r, x, n: r.apply(lambda w: pd.Series(w).skew(), raw=True)),
    "kurt": (lambda r: r.kurt(), lambda r, x, n: r.apply(lambda w: pd.Series(w).kurt(), raw=True)),
    "zscore": (lambda r: r.zscore(), lambda r, x, n: (x - r.mean()) / r.std()),
    "decay_linear": (
        lambda r: r.decay_linear(),
        lambda r, x, n: r.apply(lambda w: np.average(w, weights=np.arange(1, n + 1)), raw=True)),
    "slope": (
        lambda r: r.slope(),
        lambda r, x, n: r.apply(lambda w: np.polyfit(np.arange(n), w, 1)[0], raw=True)),
    "residual": (
        lambda r: r.residual(),
        lambda r, x, n: r.apply(
            lambda w: w[-1] - np.polyval(np.polyfit(np.arange(n), w, 1), n - 1), raw=True)),
}
# Of two matrices: another test.
PAIRS = {"corr", "cov", "beta"}


def test_windows_are_those_of_pandas(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    assert set(ROLLING) | PAIRS == _methods(type(panel["close"].rolling(1)))
    for field in ("close", "volume"):
        x = fields[field]
        for n in (5, 20, 70):
            for name, (ours, theirs) in ROLLING.items():
                expected = theirs(x.rolling(n), x, n)
                _same(ours(panel[field].rolling(n)), expected, f"{name}({n}) of {field}")


def test_windows_of_two_are_those_of_pandas(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    x, y = fields["close"], fields["close"].shift(3) * 2 + fields["volume"]
    close = panel["close"]
    other = close.shift(3) * 2 + panel["volume"]
    rolling, theirs = close.rolling(9), x.rolling(9)
    whole = (x + y).rolling(9).count() == 9
    _same(rolling.corr(other), theirs.corr(y).where(whole), "corr")
    _same(rolling.cov(other), theirs.cov(y).where(whole), "cov")
    _same(rolling.beta(other), (theirs.cov(y) / y.rolling(9).var()).where(whole), "beta")


def test_every_quantile_is_that_of_numpy(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    for field in ("close", "volume"):
        x = fields[field]
        for n in (1, 2, 7, 64, 65, 90):
            for q in (0.0, 0.25, 0.5, 0.9, 1.0):
                expected = x.rolling(n).apply(lambda w, q=q: np.quantile(w, q), raw=True)
                _same(panel[field].rolling(n).quantile(q), expected, f"{q} of {n}")
                _same(panel.formula(f"ts_quantile({field}, {n}, {q})"), expected, "formula")


def test_exponential_weights_are_those_of_pandas(
    panel: cenote.Panel, fields: dict[str, Any]
) -> None:
    assert _methods(type(panel["close"].ewm(span=1))) == {"mean", "std", "var"}
    for field in ("close", "volume"):
        x = fields[field]
        for said in ({"span": 10}, {"com": 3}, {"halflife": 2.5}, {"alpha": 0.3}, {"span": 1}):
            ours = panel[field].ewm(**said)
            theirs = x.ewm(**said, adjust=False, ignore_na=True)
            _same(ours.mean(), theirs.mean().where(x.notna()), f"mean {said}")
            if said == {"span": 1}:
                assert np.isnan(ours.std().to_numpy()).all(), "one value has no deviation"
                continue
            _same(ours.std(), theirs.std().where(x.notna()), f"std {said}")
            _same(ours.var(), theirs.var().where(x.notna()), f"var {said}")
    by_formula = panel.formula("ewm_std(close, 10)").to_numpy()
    assert by_formula.tobytes() == panel["close"].ewm(span=10).std().to_numpy().tobytes()
    constant = panel["volume"].ewm(span=10).std().to_numpy()[:, 3]
    assert np.isnan(constant[0]) and (constant[1:] == 0).all()


def _row_operators() -> dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]]:
    """By method: ours, and what pandas makes of one row, or of a group of one, without gaps."""
    def clipped(x: Any) -> Any:
        return x.clip(x.quantile(0.1), x.quantile(0.9))

    def scored(x: Any) -> Any:
        return (x - x.mean()) / x.std() if x.max() > x.min() else x * np.nan

    return {
        "rank": (lambda x, **g: x.rank(axis=1, **g), lambda x: x.rank(pct=True)),
        "scale": (lambda x, **g: x.scale(2.0, **g), lambda x: 2 * x / x.abs().sum()),
        "row_count": (lambda x, **g: x.row_count(**g), lambda x: 0 * x + len(x)),
        "row_mean": (lambda x, **g: x.row_mean(**g), lambda x: 0 * x + x.mean()),
        "demean": (lambda x, **g: x.demean(**g), lambda x: x - x.mean()),
        "zscore": (lambda x, **g: x.zscore(**g), scored),
        "winsorize": (lambda x, **g: x.winsorize(0.1, **g), clipped),
        "bins": (lambda x, **g: x.bins(3, **g), lambda x: np.ceil(x.rank() * 3 / len(x))),
        "top": (lambda x, **g: x.top(2, **g), lambda x: (x.rank(ascending=False) <= 2) * 1.0),
        "bottom": (lambda x, **g: x.bottom(2, **g), lambda x: (x.rank() <= 2) * 1.0),
    }


def test_rows_and_groups_are_those_of_pandas(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    group = fields["group"]
    for field in ("close", "volume"):
        x = fields[field]
        for name, (ours, theirs) in _row_operators().items():
            rows = x.apply(lambda row, f=theirs: f(row.dropna()).reindex(row.index), axis=1)
            _same(ours(panel[field]), rows, f"{name} of {field}")
            grouped = x.apply(
                lambda row, f=theirs: row.dropna()
                .groupby(group.loc[row.name]).transform(f).reindex(row.index),
                axis=1).where(group.notna())
            _same(ours(panel[field], groups=panel["group"]), grouped, f"group {name} of {field}")
    ours = panel["close"].neutralize(panel["group"]).to_numpy()
    assert ours.tobytes() == panel["close"].demean(groups=panel["group"]).to_numpy().tobytes()
    assert ours.tobytes() == panel.formula("indneutralize(close, group)").to_numpy().tobytes()
    places = panel["close"].rank(axis=1, pct=False, groups=panel["group"])
    assert np.nanmax(places.to_numpy()) > 1


def test_values_are_those_of_pandas(panel: cenote.Panel, fields: dict[str, Any]) -> None:
    close, volume, c, v = panel["close"], panel["volume"], fields["close"], fields["volume"]
    cases = {
        "abs": ((close - 100).abs(), (c - 100).abs()),
        "sign": ((close - 100).sign(), np.sign(c - 100)),
        "log": (close.log(), np.log(c)),
        "exp": ((close / 100).exp(), np.exp(c / 100)),
        "sqrt": (close.sqrt(), np.sqrt(c)),
        "signedpower": ((close - 100).signedpower(0.5),
                        np.sign(c - 100) * np.sqrt((c - 100).abs())),
        "minimum": (close.minimum(100), np.minimum(c, 100)),
        "maximum": (close.maximum(volume * 20), np.maximum(c, v * 20)),
        "clip": (close.clip(95, 105), c.clip(95, 105)),
        "isna": (close.isna(), c.isna()),
        "fillna": (close.fillna(volume), c.fillna(v)),
        "where": (close.where(volume > 2, -1), c.where(v > 2, -1)),
        "shift": (close.shift(2), c.shift(2)),
        "diff": (close.diff(2), c.diff(2)),
        "pct_change": (close.pct_change(2), c / c.shift(2) - 1),
    }
    for name, (ours, theirs) in cases.items():
        _same(ours, theirs, name)
    others = {"rolling", "ewm", "neutralize", "shape", "columns", "to_numpy", "to_pandas"}
    assert set(cases) | set(_row_operators()) | others == _methods(cenote.DataFrame)


def test_numbers_out_of_bounds_are_told(panel: cenote.Panel) -> None:
    close = panel["close"]
    faults: list[tuple[Callable[[], object], str]] = [
        (lambda: close.rolling(5).quantile(1.5), r"q\) is 1.5; it must be from 0 to 1"),
        (lambda: close.winsorize(0.5), "0.5; it must be from 0 to 0.5"),
        (lambda: close.top(0), "n=0 is not from 1"),
        (lambda: close.ewm(), "one of span, com, halflife and alpha, not none of them"),
        (lambda: close.ewm(span=3, com=1), "not span and com"),
        (lambda: close.ewm(span=0.5), "span=0.5 is not 1 or more"),
        (lambda: close.ewm(alpha=0), "alpha=0 is not above 0 and at most 1"),
        (lambda: close.ewm(halflife=-1), "halflife=-1 is not above 0"),
        (lambda: close.ewm(com=float("nan")), "com=NaN is not 0 or more"),
        (lambda: close.rank(axis=1, groups="sector"), "neither a number nor"),  # type: ignore[arg-type]
        (lambda: panel.formula("ts_quantile(close, 5, 2)"), "from 0 to 1"),
    ]
    for fault, text in faults:
        with pytest.raises(cenote.ArgumentError, match=text):
            fault()
