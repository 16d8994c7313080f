"""What is wrong with the data: counted and reported, never hidden or repaired."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demo.load import DataError

if TYPE_CHECKING:
    import polars as pl

JUMP_MIN = 0.4
"""A close that moves further than this in a day may be a split or a spin-off."""


@dataclass(frozen=True)
class Finding:
    """A kind of bad row: what, how many, and what the factors do about it."""

    what: str
    count: int
    treatment: str


@dataclass(frozen=True)
class Audit:
    """What the table holds and what is wrong with it."""

    n_rows: int
    n_tickers: int
    n_dates: int
    first: datetime.date
    last: datetime.date
    findings: tuple[Finding, ...]
    in_order: bool
    """Each ticker's rows stand in time order, one a day: no process has to sort a copy."""

    @property
    def n_bad(self) -> int:
        """All counts together; a row may be bad in several ways."""
        return sum(finding.count for finding in self.findings)


def examine(bars: pl.DataFrame) -> Audit:
    """Looks at every row once. `bars`: `date` and `ticker`, `close`, and of `open`, `high`,
    `low`, `volume` what there is, under these names. Raises: DataError without rows.
    """
    import polars as pl
    import polars.selectors

    if bars.is_empty():
        raise DataError("the table has no rows")
    # Polars sorts NaN above every number; as null it is in no comparison.
    bars = bars.with_columns(polars.selectors.float().fill_nan(None))
    dated = bars.filter(pl.col("date").is_not_null() & pl.col("ticker").is_not_null())
    if dated.is_empty():
        raise DataError("no row has both a date and a ticker")
    repeats = dated.height - dated.select("date", "ticker").n_unique()
    backward = dated.select(
        (pl.col("date") < pl.col("date").shift(1).over("ticker")).sum()).item()
    per_ticker = dated.group_by("ticker").len()
    n_dates = dated["date"].n_unique()
    findings = [Finding(what, count, treatment)
                for what, count, treatment in _per_bar(bars) if count]
    findings += [finding for finding in (
        Finding("no date or no ticker", bars.height - dated.height, "left out of the factors"),
        Finding("a second row for the same ticker and date", repeats, "the last one is used"),
        Finding("earlier than the row before it", backward, "each process sorts a copy"),
        Finding("tickers that lack some of the dates",
                per_ticker.filter(pl.col("len") < n_dates).height,
                "windows count the bars that are there"),
    ) if finding.count]
    first, last = dated["date"].min(), dated["date"].max()
    assert isinstance(first, datetime.date) and isinstance(last, datetime.date)
    return Audit(bars.height, per_ticker.height, n_dates, first, last, tuple(findings),
                 in_order=not (backward or repeats or dated.height < bars.height))


def _per_bar(bars: pl.DataFrame) -> list[tuple[str, int, str]]:
    """Kinds of badness that one bar shows."""
    import polars as pl

    prices = [name for name in ("open", "high", "low", "close") if name in bars.columns]
    checks: list[tuple[str, pl.Expr, str]] = []
    for name in prices:
        price = pl.col(name)
        checks.append((f"no {name}", price.is_null(), "counts as missing"))
        checks.append((f"{name} not above zero", price <= 0, "counts as missing"))
    if {"high", "low"} <= set(prices):
        checks.append(("high below low", pl.col("high") < pl.col("low"), "high counts as missing"))
        for name in ("open", "close"):
            if name in prices:
                outside = (pl.col(name) > pl.col("high")) | (pl.col(name) < pl.col("low"))
                checks.append((f"{name} outside low to high", outside, "used as it is"))
    if "volume" in bars.columns:
        checks.append(("no volume", pl.col("volume").is_null(), "counts as missing"))
        checks.append(("volume of zero", pl.col("volume") <= 0, "counts as missing"))
    move = pl.col("close") / pl.col("close").shift(1).over("ticker") - 1
    checks.append((f"close moves over {JUMP_MIN:.0%} in a day (split, spin-off?)",
                   move.abs() > JUMP_MIN, "used as it is"))
    counts = bars.select(expression.sum().alias(str(number))
                         for number, (_, expression, _) in enumerate(checks)).row(0)
    return [(what, int(count or 0), treatment)
            for count, (what, _, treatment) in zip(counts, checks, strict=True)]
