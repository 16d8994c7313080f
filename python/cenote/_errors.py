"""Exceptions. Each is also the built-in one that a user would catch."""

from __future__ import annotations

from typing import TypedDict


class Holder(TypedDict):
    """A process whose bytes stand in the way of a put."""

    pid: int
    command: str
    bytes: int


class CenoteError(Exception):
    """Any error of Cenote."""

    __module__ = "cenote"


class FrameNotFound(CenoteError, KeyError):
    """No frame has this name, or the version that a reference names is gone."""

    __module__ = "cenote"

    def __str__(self) -> str:
        # A KeyError shows its argument's repr.
        return Exception.__str__(self)


class VersionNotFound(FrameNotFound):
    """The frame has no such version, or none any more; says which it has."""

    __module__ = "cenote"


class VersionConflict(CenoteError):
    """The frame stands for another version than `expect_version=` said."""

    __module__ = "cenote"

    expected: int = 0
    """The version that was expected, 0 for none."""
    found: int = 0
    """The version that is there, 0 for none."""


class ColumnNotFound(CenoteError, KeyError):
    """The frame has no such column; says which it has."""

    __module__ = "cenote"

    def __str__(self) -> str:
        return Exception.__str__(self)


class FrameExists(CenoteError, ValueError):
    """The name is taken; `replace=True` makes a new version of it."""

    __module__ = "cenote"


class FrameDamaged(CenoteError):
    """What is stored is not what was written; it is not served."""

    __module__ = "cenote"


class PoolExhausted(CenoteError, MemoryError):
    """It does not fit. Sizes in bytes."""

    __module__ = "cenote"

    asked: int = 0
    """What was asked for, in one piece."""
    free: int = 0
    """What is free."""
    largest: int = 0
    """The largest run of bytes that could be had."""
    capacity: int = 0
    """The pool's."""
    limit: str = ""
    """Which limit was met: "capacity", "file system" or "memory"."""
    holders: list[Holder] = []  # noqa: RUF012 (a default; an instance has its own)
    """Who holds bytes that nobody else can use, the largest first."""


class PoolUnavailable(CenoteError, ConnectionError):
    """The pool cannot be reached, and why."""

    __module__ = "cenote"


class ArgumentError(CenoteError, ValueError):
    """A bad argument: a name that no frame can have, rows out of range, unequal lengths."""

    __module__ = "cenote"


class UnsupportedType(CenoteError, TypeError):
    """Data of a type that no column can hold; says which column."""

    __module__ = "cenote"
