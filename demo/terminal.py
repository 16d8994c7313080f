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


def _checks(outcome: Outcome) -> str:
    lines = []
    for check in outcome.checks:
        mark = paint("✓", "32") if check.held else paint("✗", "31;1")
        facts = paint(f"  ({check.facts})", "2") if check.facts else ""
        lines.append(f"  {mark} {check.claim}{facts}")
    return "\n".join(lines)
