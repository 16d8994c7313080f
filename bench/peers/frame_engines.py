"""pandas, Polars and bottleneck: the same operators and ten alphas, as their users write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import prices
from bench.peers.factors import FactorEngine

ROWS = prices.WINDOW


class PandasFactors(FactorEngine):
    """Wide frames: a row a time, a column a symbol, column by column in memory."""

    def version(self) -> str:
        import pandas

        return f"pandas {pandas.__version__}"

    def take(self) -> None:
        import numpy as np
        import pandas as pd

        while self._prices:
            name, values = self._prices.popitem()
            setattr(self, f"_{name}", pd.DataFrame(np.asfortranarray(values)))

    def work(self, job: str) -> Callable[[], Any]:
        if job == "ten":
            return self._ten
        return {
            "sum": lambda: self._close.rolling(ROWS).sum(),
            "max": lambda: self._close.rolling(ROWS).max(),
            "std": lambda: self._close.rolling(ROWS).std(),
            "corr": lambda: self._close.rolling(ROWS).corr(self._volume),
            "rank": lambda: self._close.rank(axis=1, pct=True),
        }[job]

    def factors(self, job: str, result: Any) -> dict[str, Any]:
        return result if isinstance(result, dict) else {job: result}

    def _ten(self) -> dict[str, Any]:
        import numpy as np

        open_, high, low, close = self._open, self._high, self._low, self._close
        volume = self._volume
        returns = close / close.shift() - 1
        rank = lambda frame: frame.rank(axis=1, pct=True)  # noqa: E731
        base = close.where(~(returns < 0), returns.rolling(20).std()).where(returns.notna())
        square = base * base
        # `rolling(5).apply(numpy.argmax)` would take half of all the time.
        windows = np.lib.stride_tricks.sliding_window_view(square.to_numpy(), 5, axis=0)
        largest = np.full(square.shape, np.nan)
        largest[4:] = windows.argmax(axis=-1) + 1.0
        largest[4:][np.isnan(windows).any(axis=-1)] = np.nan
        range_ = (close - low) - (high - close)
        return dict(zip(prices.TEN, (
            rank(square.__class__(largest)) - 0.5,
            -rank(np.log(volume).diff(2)).rolling(6).corr(rank((close - open_) / open_)),
            -rank(open_).rolling(10).corr(rank(volume)),
            -open_.rolling(10).corr(volume),
            np.sign(volume.diff()) * -close.diff(),
            -rank(rank(close).rolling(5).cov(rank(volume))),
            -rank(high.rolling(10).std()) * high.rolling(10).corr(volume),
            -high.rolling(5).corr(rank(volume)),
            -(range_ / (close - low)).diff(9),
            (close - open_) / ((high - low) + 0.001),
        ), strict=True))


class PolarsFactors(FactorEngine):
    """A long frame, by symbol and then time. Missing is null, not NaN."""

    def version(self) -> str:
        import polars

        return f"polars {polars.__version__}"

    def take(self) -> None:
        import numpy as np
        import polars as pl

        rows, symbols = self._shape = self._prices["close"].shape
        columns = {"s": np.repeat(np.arange(symbols, dtype=np.int32), rows),
                   "t": np.tile(np.arange(rows, dtype=np.int32), symbols)}
        while self._prices:
            name, values = self._prices.popitem()
            columns[name] = values.T.ravel()
        self._frame = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))

    def work(self, job: str) -> Callable[[], Any]:
        assert job == "ten"
        return self._ten

    def factors(self, job: str, result: Any) -> dict[str, Any]:
        return {name: result[name].to_numpy().reshape(self._shape[::-1]).T for name in prices.TEN}

    def _ten(self) -> Any:
        import polars as pl

        col = pl.col
        rank = lambda x: (x.rank() / x.count()).over("t")  # noqa: E731
        corr = lambda x, y, rows: (  # noqa: E731
            -pl.rolling_corr(col(x), col(y), window_size=rows, min_samples=rows)).over("s")
        open_, high, low, close, volume = (
            col(name) for name in ("open", "high", "low", "close", "volume"))
        returns = close / close.shift() - 1
        std20 = returns.rolling_std(20)
        # Nested `over` gives nulls, so each level has a step of its own.
        first = self._frame.lazy().with_columns(
            pl.when(returns < 0).then(std20 * std20).when(returns.is_not_null())
            .then(close * close).over("s").alias("square"),
            volume.log().diff(2).over("s").alias("logs"),
            ((close - open_) / open_).alias("day"),
            high.rolling_std(10).over("s").alias("std10"),
        )
        square = col("square")
        largest = square.rolling_max(5)
        place = pl.when(largest.is_not_null() & (square.shift(4) == largest)).then(1)
        for back in (3, 2, 1, 0):
            place = place.when(square.shift(back) == largest).then(5 - back)
        second = first.with_columns(
            place.over("s").alias("place"), rank(col("logs")).alias("rlogs"),
            rank(col("day")).alias("rday"), rank(open_).alias("ropen"),
            rank(close).alias("rclose"), rank(volume).alias("rvolume"),
            rank(col("std10")).alias("rstd"), corr("high", "volume", 10).alias("hv"),
        ).with_columns(
            pl.rolling_cov(col("rclose"), col("rvolume"), window_size=5, min_samples=5)
            .over("s").alias("cov"),
        )
        range_ = ((close - low) - (high - close)) / (close - low)
        ten = (
            rank(col("place")) - 0.5,
            corr("rlogs", "rday", 6),
            corr("ropen", "rvolume", 10),
            corr("open", "volume", 10),
            (volume.diff().sign() * -close.diff()).over("s"),
            -rank(col("cov")),
            col("rstd") * col("hv"),
            corr("high", "rvolume", 5),
            (-range_.diff(9)).over("s"),
            (close - open_) / ((high - low) + 0.001),
        )
        return second.select(
            factor.alias(name) for name, factor in zip(prices.TEN, ten, strict=True)).collect()


class BottleneckFactors(FactorEngine):
    """Its moving windows along contiguous memory, its rank along rows."""

    def version(self) -> str:
        import bottleneck

        return f"bottleneck {bottleneck.__version__}"

    def work(self, job: str) -> Callable[[], Any]:
        import bottleneck
        import numpy as np

        if job == "rank":
            close = self._prices["close"]
            return lambda: (bottleneck.nanrankdata(close, axis=1)
                            / (~np.isnan(close)).sum(axis=1, keepdims=True))
        by_symbol = np.ascontiguousarray(self._prices["close"].T)
        move = {"sum": bottleneck.move_sum, "max": bottleneck.move_max}.get(job)
        if move is None:
            return lambda: bottleneck.move_std(by_symbol, ROWS, axis=1, ddof=1)
        return lambda: move(by_symbol, ROWS, axis=1)

    def factors(self, job: str, result: Any) -> dict[str, Any]:
        return {job: result if job == "rank" else result.T}
