"""Every type through every consumer: what comes out, and what was copied for it."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cenote
import consumers
from conftest import Served

PAGE = Path(__file__).parents[2] / "docs" / "consumers.md"
LIBRARY = {"pandas_arrow": "pandas"}


def _installed(consumer: str) -> bool:
    return importlib.util.find_spec(LIBRARY.get(consumer, consumer)) is not None


def test_the_table_is_true() -> None:
    said = consumers.read_table(PAGE.read_text())
    assert list(said) == list(consumers.CONSUMERS)
    assert all(len(column) == len(consumers.TYPES) for column in said.values())
    absent = [name for name in said if not _installed(name)]
    served, wrong = Served(2 << 30), []
    try:
        consumers.fill(served.connect())
        for name in said.keys() - set(absent):
            found = consumers.measured(name, served.address)
            wrong += [f"{name}, {kind}: {found[kind]}, not {said[name][kind]}"
                      for kind in found if found[kind] != said[name][kind]]
    finally:
        served.close()
    assert not wrong, "docs/consumers.md is not what was measured: " + "; ".join(wrong)
    if absent:
        pytest.skip(f"not installed, so not looked at: {', '.join(absent)}")


def _duckdb(frame: cenote.Frame) -> list[Any]:
    import duckdb

    found = duckdb.sql("select x from frame")
    if pa.types.is_duration(frame.schema.field("x").type):
        return [row[0] for row in found.fetchall()]  # in Arrow it is an interval
    return list(found.to_arrow_table()["x"].to_pylist())


def _numpy(frame: cenote.Frame) -> list[Any]:
    array = frame.to_numpy("x")
    return list(pa.array(array).to_pylist() if array.dtype.kind in "mM" else array.tolist())


def _datafusion(frame: cenote.Frame) -> list[Any]:
    import datafusion

    return list(datafusion.SessionContext().from_arrow(frame, "t").to_pydict()["x"])


READERS: dict[str, Callable[[cenote.Frame], list[Any]]] = {
    "pyarrow": lambda frame: frame.to_arrow()["x"].to_pylist(),
    "pandas": lambda frame: frame.to_pandas()["x"].tolist(),
    "pandas_arrow": lambda frame: consumers.pandas_arrow(frame)["x"].tolist(),
    "polars": lambda frame: frame.to_polars()["x"].to_list(),
    "numpy": _numpy,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
}


def _plain(value: Any) -> Any:
    """A value as it is compared, whichever library it comes from."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if type(value).__name__ == "DateOffset":
        value = (value.months, value.days, value.nanoseconds)
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    with contextlib.suppress(AttributeError):
        value = value.to_pydatetime()
    with contextlib.suppress(AttributeError):
        value = value.to_pytimedelta()
    with contextlib.suppress(AttributeError, TypeError):
        value = value.replace(tzinfo=None) - value.utcoffset()
    return value


@pytest.mark.parametrize("consumer", READERS)
def test_values(consumer: str) -> None:
    """Whole and sliced, in one partition and in two, with what is null."""
    if not _installed(consumer):
        pytest.skip(f"{consumer} is not installed: its values were not looked at")
    pool = cenote.connect(embedded=True, capacity=128 << 20)
    said = consumers.read_table(PAGE.read_text())[consumer]
    compared = 0
    for kind, make in consumers.TYPES.items():
        if said[kind] == consumers.REFUSED:
            continue
        array = make(64)
        with contextlib.suppress(pa.ArrowException):  # not every type can
            array = consumers.with_nulls(array)
        table = pa.table({"x": array})
        pool.put("t", (part for part in (table.slice(0, 33), table.slice(33))), replace=True)
        for first, last in ((0, 64), (0, 33), (3, 30), (20, 51), (40, 41)):
            frame = pool.get("t", rows=(first, last))
            expected = [_plain(value) for value in table["x"].slice(first, last - first).to_pylist()]
            found = [_plain(value) for value in READERS[consumer](frame)]
            assert found == expected, f"{kind}, rows {first} to {last}"
            compared += len(found)
    assert compared > 20 * 150, f"only {compared} values were compared"


def test_lightgbm_learns_the_same() -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: not looked at")
    pool = cenote.connect(embedded=True, capacity=128 << 20)
    random = np.random.default_rng(7)
    columns = {"a": random.normal(size=2000), "b": random.integers(0, 9, 2000),
               "c": random.normal(size=2000).astype("float32")}
    label = columns["a"] * 2 + columns["b"]
    pool.put("t", columns)
    options = {"verbosity": -1, "num_threads": 1, "seed": 1}
    from_pool = lightgbm.Dataset(pool["t"].to_arrow(), label=label)
    matrix = np.column_stack([values.astype("float64") for values in columns.values()])
    own = lightgbm.Dataset(matrix, label=label)
    models = [lightgbm.train(options, data, num_boost_round=5) for data in (from_pool, own)]
    ours, theirs = (model.predict(matrix) for model in models)
    assert np.array_equal(ours, theirs)


def _table(**arrays: pa.Array) -> pa.Table:
    return pa.table(arrays)


UNION = pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])])
REFUSED = {
    "polars, union": ("to_polars", _table(a=pa.array([1, 2]), u=UNION), "column 'u' of type Union"),
    "polars, nested": ("to_polars", _table(n=pa.StructArray.from_arrays([UNION], ["u"])),
                       "column 'n' of type Struct"),
    "polars, list view": ("to_polars", _table(a=pa.array([1]), v=pa.array([[1]], pa.list_view(pa.int8()))),
                          "column 'v' of type ListView"),
    "polars, small decimals": ("to_polars", _table(d=pa.array([1]).cast(pa.decimal128(21)).cast(
        pa.decimal32(9))), "column 'd' of type Decimal32(9, 0) cannot be Polars': it misreads this"),
    "polars, twins": ("to_polars", pa.table([[1], [2]], ["x", "x"]), "two columns are called 'x'"),
    "pandas, union": ("to_pandas", _table(a=pa.array([1, 2]), u=UNION), "types_mapper=pandas.ArrowDtype"),
    "pandas, nanoseconds": ("to_pandas", _table(t=pa.array([1], pa.time64("ns"))),
                            "column 't' of type Time64(ns) cannot be pandas'"),
    "pandas, twin categories": ("to_pandas", _table(c=pa.DictionaryArray.from_arrays(
        pa.array([0, 1]), pa.array(["a", "a"]))), "Categorical categories must be unique"),
    "numpy, union": (lambda frame: frame.to_numpy("u"), _table(u=UNION), "frame.column('u') has it"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_column_type_and_way_out(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    call, table, text = REFUSED[kind]
    pool = cenote.connect(embedded=True, capacity=64 << 20)
    pool.put("t", table)
    with pytest.raises(cenote.UnsupportedType) as caught:
        call(pool["t"]) if callable(call) else getattr(pool["t"], call)()
    assert text in str(caught.value), str(caught.value)
    assert "panicked" not in capfd.readouterr().err
    assert pool["t"].to_arrow().equals(table)


def test_extension_types_reach_pandas() -> None:
    """PyArrow loses such a column where it makes a block of each (split_blocks)."""
    pool = cenote.connect(embedded=True, capacity=64 << 20)
    table = pa.table({
        "json": pa.array(['{"a": 1}', None], pa.json_()),
        "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, None], pa.int8())),
        "uuid": pa.array([b"0" * 16, None], pa.uuid()),
        "number": [1.5, 2.5]})
    pool.put("t", table)
    assert pool["t"].schema.equals(table.schema, check_metadata=True)
    back = pool["t"].to_pandas()
    assert list(back.columns) == table.column_names
    assert back["json"][0] == '{"a": 1}' and back.isna()["json"].tolist() == [False, True]
    assert back["number"].tolist() == [1.5, 2.5]
    assert not back["number"].to_numpy().flags.writeable
