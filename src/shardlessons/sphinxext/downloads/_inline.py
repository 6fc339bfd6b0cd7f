"""Running text of a page as CommonMark."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urljoin

from docutils import nodes

from shardlessons.sphinxext.downloads._pieces import CannotDownload

# A character that would begin something where it stands, and is text.
_ACTIVE = re.compile(r"[\\`*]|(?<!\w)_|_(?!\w)|<(?=[\w/!?])|\](?=[(\[:])")
_TICKS = re.compile(r"`+")
# What it takes to begin a block: a mark, or a number that its mark follows.
_START = re.compile(r"^((?=[#>+=-])|\d{1,9}(?=[.)](?:\s|$)))", re.MULTILINE)


class UnknownNode(CannotDownload):
    """A node of a page that has no form in Markdown."""


class ByClass:
    """Calls the method that is named after a node's class, or after a base."""

    def method(self, prefix: str, node: nodes.Node) -> Callable[[Any], Any]:
        for kind in type(node).__mro__:
            if found := getattr(self, f"{prefix}_{kind.__name__}", None):
                return found
        raise UnknownNode(f"a {type(node).__name__} has no form in Markdown yet")


class Inline(ByClass):
    """Writes nodes of running text.

    Args:
        here: the address of the page, on which links are made absolute.
        files: the address of the folder of files to download.
    """

    def __init__(self, here: str, files: str) -> None:
        self._here = here
        self._files = files

    def __call__(self, node: nodes.Element) -> str:
        """The children of a node, as one text."""
        return "".join(self.method("inline", c)(c) for c in node.children)

    def paragraph(self, node: nodes.Element) -> str:
        """The children of a node, where a line begins no list and no heading."""
        lines = (line.strip() for line in self(node).strip().splitlines())
        return _START.sub(r"\1\\", "\n".join(line for line in lines if line))

    def line(self, node: nodes.Element) -> str:
        """The children of a node, on one line."""
        return " ".join(self(node).split())

    def inline_Text(self, node: nodes.Text) -> str:
        return _escaped(node.astext())

    def inline_fact(self, node: nodes.Element) -> str:
        # As it is written: the quotes of an error text are not typographic.
        is_code = isinstance(node[0], nodes.literal)
        return self(node) if is_code else _escaped(node.rawsource)

    def inline_inline(self, node: nodes.Element) -> str:
        return self(node)

    inline_PassthroughTextElement = inline_inline
    inline_abbreviation = inline_inline
    inline_pending_xref = inline_inline

    def inline_literal(self, node: nodes.Element) -> str:
        return code(node.astext())

    inline_literal_strong = inline_literal
    inline_literal_emphasis = inline_literal

    def inline_emphasis(self, node: nodes.Element) -> str:
        return f"*{self(node)}*"

    inline_title_reference = inline_emphasis

    def inline_strong(self, node: nodes.Element) -> str:
        return f"**{self(node)}**"

    def inline_reference(self, node: nodes.Element) -> str:
        if "since-mark" in node["classes"]:
            return ""
        inner = node.next_node(nodes.inline)
        if inner is not None and "std-term" in inner["classes"]:
            return self(node)
        return f"[{self(node)}]({self.address(node)})"

    def inline_download_reference(self, node: nodes.Element) -> str:
        if "filename" in node:
            address = urljoin(self._files, quote(node["filename"]))
        elif "refuri" in node:
            address = node["refuri"]
        else:
            return self(node)  # Sphinx has said that there is no such file
        return f"[{self(node)}]({address})"

    def inline_image(self, node: nodes.Element) -> str:
        return f"![{node.get('alt', '')}]({urljoin(self._here, node['uri'])})"

    def inline_Invisible(self, node: nodes.Element) -> str:
        return ""

    inline_target = inline_Invisible
    inline_raw = inline_Invisible

    def address(self, reference: nodes.Element) -> str:
        """Where a link leads, seen from anywhere."""
        uri = reference.get("refuri") or "#" + reference.get("refid", "")
        return urljoin(self._here, uri)


def _escaped(text: str) -> str:
    return _ACTIVE.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """Code in running text."""
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{' '.join(text.split())}{pad}{ticks}" if text else ""


def fence(text: str, language: str = "") -> str:
    """A block of code."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"
