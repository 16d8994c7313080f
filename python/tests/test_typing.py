"""Stubs: what they say is what there is, and a user's program type-checks."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import cenote

PACKAGE = Path(cenote.__file__).parent
CONFIG = Path(__file__).parents[1] / "pyproject.toml"


def _run(*arguments: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_stubs_match_the_native_classes(tmp_path: Path) -> None:
    said = _run("mypy.stubtest", "cenote", "--mypy-config-file", str(CONFIG), cwd=tmp_path)
    checked = re.fullmatch(r"Success: no issues found in (\d+) modules\s*", said)
    assert checked and int(checked[1]) >= 7, said


def test_the_package_is_typed(tmp_path: Path) -> None:
    assert (PACKAGE / "py.typed").exists()
    _run("mypy", "--config-file", str(CONFIG), "-p", "cenote", cwd=tmp_path)


def test_a_program_type_checks(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""
        import cenote

        pool: cenote.Pool = cenote.connect(embedded=True)
        version: int = pool.put("t", {"x": [1]}, replace=True)
        for name, frame in pool.items():
            rows: int = frame.num_rows
            print(name.upper(), rows, frame.to_pandas(writable=True))
        part = pool.get("t", columns=["x"], rows=(0, 1))
        leaked: int = pool.info()["leaked"]
        with pool.writer("w", {"x": "float64"}) as writer:
            writer.allocate(5)["x"][:] = 1.0
        try:
            pool["none"]
        except cenote.PoolExhausted as error:
            print(error.asked + error.free, error.holders[0]["pid"])
    """))
    _run("mypy", "--strict", str(program), cwd=tmp_path)
    program.write_text("import cenote\ncenote.connect().put(5, {})\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", str(program)],
                          capture_output=True, text=True)
    assert done.returncode == 1 and "arg-type" in done.stdout
