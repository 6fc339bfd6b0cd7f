"""``>>>`` examples: in a ``{question}``'s answer, and in docstrings."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx_design.dropdown import DropdownDirective

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._page import NoKernel, Page, current_page, page_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

EXAMPLE_LANGUAGE = "pycon"
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
                f"the answer has no ```{EXAMPLE_LANGUAGE} example that proves it",
            )
        for block in blocks:
            start = page.locate_block(block, self.lineno + 1)
            try:
                _run(page, "question", "\n".join(block), start)
            except NoKernel as error:
                page.fail("question", start, f"cannot run the examples: {error}")
        self.options.setdefault("class-container", []).append("question")
        return super().run_with_defaults()


def _fenced(lines: list[str]) -> Iterator[list[str]]:
    """The contents of the example fences."""
    fence, block = "", []
    for line in lines:
        found = _FENCE.match(line)
        if not fence and found and found[2] == EXAMPLE_LANGUAGE:
            fence, block = found[1], []
        elif fence and line.strip() == fence:
            yield block
            fence = ""
        elif fence:
            block.append(line)


def _run(
    page: Page, form: str, text: str, start: int, file: Path | None = None
) -> None:
    """Run the examples of a text that begins at a line of the file."""
    for example in _PARSER.get_examples(text):
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
        if stated or answer.found:
            page.record(form, below, source, stated, answer, file=file)
        if answer.raised and example.exc_msg is None:
            page.fail("raised", first, f"`{source}` raises {answer.found}", file)
        elif not answer.holds:
            asked = source.splitlines()[0]
            for edit in _rules.differences(stated, answer.found):
                page.fail(
                    form,
                    below + edit.offset,
                    f"{edit.said}, asked: {asked}",
                    file,
                )


def _run_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Run a docstring's examples in the kernel of the page that shows it."""
    page = current_page(app.env)
    if page is None or not any(line.lstrip().startswith(">>>") for line in lines):
        return
    file, start = _docstring_place(obj, lines)
    _run(page, "docstring", "\n".join(lines), start, file)


def _docstring_place(obj: Any, lines: list[str]) -> tuple[Path | None, int]:
    """The file of a docstring, and the line that its first line stands on."""
    target = inspect.unwrap(getattr(obj, "fget", None) or obj)
    try:
        source, first = inspect.getsourcelines(target)
        file = Path(inspect.getsourcefile(target) or "")
    except (OSError, TypeError):
        return None, 1
    opening = next(
        (i for i, line in enumerate(source) if '"""' in line), 0
    )
    return file, first + opening


def setup_examples(app: Sphinx) -> None:
    """Add ``question``, and run the examples of documented objects."""
    app.add_directive("question", QuestionDirective)
    app.setup_extension("sphinx.ext.autodoc")
    # Before napoleon (priority 500) rewrites the sections.
    app.connect("autodoc-process-docstring", _run_docstring, priority=100)
