"""Files that others look through with a predicate: an IPC file by Polars, Parquet by PyArrow.

Both are on tmpfs, and both engines may leave out what they can and use all cores.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from bench import data, measure


class _Scan(ABC):
    def __init__(self) -> None:
        self._path = ""

    def close(self) -> None:
        pass

    def count_scan(self, one: bool) -> int:
        return self._get(one)

    def get_scan(self, one: bool, repeats: int) -> list[int]:
        return measure.each(lambda: self._get(one), repeats)

    @abstractmethod
    def _get(self, one: bool) -> int:
        """Each peer its own way."""


class PolarsIpc(_Scan):
    """`polars.scan_ipc(…).filter(…).collect()`."""

    def open(self, folder: str) -> str:
        import polars

        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(folder, "days.arrow")
        return f"polars {polars.__version__}"

    def load_scan(self) -> int:
        import pyarrow as pa

        table = data.days_table()
        with pa.OSFile(self._path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return table.num_rows

    def _get(self, one: bool) -> int:
        import polars

        where: Any = polars.col("value") > data.DAYS_ABOVE
        if one:
            where = (polars.col("day") == data.DAYS_ONE) & where
        return polars.scan_ipc(self._path).filter(where).collect().height


class ParquetDataset(_Scan):
    """`pyarrow.dataset.dataset(…).to_table(filter=…)`."""

    def open(self, folder: str) -> str:
        import pyarrow as pa

        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(folder, "days.parquet")
        return f"pyarrow {pa.__version__}"

    def load_scan(self) -> int:
        import pyarrow.parquet as parquet

        table = data.days_table()
        parquet.write_table(table, self._path, row_group_size=data.DAYS_ROWS, compression="none",
                            use_dictionary=False)
        return table.num_rows

    def _get(self, one: bool) -> int:
        import pyarrow.dataset as dataset

        where = dataset.field("value") > data.DAYS_ABOVE
        if one:
            where = (dataset.field("day") == data.DAYS_ONE) & where
        return dataset.dataset(self._path).to_table(filter=where).num_rows
