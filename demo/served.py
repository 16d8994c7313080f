"""A pool of the demo's own: a run directory, and the daemon that serves it.

Invariant: whatever ends the demo, the daemon is ended by its id and the directory removed.
Where the demo itself is killed, the daemon ends by itself when nobody has used it for
`IDLE_EXIT_S`, and the next run removes the directory.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

STEM = "cenote-demo-"
SHARED_MEMORY = Path("/dev/shm")
START_LIMIT_S = 20.0
STOP_LIMIT_S = 10.0
IDLE_EXIT_S = 60
POLL_S = 0.01
MIB = 1 << 20


class PoolFault(Exception):
    """The demo's pool did not come up; the message says what the daemon said."""


def command() -> str:
    """The `cenote` command: beside this Python, else on the path. Raises: PoolFault."""
    beside = Path(sys.executable).with_name("cenote")
    found = str(beside) if beside.exists() else shutil.which("cenote")
    if found is None:
        raise PoolFault("no `cenote` command beside this Python or on the path; run: make venv")
    return found


class ServedPool:
    """A daemon on a new run directory, from `with` to the end of its block."""

    def __init__(self, data: Path) -> None:
        """`data`: what will be loaded; decides whether shared memory has the room."""
        self.parent = _folder_with_room(_bytes_wanted(data))
        self.run_dir = self.parent / f"{STEM}{os.getpid()}"
        self._log = Path(tempfile.gettempdir()) / f"{STEM}{os.getpid()}.log"
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """What `cenote.connect` and `--address` take."""
        return str(self.run_dir)

    @property
    def pid(self) -> int:
        """The daemon's process."""
        assert self._daemon is not None, "the pool is served"
        return self._daemon.pid

    def __enter__(self) -> ServedPool:
        sweep()
        # Nothing is allocated ahead, so that what the pool takes is what is in it.
        arguments = [command(), "serve", "--address", self.address, "--reserve", "0",
                     "--idle-exit", str(IDLE_EXIT_S)]
        with self._log.open("wb") as log:
            # A session of its own: Ctrl-C in the terminal reaches the demo alone.
            try:
                self._daemon = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log, start_new_session=True)
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> Any:
        """A client, as soon as the daemon answers. Raises: PoolFault."""
        import cenote

        assert self._daemon is not None
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return cenote.connect(self.address)
            except cenote.PoolUnavailable as error:
                if self._daemon.poll() is not None or time.monotonic() > deadline:
                    said = self._log.read_text(errors="replace").strip()
                    raise PoolFault(f"the pool's daemon did not start: {said or error}") from error
            time.sleep(POLL_S)

    def close(self) -> None:
        """Ends the daemon and removes its directory. May be called again."""
        daemon, self._daemon = self._daemon, None
        try:
            if daemon is not None and daemon.poll() is None:
                daemon.terminate()
                daemon.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            pass  # It is killed below.
        finally:
            if daemon is not None and daemon.poll() is None:
                daemon.kill()
                daemon.wait()
            shutil.rmtree(self.run_dir, ignore_errors=True)
            self._log.unlink(missing_ok=True)


def sweep() -> None:
    """Removes what demos left that were killed: directories that no daemon serves any more."""
    for parent in {SHARED_MEMORY, Path(tempfile.gettempdir())}:
        for path in parent.glob(f"{STEM}*"):
            owner = path.name.removeprefix(STEM).removesuffix(".log")
            if not owner.isdigit() or Path(f"/proc/{owner}").exists():
                continue
            if path.suffix == ".log":
                path.unlink(missing_ok=True)
            elif not _is_served(path):
                shutil.rmtree(path, ignore_errors=True)


def _is_served(run_dir: Path) -> bool:
    """Whether a daemon holds the lock of this directory."""
    try:
        with (run_dir / "lock").open("r+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _folder_with_room(wanted: int) -> Path:
    """Shared memory where it has the room, else the folder of temporary files."""
    candidates = (SHARED_MEMORY, Path(tempfile.gettempdir()))
    for folder in candidates:
        if os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= wanted:
            return folder
    raise PoolFault(f"the pool may need {wanted // MIB} MiB, and neither of "
                    f"{' and '.join(map(str, candidates))} has as much free")


def _bytes_wanted(data: Path) -> int:
    """A generous guess at what table and factors will take: eight times the text."""
    files = [file for file in data.rglob("*") if file.is_file()] if data.is_dir() else [data]
    return 64 * MIB + 8 * sum(_text_bytes(file) for file in files)


def _text_bytes(file: Path) -> int:
    try:
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as archive:
                return sum(entry.file_size for entry in archive.infolist())
        if file.suffix == ".gz":
            with gzip.open(file) as stream:
                return stream.seek(0, os.SEEK_END)
    except (OSError, zipfile.BadZipFile):
        pass  # Not an archive after all: `cenote put` will say what is wrong with it.
    return file.stat().st_size * (4 if file.suffix in (".parquet", ".parq", ".pq") else 1)
