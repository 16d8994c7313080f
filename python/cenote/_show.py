"""What frames, pools and their state look like to people: tables, as text and as HTML.

The HTML has no style sheet, no script and no colour of its own: it takes the notebook's, light
or dark. Whatever comes from data or names is escaped.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

ROWS_MAX = 5
"""Rows of a frame that are shown."""
COLUMNS_MAX = 16
"""Columns that are shown."""
FRAMES_MAX = 50
"""Frames of a pool that are shown."""
TEXT_MAX = 40
"""Characters of a value that are shown."""

_CELL = "padding:.15em .7em;border:1px solid rgba(128,128,128,.35);"
_FAINT = "opacity:.65;font-weight:normal"


class Info(dict[str, Any]):
    """The state of a pool: a dict, whose repr is a table."""

    def __repr__(self) -> str:
        lines = [f"{label:<12}{value}" for label, value in _facts(self)]
        lines += ["", f"{'capacity':<12}{size(self['capacity']):>10}"]
        for label, key, what in _SIZES:
            share = 100 * self[key] // max(self["capacity"], 1)
            lines.append(f"{label:<12}{size(self[key]):>10} {share:>4} %  {what}".rstrip())
        lines += [f"lost: {lost['name']} v{lost['version']}: {lost['reason']}" for lost in self["lost"]]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [[label, escape(str(value))] for label, value in _facts(self)]
        rows.append(["capacity", size(self["capacity"])])
        for label, key, what in _SIZES:
            note = f" <span style='{_FAINT}'>{escape(what)}</span>" if what else ""
            rows.append([label.replace("  ", "&nbsp;&nbsp;"), size(self[key]) + note])
        for lost in self["lost"]:
            text = f"{lost['name']} v{lost['version']}: {lost['reason']}"
            rows.append(["lost", escape(text)])
        return _table((), rows)


_SIZES = (
    ("used", "used", "by all of its files"),
    ("  frames", "sealed", ""),
    ("  held", "retired_held", "replaced or dropped, and still read"),
    ("  open", "open", "being written"),
    ("  ready", "ready", "allocated ahead of demand"),
    ("  metadata", "metadata", ""),
    ("  leaked", "leaked", "0, or a fault"),
)


def _facts(info: dict[str, Any]) -> list[tuple[str, str]]:
    headroom = info["memory_headroom"]
    free = f"the file system has {size(info['file_system_free'])} free"
    if headroom is not None:
        free += f", the memory limit {size(headroom)}"
    holds = ((info["frames"], "frame"), (info["chunks"], "chunk"), (info["arenas"], "arena"))
    return [
        ("pool", info["path"]),
        ("daemon", f"process {info['pid']}, up {span(info['uptime_s'])}, epoch {info['epoch']}"),
        ("holds", ", ".join(count(*held) for held in holds)),
        ("clients", count(info["clients"], "client") + ", this one included"),
        ("system", free),
    ]


def frame_html(frame: Any) -> str:
    """A frame: what it is, its columns, and its first rows where PyArrow is installed."""
    title = f"<b>{escape(frame.name)}</b> <span style='{_FAINT}'>version {frame.version} · "
    title += f"{frame.num_rows:,} rows × {frame.num_columns:,} columns · {size(frame.nbytes)} in DRAM"
    title += f" · {span(max(0, time.time_ns() - frame.created_ns) // 10**9)} old</span>"
    columns = _columns(frame)
    hidden = frame.num_columns - len(columns)
    heads = [f"{escape(name)}<br><span style='{_FAINT}'>{escape(kind)}</span>" for name, kind in columns]
    rows = _head(frame, len(columns))
    if hidden:
        heads.append(f"<span style='{_FAINT}'>… {hidden:,} more</span>")
        rows = [[*row, "…"] for row in rows]
    more = frame.num_rows - len(rows)
    foot = f"<div style='{_FAINT}'>… {more:,} more rows</div>" if rows and more else ""
    return f"<div>{title}</div>{_table(heads, rows)}{foot}"


def _columns(frame: Any) -> list[tuple[str, str]]:
    """Names and types of the columns that are shown."""
    schema = frame.schema
    names = list(schema.names)[:COLUMNS_MAX]
    return [(name, str(schema.types[at])) for at, name in enumerate(names)]


def _head(frame: Any, columns: int) -> list[list[str]]:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return []
    table = frame.to_arrow().slice(0, ROWS_MAX)
    values = [[_value(value) for value in table.column(at).to_pylist()] for at in range(columns)]
    return [list(row) for row in zip(*values, strict=True)]


def _value(value: Any) -> str:
    if value is None:
        return f"<span style='{_FAINT}'>null</span>"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= TEXT_MAX else text[:TEXT_MAX] + "…")


def pool_html(pool: Any) -> str:
    """A pool: where it is, and its frames; or why they cannot be told."""
    from cenote._errors import CenoteError

    title = f"<b>cenote.Pool</b> <span style='{_FAINT}'>{escape(str(pool.address))}"
    title += ", embedded</span>" if pool.embedded else "</span>"
    try:
        frames = pool.frames()
    except CenoteError as error:
        return f"<div>{title}</div><div>{escape(str(error))}</div>"
    now = time.time_ns()
    rows = [
        [
            escape(frame["name"]),
            str(frame["version"]),
            f"{frame['num_rows']:,}",
            f"{frame['num_columns']:,}",
            size(frame["nbytes"]),
            span(max(0, now - frame["created_ns"]) // 10**9),
            escape(frame["source"]),
        ]
        for frame in frames[:FRAMES_MAX]
    ]
    heads = ("name", "version", "rows", "columns", "size", "age", "source")
    more = len(frames) - len(rows)
    foot = f"<div style='{_FAINT}'>… {more:,} more frames</div>" if more else ""
    return f"<div>{title}</div>{_table(heads, rows)}{foot}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already."""
    html = "<table style='border-collapse:collapse;margin:.4em 0;text-align:left'>"
    if heads:
        cells = "".join(f"<th style='{_CELL}text-align:left'>{head}</th>" for head in heads)
        html += f"<thead><tr>{cells}</tr></thead>"
    body = "".join(
        "<tr>" + "".join(f"<td style='{_CELL}text-align:left'>{cell}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"{html}<tbody>{body}</tbody></table>"


def size(number: int) -> str:
    """Bytes as people read them, rounded down: "1.5 GiB"."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB")):
        if number >= unit:
            return f"{number * 10 // unit / 10:.1f} {name}"
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number // unit} {name}"
    return f"{number} B"


def span(seconds: int) -> str:
    """A span of time in its largest unit: "3 min"."""
    for least, unit, name in ((172_800, 86_400, "d"), (7_200, 3_600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds // unit} {name}"
    return f"{seconds} s"


def count(number: int, one: str) -> str:
    """"1 frame", "2 frames"."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"
