"""Lease a chunk and read its first byte, in Rust, a scanner running.

The figures come from `cargo run --release -p cenote --example lease_bench`, which prints
one JSON object a line with at least `metric`, `ours` and `unit`, and, where it has them,
`peer`, `theirs`, `p99` and further facts, which go into `setup`.
"""

from __future__ import annotations

import json
import shutil
import subprocess

from bench.case import Bench
from bench.side import ROOT, SideFailed, SideUnavailable

GOAL = "≤ 30 ns hot, ≤ 250 ns cold in a board of 10^6"
LIMIT_S = 900
EXAMPLE = "crates/cenote/examples/lease_bench.rs"
EXAMPLE_LIMIT_S = 300
COMMAND = ["cargo", "run", "--quiet", "--release", "-p", "cenote", "--example", "lease_bench"]


def run(bench: Bench) -> None:
    if shutil.which("cargo") is None:
        raise SideUnavailable("lease: no cargo on PATH; install Rust")
    if not (ROOT / EXAMPLE).exists() and not (ROOT / EXAMPLE[:-3]).is_dir():
        raise SideUnavailable(f"lease: no {EXAMPLE}")
    bench.say("building")
    # Built apart, so that the compiler is gone when the clock starts.
    build = ["cargo", "build", *COMMAND[2:]]
    subprocess.run(build, cwd=ROOT, check=True, timeout=LIMIT_S - EXAMPLE_LIMIT_S)
    done = subprocess.run(COMMAND, cwd=ROOT, timeout=EXAMPLE_LIMIT_S, text=True,
                          stdout=subprocess.PIPE)
    if done.returncode:
        raise SideFailed(f"lease_bench ended with status {done.returncode}")
    for line in filter(None, map(str.strip, done.stdout.splitlines())):
        figure = json.loads(line)
        for known in ("case", "ratio"):
            figure.pop(known, None)
        nested = figure.pop("setup", {})
        facts = nested if isinstance(nested, dict) else {"note": nested}
        if "p99" in figure:
            figure["p99_ours"] = figure.pop("p99")
        bench.row(figure.pop("metric"), figure.pop("ours"), figure.pop("peer", None),
                  figure.pop("theirs", None), unit=figure.pop("unit"), **{**facts, **figure})
