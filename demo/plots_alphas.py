"""The report's figures of the alphas."""

from __future__ import annotations

from typing import Any

from demo import plots
from demo.alphas import Alphas


def coefficients(found: Alphas, horizon: int) -> str:
    """Mean ICs in order, with two standard errors (Newey and West)."""
    rows = sorted(found.quoted(horizon), key=lambda row: float(row["mean"]))

    def draw() -> Any:
        figure, axis = plots.plt.subplots(figsize=(plots.WIDTH_IN, 3.1))
        means = [row["mean"] for row in rows]
        errors = [abs(row["mean"] / row["t_newey_west"]) if row["t_newey_west"] else 0.0
                  for row in rows]
        colours = [plots.POOL if abs(row["t_newey_west"] or 0) > 2 else plots.LIBRARIES
                   for row in rows]
        places = range(len(rows))
        axis.bar(places, means, color=colours, width=0.8)
        axis.errorbar(places, means, yerr=[2 * error for error in errors], fmt="none",
                      ecolor=plots.MUTED, elinewidth=0.8)
        axis.axhline(0, color=plots.INK, linewidth=0.8)
        axis.set_xticks(places, [row["factor"].removeprefix("alpha") for row in rows],
                        rotation=90, fontsize=7)
        axis.grid(axis="x", visible=False)
        axis.set_title(f"mean IC, {horizon} days ahead, and two standard errors; dark: |t| > 2")
        return figure

    return plots.drawn("alphas", draw)


def costs(found: Alphas, horizon: int) -> str:
    """What an alpha foretells beside what it trades."""
    rows = [row for row in found.quoted(horizon) if row["turnover"] is not None]

    def draw() -> Any:
        figure, axis = plots.plt.subplots(figsize=(plots.WIDTH_IN, 3.1))
        for row in rows:
            strong = abs(row["t_newey_west"] or 0) > 2
            axis.scatter(row["turnover"], abs(row["icir"] or 0), s=22,
                         color=plots.POOL if strong else plots.LIBRARIES)
            if strong:
                axis.annotate(row["factor"].removeprefix("alpha"),
                              (row["turnover"], abs(row["icir"] or 0)), fontsize=8,
                              xytext=(4, 2), textcoords="offset points", color=plots.MUTED)
        axis.set_xlabel(f"turnover of the lowest and the highest fifth in {horizon} days")
        axis.xaxis.set_major_formatter(plots.matplotlib.ticker.PercentFormatter(1.0, decimals=0))
        axis.set_title("|ICIR| beside turnover")
        return figure

    return plots.drawn("alphas-costs", draw)
