"""An interpreter with PyArrow and no store: what a reader would hold anyway."""

from __future__ import annotations

from typing import Any

from bench.peers.ipc_file import touch

BYTES = 1 << 20


class Bare:
    """Imports PyArrow and reads 1 MiB of its own."""

    def __init__(self) -> None:
        self._kept: Any = None

    def open(self) -> str:
        import pyarrow as pa

        return f"pyarrow {pa.__version__}"

    def close(self) -> None:
        self._kept = None

    def read_array(self) -> int:
        """Reads as the other readers do, but a megabyte, which is let go."""
        import pyarrow as pa

        values = pa.Array.from_buffers(pa.uint8(), BYTES, [None, pa.py_buffer(bytes(BYTES))])
        return touch(pa.table({"x": values}))
