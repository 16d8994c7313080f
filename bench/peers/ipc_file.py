"""An Arrow IPC file on tmpfs, mapped: the floor for a store without a daemon.

It has no checksum, no catalog, no safe replacement and no reclaim; it shows what the
bytes alone cost.
"""

from __future__ import annotations

import os
from typing import Any

from bench import data, measure

PAGE_BYTES = 4096


class IpcFile:
    """Tables as files `NAME.arrow` in a folder of tmpfs."""

    def __init__(self) -> None:
        self._folder = ""
        self._kept: Any = None

    def open(self, folder: str) -> str:
        import pyarrow as pa

        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        return f"pyarrow {pa.__version__}"

    def close(self) -> None:
        self._kept = None

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, f"{name}.arrow")

    def _write(self, name: str, table: Any) -> str:
        import pyarrow as pa

        path = self._path(name)
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        return path

    def _read(self, name: str) -> Any:
        import pyarrow as pa

        return pa.ipc.open_file(pa.memory_map(self._path(name))).read_all()

    def load_wide(self) -> list[float]:
        self._write("wide", data.wide_table())
        return data.wide_digest(self._read("wide"))

    def get_wide(self, repeats: int) -> list[int]:
        return measure.each(lambda: self._read("wide"), repeats)

    def load_array(self, n_bytes: int) -> None:
        self._array = data.array(n_bytes)

    def put_array(self, repeats: int) -> list[int]:
        import pyarrow as pa

        return measure.each(
            lambda: self._write("array", pa.table({"x": pa.array(self._array)})), repeats,
            after=os.unlink)

    def put_small(self, first: int, count: int) -> list[int]:
        inputs = [(f"small-{number}", data.small_table(number))
                  for number in range(first, first + count)]
        return measure.each_of(lambda pair: self._write(*pair), inputs)[0]

    def get_small(self, numbers: list[int]) -> list[int]:
        taken, tables = measure.each_of(self._read, [f"small-{number}" for number in numbers])
        assert [table["x"][0].as_py() for table in tables] == numbers
        return taken

    def append_days(self, name: str, first: int, count: int) -> list[int]:
        """Adds so many days to a folder, a file each: what a dataset of files does."""
        days = [(f"{name}-{number:06}", data.day_table(number))
                for number in range(first, first + count)]
        return measure.each_of(lambda pair: self._write(*pair), days)[0]

    def put_frames(self, n_frames: int, n_bytes: int) -> int:
        """Writes frames of one float64 column; returns the bytes of data in them."""
        import pyarrow as pa

        table = pa.table({"x": pa.array(data.array(n_bytes))})
        for number in range(n_frames):
            self._write(f"frame-{number}", table)
        return n_frames * table.nbytes

    def store_array(self, n_bytes: int) -> None:
        """Stores the array for `read_array` of other processes."""
        import pyarrow as pa

        self._write("array", pa.table({"x": pa.array(data.array(n_bytes))}))

    def read_array(self) -> int:
        """Maps the array, reads a byte of each page, keeps the mapping; returns bytes."""
        self._kept = self._read("array")
        return touch(self._kept)


def touch(table: Any) -> int:
    """Reads one byte of each page of an Arrow table's values; returns the bytes spanned.

    Plain Python: a library loaded for it would count as the reader's own memory.
    """
    spanned = 0
    for column in table.columns:
        for part in column.chunks:
            values = memoryview(part.buffers()[1])
            sum(values[::PAGE_BYTES])
            spanned += values.nbytes
    return spanned
