"""Cut style sheets, pages that load one of each, and how a page is found."""

from __future__ import annotations

import base64
import io
import json
import re
import shutil
from pathlib import Path

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont
from site_builder import ROOT, Build, build

from shardlessons.sphinxext._style import Classes, Names, embed_icons, prune

PAGE = '<div class="card wide"><p id="top" style="color: var(--mine)">Text</p></div>'


def names(page: str = PAGE, script: str = "") -> Names:
    found = Names()
    found.add_page(page)
    found.add_script(script)
    return found


# --- Rules


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("p{a:1}", "p{a:1}"),
        ("em{a:1}", ""),
        (".card > p, .gone p{a:1}", ".card > p{a:1}"),
        (".card.gone{a:1}", ""),
        ("#top:hover::before{a:1}", "#top:hover::before{a:1}"),
        ("#bottom{a:1}", ""),
        ("p:not(.gone){a:1}", "p:not(.gone){a:1}"),
        ("p[data-x=gone]{a:1}", "p[data-x=gone]{a:1}"),
        (".from-script{a:1}", ".from-script{a:1}"),
        ("@media print{.gone{a:1}}", ""),
        ("@media print{.gone{a:1} p{a:1}}", "@media print{p{a:1}}"),
        ("@charset 'utf-8'; /* words */ p{a:1; /* words */ b:2}", "p{a:1;b:2}"),
        ("p{}", ""),
        ("@keyframes turn{to{a:1}}", "@keyframes turn{to{a:1}}"),
    ],
)
def test_a_rule_stays_if_it_can_match(rule: str, kept: str) -> None:
    script = 'element.classList.add("from-script")'

    assert kept == prune(rule, names(script=script))


def test_a_property_stays_if_something_reads_it() -> None:
    sheet = (
        "p{--mine: red; --script: 1px; --unread: var(--as-unread); --as-unread: 2;"
        "--read: var(--deep); --deep: 3; b: var(--read)}"
    )
    pruned = prune(sheet, names(script='getPropertyValue("--script")'))

    assert ["--mine", "--script", "--read", "--deep"] == re.findall(
        r"(--[\w-]+):", pruned
    )


@pytest.mark.parametrize(
    ("sheet", "message"),
    [
        ('@import "other.css";', 'name the style sheet itself: @import "other.css";'),
        (
            "p{a:1}\np",
            "line 2 of a style: EOF reached before {} block for a qualified rule.",
        ),
    ],
)
def test_a_sheet_that_cannot_be_cut_is_refused(sheet: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        prune(sheet, names())


# --- Classes


@pytest.mark.parametrize(
    ("page", "kept"),
    [
        ('<p class="styled gone">', '<p class="styled">'),
        ('<p class="gone" id="top">', '<p id="top">'),
        ('<p class="from-script">', '<p class="from-script">'),
        ('<p class="highlight-python">', '<p class="highlight-python">'),
        ('<p class="md:wide">', '<p class="md:wide">'),
        ('<p title="a > b" class="gone">', '<p title="a > b">'),
        ('class="gone"', 'class="gone"'),
    ],
)
def test_a_class_stays_if_something_names_it(page: str, kept: str) -> None:
    sheet = 'p.styled{a:1}[class*="highlight-"]{b:1}'

    assert kept == Classes(sheet, {"from-script"}).keep(page)


def test_a_script_within_a_page_names_classes() -> None:
    found = names("<script>let kept;</script><p>other</p><style>.too{}</style>")

    assert {"let", "kept", "too"} == found.scripted


# --- Icons


def test_the_font_has_the_icons_that_are_named() -> None:
    theme = Path(pydata_sphinx_theme.__file__).parent
    (font,) = theme.rglob("fa-solid-900.woff2")
    sheet = "".join(
        f"@font-face{{font-family:F;src:url({style}-900.woff2)}}"
        for style in ("fa-solid", "fa-brands")
    )
    icons = '.a{--fa:"\uf002"}.b{--fa:"?"}.c::before{content:"\uf185"}'
    cut = embed_icons(
        icons + sheet, names('<i class="fa-solid"></i>'), font.parent
    )
    embedded = re.fullmatch(
        re.escape(icons)
        + r"@font-face\{font-family:F;src:url\(data:font/woff2;base64,(.*)\)\}",
        cut,
    )

    assert embedded is not None
    data = base64.b64decode(embedded[1])
    with TTFont(io.BytesIO(data)) as part:
        assert {ord("?"), 0xF002, 0xF185} == set(part.getBestCmap())
    assert len(data) < 2000


# --- Pages

CONF = """
extensions = ["myst_parser"]
extensions += ["shardlessons.sphinxext.light", "shardlessons.sphinxext.found"]
templates_path = ["_templates"]
html_theme = "sphinx_book_theme"
html_title = "A site"
html_baseurl = "https://example.org/"
html_theme_options = {"article_header_end": ["header-buttons.html"]}
html_sidebars = {"**": ["sidebar-start.html", "sbt-sidebar-nav.html"]}
"""
DESCRIBED = """\
---
myst:
  html_meta:
    description: What "it" says.
---

# A page

Text.
"""


def site(folder: Path, page: str = DESCRIBED, conf: str = CONF, *flags: str) -> Build:
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs/_templates", docs / "_templates")
    (docs / "conf.py").write_text(conf, "utf-8")
    (docs / "index.md").write_text(page, "utf-8")
    return build(docs, folder / "out", *flags)


def test_a_page_loads_one_style_and_one_script(tmp_path: Path) -> None:
    built = site(tmp_path)
    loaded = r'<(?:link [^>]*rel="stylesheet"|script[^>]* src=)[^>]*>'
    style, script = re.findall(loaded, built.html())
    search = re.findall(loaded, built.html("search"))

    assert [] == built.said
    assert re.fullmatch(
        r'<link rel="stylesheet" href="_static/page\.css\?v=[0-9a-f]{8}" />', style
    )
    assert re.fullmatch(
        r'<script defer src="_static/page\.js\?v=[0-9a-f]{8}">', script
    )
    # Sphinx's search needs it while it loads.
    assert [style, script.replace(" defer", "")] == search[:2]
    assert ["searchtools.js", "language_data.js", "searchindex.js"] == [
        Path(tag.split('"')[1]).name for tag in search[2:]
    ]


def test_code_keeps_the_marks_that_have_a_colour(tmp_path: Path) -> None:
    code = "\n```python\ndef f(x):\n    return 1\n```\n\nIn `text` and `a-b`.\n"
    html = site(tmp_path, DESCRIBED + code).html()

    # A function's name and a number have the mark of what is alike.
    assert re.search(
        r'<pre><span></span><span class="k">def</span> <span class="\w+">f</span>\(x\):\n'
        r'    <span class="k">return</span> <span class="\w+">1</span>\n</pre>',
        html,
    )
    # Only the second could be broken at the end of a line.
    assert '<code class="docutils literal">text</code>' in html
    assert '<span class="pre">a-b</span>' in html


def test_a_page_names_the_file_of_its_tips(tmp_path: Path) -> None:
    tipped = (
        'One <span class="fact" id="x" title="asked: a &lt; &quot;b&quot;">True</span>, '
        '<a href="#t" title="A word."><span class="xref std-term">term</span></a>, '
        '<a href="#u" title="stays">link</a>.'
    )
    built = site(tmp_path, f"{DESCRIBED}\n{tipped}\n")
    html = built.html()
    (source,) = re.findall(r'<html data-tips="([^"?]*)\?v=[0-9a-f]{8}"', html)
    script = (built.out / source).read_text("utf-8")

    assert "_tips/index.js" == source
    assert ['asked: a < "b"', "A word."] == json.loads(script.removeprefix("tips="))
    assert '<span id="x">True</span>' in html
    assert '<a href="#u" title="stays">link</a>' in html
    assert "data-tips" not in built.html("search")


def test_another_builder_gets_no_light_page(tmp_path: Path) -> None:
    out = site(tmp_path).out
    checked = build(tmp_path / "docs", tmp_path / "checked", "-b", "linkcheck")

    assert (out / "_static/page.css").exists()
    assert (0, "") == (checked.code, checked.stderr)
    assert not (checked.out / "_static").exists()
    assert not (checked.out / "sitemap.xml").exists()


def test_a_changed_page_is_written_again(tmp_path: Path) -> None:
    first = site(tmp_path).html()
    docs = tmp_path / "docs"
    (docs / "index.md").write_text(DESCRIBED + "\n1. More\n", "utf-8")
    again = build(docs, tmp_path / "out").html()
    (docs / "index.md").write_text(DESCRIBED, "utf-8")
    back = build(docs, tmp_path / "out").html()

    assert first != again
    assert first == back


def test_an_unchanged_page_has_what_a_sheet_names_since(tmp_path: Path) -> None:
    conf = f"{CONF}html_static_path = ['.']\nhtml_css_files = ['own.css']\n"
    sheet = tmp_path / "docs/own.css"
    sheet.parent.mkdir()
    sheet.write_text("p { color: red }", "utf-8")
    first = site(tmp_path, f'{DESCRIBED}\n<p class="own-mark">Text</p>\n', conf)
    assert "own-mark" not in first.html()
    sheet.write_text("p.own-mark { color: red }", "utf-8")
    second = build(tmp_path / "docs", tmp_path / "out")
    anew = build(tmp_path / "docs", tmp_path / "anew")

    assert '<p class="own-mark">' in second.html()
    assert anew.html() == second.html()
    for name in ("page.css", "page.js"):
        made, again = (one.out / "_static" / name for one in (anew, second))
        assert made.read_bytes() == again.read_bytes()


def test_a_card_keeps_its_picture(tmp_path: Path) -> None:
    conf = f"{CONF}extensions += ['shardlessons.sphinxext.cards']\n"
    conf += f"html_favicon = {str(ROOT / 'docs/_static/favicon.svg')!r}\n"
    drawing = '<div class="drawing"><svg viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg></div>'
    card = site(tmp_path, f"{DESCRIBED}\n{drawing}\n", conf).out / "_cards/index.png"
    first = card.read_bytes()
    build(tmp_path / "docs", tmp_path / "out")

    assert first == card.read_bytes()


@pytest.mark.parametrize("flags", [(), ("-j", "3")], ids=["serial", "parallel"])
def test_what_a_single_page_asks_for_is_refused(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    conf = f"""{CONF}
def add(app, page, *_):
    if page == "third":
        app.add_css_file("third.css")
        app.add_js_file("third.js")

def setup(app):
    app.connect("html-page-context", add)
"""
    (tmp_path / "docs").mkdir()
    for name in ("second", "third"):
        text = DESCRIBED.replace("myst:", "orphan: true\nmyst:")
        (tmp_path / f"docs/{name}.md").write_text(text, "utf-8")
    built = site(tmp_path, DESCRIBED, conf, *flags)
    message = (
        "third.css, third.js: asked for by the page third or by the "
        "page index, not by both; a light site has one style sheet and one script, "
        "so add the file for all pages"
    )

    assert 0 != built.code
    assert message in built.stderr


def test_a_file_from_elsewhere_is_refused(tmp_path: Path) -> None:
    conf = f"{CONF}html_js_files = ['https://example.org/one.js']\n"
    built = site(tmp_path, DESCRIBED, conf)
    message = (
        "https://example.org/one.js: the page index asks for it, and a light page "
        "loads files of its own site alone, so put a copy in html_static_path"
    )

    assert 0 != built.code
    assert message in built.stderr


def test_a_page_has_a_preview(tmp_path: Path) -> None:
    built = site(tmp_path)
    tags = dict(
        re.findall(r'<meta property="og:(\w+)" content="(.*)" />', built.html())
    )

    assert {
        "type": "article",
        "site_name": "A site",
        "title": "A page",
        "description": "What &quot;it&quot; says.",
        "url": "https://example.org/index.html",
    } == tags
    assert '<link rel="canonical" href="https://example.org/index.html" />' in (
        built.html()
    )


@pytest.mark.parametrize("base", ["https://example.org/", "https://example.org"])
def test_the_map_has_the_pages(base: str, tmp_path: Path) -> None:
    built = site(tmp_path, conf=CONF.replace("https://example.org/", base))
    listed = re.findall("<loc>(.*)</loc>", (built.out / "sitemap.xml").read_text())

    assert ["https://example.org/index.html"] == listed
    assert "User-agent: *\nDisallow:\nSitemap: https://example.org/sitemap.xml\n" == (
        built.out / "robots.txt"
    ).read_text("utf-8")


def test_a_page_needs_a_title(tmp_path: Path) -> None:
    built = site(tmp_path, DESCRIBED.replace("# A page", ""))
    message = (
        "index.md: WARNING: the page needs a title, which is its first heading, and "
        "has none: write one, as in # A page [shardlessons.title]\n"
    )

    assert message in built.stderr
    assert 0 == built.code


@pytest.mark.parametrize(
    ("page", "length"),
    [("# A page\n", 0), (DESCRIBED.replace('What "it" says.', "A" * 161), 161)],
)
def test_a_page_needs_a_description(page: str, length: int, tmp_path: Path) -> None:
    message = (
        "the page needs a description of at most 160 characters in its front matter "
        f"(myst: html_meta: description:), and has one of {length}"
    )
    built = site(tmp_path, page)

    assert message in built.stderr
    assert "[shardlessons.description]" in built.stderr
