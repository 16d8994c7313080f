"""Any table goes in and comes out the same, in parts as well, and for every consumer.

Random types nested to some depth, random arrays of them, sliced on every level and in chunks.
`CENOTE_SEED` repeats one, `CENOTE_TABLES` says how many.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cenote

SEED = int(os.environ.get("CENOTE_SEED") or random.randrange(1 << 32))
TABLES = int(os.environ.get("CENOTE_TABLES") or 150)
DEPTH = 3


class Maker:
    """Random arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, bound: int) -> int:
        return self.random.randrange(max(bound, 1))

    def pick(self, items: Any) -> Any:
        return self.random.choice(items)

    def numbers(self, rows: int, bound: int = 100) -> np.ndarray:
        return np.array([self.below(bound) for _ in range(rows)], "int64")

    def mask(self, rows: int) -> pa.Array | None:
        return None if self.below(3) == 0 else pa.array(self.numbers(rows, 4) == 0, pa.bool_())

    def array(self, depth: int, rows: int) -> pa.Array:
        """`rows` rows of a random type: a slice of a longer array, mostly."""
        before, after = (self.below(19), self.below(9)) if self.below(4) else (0, 0)
        make = self.leaf if depth == 0 or self.below(3) == 0 else self.nested
        array = make(depth, before + rows + after)
        return array.slice(before, rows)

    def leaf(self, _depth: int, rows: int) -> pa.Array:
        kind = self.pick(LEAVES)
        if kind == pa.null():
            return pa.nulls(rows)
        array = self.values(kind, rows)
        if self.below(3) == 0:
            return array
        valid = np.packbits(self.numbers(rows, 4) > 0, bitorder="little").tobytes()
        return pa.Array.from_buffers(kind, rows, [pa.py_buffer(valid), *array.buffers()[1:]])

    def values(self, kind: pa.DataType, rows: int) -> pa.Array:
        numbers = self.numbers(rows)
        if pa.types.is_boolean(kind):
            return pa.array(numbers % 2 == 0)
        if pa.types.is_fixed_size_binary(kind):
            width = kind.byte_width
            data = pa.py_buffer(bytes(self.below(256) for _ in range(width * rows)))
            return pa.Array.from_buffers(kind, rows, [None, data])
        if any(is_text(kind) for is_text in TEXTS):
            words = ["", "a", "é" * 3, "x" * self.below(40), "日本"]
            return pa.array([self.pick(words) for _ in range(rows)], pa.string()).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.array(numbers).cast(pa.decimal128(25, 2)).cast(kind)
        if pa.types.is_interval(kind):
            return pa.array([pa.MonthDayNano([int(n), 2, -3]) for n in numbers], kind)
        if pa.types.is_floating(kind):
            return pa.array(numbers / 4).cast(kind)
        if pa.types.is_date64(kind):
            return pa.array(numbers).cast(pa.int32()).cast(pa.date32()).cast(kind)
        if pa.types.is_temporal(kind):
            return pa.array(numbers).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
        return pa.array(numbers).cast(kind)

    def offsets(self, rows: int, kind: str) -> np.ndarray:
        steps = self.numbers(rows, 4)
        return (self.below(3) + np.concatenate([[0], np.cumsum(steps)])).astype(kind)

    def nested(self, depth: int, rows: int) -> pa.Array:
        make: Callable[[int, int], pa.Array] = self.pick([
            self.list, self.list_view, self.fixed_size_list, self.struct, self.map,
            self.dictionary, self.run_ends, self.union])
        return make(depth - 1, rows)

    def list(self, depth: int, rows: int) -> pa.Array:
        kind, index = self.pick([(pa.ListArray, "int32"), (pa.LargeListArray, "int64")])
        offsets = self.offsets(rows, index)
        return kind.from_arrays(pa.array(offsets), self.array(depth, int(offsets[-1])),
                                mask=self.mask(rows))

    def list_view(self, depth: int, rows: int) -> pa.Array:
        kind, index = self.pick([(pa.ListViewArray, "int32"), (pa.LargeListViewArray, "int64")])
        items = self.array(depth, 30)
        return kind.from_arrays(pa.array(self.numbers(rows, 25).astype(index)),
                                pa.array(self.numbers(rows, 5).astype(index)), items,
                                mask=self.mask(rows))

    def fixed_size_list(self, depth: int, rows: int) -> pa.Array:
        size = 1 + self.below(3)
        return pa.FixedSizeListArray.from_arrays(self.array(depth, size * rows), size,
                                                 mask=self.mask(rows))

    def struct(self, depth: int, rows: int) -> pa.Array:
        arrays = [self.array(depth, rows) for _ in range(1 + self.below(3))]
        fields = [pa.field(f"f{at}", array.type, metadata={"at": str(at)})
                  for at, array in enumerate(arrays)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=self.mask(rows))

    def map(self, depth: int, rows: int) -> pa.Array:
        offsets = self.offsets(rows, "int32")
        keys = self.values(self.pick([pa.string(), pa.int16()]), int(offsets[-1]))
        return pa.MapArray.from_arrays(pa.array(offsets), keys, self.array(depth, int(offsets[-1])))

    def dictionary(self, _depth: int, rows: int) -> pa.Array:
        count = 1 + self.below(9)
        kind = self.pick([pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(),
                          pa.int64(), pa.uint64()])
        keys = pa.array(self.numbers(rows, count), mask=self.numbers(rows, 5) == 0).cast(kind)
        words = pa.array([f"{at} {self.below(10)}" for at in range(count)])
        return pa.DictionaryArray.from_arrays(keys, words, ordered=self.below(2) == 0)

    def run_ends(self, _depth: int, rows: int) -> pa.Array:
        ends, last = [], 0
        while last < rows:
            last = min(last + 1 + self.below(5), rows)
            ends.append(last)
        kind = self.pick([pa.int16(), pa.int32(), pa.int64()])
        return pa.RunEndEncodedArray.from_arrays(
            pa.array(ends, kind), self.leaf(0, len(ends)))

    def union(self, depth: int, rows: int) -> pa.Array:
        kinds = pa.array(self.numbers(rows, 2).astype("int8"))
        if self.below(2):
            children = [self.array(depth, rows) for _ in range(2)]
            return pa.UnionArray.from_sparse(kinds, children)
        taken, offsets = [self.below(3), 0], []
        for kind in kinds.to_pylist():
            offsets.append(taken[kind])
            taken[kind] += 1
        children = [self.array(depth, count) for count in taken]
        return pa.UnionArray.from_dense(kinds, pa.array(offsets, pa.int32()), children)

    def table(self) -> pa.Table:
        """Some columns, in chunks that do not agree with each other."""
        rows = self.pick([0, 1, 7, 8, 9, 64, 65, 100])
        columns = []
        for _ in range(self.below(5)):
            array = self.array(self.below(DEPTH + 1), rows)
            cut = self.below(rows + 1)
            columns.append(pa.chunked_array([array.slice(0, cut), array.slice(cut)], array.type))
        names = [self.pick(["a", "b", "", "ä b"]) for _ in columns]
        fields = [pa.field(name, column.type, metadata={"k": name} if self.below(2) else None)
                  for name, column in zip(names, columns, strict=True)]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, {"seed": "x"}))


TEXTS = [pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view,
         pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view]
LEAVES = [
    pa.null(), pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(),
    pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(),
    pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view(),
    pa.binary(5), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"),
    pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Europe/Paris"),
    pa.timestamp("ms", "+02:00"), pa.duration("s"), pa.duration("ns"), pa.decimal32(7, 2),
    pa.decimal64(12, 2), pa.decimal128(30, 2), pa.decimal256(60, 2), pa.month_day_nano_interval(),
]


@pytest.fixture(scope="module")
def shared() -> cenote.Pool:
    return cenote.connect(embedded=True, capacity=256 << 20)


def _same(back: pa.Table, table: pa.Table, what: str) -> None:
    back.validate(full=True)
    assert back.schema.equals(table.schema, check_metadata=True), f"{what}: {back.schema}"
    assert back.equals(table), f"{what}: {back} is not {table}"


def test_any_table_comes_back(shared: cenote.Pool) -> None:
    values = kinds = 0
    for at in range(TABLES):
        what = f"CENOTE_SEED={SEED + at} CENOTE_TABLES=1"
        maker = Maker(SEED + at)
        table = maker.table()
        shared.put("t", table, replace=True)
        frame = shared["t"]
        _same(frame.to_arrow(), table, what)
        _same(pa.table(frame), table, what)
        first = maker.below(len(table) + 1)
        last = first + maker.below(len(table) - first + 1)
        part = shared.get("t", rows=(first, last))
        _same(part.to_arrow(), table.slice(first, last - first), what)
        shared.put("again", part, replace=True)
        _same(shared["again"].to_arrow(), table.slice(first, last - first), what)
        values += table.num_rows * table.num_columns
        kinds += len({str(field.type) for field in table.schema})
    assert values > TABLES * 20 and kinds > TABLES or TABLES < 50


def _own(table: pa.Table) -> pa.Table:
    """The table with arrays of its own: PyArrow exports some slices (of unions) wrongly."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _outcome(read: Callable[[], Any]) -> tuple[str, Any]:
    """What a library makes of a table: values, or the kind of its refusal."""
    try:
        return "values", read()
    except BaseException as error:  # a panic is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return "refusal", type(error).__name__


def _polars(data: Any) -> Any:
    import polars

    return polars.DataFrame(data)


def _duckdb(data: Any) -> Any:
    import duckdb

    return duckdb.sql("select * from data").fetchall()


def _datafusion(data: Any) -> Any:
    import datafusion

    return datafusion.SessionContext().from_arrow(data, "t").to_pydict()


@pytest.mark.parametrize("consumer", ["pandas", "duckdb", "datafusion", "polars"])
def test_consumers_see_what_they_would_see(shared: cenote.Pool, consumer: str) -> None:
    """The same values, or the same refusal, as of PyArrow's own table."""
    pytest.importorskip(consumer, reason=f"{consumer} is not installed: not looked at")
    compared = 0
    for at in range(TABLES // 2):
        what = f"CENOTE_SEED={SEED + at} CENOTE_TABLES=2"
        table = Maker(SEED + at).table()
        table = table.rename_columns([f"c{at}" for at in range(table.num_columns)])
        if table.num_columns == 0:
            continue
        shared.put("t", table, replace=True)
        frame = shared["t"]
        if consumer == "pandas":
            import pandas

            back = frame.to_pandas(types_mapper=pandas.ArrowDtype)
            for name in table.column_names:
                found = back[name].array.__arrow_array__()
                assert found.equals(table[name]), what
        elif consumer == "polars":
            try:
                back = frame.to_polars()
            except cenote.UnsupportedType:
                continue
            kind, theirs = _outcome(lambda: _polars(_own(table)))
            if kind == "refusal":
                continue
            assert back.equals(theirs), what
        else:
            kinds = str(table.schema)
            if consumer == "duckdb" and "fixed_size_list" in kinds and "dictionary" in kinds:
                continue  # DuckDB 2.0.1 reads the former's keys from memory that is not theirs
            read = _duckdb if consumer == "duckdb" else _datafusion
            own = _own(table)
            ours, theirs = _outcome(lambda: read(frame)), _outcome(lambda: read(own))
            assert str(ours) == str(theirs), what
        compared += 1
    assert compared > TABLES // 8


def test_bits_of_floats_are_kept(shared: cenote.Pool) -> None:
    """NaN with a payload, negative zero, infinities: the bits, not the values."""
    for kind, bits in (("float64", "uint64"), ("float32", "uint32"), ("float16", "uint16")):
        width = np.dtype(bits).itemsize * 8
        patterns = np.array([0, 1, 1 << (width - 1), (1 << width) - 1, (1 << width) - 1 - (1 << 3),
                             (1 << (width - 1)) - 1], dtype=bits)
        shared.put("t", {"x": patterns.view(kind)}, replace=True)
        assert np.array_equal(shared["t"].to_numpy("x").view(bits), patterns)


def test_no_columns_still_have_rows(shared: cenote.Pool) -> None:
    for rows in (0, 3):
        shared.put("t", pa.table({"x": range(rows)}).select([]), replace=True)
        assert shared["t"].shape == (rows, 0)
        assert shared["t"].to_arrow().shape == (rows, 0)
