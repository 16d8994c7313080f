"""What the figures were taken on, and what a process or a folder really occupies.

Read from /proc and from the file system, never from a store's own accounts.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

KIB = 1024
BUSY_WINDOW_S = 0.5


def facts() -> dict[str, object]:
    """CPU model, cores, memory, kernel, huge-page policy, Python."""
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "shmem_huge_pages": _chosen("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
    }


def _cpu_model() -> str:
    fields = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name", platform.machine())
    return f"{name} (family {fields.get('cpu family', '?')}, model {fields.get('model', '?')})"


def _chosen(path: str) -> str:
    try:
        text = Path(path).read_text()
    except OSError:
        return "unknown"
    return text[text.find("[") + 1 : text.find("]")]


def busy_share(window_s: float = BUSY_WINDOW_S) -> float:
    """Share of all cores that other work used during the last `window_s`: 0 is quiet."""
    idle_before, total_before = _cpu_ticks()
    time.sleep(window_s)
    idle, total = _cpu_ticks()
    return round(1 - (idle - idle_before) / max(1, total - total_before), 2)


def _cpu_ticks() -> tuple[int, int]:
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def private_bytes(pid: int) -> int:
    """Memory that only this process has, plus its page tables.

    Private_Clean + Private_Dirty of smaps_rollup, and VmPTE of status.
    Raises `OSError` where the process is gone.
    """
    rollup = _kib_fields(f"/proc/{pid}/smaps_rollup")
    status = _kib_fields(f"/proc/{pid}/status")
    return KIB * (rollup["Private_Clean"] + rollup["Private_Dirty"] + status["VmPTE"])


def page_table_bytes(pid: int) -> int:
    """VmPTE of one process."""
    return KIB * _kib_fields(f"/proc/{pid}/status")["VmPTE"]


def begin_peak() -> int:
    """Has the kernel forget this process' peak; bytes that are resident now."""
    Path("/proc/self/clear_refs").write_text("5")
    return KIB * _kib_fields("/proc/self/status")["VmRSS"]


def peak_bytes() -> int:
    """The most that was resident since `begin_peak`."""
    return KIB * _kib_fields("/proc/self/status")["VmHWM"]


def _kib_fields(path: str) -> dict[str, int]:
    fields = {}
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        words = value.split()
        if len(words) == 2 and words[1] == "kB":
            fields[key] = int(words[0])
    return fields


def occupied_bytes(folder: str | os.PathLike[str]) -> tuple[int, int]:
    """What the file system says a tree occupies (st_blocks), and how many files it has."""
    total, files = 0, 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += 512 * os.lstat(os.path.join(root, name)).st_blocks
            except FileNotFoundError:
                continue
            files += 1
    return total, files


def descendants(pid: int) -> list[int]:
    """Ids of all processes under `pid`, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        # The command may hold spaces and brackets: count from the last closing one.
        parent = int(stat[stat.rfind(")") + 2 :].split()[1])
        children.setdefault(parent, []).append(int(entry))
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(0), []):
            found.append(child)
            queue.append(child)
    return found
