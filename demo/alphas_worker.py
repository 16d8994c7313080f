"""The process that computes the alphas: `python -m demo.alphas_worker REQUEST`, JSON in and out."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

import cenote
from demo import alphas
from demo.alphas import HORIZONS_DAYS, NAMES_MIN, PANEL, RESULT, Alphas, Request
from demo.bars import PRICES

FIELDS = ("open", "high", "low", "close", "volume")
SAMPLE_S = 0.01


def main(argument: str) -> None:
    request = Request(**json.loads(argument))
    print(json.dumps(_plain(asdict(work(request)))))


def work(request: Request, library: cenote.Library | None = None) -> Alphas:
    """Panel, alphas, ICs; everything that is measured, is measured here. `library`: others than
    the 101."""
    pool = cenote.connect(request.address)
    fields = [name for name in FIELDS if name in request.columns]
    pool.put(PANEL, panel_of(pool, request, fields), source=f"{PRICES}, and stand-ins")
    panel = cenote.Panel(pool[PANEL])
    library = library or cenote.Library.alpha101()
    factors = panel.factors(library)
    n_dates, n_tickers = panel.shape
    result_bytes = 8 * n_dates * n_tickers * len(factors.fields)
    stored = result_bytes < _room(pool) // 2
    with Peak() as peak:
        began, cpu = time.monotonic(), time.process_time()
        if stored:
            pool.put(RESULT, factors, source=f"{len(factors.fields)} alphas of {PANEL}")
        else:  # Too large to keep: computed, and let go.
            for _ in _stream(factors):
                pass
        wall_s, cpu_s = time.monotonic() - began, time.process_time() - cpu
    began = time.monotonic()
    # Computed again on the way, by each alpha's own delay, which what is stored does not have.
    found = factors.ic(horizons=list(HORIZONS_DAYS), least=NAMES_MIN)
    judge_s = time.monotonic() - began
    same = not stored or _are_alone(panel, library, cenote.Panel(pool[RESULT]))
    return Alphas(
        n_dates=n_dates, n_tickers=n_tickers, n_alphas=len(factors.fields), stored=stored,
        wall_s=wall_s, cpu_s=cpu_s, judge_s=judge_s, own_before=peak.before, own_peak=peak.most,
        result_bytes=result_bytes, plan=factors.explain(), stand_ins=factors.stand_ins,
        left_out=factors.left_out, same_alone=same, rows=_rows(found, library))


def _stream(factors: cenote.Factors) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(factors)


def _are_alone(panel: cenote.Panel, library: cenote.Library, stored: cenote.Panel) -> bool:
    """Whether some alphas, each by itself, have the bits that are stored."""
    return all(
        panel.factors(library.select([name])).to_panel()[name].to_numpy().tobytes()
        == stored[name].to_numpy().tobytes()
        for name in alphas.ALONE if name in stored.fields)


def _rows(found: cenote.IC, library: cenote.Library) -> list[dict[str, Any]]:
    rows = found.to_arrow().to_pylist()
    for row in rows:
        factor = library[row["factor"]]
        row["formula"] = factor.formula
        row["made_up"] = ", ".join(name for name in factor.fields if name in alphas.STAND_INS)
    return list(rows)


def panel_of(pool: cenote.Pool, request: Request, fields: list[str]) -> cenote.Panel:
    """The bars as a panel, cleaned as the eight factors have them, with stand-ins for groups
    and capitalisation beside."""
    columns = request.columns
    frame = pool.get(PRICES, columns=[columns[name] for name in ("date", "ticker", *fields)])
    bars = frame.to_polars().rename({columns[name]: name for name in ("date", "ticker", *fields)})
    bars = bars.with_columns(pl.col("date").cast(pl.Date), pl.col("ticker").cast(pl.String),
                             pl.col(fields).cast(pl.Float64))
    if not request.in_order:
        bars = bars.drop_nulls(["date", "ticker"]).unique(["date", "ticker"], keep="last",
                                                          maintain_order=True)
    bars = bars.sort("ticker", "date")
    good = [pl.when(pl.col(name).is_finite() & (pl.col(name) > 0)).then(pl.col(name)).alias(name)
            for name in fields]
    bars = bars.with_columns(good)
    if {"high", "low"} <= set(fields):
        fits = pl.col("high") >= pl.col("low")
        bars = bars.with_columns(
            pl.when(fits).then(pl.col(name)).alias(name) for name in ("high", "low"))
    return cenote.Panel.from_long(with_stand_ins(bars), time="date", symbol="ticker")


def with_stand_ins(bars: pl.DataFrame) -> pl.DataFrame:
    """Adds what `alphas.STAND_INS` says."""
    place = pl.col("ticker").rank("dense").cast(pl.Int64) - 1
    bars = bars.with_columns(subindustry=(place % 66).cast(pl.Float64))
    bars = bars.with_columns(industry=(pl.col("subindustry") / 3).floor())
    bars = bars.with_columns(sector=(pl.col("industry") / 2).floor())
    if "volume" in bars.columns:
        dollars = (pl.col("close") * pl.col("volume")).rolling_mean(60).over("ticker")
        bars = bars.with_columns(cap=dollars)
    return bars


def _room(pool: cenote.Pool) -> int:
    info = pool.info()
    return min(info["capacity"] - info["used"], info["file_system_free"])


class Peak:
    """The most memory of this process alone (RssAnon) while a block runs, looked at every
    `SAMPLE_S`: what it has mapped of the pool does not count."""

    def __enter__(self) -> Peak:
        self.before = self.most = _own()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.most = max(self.most, _own())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.most = max(self.most, _own())


def _own() -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith("RssAnon"))
    return 1024 * int(line.split()[1])


def _plain(value: Any) -> Any:
    """Without NaN and infinity, which JSON has not."""
    if isinstance(value, dict):
        return {key: _plain(of) for key, of in value.items()}
    if isinstance(value, list):
        return [_plain(of) for of in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


if __name__ == "__main__":
    main(sys.argv[1])
