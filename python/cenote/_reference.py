"""Frames and pools from another process, by reference.

The connections that references are opened through are kept, one for each pool, until this
process ends: a thousand references are one connection. Under Python's own lock, since a lock
of ours could be held by another thread over a fork.
"""

from __future__ import annotations

import weakref

from cenote import _cenote
from cenote._errors import PoolUnavailable

_served: dict[str, _cenote.Pool] = {}
_embedded: weakref.WeakValueDictionary[str, _cenote.Pool] = weakref.WeakValueDictionary()


def remember(pool: _cenote.Pool) -> _cenote.Pool:
    """An embedded pool that references in this process may name."""
    _embedded[str(pool.address)] = pool
    return pool


def open_pool(directory: str, embedded: bool = False) -> _cenote.Pool:
    """The pool in a directory, through the connection that this process keeps."""
    pool = _embedded.get(directory) or _served.get(directory)
    if pool is not None:
        return pool
    if embedded:
        raise PoolUnavailable(f"the pool in {directory} was embedded in another process")
    return _served.setdefault(directory, _cenote.connect_pool(directory))


def open_frame(reference: bytes) -> _cenote.Frame:
    """The version of a frame that a reference names.

    Raises: FrameNotFound: nobody holds that version any more. PoolUnavailable.
    """
    pool = open_pool(_cenote.reference_directory(reference))
    return _cenote.open_reference(pool, reference)
