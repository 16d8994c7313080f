"""Ranks of covariances of ranks, against whole numbers: ties stay ties.

A covariance of ranks is a fraction of small whole numbers, and is often the same for several
stocks. Computed in doubles, equal ones come apart, and the rank that follows orders them by
their rounding.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from oracle import Computing, Matrix, Panel, covariance, rank
from test_alphas import compute, generated, real

ROWS = 5


def ranked(table: pd.DataFrame) -> Matrix:
    return table.rank(axis=1, pct=True).to_numpy()


def exact(x: Matrix, y: Matrix) -> tuple[Matrix, int]:
    """The rank of the covariance of ranks over five rows, and how many cells share theirs."""
    places = [2 * pd.DataFrame(z).rank(axis=1).to_numpy() for z in (x, y)]
    counts = [(~np.isnan(z)).sum(axis=1).tolist() for z in (x, y)]
    out, tied = np.full(x.shape, np.nan), 0
    for last in range(ROWS - 1, len(x)):
        rows = slice(last - ROWS + 1, last + 1)
        there = ~np.isnan(places[0][rows] + places[1][rows]).any(axis=0)
        # Over a common denominator, as numbers of any length.
        whole = []
        for place, count in zip(places, counts, strict=True):
            all_counts = math.lcm(*count[rows])
            weights = np.array([all_counts // n if n else 0 for n in count[rows]], object)
            whole.append(place[rows][:, there].astype(int).astype(object) * weights[:, None])
        a, b = whole
        values = ROWS * (a * b).sum(axis=0) - a.sum(axis=0) * b.sum(axis=0)
        order = {value: at for at, value in enumerate(sorted(set(values)))}
        out[last, there] = [order[value] for value in values]
        tied += len(values) - len(order)
    return ranked(pd.DataFrame(out)), tied


@pytest.mark.parametrize("make", [generated, real])
def test_ranks_of_covariances_of_ranks_are_exact(make, tmp_path: Path) -> None:
    fields = make()
    file = tmp_path / "factors.toml"
    file.write_text('[factors]\ncov = "rank(covariance(rank(close), rank(volume), 5))"\n')
    found = compute(file, fields, tmp_path)["cov"]
    expected, tied = exact(fields["close"], fields["volume"])
    assert tied > 0.05 * (~np.isnan(expected)).sum(), "there are ties to be kept"
    np.testing.assert_array_equal(found, expected)
    panel = Panel(fields)
    pandas = rank(covariance(rank(panel.close), rank(panel.volume), ROWS)).of(Computing())
    apart = np.abs(pandas - expected) > 1e-9
    print(f"pandas differs in {apart.sum() / (~np.isnan(expected)).sum():.4f} of the cells")
