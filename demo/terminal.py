"""What a run shows on the terminal: aligned tables, colour only where someone looks."""

from __future__ import annotations

import math
import os
import sys
import textwrap

from demo.memory import MIB
from demo.outcome import Outcome

WIDTH = 92
_COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def paint(text: str, code: str) -> str:
    """Text in a colour (an SGR code such as "32"), plain where nobody looks."""
    return f"\x1b[{code}m{text}\x1b[0m" if _COLOUR and text else text


def say(text: str) -> None:
    """A step begins."""
    first, _, rest = text.partition("\n")
    print(f"\n{paint('▸', '36')} {paint(first, '1')}", flush=True)
    if rest:
        print(paint(rest, "2"), flush=True)


def table(rows: list[list[str]], head: list[str], left: tuple[int, ...] = (0,)) -> str:
    """Columns as wide as they need; those of `left` to the left, numbers to the right."""
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [cell.ljust(width) if at in left else cell.rjust(width)
                 for at, (cell, width) in enumerate(zip(row, widths, strict=True))]
        return "  " + "  ".join(cells).rstrip()

    rule = "  " + "  ".join("─" * width for width in widths)
    return "\n".join([paint(line(head), "2"), paint(rule, "2"), *map(line, rows)])


def number(value: float, digits: int = 3, sign: bool = True) -> str:
    """A figure with its sign, or a dash where there is none."""
    if not math.isfinite(value):
        return "–"
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def show(outcome: Outcome) -> None:
    """All sections, in the order of the report."""
    for title, body in (("load", _load(outcome)), ("bad rows", _bad_rows(outcome)),
                        ("own memory of each process", _memory(outcome)),
                        ("information coefficients", _coefficients(outcome)),
                        *_alphas(outcome),
                        ("nothing lost", _checks(outcome))):
        print(f"\n{paint(title, '1;36')}\n{body}", flush=True)


def _note(text: str) -> str:
    lines = textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(paint(line, "2") for line in lines)


def _load(outcome: Outcome) -> str:
    found, put = outcome.audit, outcome.put
    lines = [f"  {put.n_rows:,} rows · {found.n_tickers} tickers · {found.n_dates:,} dates, "
             f"{found.first} to {found.last}",
             f"  once, into the pool     {put.wall_s:6.2f} s   {put.rows_per_s / 1e6:5.2f} M rows/s"
             f"   {put.cpu_s:6.2f} CPU s   {put.pool_bytes / MIB:6.1f} MiB in the pool"]
    if outcome.own:
        walls = [record.steps["holding"].at - record.steps["began"].at for record in outcome.own]
        cpu_s = sum(record.steps["holding"].cpu_s - record.steps["began"].cpu_s
                    for record in outcome.own)
        rate = put.n_rows / max(walls) / 1e6
        lines.append(f"  by each process itself  {max(walls):6.2f} s   {rate:5.2f} M rows/s   "
                     f"{cpu_s:6.2f} CPU s   ({len(walls)} processes at once)")
    return "\n".join(lines)


def _bad_rows(outcome: Outcome) -> str:
    found = outcome.audit.findings
    body = table([[finding.what, f"{finding.count:,}", finding.treatment] for finding in found],
                 ["what", "count", "the factors"], left=(0, 2)) if found else "  none found"
    return f"{body}\n{_note(outcome.data.caveat)}"


def _memory(outcome: Outcome) -> str:
    own = {record.task.factor: record for record in outcome.own or []}
    rows = []
    for record in outcome.pooled:
        if not record.done:
            continue
        row = [record.task.factor, _mib(record.own("ready"))]
        row += [_mib(record.own("holding") - record.own("ready")),
                _mib(record.page_tables("holding")), _mib(record.own("computed"))]
        if outcome.own:
            other = own[record.task.factor]
            row += [_mib(other.own("holding") - other.own("ready")), _mib(other.own("computed"))]
        rows.append(row)
    head = ["MiB", "libraries", "+ table", "page tables", "computed"]
    head += ["│ own copy: + table", "computed"] if outcome.own else []
    body = table(rows, head)
    done = [record for record in outcome.pooled if record.done]
    total = sum(record.own("holding") for record in done)
    total += outcome.put.pool_bytes + outcome.daemon_own_bytes
    line = (f"  all together, holding the table: {total / MIB:,.0f} MiB with the pool "
            f"({outcome.put.pool_bytes / MIB:,.0f}) and its daemon "
            f"({outcome.daemon_own_bytes / MIB:,.0f})")
    if outcome.own:
        without = sum(record.own("holding") for record in outcome.own)
        line += f", {without / MIB:,.0f} MiB with own copies"
    note = _note("Private pages and page tables, by the kernel (smaps_rollup, VmPTE), after "
                 "touching every page of the table. The last process ran nearly alone: pages of "
                 "libraries that the others shared were its own.")
    return f"{body}\n{line}\n{note}"


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / MIB:.1f}"


def _coefficients(outcome: Outcome) -> str:
    horizons = list(outcome.verdicts[0].summaries) if outcome.verdicts else []
    head = ["factor"]
    for horizon in horizons:
        head += [f"IC {horizon}d", "std", "ICIR", "t", "dates"]
    rows = []
    for verdict in outcome.verdicts:
        row = [verdict.factor.name]
        for summary in verdict.summaries.values():
            row += [number(summary.mean, 4), number(summary.std, 3, False),
                    number(summary.icir, 2), number(summary.t_apart, 2),
                    f"{summary.n_dates:,}/{summary.n_apart}"]
        rows.append(row)
    notes = ("IC: mean over the dates; Spearman per date, signal at close t, traded at close t+1. "
             "dates: all / those without overlapping returns, on which t rests (a t over all "
             "dates would be optimistic). Of so many figures some pass 2 by chance.")
    skipped = [f"\n  not computed, for want of a column: {factor.name}"
               for factor in outcome.skipped]
    return f"{table(rows, head)}\n{_note(notes)}{''.join(skipped)}"


SHOWN_ALPHAS = 12
"""Rows of the table; the report has all."""


def _alphas(outcome: Outcome) -> list[tuple[str, str]]:
    found = outcome.alphas
    if found is None:
        return []
    plan = found.plan
    where = f"{found.result_bytes / MIB:,.0f} MiB in the pool" if found.stored else "not kept"
    lines = [
        f"  {found.n_alphas} alphas × {found.n_dates:,} dates × {found.n_tickers} tickers"
        f"   {found.wall_s:5.2f} s   {found.values_per_s / 1e6:5.1f} M values/s"
        f"   {found.cpu_s:5.2f} CPU s   {where}",
        f"  memory of its own while it computes: {(found.own_peak - found.own_before) / MIB:.0f} MiB "
        f"more than before ({found.own_before / MIB:.0f})",
        f"  plan: {plan['operators']:,} operators in {plan['phases']} phases, all parts that alphas "
        f"share once; windows keep {plan['memory'] / MIB:.0f} MiB, {plan['warm_up']} rows back",
    ]
    horizon = max(row["horizon"] for row in found.rows) if found.rows else 0
    quoted = found.quoted(horizon)
    best = sorted(quoted, key=lambda row: -abs(row["t_newey_west"] or 0))[:SHOWN_ALPHAS]
    rows = [[row["factor"], number(row["mean"], 4), number(row["icir"] or math.nan, 2),
             number(row["t_newey_west"] or math.nan, 2), f"{row['coverage']:.0%}",
             f"{row['turnover'] or 0:.0%}", number(1e4 * (row["spread"] or 0), 1),
             row["stand_ins"]] for row in best]
    head = [f"{len(best)} of {len(quoted)}", f"IC {horizon}d", "ICIR", "t (NW)", "coverage",
            "turnover", "spread bp", "stands in"]
    body = "\n".join(lines)
    if rows:
        body += "\n" + table(rows, head, left=(0, 7))
    return [("the 101 formulaic alphas", f"{body}\n{_note(_SHOWN + alphas_notes(outcome))}")]


_SHOWN = "Those of the largest |t| are shown: of so many some are large by chance. "


def alphas_notes(outcome: Outcome) -> str:
    """What has to be said beside the figures."""
    from demo.alphas import STAND_INS

    found = outcome.alphas
    assert found is not None
    made_up = len({row["factor"] for row in found.rows if row["made_up"]})
    parts = [
        "Kakushadze (2016); WorldQuant retains rights in the formulae. t after Newey and West; "
        "turnover of the lowest and the highest fifth, in as many days as the horizon has; spread "
        "is their difference in return, without costs."]
    for name, formula in found.stand_ins.items():
        parts.append(f"{name} is taken as {formula}.")
    if made_up:
        told = "; ".join(f"{name}: {text}" for name, text in STAND_INS.items())
        parts.append(f"{made_up} alphas read what daily bars do not have, and something made up "
                     f"stands in ({told}): they are computed, and their ICs are not quoted.")
    if found.left_out:
        parts.append(f"{len(found.left_out)} are left out, for want of a field.")
    if found.silent:
        parts.append(f"{len(found.silent)} have no value: they look back further than the history.")
    return " ".join(parts)


def _checks(outcome: Outcome) -> str:
    lines = []
    for check in outcome.checks:
        mark = paint("✓", "32") if check.held else paint("✗", "31;1")
        facts = paint(f"  ({check.facts})", "2") if check.facts else ""
        lines.append(f"  {mark} {check.claim}{facts}")
    return "\n".join(lines)
