"""What people see: repr, and HTML in a notebook."""

from __future__ import annotations

import json
import pickle
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import cenote
from cenote import _show


class Page(HTMLParser):
    """Tags that are closed as they were opened, and the text between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.tags: set[str] = set()
        self.feed(html)
        self.close()
        assert self.open == [], self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)
        # Nothing is fetched, nothing runs, and no colour is set that a dark page could not have.
        for name, value in attributes:
            assert name == "style" and "url" not in str(value) and "#" not in str(value)
            assert "background" not in str(value) and "color:" not in str(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "|"


def test_a_frame(pool: cenote.Pool) -> None:
    pool.put("prices", {"close": np.arange(100_000.0), "symbol": ["<b>A&B</b>"] * 100_000})
    frame = pool["prices"]
    assert "100000 rows, 2 columns" in repr(frame) and "in DRAM" in repr(frame)
    page = Page(frame._repr_html_())
    for words in ("prices|", "version 1", "100,000 rows × 2 columns", "in DRAM", "close|double|",
                  "symbol|string|", "<b>A&B</b>|", "… 99,995 more rows"):
        assert words in page.text, (words, page.text)
    assert page.tags <= {"div", "b", "span", "table", "thead", "tbody", "tr", "th", "td", "br"}


def test_nulls_long_values_and_many_columns(pool: cenote.Pool) -> None:
    pool.put("t", {"x": [None, "y" * 1000], **{f"c{i}": [i, i] for i in range(40)}})
    page = Page(pool["t"]._repr_html_())
    assert "null|" in page.text and "y" * 40 + "…" in page.text and "y" * 41 not in page.text
    assert "… 25 more" in page.text and "more rows" not in page.text
    pool.put("none", {"x": np.array([], dtype="float64")})
    assert "0 rows × 1 columns" in Page(pool["none"]._repr_html_()).text


def test_without_pyarrow(pool: cenote.Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    pool.put("t", {"x": [1, 2]})
    frame = pool["t"]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    page = Page(frame._repr_html_())
    assert "x|int64|" in page.text.lower() and "in DRAM" in page.text
    assert "td" not in page.tags, "values are shown by PyArrow"


def test_a_pool(pool: cenote.Pool) -> None:
    for i in range(_show.FRAMES_MAX + 3):
        pool.put(f"<i>{i:03}", {"x": [1]}, source="a & b")
    page = Page(pool._repr_html_())
    assert "<i>000|1|1|1|" in page.text and "a & b|" in page.text and "… 3 more frames" in page.text
    assert "i" not in page.tags


def test_a_pool_that_cannot_tell_its_frames() -> None:
    class Gone:
        address, embedded = "/dev/shm/<gone>", False

        def frames(self) -> None:
            raise cenote.PoolUnavailable("nobody & nothing")

    assert "/dev/shm/<gone>|nobody & nothing|" in Page(_show.pool_html(Gone())).text


def test_info_prints_as_a_table_and_is_a_dict(pool: cenote.Pool) -> None:
    pool.put("t", {"x": np.zeros(1_000_000)})
    info = pool.info()
    text = repr(info)
    for words in ("capacity       256 MiB", "  frames         7 MiB    2 %", "1 frame, 1 chunk", "0, or a fault"):
        assert words in text, text
    assert str(info) == text and isinstance(info, dict)
    assert json.loads(json.dumps(info)) == info == pickle.loads(pickle.dumps(info))
    assert "256 MiB|" in Page(info._repr_html_()).text  # type: ignore[attr-defined]
    info["lost"] = [{"name": "<x>", "version": 3, "source": "", "reason": "damaged"}]
    assert "lost: <x> v3: damaged" in repr(info) and "<x> v3" in Page(info._repr_html_()).text  # type: ignore[attr-defined]


def test_sizes_and_spans_as_the_command_writes_them() -> None:
    assert [_show.size(n) for n in (0, 1023, 1 << 10, (1 << 30) - 1, 3 << 29, 5 << 40)] == \
        ["0 B", "1023 B", "1 KiB", "1023 MiB", "1.5 GiB", "5.0 TiB"]
    assert [_show.span(n) for n in (0, 119, 120, 7_200, 172_800)] == ["0 s", "119 s", "2 min", "2 h", "2 d"]
