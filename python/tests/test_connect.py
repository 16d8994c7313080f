"""Starting a daemon in the background, and finding the command."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

import cenote
from cenote import _connect
from conftest import command


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a pool that does not run; its daemon is ended."""
    monkeypatch.setenv("CENOTE_BIN", command())
    monkeypatch.delenv("CENOTE_ADDRESS", raising=False)
    name = f"test-{uuid.uuid4().hex[:12]}"
    directory = Path(f"/dev/shm/cenote-{os.geteuid()}") / name
    yield name
    if (directory / "lock").exists():
        pid = int((directory / "lock").read_text().split()[0])
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 20
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
            time.sleep(0.02)
    shutil.rmtree(directory, ignore_errors=True)


def test_a_named_pool_is_started_once(name: str) -> None:
    pool = cenote.connect(name, capacity=64 << 20)
    assert pool.info()["capacity"] == 64 << 20
    pool.put("t", {"x": [1]})
    again = cenote.connect(name)
    assert again.info()["pid"] == pool.info()["pid"] and list(again) == ["t"]
    code = f"import cenote; print(cenote.connect({name!r}).info()['pid'])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(out.stdout) == pool.info()["pid"]
    by_path = cenote.connect(str(pool.address))
    assert list(by_path) == ["t"]


def test_a_crowd_starts_one(name: str) -> None:
    code = f"import cenote; p = cenote.connect({name!r}, capacity=64 << 20); print(p.info()['pid'])"
    crowd = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
             for _ in range(6)]
    pids = {process.communicate()[0] for process in crowd}
    assert len(pids) == 1 and all(process.returncode == 0 for process in crowd)


def test_the_environment_names_a_pool(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CENOTE_ADDRESS", name)
    assert cenote.connect(capacity=64 << 20).address.name == name
    monkeypatch.setenv("CENOTE_ADDRESS", "/dev/shm/no such pool")
    with pytest.raises(cenote.PoolUnavailable):
        cenote.connect()


def test_a_path_is_not_started(tmp_path: Path) -> None:
    with pytest.raises(cenote.PoolUnavailable, match="cenote serve"):
        cenote.connect(tmp_path / "pool")
    assert list(tmp_path.iterdir()) == []


def test_where_the_command_is_looked_for(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CENOTE_BIN", str(tmp_path / "none"))
    with pytest.raises(cenote.PoolUnavailable, match="CENOTE_BIN"):
        cenote.connect(name)
    monkeypatch.delenv("CENOTE_BIN")
    monkeypatch.setattr(_connect, "places", lambda: [tmp_path])
    monkeypatch.setenv("PATH", "")
    with pytest.raises(cenote.PoolUnavailable, match=str(tmp_path)):
        cenote.connect(name)
    script = tmp_path / "cenote"
    script.write_text("#!/bin/sh\necho no such luck >&2\nexit 3\n")
    script.chmod(0o755)
    assert _connect.find_command() == str(script)
    with pytest.raises(cenote.PoolUnavailable, match="no such luck"):
        cenote.connect(name)


def test_a_daemon_outlives_ctrl_c(name: str) -> None:
    code = (f"import cenote, os, signal; p = cenote.connect({name!r}, capacity=64 << 20); "
            "p.put('t', {'x': [1]}); os.killpg(0, signal.SIGINT)")
    subprocess.run([sys.executable, "-c", code], start_new_session=True, capture_output=True)
    assert cenote.connect(name)["t"].num_rows == 1


def test_a_running_pool_needs_no_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cenote.connect(name, capacity=64 << 20)
    monkeypatch.setenv("CENOTE_BIN", "/no/such/command")
    assert cenote.connect(name).address == first.address
