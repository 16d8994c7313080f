"""CSV files into one table: 505 small files, six files of quotes, one large file.

Real data from the folder that `$CENOTE_TEST_DATA` names: five years of daily bars of 505
shares, a file a share (30 MB); six files of US equity quotes without a header (66 MB); and
the bars eight times over as one file (237 MB). Ours is a frame in a served pool, put with
`--replace`; the peers' is a table in memory. Files are in the page cache.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from bench.case import Bench
from bench.measure import interleave

GOAL = "≥ 1.0 × the faster of Polars and PyArrow"
LIMIT_S = 400
POOL_BYTES = 4 << 30
ROUNDS = 9
WARMUP = 2
LARGE_TIMES = 8
PEERS = ("polars csv", "pyarrow csv")


def run(bench: Bench) -> None:
    data = Path(os.environ.get("CENOTE_TEST_DATA", ""))
    bars = data / "sp500_daily" / "individual_stocks_5yr.zip"
    quotes = sorted((data / "us_ticks").glob("*_quote.zip"))
    if not bars.is_file() or not quotes:
        bench.skip("CENOTE_TEST_DATA names no folder with sp500_daily and us_ticks")
        return
    files = {"505 files": unpacked([bars], bench.tmp / "bars")}
    files["quotes"] = unpacked(quotes, bench.tmp / "quotes")
    files["one large file"] = [joined(files["505 files"], bench.tmp / "large.csv")]
    for metric, paths in files.items():
        compare(bench, metric, paths, header=metric != "quotes")


def unpacked(archives: list[Path], folder: Path) -> list[str]:
    """The CSV files of some archives, sorted by name."""
    for archive in archives:
        with zipfile.ZipFile(archive) as members:
            names = [name for name in members.namelist() if name.endswith(".csv")]
            members.extractall(folder, [name for name in names if "__MACOSX" not in name])
    return sorted(str(path) for path in folder.rglob("*.csv"))


def joined(paths: list[str], large: Path) -> str:
    """All files below one header, several times over."""
    texts = [Path(path).read_bytes() for path in paths]
    header = texts[0].split(b"\n", 1)[0] + b"\n"
    body = b"".join(text.split(b"\n", 1)[1] for text in texts)
    with large.open("wb") as out:
        out.write(header)
        for _ in range(LARGE_TIMES):
            out.write(body)
    return str(large)


def compare(bench: Bench, metric: str, paths: list[str], header: bool) -> None:
    """Our load beside each peer's, all taking turns."""
    with bench.scope():
        pool = bench.served_pool(POOL_BYTES)
        sides = {"ours": bench.side("cenote csv", address=pool.address)}
        for kind in PEERS:
            peer = bench.peer(kind, [metric])
            if peer is not None:
                sides[kind] = peer
        n_bytes = sum(os.stat(path).st_size for path in paths)
        bench.say(f"{metric}: {len(paths)} files, {n_bytes / 1e6:.0f} MB")
        samples = interleave({
            name: lambda side=side: side.call("load", paths=paths, header=header)
            for name, side in sides.items()
        }, rounds=ROUNDS, warmup=WARMUP)
        digests = {name: side.call("digest") for name, side in sides.items()}
        assert len({tuple(digest) for digest in digests.values()}) == 1, digests
        for kind in PEERS:
            if kind in sides:
                bench.row(metric, samples["ours"], kind, samples[kind], unit="GB/s",
                          better="higher", n_bytes=n_bytes, files=len(paths),
                          rows=digests["ours"][0])
