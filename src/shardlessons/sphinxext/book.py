"""The pages as a book: an EPUB that readers and the standard take.

Add ``shardlessons.sphinxext.book`` to ``extensions``, and to the configuration
of Sphinx's own EPUB builder, which this one is built on::

    epub_theme = "shardlessons_book"
    epub_cover = ("_static/cover.svg", "cover.html")  # drawn by the build
    epub_tocscope = "includehidden"

:mod:`shardlessons.sphinxext.pdf` prints the same file.
"""

from __future__ import annotations

import re
import textwrap
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from docutils import nodes
from sphinx.builders.epub3 import Epub3Builder
from sphinx.util import logging
from sphinx_design.dropdown import dropdown_main, dropdown_title

from shardlessons.sphinxext._ledger import ledger_of

if TYPE_CHECKING:
    from collections.abc import Set

    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

_THEME = Path(__file__).parent / "theme"
_OPF = "http://www.idpf.org/2007/opf"
_COVER = "_static/cover.svg"
_STYLE = re.compile(r'style="[^"]*"')  # of a picture in a page


class BookBuilder(Epub3Builder):
    """Sphinx's builder of EPUBs, and what it leaves out of them."""

    def prepare_writing(self, docnames: Set[str]) -> None:
        super().prepare_writing(docnames)
        self.domain_indices = []  # the contents name what the reference has

    def copy_static_files(self) -> None:
        """Take the theme's style alone: the site's scripts run nowhere here."""
        (self.outdir / "_static").mkdir(parents=True, exist_ok=True)
        self.create_pygments_style_file()
        self.copy_theme_static_files(self.globalcontext.copy())

    def handle_finish(self) -> None:
        title = self.env.titles[self.config.root_doc].astext()
        cover = _cover(self.config.epub_title, title)
        (self.outdir / _COVER).write_text(cover, "utf-8")
        super().handle_finish()

    def get_toc(self) -> None:
        """List the chapters with their numbers, as the pages have them."""
        super().get_toc()
        for entry in self.refnodes:
            page = entry["refuri"].removesuffix(self.out_suffix)
            if number := self.env.toc_secnumbers.get(page, {}).get(""):
                entry["text"] = f"{'.'.join(map(str, number))}. {entry['text']}"

    def build_content(self) -> None:
        """Say of each file what a reader has to know before it opens it."""
        super().build_content()
        ElementTree.register_namespace("", _OPF)
        ElementTree.register_namespace("dc", "http://purl.org/dc/elements/1.1/")
        package = ElementTree.parse(self.outdir / "content.opf")
        for item in package.iterfind(f".//{{{_OPF}}}item"):
            name = item.attrib["href"]
            if name == _COVER:
                item.set("properties", "cover-image")
            elif (page := name.removesuffix(self.out_suffix)) in self.env.found_docs:
                if self._has_picture(page):
                    item.set("properties", "svg")
        package.write(
            self.outdir / "content.opf", encoding="utf-8", xml_declaration=True
        )

    def _has_picture(self, page: str) -> bool:
        try:
            tree = ElementTree.parse(self.outdir / f"{page}{self.out_suffix}")
        except ElementTree.ParseError as error:
            said = "no reader opens the page, since its HTML is no XML: %s"
            logger.warning(said, error, location=page, type="epub", subtype="xml")
            return False
        return next(tree.iter("{http://www.w3.org/2000/svg}svg"), None) is not None

    def build_epub(self) -> None:
        """Date no file in the archive, so that the same pages are the same book."""
        super().build_epub()
        file = self.outdir / f"{self.config.epub_basename}.epub"
        with ZipFile(file) as book:
            contents = {name: book.read(name) for name in book.namelist()}
        with ZipFile(file, "w") as book:
            for name, content in contents.items():
                how = ZIP_STORED if name == "mimetype" else ZIP_DEFLATED
                book.writestr(ZipInfo(name), content, how)


def _cover(title: str, subtitle: str) -> str:
    """The cover: the title, and the package's picture of a sharding."""
    from jax.sharding import NamedSharding, PartitionSpec

    from shardlessons import cpu_mesh, draw

    mesh = cpu_mesh({"data": 4, "model": 2})
    picture = draw(NamedSharding(mesh, PartitionSpec("data", "model")), (8, 16)).svg
    place = 'x="60" y="400" width="480" height="340"'
    lines = textwrap.wrap(subtitle, 24)
    texts = "".join(
        f'<text x="60" y="{190 + 40 * i}" font-size="30">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 800" '
        'width="600" height="800" font-family="sans-serif" fill="#222832">'
        '<rect width="600" height="800" fill="#fff"/>'
        '<rect width="600" height="16" fill="#0072b2"/>'
        f'<text x="60" y="130" font-size="56" font-weight="700">{escape(title)}</text>'
        f'{texts}<g color="#222832">{_STYLE.sub(place, picture, count=1)}</g></svg>\n'
    )


def _imprint(app: Sphinx, page: str, _: str, context: dict[str, Any], *__: Any) -> None:
    """Tell the cover what the book proves."""
    if not isinstance(app.builder, BookBuilder) or page != "epub-cover":
        return
    ledger = ledger_of(app.env)
    facts = ledger.facts()
    asked = {ledger.asked(fact.page) for fact in facts} - {None}
    context["subtitle"] = app.env.titles[app.config.root_doc].astext()
    context["author"] = app.config.epub_author
    context["facts"] = len(facts)
    context["releases"] = sorted({versions for versions, _ in asked if versions})
    context["days"] = sorted({day for _, day in asked})


def _open_questions(app: Sphinx, doctree: nodes.document, _: str) -> None:
    """Show each question with its answer: not every reader can unfold one."""
    if not isinstance(app.builder, BookBuilder):
        return
    for dropdown in list(doctree.findall(dropdown_main)):
        title, *answer = dropdown.children
        assert isinstance(title, dropdown_title)
        words = next(title.findall(lambda n: "sd-summary-text" in n.get("classes", ())))
        opened = nodes.container("", classes=["question"], ids=dropdown["ids"])
        opened += nodes.paragraph("", "", *words.children, classes=["asked"])
        opened += answer
        dropdown.replace_self(opened)


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the place of Sphinx's builder, and bring the book's theme."""
    app.add_builder(BookBuilder, override=True)
    app.add_html_theme("shardlessons_book", str(_THEME))
    app.connect("html-page-context", _imprint)
    app.connect("doctree-resolved", _open_questions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
