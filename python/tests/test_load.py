"""pool.load: what `cenote put` does, from Python."""

from __future__ import annotations

import datetime as dt
import signal
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cenote
from conftest import contents


def test_files_of_each_kind(pool: cenote.Pool, tmp_path: Path) -> None:
    table = pa.table({"n": [1, 2, None], "s": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "p.parquet")
    (tmp_path / "c.csv").write_text("n,s\n1,a\n2,b\n,c\n")
    (tmp_path / "j.jsonl").write_text('{"n":1,"s":"a"}\n{"n":2,"s":"b"}\n{"s":"c"}\n')
    with pa.ipc.new_stream(tmp_path / "a.arrows", table.schema) as writer:
        writer.write_table(table)
    for name in ("p.parquet", "c.csv", "j.jsonl", "a.arrows"):
        assert pool.load(tmp_path / name) == 1
        assert pool[name[0]].to_arrow().to_pydict() == table.to_pydict(), name
    assert pool.load(str(tmp_path / "c.csv"), replace=True) == 2
    assert pool.load([tmp_path / "c.csv", tmp_path / "c.csv"], "twice") == 1
    assert pool["twice"].num_rows == 6


def test_options(pool: cenote.Pool, tmp_path: Path) -> None:
    folder = tmp_path / "date=2024-01-02"
    folder.mkdir()
    (folder / "x.txt").write_text("1;01;-\n2;02;7\n")
    pool.load(
        tmp_path, "x", format="csv", delimiter=";", header=False, null_values=["-"],
        schema={"column_2": "str"}, columns=["date", "column_3", "column_2"],
    )
    assert pool["x"].to_arrow().to_pydict() == {
        "date": [dt.date(2024, 1, 2)] * 2, "column_3": [None, 7], "column_2": ["01", "02"],
    }
    pool.load(tmp_path / "**" / "*.txt", "y", format="csv", delimiter=";", header=False, hive=False)
    assert pool["y"].num_columns == 3
    pq.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"a": [2], "b": ["x"]}), tmp_path / "2.parquet")
    with pytest.raises(cenote.ArgumentError, match="does not fit"):
        pool.load(tmp_path / "*.parquet", "z")
    pool.load(tmp_path / "*.parquet", "z", evolve=True)
    assert pool["z"].to_arrow().to_pydict() == {"a": [1, 2], "b": [None, "x"]}


def test_errors_say_file_and_line_and_leave_nothing(pool: cenote.Pool, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    before = contents(pool)
    with pytest.raises(cenote.ArgumentError, match=r"bad\.csv`, line 3"):
        pool.load(tmp_path / "bad.csv")
    with pytest.raises(FileNotFoundError, match="missing"):
        pool.load(tmp_path / "missing.csv")
    with pytest.raises(cenote.ArgumentError, match="name= is needed"):
        pool.load(tmp_path / "*.csv")
    with pytest.raises(cenote.ArgumentError, match="is no format"):
        pool.load(tmp_path / "bad.csv", format="xlsx")
    with pytest.raises(cenote.UnsupportedType, match=r"pool\.load"):
        pool.put("x", tmp_path / "bad.csv")
    assert contents(pool) == before


def test_progress_and_ctrl_c(pool: cenote.Pool, tmp_path: Path) -> None:
    text = "a,b\n" + "1,2.5\n" * 8_000_000
    (tmp_path / "x.csv").write_text(text)
    told: list[tuple[int, int, int]] = []
    pool.load(tmp_path / "x.csv", progress=lambda *now: told.append(now))
    assert told and all(0 <= done <= total + 1 for done, total, _ in told)
    before = contents(pool)

    def interrupt(done: int, total: int, rows: int) -> None:
        signal.raise_signal(signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        pool.load(tmp_path / "x.csv", "y", progress=interrupt)
    assert contents(pool) == before
    with pytest.raises(ZeroDivisionError):
        pool.load(tmp_path / "x.csv", "y", progress=lambda *_: 1 / 0)
    assert contents(pool) == before
