"""Vineyard: `put` and `get` of a client beside a `vineyardd` of its own.

Runs in a virtual environment of its own, for it needs NumPy 1 and an older PyArrow. An
object id stands where Cenote looks a name up.
"""

from __future__ import annotations

import os
import subprocess
import time
from typing import Any

from bench import data, measure

STORE_SIZE = "4Gi"
START_LIMIT_S = 20.0
SETTLE_S = 0.2


class VineyardStore:
    """One `vineyardd` without etcd and without RPC, and one IPC client."""

    def __init__(self) -> None:
        self._daemon: subprocess.Popen | None = None
        self._client: Any = None
        self._ids: dict[int, Any] = {}

    def open(self, socket: str, serve: bool = True) -> str:
        import vineyard

        if serve:
            binary = os.path.join(os.path.dirname(vineyard.__file__), "bdist", "vineyardd")
            self._daemon = subprocess.Popen(
                [binary, f"--socket={socket}", f"--size={STORE_SIZE}", "--meta=local",
                 "--rpc=false"], stdout=2, stderr=2)
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                self._client = vineyard.connect(socket)
                return f"vineyard {vineyard.__version__}"
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def close(self) -> None:
        if self._daemon is not None:
            self._daemon.terminate()
            try:
                self._daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._daemon.kill()
                self._daemon.wait()
            self._daemon = None

    def load_wide(self) -> list[float]:
        self._wide = self._client.put(data.wide_table())
        return data.wide_digest(self._client.get(self._wide))

    def wide_id(self) -> str:
        """The table's id, for `join_wide` of another process."""
        return repr(self._wide)

    def join_wide(self, wide_id: str) -> None:
        """Loads what a reader needs, then names the table that another process stored."""
        import pyarrow  # noqa: F401
        import vineyard

        self._wide = vineyard.ObjectID(wide_id.strip('"'))

    def get_wide(self, repeats: int) -> list[int]:
        return measure.each(lambda: self._client.get(self._wide), repeats)

    def load_array(self, n_bytes: int) -> None:
        self._array = data.array(n_bytes)

    def put_array(self, repeats: int) -> list[int]:
        return measure.each(lambda: self._client.put(self._array), repeats, settle_s=SETTLE_S,
                            after=self._client.delete)

    def put_small(self, first: int, count: int) -> list[int]:
        tables = [data.small_table(number) for number in range(first, first + count)]
        taken, ids = measure.each_of(self._client.put, tables)
        self._ids.update(zip(range(first, first + count), ids, strict=True))
        return taken

    def get_small(self, numbers: list[int]) -> list[int]:
        taken, tables = measure.each_of(self._client.get, [self._ids[n] for n in numbers])
        assert [table["x"][0].as_py() for table in tables] == numbers
        return taken
