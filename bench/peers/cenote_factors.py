"""Cenote's factor engine, through the public Python surface only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench import measure, prices
from bench.peers.factors import FactorEngine

COPIED = 256 << 20


class CenoteFactors(FactorEngine):
    """A panel in memory; the results are a stream of batches, each dropped when it has come."""

    def version(self) -> str:
        import cenote
        import pyarrow

        self._cenote, self._arrow = cenote, pyarrow
        return f"cenote {cenote.__version__}"

    def close(self) -> None:
        self._panel = None
        super().close()

    def take(self) -> None:
        import numpy as np

        arrow = self._arrow
        rows, symbols = self._prices["close"].shape
        day = np.datetime64("2000-01-01").astype("datetime64[ns]")
        times = arrow.array(day + np.arange(rows).astype("timedelta64[D]"))
        tables = {}
        while self._prices:
            name, values = self._prices.popitem()
            columns = {f"S{i:04}": values[:, i] for i in range(symbols)}
            tables[name] = arrow.table({"time": times, **columns})
        self._panel = self._cenote.Panel.from_wide(tables, time="time")

    def factors_of(self, job: str) -> Any:
        """The job's factors, lazy. A name that ends with a number is one of many."""
        alphas = self._cenote.Library.alpha101()
        if job in ("all", "live"):
            return self._panel.factors(alphas)
        if job == "ten":
            return self._panel.factors(alphas.select(list(prices.TEN)))
        kind, _, one = job.partition(":")
        if kind == "windows":
            return self._panel.factors({str(rows): getattr(prices, one).format(rows)
                                        for rows in prices.FIFTY_WINDOWS})
        if kind == "window":
            which, _, rows = one.partition(":")
            return self._panel.factors({rows: getattr(prices, which).format(rows)})
        if kind == "fifty":
            return self._panel.factors({name: f"rank({formula})"
                                        for name, formula in prices.FIFTY.items()})
        formulas = {**prices.ROLLING, **prices.RANK, **prices.FIFTY}
        return self._panel.factors({job: formulas[job]})

    def work(self, job: str) -> Callable[[], Any]:
        factors = self.factors_of(job)
        open_stream = self._arrow.RecordBatchReader.from_stream

        def run() -> Any:
            reader = open_stream(factors)
            try:
                while True:
                    reader.read_next_batch()  # and drops it before the next one is made
            except StopIteration:
                return factors

        return run

    def factors(self, job: str, result: Any) -> dict[str, Any]:
        panel = result.to_panel()
        return {name: panel[name].to_numpy() for name in panel.fields}

    def copy_ns_per_byte(self) -> float:
        """Nanoseconds of CPU that one core takes to copy a byte between large warm arrays."""
        import numpy as np

        source = np.ones(COPIED // 8)
        target = np.ones(COPIED // 8)
        taken = measure.each_cpu(lambda: np.copyto(target, source), 9)
        return sorted(taken)[len(taken) // 2] / COPIED

    # -- row by row

    def live(self, job: str) -> int:
        """Goes on after the panel's last row; how many factors."""
        self._live = self.factors_of(job).live()
        self._row = {name: self._panel[name].to_numpy()[-1] for name in self._live.inputs}
        return len(self._live.fields)

    def push(self, repeats: int) -> list[int]:
        """Nanoseconds of CPU of each row pushed; rows are the last one, changed a little."""
        import numpy as np

        random = np.random.default_rng(prices.SEED)
        turns = iter([{name: values * random.normal(1, 0.01, values.shape)
                       for name, values in self._row.items()} for _ in range(repeats)])
        return measure.each_cpu(lambda: self._live.push(next(turns)), repeats)
