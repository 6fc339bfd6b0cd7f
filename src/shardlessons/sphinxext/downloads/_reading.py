"""From what Sphinx read to a :class:`Page`."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from myst_parser.config.main import read_topmatter
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from shardlessons.sphinxext._ledger import ledger_of
from shardlessons.sphinxext._platforms import platforms_of
from shardlessons.sphinxext._site import address
from shardlessons.sphinxext.downloads._blocks import SHOWN, Blocks
from shardlessons.sphinxext.downloads._inline import Inline
from shardlessons.sphinxext.downloads._needs import needs_of
from shardlessons.sphinxext.downloads._pieces import (
    CannotDownload,
    Code,
    Page,
    Piece,
    Prose,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_EXTRAS = "extras"


class KeepData(SphinxPostTransform):
    """Keep all media types of a value that a page shows in one of them."""

    default_priority = 3  # before myst-nb chooses (4)

    def run(self, **_: Any) -> None:
        for bundle in self.document.findall(nodes.container):
            if bundle.get("nb_element") != "mime_bundle":
                continue
            data = {
                part["mime_type"]: part.astext()
                for part in bundle.children
                if isinstance(part[0], nodes.raw | nodes.literal_block)
            }
            for part in bundle.children:
                part[0][SHOWN] = data


def page_of(
    app: Sphinx, name: str, doctree: nodes.document, *, collapsed: bool
) -> Page:
    """A page, as the build resolved it.

    Args:
        app: the build.
        name: the page's.
        doctree: the page's, as it is written.
        collapsed: whether the answer to a question opens on a click.

    Raises:
        CannotDownload: something on it has no form in a file.
    """
    here = address(app, app.builder.get_target_uri(name))
    source = Path(app.env.doc2path(name)).read_text("utf-8")
    blocks = Blocks(
        Inline(here, address(app, "_downloads/")),
        _numbers(app, name),
        source.splitlines(),
        collapsed=collapsed,
    )
    title, rest = _titled(list(blocks.pieces(doctree)))
    pieces = tuple(_joined(rest))
    cells = [piece.source for piece in pieces if isinstance(piece, Code)]
    asked = ledger_of(app.env).asked(name)
    answered = asked[0] if asked else ""
    needs = needs_of(
        cells,
        _files(app, name, doctree),
        answered=answered,
        extras=_front_matter(source).get(_EXTRAS, ()),
        platforms=platforms_of(source),
    )
    return Page(title, here, answered, needs, pieces)


def _titled(pieces: list[Piece]) -> tuple[str, list[Piece]]:
    """The title of a page, which is the heading that it begins with, and the rest."""
    match pieces:
        case [Prose(text), *rest] if text.startswith("# "):
            return text.removeprefix("# "), rest
    raise CannotDownload(
        "it begins with no heading, which is the title of its files: write one "
        "above all else, as in # A page"
    )


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces with the prose between two cells as one."""
    for is_prose, group in groupby(pieces, lambda piece: isinstance(piece, Prose)):
        if is_prose:
            yield Prose("\n\n".join(piece.text for piece in group))
        else:
            yield from group


def _numbers(app: Sphinx, name: str) -> Any:
    """What says the number of a figure or table of a page."""
    numbers = app.env.toc_fignumbers.get(name, {})
    kinds = {nodes.figure: "figure", nodes.table: "table"}

    def number(node: nodes.Element) -> str:
        kind = kinds[type(node)]
        for name in node["ids"]:
            if found := numbers.get(kind, {}).get(name):
                return app.config.numfig_format[kind] % ".".join(map(str, found))
        return ""

    return number


def _front_matter(source: str) -> dict[str, Any]:
    return read_topmatter(source) or {}


def _files(app: Sphinx, name: str, doctree: nodes.document) -> dict[str, str]:
    """The Python files that a page offers, by path from the folder of pages."""
    return {
        path: (Path(app.srcdir) / path).read_text("utf-8")
        for path in sorted(_offered(name, doctree))
    }


def _offered(name: str, doctree: nodes.document) -> Iterator[str]:
    for link in doctree.findall(addnodes.download_reference):
        target = link["reftarget"]
        if target.endswith(".py") and "filename" in link:
            folder = "" if target.startswith("/") else posixpath.dirname(name)
            yield posixpath.normpath(posixpath.join(folder, target.lstrip("/")))
