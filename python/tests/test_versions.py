"""Versions: appended, kept, tagged, found again, compared, and what made them."""

from __future__ import annotations

import datetime as dt
import os
import pickle
import threading

import pytest

import cenote
from cenote._moment import nanoseconds

pa = pytest.importorskip("pyarrow")


def days(frame: cenote.Frame) -> list[int]:
    return frame.to_arrow()["day"].to_pylist()


def test_appended_rows_come_after_those_that_are_there(pool: cenote.Pool) -> None:
    for day in range(40):
        assert pool.append("t", {"day": [day], "x": [day / 2]}) == day + 1
    assert days(pool["t"]) == list(range(40))
    assert pool.get("t", rows=(15, 18)).to_arrow()["day"].to_pylist() == [15, 16, 17]
    with pool.writer("t", {"day": "int64", "x": "float64"}, append=True) as writer:
        part = writer.allocate(2)
        part["day"][:] = [40, 41]
    assert days(pool["t"]) == list(range(42))
    with pytest.raises(cenote.ArgumentError, match="contradict"):
        pool.put("t", {"day": [1]}, replace=True, append=True)
    with pytest.raises(cenote.FrameExists, match="append=True"):
        pool.put("t", {"day": [1], "x": [1.0]})


def test_other_columns_are_refused_with_the_first_that_differs(pool: cenote.Pool) -> None:
    pool.put("t", {"day": [1], "x": [0.5]})
    with pytest.raises(cenote.ArgumentError, match='column 1 .* "x" .Utf8.*"x" .Float64'):
        pool.append("t", {"day": [2], "x": ["a"]})
    with pytest.raises(cenote.ArgumentError, match="column 1 .*not there"):
        pool.append("t", {"day": [2]})
    assert days(pool["t"]) == [1]


def test_metadata_of_what_is_appended_may_differ(pool: cenote.Pool) -> None:
    table = pa.table({"day": [1], "x": [0.5]})
    pool.put("t", table.replace_schema_metadata({"made": "once"}))
    pool.append("t", table.replace_schema_metadata({"made": "twice"}))
    assert pool["t"].to_arrow().schema.metadata == {b"made": b"once"}
    pd = pytest.importorskip("pandas")
    pool.put("p", pd.DataFrame({"day": [1, 2]}))
    pool.append("p", pd.DataFrame({"day": [3]}))
    assert pool["p"].to_pandas()["day"].tolist() == [1, 2, 3]


def test_versions_are_found_by_number_time_and_tag(pool: cenote.Pool) -> None:
    pool.put("t", {"day": [1]})
    pool.keep("t", 3)
    for day in range(2, 6):
        pool.put("t", {"day": [day]}, replace=True)
    versions = pool.versions("t")
    assert [v["version"] for v in versions] == [3, 4, 5]
    assert [v["state"] for v in pool.log("t")] == ["gone", "gone", "kept", "kept", "current"]
    assert days(pool.get("t", version=4)) == [4]
    created = versions[1]["created_ns"]
    moment = dt.datetime.fromtimestamp(created // 10**9, dt.timezone.utc)
    moment += dt.timedelta(microseconds=created % 10**9 // 1000 + 1)
    later = versions[2]["created_ns"]
    for as_of in [created, later - 1]:
        assert days(pool.get("t", as_of=as_of)) == [4]
    if nanoseconds(moment) < later:
        for as_of in [moment, moment.astimezone(), moment.isoformat()]:
            assert days(pool.get("t", as_of=as_of)) == [4]
    assert pool.tag("t", "good", 3) == 3
    pool.keep("t", 1)
    assert days(pool.get("t", tag="good")) == [3]
    with pytest.raises(cenote.VersionNotFound, match="no version 4.*it has 3, 5"):
        pool.get("t", version=4)
    with pytest.raises(cenote.FrameNotFound):
        pool.get("t", as_of="2001-01-01")
    with pytest.raises(cenote.ArgumentError, match="give one of them"):
        pool.get("t", version=1, tag="good")
    with pytest.raises(cenote.ArgumentError, match="has the tag"):
        pool.drop("t", version=3)
    pool.untag("t", "good")
    assert [v["version"] for v in pool.versions("t")] == [5]
    with pytest.raises(cenote.VersionNotFound, match="no tag"):
        pool.untag("t", "good")


def test_moments() -> None:
    utc = dt.timezone.utc
    second = 10**9
    assert nanoseconds("1970-01-01T00:00:01Z") == second
    assert nanoseconds("1970-01-01 00:00:01") == second
    assert nanoseconds("1970-01-02") == 86400 * second
    assert nanoseconds(dt.datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=utc)) == second + 5000
    local = dt.datetime(2020, 6, 1, 12)
    assert nanoseconds(local) == int(local.timestamp()) * second
    assert nanoseconds(dt.date(2020, 6, 1)) == nanoseconds(dt.datetime(2020, 6, 1))
    assert nanoseconds(7) == 7
    for wrong in ["tomorrow", 1.5, None, -1, True, "1969-01-01"]:
        with pytest.raises(cenote.ArgumentError, match="as_of="):
            nanoseconds(wrong)
    pd = pytest.importorskip("pandas")
    assert nanoseconds(pd.Timestamp(second + 7, unit="ns", tz="UTC")) == second + 7


def test_a_conflict_says_both_versions(pool: cenote.Pool) -> None:
    assert pool.put("t", {"day": [1]}, expect_version=0) == 1
    with pytest.raises(cenote.VersionConflict, match="is at version 1, and none was expected") as caught:
        pool.put("t", {"day": [2]}, expect_version=0)
    assert (caught.value.expected, caught.value.found) == (0, 1)
    assert pool.put("t", {"day": [2]}, expect_version=1) == 2
    with pytest.raises(cenote.VersionConflict):
        pool.append("t", {"day": [3]}, expect_version=1)
    assert days(pool["t"]) == [2]


def test_what_made_a_version_is_remembered(pool: cenote.Pool) -> None:
    pool.put("raw", {"day": [1, 2]}, source="somewhere", note="by hand")
    raw = pool["raw"]
    pool.put("twice", raw, expression="raw * 1")
    pool.append("twice", {"day": [3]}, inputs=[raw])
    (first,) = pool.log("raw")
    assert (first["source"], first["note"], first["pid"]) == ("somewhere", "by hand", os.getpid())
    assert first["command"] and first["user"] and first["host"] and not first["append"]
    one, two = pool.log("twice")
    assert one["inputs"] == two["inputs"] == [{"name": "raw", "version": 1}]
    assert (one["expression"], one["append"], two["append"]) == ("raw * 1", False, True)
    with pytest.raises(cenote.ArgumentError, match="inputs="):
        pool.put("other", {"day": [1]}, inputs=["raw"])


def test_diff_says_what_changed(pool: cenote.Pool) -> None:
    pool.put("t", {"day": [1], "x": [0.5]})
    pool.keep("t", 9)
    pool.append("t", {"day": [2], "x": [1.5]})
    pool.tag("t", "two")
    pool.put("t", {"day": ["a"], "y": [1]}, replace=True)
    same = pool.diff("t", 1, "two")
    assert (same["from"]["num_rows"], same["to"]["num_rows"], same["columns"]) == (1, 2, [])
    assert same["shared_bytes"] == same["from"]["nbytes"] > 0
    other = pool.diff("t", 2, 3)
    assert [c["name"] for c in other["columns"]] == ["day", "x", "y"]
    assert other["columns"][0]["from"] == "Int64" != other["columns"][0]["to"]
    assert other["columns"][1]["to"] is None and other["columns"][2]["from"] is None
    day, x = same["statistics"]
    assert (day["name"], day["from"]["min"], day["from"]["max"], day["to"]["max"]) == ("day", 1, 1, 2)
    assert (x["to"]["nulls"], x["to"]["min"], x["to"]["max"], x["to"]["has_nan"]) == (0, 0.5, 1.5, False)
    day, x, y = other["statistics"]
    assert (day["to"]["min"], day["to"]["min_is_exact"], x["to"], y["from"]) == ("a", True, None, None)
    long, nan = "z" * 40, float("nan")
    when = dt.datetime(2024, 1, 2, tzinfo=dt.timezone.utc)
    table = pa.table({"s": [long, None], "f": [nan, 1.0], "t": [when, when], "b": [True, None],
                      "l": [[1], None], "raw": pa.array([b"\\1", b"\\2"], pa.binary())})
    pool.put("u", table)
    s, f, t, b, l, raw = [c["to"] for c in pool.diff("u", 1, 1)["statistics"]]
    assert (s["nulls"], s["min"], s["min_is_exact"], s["max_is_exact"]) == (1, "z" * 32, False, False)
    assert s["max"] > long and (f["has_nan"], f["min"], f["max"]) == (True, 1.0, 1.0)
    assert t["min"] == "2024-01-02T00:00:00Z" and (b["min"], b["max"], b["nulls"]) == (True, True, 1)
    assert (l["nulls"], l["min"], raw["min"]) == (1, None, b"\\1")


def test_a_reader_of_an_old_version_goes_on(pool: cenote.Pool) -> None:
    for day in range(20):
        pool.append("t", {"day": [day]})
    frame = pool["t"]
    again = pickle.dumps(frame)
    for day in range(20, 60):
        pool.append("t", {"day": [day]})
    pool.drop("t")
    assert days(frame) == list(range(20))
    if not pool.embedded:
        assert days(pickle.loads(again)) == list(range(20))


def test_many_append_at_once(pool: cenote.Pool) -> None:
    def append(thread: int) -> None:
        for i in range(25):
            pool.append("t", {"day": [thread * 100 + i]})

    threads = [threading.Thread(target=append, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(days(pool["t"])) == [n * 100 + i for n in range(4) for i in range(25)]
