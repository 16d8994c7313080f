"""`where=`: the rows that DuckDB finds, whatever the table and the predicate."""

from __future__ import annotations

import datetime
import os
import pickle
import random

import pytest

import cenote

pyarrow = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

SEED = int(os.environ.get("CENOTE_SEED", "20170101"))
TABLES = 12
PREDICATES = 25
WORDS = ["", "a", "ab", "b", "it's", "größe", "z" * 40, "z" * 40 + "y"]
FIRST = datetime.datetime(2017, 1, 1)


def _column(dice: random.Random, kind: str, rows: int) -> pyarrow.Array:
    """Values of few kinds, in runs or rising, some null."""
    base = dice.randrange(100)
    make = {
        "i": lambda i: dice.randrange(-3, 4),
        "rising": lambda i: base + i,
        "f": lambda i: dice.choice([-1.5, -0.0, 0.0, 0.1, 2.0, 1e300]),
        "text": lambda i: dice.choice(WORDS),
        "category": lambda i: dice.choice(WORDS),
        "flag": lambda i: dice.random() < 0.5,
        "day": lambda i: (FIRST + datetime.timedelta(days=base + i // 3)).date(),
        "moment": lambda i: FIRST + datetime.timedelta(hours=base + i, microseconds=dice.randrange(2)),
        "price": lambda i: dice.randrange(-500, 500) / 100,
        "small": lambda i: dice.randrange(0, 256),
    }[kind]
    nulls = dice.choice([0, 0, 0.2, 1])
    values = [None if dice.random() < nulls else make(i) for i in range(rows)]
    types = {
        "i": pyarrow.int64(), "rising": pyarrow.int32(), "f": pyarrow.float64(),
        "text": pyarrow.large_string(), "category": pyarrow.string(), "flag": pyarrow.bool_(),
        "day": pyarrow.date32(), "moment": pyarrow.timestamp("us"), "small": pyarrow.uint8(),
    }
    if kind == "price":
        from decimal import Decimal

        values = [None if v is None else Decimal(f"{v:.2f}") for v in values]
        return pyarrow.array(values, pyarrow.decimal128(9, 2))
    array = pyarrow.array(values, types[kind])
    return array.dictionary_encode() if kind == "category" else array


KINDS = ["i", "rising", "f", "text", "category", "flag", "day", "moment", "price", "small"]


def _table(dice: random.Random) -> pyarrow.Table:
    parts = []
    end = 0
    for _ in range(dice.randrange(1, 6)):
        rows = dice.choice([0, 1, 7, 64, 65, 300])
        start, end = end, end + rows
        columns = {kind: _column(dice, kind, rows) for kind in KINDS}
        parts.append(pyarrow.table({"n": pyarrow.array(range(start, end), pyarrow.int64()), **columns}))
    return pyarrow.concat_tables(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _value(dice: random.Random, kind: str) -> str:
    """As DuckDB writes it too."""
    if kind in ("text", "category"):
        return _quoted(dice.choice(WORDS))
    if kind == "flag":
        return dice.choice(["true", "false"])
    if kind == "day":
        return _quoted(str((FIRST + datetime.timedelta(days=dice.randrange(220))).date()))
    if kind == "moment":
        return _quoted((FIRST + datetime.timedelta(hours=dice.randrange(420))).isoformat(" "))
    if kind == "rising":
        return str(dice.randrange(420))
    if kind == "f":
        return dice.choice(["-1.5", "0", "0.1", "2", "3", "1e300"])
    if kind == "price":
        return dice.choice(["1.25", "-3", "0.01", "4.99"])
    return dice.choice(["-1", "0", "2", "200", "5"])


def _predicate(dice: random.Random, depth: int = 0) -> str:
    if depth < 3 and dice.random() < 0.5:
        left, right = _predicate(dice, depth + 1), _predicate(dice, depth + 1)
        return dice.choice([f"({left}) and ({right})", f"({left}) or ({right})", f"not ({left})"])
    kind = dice.choice(KINDS)
    shape = dice.randrange(6)
    if shape == 0:
        return f"{kind} is {dice.choice(['', 'not '])}null"
    if shape == 1:
        values = ", ".join(_value(dice, kind) for _ in range(dice.randrange(1, 9)))
        return f"{kind} {dice.choice(['', 'not '])}in ({values})"
    if shape == 2 and kind != "flag":
        return f"{kind} between {_value(dice, kind)} and {_value(dice, kind)}"
    if shape == 3 and kind in ("text", "category"):
        return f"{kind} like {dice.choice(['%', 'z%', '_', '%b', 'a_', 'zz%'])!r}"
    if shape == 4 and kind == "flag":
        return kind
    operator = dice.choice(["=", "!=", "<", "<=", ">", ">="])
    return f"{kind} {operator} {_value(dice, kind)}"


@pytest.mark.parametrize("number", range(TABLES))
def test_rows_are_those_that_duckdb_finds(number: int) -> None:
    dice = random.Random(SEED * 1000 + number)
    table = _table(dice)
    pool = cenote.connect(embedded=True, capacity=64 << 20)
    pool.put("t", table)
    left_out = 0
    for _ in range(PREDICATES):
        where = _predicate(dice)
        about = f"seed {SEED}, table {number}, where {where}"
        con = duckdb.connect()
        con.register("t", table)
        expected = con.sql(f"select * from t where {where} order by n").to_arrow_table()
        frame = pool.get("t", where=where)
        found = frame.to_arrow()
        assert found.num_rows == frame.num_rows == expected.num_rows, about
        left_out += frame.nbytes < pool["t"].nbytes
        for name in ["n", *KINDS]:
            assert found[name].to_pylist() == expected[name].to_pylist(), f"{name}: {about}"
        assert pool["t"].filter(where).to_arrow().equals(found), about
        assert pyarrow.table(pickle.loads(pickle.dumps(frame))).equals(found), about
    assert table.num_rows == 0 or left_out > 0, f"seed {SEED}, table {number}: nothing left out"


def test_nan_is_unequal_to_everything() -> None:
    pool = cenote.connect(embedded=True, capacity=16 << 20)
    pool.put("t", {"x": [float("nan"), 1.0, -0.0], "n": [1, 2, 3]})

    def rows(where: str) -> list[int]:
        return pool.get("t", where=where)["n"].to_pylist()

    assert rows("x != 1") == [1, 3]
    assert rows("x = 0") == [3]
    assert rows("x < 5 or x >= 5") == [2, 3]
    assert rows("not x < 5") == [1]
    assert rows("x = 'nan'") == []


def test_times_are_of_the_columns_zone() -> None:
    pool = cenote.connect(embedded=True, capacity=16 << 20)
    times = [datetime.datetime(2017, 1, 1, hour, tzinfo=datetime.UTC) for hour in (4, 5, 6)]
    zoned = pyarrow.array(times, pyarrow.timestamp("ms", "America/New_York"))
    pool.put("t", pyarrow.table({"at": zoned, "plain": zoned.cast(pyarrow.timestamp("ms"))}))
    assert pool.get("t", where="at >= '2017-01-01'").num_rows == 2
    assert pool.get("t", where="at > '2017-01-01T05:00:00Z'").num_rows == 1
    with pytest.raises(cenote.ArgumentError, match="time zone, and the column has none"):
        pool.get("t", where="plain > '2017-01-01T05:00:00Z'")


def test_mistakes_say_where_and_what() -> None:
    pool = cenote.connect(embedded=True, capacity=16 << 20)
    pool.put("t", {"close": [1.0], "a name": ["x"]})
    with pytest.raises(ValueError, match=r"found `and`\n  close > and\n          \^"):
        pool.get("t", where="close > and")
    with pytest.raises(cenote.ArgumentError, match='"close" is of type Float64: \'a\''):
        pool.get("t", where="close > 'a'")
    with pytest.raises(cenote.ColumnNotFound, match="clsoe"):
        pool.get("t", where="clsoe > 1")
    with pytest.raises(TypeError, match="where= takes text"):
        pool.get("t", where=1)  # type: ignore[arg-type]
    assert pool.get("t", where="\"a name\" = 'x'").num_rows == 1


def test_a_filtered_frame_is_one_for_every_reader() -> None:
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    pool = cenote.connect(embedded=True, capacity=16 << 20)
    pool.put("t", pandas.DataFrame({"x": range(100), "y": [i % 3 for i in range(100)]}))
    frame = pool.get("t", columns=["x"], where="y = 1 and x < 50")
    assert frame.predicate == "y = 1 and x < 50"
    assert frame.column_names == ["x"] and len(frame) == 17
    assert frame.to_polars()["x"].sum() == frame.to_pandas()["x"].sum() == sum(range(1, 50, 3))
    assert polars.DataFrame(frame).height == 17
    assert list(frame.to_pandas().index) == list(range(17))
    run = pool.get("t", where="x between 10 and 19")
    # Without gaps the rows keep their labels.
    assert list(run.to_pandas().index) == list(range(10, 20))
    assert "partitions: 1" in run.explain()
    copy = pool.put("copy", run)
    assert (copy, pool["copy"].num_rows) == (1, 10)
