"""Whether two engines gave the same factors: the last rows of each, cell by cell."""

from __future__ import annotations

from bench.case import Bench
from bench.side import Side

ROWS = 100
TOLERANCE = 1e-6
CALL_LIMIT_S = 600.0


def shares(bench: Bench, sides: list[Side], job: str) -> dict[str, float]:
    """By factor: the share of cells, of those that both have, in which they agree.

    Only those: KunQuant's alphas make 0 of what is missing in most correlations.
    """
    import numpy as np

    paths = []
    for side in sides:
        path = bench.tmp / f"{side.kind.replace(' ', '-')}-tail.npz"
        side.call("tail", job=job, rows=ROWS, path=str(path), limit_s=CALL_LIMIT_S)
        paths.append(path)
    ours, theirs = (np.load(path) for path in paths)
    assert set(ours.files) == set(theirs.files), set(ours.files) ^ set(theirs.files)
    found = {}
    for name in ours.files:
        a, b = ours[name], theirs[name]
        there = ~(np.isnan(a) | np.isnan(b))
        same = np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE)
        found[name] = float((same & there).sum() / there.sum() if there.any() else 0.0)
    for path in paths:
        path.unlink()
    return found


def said(found: dict[str, float]) -> str:
    """In words, for a row."""
    good = sum(share > 0.99 for share in found.values())
    return f"{good} of {len(found)} agree in 99 % of the cells"
