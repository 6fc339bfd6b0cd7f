"""``{check}`written <expression>```: a value in running text, asked again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util.docutils import SphinxRole

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._page import NoKernel, page_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ERROR = re.compile(r"\w+(?:Error|Exception|Warning): ")


class fact(nodes.inline):  # noqa: N801 - docutils names nodes so
    """A proven value; ``asked`` is the expression it was compared with."""


class CheckRole(SphinxRole):
    """State a value and have the build compare it with an expression's."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        page = page_of(self.env, self.inliner.document)
        line, column = page.locate(f"`{self.text}`", self.lineno)
        # In a table a vertical bar is written \|.
        written, separator, rest = self.text.replace("\\|", "|").partition(" <")
        written = written.strip()
        if not separator or not rest.endswith(">"):
            page.fail(
                "check",
                line,
                f"a check needs `value <expression>`, this one is `{self.text}`",
            )
            return [_node(written, "")], []
        expression = rest.removesuffix(">")
        if _rules.proves_nothing(written):
            page.fail("check", line, f"`{written}` holds for any value: write it out")
        try:
            answer = page.ask("check", written, expression)
        except NoKernel as error:
            page.fail("check", line, f"cannot check `{written}`: {error}")
            return [_node(written, expression)], []
        stated = page.record(
            "check", line, expression, written, answer, column=column
        )
        if answer.raised:
            page.fail(
                "raised",
                line,
                f"`{expression}` raises {answer.found} (written: {written})",
            )
        elif answer.holds is False:
            page.fail(
                "check",
                line,
                f"written: {written}, found: {answer.found}, asked: {expression}",
            )
        return [_node(written, expression, stated.anchor)], []


def _node(written: str, expression: str, *anchors: str) -> fact:
    node = fact(written, "", asked=expression, classes=["fact"], facts=anchors)
    plain = written.replace(",", "").replace(".", "").isdigit() or " " in written
    is_code = not plain or "(" in written or "[" in written or _ERROR.match(written)
    node += nodes.literal(written, written) if is_code else nodes.Text(written)
    return node


def _visit_html(self: Any, node: fact) -> None:
    self.body.append(
        self.starttag(node, "span", "", title=f"asked: {node['asked']}")
    )


def _depart_html(self: Any, node: fact) -> None:
    self.body.append("</span>")


def _visit_other(self: Any, node: fact) -> None:
    self.visit_inline(node)


def _depart_other(self: Any, node: fact) -> None:
    self.depart_inline(node)


def setup_check(app: Sphinx) -> None:
    """Add the ``check`` role."""
    other = (_visit_other, _depart_other)
    app.add_node(
        fact,
        html=(_visit_html, _depart_html),
        latex=other,
        text=other,
        man=other,
        texinfo=other,
    )
    app.add_role("check", CheckRole())
