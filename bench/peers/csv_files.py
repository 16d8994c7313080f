"""CSV files as one table: ours in the pool, the peers' in memory of their own.

| operation | timed |
| --- | --- |
| `load(paths, header)` | reading the files as one table; the one before is dropped off the clock |
| `digest() -> list` | nothing: rows, columns, and the sum of each column of numbers |

Each side decides types as it does by default (the peers by first rows or first blocks, we by
all values) and uses all cores. Polars is asked to recognise dates, which PyArrow and we do.
"""

from __future__ import annotations

import json
import subprocess
from abc import ABC, abstractmethod
from typing import Any

from bench import measure
from bench.pool import binary

LOAD_LIMIT_S = 110


def _digest(table: Any) -> list[float]:
    import pyarrow as pa
    import pyarrow.compute as pc

    figures: list[float] = [table.num_rows, table.num_columns]
    for column in table.columns:
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            figures.append(float(f"{pc.sum(column).as_py():.9g}"))
    return figures


class CenoteCsv:
    """`cenote put`: the command's own clock, from its first step to the commit."""

    def open(self, address: str) -> str:
        import cenote

        self._address = address
        self._cenote = cenote
        return f"cenote {getattr(cenote, '__version__', '?')}"

    def close(self) -> None:
        """Nothing is kept."""

    def load(self, paths: list[str], header: bool) -> list[int]:
        command = [str(binary()), "put", *paths, "--name", "csv", "--replace", "--json",
                   "--address", self._address, *([] if header else ["--no-header"])]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LOAD_LIMIT_S)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        return [round(json.loads(done.stdout)["seconds"] * 1e9)]

    def digest(self) -> list[float]:
        return _digest(self._cenote.connect(self._address).get("csv").to_arrow())


class _InMemory(ABC):
    def __init__(self) -> None:
        self._table: Any = None

    def close(self) -> None:
        self._table = None

    def load(self, paths: list[str], header: bool) -> list[int]:
        def keep(table: Any) -> None:
            self._table = table

        self._table = None
        return measure.each(lambda: self.read(paths, header), 1, after=keep)

    @abstractmethod
    def read(self, paths: list[str], header: bool) -> Any:
        """Each peer its own way."""


class PolarsCsv(_InMemory):
    """`scan_csv` of all files at once: faster here than `read_csv` of each and `concat`."""

    def open(self) -> str:
        import polars as pl

        return f"polars {pl.__version__}"

    def read(self, paths: list[str], header: bool) -> Any:
        import polars as pl

        return pl.scan_csv(paths, has_header=header, try_parse_dates=True).collect()

    def digest(self) -> list[float]:
        return _digest(self._table.to_arrow())


class PyArrowCsv(_InMemory):
    """`pyarrow.csv.read_csv` of a file; several through a data set, which reads in parallel."""

    def open(self) -> str:
        import pyarrow as pa

        return f"pyarrow {pa.__version__}"

    def read(self, paths: list[str], header: bool) -> Any:
        import pyarrow.csv as csv
        import pyarrow.dataset as dataset

        options = csv.ReadOptions(autogenerate_column_names=not header)
        if len(paths) == 1:
            return csv.read_csv(paths[0], read_options=options)
        kind = dataset.CsvFileFormat(read_options=options)
        return dataset.dataset(paths, format=kind).to_table()

    def digest(self) -> list[float]:
        return _digest(self._table)
