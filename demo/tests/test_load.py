"""What data is used, what its columns mean, and what is wrong with it."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from demo import audit, load

SCHEMA = pa.schema([("date", pa.date32()), ("Name", pa.string()), ("close", pa.float64()),
                    ("volume", pa.int64())])


def csv_folder(panel: pl.DataFrame, folder: Path) -> Path:
    """One file a ticker, as the S&P 500 panel is published."""
    folder.mkdir(parents=True)
    for bars in panel.partition_by("Name", maintain_order=True):
        bars.write_csv(folder / f"{bars['Name'][0]}_data.csv")
    return folder


def zipped(panel: pl.DataFrame, folder: Path) -> Path:
    csv_folder(panel, folder / "csv")
    with zipfile.ZipFile(folder / "panel.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted((folder / "csv").iterdir()):
            archive.write(file, f"inner/{file.name}")
        archive.writestr("__MACOSX/inner/._T000_data.csv", "rubbish")
        archive.writestr("README.txt", "not bars")
    return folder / "panel.zip"


def gzipped(panel: pl.DataFrame, folder: Path) -> Path:
    path = folder / "panel.csv.gz"
    path.write_bytes(gzip.compress(panel.write_csv().encode()))
    return path


def parquet(panel: pl.DataFrame, folder: Path) -> Path:
    panel.write_parquet(folder / "panel.parquet")
    return folder / "panel.parquet"


FORMS = {"folder": lambda panel, folder: csv_folder(panel, folder / "csv"), "zip": zipped,
         "gzip": gzipped, "parquet": parquet}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_reads_as_the_same_table(form: str, panel: pl.DataFrame, tmp_path: Path) -> None:
    table = load.read_own(FORMS[form](panel, tmp_path), SCHEMA)
    assert table.schema.equals(SCHEMA)
    found = pl.DataFrame(table)
    assert found.equals(panel.select(SCHEMA.names))


def test_columns_are_known_by_many_names() -> None:
    assert load.meanings(["Date", "SYMBOL", "Adj Close", "Close", "Vol"]) == {
        "date": "Date", "ticker": "SYMBOL", "close": "Close", "volume": "Vol"}
    assert load.meanings(["name", "ticker", "date", "close"])["ticker"] == "ticker"
    with pytest.raises(load.DataError, match=r"no column for the ticker: .* among date, close"):
        load.meanings(["date", "close"])


def test_given_data_must_exist(tmp_path: Path) -> None:
    assert load.choose(str(tmp_path)).path == tmp_path
    with pytest.raises(load.DataError, match="no such file or folder"):
        load.choose(str(tmp_path / "absent"))


def test_without_any_data_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch,
                                                tmp_path: Path) -> None:
    monkeypatch.setattr(load, "PANEL", Path("absent"))
    monkeypatch.setattr(load, "PACKED", tmp_path / "packed.parquet")

    def absent(name: str) -> None:
        raise load.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(load.metadata, "distribution", absent)
    with pytest.raises(load.DataError, match="scripts/setup prices"):
        load.choose(None)


def test_the_prices_that_packages_carry_become_one_table(tmp_path: Path) -> None:
    for package in ("bokeh-sampledata", "skfolio"):
        try:
            load.metadata.distribution(package)
        except load.metadata.PackageNotFoundError:
            pytest.skip(f"{package} is not installed (scripts/setup prices)")
    target = load.pypi_prices(tmp_path / "folder" / "prices.parquet")
    table = pl.read_parquet(target)
    assert table.columns == ["date", "ticker", "open", "high", "low", "close", "volume"]
    assert table["ticker"].n_unique() == 23
    assert table.filter(pl.col("open").is_not_null())["ticker"].n_unique() == 5
    found = audit.examine(table)
    assert found.in_order and found.n_rows > 160_000
    # The adjusted closes of Apple have no jump at its split of 2 for 1 in February 2005.
    apple = table.filter(pl.col("ticker") == "AAPL").sort("date")
    split = apple.filter(pl.col("date").is_between(pl.date(2005, 2, 25), pl.date(2005, 3, 2)))
    assert (split["close"].pct_change().abs().max() or 1.0) < 0.05


def test_what_is_wrong_is_counted(panel: pl.DataFrame) -> None:
    bars = panel.rename({"Name": "ticker"})
    found = audit.examine(bars)
    assert (found.n_rows, found.n_tickers, found.n_dates) == (panel.height, 12, 120)
    assert found.in_order
    counts = {finding.what: finding.count for finding in found.findings}
    assert counts["no open"] == 1
    assert counts["volume of zero"] == 1
    assert counts["high below low"] == 1
    assert counts["tickers that lack some of the dates"] == 1


def test_repeats_disorder_and_gaps_are_counted(panel: pl.DataFrame) -> None:
    bars = panel.rename({"Name": "ticker"})
    first = bars[:5]
    messy = pl.concat([bars, first, first.with_columns(ticker=pl.lit(None, pl.String)),
                       first.with_columns(date=pl.date(2031, 1, 1), close=pl.lit(float("nan")))])
    found = audit.examine(messy)
    counts = {finding.what: finding.count for finding in found.findings}
    assert not found.in_order
    assert counts["no date or no ticker"] == 5
    assert counts["a second row for the same ticker and date"] == 5 + 4
    assert counts["earlier than the row before it"] == 1
    assert counts["no close"] == 5


def test_no_rows_is_an_error(panel: pl.DataFrame) -> None:
    bars = panel.rename({"Name": "ticker"})
    with pytest.raises(load.DataError, match="no rows"):
        audit.examine(bars[:0])
    with pytest.raises(load.DataError, match="no row has both"):
        audit.examine(bars.with_columns(date=pl.lit(None, pl.Date)))
