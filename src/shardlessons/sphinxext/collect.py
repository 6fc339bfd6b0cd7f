"""Collect the examples on the pages as tests: for a ``conftest.py`` in docs/.

Each ``>>>`` example of a page is a test with its line; the page's cells run
before it, in order and in one namespace, as they do in the build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sybil import Document, Example, Region, Sybil
from sybil.evaluators.doctest import DocTestEvaluator
from sybil.parsers.abstract import DocTestStringParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst.lexers import DirectiveLexer

from shardlessons.sphinxext import _rules


def collector(pattern: str = "*.md") -> Callable[..., Any]:
    """A ``pytest_collect_file`` for the pages beside the ``conftest.py``."""
    return Sybil(parsers=[_cells, _examples], pattern=pattern).pytest()


def _cells(document: Document) -> Iterable[Region]:
    for region in DirectiveLexer("code-cell", arguments=".*")(document):
        region.parsed = region.lexemes["source"]
        region.evaluator = _run_cell
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
        assert "raises-exception" not in tags, "tagged raises-exception, and does not"


_in_fence = FencedCodeBlockLexer("pycon")
_strings = DocTestStringParser(DocTestEvaluator(_rules.FLAGS))


def _examples(document: Document) -> Iterable[Region]:
    for block in _in_fence(document):
        source = block.lexemes["source"]
        for region in _strings(source, document.path):
            region.adjust(block, source)
            yield region
