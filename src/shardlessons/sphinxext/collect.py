"""Collect the examples on the pages as tests: for a ``conftest.py`` in docs/.

Each ``>>>`` example of a page is a test with its line; the page's cells run
before it, in order and in one namespace, as they do in the build. Those of a
page that this platform cannot ask are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import SkipTest

from sybil import Document, Example, Region, Sybil
from sybil.parsers.abstract import DocTestStringParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst.lexers import DirectiveLexer

from shardlessons.sphinxext import _kernel
from shardlessons.sphinxext._platforms import (
    is_recorded,
    platforms_of,
    this_platform,
)

if TYPE_CHECKING:
    from sybil.typing import Lexer


def collector(
    folder: Path, pattern: str = "*.md", platform: str = this_platform()
) -> Callable[..., Any]:
    """A ``pytest_collect_file`` for the pages of a folder."""

    def elsewhere(document: Document) -> Iterable[Region]:
        if is_recorded(document.text, platform):
            document.push_evaluator(skip)
        return ()

    def skip(example: Example) -> None:
        named = " or ".join(platforms_of(example.document.text))
        raise SkipTest(f"only {named} can ask this page, and this is {platform}")

    parsers = [_cells, _examples, elsewhere]
    return Sybil(parsers=parsers, path=str(folder), pattern=pattern).pytest()


def _cells(document: Document) -> Iterable[Region]:
    for region in _outside_notation(document, DirectiveLexer("code-cell", arguments=".*")):
        region.parsed = region.lexemes["source"]
        region.evaluator = _run_cell
        yield region


def _outside_notation(document: Document, lexer: Lexer) -> Iterable[Region]:
    """What a lexer finds, but for what shows how such a thing is written."""
    shown = list(DirectiveLexer("notation", arguments=".*")(document))
    for region in lexer(document):
        if not any(one.start <= region.start < one.end for one in shown):
            yield region


def _run_cell(example: Example) -> None:
    source = "\n" * example.line + example.parsed
    code = compile(source, example.path, "exec")
    tags = example.region.lexemes.get("options", {}).get("tags", "")
    try:
        exec(code, example.namespace)
    except Exception:
        if "raises-exception" not in tags:
            raise
    else:
        assert "raises-exception" not in tags, "tagged raises-exception, and does not raise"


def _run_example(example: Example) -> str | None:
    """Hold an example to what the build holds it to."""
    stated = example.parsed
    answer = _kernel.example(
        stated.source, stated.want, stated.exc_msg, example.namespace
    )
    if answer.holds:
        return None
    wanted = stated.exc_msg or stated.want
    return f"{stated.source}written: {wanted}found: {answer.found}"


_in_fence = FencedCodeBlockLexer("pycon")
_strings = DocTestStringParser(_run_example)


def _examples(document: Document) -> Iterable[Region]:
    for block in _outside_notation(document, _in_fence):
        source = block.lexemes["source"]
        for region in _strings(source, document.path):
            region.adjust(block, source)
            yield region
