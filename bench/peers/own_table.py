"""Polars and DuckDB with a table of their own, in their own memory."""

from __future__ import annotations

from typing import Any

from bench import data, measure, queries


class OwnTable:
    """Makes the table itself, and queries it as `CenotePool` queries a frame."""

    def __init__(self) -> None:
        self._queries: dict[str, Any] = {}

    def open(self, engine: str) -> str:
        import importlib

        self._engine = engine
        return f"{engine} {importlib.import_module(engine).__version__}"

    def close(self) -> None:
        self._queries = {}

    def open_trades(self) -> int:
        """Bytes of the table."""
        table = data.trades()
        self._queries = queries.open_table(self._engine, table, own=True)
        return int(table.nbytes)

    def query(self, name: str, repeats: int) -> list[int]:
        return measure.each(self._queries[name], repeats)
