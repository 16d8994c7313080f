"""`distributed_cxl`: three lines as a user writes them, in processes of their own."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import command

import cenote

SNIPPET = """
from distributed_cxl import CXLDataFrame
close = CXLDataFrame.from_parquet('close_matrix.parquet', pool='cxl_pool_A', location_policy='hot_columns')
alpha001 = close.rolling(5).max().rank(axis=1, result_pool='cxl_pool_A')
"""
TIMES, SYMBOLS = 120, 9


class Place:
    """A folder with a file of closes, and a pool of this user by its name."""

    def __init__(self, folder: Path, pool: str) -> None:
        self.folder, self.pool = folder, pool
        self.environment = {**os.environ, "CENOTE_BIN": command()}
        self.environment.pop("CENOTE_ADDRESS", None)
        self.close = self.write(3)

    def write(self, seed: int) -> pd.DataFrame:
        random = np.random.default_rng(seed)
        values = 100 * np.exp(np.cumsum(random.normal(0, 0.01, (TIMES, SYMBOLS)), axis=0))
        values[random.random(values.shape) < 0.03] = np.nan
        index = pd.date_range("2020-01-01", periods=TIMES)
        close = pd.DataFrame(values, index, [f"S{at}" for at in range(SYMBOLS)])
        close.to_parquet(self.folder / "close_matrix.parquet")
        return close

    def run(self, code: str, *arguments: str) -> str:
        code = textwrap.dedent(code).replace("cxl_pool_A", self.pool)
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cenote(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command(), *arguments, "--address", self.pool], env=self.environment,
            capture_output=True, text=True, timeout=60, check=False)


def _place(folder: Path, pool: str) -> Iterator[Place]:
    """Ends with a look at what is left: nothing is leaked, and no daemon runs."""
    directory = Path(f"/dev/shm/cenote-{os.getuid()}/{pool}")
    if directory.exists():
        pytest.skip(f"{directory} is there already, and may be somebody's")
    place = Place(folder, pool)
    try:
        yield place
        info = place.cenote("info", "--json")
        assert info.returncode == 0 and json.loads(info.stdout)["leaked"] == 0, info
        pid = json.loads(info.stdout)["pid"]
        stopped = place.cenote("stop")
        assert stopped.returncode == 0, stopped.stderr
        deadline = time.monotonic() + 10
        while Path(f"/proc/{pid}").exists():
            assert time.monotonic() < deadline, f"the daemon {pid} does not end"
            time.sleep(0.05)
    finally:
        place.cenote("stop")
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    yield from _place(tmp_path, f"cxl-test-{os.getpid()}")


@pytest.fixture
def place_as_written(tmp_path: Path) -> Iterator[Place]:
    """A pool of the name that the snippet has; one test of this user at a time."""
    with open(Path(tempfile.gettempdir()) / f"cenote-cxl-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield from _place(tmp_path, "cxl_pool_A")


def test_the_snippet_runs_as_written(place_as_written: Place) -> None:
    place = place_as_written
    said = place.run(SNIPPET + """
alpha001.to_pandas().to_pickle("alpha001.pickle")
print(alpha001.name)
print(alpha001.pool.versions(alpha001.name)[-1]["expression"])
print(sorted(alpha001.pool), repr(alpha001))
""")
    name, expression, rest = said.splitlines()
    assert name == expression == "close_matrix.rolling(5).max().rank(axis=1)"
    assert rest.startswith("['close_matrix', 'close_matrix.rolling(5)"), rest
    assert "120 times × 9 symbols, version 1" in rest
    expected = place.close.rolling(5).max().rank(axis=1, pct=True)
    found = pd.read_pickle(place.folder / "alpha001.pickle")
    pd.testing.assert_frame_equal(
        found, expected, check_freq=False, check_names=False, check_index_type=False)
    # Another process reads the result by its name, through cenote alone.
    said = place.run("""
        import cenote, sys
        panel = cenote.Panel(cenote.connect("cxl_pool_A")[sys.argv[1]])
        print(panel.shape, panel.symbols[0], panel["value"].to_numpy()[20].tolist())
    """, name)
    assert said == f"(120, 9) S0 {expected.to_numpy()[20].tolist()}\n"


def test_a_file_is_loaded_once_and_again_when_it_has_changed(place: Place) -> None:
    look = """
        frame = close.pool["close_matrix"]
        print(frame.version, alpha001.frame.version, close.to_numpy()[7].tolist())
    """
    lines = textwrap.dedent(look)
    assert place.run(SNIPPET + lines).split()[:2] == ["1", "1"]
    assert place.run(SNIPPET + lines).split()[:2] == ["1", "2"], "the file is not loaded again"
    changed = place.write(4)
    said = place.run(SNIPPET + lines)
    assert said == f"2 3 {changed.to_numpy()[7].tolist()}\n"


def test_operators_are_those_of_pandas(place: Place) -> None:
    place.run(SNIPPET + """
import numpy as np, pandas as pd, cenote
c = pd.read_parquet("close_matrix.parquet")
same = lambda a, b: np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=1e-10)
same(close / close.shift(3) - 1, c / c.shift(3) - 1)
same(2 * close + 1, 2 * c + 1)
same(-abs(close - 100), -abs(c - 100))
same(close.rolling(7).corr(close.shift(1)), c.rolling(7).corr(c.shift(1)))
same((close > 100).fillna(0), (c > 100).astype(float))
ratio = close / close.shift(3)
assert ratio.name is None and ratio.expression == "(close_matrix ÷ close_matrix.shift(3))"
kept = ratio.commit("cxl_pool_A")
assert kept.name == ratio.expression and kept.frame.version == 1
same(kept, c / c.shift(3))
assert {close: 1}[close] == 1 and close.shape == (120, 9) and close.columns[0] == "S0"
long = close
for _ in range(40):
    long = long.shift(1)
assert len(long.commit("cxl_pool_A").name.encode()) <= 140
for call, words in (
    (lambda: close.to_pandas(result_pool="cxl_pool_A"), "is no matrix"),
    (lambda: close.rank(), "would look ahead"),
    (lambda: CXLDataFrame.from_parquet("close_matrix.parquet", pool="cxl_pool_A",
                                       location_policy="cold"), "one tier"),
):
    try:
        call()
    except cenote.ArgumentError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
""")


def test_what_is_something_elses_is_not_replaced(place: Place) -> None:
    place.run("""
        import cenote
        from distributed_cxl import CXLDataFrame
        pool = cenote.connect("cxl_pool_A")
        pool.put("close_matrix", {"x": [1]}, source="mine")
        read = lambda **named: CXLDataFrame.from_parquet(
            "close_matrix.parquet", pool="cxl_pool_A", **named)
        try:
            read()
        except cenote.FrameExists as error:
            assert "of something else (mine); name=" in str(error), error
        else:
            raise AssertionError
        assert read(name="closes").name == "closes"
        assert pool["close_matrix"].shape == (1, 1)
        try:
            CXLDataFrame.from_parquet("none.parquet", pool="cxl_pool_A")
        except FileNotFoundError as error:
            assert "none.parquet" in str(error)
        else:
            raise AssertionError
    """)


def test_importing_starts_nothing(place: Place) -> None:
    place.run("""
        import sys, os
        import distributed_cxl
        assert not {"numpy", "pandas", "pyarrow"} & set(sys.modules)
        assert not open(f"/proc/self/task/{os.getpid()}/children").read()
    """)
    assert place.cenote("ls").returncode != 0
    place.run("import cenote; cenote.connect('cxl_pool_A').info()")


def test_the_package_is_typed(tmp_path: Path) -> None:
    config = Path(__file__).parents[1] / "pyproject.toml"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(config), "-p", "distributed_cxl"],
        cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert cenote.__version__
