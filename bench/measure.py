"""The clock: what is timed, how often, and what is said about it.

Invariants:

* Only the call under test runs between two readings of the clock; results are dropped
  and data is made outside it. Python's garbage collector is off inside a block.
* A block is timed in the process that uses the store. Its samples travel afterwards.
* Sides take turns, A B A B, inside one run, so that a slow minute hits all of them.
* Warm-up turns are not counted. A cold figure is never an element of a warm median.

Standard library only: the peers' virtual environments import this file too.
"""

from __future__ import annotations

import gc
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

TAIL_SAMPLES_MIN = 100
"""With fewer samples than this a 99th percentile is not stated, the slowest is."""


@contextmanager
def collector_off() -> Iterator[None]:
    """Runs the body without Python's garbage collector (as `timeit` does)."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def use_cores(n_cores: int) -> None:
    """Confines this process to `n_cores` of its cores, and so the threads it will start.

    Raises `ValueError` where it has fewer.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < n_cores:
        raise ValueError(f"{n_cores} cores asked for, {len(cores)} there")
    os.sched_setaffinity(0, cores[:n_cores])


def each(call: Callable[[], object], repeats: int, *, settle_s: float = 0.0,
         after: Callable[[object], None] | None = None) -> list[int]:
    """Nanoseconds of each of `repeats` calls. The result is dropped off the clock.

    `after` receives the result off the clock (to delete what was put); then the block
    waits `settle_s`, which lets a store recycle space before the next call.
    """
    clock = time.perf_counter_ns
    taken = [0] * repeats
    with collector_off():
        for turn in range(repeats):
            start = clock()
            result = call()
            taken[turn] = clock() - start
            if after is not None:
                after(result)
            result = None
            if settle_s:
                time.sleep(settle_s)
    return taken


def each_cpu(call: Callable[[], object], repeats: int) -> list[int]:
    """Nanoseconds of CPU, of all threads of this process, of each of `repeats` calls."""
    clock = time.process_time_ns
    taken = [0] * repeats
    with collector_off():
        for turn in range(repeats):
            start = clock()
            result = call()
            taken[turn] = clock() - start
            del result
    return taken


def each_of(call: Callable[[object], object], inputs: Iterable[object]) -> tuple[list[int], list]:
    """Nanoseconds of one call per input, and the results, kept alive for the caller."""
    clock = time.perf_counter_ns
    taken: list[int] = []
    results: list[object] = []
    with collector_off():
        for item in inputs:
            start = clock()
            result = call(item)
            taken.append(clock() - start)
            results.append(result)
    return taken, results


@dataclass
class Samples:
    """Durations of one side, in nanoseconds."""

    ns: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ns)

    def median_ns(self) -> float:
        """The middle duration. Raises `statistics.StatisticsError` where none was taken."""
        return statistics.median(self.ns)

    def tail(self) -> tuple[str, float]:
        """`("p99", ns)`, or `("slowest", ns)` below `TAIL_SAMPLES_MIN` samples."""
        if len(self.ns) < TAIL_SAMPLES_MIN:
            return "slowest", max(self.ns)
        ordered = sorted(self.ns)
        return "p99", ordered[math.ceil(0.99 * len(ordered)) - 1]


def interleave(sides: dict[str, Callable[[], list[int]]], *, rounds: int,
               warmup: int = 1) -> dict[str, Samples]:
    """Lets the sides take turns, A B A B, for `rounds` counted rounds.

    Each side's callable runs one block and returns its durations in nanoseconds. The
    first `warmup` rounds run all sides and are thrown away.
    """
    samples = {name: Samples() for name in sides}
    for turn in range(warmup + rounds):
        for name, block in sides.items():
            taken = block()
            if turn >= warmup:
                samples[name].ns.extend(taken)
    return samples


def rounded(value: float | None, digits: int = 4) -> float | None:
    """`value` to `digits` significant digits, which is more than a run repeats."""
    if value is None or value == 0 or not math.isfinite(value):
        return value
    return round(value, digits - 1 - math.floor(math.log10(abs(value))))
