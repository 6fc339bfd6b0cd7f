"""Print an EPUB: ``python -m shardlessons.sphinxext.pdf BOOK.epub BOOK.pdf``.

An EPUB is a list of pages with their styles. On paper they are one document:
a cover, the contents with page numbers, and the pages in their order. It needs
WeasyPrint.
"""

from __future__ import annotations

import argparse
import logging
import posixpath
import sys
import tempfile
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement
from zipfile import ZipFile

_STYLE = Path(__file__).parent / "theme" / "print.css"
_NAMES = {
    "opf": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
    "html": "http://www.w3.org/1999/xhtml",
}
_NAV = "nav.xhtml"


class CannotPrint(Exception):
    """The printer had to leave something out, or to show it wrongly."""


def print_book(epub: Path, pdf: Path) -> None:
    """Print a book.

    Args:
        epub: the book, as :mod:`shardlessons.sphinxext.book` builds it.
        pdf: the file to write.

    Raises:
        CannotPrint: Pango is not installed, a link leads nowhere, a file is
            missing, or the printer does not know what a style asks for.
    """
    try:
        from weasyprint import CSS, HTML
    except OSError as error:  # a machine may lack Pango that only builds pages
        raise CannotPrint(
            f"{error}\nInstall Pango and the fonts: on Debian and Ubuntu, the "
            "packages that .readthedocs.yaml lists under apt_packages"
        ) from error
    complaints: list[str] = []
    listener = logging.Handler(logging.WARNING)
    listener.emit = lambda record: complaints.append(record.getMessage())
    logger = logging.getLogger("weasyprint")
    logger.addHandler(listener)
    try:
        with tempfile.TemporaryDirectory() as folder:
            with ZipFile(epub) as book:
                book.extractall(folder)
            html = HTML(string=one_document(Path(folder)), base_url=f"{folder}/")
            html.write_pdf(pdf, stylesheets=[CSS(_STYLE)])
    finally:
        logger.removeHandler(listener)
    if complaints:
        pdf.unlink(missing_ok=True)
        raise CannotPrint("\n".join(dict.fromkeys(complaints)))


def one_document(folder: Path) -> str:
    """The pages of an unpacked EPUB as one HTML document, ready to be printed."""
    package = ElementTree.parse(folder / "content.opf")
    files = {
        item.attrib["id"]: item.attrib["href"]
        for item in package.iterfind(".//opf:item", _NAMES)
    }
    spine = [
        files[item.attrib["idref"]]
        for item in package.iterfind(".//opf:itemref", _NAMES)
        if item.get("linear") != "no"
    ]
    cover, *pages = spine

    html = Element("html", lang=_said(package, "dc:language"))
    head, body = SubElement(html, "head"), SubElement(html, "body")
    SubElement(head, "title").text = _said(package, "dc:title")
    for name, source in (
        ("author", "dc:creator"),
        ("description", "dc:description"),
        ("dcterms.created", "dc:date"),
        ("dcterms.modified", "dc:date"),
    ):
        SubElement(head, "meta", name=name, content=_said(package, source))
    for href in sorted(href for href in files.values() if href.endswith(".css")):
        SubElement(head, "link", rel="stylesheet", href=href)
    for name in [cover, _NAV, *pages]:
        body.append(_page(folder, name))
    text = ElementTree.tostring(html, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{text}"


def _said(package: ElementTree.ElementTree, name: str) -> str:
    found = package.findtext(f".//{name}", namespaces=_NAMES)
    if not found:
        raise CannotPrint(f"content.opf does not say {name}")
    return found


def _page(folder: Path, name: str) -> Element:
    """A page as a part of the document: no other page has its anchors."""
    body = ElementTree.parse(folder / name).getroot().find("html:body", _NAMES)
    assert body is not None
    for element in list(body.iter()):
        element.tag = element.tag.rpartition("}")[2]  # HTML has no namespaces
        if "id" in element.attrib:
            element.set("id", _anchor(name, element.attrib["id"]))
        if "href" in element.attrib:
            _lead(element, name)
        if "src" in element.attrib and not urlsplit(element.attrib["src"]).scheme:
            element.set("src", _from_root(element.attrib["src"], name))
        if element.tag == "svg" and "style" in element.attrib:
            # WeasyPrint takes it for SVG's attribute, and makes a square.
            style = element.attrib["style"].replace("height:auto", "")
            element.set("style", style)
    for parent in list(body.iter()):
        for place, child in reversed(list(enumerate(parent))):
            if child.tag == "a" and _is_address(child.get("href", "")):
                parent.insert(place + 1, _footnote(child))
    body.tag = "div"
    body.set("class", "contents" if name == _NAV else "page")
    body.set("id", _anchor(name, ""))
    return body


def _anchor(page: str, fragment: str) -> str:
    return f"{PurePosixPath(page).with_suffix('')}--{fragment}"


def _from_root(path: str, page: str) -> str:
    """A path that a page has, from where the book is unpacked."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


def _lead(link: Element, page: str) -> None:
    """Have a link to a page lead to where that is in the document."""
    href = urlsplit(link.attrib["href"])
    if href.scheme or href.netloc:
        return
    target = _from_root(href.path, page) if href.path else page
    link.set("href", f"#{_anchor(target, href.fragment)}")
    to_term = any("std-term" in inner.get("class", "") for inner in link)
    if target != page and page != _NAV and not to_term:
        link.set("class", f"{link.get('class', '')} elsewhere")


def _is_address(href: str) -> bool:
    return urlsplit(href).scheme in ("http", "https")


def _footnote(link: Element) -> Element:
    """The address of a link, which paper cannot follow."""
    note = Element("span", {"class": "address"})
    note.text = link.attrib["href"]
    note.tail, link.tail = link.tail, None
    return note


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m shardlessons.sphinxext.pdf")
    parser.add_argument("epub", type=Path)
    parser.add_argument("pdf", type=Path)
    args = parser.parse_args(arguments)
    try:
        print_book(args.epub, args.pdf)
    except CannotPrint as error:
        sys.exit(f"{args.epub} cannot be printed:\n{error}")


if __name__ == "__main__":
    main()
