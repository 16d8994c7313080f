"""memcpy: glibc's, into tmpfs pages that are mapped and warm. The ceiling for a put.

No checksum, no catalog: the bytes alone.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
from concurrent.futures import ThreadPoolExecutor

from bench import data, measure


class Memcpy:
    """Copies an array into one file of tmpfs with one or more threads."""

    def __init__(self) -> None:
        self._target: mmap.mmap | None = None
        self._threads: ThreadPoolExecutor | None = None

    def open(self, folder: str, threads: int) -> str:
        os.makedirs(folder, exist_ok=True)
        self._path = os.path.join(folder, "memcpy")
        measure.use_cores(threads)
        self._n_threads = threads
        self._threads = ThreadPoolExecutor(threads)
        return f"glibc {platform.libc_ver()[1]}"

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown()
            self._threads = None

    def load_array(self, n_bytes: int) -> None:
        self._array = data.array(n_bytes)
        with open(self._path, "w+b") as file:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
            self._target = mmap.mmap(file.fileno(), n_bytes,
                                     flags=mmap.MAP_SHARED | mmap.MAP_POPULATE)
        share = n_bytes // self._n_threads
        to = ctypes.addressof(ctypes.c_char.from_buffer(self._target))
        source = self._array.ctypes.data
        self._parts = [(to + at, source + at, share)
                       for at in range(0, share * self._n_threads, share)]

    def put_array(self, repeats: int) -> list[int]:
        taken = measure.each(self._copy, repeats)
        assert self._target[-8:] == self._array[-1:].tobytes()
        return taken

    def _copy(self) -> None:
        # ctypes drops the interpreter lock for the call, so the threads do run at once.
        if self._n_threads == 1:
            ctypes.memmove(*self._parts[0])
        else:
            list(self._threads.map(lambda part: ctypes.memmove(*part), self._parts))
