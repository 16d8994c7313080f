"""pandas DataFrames come back as they were: values, types, index and names."""

from __future__ import annotations

import datetime as dt
import decimal
import pickle
import subprocess
import sys
import textwrap
import uuid

import numpy as np
import pandas as pd
import pandas.testing as pdt
import polars as pl
import pyarrow as pa
import pytest

import cenote


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=128 << 20)


def _two(**keywords: object) -> pd.DataFrame:
    return pd.DataFrame({"x": [1.5, 2.5, np.nan], "s": ["a", None, "c"]}, **keywords)


ZONED = pd.date_range("2024-03-30", periods=3, freq="D", tz="Europe/Berlin", name="when")
FRAMES = {
    "plain": _two(),
    "no rows": _two().iloc[:0],
    "no columns": pd.DataFrame(index=pd.RangeIndex(3)),
    "nothing": pd.DataFrame(),
    "range index": _two(index=pd.RangeIndex(10, 40, 10, name="at")),
    "falling range": _two(index=pd.RangeIndex(2, -1, -1)),
    "named index": _two(index=pd.Index(["p", "q", "r"], name="who")),
    "index without a name": _two(index=[7, 5, 9]),
    "index of twins": _two(index=[1, 1, 2]),
    "zoned index": _two(index=ZONED),
    "index of numbers": _two(index=pd.Index([0.5, np.nan, 2.5])),
    "categorical index": _two(index=pd.CategoricalIndex(list("aba"), ordered=True, name="c")),
    "period index": _two(index=pd.period_range("2024-01", periods=3, freq="M")),
    "interval index": _two(index=pd.interval_range(0, 3, closed="both")),
    "duration index": _two(index=pd.to_timedelta([1, 2, 3], unit="s")),
    "multi-index": _two(index=pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["one", None])),
    "index named as a column": _two(index=pd.Index([1, 2, 3], name="x")),
    "duplicate names": pd.DataFrame([[1, "a", 2.5], [3, "b", 4.5]], columns=["x", "y", "x"]),
    "duplicate numbers": pd.DataFrame([[1, "a", 2.5]], columns=[7, 8, 7]),
    "duplicates and an index": pd.DataFrame(
        [[1, 2]], columns=["x", "x"], index=pd.Index(["r"], name="x")),
    "duplicate dates": pd.DataFrame([[1, 2]], columns=pd.DatetimeIndex(["2024-01-01"] * 2)),
    "numbered columns": pd.DataFrame([[1, 2], [3, 4]]),
    "named columns": pd.DataFrame([[1, 2]], columns=pd.Index(["a", "b"], name="factor")),
    "columns in levels": pd.DataFrame([[1, 2, 3]], columns=pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["one", "two"])),
    "levels with twins": pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 1)])),
    "categories": pd.DataFrame({
        "c": pd.Categorical(["a", None, "b"], categories=["b", "a", "unused"], ordered=True),
        "n": pd.Categorical([3, 1, 3])}),
    "categories without rows": pd.DataFrame({"c": pd.Categorical([], categories=["b", "a"])}),
    "periods": pd.DataFrame({"p": pd.period_range("2024Q1", periods=3, freq="Q")}),
    "intervals": pd.DataFrame({"i": pd.arrays.IntervalArray.from_tuples(
        [(0.0, 1.0), None, (1.0, 2.5)], closed="left")}),
    "times": pd.DataFrame({"z": ZONED, "n": ZONED.tz_localize(None).as_unit("s"),
                           "d": pd.to_timedelta([1, None, 3], unit="h")}),
    "nullable": pd.DataFrame({
        "i": pd.array([1, None, 3], "Int16"), "f": pd.array([1.5, None, 3], "Float32"),
        "b": pd.array([True, None, False], "boolean"), "s": pd.array(["a", None, "c"], "string")}),
    "arrow types": pd.DataFrame({
        "i": pd.array([1, None], pd.ArrowDtype(pa.int8())),
        "d": pd.array([decimal.Decimal("1.25"), None], pd.ArrowDtype(pa.decimal128(9, 2))),
        "l": pd.array([[1, 2], None], pd.ArrowDtype(pa.list_(pa.int32()))),
        "t": pd.array([1, None], pd.ArrowDtype(pa.timestamp("ms", "UTC"))),
        "s": pd.array(["a", None], pd.ArrowDtype(pa.large_string()))}),
    "strings": pd.DataFrame({
        "str": pd.array(["a", None], "str"), "string": pd.array(["a", None], "string"),
        "object": pd.Series(["a", None], dtype=object)}),
    "objects that arrow has": pd.DataFrame({
        "bytes": pd.Series([b"a", None], dtype=object),
        "dates": pd.Series([dt.date(2024, 2, 29), None], dtype=object),
        "times": pd.Series([dt.time(1, 2, 3), None], dtype=object),
        "decimals": pd.Series([decimal.Decimal("1.25"), None], dtype=object)}),
    "small numbers": pd.DataFrame({
        kind: np.array([1, 0, 1], kind)
        for kind in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64",
                     "float16", "float32")}),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_there_and_back(shared: cenote.Pool, kind: str) -> None:
    frame = FRAMES[kind]
    shared.put("t", frame, replace=True)
    back = shared["t"].to_pandas()
    pdt.assert_frame_equal(back, frame, check_freq=False)
    assert type(back.index) is type(frame.index)
    assert list(back.index.names) == list(frame.index.names)
    own = shared["t"].to_pandas(writable=True)
    pdt.assert_frame_equal(own, frame, check_freq=False)


@pytest.mark.parametrize("kind", FRAMES)
def test_parts(shared: cenote.Pool, kind: str) -> None:
    """Rows and columns of it are what pandas cuts out; nothing is noted that is not so."""
    frame = FRAMES[kind]
    shared.put("t", frame, replace=True)
    rows = len(frame)
    for first, last in ((0, rows), (1, rows), (0, max(rows - 1, 0)), (rows, rows)):
        if first > last or (first == last and "categor" in kind):
            continue  # without a row there is no dictionary
        part = shared.get("t", rows=(first, last))
        pdt.assert_frame_equal(part.to_pandas(), frame.iloc[first:last], check_freq=False)
        _true_notes(part)
    names = shared["t"].column_names
    if len(set(names)) == len(names) > 1:
        part = shared.get("t", columns=names[-2::-1], rows=(0, min(rows, 2)))
        _true_notes(part)
        assert len(part.to_pandas()) == min(rows, 2)


def _true_notes(frame: cenote.Frame) -> None:
    """Both faces say the same, and every column that the notes name is there."""
    for schema in (frame.schema, pa.schema(frame), frame.to_arrow().schema, pa.table(frame).schema):
        notes = schema.pandas_metadata
        if notes is None:
            continue
        for level in notes["index_columns"]:
            if isinstance(level, dict):
                assert len(range(level["start"], level["stop"], level["step"])) == frame.num_rows
            else:
                assert level in schema.names
        assert [column["field_name"] for column in notes["columns"]] == schema.names


def test_columns_without_their_index(shared: cenote.Pool) -> None:
    shared.put("t", FRAMES["multi-index"], replace=True)
    one = shared.get("t", columns=["x", "one"]).to_pandas()
    assert list(one.index) == ["a", "a", "b"] and one.index.name == "one"
    none = shared.get("t", columns="x", rows=(1, 3)).to_pandas()
    pdt.assert_frame_equal(none, pd.DataFrame({"x": [2.5, np.nan]}))


def test_streamed_frames_have_one_index(shared: cenote.Pool) -> None:
    shared.put("t", (pd.DataFrame({"x": [i, i]}) for i in range(3)), replace=True)
    assert shared["t"].to_arrow().to_pandas().index.equals(pd.RangeIndex(6))
    assert shared["t"].schema.pandas_metadata["index_columns"][0]["stop"] == 6


def test_a_new_process_knows_pandas_own_types(served) -> None:
    """PyArrow learns of periods and intervals when pandas first makes one."""
    frame = pd.DataFrame({"p": pd.period_range("2024-01", periods=2, freq="M"),
                          "i": pd.interval_range(0, 2)})
    served.connect().put("t", frame)
    script = textwrap.dedent("""
        import sys, cenote
        frame = cenote.connect(sys.argv[1])["t"]
        table = frame.to_arrow()  # without pandas: the types beneath
        print(*frame.to_pandas().dtypes, sep="|")
    """)
    out = subprocess.run([sys.executable, "-c", script, served.address], check=True,
                         capture_output=True, text=True).stdout
    assert out.strip() == "period[M]|interval[int64, right]"


def test_types_mapper(shared: cenote.Pool) -> None:
    shared.put("t", pa.table({"x": [1, None], "s": ["a", None]}), replace=True)
    back = shared["t"].to_pandas(types_mapper=pd.ArrowDtype)
    assert [str(kind) for kind in back.dtypes] == ["int64[pyarrow]", "string[pyarrow]"]
    address = back["x"].array.__arrow_array__().chunk(0).buffers()[1].address
    assert address == shared["t"]["x"].chunk(0).buffers()[1].address, "no copy"


OBJECTS = pd.DataFrame({
    "mixed": np.array([1, "x", None, np.nan, {"k": {1, 2}}], dtype=object),
    "ids": [uuid.UUID(int=i) for i in range(5)],
    "number": range(5),
}, index=pd.Index(list("abcde"), name="at"))


def test_objects_are_refused_or_pickled(shared: cenote.Pool) -> None:
    with pytest.raises(TypeError) as caught:
        shared.put("t", OBJECTS, replace=True)
    assert "column 'mixed' of type object: row 0 is int and row 1 is str" in str(caught.value)
    assert "pickle=True" in str(caught.value)
    shared.put("t", OBJECTS, replace=True, pickle=True)
    frame = shared["t"]
    with pytest.raises(TypeError, match=r"pickled objects are in 'mixed'.*pickle=True"):
        frame.to_pandas()
    back = frame.to_pandas(pickle=True)
    pdt.assert_frame_equal(back, OBJECTS)
    assert back["mixed"].iloc[3] is not None and np.isnan(back["mixed"].iloc[3])
    assert shared.get("t", columns=["number", "at"]).to_pandas().index.name == "at"
    part = shared.get("t", rows=(1, 3)).to_pandas(pickle=True)
    pdt.assert_frame_equal(part, OBJECTS.iloc[1:3])
    assert pickle.loads(frame["mixed"][4].as_py()) == {"k": {1, 2}}, "bytes, to others"
    # Where nothing needs it, nothing is pickled.
    shared.put("t", FRAMES["strings"], replace=True, pickle=True)
    pdt.assert_frame_equal(shared["t"].to_pandas(), FRAMES["strings"])


def test_metadata_of_a_file_runs_no_code(shared: cenote.Pool) -> None:
    """The mark of a pickled column can be in any table: it must not be followed unasked."""
    evil = pa.field("x", pa.large_binary(), metadata={"cenote.pickle": "5"})
    bomb = pickle.dumps(_Bomb())
    shared.put("t", pa.table([pa.array([bomb], pa.large_binary())], pa.schema([evil])), replace=True)
    with pytest.raises(TypeError, match="pickle=True"):
        shared["t"].to_pandas()
    assert shared["t"].to_polars().shape == (1, 1)
    assert shared["t"]["x"].to_pylist() == [bomb]


class _Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return pytest.fail, ("unpickled",)


REFUSED = {
    "one type": ({"o": [object(), object()]}, "column 'o' of type object: row 0 is object"),
    "mixed": ({"a": [1, 2], "o": [None, "x"], "m": pd.Series([b"x", 1.5], dtype=object)},
              "column 'm' of type object: row 0 is bytes and row 1 is float"),
    "sparse": ({"s": pd.arrays.SparseArray([0, 0, 1])}, "data.sparse.to_dense()"),
    "complex": ({"c": [1j]}, "column 'c' of type complex128: Arrow has no complex numbers"),
    "huge numbers": ({"h": pd.Series([2**70], dtype=object)}, "column 'h'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_column_and_way_out(shared: cenote.Pool, kind: str) -> None:
    columns, text = REFUSED[kind]
    with pytest.raises(TypeError) as caught:
        shared.put("refused", pd.DataFrame(columns))
    assert text in str(caught.value), str(caught.value)
    assert "refused" not in shared


def test_a_bad_index_is_named(shared: cenote.Pool) -> None:
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index([1, "a"], name="who"))
    with pytest.raises(TypeError, match="index level 'who' of type object: row 0 is int and"):
        shared.put("refused", frame)


def test_a_frame_may_change_after_the_put(shared: cenote.Pool) -> None:
    """apache/arrow#51162: PyArrow's tables share a DataFrame's memory."""
    frame = pd.DataFrame({"x": np.arange(100_000.0), "y": np.arange(100_000)})
    shared.put("t", frame, replace=True)
    before = frame.copy(deep=True)
    frame.loc[:, "x"] = -1.0
    frame.iloc[5:500, 1] = -7
    pdt.assert_frame_equal(shared["t"].to_pandas(), before)


def test_polars_and_arrow_read_what_pandas_put(shared: cenote.Pool) -> None:
    shared.put("t", FRAMES["duplicate names"], replace=True)
    assert shared["t"].to_arrow().column_names == ["x", "y", "x"]
    shared.put("t", FRAMES["zoned index"], replace=True)
    assert shared["t"].to_polars().schema["when"] == pl.Datetime("us", "Europe/Berlin")
