"""The operators of the 101 alphas in pandas and NumPy, lazily, each expression once.

An expression can be computed *shaken*: what is rounded (sums, moments, correlations) is moved
by a few times its rounding error. Where the shaken answer differs much, a rank, a comparison
or a cancellation has turned rounding noise into the answer, and no two correct programs need
agree there. Everywhere else they must.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.lib.stride_tricks import sliding_window_view

ROOT = Path(__file__).parents[2]


def example(name: str) -> Path:
    """An example program of the engine, built."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("no cargo: the engine is run from its examples")
    build = [cargo, "build", "-q", "-p", "cenote-panel", "--example", name]
    subprocess.run(build, cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
    return ROOT / target / "debug/examples" / name

Matrix = np.ndarray[Any, np.dtype[np.float64]]

NOISE = 2e-13


@dataclass
class Computing:
    """What has been computed already, and how it is shaken."""

    # None: not shaken.
    seed: int | None = None
    done: dict[int, Matrix] = field(default_factory=dict)

    def shake(self, x: Matrix, scale: Matrix | float | None = None) -> Matrix:
        """Moves each value by about its rounding error, up or down."""
        if self.seed is None:
            return x
        random = np.random.default_rng((self.seed, len(self.done)))
        return self._moved(x, scale, random.choice([-1.0, -0.6, 0.7, 1.1], x.shape))

    def shake_alike(self, x: Matrix) -> Matrix:
        """The same, but equal values by equal amounts: for functions of one value."""
        if self.seed is None:
            return x
        bits = np.nan_to_num(x).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15 + 2 * self.seed)
        return self._moved(x, None, (bits >> np.uint64(40)) / 2.0**23 - 1.0)

    def _moved(self, x: Matrix, scale: Matrix | float | None, by: Matrix) -> Matrix:
        moved = x + NOISE * (np.abs(x) if scale is None else scale) * by
        return np.where(np.isfinite(x), moved, x)


class Series:
    """A matrix yet to be computed. Equal expressions are one object."""

    known: dict[tuple[object, ...], Series] = {}
    __slots__ = ("_compute", "_inputs")

    def __init__(self, compute: Callable[..., Matrix], inputs: tuple[object, ...]) -> None:
        self._compute, self._inputs = compute, inputs

    def of(self, run: Computing) -> Matrix:
        """Its values, rows by symbols."""
        if id(self) not in run.done:
            args = [x.of(run) if isinstance(x, Series) else x for x in self._inputs]
            with np.errstate(all="ignore"):
                run.done[id(self)] = self._compute(run, *args)
        return run.done[id(self)]

    def __add__(self, other: object) -> Series:
        return node("+", lambda _, x, y: x + y, self, other)

    def __radd__(self, other: object) -> Series:
        return node("+", lambda _, x, y: x + y, other, self)

    def __sub__(self, other: object) -> Series:
        return node("-", lambda _, x, y: x - y, self, other)

    def __rsub__(self, other: object) -> Series:
        return node("-", lambda _, x, y: x - y, other, self)

    def __mul__(self, other: object) -> Series:
        return node("*", lambda _, x, y: x * y, self, other)

    def __rmul__(self, other: object) -> Series:
        return node("*", lambda _, x, y: x * y, other, self)

    def __truediv__(self, other: object) -> Series:
        return node("/", lambda _, x, y: x / y, self, other)

    def __rtruediv__(self, other: object) -> Series:
        return node("/", lambda _, x, y: x / y, other, self)

    def __lt__(self, other: object) -> Series:
        return node("<", lambda _, x, y: truth(x < y, x, y), self, other)

    def __gt__(self, other: object) -> Series:
        return node("<", lambda _, x, y: truth(x < y, x, y), other, self)


def node(name: str, compute: Callable[..., Matrix], *inputs: object) -> Series:
    key = (name, *((id(x), "node") if isinstance(x, Series) else x for x in inputs))
    if key not in Series.known:
        Series.known[key] = Series(compute, inputs)
    return Series.known[key]


def truth(is_so: Matrix, *inputs: Matrix | float) -> Matrix:
    """1 or 0; missing where an input is."""
    missing = np.logical_or.reduce(np.broadcast_arrays(*[np.isnan(x) for x in inputs]))
    return np.where(missing, np.nan, is_so.astype(float))


@dataclass
class Panel:
    """Fields, rows by symbols, and how two open points of the paper are taken."""

    fields: dict[str, Matrix]
    # adv is of volume times close; or of volume, where it stands beside the volume.
    dollars: bool = True
    # A rank in a window is from 1 to its length; or is divided by that.
    shares_of_window: bool = False
    # The correlation of a constant is 0; or is missing.
    still_is_zero: bool = False

    def __getattr__(self, name: str) -> Series:
        name = name.rstrip("_")
        values = self.fields[name]
        return node(f"field {name}", lambda *_: values, id(values))

    @property
    def returns(self) -> Series:
        return self.close / delay(self.close, 1) - 1

    def adv(self, days: int) -> Series:
        traded = self.close * self.volume if self.dollars else self.volume
        return mean(traded, days)

    def ts_rank(self, x: Series, rows: float) -> Series:
        places = ts_rank(x, rows)
        return places / int(rows) if self.shares_of_window else places

    def correlation(self, x: Series, y: Series, rows: float) -> Series:
        found = correlation(x, y, rows)
        if not self.still_is_zero:
            return found
        whole = 0 * ts_sum(x + y, rows)
        return node("or", lambda _, x, y: np.where(np.isnan(x), y, x), found, whole)


# Row by row.


def rank(x: Series) -> Series:
    return node("rank", lambda _, x: pd.DataFrame(x).rank(axis=1, pct=True).to_numpy(), x)


def scale(x: Series) -> Series:
    def compute(run: Computing, x: Matrix) -> Matrix:
        return x / run.shake(np.nansum(np.abs(x), axis=1, keepdims=True))

    return node("scale", compute, x)


def indneutralize(x: Series, groups: Series) -> Series:
    def compute(run: Computing, x: Matrix, groups: Matrix) -> Matrix:
        out = np.full(x.shape, np.nan)
        for code in np.unique(groups[~np.isnan(groups)]):
            members = np.where(groups == code, x, np.nan)
            counted = np.sum(~np.isnan(members), axis=1, keepdims=True)
            means = np.nansum(members, axis=1, keepdims=True) / counted
            own = np.where((counted == 1), 0 * members, members - run.shake(means))
            out = np.where(groups == code, own, out)
        return out

    return node("indneutralize", compute, x, groups)


# At one place.


def absolute(x: Series) -> Series:
    return node("abs", lambda _, x: np.abs(x), x)


def log(x: Series) -> Series:
    return node("log", lambda run, x: run.shake_alike(np.log(x)), x)


def sign(x: Series) -> Series:
    return node("sign", lambda _, x: np.sign(x), x)


def power(x: Series, a: Series | float) -> Series:
    def compute(run: Computing, x: Matrix, a: Matrix | float) -> Matrix:
        out = np.power(x, a)
        return run.shake_alike(np.where(np.isnan(x) | np.isnan(a), np.nan, out))

    return node("^", compute, x, a)


def signedpower(x: Series, a: Series | float) -> Series:
    return sign(x) * power(absolute(x), a)


def where(condition: Series, x: Series | float, y: Series | float) -> Series:
    def compute(_: Computing, c: Matrix, x: Matrix | float, y: Matrix | float) -> Matrix:
        return np.where(np.isnan(c), np.nan, np.where(c != 0, x, y))

    return node("where", compute, condition, x, y)


def either(x: Series, y: Series) -> Series:
    return node("||", lambda _, x, y: truth((x != 0) | (y != 0), x, y), x, y)


def equal(x: Series, y: Series | float) -> Series:
    return node("==", lambda _, x, y: truth(x == y, x, y), x, y)


def least(x: Series, y: Series | float) -> Series:
    return node("min", lambda _, x, y: np.minimum(x, y), x, y) if is_series(y) else ts_min(x, y)


def most(x: Series, y: Series | float) -> Series:
    return node("max", lambda _, x, y: np.maximum(x, y), x, y) if is_series(y) else ts_max(x, y)


def is_series(x: object) -> bool:
    return isinstance(x, Series)


# Over windows: a fraction of a row is cut off.


def rolling(x: Matrix, rows: float) -> Any:
    return pd.DataFrame(x).rolling(int(rows))


def windows(x: Matrix, rows: float, of: Callable[[Matrix], Matrix]) -> Matrix:
    """`of` the last axis of all windows; missing before the first whole one."""
    rows, out = int(rows), np.full(x.shape, np.nan)
    if len(x) >= rows:
        out[rows - 1 :] = of(sliding_window_view(x, rows, axis=0))
    return out


def over(name: str, compute: Callable[..., Matrix], *inputs: object) -> Series:
    return node(name, compute, *inputs)


def delay(x: Series, rows: float) -> Series:
    return over("delay", lambda _, x, n: pd.DataFrame(x).shift(int(n)).to_numpy(), x, rows)


def delta(x: Series, rows: float) -> Series:
    return x - delay(x, rows)


def shaken_sum(run: Computing, out: Matrix, x: Matrix, n: float) -> Matrix:
    """Sums of whole numbers and of one row are exact; others lose what their terms weigh."""
    if int(n) == 1 or np.array_equal(np.nan_to_num(x), np.rint(np.nan_to_num(x))):
        return out
    return run.shake(out, np.abs(out) + LOST * int(n) * largest(x, n))


def ts_sum(x: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, n: float) -> Matrix:
        return shaken_sum(run, rolling(x, n).sum().to_numpy(), x, n)

    return over("sum", compute, x, rows)


def mean(x: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, n: float) -> Matrix:
        return shaken_sum(run, rolling(x, n).mean().to_numpy(), x, n)

    return over("mean", compute, x, rows)


def product(x: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, n: float) -> Matrix:
        out = windows(x, n, lambda w: np.prod(w, axis=-1))
        return out if int(n) == 1 else run.shake(out)

    return over("product", compute, x, rows)


def ts_min(x: Series, rows: float) -> Series:
    return over("ts_min", lambda _, x, n: windows(x, n, lambda w: np.min(w, axis=-1)), x, rows)


def ts_max(x: Series, rows: float) -> Series:
    return over("ts_max", lambda _, x, n: windows(x, n, lambda w: np.max(w, axis=-1)), x, rows)


def arg(name: str, of: Callable[..., Any], x: Series, rows: float) -> Series:
    def compute(_: Computing, x: Matrix, n: float) -> Matrix:
        def places(w: Matrix) -> Matrix:
            return np.where(np.isnan(w).any(axis=-1), np.nan, of(w, axis=-1) + 1.0)

        return windows(x, n, places)

    return over(name, compute, x, rows)


def ts_argmax(x: Series, rows: float) -> Series:
    return arg("argmax", np.argmax, x, rows)


def ts_argmin(x: Series, rows: float) -> Series:
    return arg("argmin", np.argmin, x, rows)


def ts_rank(x: Series, rows: float) -> Series:
    return over("ts_rank", lambda _, x, n: rolling(x, n).rank().to_numpy(), x, rows)


def constant(x: Matrix, rows: float) -> Matrix:
    def is_one(w: Matrix) -> Matrix:
        return (np.max(w, axis=-1) == np.min(w, axis=-1)).astype(float)

    return windows(x, rows, is_one) == 1.0


def largest(x: Matrix, rows: float) -> Matrix:
    return windows(np.abs(x), rows, lambda w: np.max(w, axis=-1))


# What pandas loses of a moment, in units of a value's square: it updates a running sum.
LOST = 0.01


def stddev(x: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, n: float) -> Matrix:
        out = np.where(constant(x, n), 0.0, rolling(x, n).std().to_numpy())
        return np.where(out == 0, out, run.shake(out, out + LOST * largest(x, n) ** 2 / out))

    return over("stddev", compute, x, rows)


def spread(x: Matrix, n: float) -> Matrix:
    return np.nan_to_num(rolling(x, n).std().to_numpy())


def covariance(x: Series, y: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, y: Matrix, n: float) -> Matrix:
        out = rolling(x, n).cov(pd.DataFrame(y)).to_numpy()
        still = constant(x, n) | constant(y, n)
        lost = spread(x, n) * spread(y, n) + LOST * largest(x, n) * largest(y, n)
        return np.where(still & ~np.isnan(out), 0.0, run.shake(out, lost))

    return over("covariance", compute, x, y, rows)


def correlation(x: Series, y: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, y: Matrix, n: float) -> Matrix:
        out = rolling(x, n).corr(pd.DataFrame(y)).to_numpy()
        out = np.where(constant(x, n) | constant(y, n), np.nan, out)
        own = [largest(z, n) / spread(z, n) for z in (x, y)]
        lost = 1.0 + LOST * (own[0] ** 2 + own[1] ** 2)
        return np.clip(run.shake(np.clip(out, -1, 1), lost), -1, 1)

    return over("correlation", compute, x, y, rows)


def decay_linear(x: Series, rows: float) -> Series:
    def compute(run: Computing, x: Matrix, n: float) -> Matrix:
        weights = np.arange(1.0, int(n) + 1)
        out = windows(x, n, lambda w: w @ (weights / weights.sum()))
        return run.shake(np.where(np.isfinite(out), out, np.nan), np.abs(out) + largest(x, n))

    return over("decay", compute, x, rows)
