"""Everything that a run found out: what the terminal and the report show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from demo.audit import Audit
from demo.crew import Record
from demo.factors import Factor, Windows
from demo.ic import Matrix, Summary
from demo.load import Data

if TYPE_CHECKING:
    from demo.alphas import Alphas


@dataclass(frozen=True)
class Check:
    """A claim that was tried, and whether it held."""

    claim: str
    held: bool
    facts: str = ""


@dataclass(frozen=True)
class Put:
    """The one load into the pool: what was said, and what it took."""

    command: str
    wall_s: float
    cpu_s: float
    n_rows: int
    source_bytes: int
    pool_bytes: int
    """What the run directory took on the file system afterwards."""

    @property
    def rows_per_s(self) -> float:
        """Rows of the table, by the time from start to end of the command."""
        return self.n_rows / self.wall_s


@dataclass(frozen=True)
class Verdict:
    """What one factor foretold. `quantiles`: shape (5,), at the longest horizon."""

    factor: Factor
    summaries: dict[int, Summary]
    quantiles: Matrix


@dataclass
class Outcome:
    """One run. `own`: records of the same job without the pool, None where not asked for."""

    data: Data
    audit: Audit
    windows: Windows
    columns: dict[str, str]
    put: Put
    pooled: list[Record]
    own: list[Record] | None
    skipped: list[Factor]
    pool_peak_bytes: int
    daemon_own_bytes: int
    verdicts: list[Verdict] = field(default_factory=list)
    dates: NDArray[np.datetime64] | None = None
    alphas: Alphas | None = None
    checks: list[Check] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    wall_s: float = 0.0
    compute_s: float = 0.0
    """From 'all begin' to the last stored result, with the pool."""

    @property
    def victim(self) -> Record | None:
        """The process that was killed."""
        return next((record for record in self.pooled if record.killed_at), None)

    @property
    def lost(self) -> bool:
        """Whether any claim did not hold."""
        return not all(check.held for check in self.checks)
