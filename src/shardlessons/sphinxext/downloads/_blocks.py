"""A page's doctree as prose and code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from textwrap import indent

from docutils import nodes

from shardlessons.sphinxext._page import first_line
from shardlessons.sphinxext.downloads._inline import (
    ByClass,
    Inline,
    UnknownNode,
    fence,
)
from shardlessons.sphinxext.downloads._pieces import (
    Code,
    Output,
    Piece,
    Printed,
    Prose,
    Raised,
    Shown,
)

SHOWN = "shown"  # on a node that stands for a value, its data by media type
_ASKED = re.compile(r"\{eval:figure\}\s+(\S.*)")


class Blocks(ByClass):
    """Writes a page piece by piece.

    Args:
        inline: writes its running text.
        number: says the number of a figure or table, as ``Figure 1.2``; empty
            if it has none.
        lines: the lines of the page's source.
        collapsed: whether the answer to a question opens on a click.
    """

    def __init__(
        self,
        inline: Inline,
        number: Callable[[nodes.Element], str],
        lines: list[str],
        *,
        collapsed: bool = False,
    ) -> None:
        self._inline = inline
        self._number = number
        self._lines = lines
        self._collapsed = collapsed
        self._level = 0

    def pieces(self, several: Iterable[nodes.Node]) -> Iterator[Piece]:
        """What nodes are, one after the other: all in a node, say."""
        for child in several:
            for piece in self.method("block", child)(child):
                if not isinstance(piece, Prose) or piece.text:
                    yield piece

    def text(self, several: Iterable[nodes.Node]) -> str:
        """What nodes are, where no cell can be: its code is shown."""
        return "\n\n".join(map(shown_as_text, self.pieces(several)))

    # --- Structure

    def block_container(self, node: nodes.Element) -> Iterator[Piece]:
        if node.get("nb_element") == "cell_code":
            yield from self._cell(node)
        elif "since-below" in node["classes"]:
            return
        elif node.get("design_component") == "card":
            yield Prose(self._card(node))
        else:
            yield from _lists(self.pieces(node))

    block_compound = block_container
    block_glossary = block_container
    block_PassthroughTextElement = block_container

    def block_section(self, node: nodes.Element) -> Iterator[Piece]:
        self._level += 1
        yield from self.pieces(node)
        self._level -= 1

    def block_title(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(f"{'#' * self._level} {self._inline.line(node)}")

    def block_Invisible(self, node: nodes.Element) -> Iterator[Piece]:
        yield from ()

    block_meta = block_Invisible
    block_target = block_Invisible
    block_index = block_Invisible
    block_toctree = block_Invisible

    def block_raw(self, node: nodes.Element) -> Iterator[Piece]:
        if SHOWN in node:
            yield Code("", (Shown(node[SHOWN]),))
        elif "markdown" in node["format"].split():
            yield Prose(node.astext().strip())

    # --- Text

    def block_paragraph(self, node: nodes.Element) -> Iterator[Piece]:
        if "since-below" not in node["classes"]:
            yield Prose(self._inline.paragraph(node))

    def block_compact_paragraph(self, node: nodes.Element) -> Iterator[Piece]:
        if not isinstance(node[-1], nodes.bullet_list):
            yield from self.block_paragraph(node)
            return
        *titles, entries = node.children
        for title in titles:
            yield Prose(f"**{self._inline.line(title)}**")
        yield from self.block_bullet_list(entries)

    def block_reference(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(self._inline.inline_reference(node))

    def block_line_block(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose("<br>\n".join(map(self._inline.line, node.children)))

    def block_rubric(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(f"**{self._inline.line(node)}**")

    def block_bullet_list(self, node: nodes.Element) -> Iterator[Piece]:
        yield self._list(node, ["-"] * len(node))

    def block_enumerated_list(self, node: nodes.Element) -> Iterator[Piece]:
        start = node.get("start", 1)
        yield self._list(node, [f"{start + i}." for i in range(len(node))])

    def _list(self, node: nodes.Element, marks: list[str]) -> Prose:
        items = [
            _item(mark, self.text(item))
            for mark, item in zip(marks, node.children, strict=True)
        ]
        gap = "\n\n" if any("\n\n" in item for item in items) else "\n"
        return Prose(gap.join(items))

    def block_definition_list(self, node: nodes.Element) -> Iterator[Piece]:
        items = []
        for item in node.children:
            terms = [c for c in item.children if isinstance(c, nodes.term)]
            named = ", ".join(f"**{self._inline.line(term)}**" for term in terms)
            items.append(_item("-", f"{named}:{_after(self.text(item[-1]))}"))
        yield Prose("\n".join(items))

    def block_field_list(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(
            "\n".join(
                _item("-", f"**{self._inline.line(name)}**:{_after(self.text(body))}")
                for name, body in (field.children for field in node.children)
            )
        )

    def block_block_quote(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(_quoted(self.text(node)))

    def block_Admonition(self, node: nodes.Element) -> Iterator[Piece]:
        title, rest = type(node).__name__.capitalize(), node.children
        if isinstance(node[0], nodes.title):  # HTML's writer gives all one
            title, *rest = self._inline.line(node[0]), *rest[1:]
        yield Prose(_quoted(f"**{title}**\n\n{self.text(rest)}"))

    def block_literal_block(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(fence(node.astext(), _language(node)))

    def block_doctest_block(self, node: nodes.Element) -> Iterator[Piece]:
        yield Prose(fence(node.astext(), "pycon"))

    # --- Tables and figures

    def block_table(self, node: nodes.Element) -> Iterator[Piece]:
        for title in node.findall(nodes.title):
            yield Prose(self._caption(node, title))
        alignments = [
            _alignment(entry) for entry in next(node.findall(nodes.row)).children
        ]
        rows = [
            [self._entry(entry) for entry in row.children]
            for row in node.findall(nodes.row)
        ]
        rows.insert(1, alignments)
        yield Prose("\n".join(f"| {' | '.join(row)} |" for row in rows))

    def _entry(self, node: nodes.Element) -> str:
        return " ".join(self.text(node).split()).replace("|", r"\|")

    def block_figure(self, node: nodes.Element) -> Iterator[Piece]:
        captions = [c for c in node.children if isinstance(c, nodes.caption)]
        shown = [Shown(c[SHOWN]) for c in node.findall(_is_shown)]
        if shown:
            yield Code(self._asked(node), tuple(shown))
        for image in node.findall(nodes.image):
            yield Prose(self._inline.inline_image(image))
        for caption in captions:
            yield Prose(self._caption(node, caption))
        for legend in node.findall(nodes.legend):
            yield from self.pieces(legend)

    def _asked(self, node: nodes.Element) -> str:
        """The expression whose value a figure shows."""
        found = _ASKED.search(self._lines[(node.line or 1) - 1])
        if found is None:
            raise UnknownNode("a figure shows a value that no {eval:figure} asks for")
        return found[1].strip()

    def _caption(self, node: nodes.Element, caption: nodes.Element) -> str:
        number, text = self._number(node), self._inline.paragraph(caption)
        return f"**{number}** {text}" if number else text

    # --- Cells, questions, cards, documented objects

    def _cell(self, node: nodes.Element) -> Iterator[Piece]:
        source, *outputs = node.children
        (block,) = source.findall(nodes.literal_block)
        text = block.astext()
        near = (node.line or 1) - 3  # myst-nb counts from below
        line = first_line(text.splitlines(), self._lines, near)
        found: list[Output] = []
        for output in outputs:
            for part in output.findall(nodes.FixedTextElement):
                found.append(_output(part))
        yield Code(text, tuple(found), line)
        for figure in node.findall(nodes.figure):
            for caption in figure.findall(nodes.caption):
                yield Prose(self._caption(figure, caption))

    def block_dropdown_main(self, node: nodes.Element) -> Iterator[Piece]:
        title, *answer = node.children
        question = self._inline.line(title)
        body = self.text(answer)
        if self._collapsed:
            # With the empty lines, what is between the tags is Markdown.
            text = (
                f"<details>\n<summary>\n\n**{question}**\n\n</summary>\n\n"
                f"{body}\n\n</details>"
            )
        else:
            text = f"**{question}**\n\n{body}"
        yield Prose(text)

    def _card(self, node: nodes.Element) -> str:
        """An entry of a list, whose title is the card's link."""
        body, title = "", ""
        for part in node.findall(nodes.container):
            if part.get("design_component") == "card-title":
                title = self._inline.line(part)
            elif part.get("design_component") == "card-body":
                body = self.text(c for c in part.children if not _is_title(c))
        link = node[-1].next_node(nodes.reference)
        if link is not None and "sd-stretched-link" in link["classes"]:
            title = f"[{title}]({self._inline.address(link)})"
        return _item("-", f"{title}\n{body}")

    def block_desc(self, node: nodes.Element) -> Iterator[Piece]:
        signature, content = node.children[0], node.children[-1]
        self._level += 1
        yield Prose(f"{'#' * min(self._level, 6)} `{_one_line(signature.astext())}`")
        yield from self.pieces(content)
        self._level -= 1


def shown_as_text(piece: Piece) -> str:
    """A piece in Markdown, a cell with its outputs in fences."""
    if isinstance(piece, Prose):
        return piece.text
    blocks = [fence(piece.source, "python")] if piece.source else []
    blocks += [fence(output.text, "text") for output in piece.outputs]
    return "\n\n".join(blocks)


def _is_shown(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Element) and SHOWN in node


def _is_title(node: nodes.Node) -> bool:
    return getattr(node, "attributes", {}).get("design_component") == "card-title"


def _output(block: nodes.Element) -> Output:
    if SHOWN in block:
        return Shown(block[SHOWN])
    kind = Raised if "error" in block["classes"] else Printed
    return kind(block.astext().rstrip())


def _language(block: nodes.Element) -> str:
    language = block.get("language", "")
    return "" if language in ("default", "none") else language


def _item(mark: str, text: str) -> str:
    pad = " " * (len(mark) + 1)
    return f"{mark} {indent(text, pad).strip()}"


def _after(text: str) -> str:
    """A text behind a colon; a list or a block starts on a line of its own."""
    return f"\n\n{text}" if text.startswith(("- ", "```", "|")) else f" {text}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _alignment(entry: nodes.Element) -> str:
    for name, rule in (("text-right", "---:"), ("text-center", ":---:")):
        if name in entry["classes"]:
            return rule
    return "---"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _lists(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Join entries of one list, which come one by one."""
    entries: list[str] = []
    for piece in pieces:
        if isinstance(piece, Prose) and piece.text.startswith("- "):
            entries.append(piece.text)
            continue
        if entries:
            yield Prose("\n".join(entries))
            entries = []
        yield piece
    if entries:
        yield Prose("\n".join(entries))
