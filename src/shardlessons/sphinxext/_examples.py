"""``>>>`` examples: in a ``{question}``'s answer, and in docstrings."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils import get_source_line
from sphinx_design.dropdown import DropdownDirective

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._page import NoKernel, Page, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

LANGUAGE = "pycon"
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*(\S*)\s*$")
_PARSER = doctest.DocTestParser()


class QuestionDirective(DropdownDirective):
    """A question with its answer collapsed; the answer's examples run."""

    required_arguments = 1
    optional_arguments = 0

    def run_with_defaults(self) -> list[nodes.Node]:
        self.assert_has_content()
        page = page_of(self.env, self.state.document)
        blocks = list(_fenced(list(self.content)))
        if not blocks:
            page.fail(
                "question",
                self.lineno,
                f"the answer has no ```{LANGUAGE} example that proves it",
            )
        shown: list[tuple[str, list[str]]] = []
        for block in blocks:
            start = page.locate_block(block, self.lineno + 1)
            try:
                anchors = _run(page, "question", "\n".join(block), start)
            except NoKernel as error:
                page.fail("question", start, f"cannot run the examples: {error}")
                continue
            shown.append((_dedented("\n".join(block)), anchors))
        self.options.setdefault("class-container", []).append("question")
        answer = super().run_with_defaults()
        # Other blocks may look the same to a reader, and are not run.
        for node in answer:
            for block in node.findall(nodes.literal_block):
                if shown and shown[0][0] == _dedented(block.astext()):
                    _, block["facts"] = shown.pop(0)
        return answer


def _dedented(text: str) -> str:
    return textwrap.dedent(text).strip()


def _fenced(lines: list[str]) -> Iterator[list[str]]:
    """The contents of the example fences."""
    fence, block = "", []
    for line in lines:
        found = _FENCE.match(line)
        if not fence and found and found[2] == LANGUAGE:
            fence, block = found[1], []
        elif fence and line.strip().startswith(fence) and not line.strip(f"{fence[0]} "):
            yield block
            fence = ""
        elif fence:
            block.append(line)


def _run(
    page: Page, form: str, text: str, start: int, file: Path | None = None
) -> list[str]:
    """Run the examples of a text that begins at a line of the file.

    Returns:
        The anchors of the facts that they state.
    """
    anchors = []
    for example in _PARSER.get_examples(text):
        page.ran.add((example.source, example.want))
        source = example.source.rstrip()
        first = start + example.lineno
        answer = page.ask(
            "example", example.source, example.want, example.exc_msg
        )
        # What is stated stands below the statement: a text, or the last
        # lines of a traceback.
        below = first + len(source.splitlines())
        stated = example.want.rstrip()
        if example.exc_msg is not None:
            whole, stated = stated, example.exc_msg.rstrip()
            below += len(whole.splitlines()) - len(stated.splitlines())
        if not stated:
            below = first
        if stated or answer.found and not page.report:
            fact = page.record(form, below, source, stated, answer, file=file)
            anchors.append(fact.anchor)
        if answer.raised and example.exc_msg is None:
            page.fail("raised", first, f"`{source}` raises {answer.found}", file)
        elif answer.holds is False:
            asked = source.splitlines()[0]
            for edit in _rules.differences(stated, answer.found):
                page.fail(
                    form,
                    below + edit.offset,
                    f"{edit.said}, asked: {asked}",
                    file,
                )
    return anchors


def has_run(page: Page, text: str) -> bool:
    """Whether all of a block's examples, of which it has some, have run."""
    examples = _PARSER.get_examples(text)
    return bool(examples) and page.ran.issuperset(
        (example.source, example.want) for example in examples
    )


def run_docstrings(page: Page, document: nodes.document) -> None:
    """Run the examples of the objects that a page documents, in its order."""
    for block in document.findall(nodes.doctest_block):
        source, _ = get_source_line(block)
        path, separator, name = (source or "").partition(":docstring of ")
        if separator:
            text, file = block.astext(), Path(path)
            start = page.locate_block(text.splitlines(), _line_of(name), file)
            block["facts"] = _run(page, "docstring", text, start, file)


def _line_of(name: str) -> int:
    """The line on which an object's source begins."""
    target = pydoc.locate(name)
    return inspect.getsourcelines(getattr(target, "fget", target))[1]


def setup_examples(app: Sphinx) -> None:
    """Add ``question``."""
    app.add_directive("question", QuestionDirective)
