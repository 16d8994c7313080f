"""README.md alone gets a newcomer going: its quick start, word for word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_quick_start_of_the_readme() -> None:
    if not (ROOT / ".venv" / "bin" / "cenote").exists():
        pytest.skip("the README's newcomer has .venv: make venv")
    done = subprocess.run([sys.executable, ROOT / "scripts" / "newcomer"], capture_output=True,
                          text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "commands done" in done.stdout
