"""The demo from end to end, as a user starts it, on small panels."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest

from demo.tests.conftest import ROOT, SEED, make_panel

cenote = pytest.importorskip("cenote", reason="the wheel is not installed: make venv")

LIMIT_S = 120
PLACES = (Path("/dev/shm"), Path(tempfile.gettempdir()))


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "demo" / "run.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            cwd=ROOT)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status, output and errors; checks that nothing of the run is left."""
    out, err = process.communicate(timeout=LIMIT_S)
    left = [str(path) for place in PLACES for path in place.glob(f"cenote-demo-{process.pid}*")]
    assert not left, f"left behind: {left}"
    assert not processes_naming(f"cenote-demo-{process.pid}"), "a daemon was left behind"
    return process.returncode, out, err


def processes_naming(text: str) -> list[int]:
    """Processes with this text on their command line."""
    found = []
    n_looked_at = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        n_looked_at += 1
        if text.encode() in line:
            found.append(int(entry.name))
    assert n_looked_at > 0
    return found


def test_the_whole_job_on_parquet(tmp_path: Path) -> None:
    make_panel(260, 30).write_parquet(tmp_path / "bars.parquet")
    report = tmp_path / "out" / "report.html"
    status, out, err = finish(start("--data", tmp_path / "bars.parquet", "--report", report))
    assert status == 0, out + err
    assert "$ cenote put" in out and "--name prices" in out
    assert "7,670 rows · 30 tickers · 260 dates" in out
    assert "✗" not in out and out.count("✓") == 10
    assert "8 of 8" in out and "survivorship" in out
    assert re.search(r"momentum_12_1 +[+-]0\.\d{4}", out)
    page = report.read_text()
    assert page.count("<svg") == 7
    assert re.search(r"101 alphas × 260 dates × 30 tickers .* M values/s", out)
    assert "vwap is taken as (high + low + close) / 3" in out and "not quoted" in out
    assert "WorldQuant retains rights" in page and page.count("not quoted") > 10
    for text in ("Nothing lost", "Jegadeesh", "survivorship", "Bad rows", "high below low"):
        assert text in page
    assert not re.search(r'(src|href)="(http|//)', page), "nothing is fetched"
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids)) > 100


def test_rows_in_disorder_from_a_zip_of_csv(tmp_path: Path) -> None:
    """Backward, with repeats and other names: the processes sort, and nothing is lost."""
    panel = make_panel(90, 8).rename({"Name": "Symbol", "date": "Day", "close": "CLOSE"})
    panel = pl.concat([panel.sample(fraction=1, shuffle=True, seed=SEED), panel[:3]])
    with zipfile.ZipFile(tmp_path / "bars.zip", "w") as archive:
        archive.writestr("one.csv", panel[:400].write_csv())
        archive.writestr("two.csv", panel[400:].write_csv())
    status, out, err = finish(start("--data", tmp_path / "bars.zip", "--report",
                                    tmp_path / "report.html"))
    assert status == 0, out + err
    assert "a second row for the same ticker and date" in out
    assert "✗" not in out and "8 of 8" in out


def test_closes_alone_are_enough(tmp_path: Path) -> None:
    panel = make_panel(60, 6).select("date", "Name", "close")
    (tmp_path / "bars").mkdir()
    panel.write_csv(tmp_path / "bars" / "all.csv")
    status, out, err = finish(start("--data", tmp_path / "bars", "--no-compare", "--report",
                                    tmp_path / "report.html"))
    assert status == 0, out + err
    assert out.count("not computed, for want of a column") == 4
    assert re.search(r"\d+ are left out, for want of a field", " ".join(out.split()))
    assert "own copy" not in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    make_panel(260, 30).write_parquet(tmp_path / "bars.parquet")
    process = start("--data", tmp_path / "bars.parquet", "--report", tmp_path / "report.html")
    assert process.stdout is not None
    for line in process.stdout:
        if "processes compute" in line:
            break
    time.sleep(0.5)
    children = [int(pid) for pid in
                Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    assert len(children) >= 2, "a daemon and some processes are under way"
    for _ in range(3):  # An impatient user changes nothing.
        os.kill(process.pid, number)
        time.sleep(0.02)
    status, _, err = finish(process)
    assert status == 130 and "interrupted" in err, err
    # Python's own resource tracker ends by itself, a moment after its parent.
    deadline = time.monotonic() + 5
    while left := [pid for pid in children if Path(f"/proc/{pid}").exists()]:
        assert time.monotonic() < deadline, f"processes were left behind: {left}"
        time.sleep(0.05)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(("make", "said"), [
    (lambda path: None, "no such file or folder"),
    (lambda path: path.write_text("day,ticker\n2020-01-01,A\n"), "no column for the close"),
    (lambda path: path.write_text("date,ticker,close\nsoon,A,1\n"), "not dates"),
    (lambda path: path.write_bytes(b"PAR1 is not enough"), "ended with status 1"),
])
def test_what_is_wrong_with_the_data_is_said(make, said: str,  # type: ignore[no-untyped-def]
                                             tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    make(path)
    status, out, err = finish(start("--data", path, "--report", tmp_path / "report.html"))
    assert status == 1 and said in err, out + err
    assert "Traceback" not in err


def test_help_teaches() -> None:
    status, out, _ = finish(start("--help"))
    assert status == 0
    for text in ("--data", "cenote put", "SIGKILL", "exit status", "examples"):
        assert text in out
