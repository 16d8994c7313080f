"""PyArrow's own import through Arrow's C interface: the floor for `to_arrow()`.

The arrays are PyArrow's own, so nothing is looked up, leased or mapped.
"""

from __future__ import annotations

from typing import Any

from bench import data, measure


class _Exporter:
    """Anything with `__arrow_c_stream__`; PyArrow must not know it as its own table."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class PyArrowImport:
    """The table of 100 columns, exported and imported again by PyArrow."""

    def open(self) -> str:
        import pyarrow as pa

        self._table = data.wide_table()
        return f"pyarrow {pa.__version__}"

    def close(self) -> None:
        self._table = None

    def import_first(self) -> list[int]:
        """`pa.table(obj)`, once, as the first import of this process."""
        import pyarrow as pa

        exporter = _Exporter(self._table)
        return measure.each(lambda: pa.table(exporter), 1)

    def import_stream(self, repeats: int) -> list[int]:
        """`pa.table(obj)`: export and import of a stream of one batch."""
        import pyarrow as pa

        exporter = _Exporter(self._table)
        assert pa.table(exporter).equals(self._table)
        return measure.each(lambda: pa.table(exporter), repeats)

    def import_arrays(self, repeats: int) -> list[int]:
        """The import alone: the 100 arrays were exported off the clock."""
        import pyarrow as pa

        batch = self._table.combine_chunks().to_batches()[0]
        exported = [batch.__arrow_c_array__() for _ in range(repeats)]
        take = pa.RecordBatch._import_from_c_capsule
        taken, batches = measure.each_of(
            lambda pair: pa.Table.from_batches([take(*pair)]), exported)
        assert all(table.num_columns == data.WIDE_COLUMNS for table in batches)
        return taken
