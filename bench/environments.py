"""The virtual environments in `.bench/`: made on first use, kept until their list changes.

Vineyard's last wheel needs NumPy 1 and an older PyArrow; KunQuant, which has no wheel for some
machines, must not keep the others away. Ours is installed from the wheel that `make wheel`
builds, and again whenever that wheel differs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.side import KUNQUANT_VENV, ROOT, VENV, VINEYARD_VENV

MAIN_PACKAGES = ["ray==2.60.0", "pyarrow", "pandas", "polars", "duckdb", "numpy", "psutil"]
VINEYARD_PACKAGES = ["vineyard==0.24.2", "numpy<2", "pandas<2.2", "pyarrow<19", "setuptools<81"]
KUNQUANT_PACKAGES = ["KunQuant==0.1.12", "bottleneck", "numpy"]
PYTHON = "python3.11"
INSTALL_LIMIT_S = 900
BUILD_LIMIT_S = 1800


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _quiet(command: list[str], limit_s: float) -> str | None:
    """Runs a command with its output on standard error; None, or why it failed."""
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return f"`{' '.join(command)}` ended with status {done.returncode}" if done.returncode else None


def ensure(folder: Path, packages: list[str]) -> str | None:
    """Makes `folder` a virtual environment with `packages`; None, or why it could not."""
    stamp = folder / "packages.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(packages):
        return None
    say(f"making {folder.relative_to(ROOT)} with {', '.join(packages)}")
    python = shutil.which(PYTHON) or sys.executable
    why = _quiet([python, "-m", "venv", str(folder)], INSTALL_LIMIT_S) or _quiet(
        [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet",
         "--disable-pip-version-check", *packages], INSTALL_LIMIT_S)
    if why is None:
        stamp.write_text("\n".join(packages))
    return why


def install_ours() -> str | None:
    """Builds and installs the wheel; None, or why it could not. `$CENOTE_WHEEL` skips the build."""
    given = os.environ.get("CENOTE_WHEEL")
    if given is None:
        if not (ROOT / "Makefile").exists():
            return "no Makefile, so no `make wheel`; set CENOTE_WHEEL to a wheel"
        say("make wheel")
        why = _quiet(["make", "--silent", "wheel"], BUILD_LIMIT_S)
        if why is not None:
            return why
    wheels = [Path(given)] if given else sorted(
        (ROOT / "dist").glob("cenote-*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels or not wheels[-1].exists():
        return f"no wheel at {given or 'dist/cenote-*.whl'}"
    digest = hashlib.sha256(wheels[-1].read_bytes()).hexdigest()
    stamp = VENV / "cenote.sha256"
    if stamp.exists() and stamp.read_text() == digest:
        return None
    say(f"installing {wheels[-1].name}")
    why = _quiet([str(VENV / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps",
                  "--disable-pip-version-check", "--force-reinstall", str(wheels[-1])],
                 INSTALL_LIMIT_S)
    if why is None:
        stamp.write_text(digest)
    return why


def prepare(build: bool) -> str | None:
    """Makes the environments; None, or why no case can run at all.

    What merely keeps one side away is said here and again in that side's rows.
    """
    why = ensure(VENV, MAIN_PACKAGES)
    if why is not None:
        return f"cannot make .bench/venv: {why}"
    for name, folder, packages in (("Vineyard", VINEYARD_VENV, VINEYARD_PACKAGES),
                                   ("KunQuant", KUNQUANT_VENV, KUNQUANT_PACKAGES)):
        why = ensure(folder, packages)
        if why is not None:
            say(f"{name} cannot be installed, its rows will be skipped: {why}")
    if build:
        why = install_ours()
        if why is not None:
            say(f"Cenote cannot be installed: {why}")
    return None
