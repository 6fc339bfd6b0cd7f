"""The pages as a book: an EPUB that is valid, and the same on paper."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pypdf
import pytest
from packages import missing
from site_builder import CONF, DATE, Build, build, small_site

from shardlessons.sphinxext import pdf

HTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"

CONFIGURED = f"""{CONF}
extensions += ["shardlessons.sphinxext.book"]
project = epub_basename = epub_identifier = epub_uid = "book"
author = epub_contributor = epub_copyright = "nobody"
version = release = "1"
numfig = True
myst_heading_anchors = 2
epub_theme = "shardlessons_book"
epub_cover = ("_static/cover.svg", "cover.html")
epub_description = "A small book."
epub_tocscope = "includehidden"
epub_use_index = False
epub_show_urls = "no"
"""

INDEX = """\
# Twelve

```{code-cell} python
:tags: [prelude]
from jax.sharding import NamedSharding, PartitionSpec as P
from shardlessons import cpu_mesh, draw

mesh = cpu_mesh({"data": 2})
```

The answer is {check}`262,144 <512 * 512>`, and [next](more/next.md#a-table) is why.
See {numref}`figure-it` and [JAX](https://docs.jax.dev/).

```{code-cell} python
---
mystnb:
  figure:
    name: figure-it
    caption: |
      Two & two: {check}`P('data',) <P("data")>`.
---
draw(NamedSharding(mesh, P("data")), (4,))
```

```{expect}
...4 elements in 2 tiles of 2 on 2 devices
elements 0-1 on 0
elements 2-3 on 1
mesh data=2: devices 0-1, row by row
```

:::{question} Is it 12?
Yes.

```pycon
>>> 3 * 4
12
```
:::

```{toctree}
:hidden:
:numbered: 1

more/next
```
"""

NEXT = """\
# Next to it

[Back](../index.md).

![A square](square.svg)

## A table

:::{table} Small & plain.
:name: table-it

| a | b |
|---|--:|
| 1 | 2 |
:::
"""


SQUARE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" width="9" height="9">
<rect width="9" height="9"/></svg>
"""


def bind(docs: Path, out: Path) -> Build:
    flags = ("-W", "-b", "epub", "-d", str(out.with_suffix(".doctrees")))
    return build(docs, out, *flags, SOURCE_DATE_EPOCH=DATE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("book")
    docs = small_site(folder, INDEX)
    (docs / "more").mkdir()
    (docs / "more/next.md").write_text(NEXT, "utf-8")
    (docs / "more/square.svg").write_text(SQUARE, "utf-8")
    (docs / "conf.py").write_text(CONFIGURED, "utf-8")
    made = bind(docs, folder / "out")

    assert "" == made.stderr
    assert 0 == made.code
    return made


@pytest.fixture(scope="module")
def printed(built: Build) -> pypdf.PdfReader:
    if gone := missing():
        pytest.skip(f"printing needs {', '.join(gone)}, and only root can install them")
    file = built.out / "book.pdf"
    pdf.print_book(built.out / "book.epub", file)
    return pypdf.PdfReader(file)


def pages(book: ZipFile) -> dict[str, ElementTree.Element]:
    """Each page, which has to be XML to be read at all."""
    return {
        name: ElementTree.fromstring(book.read(name))
        for name in book.namelist()
        if name.endswith((".xhtml", ".opf", ".ncx", ".svg"))
    }


def text(printed: pypdf.PdfReader) -> str:
    return " ".join(" ".join(p.extract_text().split()) for p in printed.pages)


# --- The EPUB


def test_the_kind_of_file_stands_first_and_is_not_compressed(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        first, *others = book.infolist()

    assert ("mimetype", ZIP_STORED) == (first.filename, first.compress_type)
    assert len(others) == len({entry.filename for entry in others})


def test_every_file_is_listed_and_every_listed_file_is_there(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        names = set(book.namelist())
        package = pages(book)["content.opf"]
    listed = {item.attrib["href"] for item in package.iter(f"{OPF}item")}

    assert names - {"mimetype", "META-INF/container.xml", "content.opf"} == listed
    assert not [name for name in names if name.endswith((".js", ".html", ".json"))]


def test_every_link_leads_to_something(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        found = pages(book)
    ids = {
        name: [e.attrib["id"] for e in page.iter() if "id" in e.attrib]
        for name, page in found.items()
    }

    def leads_to(page: str, path: str) -> Path:
        here = built.out.resolve() / page
        return (here.parent / unquote(path)).resolve() if path else here

    links = [
        (name, urlsplit(element.get("href") or element.get("src") or ""))
        for name, page in found.items()
        if name.endswith(".xhtml")
        for element in page.iter()
    ]
    lost = [
        (name, link.geturl())
        for name, link in links
        if not link.scheme
        and (link.path or link.fragment)
        and (
            not (file := leads_to(name, link.path)).exists()
            or link.fragment
            and link.fragment not in ids[str(file.relative_to(built.out.resolve()))]
        )
    ]

    assert [] == lost
    assert ("index.xhtml", "more/next.xhtml#a-table") in [
        (name, link.geturl()) for name, link in links
    ]
    assert all(len(set(one)) == len(one) for one in ids.values())


def test_a_reader_is_told_what_a_page_holds(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        package = pages(book)["content.opf"]
    properties = {
        item.attrib["href"]: item.get("properties")
        for item in package.iter(f"{OPF}item")
        if item.get("properties")
    }

    assert properties == {
        "nav.xhtml": "nav",
        "index.xhtml": "svg",
        "_static/cover.svg": "cover-image",
    }


def test_html_that_is_no_xml_is_reported(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# Raw <br>\n")
    (docs / "conf.py").write_text(CONFIGURED, "utf-8")
    made = bind(docs, tmp_path / "out")

    assert 1 == made.code
    assert "index.md: WARNING: no reader opens the page" in made.stderr
    assert "mismatched tag: line" in made.stderr


def test_questions_are_open_and_nothing_is_hidden(built: Build) -> None:
    page = ElementTree.parse(built.out / "index.xhtml")
    tags = {element.tag for element in page.iter()}
    (question,) = (e for e in page.iter() if "question" in e.get("class", "").split())
    said = " ".join("".join(question.itertext()).split())

    assert said == "Is it 12? Yes. >>> 3 * 4 12"
    assert not tags & {f"{HTML}details", f"{HTML}script", f"{HTML}button"}
    assert not [e for e in page.iter() if "hidden" in e.attrib]


def test_the_cover_says_what_is_proven(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        cover = "".join(pages(book)["epub-cover.xhtml"].itertext())

    assert re.search(r"4 facts, asked of jax [\d.]+ on cpu on 2026-01-01\.", cover)


def test_the_contents_have_the_numbers_of_the_chapters(built: Build) -> None:
    with ZipFile(built.out / "book.epub") as book:
        nav = pages(book)["nav.xhtml"]
    entries = [link.text for link in nav.iter(f"{HTML}a")]

    assert entries == ["Twelve", "1. Next to it", "A table"]


def test_two_books_of_one_date_are_the_same(built: Build, tmp_path: Path) -> None:
    again = bind(built.out.parent / "docs", tmp_path / "again")
    first, second = ((one.out / "book.epub").read_bytes() for one in (built, again))

    assert 0 == again.code
    assert first == second


# --- On paper


def test_the_bookmarks_are_the_headings(printed: pypdf.PdfReader) -> None:
    def titles(outline: list[object]) -> list[object]:
        return [
            titles(one) if isinstance(one, list) else one["/Title"] for one in outline
        ]

    assert titles(printed.outline) == ["Twelve", "1. Next to it", ["A table"]]


def test_paper_has_what_the_page_has(printed: pypdf.PdfReader) -> None:
    said = text(printed)

    assert "The answer is 262,144, and next (page 4) is why." in said
    assert "Fig. 1 Two & two: P('data',)." in said
    assert "Table 1.1 Small & plain." in said
    assert "Is it 12? Yes. >>> 3 * 4 12" in said
    assert "https://docs.jax.dev/" in said
    assert "book" == printed.metadata.title
    assert "nobody" == printed.metadata.author


def test_every_font_is_in_the_file(printed: pypdf.PdfReader) -> None:
    fonts = [
        descendant.get_object()["/FontDescriptor"].get_object()
        for page in printed.pages
        for font in page["/Resources"].get("/Font", {}).values()
        for descendant in font.get_object()["/DescendantFonts"].get_object()
    ]
    names = {re.sub(r"^/\w+\+|[-,].*$", "", font["/FontName"]) for font in fonts}

    assert all({"/FontFile2", "/FontFile3"} & set(font) for font in fonts)
    assert names


def test_a_link_to_nothing_is_not_printed(built: Build, tmp_path: Path) -> None:
    if gone := missing():
        pytest.skip(f"printing needs {', '.join(gone)}, and only root can install them")
    broken = tmp_path / "broken.epub"
    with ZipFile(built.out / "book.epub") as book, ZipFile(broken, "w") as copy:
        for name in book.namelist():
            content = book.read(name).replace(b"next.xhtml#a-table", b"next.xhtml#gone")
            copy.writestr(name, content)

    with pytest.raises(pdf.CannotPrint, match="No anchor #more/next--gone"):
        pdf.print_book(broken, tmp_path / "broken.pdf")
    assert not (tmp_path / "broken.pdf").exists()
