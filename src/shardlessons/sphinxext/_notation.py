"""What looks like a fact has to be one: the rule, and the way to say notation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from shardlessons.sphinxext._check import fact
from shardlessons.sphinxext._examples import has_run
from shardlessons.sphinxext._page import Page, page_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_CLASS = "notation"

# What a fact of this field looks like.
LOOKS = {
    "a spec": re.compile(r"\b(?:P|PartitionSpec)\([^()]*(?:\([^()]*\)[^()]*)*\)"),
    "a sharding": re.compile(r"\b\w+Sharding\([^)]*"),
    "a type": re.compile(r"\b(?:b?float|u?int|bool|key|[fsu]|bf|pred)\w*\[[\d@\w,]*\]"),
    "an error": re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b(?:: .*)?"),
    "a size": re.compile(
        r"(?<![\w.#-])\d[\d,.]*\s?(?:bytes?|[KMGT]i?B|B)\b"
    ),
    "a number": re.compile(r"(?<![\w.#-])(?:\d{1,3}(?:,\d{3})+|\d{4,})(?![\w.-]\w)"),
}


class NotationRole(SphinxRole):
    """Inline code that states no fact; each use is counted."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        page = page_of(self.env, self.inliner.document)
        line, _ = page.locate(f"`{self.text}`", self.lineno)
        page.mark(line, self.text)
        return [nodes.literal(self.text, self.text, classes=[_CLASS])], []


class NotationDirective(SphinxDirective):
    """A block of code that states no fact and is not run; it is counted."""

    optional_arguments = 1  # the language
    has_content = True
    option_spec = {"class": directives.class_option}

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        text = "\n".join(self.content)
        page_of(self.env, self.state.document).mark(self.lineno, text)
        language = self.arguments[0] if self.arguments else "text"
        block = nodes.literal_block(
            text,
            text,
            language=language,
            classes=[_CLASS, *self.options.get("class", [])],
        )
        self.set_source_info(block)
        return [block]


def _is_bound(node: nodes.Node) -> bool:
    """Whether a text is proven, marked, or code that runs."""
    while node is not None:
        if isinstance(
            node, (fact, nodes.comment, addnodes.desc_signature)
        ):
            return True
        # A cell makes its figure, and an author the caption.
        if isinstance(node, (nodes.caption, nodes.legend)):
            return False
        if isinstance(node, nodes.Element):
            if _CLASS in node.get("classes", ()) or node.get("nb_element"):
                return True
            # Arguments, results and errors of a documented object.
            if isinstance(node, nodes.field_list) and isinstance(
                node.parent, addnodes.desc_content
            ):
                return True
        node = node.parent
    return False


def _line_of(node: nodes.Node) -> int:
    while node is not None:
        if getattr(node, "line", None):
            return node.line
        node = node.parent
    return 1


class LookForUnbound(SphinxTransform):
    """Report each block that is not run and each text that looks like a fact."""

    default_priority = 700  # before smart quotes (750) change the text

    def apply(self, **_: Any) -> None:
        page = page_of(self.env, self.document)
        for block in self.document.findall(_is_block):
            if not _is_bound(block) and not has_run(page, block.astext()):
                page.fail(
                    "unbound",
                    _line_of(block),
                    "the block is neither run nor marked as {notation}: "
                    + block.astext().split("\n")[0],
                )
        for text in self.document.findall(nodes.Text):
            if not _in_block(text) and not _is_bound(text):
                _look_at(page, text)


def _is_block(node: nodes.Node) -> bool:
    return isinstance(node, (nodes.literal_block, nodes.doctest_block))


def _in_block(text: nodes.Node) -> bool:
    while text is not None and not _is_block(text):
        text = text.parent
    return text is not None


def _look_at(page: Page, text: nodes.Text) -> None:
    content = text.astext()
    for what, pattern in LOOKS.items():
        for found in pattern.findall(content):
            line, _ = page.locate(found.split("\n")[0], _line_of(text))
            page.fail(
                "unbound",
                line,
                f"{found} looks like {what} and is bound to nothing: "
                "make it a {check}, or mark it as {notation}",
            )
        content = pattern.sub("", content)


def setup_notation(app: Sphinx) -> None:
    """Add ``notation`` and look through each page as it is read."""
    app.add_role("notation", NotationRole())
    app.add_directive("notation", NotationDirective)
    app.add_transform(LookForUnbound)
