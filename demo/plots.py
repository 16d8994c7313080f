"""The report's figures, each as a piece of SVG to be set into a page.

Text stays text and takes the page's font; colours come from one palette.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from typing import Any

import matplotlib
import matplotlib.dates
import matplotlib.ticker
import numpy as np

from demo.crew import Record
from demo.ic import QUANTILES
from demo.memory import MIB
from demo.outcome import Outcome

matplotlib.use("svg")

from matplotlib import pyplot as plt  # noqa: E402  (the back end is chosen above)
from matplotlib.patches import Rectangle  # noqa: E402

INK, MUTED, FAINT, PAPER = "#14323a", "#647980", "#dbe5e6", "#ffffff"
POOL, OWN, LIBRARIES, WORK, KILLED = "#0b8793", "#d98e4a", "#cfdadc", "#8fc7cc", "#c0392b"
FIFTHS = ["#d98e4a", "#e8bf95", "#cfdadc", "#7dbcc2", "#0b8793"]
STYLE: Any = {
    "svg.fonttype": "none", "font.size": 10, "text.color": INK, "axes.labelcolor": MUTED,
    "axes.edgecolor": FAINT, "axes.titlecolor": INK, "axes.titlesize": 10.5,
    "axes.titleweight": "bold", "axes.titlelocation": "left", "axes.titlepad": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "axes.axisbelow": True, "axes.grid": True, "grid.color": "#eaf0f1", "grid.linewidth": 1,
    "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK, "xtick.major.size": 0, "ytick.major.size": 0,
    "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
    "legend.frameon": False, "legend.labelcolor": INK, "legend.fontsize": 9.5,
}
WIDTH_IN = 10.4


def drawn(name: str, draw: Callable[[], Any]) -> str:
    """Draws in the report's style. Ids begin with the name, so that figures share a page."""
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = draw()
        text = io.StringIO()
        figure.savefig(text, format="svg", bbox_inches="tight", pad_inches=0.04,
                       metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        plt.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg"):]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;\"]*", "font-family: var(--sans)", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    for id_ in set(re.findall(r'id="([^"]+)"', svg)):
        svg = re.sub(rf'(id="|href="#|url\(#){re.escape(id_)}(?=["\)])', rf"\g<1>{name}-{id_}", svg)
    return svg


# -- what happened


def timeline(outcome: Outcome) -> str:
    """One bar a process: libraries, reading, computing, storing; where it was killed."""
    def draw() -> Any:
        sides = [("with the pool", outcome.pooled, POOL)]
        if outcome.own:
            sides.append(("each its own copy", outcome.own, OWN))
        heights = [len(records) for _, records, _ in sides]
        figure, axes = plt.subplots(
            len(sides), 1, figsize=(WIDTH_IN, 0.27 * sum(heights) + 0.75 * len(sides)),
            gridspec_kw={"height_ratios": heights, "hspace": 0.28}, squeeze=False, sharex=True)
        for axis, (title, records, colour) in zip(axes[:, 0], sides, strict=True):
            start = min(record.started_at for record in records)
            for row, record in enumerate(records):
                _bar_of_life(axis, row, record, start, colour)
            axis.set_yticks(range(len(records)), [_life_name(record) for record in records])
            axis.set_ylim(len(records) - 0.4, -0.6)
            axis.grid(axis="y", visible=False)
            axis.set_title(title)
        axes[-1, 0].set_xlabel("seconds since the first process was started")
        marks = [(LIBRARIES, "starting, libraries"), (POOL, "reading, in place")]
        marks += [(OWN, "reading files into own memory")] if outcome.own else []
        marks += [(WORK, "computing"), (INK, "storing the result")]
        swatches = [Rectangle((0, 0), 1, 1, color=colour) for colour, _ in marks]
        figure.legend(swatches, [text for _, text in marks], loc="lower center", ncol=len(marks),
                      bbox_to_anchor=(0.5, -0.035), handlelength=1, handleheight=1)
        return figure

    return drawn("timeline", draw)


def _life_name(record: Record) -> str:
    return f"{record.task.factor}, again" if record.replaces else record.task.factor


def _bar_of_life(axis: Any, row: int, record: Record, start: float, read_colour: str) -> None:
    at = {name: step.at - start for name, step in record.steps.items()}
    at["started"] = record.started_at - start
    for begin, end, colour in (("started", "ready", LIBRARIES), ("began", "holding", read_colour),
                               ("holding", "computed", WORK), ("computed", "stored", INK)):
        if begin in at and end in at:
            # A sliver stays visible: reading in place takes no time worth drawing.
            width = max(at[end] - at[begin], 0.015)
            axis.barh(row, width, left=at[begin], height=0.62, color=colour)
    if record.killed_at:
        killed = record.killed_at - start
        axis.barh(row, killed - at["computed"], left=at["computed"], height=0.62, color=INK)
        axis.plot(killed, row, marker="X", markersize=9, color=KILLED,
                  markeredgecolor=PAPER, markeredgewidth=0.8, zorder=3)
        axis.annotate("killed, half written", (killed, row), xytext=(9, 0), color=KILLED,
                      textcoords="offset points", va="center", fontsize=9.5)


# -- memory and load


def memory_bars(outcome: Outcome) -> str:
    """Left: what holding the table adds to each process. Right: all processes together."""
    def draw() -> Any:
        figure, (left, right) = plt.subplots(
            1, 2, figsize=(WIDTH_IN, 3.7), gridspec_kw={"width_ratios": [1.25, 1], "wspace": 0.38})
        done = [record for record in outcome.pooled if record.done]
        sides = [("in the pool", done, POOL)]
        if outcome.own:
            order = {record.task.factor: record for record in outcome.own}
            sides.append(("own copy", [order[r.task.factor] for r in done], OWN))
        _table_bars(left, sides)
        _total_bars(right, sides, outcome)
        return figure

    return drawn("memory", draw)


def _table_bars(axis: Any, sides: list[tuple[str, list[Record], str]]) -> None:
    height = 0.74 / len(sides)
    for number, (title, records, colour) in enumerate(sides):
        added = [(record.own("holding") - record.own("ready")) / MIB for record in records]
        places = np.arange(len(records)) + (number - (len(sides) - 1) / 2) * height
        axis.barh(places, added, height=height, color=colour, label=title)
        for place, value in zip(places, added, strict=True):
            axis.annotate(f"{value:.1f}", (max(value, 0), place), xytext=(4, 0), va="center",
                          textcoords="offset points", fontsize=8.5, color=MUTED)
    axis.set_yticks(range(len(sides[0][1])), [record.task.factor for record in sides[0][1]])
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)
    axis.set_xlabel("MiB of own memory")
    axis.set_title("what holding the table adds to each process", pad=26)
    axis.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.985), ncol=2, handlelength=1,
                handleheight=1, borderaxespad=0)


def _total_bars(axis: Any, sides: list[tuple[str, list[Record], str]], outcome: Outcome) -> None:
    top = 0.0
    for number, (_, records, colour) in enumerate(sides):
        libraries = sum(record.own("ready") for record in records) / MIB
        tables = sum(record.own("holding") - record.own("ready") for record in records) / MIB
        pieces = [(libraries, LIBRARIES), (tables, colour)]
        if number == 0:
            pieces.append(((outcome.put.pool_bytes + outcome.daemon_own_bytes) / MIB, "#075c66"))
        bottom = 0.0
        for value, piece_colour in pieces:
            axis.bar(number, value, bottom=bottom, width=0.5, color=piece_colour)
            if value > 25:
                axis.text(number, bottom + value / 2, f"{value:,.0f}", ha="center", va="center",
                          fontsize=9, color=INK if piece_colour == LIBRARIES else PAPER)
            bottom += value
        axis.text(number, bottom, f"{bottom:,.0f} MiB\n", ha="center", va="center", fontsize=10,
                  fontweight="bold")
        top = max(top, bottom)
    labels = [f"{len(sides[0][1])} processes\nand the pool", "the same,\nown copies"]
    axis.set_xticks(range(len(sides)), labels[: len(sides)], color=INK)
    axis.set_xlim(-0.6, 1.6)
    axis.set_ylim(0, top * 1.1)
    axis.tick_params(axis="y", labelcolor=MUTED)
    axis.grid(axis="x", visible=False)
    axis.set_title("all of them together, table held", pad=26)
    swatches = [Rectangle((0, 0), 1, 1, color=colour)
                for colour in (LIBRARIES, "#075c66", OWN)]
    axis.legend(swatches, ["libraries", "pool, daemon", "copies"], loc="lower left", ncol=3,
                bbox_to_anchor=(-0.03, 0.985), handlelength=1, handleheight=1, borderaxespad=0,
                columnspacing=1.2)


def load_bars(outcome: Outcome) -> str:
    """What it costs to have the table: once into the pool, or once a process."""
    def draw() -> Any:
        figure, (left, right) = plt.subplots(1, 2, figsize=(WIDTH_IN, 1.75), sharey=True,
                                             gridspec_kw={"wspace": 0.12})
        rows = [("cenote put, once", outcome.put.wall_s, outcome.put.cpu_s, "#075c66"),
                ("then open it, all processes", *_reading(outcome.pooled), POOL)]
        if outcome.own:
            rows.append(("own copy, all processes", *_reading(outcome.own), OWN))
        for axis, which, title in ((left, 1, "seconds until the table is there"),
                                   (right, 2, "CPU seconds spent")):
            values = [float(row[which]) for row in rows]
            axis.barh(range(len(rows)), values, height=0.62, color=[row[3] for row in rows])
            for place, value in enumerate(values):
                axis.annotate(f"{value:.2f}", (value, place), xytext=(5, 0), va="center",
                              textcoords="offset points", fontsize=9, color=MUTED)
            axis.set_xlim(0, max(values) * 1.12)
            axis.set_title(title)
            axis.grid(axis="y", visible=False)
        left.set_yticks(range(len(rows)), [row[0] for row in rows])
        left.invert_yaxis()
        return figure

    return drawn("load", draw)


def _reading(records: list[Record]) -> tuple[float, float]:
    """Seconds until the slowest process has the table; CPU seconds of all of them."""
    read = [record for record in records if "holding" in record.steps and not record.replaces]
    wall_s = max(record.steps["holding"].at - record.steps["began"].at for record in read)
    cpu_s = sum(record.steps["holding"].cpu_s - record.steps["began"].cpu_s for record in read)
    return wall_s, cpu_s


# -- the factors


def cumulative_ic(outcome: Outcome, horizon_days: int) -> str:
    """Small multiples: the sum of the ICs so far, each factor before all the others."""
    def draw() -> Any:
        curves = [np.nancumsum(verdict.summaries[horizon_days].series)
                  for verdict in outcome.verdicts]
        known = [np.isfinite(verdict.summaries[horizon_days].series)
                 for verdict in outcome.verdicts]
        figure, axes = _multiples(len(curves), height_in=1.75)
        dates = np.asarray(outcome.dates)
        step = max(1, len(dates) // 160)  # The grey lines are for context only.
        sparse = dates[::step]
        for number, (axis, verdict) in enumerate(zip(axes, outcome.verdicts, strict=False)):
            for other, curve in enumerate(curves):
                if other != number:
                    axis.plot(sparse, curve[::step], color=FAINT, linewidth=0.9)
            curve = np.where(np.cumsum(known[number]) > 0, curves[number], np.nan)
            fine = slice(None, None, max(1, step // 3))
            axis.fill_between(dates[fine], curve[fine], color=POOL, alpha=0.13, linewidth=0)
            axis.plot(dates[fine], curve[fine], color=POOL, linewidth=1.8)
            axis.axhline(0, color="#9fb3b7", linewidth=0.8)
            axis.set_title(verdict.factor.title)
            axis.grid(axis="x", visible=False)
            axis.tick_params(axis="y", labelcolor=MUTED)
            _few_dates(axis)
        return figure

    return drawn("cumulative", draw)


def quantile_bars(outcome: Outcome, horizon_days: int) -> str:
    """Small multiples: mean return of each fifth over that of all, in basis points."""
    def draw() -> Any:
        figure, axes = _multiples(len(outcome.verdicts), height_in=1.5)
        for axis, verdict in zip(axes, outcome.verdicts, strict=False):
            axis.bar(range(1, QUANTILES + 1), 1e4 * verdict.quantiles, color=FIFTHS, width=0.72)
            axis.axhline(0, color="#9fb3b7", linewidth=0.8)
            axis.set_title(verdict.factor.title)
            axis.grid(axis="x", visible=False)
            axis.set_xticks(range(1, QUANTILES + 1), ["low", "2", "3", "4", "high"])
            axis.tick_params(axis="y", labelcolor=MUTED)
        figure.supylabel(f"basis points in {horizon_days} days", fontsize=9.5, color=MUTED, x=0.055)
        return figure

    return drawn("quantiles", draw)


def _multiples(count: int, height_in: float) -> tuple[Any, list[Any]]:
    n_columns = min(4, max(1, count))
    n_rows = -(-count // n_columns) if count else 1
    figure, axes = plt.subplots(n_rows, n_columns, sharex=True, sharey=True, squeeze=False,
                                figsize=(WIDTH_IN, height_in * n_rows),
                                gridspec_kw={"hspace": 0.38, "wspace": 0.1})
    flat = list(axes.ravel())
    for axis in flat[count:]:
        axis.set_visible(False)
    return figure, flat[:count]


def _few_dates(axis: Any) -> None:
    dates: Any = matplotlib.dates
    locator = dates.AutoDateLocator(minticks=2, maxticks=5)
    axis.xaxis.set_major_locator(locator)
    axis.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, show_offset=False))
