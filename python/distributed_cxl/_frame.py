"""`CXLDataFrame`: a lazy time × symbol matrix that knows its pool."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cenote

LOCATION_POLICIES = ("hot_columns",)
"""What `location_policy=` may say.

A pool has one tier so far, the host's DRAM: everything is where hot columns would be. So the
policy is noted with the frame, and moves nothing.
"""

FIELD = "value"
"""The one field of a matrix's panel."""
_SOURCE = "distributed_cxl"
NAME_BYTES_MAX = 120
"""A name made of an expression that would be longer ends in a digest of it."""


class CXLDataFrame:
    """One time × symbol matrix: rows are times, columns symbols, float64, NaN where missing.

    Made by `from_parquet` or of another one. Has the operators and methods of
    `cenote.DataFrame` (`rolling`, `rank`, `shift`, `to_pandas`, …), is lazy as it is, and every
    method that gives a matrix takes `result_pool=`: then it is computed at once, in one pass,
    and committed to that pool as a frame, whose name the result has.
    """

    __slots__ = ("_expression", "_frame", "_matrix", "_panel", "_pool")

    def __init__(
        self, matrix: Any, panel: cenote.Panel, pool: cenote.Pool, expression: str,
        frame: cenote.Frame | None = None,
    ) -> None:
        self._matrix, self._panel, self._pool = matrix, panel, pool
        self._expression, self._frame = expression, frame

    @classmethod
    def from_parquet(
        cls, path: str | os.PathLike[str], *, pool: str, location_policy: str | None = None,
        name: str | None = None, time: str | None = None,
    ) -> CXLDataFrame:
        """A wide Parquet file, a row for each time and a column for each symbol, in a pool.

        `pool`: a pool's name or directory, as `cenote.connect` takes it; a named one is started
        where it does not run. The file is loaded once, as the frame `name` (its own name without
        the ending, unless said), and again only when it has changed; whoever comes later reads
        what is there, in place. `time`: the column of times, where several could be.
        `location_policy`: see `LOCATION_POLICIES`.

        Raises: ArgumentError for another policy, times that do not rise and the like;
        UnsupportedType for columns that are no numbers; FrameExists where the name is taken by
        something else; OSError.
        """
        if location_policy is not None and location_policy not in LOCATION_POLICIES:
            known = ", ".join(map(repr, LOCATION_POLICIES))
            raise cenote.ArgumentError(
                f"location_policy={location_policy!r}; there is {known}, and a pool has one tier")
        file = Path(path).resolve(strict=True)
        name = name or file.stem
        connected = cenote.connect(pool)
        stat = file.stat()
        note = f"{stat.st_size} bytes of {stat.st_mtime_ns} ns"
        if location_policy is not None:
            note += f", location_policy={location_policy}"
        frame = _loaded(connected, name, file, note, time)
        panel = cenote.Panel(frame)
        return cls(panel[FIELD], panel, connected, name, frame)

    @property
    def name(self) -> str | None:
        """The frame that it is, in its pool; None of what is not computed yet."""
        return None if self._frame is None else self._frame.name

    @property
    def frame(self) -> cenote.Frame | None:
        """That frame, leased."""
        return self._frame

    @property
    def pool(self) -> cenote.Pool:
        """The pool that its data is in."""
        return self._pool

    @property
    def expression(self) -> str:
        """What it is of the frames of the pool."""
        return self._expression

    def commit(self, result_pool: str) -> CXLDataFrame:
        """Computes the matrix and commits it to a pool; the result is the frame's, in place.

        The name is the expression. Where it has been computed before, that is a new version.
        Raises: FrameExists where the name is something else's.
        """
        pool = cenote.connect(result_pool)
        name = _name_of(self._expression)
        factors = self._panel.factors({FIELD: self._matrix})
        put = partial(pool.put, name, factors, source=_SOURCE, expression=self._expression)
        try:
            put()
        except cenote.FrameExists:
            if pool.versions(name)[-1]["expression"] != self._expression:
                raise
            put(replace=True)
        frame = pool[name]
        panel = cenote.Panel(frame)
        return CXLDataFrame(panel[FIELD], panel, pool, name, frame)

    def __getattr__(self, name: str) -> Any:
        # What begins with an underscore is looked up by copy, pickle and notebooks.
        if name.startswith("_"):
            raise AttributeError(name)
        return _of(self, getattr(self._matrix, name), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._matrix)})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._matrix.__array__(dtype, copy)

    def __bool__(self) -> bool:
        return bool(self._matrix)

    def __repr__(self) -> str:
        times, symbols = self._matrix.shape
        state = "not computed yet" if self._frame is None else f"version {self._frame.version}"
        return f"<CXLDataFrame {self._expression}: {times} times × {symbols} symbols, {state}>"


class _Window:
    """Rows of a matrix: what its `rolling` or `ewm` gives, with `result_pool=` on each method."""

    __slots__ = ("_expression", "_rows", "_whole")

    def __init__(self, whole: CXLDataFrame, rows: Any, expression: str) -> None:
        self._whole, self._rows, self._expression = whole, rows, expression

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _of(self._whole, getattr(self._rows, name), name, self._expression)


def _of(whole: CXLDataFrame, member: Any, name: str, expression: str | None = None) -> Any:
    """A member of what a matrix wraps; a method's result is wrapped again."""
    if not callable(member):
        return member

    def method(*positional: Any, result_pool: str | None = None, **named: Any) -> Any:
        said = [_text(value) for value in positional]
        said += [f"{key}={_text(value)}" for key, value in named.items()]
        plain = {key: _matrix_of(whole, value) for key, value in named.items()}
        result = member(*(_matrix_of(whole, value) for value in positional), **plain)
        text = f"{expression or whole.expression}.{name}({', '.join(said)})"
        return _wrapped(whole, result, text, result_pool)

    method.__name__, method.__doc__ = name, member.__doc__
    return method


def _wrapped(whole: CXLDataFrame, result: Any, text: str, result_pool: str | None) -> Any:
    if isinstance(result, cenote.DataFrame):
        made = CXLDataFrame(result, whole._panel, whole.pool, text)
        return made if result_pool is None else made.commit(result_pool)
    if result_pool is not None:
        raise cenote.ArgumentError(f"{text} is no matrix: result_pool= has nothing to commit")
    if type(result).__name__ in ("Rolling", "Ewm"):
        return _Window(whole, result, text)
    return result


def _matrix_of(whole: CXLDataFrame, value: Any) -> Any:
    """An operand; one of another panel with the same axes cannot be had yet, and cenote says so."""
    return value._matrix if isinstance(value, CXLDataFrame) else value


def _text(value: Any) -> str:
    return value.expression if isinstance(value, CXLDataFrame) else repr(value)


def _operator(name: str, pattern: str) -> Callable[..., Any]:
    def operator(self: CXLDataFrame, *others: Any) -> Any:
        method = getattr(self._matrix, name)
        result = method(*(_matrix_of(self, other) for other in others))
        if result is NotImplemented:
            return result
        text = pattern.format(self.expression, *map(_text, others))
        return _wrapped(self, result, text, None)

    operator.__name__ = name
    return operator


for _name, _sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "÷"), ("pow", "**"),
                     ("and", "&"), ("or", "|")):
    setattr(CXLDataFrame, f"__{_name}__", _operator(f"__{_name}__", f"({{0}} {_sign} {{1}})"))
    setattr(CXLDataFrame, f"__r{_name}__", _operator(f"__r{_name}__", f"({{1}} {_sign} {{0}})"))
for _name, _sign in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "=="),
                     ("ne", "!=")):
    setattr(CXLDataFrame, f"__{_name}__", _operator(f"__{_name}__", f"({{0}} {_sign} {{1}})"))
for _name, _pattern in (("neg", "-{0}"), ("abs", "abs({0})"), ("invert", "~{0}")):
    setattr(CXLDataFrame, f"__{_name}__", _operator(f"__{_name}__", _pattern))
# Equality gives a matrix, so that identity is what a set or a dict can go by.
setattr(CXLDataFrame, "__hash__", object.__hash__)


def _loaded(
    pool: cenote.Pool, name: str, file: Path, note: str, time: str | None
) -> cenote.Frame:
    """The frame of the file as it is now, loaded if it is not there."""
    def is_there() -> bool | None:
        """Whether the frame is of this file as it is; None if there is none."""
        if name not in pool:
            return None
        last = pool.versions(name)[-1]
        if last["source"] != str(file):
            raise cenote.FrameExists(
                f'the pool has a frame "{name}" of something else '
                f"({last['source'] or 'no source'}); name= gives this one another name")
        return last["note"] == note

    found = is_there()
    if not found:
        panel = _read(file, time)
        try:
            pool.put(name, panel, replace=found is False, source=str(file), note=note)
        except cenote.FrameExists:  # Another process came first.
            if not is_there():
                raise
    return pool[name]


def _read(file: Path, time: str | None) -> cenote.Panel:
    """The file as a panel: read by the loader of `cenote put`, into a pool of this process."""
    own = cenote.connect(embedded=True)
    own.load(file, "wide", format="parquet")
    return cenote.Panel.from_wide({FIELD: own["wide"]}, time=time)


def _name_of(expression: str) -> str:
    """A frame's name: the expression, without what no name has."""
    name = re.sub(r"[/\\\x00-\x1f\x7f]", "_", expression).strip()
    if len(name.encode()) <= NAME_BYTES_MAX:
        return name
    digest = hashlib.sha256(expression.encode()).hexdigest()[:12]
    return name.encode()[: NAME_BYTES_MAX - 14].decode(errors="ignore").rstrip() + "…" + digest
