"""The examples of a page of Markdown: taken out, run in order, compared with what is shown.

A fenced block says how it is run by the words behind its fence:

- `python`: in one interpreter for the page; `bash`: in the page's folder. Both see one pool.
- `bash,fails`, `python,fails`: ends with an error; what it says is its output.
- `text` right behind a block: its output. `…` stands for anything on a line, a line `…` for
  any lines.
- `…,ignore`: shown, not run: it needs another machine, or root. And any other language.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import conftest

BLOCK_LIMIT_S = 60
FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@dataclass
class Block:
    language: str
    flags: frozenset[str]
    code: str
    line: int
    shown: str | None = None

    @property
    def runs(self) -> bool:
        return self.language in ("python", "bash", "sh") and "ignore" not in self.flags


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        language, *flags = fence[1].split(",")
        line = text.count("\n", 0, fence.start()) + 1
        behind = text[end : fence.start()].strip() == ""
        if language == "text" and behind and found and found[-1].runs:
            found[-1].shown = fence[2]
        else:
            found.append(Block(language, frozenset(flags), fence[2], line))
        end = fence.end()
    return found


class Page:
    """A page's folder, pool and interpreter."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        path = f"{Path(conftest.command()).parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = os.environ | {"CENOTE_ADDRESS": address, "PATH": path, "NO_COLOR": "1"}

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        before, environment = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        os.environ.update(self.environment)
        try:
            yield
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)

    def run(self, block: Block) -> str:
        """Its output; raises AssertionError where it ends as it should not."""
        failed, said = self.python(block) if block.language == "python" else self.shell(block)
        assert failed == ("fails" in block.flags), f"line {block.line}:\n{block.code}\nsaid:\n{said}"
        return said

    def python(self, block: Block) -> tuple[bool, str]:
        out = io.StringIO()
        code = "\n" * block.line + block.code
        with self.inside(), contextlib.redirect_stdout(out):
            try:
                exec(compile(code, "page", "exec"), self.names)  # noqa: S102 (our own pages)
            except Exception as error:  # noqa: BLE001
                said = "".join(traceback.format_exception_only(error))
                return True, out.getvalue() + said
        return False, out.getvalue()

    def shell(self, block: Block) -> tuple[bool, str]:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.code],
            cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BLOCK_LIMIT_S, check=False,
        )
        return done.returncode != 0, done.stdout


def agrees(shown: str, said: str) -> bool:
    """Whether what is shown is what was said; blanks at ends of lines do not count."""
    pattern = ""
    for line in shown.strip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:[^\n]*\n)*"
        else:
            words = re.split(r"\s+", line.strip())
            parts = [re.escape(word).replace("…", "[^\n]*?") for word in words]
            pattern += r"[^\S\n]*" + r"[^\S\n]+".join(parts) + r"[^\S\n]*\n"
    return re.fullmatch(pattern, said.strip() + "\n") is not None
