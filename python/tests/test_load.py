"""pool.load: what `cenote put` does, from Python."""

from __future__ import annotations

import base64
import datetime as dt
import signal
import threading
import warnings
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


def test_csv_of_any_dialect(pool: cenote.Pool, tmp_path: Path) -> None:
    text = "# kept by hand\n//\nname;when;price;ok;when\n'a;b';31.01.2024;1.234,5;ja;n.v.\n//x\n'\\'';1.2.2024;-;nein\n"
    (tmp_path / "de.csv").write_bytes(text.replace("kept", "ke\xe4pt").encode("latin1"))
    options = {
        "delimiter": ";", "quote": "'", "escape": "\\", "comment": "//", "skip_lines": 1,
        "encoding": "latin1", "decimal": ",", "thousands": ".", "true_values": ["ja"],
        "false_values": ["nein"], "date_format": "%d.%m.%Y", "null_values": ["-", "n.v."],
        "pad_ragged": True, "rename_duplicates": True,
    }
    pool.load(tmp_path / "de.csv", **options, note="from Bonn")
    assert pool["de"].to_arrow().to_pydict() == {
        "name": ["a;b", "'"], "when": [dt.date(2024, 1, 31), dt.date(2024, 2, 1)],
        "price": [1234.5, None], "ok": [True, False], "when_1": [None, None],
    }
    (made,) = pool.log("de")
    (file,) = made["files"]
    assert (made["note"], file["path"]) == ("from Bonn", str(tmp_path / "de.csv"))
    assert (file["bytes"], file["modified_ns"] > 0) == (len(text) + 1, True)
    assert file["checksum"] is None
    (tmp_path / "abc.csv").write_text("abc")
    pool.load(tmp_path / "abc.csv", checksum=True)
    (file,) = pool.log("abc")[0]["files"]
    assert file["checksum"] == 0x78AF5F94892F3950
    (tmp_path / "z.csv").write_text('at,q\n2024-01-02 09:30:00,"a\n')
    pool.load(tmp_path / "z.csv", quote=None, zone="America/New_York", expect_version=0)
    at = pool["z"].to_arrow()
    assert at["at"][0].as_py() == dt.datetime(2024, 1, 2, 14, 30, tzinfo=dt.timezone.utc)
    assert at["q"].to_pylist() == ['"a']
    with pytest.raises(cenote.VersionConflict):
        pool.load(tmp_path / "z.csv", quote=None, expect_version=7)
    with pytest.raises(cenote.ArgumentError, match="decimal and thousands are the same"):
        pool.load(tmp_path / "de.csv", "x", decimal=".", thousands=".")
    with pytest.raises(cenote.ArgumentError, match="delimiter and quote are the same"):
        pool.load(tmp_path / "de.csv", "x", delimiter='"')
    with pytest.raises(cenote.ArgumentError, match="escape= takes one character of one byte"):
        pool.load(tmp_path / "de.csv", "x", escape="\u20ac")
    with pytest.raises(cenote.ArgumentError, match="no encoding is called"):
        pool.load(tmp_path / "de.csv", "x", encoding="klingon")


def test_files_may_lack_columns_where_that_is_said(pool: cenote.Pool, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("a,b\n1,x\n")
    (tmp_path / "2.csv").write_text("c,a\n0.5,2\n")
    with pytest.raises(cenote.ArgumentError, match="does not fit"):
        pool.load(tmp_path / "*.csv", "t")
    pool.load(tmp_path / "*.csv", "t", evolve=True)
    assert pool["t"].to_arrow().to_pydict() == {"a": [1, 2], "b": ["x", None], "c": [None, 0.5]}


def test_a_column_that_a_late_value_makes_text_is_told(pool: cenote.Pool, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("n,s\n" + "1,a\n" * 5 + "oops,b\n")
    before = contents(pool)
    told = r"column `n` is text: `.*x\.csv`, line 7 has `oops`, no int64 .*--schema 'n:int64'"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=told):
            pool.load(tmp_path / "x.csv")
        assert contents(pool) == before
        pool.load(tmp_path / "x.csv", schema={"n": "str"})
    with pytest.warns(UserWarning, match=told):
        pool.load(tmp_path / "x.csv", replace=True)
    assert pool["x"].to_arrow()["n"].to_pylist() == ["1"] * 5 + ["oops"]
    with pytest.raises(cenote.ArgumentError, match="line 7, column `n`: `oops` is no Int64"):
        pool.load(tmp_path / "x.csv", replace=True, schema="n:int64")


class Kms:
    """Keys as they are: what a test encrypts with."""

    def wrap_key(self, key: bytes, _: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, _: str) -> bytes:
        return base64.b64decode(wrapped)


@pytest.mark.parametrize("plain_footer", [False, True])
def test_encrypted_parquet_is_refused(
    pool: cenote.Pool, tmp_path: Path, plain_footer: bool
) -> None:
    pe = pytest.importorskip("pyarrow.parquet.encryption")
    client = type("Client", (Kms, pe.KmsClient), {})
    configuration = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"k": ["secret"]}, plaintext_footer=plain_footer
    )
    connection = pe.KmsConnectionConfig()
    properties = pe.CryptoFactory(lambda _: client()).file_encryption_properties(
        connection, configuration
    )
    table = pa.table({"open": [1, 2], "secret": [3.5, 4.5]})
    path = tmp_path / "e.parquet"
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    before = contents(pool)
    with pytest.raises(cenote.ArgumentError, match=r"e\.parquet.*encrypted"):
        pool.load(path)
    assert contents(pool) == before


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
