"""What a process has to itself, and what a folder takes: by the kernel's account.

*Own memory* is what would come back if the process ended: Private_Clean + Private_Dirty of
/proc/PID/smaps_rollup, and its page tables (VmPTE). A page of the pool counts for nobody
while two processes have it mapped (the demo's own process has the table mapped throughout);
the page tables that reach it do count.
"""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

KIB = 1024
MIB = 1 << 20
SHMEM_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"


@dataclass(frozen=True)
class Memory:
    """Own memory of one process at one moment, in bytes."""

    private: int
    page_tables: int

    @property
    def own(self) -> int:
        """Private pages and page tables together."""
        return self.private + self.page_tables


def measure(pid: int | str = "self") -> Memory:
    """Own memory of a process. Cost: the kernel walks its mappings, some milliseconds.

    Raises: OSError where the process is gone or another user's.
    """
    rollup = _fields(f"/proc/{pid}/smaps_rollup")
    status = _fields(f"/proc/{pid}/status")
    return Memory(KIB * (rollup["Private_Clean"] + rollup["Private_Dirty"]), KIB * status["VmPTE"])


def settle() -> None:
    """Gives back what the allocators merely keep, so that only what is in use is measured."""
    gc.collect()
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)


def occupied_bytes(folder: Path) -> int:
    """What the file system says that a tree takes (st_blocks)."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.lstat(os.path.join(root, name)).st_blocks
            except FileNotFoundError:
                continue
    return total


def machine() -> dict[str, str]:
    """What the figures were taken on: name of the fact, and the fact."""
    cpu = _fields_text("/proc/cpuinfo")
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "CPU": cpu.get("model name", platform.machine()),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_bytes / 2**30:.1f} GiB",
        "kernel": platform.release(),
        "huge pages for shared memory": _chosen(SHMEM_HUGE_PAGES),
        "Python": platform.python_version(),
    }


def _fields_text(path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    return found


def _fields(path: str) -> dict[str, int]:
    pairs = ((key, value.split()) for key, value in _fields_text(path).items())
    return {key: int(words[0]) for key, words in pairs if len(words) == 2 and words[1] == "kB"}


def _chosen(path: str) -> str:
    try:
        text = Path(path).read_text()
    except OSError:
        return "unknown"
    return text[text.find("[") + 1 : text.find("]")]
