"""Reaching a pool, and starting one."""

from __future__ import annotations

import operator
import os
import shutil
import sys
import sysconfig
from pathlib import Path

from cenote import _cenote
from cenote._errors import ArgumentError, PoolUnavailable

DEFAULT_POOL = "default"
"""The pool that is meant where none is named."""


def connect(
    address: str | os.PathLike[str] | None = None,
    *,
    embedded: bool = False,
    capacity: int | str | None = None,
) -> _cenote.Pool:
    """Connects to a pool of this host.

    `address`: a directory (with a `/` in it), or the name of a pool of this user. None is
    what `CENOTE_ADDRESS` says, else the user's default pool. A pool that is named, or
    default, is started in the background where it does not run, and ends after ten minutes
    without a client; one at a directory is not.
    `embedded`: a pool of this process alone, gone with it.
    `capacity`: of a pool that this call starts: a number of bytes, or a text such as "8GiB";
    half of what the machine allows unless said.

    Where the pool's daemon has just ended, the next one is waited for, two seconds at most.

    Raises: PoolUnavailable, ArgumentError.
    """
    size = None if capacity is None else _size(capacity)
    if embedded:
        if address is not None:
            raise ArgumentError("an embedded pool has no address")
        from cenote import _reference

        return _reference.remember(_cenote.open_embedded(size))
    if address is None:
        address = os.environ.get("CENOTE_ADDRESS") or DEFAULT_POOL
    address = os.fspath(address)
    if "/" in address:
        if "\0" in address:
            raise ArgumentError(f"the address {address!r} is no path")
        if capacity is not None:
            raise ArgumentError(
                f"capacity= is for a pool that is started, and the one at {address} is not: "
                f"`cenote serve --address {address} --capacity {capacity}` starts it"
            )
        return _cenote.connect_pool(address)
    if address.strip() in ("", ".", "..") or not address.isprintable():
        raise ArgumentError(f"the address {address!r} is neither a path nor a name")
    command = find_command()
    try:
        return _cenote.connect_pool(address, command, size)
    except PoolUnavailable as error:
        if command is not None:
            raise
        raise PoolUnavailable(f"{error}; and none was started: {_missing()}") from None


def _size(capacity: object) -> int:
    """`capacity=` in bytes."""
    if isinstance(capacity, str):
        size = _cenote.parse_size(capacity)
    else:
        try:
            size = operator.index(capacity)  # type: ignore[arg-type]
        except TypeError:
            size = 0
    if isinstance(capacity, bool) or not 0 < size < 1 << 64:
        raise ArgumentError(f'capacity={capacity!r} is no size: a number of bytes, or "8GiB"')
    return size


def places() -> list[Path]:
    """Where the wheel puts the command."""
    found = [Path(sys.executable).parent] if sys.executable else []
    scripts = sysconfig.get_path("scripts")
    if scripts and Path(scripts) not in found:
        found.append(Path(scripts))
    return found


def find_command() -> str | None:
    """The `cenote` command: `CENOTE_BIN`, beside Python, or on PATH; None if there is none."""
    named = os.environ.get("CENOTE_BIN")
    if named:
        return named if os.access(named, os.X_OK) else None
    for place in places():
        command = place / "cenote"
        if command.is_file() and os.access(command, os.X_OK):
            return str(command)
    return shutil.which("cenote")


def _missing() -> str:
    named = os.environ.get("CENOTE_BIN")
    if named:
        return f"CENOTE_BIN names {named}, which is no command"
    looked = ", ".join(map(str, places()))
    return f"there is no `cenote` command in {looked} or on PATH; CENOTE_BIN may name one"
