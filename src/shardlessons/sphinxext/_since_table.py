"""``{since-when}``: the facts that changed, by page and by release of jax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jinja2
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from shardlessons.sphinxext import _history
from shardlessons.sphinxext._history import History, Stretch
from shardlessons.sphinxext._ledger import Fact, ledger_of
from shardlessons.sphinxext._since import (
    FILE,
    SHOWS,
    changed_on,
    history_of,
    others,
    row_id,
)
from shardlessons.sphinxext._site import BUILDERS
from shardlessons.sphinxext.downloads._inline import code

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_CODE = 72  # of a line that stands for a fact
# What a cell says that has no room for its value.
_LABELS = {
    "": "as on the page",
    "availability": "not there",
    "error class": "another error",
    "value": "another value",
    "wording": "other words",
}


class since_table(nodes.General, nodes.Element):  # noqa: N801 - docutils names nodes so
    """Where the tables go, once all pages have been read."""


@dataclass(frozen=True)
class Cell:
    """A stretch of releases in a fact's row."""

    stretch: Stretch
    span: int
    kind: str  # how it differs from the newest; empty for that one

    @property
    def text(self) -> str:
        return self.stretch.value.text

    @property
    def label(self) -> str:
        return "not answered" if self.is_unanswered else _LABELS[self.kind]

    @property
    def is_unanswered(self) -> bool:
        return self.stretch.value.status == "unanswered"

    @property
    def is_short(self) -> bool:
        fits = "\n" not in self.text and len(self.text) <= 6 + 9 * self.span
        return fits and not self.is_unanswered


@dataclass(frozen=True)
class Row:
    """A fact that changed."""

    id: str
    link: str
    code: str
    section: str
    kinds: list[str]
    cells: list[Cell]

    @property
    def is_long(self) -> bool:
        return not all(cell.is_short for cell in self.cells)


class SinceWhenDirective(SphinxDirective):
    """Show what ``since.json`` has."""

    def run(self) -> list[nodes.Node]:
        if history_of(self.env) is None:
            raise self.error(f"there is no {FILE} beside the pages: run nox -s versions")
        self.env.note_dependency(str(self.env.srcdir / FILE))
        ledger_of(self.env).set_table(self.env.docname)
        return [since_table()]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    history = history_of(app.env)
    for node in list(doctree.findall(since_table)):
        if history is None or app.builder.format != "html":
            node.replace_self([])
            continue
        groups = [
            (page, app.env.titles[page].astext(), rows)
            for page in _in_order(app.env, history)
            if (rows := _rows(app, docname, page, history))
        ]
        content = {
            "releases": list(history.releases),
            "without": history.releases,
            "groups": groups,
            # Not every reader of a book can unfold a table.
            "is_open": app.builder.name not in BUILDERS,
        }
        forms = {"html": "since.html", "markdown": "since.md"}
        node.replace_self(
            [
                nodes.raw("", _template(name).render(content), format=form)
                for form, name in forms.items()
            ]
        )


def _in_order(env: BuildEnvironment, history: History) -> list[str]:
    """The pages that the history has, as a reader turns them."""
    ordered = list(env.collect_relations())
    pages = [page for page in history.pages if page in env.found_docs]
    return sorted(pages, key=lambda p: (ordered.index(p) if p in ordered else -1, p))


def _rows(app: Sphinx, docname: str, page: str, history: History) -> list[Row]:
    changed = changed_on(app.env, page)
    if not changed:
        return []
    uri = app.builder.get_relative_uri(docname, page)
    sections = _sections(app.env.get_doctree(page))
    return [
        Row(
            id=row_id(page, anchor),
            link=f"{uri}#{anchor}",
            code=_code(fact),
            section=sections.get(anchor, ""),
            kinds=_history.kinds_of(stretches),
            cells=_cells(stretches, history),
        )
        for anchor, (fact, stretches) in changed.items()
    ]


def _cells(stretches: tuple[Stretch, ...], history: History) -> list[Cell]:
    newest = stretches[-1]
    kinds = {stretch: kind for stretch, kind in others(stretches, newest)}
    return [Cell(s, history.span(s), kinds.get(s, "")) for s in stretches]


def _code(fact: Fact) -> str:
    """A line that stands for a fact: of a cell the last, which shows it."""
    line = fact.expression.rstrip().split("\n")[-1].strip()
    return line if len(line) <= _CODE else f"{line[:_CODE].rstrip()} …"


def _sections(doctree: nodes.document) -> dict[str, str]:
    """The heading above each fact, by anchor."""
    found: dict[str, str] = {}
    for node in doctree.findall(nodes.Element):
        for anchor in node.get(SHOWS, ()):
            above = node.parent
            while above is not None and not isinstance(above, nodes.section):
                above = above.parent
            if above is not None:
                found[anchor] = above[0].astext()
    return found


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("shardlessons.sphinxext"),
        autoescape=jinja2.select_autoescape(["html"]),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    return environment.get_template(name)


def setup_since_table(app: Sphinx) -> None:
    """Add ``since-when``."""
    app.add_node(since_table)
    app.add_directive("since-when", SinceWhenDirective)
    app.connect("doctree-resolved", _fill)
