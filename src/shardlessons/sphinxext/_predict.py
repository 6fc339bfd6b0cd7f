"""``{predict}`heading```: a column that a reader may predict, then reveal.

The role marks the heading of a column of answers, which are its checks. The
page's script does the rest; without it the table is as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxRole

from shardlessons.sphinxext._check import fact
from shardlessons.sphinxext._page import page_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What the script looks for.
_CLASS = "predict"


class PredictRole(SphinxRole):
    """A column's heading, as its text."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        page = page_of(self.env, self.inliner.document)
        heading = nodes.inline(self.text, self.text, classes=[_CLASS])
        heading.line, _ = page.locate(f"`{self.text}`", self.lineno)
        return [heading], []


class HoldPredicted(SphinxTransform):
    """Report each column that gives nothing to choose from."""

    default_priority = 700

    def apply(self, **_: Any) -> None:
        page = page_of(self.env, self.document)
        for heading in self.document.findall(nodes.inline):
            if _CLASS in heading["classes"]:
                for said in _faults(heading):
                    page.fail("predict", heading.line, said)


def _faults(heading: nodes.inline) -> Iterator[str]:
    name = heading.astext()
    entry = heading.parent
    while entry is not None and not isinstance(entry, nodes.entry):
        entry = entry.parent
    if entry is None or not isinstance(entry.parent.parent, nodes.thead):
        yield f"{{predict}} marks a column in the head of a table, and `{name}` is in none"
        return
    column = entry.parent.index(entry)
    if column == 0:
        yield f"{{predict}} marks answers, and `{name}` is what they are asked about"
    values: dict[str, None] = {}
    for row in _body(entry):
        if len(row) != len(entry.parent):
            yield f"the column `{name}` is in a table with cells that span others"
            return
        facts = [each.astext() for each in row[column].findall(fact)]
        values |= dict.fromkeys(facts)
        # An empty cell asks nothing.
        if len(facts) != 1 and row[column].astext().strip():
            yield (
                f"a cell of the column `{name}` needs one {{check}}, and the one of "
                f"`{row[0].astext()}` has {len(facts)}"
            )
    if len(values) < 2:
        found = ", ".join(values) or "none"
        yield f"the column `{name}` needs two values to choose from, and has: {found}"


def _body(entry: nodes.entry) -> Iterator[nodes.row]:
    """The rows below a cell of a table's head."""
    group = entry.parent.parent.parent
    for body in group.findall(nodes.tbody):
        yield from body.findall(nodes.row)


def _add_files(app: Sphinx) -> None:
    app.add_css_file("predict.css")
    app.add_js_file("predict.js", loading_method="defer")


def setup_predict(app: Sphinx) -> None:
    """Add the ``predict`` role and the script behind it."""
    app.add_role("predict", PredictRole())
    app.add_transform(HoldPredicted)
    app.connect("builder-inited", _add_files)
