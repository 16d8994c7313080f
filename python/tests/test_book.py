"""The book's examples do what it says, page by page, each on a pool of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import Served
from pages import Page, agrees, blocks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.rglob("*.md")
    if path.name not in ("SUMMARY.md", "format.md")
)


@pytest.mark.parametrize("name", PAGES)
def test_the_examples_of(name: str, served: Served, tmp_path: Path) -> None:
    text = (DOCS / name).read_text()
    page = Page(tmp_path, served.address)
    for block in blocks(text):
        if not block.runs:
            continue
        said = page.run(block)
        if block.shown is not None:
            assert agrees(block.shown, said), f"{name}, line {block.line}: said\n{said}"
    page.names.clear()


def test_there_are_examples_and_they_show_output() -> None:
    found = [block for name in PAGES for block in blocks((DOCS / name).read_text()) if block.runs]
    assert len(found) >= 30, "the book is read"
    assert sum(block.shown is not None for block in found) >= 12


def test_the_table_of_contents_has_every_page() -> None:
    summary = (DOCS / "SUMMARY.md").read_text()
    linked = set(re.findall(r"\]\(([^)]+\.md)\)", summary))
    assert linked == {*PAGES, "format.md"}


def test_links_between_pages_lead_somewhere() -> None:
    count = 0
    for name in [*PAGES, "format.md", "SUMMARY.md"]:
        page = DOCS / name
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{name}: {target}"
            count += 1
    assert count >= 20


def test_what_agrees() -> None:
    assert agrees("a  b\n", "a b\n") and agrees("a …\n", "a b c\n") and agrees("…\nz\n", "x\ny\nz\n")
    assert not agrees("a\n", "b\n") and not agrees("a\n", "a\nb\n") and not agrees("…\nz\n", "z\ny\n")
