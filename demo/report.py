"""The report: one page that stands by itself, plots and style inside it."""

from __future__ import annotations

import datetime
import math
from html import escape
from pathlib import Path

from demo import plots, report_alphas
from demo.crew import Record
from demo.memory import MIB
from demo.outcome import Outcome

STYLE = Path(__file__).with_name("report.css")


def write(outcome: Outcome, path: Path) -> None:
    """Writes the page. Raises: OSError where it cannot be written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(outcome), encoding="utf-8")


def page(outcome: Outcome) -> str:
    """The page as HTML: light, no scripts, nothing fetched."""
    horizons = list(outcome.verdicts[0].summaries) if outcome.verdicts else []
    sections = [
        _happened(outcome), _checks(outcome), _memory(outcome), _load(outcome),
        *([_coefficients(outcome, horizons)] if horizons else []),
        report_alphas.section(outcome), _definitions(outcome), _data(outcome), _machine(outcome),
    ]
    title = "Cenote: the main job on real data"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
{_header(outcome)}
<main>
{"".join(sections)}
</main>
</body>
</html>
"""


def _section(title: str, *parts: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{''.join(parts)}\n</section>\n"


def _header(outcome: Outcome) -> str:
    found = outcome.audit
    n_processes = sum(record.done for record in outcome.pooled)
    lead = (f"{escape(outcome.data.title)}: {found.n_tickers} tickers, {found.n_dates:,} dates, "
            f"{found.first} to {found.last}. Loaded once, read in place by {n_processes} "
            "processes at the same time; one of them was killed on the way.")
    return f"""<header><div>
<div class="kicker">Cenote · demo</div>
<h1>One table, {n_processes} processes, no copies</h1>
<p class="lead">{lead}</p>
<div class="figures">{"".join(_figures(outcome))}</div>
</div></header>"""


def _figures(outcome: Outcome) -> list[str]:
    put = outcome.put
    tiles = [
        (f"{put.n_rows:,}", "", "rows, loaded with one command"),
        (f"{put.rows_per_s / 1e6:.2f}", "M rows/s",
         f"load, {put.wall_s:.2f} s from start to end of the command"),
        (f"{_table_mib(outcome.pooled):.1f}", "MiB",
         "more in each process for holding the table"
         + (f"; {_table_mib(outcome.own):.1f} MiB with a copy of its own" if outcome.own else "")),
    ]
    lost = [check for check in outcome.checks if not check.held]
    verdict = ("<b class='held'>0</b><span>rows, results or bytes lost; "
               f"{len(outcome.checks)} claims checked below</span>" if not lost else
               f"<b class='failed'>{len(lost)}</b><span>claims failed, see below</span>")
    return [f"<div><b>{value} <small>{unit}</small></b><span>{escape(text)}</span></div>"
            for value, unit, text in tiles] + [f"<div>{verdict}</div>"]


def _table_mib(records: list[Record]) -> float:
    """Median over the processes of what holding the table adds, in MiB."""
    added = sorted((record.own("holding") - record.own("ready")) / MIB
                   for record in records if record.done)
    return added[len(added) // 2] if added else math.nan


def _happened(outcome: Outcome) -> str:
    victim = outcome.victim
    text = ("Each process reads the table, computes one factor and stores the result. All begin "
            "together once their libraries are loaded.")
    if victim is not None:
        again = next((record for record in outcome.pooled if record.replaces), None)
        text += (f" Process {victim.pid} was sent SIGKILL when half of its result was written; "
                 f"process {again.pid if again else '?'} did its work again.")
    return _section(
        "What happened", f"<p>{text}</p>",
        f"<pre><i>$</i> {escape(outcome.put.command)}</pre>", plots.timeline(outcome))


def _checks(outcome: Outcome) -> str:
    lines = "".join(
        f'<li class="{"held" if check.held else "failed"}">{escape(check.claim)}'
        f'{f"<small>{escape(check.facts)}</small>" if check.facts else ""}</li>'
        for check in outcome.checks)
    return _section("Nothing lost" if not outcome.lost else "Something was lost",
                    f'<ul class="checks">{lines}</ul>')


def _memory(outcome: Outcome) -> str:
    text = ("Own memory is what the kernel would get back if the process ended: private pages "
            "(Private_Clean + Private_Dirty of <code>smaps_rollup</code>) and page tables. Each "
            "process measured itself after touching every page of the columns that it needs.")
    own = {record.task.factor: record for record in outcome.own or []}
    head = ["<th class='text'>MiB of own memory</th><th>libraries loaded</th><th>+ table</th>"
            "<th>of which page tables</th><th>factor computed</th>"]
    if own:
        head.append("<th class='gap'>own copy: + table</th><th>factor computed</th>")
    rows = []
    for record in outcome.pooled:
        if not record.done:
            continue
        before, held = record.own("ready"), record.own("holding")
        grown = record.page_tables("holding") - record.page_tables("ready")
        cells = [before, held - before, grown, record.own("computed")]
        row = f"<td class='text'>{escape(record.task.factor)}</td>"
        row += "".join(f"<td>{cell / MIB:.1f}</td>" for cell in cells)
        if own:
            other = own[record.task.factor]
            row += (f"<td class='gap'>{(other.own('holding') - other.own('ready')) / MIB:.1f}</td>"
                    f"<td>{other.own('computed') / MIB:.1f}</td>")
        rows.append(f"<tr>{row}</tr>")
    pool = (f"<p>The table takes {outcome.put.pool_bytes / MIB:.1f} MiB in the pool, by the file "
            f"system; with all results in it {outcome.pool_peak_bytes / MIB:.1f} MiB. The daemon "
            f"has {outcome.daemon_own_bytes / MIB:.1f} MiB to itself. What a library needs to "
            "compute (“factor computed”) comes on top, on both sides. The process that did the "
            "lost work again ran nearly alone: pages of libraries that the others shared were its "
            "own.</p>")
    return _section("Memory", f"<p>{text}</p>", plots.memory_bars(outcome),
                    f"<div class='scroll'><table><tr>{''.join(head)}</tr>{''.join(rows)}</table>"
                    "</div>", pool)


def _load(outcome: Outcome) -> str:
    put = outcome.put
    text = (f"{put.source_bytes / MIB:.1f} MiB of files became {put.n_rows:,} rows in "
            f"{put.wall_s:.2f} s: {put.rows_per_s / 1e6:.2f} million rows a second, types and "
            "checksums decided on the way.")
    if outcome.own:
        text += (" Without the pool each process parses the files again, with PyArrow's readers, "
                 "only the columns that it needs.")
    return _section("Load", f"<p>{text}</p>", plots.load_bars(outcome))


def _coefficients(outcome: Outcome, horizons: list[int]) -> str:
    spans = "".join(f"<th class='span gap' colspan='6'>{days} days ahead</th>"
                    for days in horizons)
    heads = ("<th class='gap'>mean IC</th><th>std</th><th>ICIR</th><th>t</th><th>&gt; 0</th>"
             "<th>dates</th>") * len(horizons)
    rows = []
    for verdict in outcome.verdicts:
        row = f"<td class='text'>{escape(verdict.factor.title)}</td>"
        for summary in verdict.summaries.values():
            row += (f"<td class='gap' style='background:{_shade(summary.mean)}'>"
                    f"{_number(summary.mean, 4)}</td><td>{_number(summary.std, 3, False)}</td>"
                    f"<td>{_number(summary.icir, 2)}</td><td>{_number(summary.t_apart, 2)}</td>"
                    f"<td>{_share(summary.positive_share)}</td>"
                    f"<td class='quiet'>{summary.n_dates:,} / {summary.n_apart}</td>")
        rows.append(f"<tr>{row}</tr>")
    method = (
        "<p>On each date, Spearman’s correlation over the tickers between the factor at that "
        "close and the return that follows: a signal from close <i>t</i> is traded at close "
        "<i>t</i>+1. ICIR is mean / std, not annualised. Returns of neighbouring dates overlap, so "
        "a t over all dates would be optimistic; the t here takes only dates whose returns do not "
        "overlap (the second number of dates), averaged over the ways to choose them. Of so many "
        "figures, some pass |t| = 2 by chance.</p>")
    caveat = f"<p class='caveat'>{escape(outcome.data.caveat)}</p>"
    return _section(
        "What the factors were worth", caveat, method,
        "<div class='scroll'><table class='tight'>"
        f"<tr><th class='text' rowspan='2'>factor</th>{spans}</tr><tr>{heads}</tr>"
        f"{''.join(rows)}</table></div>",
        f"<h2 style='margin-top:1.6rem'>Cumulative IC, {horizons[0]} days ahead</h2>",
        "<p>The sum of the daily ICs: steady slopes matter, end points do not. Grey: the other "
        "factors.</p>",
        plots.cumulative_ic(outcome, horizons[0]),
        f"<h2 style='margin-top:1.6rem'>Return by fifth, {horizons[-1]} days ahead</h2>",
        "<p>Tickers in fifths by the factor’s rank on each date; mean return of each over that of "
        "all, equal weights, no costs.</p>",
        plots.quantile_bars(outcome, horizons[-1]))


def _definitions(outcome: Outcome) -> str:
    rows = "".join(
        f"<tr><td class='text'>{escape(verdict.factor.title)}</td>"
        f"<td class='text'><code>{escape(verdict.factor.definition(outcome.windows))}</code></td>"
        f"<td class='text quiet'>{escape(verdict.factor.source)}</td>"
        f"<td class='text quiet'>{verdict.factor.engine}</td></tr>"
        for verdict in outcome.verdicts)
    skipped = "".join(f"<p>Not computed, for want of a column: {escape(factor.title)}.</p>"
                      for factor in outcome.skipped)
    return _section(
        "Definitions",
        "<p>Per ticker, in time order, over the bars that exist; t is the bar of the value, and "
        "nothing later is used. Signed so that the source expects a positive IC. Rolling windows "
        "need four fifths of their bars; nothing is filled forward.</p>",
        "<div class='scroll'><table><tr><th class='text'>factor</th><th class='text'>definition"
        "</th><th class='text'>source</th><th class='text'>with</th></tr>"
        f"{rows}</table></div>{skipped}")


def _data(outcome: Outcome) -> str:
    rows = "".join(
        f"<tr><td class='text'>{escape(finding.what)}</td><td>{finding.count:,}</td>"
        f"<td class='text quiet gap'>{escape(finding.treatment)}</td></tr>"
        for finding in outcome.audit.findings)
    body = ("<div class='scroll'><table><tr><th class='text'>what</th><th>count</th>"
            f"<th class='text gap'>the factors</th></tr>{rows}</table></div>"
            if rows else "<p>None found.</p>")
    columns = ", ".join(f"<code>{escape(name)}</code> is the {meaning}"
                        for meaning, name in outcome.columns.items() if name != meaning)
    return _section("Bad rows", "<p>Prices are used as they were published; what looks wrong is "
                    "counted, not repaired.</p>", body,
                    f"<p>Columns: {columns}.</p>" if columns else "")


def _machine(outcome: Outcome) -> str:
    facts = dict(outcome.machine)
    facts["versions"] = ", ".join(f"{name} {version}"
                                  for name, version in outcome.versions.items())
    facts["this run"] = f"{outcome.wall_s:.1f} s in all, measured {datetime.date.today()}"
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
                    for name, value in facts.items())
    return _section("Measured on", f"<dl>{lines}</dl>",
                    "<footer>Every figure on this page was measured in this one run.</footer>")


def _number(value: float, digits: int, sign: bool = True) -> str:
    if not math.isfinite(value):
        return "–"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text.replace("-", "−")


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "–"


def _shade(mean: float) -> str:
    """A tint by the mean IC: water above zero, sand below; full at 0.04."""
    if not math.isfinite(mean):
        return "transparent"
    strength = min(1.0, abs(mean) / 0.04) * 0.45
    return f"rgba({'11,135,147' if mean > 0 else '217,142,74'},{strength:.2f})"
