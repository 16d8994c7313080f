#!/usr/bin/env python3
"""The main job on real data: load daily bars once, let eight processes compute on them in
place, kill one of them on the way, lose nothing, and say what the factors were worth."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

REPORT = ROOT / "demo" / "report.html"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
HELP = """
what happens:
  1. `cenote serve` starts a pool of this demo's own, in a temporary directory
  2. `cenote put DATA --name prices` loads the files, once
  3. eight processes read `prices` in place; each computes one factor with Polars or pandas
     and puts it back as `factor.NAME`. One is killed (SIGKILL) with half its result written;
     another process does its work again
  4. the same eight factors without the pool: each process loads a copy of its own
  5. information coefficients of all factors, from the pool
  6. the 101 formulaic alphas over the same prices, in one pass, into the pool as `alphas`: what
     they foretell, what they trade, what it took. One that is nearly the same for all tickers
     is no factor, and fails the demo
  7. a report with plots
  The pool is gone at the end, Ctrl-C included.

data:
  A folder or a file: CSV, Parquet, gzip or zip, one table or one file a ticker. Needed are a
  date, a ticker (or symbol, name) and a close; open, high, low and volume where there are.
  Without --data: ../shared/data/sp500_daily beside the checkout if it is there, else prices
  that two PyPI packages carry (scripts/setup prices installs them).

examples:
  make demo                              with all set-up
  make demo DATA=~/prices                your own data
  .venv/bin/python demo/run.py --data bars.parquet --report /tmp/bars.html
  .venv/bin/python demo/run.py --no-compare      faster: without step 4

reading the memory table (MiB of each process):
  own memory is private pages and page tables, as the kernel counts them. "+ table" is what
  holding the table adds once every page has been touched: with the pool next to nothing,
  without it a copy. "computed" includes the library's working memory and the result.

exit status: 0 done and nothing lost, 1 something was lost or a step failed, 2 wrong usage,
130 interrupted.
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="demo/run.py", description=__doc__, epilog=HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="PATH", help="daily bars: a folder or a file")
    parser.add_argument("--report", metavar="FILE", type=Path, default=REPORT,
                        help="where the report goes (demo/report.html)")
    parser.add_argument("--no-compare", action="store_true",
                        help="leave out the same job without the pool")
    given = parser.parse_args()
    for number in ENDING:
        signal.signal(number, _interrupted)
    try:
        return _job(given)
    except KeyboardInterrupt:
        print("\ndemo: interrupted; the pool and its processes are gone", file=sys.stderr)
        return 130
    except BrokenPipeError:  # Whoever read the output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _interrupted(*_: object) -> None:
    """The first signal ends the job, and those that follow do not disturb its cleaning up."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _job(given: argparse.Namespace) -> int:
    try:
        import cenote  # noqa: F401
        import matplotlib  # noqa: F401
        import pandas  # noqa: F401

        from demo import job, load, report, served, terminal
        from demo.crew import CrewFault
    except ModuleNotFoundError as error:
        print(f"demo: {error}\ndemo: run `make demo`, which sets everything up",
              file=sys.stderr)
        return 1
    try:
        data = load.choose(given.data)
        outcome = job.run(data, terminal.say, compare=not given.no_compare)
        terminal.say("report")
        report.write(outcome, given.report)
    except BrokenPipeError:
        raise
    except (load.DataError, served.PoolFault, job.JobFault, CrewFault, cenote.CenoteError,
            OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    terminal.show(outcome)
    print(f"\n  {outcome.wall_s:.1f} s in all; the report: {given.report}")
    if outcome.lost:
        print("demo: something was lost, see the lines with ✗", file=sys.stderr)
    return 1 if outcome.lost else 0


if __name__ == "__main__":
    sys.exit(main())
