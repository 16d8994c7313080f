"""What the factor engines have in common: their data, and how their time and memory is taken."""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from bench import machine, measure, prices

CORES = 1


class FactorEngine(ABC):
    """One engine in a process of its own, on one core: its CPU is then its own, without what
    threads spend waiting for each other.

    | operation | answers |
    | --- | --- |
    | `open()` | its version |
    | `load(rows, symbols)` | nothing: makes the prices (`bench.prices`) in the engine's form |
    | `prepare(job)` | nanoseconds of CPU, compilers included, until `job` can be run |
    | `peak(job)` | bytes that a run took at most beyond what there was before it |
    | `run(job, repeats)` | nanoseconds of CPU, all threads, of each run |
    | `tail(job, rows, path)` | nothing: saves each factor's last rows, for comparison |
    """

    def __init__(self) -> None:
        self._prices: dict[str, Any] = {}
        self._work: dict[str, Callable[[], Any]] = {}

    def open(self) -> str:
        measure.use_cores(CORES)  # before an engine counts them
        return self.version()

    def close(self) -> None:
        self._work = {}
        self._prices = {}

    def load(self, rows: int, symbols: int, near: bool = False) -> None:
        """`near`: the closes are nearly equal numbers."""
        self._work = {}
        self._prices = prices.prices(rows, symbols)
        if near:
            self._prices["close"] = prices.nearly_equal(rows, symbols)
        self.take()

    def prepare(self, job: str) -> int:
        before = os.times()
        self._work[job] = self.work(job)
        after = os.times()
        return round(1e9 * sum(after[i] - before[i] for i in range(4)))

    def run(self, job: str, repeats: int = 1) -> list[int]:
        return measure.each_cpu(self._work[job], repeats)

    def peak(self, job: str) -> int:
        ctypes.CDLL(None).malloc_trim(0)
        before = machine.begin_peak()
        self._work[job]()
        return machine.peak_bytes() - before

    def tail(self, job: str, rows: int, path: str) -> None:
        import numpy as np

        found = self.factors(job, self._work[job]())
        np.savez(path, **{name: np.asarray(values)[-rows:] for name, values in found.items()})

    def take(self) -> None:
        """Puts the prices into the engine's form."""

    @abstractmethod
    def version(self) -> str:
        """Imports the engine; its name and version."""

    @abstractmethod
    def work(self, job: str) -> Callable[[], Any]:
        """What computes a job; it drops or reuses what it made before."""

    @abstractmethod
    def factors(self, job: str, result: Any) -> dict[str, Any]:
        """The factors of a result: arrays of shape (rows, symbols), by name."""
