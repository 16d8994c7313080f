"""CSV that `cenote put` reads, beside what PyArrow and Polars make of the same bytes.

Tables are random, their seeds fixed; Python's `csv` writes them. All three decide the types
themselves. Where their rules differ by design the difference is stated here.
"""

from __future__ import annotations

import csv
import datetime as dt
import math
import random
import string
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Served, command

pa = pytest.importorskip("pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv")

ROWS = 400
LETTERS = string.ascii_letters + "äß中 ,;\"'\n|#"


def word(chance: random.Random) -> str:
    # a text that is no number, no date, no truth value to anybody
    return "w" + "".join(chance.choices(LETTERS, k=chance.randint(0, 12)))


KINDS: dict[str, Callable[[random.Random], Any]] = {
    "int": lambda chance: chance.choice([0, -1, chance.randint(-(1 << 63), (1 << 63) - 1),
                                         chance.randint(-999, 999)]),
    "float": lambda chance: chance.choice([0.5, -0.0, chance.uniform(-1e6, 1e6),
                                           chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300)]),
    "price": lambda chance: f"{chance.uniform(1, 500):.2f}",
    "bool": lambda chance: chance.choice(["true", "false"]),
    "date": lambda chance: dt.date(1970, 1, 1) + dt.timedelta(days=chance.randint(-90_000, 90_000)),
    "time": lambda chance: dt.datetime(2000, 1, 1) + dt.timedelta(
        seconds=chance.randint(-10**9, 10**9)),
    "text": word,
}


def written(path: Path, chance: random.Random, quote_all: bool) -> list[str]:
    """Writes a random table; the kinds of its columns."""
    kinds = chance.choices(list(KINDS), k=chance.randint(2, 8))
    ends = chance.choice(["\n", "\r\n"])
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, lineterminator=ends, quoting=quoting)
        writer.writerow([f"c{at} {kind}" for at, kind in enumerate(kinds)])
        for row in range(ROWS):
            # the first row is whole, so that all see the same kinds
            writer.writerow([None if row and chance.random() < 0.1 else str(KINDS[kind](chance))
                             for kind in kinds])
    return kinds


def put(served: Served, path: Path, *options: str) -> Any:
    done = subprocess.run(
        [command(), "put", str(path), "--name", "t", "--replace", "--address", served.address,
         *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return served.connect().get("t").to_arrow()


def values(column: Any) -> list[Any]:
    # minus zero and zero are told apart, as text tells them apart
    return [str(value) if isinstance(value, float) else value for value in column.to_pylist()]


@pytest.mark.parametrize("seed", range(12))
def test_pyarrow_reads_the_same_table(served: Served, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "t.csv"
    kinds = written(path, random.Random(seed), quote_all=seed % 3 == 0)
    ours = put(served, path)
    theirs = pa_csv.read_csv(
        path, parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(strings_can_be_null=True, null_values=[""],
                                              quoted_strings_can_be_null=True))
    assert ours.num_rows == theirs.num_rows == ROWS
    assert ours.column_names == theirs.column_names
    for name, kind in zip(ours.column_names, kinds, strict=True):
        assert ours.schema.field(name).type == theirs.schema.field(name).type, (name, kind)
        assert values(ours[name]) == values(theirs[name]), (name, kind)


@pytest.mark.parametrize("seed", range(12, 24))
def test_polars_reads_the_same_table(served: Served, tmp_path: Path, seed: int) -> None:
    pl = pytest.importorskip("polars")
    path = tmp_path / "t.csv"
    # Polars takes quoted numbers for text; we and PyArrow do not
    kinds = written(path, random.Random(seed), quote_all=False)
    ours = put(served, path)
    theirs = pl.read_csv(path, try_parse_dates=True, infer_schema_length=None).to_arrow()
    assert ours.num_rows == theirs.num_rows == ROWS
    for name, kind in zip(ours.column_names, kinds, strict=True):
        if kind == "float":
            # Polars rounds some of them by one unit in the last place; ours are Python's
            pairs = zip(ours[name].to_pylist(), theirs[name].to_pylist(), strict=True)
            assert all(a is b or math.isclose(a, b, rel_tol=1e-14) for a, b in pairs), name
        else:
            assert values(ours[name]) == values(theirs[name]), (name, kind)


def test_floats_are_those_of_python(served: Served, tmp_path: Path) -> None:
    chance = random.Random(7)
    numbers = [chance.uniform(-1, 1) * 10.0 ** chance.randint(-320, 308) for _ in range(5000)]
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "".join(f"{number!r}\n" for number in numbers))
    assert values(put(served, path)["x"]) == [str(number) for number in numbers]
