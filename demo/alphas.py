"""The second part of the job: the 101 formulaic alphas over the same prices, in one pass.

A process of its own reads the bars in the pool, makes a panel of them (time × ticker matrices),
computes all alphas into the pool as they stream, and judges them. It measures itself: time of
the clock and of the CPU, and the most memory of its own while it computes.

The alphas are Kakushadze's, "101 Formulaic Alphas" (2016), arXiv:1601.00991; WorldQuant retains
rights in the formulae. Daily bars lack some of what they read:

* `vwap` and dollars traded: Cenote's stand-ins, the typical price and close × volume.
* Groups (sector, industry, subindustry), which 18 alphas neutralise, and market capitalisation,
  which one reads: `STAND_INS` says what is taken. That shows that these alphas run, not what they
  are worth, so their ICs are not quoted.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any

from demo.load import ROOT
from demo.outcome import Check

PANEL, RESULT = "panel", "alphas"
"""Frames of the pool: what is read, and what comes of it."""
HORIZONS_DAYS = (1, 5)
NAMES_MIN = 5
JUDGED_NAMES = 100
"""With fewer tickers chance makes all of a date's values equal: nothing is said of constancy."""
STAND_INS = {
    "subindustry": "66 groups by the ticker's place in the alphabet",
    "industry": "three of these to one: 22",
    "sector": "two of those to one: 11",
    "cap": "mean dollars traded a day over 60 days",
}
LIMIT_S = 600
ALONE = ("alpha001", "alpha012", "alpha101")
"""Computed once more, each by itself."""


class AlphasFault(Exception):
    """The process failed; the message says what it said."""


@dataclass(frozen=True)
class Request:
    """What the process is to do. `columns`: which column of the bars holds what."""

    address: str
    columns: dict[str, str]
    in_order: bool


@dataclass(frozen=True)
class Alphas:
    """What the process found.

    `rows`: of each alpha and horizon, the columns of `cenote.IC`, with `formula` and, for those
    that read one of `STAND_INS`, its name in `made_up`. Memory is in bytes, its own (RssAnon).
    """

    n_dates: int
    n_tickers: int
    n_alphas: int
    stored: bool
    wall_s: float
    cpu_s: float
    judge_s: float
    own_before: int
    own_peak: int
    result_bytes: int
    plan: dict[str, Any]
    stand_ins: dict[str, str]
    left_out: dict[str, list[str]]
    same_alone: bool
    rows: list[dict[str, Any]] = field(default_factory=list)

    @property
    def values_per_s(self) -> float:
        """Values of all alphas, by the time of the clock."""
        return self.n_alphas * self.n_dates * self.n_tickers / self.wall_s

    def quoted(self, horizon: int) -> list[dict[str, Any]]:
        """Rows of a horizon whose IC may be quoted: no made-up group in it, and an IC at all."""
        return [row for row in self.rows if row["horizon"] == horizon and not row["made_up"]
                and row["mean"] is not None]

    @property
    def constant(self) -> list[str]:
        """Alphas that are nearly the same for all tickers, where there are dates to tell by."""
        return sorted({row["factor"] for row in self.rows
                       if row["nearly_constant"] and row["coverage"]})

    @property
    def silent(self) -> list[str]:
        """Alphas without a single value: the history is shorter than what they look back."""
        return sorted({row["factor"] for row in self.rows if not row["coverage"]})

    def checks(self) -> list[Check]:
        """What must hold of them."""
        found = [Check("an alpha among a hundred is, bit for bit, what it is by itself",
                       self.same_alone, ", ".join(ALONE))]
        if self.n_tickers >= JUDGED_NAMES:
            facts = ", ".join(self.constant) or f"{self.n_alphas - len(self.silent)} looked at"
            found.append(Check("no alpha is nearly the same for all tickers", not self.constant,
                               facts))
        return found


def run(request: Request) -> Alphas:
    """Runs the process, which is gone when this returns or raises. Raises: AlphasFault."""
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.alphas_worker", json.dumps(asdict(request))], cwd=ROOT,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise AlphasFault(f"the alphas took more than {LIMIT_S} s") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode:
        said = err.strip().splitlines()
        raise AlphasFault(f"the alphas: {said[-1] if said else process.returncode}")
    return Alphas(**json.loads(out))
