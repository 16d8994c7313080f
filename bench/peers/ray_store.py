"""Ray's object store: `ray.put` and `ray.get` in a driver on this host.

Ray has no names: a reference stands where Cenote looks a name up, which favours Ray.
"""

from __future__ import annotations

import os
import time
from typing import Any

from bench import data, measure

STORE_BYTES = 4 << 30
SETTLE_S = 2.5
"""Ray frees what has no reference left in batches, a second apart."""


class RayStore:
    """A Ray of one node and one CPU, started by this process and ended with it."""

    def __init__(self) -> None:
        self._ray: Any = None
        self._refs: dict[int, Any] = {}

    def open(self, temp_dir: str, store_bytes: int = STORE_BYTES) -> str:
        os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_memory_monitor_refresh_ms="0",
                          RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO="0")
        import ray

        self._ray = ray
        ray.init(address="local", num_cpus=1, object_store_memory=store_bytes,
                 include_dashboard=False, log_to_driver=False, logging_level="ERROR",
                 _temp_dir=temp_dir)
        return f"ray {ray.__version__}"

    def close(self) -> None:
        if self._ray is not None:
            self._refs.clear()
            self._ray.shutdown()
            self._ray = None

    def load_wide(self) -> list[float]:
        self._wide = self._ray.put(data.wide_table())
        return data.wide_digest(self._ray.get(self._wide))

    def get_wide(self, repeats: int) -> list[int]:
        return measure.each(lambda: self._ray.get(self._wide), repeats)

    def first_get_wide(self, processes: int) -> list[int]:
        ray = self._ray

        # Defined here, so that it travels by value and a worker needs no import path.
        @ray.remote(num_cpus=0)
        class Reader:
            def prepare(self) -> None:
                import pyarrow  # noqa: F401  (a reader has it loaded on every side)

            def first_get(self, boxed: list) -> int:
                start = time.perf_counter_ns()
                table = ray.get(boxed[0])
                taken = time.perf_counter_ns() - start
                assert table.num_columns == data_columns
                return taken

        data_columns = data.WIDE_COLUMNS
        taken = []
        for _ in range(processes):
            reader = Reader.remote()
            ray.get(reader.prepare.remote(), timeout=60)
            taken.append(ray.get(reader.first_get.remote([self._wide]), timeout=60))
            ray.kill(reader)
        return taken

    def load_array(self, n_bytes: int) -> None:
        self._array = data.array(n_bytes)

    def put_array(self, repeats: int) -> list[int]:
        return measure.each(lambda: self._ray.put(self._array), repeats, settle_s=SETTLE_S)

    def put_small(self, first: int, count: int) -> list[int]:
        tables = [data.small_table(number) for number in range(first, first + count)]
        taken, refs = measure.each_of(self._ray.put, tables)
        self._refs.update(zip(range(first, first + count), refs, strict=True))
        return taken

    def get_small(self, numbers: list[int]) -> list[int]:
        taken, tables = measure.each_of(self._ray.get, [self._refs[n] for n in numbers])
        assert [table["x"][0].as_py() for table in tables] == numbers
        return taken
