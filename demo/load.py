"""Which data, what its columns mean, and how a process without the pool reads it.

Data is daily bars in one long table: a day, a ticker, a close, and whatever there is of
open, high, low and volume. With the pool the files are read once, by `cenote put`.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
PANEL = Path("..") / "shared" / "data" / "sp500_daily"
"""The default, relative to the checkout."""
PACKED = ROOT / "demo" / "data" / "pypi_prices.parquet"
OHLCV = ("open", "high", "low", "close", "volume")
NAMES = {
    "date": ("date", "day", "timestamp", "time", "datetime"),
    "ticker": ("ticker", "symbol", "name", "code", "instrument", "tic"),
    "open": ("open", "o"), "high": ("high", "h"), "low": ("low", "l"),
    "close": ("close", "c"), "volume": ("volume", "vol", "v"),
}
"""What columns are called in the wild, best first, compared without case."""


class DataError(Exception):
    """The data cannot be used; the message says what to do."""


@dataclass(frozen=True)
class Data:
    """What is loaded: its path, what it is, and what has to be known about it."""

    path: Path
    title: str
    caveat: str


SURVIVORS = ("The panel is today's members of the index: survivorship bias. Companies that "
             "failed, shrank or were bought are missing, which distorts every figure, mostly for "
             "the better.")
SURVIVORS_PYPI = ("A few large companies that are still there: survivorship bias, and far too few "
                  "names for a cross-section. Read these figures as a check of the machinery.")
YOURS = ("If the list of tickers was drawn up after the fact (today's members of an index, "
         "say), the figures suffer from survivorship bias.")


def choose(given: str | None) -> Data:
    """The data to use: what was given, else the panel beside the checkout, else PyPI's.

    Raises: DataError where there is none.
    """
    if given is not None:
        path = Path(given).expanduser()
        if not path.exists():
            raise DataError(f"no such file or folder: {given}")
        return Data(path, path.name, YOURS)
    if (ROOT / PANEL).is_dir():
        return Data(_relative(ROOT / PANEL), "S&P 500 members, daily bars", SURVIVORS)
    return Data(_relative(pypi_prices(PACKED)), "bokeh-sampledata and skfolio, daily prices",
                SURVIVORS_PYPI)


def _relative(path: Path) -> Path:
    """The same path from the working directory, where that is shorter to read."""
    return min(path, Path(os.path.relpath(path)), key=lambda choice: len(str(choice)))


def pypi_prices(target: Path) -> Path:
    """Makes one table of the prices that two PyPI packages carry, and returns where it is.

    Five stocks have all of OHLCV, in the file of bokeh-sampledata (raw prices, made
    comparable over time by the ratio of its adjusted close to its close). Eighteen more
    have a close only, in the file of skfolio. The packages' files are read, their code is
    not imported. Raises: DataError where they are not installed.
    """
    if target.exists():
        return target
    import polars as pl

    bars = pl.read_csv(_carried("bokeh-sampledata", "bokeh_sampledata/_data/stocks.csv.gz"),
                       try_parse_dates=True)
    ratio = pl.col("Adj Close") / pl.col("Close")
    bars = bars.select(
        date="Date", ticker="Ticker",
        **{name: pl.col(name.title()) * ratio for name in OHLCV[:4]},
        volume=pl.col("Volume").cast(pl.Float64))
    closes = pl.read_csv(_carried("skfolio", "skfolio/datasets/data/sp500_dataset.csv.gz"),
                         try_parse_dates=True)
    closes = closes.unpivot(index="Date", variable_name="ticker", value_name="close").select(
        pl.col("Date").alias("date"), "ticker", pl.col("close").cast(pl.Float64))
    closes = closes.filter(~pl.col("ticker").is_in(bars["ticker"].unique().implode()))
    table = pl.concat([bars, closes], how="diagonal").sort("ticker", "date")
    target.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(target)
    return target


def _carried(package: str, name: str) -> bytes:
    """The bytes of a gzipped file that an installed package carries."""
    try:
        path = Path(str(metadata.distribution(package).locate_file(name)))
        return gzip.decompress(path.read_bytes())
    except (metadata.PackageNotFoundError, OSError) as error:
        raise DataError(
            f"no data: {PANEL} is not there, and neither is the package {package}\n"
            "name your own with --data PATH, or install the packages that carry real prices:\n"
            "  scripts/setup prices") from error


def meanings(names: Iterable[str]) -> dict[str, str]:
    """Which column holds what: `{"date": "Date", "ticker": "Name", …}`.

    Fields that are not there are left out. Raises: DataError without day, ticker or close.
    """
    names = list(names)
    lower = {name.lower(): name for name in reversed(names)}
    found = {meaning: lower[alias] for meaning, aliases in NAMES.items()
             for alias in reversed(aliases) if alias in lower}
    for needed in ("date", "ticker", "close"):
        if needed not in found:
            raise DataError(f"no column for the {needed}: looked for {', '.join(NAMES[needed])} "
                            f"among {', '.join(names)}")
    return found


def read_own(path: Path, schema: pa.Schema) -> pa.Table:
    """The columns of `schema`, read from the files into this process's own memory.

    What each process does where there is no pool: PyArrow's readers, only the columns that
    are needed, types as stated. Files in the order in which `cenote put` takes them.
    """
    import pyarrow as pa

    tables = [_table(name, content, schema) for name, content in _files(path)]
    return pa.concat_tables(tables).combine_chunks()


def _files(path: Path) -> Iterator[tuple[str, Any]]:
    """Name and content (a path or bytes) of each file of bars."""
    found = [path]
    if path.is_dir():
        found = sorted(file for file in path.rglob("*")
                       if file.is_file() and not file.name.startswith("."))
    for file in found:
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist():
                    if _is_bars(name):
                        yield name, archive.read(name)
        elif _is_bars(file.name) or file == path:
            yield file.name, file


def _is_bars(name: str) -> bool:
    stem = name.removesuffix(".gz")
    hidden = name.startswith("__MACOSX") or Path(name).name.startswith(".")
    return not hidden and stem.endswith((".csv", ".tsv", ".parquet", ".parq", ".pq"))


def _table(name: str, content: Any, schema: pa.Schema) -> pa.Table:
    import pyarrow.csv
    import pyarrow.parquet

    if isinstance(content, Path):
        content = content.read_bytes()
    if name.endswith(".gz"):
        content, name = gzip.decompress(content), name.removesuffix(".gz")
    if name.endswith((".parquet", ".parq", ".pq")):
        file = pyarrow.parquet.ParquetFile(io.BytesIO(content))
        return file.read(columns=schema.names).select(schema.names).cast(schema)
    return pyarrow.csv.read_csv(
        io.BytesIO(content),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t" if name.endswith(".tsv") else ","),
        convert_options=pyarrow.csv.ConvertOptions(
            include_columns=schema.names, null_values=[""], strings_can_be_null=True,
            column_types={field.name: field.type for field in schema}))
