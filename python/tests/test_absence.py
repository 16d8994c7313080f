"""Without PyArrow, pandas, Polars or NumPy: what needs them says so, the rest works."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BLOCKER = """
import sys

class Blocker:
    blocked = set(sys.argv[1].split(","))
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import cenote
pool = cenote.connect(embedded=True, capacity=64 << 20)

def needs(module, call):
    try:
        call()
    except ImportError as error:
        assert module in str(error), error
    else:
        raise AssertionError(f"did not need {module}")
"""


def _run(blocked: str, script: str) -> None:
    code = BLOCKER + textwrap.dedent(script)
    done = subprocess.run([sys.executable, "-c", code, blocked], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_importing_starts_and_imports_nothing() -> None:
    script = """
        import sys, threading, os
        import cenote
        heavy = {"numpy", "pandas", "polars", "pyarrow", "duckdb"} & set(sys.modules)
        assert not heavy, heavy
        assert threading.active_count() == 1
        assert len(os.listdir("/proc/self/task")) == 1
        fds = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
               if os.path.islink(f"/proc/self/fd/{fd}")]
        assert not [fd for fd in fds if "cenote" in fd or "socket" in fd], fds
        children = open(f"/proc/self/task/{os.getpid()}/children").read()
        assert not children
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_any() -> None:
    _run("numpy,pandas,polars,pyarrow", """
        import array
        pool.put("t", {"x": [1, None], "s": ["a", "b"], "d": array.array("d", [1, 2])})
        frame = pool["t"]
        assert frame.shape == (2, 3)
        assert isinstance(frame.schema, cenote.Schema)
        assert frame.schema.names == ["x", "s", "d"]
        assert frame.schema.types == ["Int64", "Utf8", "Float64"]
        assert frame.schema == pool["t"].schema and len(frame.schema) == 3
        assert "Utf8" in repr(frame.schema)
        needs("pyarrow", frame.to_arrow)
        needs("pyarrow", frame.to_pandas)
        needs("pyarrow", lambda: frame.column("x"))
        needs("polars", frame.to_polars)
        pool.put("copy", frame)
        with pool.writer("w", {"x": "float64", "t": "datetime64[ns]"}) as writer:
            rows = writer.allocate(3)
            view = rows["x"]
            assert isinstance(view, memoryview) and view.format == "d" and view.shape == (3,)
            view[0] = 1.5
            del view
            rows["t"][1] = 10**18
        assert pool["w"].num_rows == 3
        with pool.writer("again", frame.schema) as writer:
            writer.write(frame)
        import pickle
        assert pickle.loads(pickle.dumps(frame)).shape == (2, 3)
        assert not {"numpy", "pandas", "polars", "pyarrow"} & set(sys.modules)
    """)


def test_without_pyarrow() -> None:
    _run("pyarrow", """
        import numpy as np, pandas as pd, polars as pl
        pool.put("t", {"x": np.arange(3), "t": np.array([0, 1, 2], "datetime64[ns]")})
        frame = pool["t"]
        assert frame.to_polars()["x"].to_list() == [0, 1, 2]
        assert pl.DataFrame(frame).shape == (3, 2)
        pool.put("polars", pl.DataFrame({"a": [1.5], "s": ["x"]}))
        assert pool["polars"].to_polars().rows() == [(1.5, "x")]
        needs("pyarrow", frame.to_pandas)
        table = pd.DataFrame({"i": [1, 2], "f": [1.5, np.nan], "s": ["a", None],
                              "t": pd.to_datetime(["2020", None])})
        pool.put("pandas", table)
        assert pool["pandas"].to_polars()["s"].to_list() == ["a", None]
        assert pool["pandas"].to_polars()["t"].null_count() == 1
        try:
            pool.put("indexed", table.set_index("i"))
        except ValueError as error:
            assert "reset_index" in str(error)
        else:
            raise AssertionError
        try:
            pool.put("odd", pd.DataFrame({"good": [1], "odd": [object()]}))
        except TypeError as error:
            assert '"odd"' in str(error)
        else:
            raise AssertionError
    """)


@pytest.mark.parametrize("blocked", ["pandas", "polars", "numpy"])
def test_without_one(blocked: str) -> None:
    if blocked == "numpy":
        _run("numpy,pandas,polars", """
            import pyarrow as pa
            pool.put("t", pa.table({"x": [1, 2]}))
            assert pool["t"].to_arrow().to_pydict() == {"x": [1, 2]}
        """)
        return
    _run(blocked, f"""
        import pyarrow as pa
        pool.put("t", pa.table({{"x": [1, 2]}}))
        assert pool["t"].to_arrow().num_rows == 2
        needs("{blocked}", pool["t"].to_{blocked})
    """)
