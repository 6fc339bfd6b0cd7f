"""The page being read: its source lines, its kernel and its facts."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging

from shardlessons.sphinxext import _kernel
from shardlessons.sphinxext._ledger import Fact, Finding, Mark, ledger_of
from shardlessons.sphinxext._platforms import is_recorded, platforms_of

if TYPE_CHECKING:
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)

_KEY = "shardlessons_page"


class NoKernel(Exception):
    """The page has no kernel to ask."""


class Page:
    """A page while Sphinx reads it; use :func:`page_of` to get the one."""

    def __init__(self, env: BuildEnvironment, document: nodes.document) -> None:
        self._env = env
        self._document = document
        self._taken: set[tuple[int, int]] = set()
        # Examples that have run here, as statement and wanted text.
        self.ran: set[tuple[str, str]] = set()
        self._asked: Counter[tuple[str, str]] = Counter()
        self.report: bool = env.config.shardlessons_report
        self.name = env.docname
        self.file = Path(env.doc2path(env.docname))
        text = self.file.read_text("utf-8")
        self.lines = text.splitlines()
        self.platforms = platforms_of(text)
        self.recorded = is_recorded(text, env.config.shardlessons_platform)

    # --- asking ---------------------------------------------------------

    def ask(self, function: str, *arguments: Any) -> _kernel.Answer:
        """Call a function of :mod:`._kernel` in the page's kernel."""
        renderer = self._document.get("nb_renderer")
        if renderer is None:
            raise NoKernel(
                "this page has no kernel to ask: begin it with the front matter "
                "file_format: mystnb and kernelspec: {name: python3}"
            )
        if self.recorded:
            return _kernel.NOT_ASKED
        listed = ", ".join(map(repr, arguments))
        if function in ("check", "example"):
            listed += ", globals()"
        outputs = renderer.renderer.nb_client.eval_variable(
            f"__import__({_kernel.__name__!r}, fromlist=['_'])"
            f".{function}({listed})"
        )
        for output in outputs:
            if _kernel.MIME in output.get("data", {}):
                return _kernel.Answer(**output["data"][_kernel.MIME])
        return _kernel.Answer(_as_text(outputs), False, raised=True)

    # --- finding the exact place ----------------------------------------

    def locate(self, text: str, start: int) -> tuple[int, int]:
        """Line and column, from 1, of ``text`` at or below a line.

        MyST gives a role the first line of its block, and in a directive's
        title the line below it, so the text itself is looked for, with the
        backslash that a table asks for before a bar or without. Each place is
        given out once.
        """
        bar = re.escape("|")
        pattern = re.escape(text).replace(bar, rf"\\?{bar}")
        for number in range(max(start - 1, 1), len(self.lines) + 1):
            for found in re.finditer(pattern, self.lines[number - 1]):
                place = (number, found.start() + 1)
                if place not in self._taken:
                    self._taken.add(place)
                    return place
        return (start, 1)

    def locate_block(
        self, block: list[str], start: int, file: Path | None = None
    ) -> int:
        """The first line of consecutive lines, whatever their indentation."""
        lines = file.read_text("utf-8").splitlines() if file else self.lines
        return first_line(block, lines, start)

    # --- recording ------------------------------------------------------

    def path(self, file: Path | None = None) -> str:
        """A file as the ledger names it: from the folder that holds docs/."""
        root = Path(self._env.srcdir).parent
        return Path(os.path.relpath(file or self.file, root)).as_posix()

    def record(
        self,
        form: str,
        line: int,
        expression: str,
        written: str,
        answer: _kernel.Answer,
        *,
        column: int = 1,
        file: Path | None = None,
        mistagged: bool = False,
    ) -> Fact:
        """Put a fact into the ledger."""
        self._asked[form, expression] += 1
        fact = Fact(
            page=self.name,
            path=self.path(file),
            line=line,
            column=column,
            form=form,
            expression=expression,
            written=written,
            found=answer.found,
            holds=answer.holds,
            raised=answer.raised and not answer.holds,
            recorded=answer is _kernel.NOT_ASKED,
            unanswered=answer.unanswered,
            mistagged=mistagged,
            occurrence=self._asked[form, expression],
        )
        ledger_of(self._env).add_fact(fact)
        return fact

    def mark(self, line: int, text: str) -> None:
        """Count a piece of notation."""
        ledger_of(self._env).add_mark(Mark(self.name, line, text))

    def fail(
        self, kind: str, line: int, message: str, file: Path | None = None
    ) -> None:
        """Report an error at its line; the page is read again next time."""
        if self.report:
            finding = Finding(self.name, self.path(file), line, kind, message)
            ledger_of(self._env).add_finding(finding)
            return
        logger.warning(
            "%s",
            message,
            location=f"{file or self.file}:{line}",
            type="facts",
            subtype=kind,
        )
        ledger_of(self._env).add_failure(self.name)


def first_line(block: list[str], lines: list[str], start: int) -> int:
    """The first of consecutive lines among others, at or below a line."""
    wanted = [line.strip() for line in block]
    for first in range(max(start, 1), len(lines) - len(wanted) + 2):
        there = lines[first - 1 : first - 1 + len(wanted)]
        if [line.strip() for line in there] == wanted:
            return first
    return start


def page_of(env: BuildEnvironment, document: nodes.document) -> Page:
    """The page that is being read."""
    page = env.temp_data.get(_KEY)
    if page is None or page.name != env.docname:
        page = env.temp_data[_KEY] = Page(env, document)
    return page


def _as_text(outputs: list[Any]) -> str:
    """What the kernel said instead of an answer."""
    for output in outputs:
        if output["output_type"] == "error":
            return f"{output['ename']}: {output['evalue']}"
    return "no answer from the kernel"
