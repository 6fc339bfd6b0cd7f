"""Code that runs alone: each later block is copied with the page's prelude."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

TAG = "prelude"


class runnable_block(nodes.literal_block):  # noqa: N801 - docutils names nodes so
    """A block of code; ``prelude`` is copied with it, and not shown."""


class CopyWithPrelude(SphinxPostTransform):
    """Give the blocks below a cell tagged ``prelude`` that cell's source."""

    default_priority = 200  # after myst-nb has hidden cells (199)
    formats = ("html",)

    def run(self, **_: Any) -> None:
        prelude = ""
        for block in list(self.document.findall(nodes.literal_block)):
            cell = _cell_of(block)
            if cell is not None and TAG in cell["cell_metadata"].get("tags", []):
                prelude = block.astext()
            elif prelude and cell is not None:
                _replace(block, prelude)
            elif prelude and block.get("language") == "pycon":
                _replace(block, _as_examples(prelude))


def _cell_of(block: nodes.literal_block) -> nodes.Element | None:
    """The cell whose source, not output, a block is."""
    source = block.parent
    while source is not None and source.get("nb_element") != "cell_code_source":
        source = source.parent
    while source is not None and source.get("nb_element") != "cell_code":
        source = source.parent
    return source


def _as_examples(source: str) -> str:
    """Python source as ``>>>`` lines, which copying strips again."""
    return "\n".join(
        f"... {line}" if line.startswith((" ", ")")) else f">>> {line}"
        for line in source.splitlines()
        if line.strip()
    )


def _replace(block: nodes.literal_block, prelude: str) -> None:
    runnable = runnable_block(
        block.rawsource, *block.children, **block.attributes, prelude=prelude
    )
    runnable.source, runnable.line = block.source, block.line
    block.replace_self(runnable)


def _visit_html(self: Any, node: runnable_block) -> None:
    start = len(self.body)
    try:
        self.visit_literal_block(node)
    except nodes.SkipNode:
        pass
    html = "".join(self.body[start:])
    if self.builder.embedded:  # in a book, nothing is copied by a button
        raise nodes.SkipNode
    hidden = f'<span class="prelude" hidden>{escape(node["prelude"])}\n\n</span>'
    self.body[start:] = [html.replace("<pre>", f"<pre>{hidden}", 1)]
    raise nodes.SkipNode


def setup_prelude(app: Sphinx) -> None:
    """Add the transform and the node it makes."""
    app.add_node(runnable_block, html=(_visit_html, None))
    app.add_post_transform(CopyWithPrelude)
