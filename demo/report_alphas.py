"""The report's section of the 101 alphas."""

from __future__ import annotations

from html import escape
from typing import Any

from demo import plots_alphas
from demo.memory import MIB
from demo.outcome import Outcome
from demo.terminal import alphas_notes


def section(outcome: Outcome) -> str:
    """What it took, what the alphas foretell, and all formulas."""
    found = outcome.alphas
    if found is None:
        return ""
    horizon = max((row["horizon"] for row in found.rows), default=0)
    quoted = found.quoted(horizon)
    plan = found.plan
    kept = f"{found.result_bytes / MIB:,.0f} MiB of results went into the pool as they came." \
        if found.stored else "The results were too large for this pool, and were not kept."
    took = (
        f"One process, one pass: {found.n_alphas} alphas over {found.n_dates:,} dates × "
        f"{found.n_tickers} tickers in {found.wall_s:.2f} s ({found.cpu_s:.2f} s of CPU), "
        f"{found.values_per_s / 1e6:.1f} million values a second. {kept} While it computed it had "
        f"{(found.own_peak - found.own_before) / MIB:.0f} MiB of its own more than before. Parts that "
        f"alphas share are computed once: {plan['operators']:,} operators in {plan['phases']} "
        f"phases, which look back {plan['warm_up']} rows and keep {plan['memory'] / MIB:.0f} MiB.")
    figures = plots_alphas.coefficients(found, horizon) + plots_alphas.costs(found, horizon) \
        if quoted else "<p>No alpha has an IC: the history is too short.</p>"
    return (
        f"<section>\n<h2>The 101 formulaic alphas</h2>\n<p>{escape(took)}</p>"
        f"<p class='caveat'>{escape(alphas_notes(outcome))}</p>"
        f"<p>Of {len(quoted)} figures some pass |t| = 2 by chance.</p>"
        f"<p class='caveat'>{escape(outcome.data.caveat)}</p>{figures}"
        f"<div class='scroll'><table class='tight'><tr><th class='text'>alpha</th>"
        f"<th>IC {horizon}d</th><th>std</th><th>ICIR</th><th>t (NW)</th><th>coverage</th>"
        "<th>turnover</th><th>spread bp</th><th class='text'>stands in</th>"
        "<th class='text'>formula</th></tr>"
        + "".join(_row(row) for row in found.rows if row["horizon"] == horizon)
        + "</table></div></section>\n")


def _row(row: dict[str, Any]) -> str:
    if row["made_up"]:
        cells = ["not quoted", "", "", ""]
    else:
        cells = [_number(row["mean"], 4), _number(row["std"], 3), _number(row["icir"], 2),
                 _number(row["t_newey_west"], 2)]
    spread = None if row["made_up"] or row["spread"] is None else 1e4 * row["spread"]
    cells += [_share(row["coverage"]), _share(row["turnover"]), _number(spread, 1)]
    numbers = "".join(f"<td>{cell}</td>" for cell in cells)
    stands_in = ", ".join(part for part in (row["stand_ins"], row["made_up"]) if part)
    return (f"<tr><td class='text'>{escape(row['factor'])}</td>{numbers}"
            f"<td class='text quiet'>{escape(stands_in)}</td>"
            f"<td class='text'><code>{escape(row['formula'])}</code></td></tr>")


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:+.{digits}f}".replace("-", "−")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
