"""The 101 alphas, as the engine computes them, beside the paper's in pandas.

Each alpha is computed three times: by the engine, in pandas, and in pandas shaken (see
`oracle`). Where pandas and shaken pandas agree, so must the engine, to 1e-9. Where values are
missing they must be missing in the engine, and nowhere else.
"""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracle import ROOT, Computing, Matrix, Panel, Series, example
from paper import alphas

PRICES = ROOT.parent / "shared/data/sp500_daily/individual_stocks_5yr.zip"

# Where adv stands beside the volume, it is in shares.
IN_SHARES = {7, 17, 21, 39, 43, 47, 100}
# Where a rank in a window stands beside numbers from 0 to 1, or one of another window.
OF_THE_WINDOW = {29, 35, 66, 68, 71, 73, 76, 82, 86, 87, 88, 89, 91, 92, 95, 96, 97}

# Where a constant has the correlation 0.
STILL_IS_ZERO = {96, 97}

RELATIVE = 1e-9
SHAKES = 6
# Least share of an alpha's cells in which pandas agrees with itself, shaken; and of all.
FIRM_EACH, FIRM_ALL = 0.4, 0.93
# Ranks correlations of two rows each: all are 1 or -1 but for their rounding.
ALL_NOISE = 45


def generated() -> dict[str, Matrix]:
    """Walks on a coarse grid: ties, days without change or volume, gaps, late listings."""
    rows, symbols = 420, 48
    random = np.random.default_rng(7)
    close = np.round(30 * np.exp(np.cumsum(random.normal(0, 0.02, (rows, symbols)), axis=0)), 1)
    close = np.maximum(close, 0.5)
    close[60:75, 3] = close[60, 3]
    wide = np.round(np.abs(random.normal(0, 0.4, (2, rows, symbols))), 1)
    open_ = np.round(close + random.normal(0, 0.3, close.shape), 1)
    fields = {
        "open": np.maximum(open_, 0.1),
        "high": np.maximum(open_, close) + wide[0],
        "low": np.maximum(np.minimum(open_, close) - wide[1], 0.1),
        "close": close,
        "volume": np.round(random.lognormal(9, 1, close.shape) / 100) * 100,
    }
    for symbol in range(0, symbols, 4):
        gap = random.integers(10, rows - 20)
        for values in fields.values():
            values[gap : gap + 2, symbol] = np.nan
    for values in fields.values():
        values[:90, 5] = np.nan
        values[330:, 6] = np.nan
    fields["volume"][200:203, 9] = 0.0
    fields["open"][100, 11] = np.nan
    return fields


def real() -> dict[str, Matrix]:
    """Every eleventh stock of the S&P 500 from 2013 to 2018, and those with partial history."""
    if not PRICES.exists():
        pytest.skip(f"no {PRICES}")
    with zipfile.ZipFile(PRICES) as archive:
        files = sorted(name for name in archive.namelist() if name.endswith(".csv"))
        bars = [pd.read_csv(archive.open(name)) for name in files]
    chosen = [b for at, b in enumerate(bars) if at % 11 == 0 or 300 < len(b) < 1200]
    table = pd.concat(chosen).pivot(index="date", columns="Name")
    fields = ("open", "high", "low", "close", "volume")
    return {name: table[name].to_numpy(np.float64) for name in fields}


def with_groups(fields: dict[str, Matrix]) -> dict[str, Matrix]:
    """Stand-ins for what such data lacks: typical price, three levels of groups, market cap."""
    rows, symbols = fields["close"].shape
    number = np.arange(symbols)
    codes = {"sector": number % 4, "industry": number % 9, "subindustry": number % 21}
    extra = {name: np.tile(code.astype(float), (rows, 1)) for name, code in codes.items()}
    # One without a sector; one that changes its industry.
    extra["sector"][:, 1] = np.nan
    extra["industry"][rows // 2 :, 2] = 3.0
    extra["vwap"] = (fields["high"] + fields["low"] + fields["close"]) / 3
    extra["cap"] = fields["close"] * (1e6 + 1e4 * number)
    return fields | extra


def compute(file: str | Path, fields: dict[str, Matrix], folder: Path) -> dict[str, Matrix]:
    """The factors of a file, or of one that comes with Cenote, by the engine."""
    program = example("factors")
    shape = fields["close"].shape
    (folder / "in").mkdir()
    (folder / "in/shape").write_text(f"{shape[0]} {shape[1]}")
    for name, values in fields.items():
        values.astype("<f8").tofile(folder / f"in/{name}.f64")
    arguments = [program, file, folder / "in", folder / "out"]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    files = {path.stem: path for path in (folder / "out").iterdir()}
    return {name: np.fromfile(path, "<f8").reshape(shape) for name, path in files.items()}


def expected(fields: dict[str, Matrix], seed: int | None = None) -> dict[int, Matrix]:
    choice: dict[int, Series] = {}
    for number in range(1, 102):
        options = (number not in IN_SHARES, number in OF_THE_WINDOW, number in STILL_IS_ZERO)
        choice[number] = alphas(Panel(fields, *options))[number]
    run = Computing(seed)
    return {number: series.of(run) for number, series in choice.items()}


def differ(x: Matrix, y: Matrix) -> Matrix:
    """Where two matrices are not the same to within 1e-9, one missing or not at all."""
    with np.errstate(all="ignore"):
        size = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1e-6)
        apart = np.abs(x - y) > RELATIVE * size
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    return ~same & (apart | ~np.isfinite(x) | ~np.isfinite(y))


@pytest.mark.parametrize("make", [generated, real])
def test_all_alphas_are_the_papers(make, tmp_path: Path) -> None:
    fields = with_groups(make())
    found = compute("alpha101", fields, tmp_path)
    found = {int(name[5:]): values for name, values in found.items()}
    assert sorted(found) == list(range(1, 102))
    plain = expected(fields)
    shaken = [expected(fields, seed) for seed in range(SHAKES)]
    wrong, firm_cells, cells = [], 0, 0
    for number in range(1, 102):
        ours, theirs = found[number], plain[number]
        there = ~np.isnan(theirs)
        firm = ~np.logical_or.reduce([differ(theirs, other[number]) for other in shaken])
        masks = ((np.isnan(ours) == there) & firm).sum()
        values = (differ(ours, theirs) & firm & there & ~np.isnan(ours)).sum()
        count, soft = there.sum(), (there & ~firm).sum()
        share = 1 - soft / max(count, 1)
        apart = differ(ours, theirs)[there].sum() / max(count, 1)
        print(f"{number:3} there {there.mean():.3f} firm {share:.4f} differs {apart:.5f}", end=" ")
        print(f"masks {masks} values {values}")
        firm_cells, cells = firm_cells + count - soft, cells + count
        # Two that tie stay in order in all shakes once in 2 ** SHAKES.
        allowed = soft / 2 ** (SHAKES - 1) + 1e-4 * count
        is_firm = share >= FIRM_EACH or number == ALL_NOISE
        if masks or values > allowed or count == 0 or not is_firm:
            wrong.append((number, int(masks), int(values), int(count), round(share, 3)))
    print(f"firm {firm_cells / cells:.4f} of {cells}")
    assert not wrong, wrong
    assert firm_cells / cells > FIRM_ALL
