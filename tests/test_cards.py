"""Cards: the picture that a preview of a page shows."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from site_builder import ROOT, Build, build

CONF = """
extensions = ["myst_parser", "shardlessons.sphinxext.cards"]
html_theme = "basic"
html_title = "A site"
html_baseurl = "https://example.org/"
html_favicon = "icon.svg"
cards_line = "What it promises."
"""
ICON = ROOT / "docs/_static/favicon.svg"
DRAWING = (
    '<div class="drawing"><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" '
    'font-family="system-ui,sans-serif"><title id="t">A &lt; B</title>'
    '<svg><path fill="{}" d="M0 0h9v9z"/></svg><text y="5">B</text></svg></div>'
)


def site(folder: Path, pages: dict[str, str], conf: str = CONF) -> Build:
    docs = folder / "docs"
    docs.mkdir(parents=True)
    (docs / "conf.py").write_text(conf, "utf-8")
    for name in ("icon.svg", "icon.png"):
        (docs / name).write_bytes(ICON.read_bytes())
    for name, text in pages.items():
        (docs / f"{name}.md").write_text(f"---\norphan: true\n---\n\n{text}", "utf-8")
    return build(docs, folder / "out")


def card(built: Build, page: str = "index") -> bytes:
    return (built.out / f"_cards/{page}.png").read_bytes()


def test_a_page_names_its_card(tmp_path: Path) -> None:
    drawing = DRAWING.format("currentColor")
    built = site(tmp_path, {"index": f"# A `page`\n\n{drawing}\n"})
    tag = r'<meta (?:property|name)="([\w:]+)" content="(.*)" />'
    tags = dict(re.findall(tag, built.html()))
    address = "https://example.org/_cards/index.png"

    assert "" == built.stderr
    assert {
        "og:image": address,
        "og:image:width": "1200",
        "og:image:height": "630",
        "og:image:alt": "A page. A &lt; B",
        "twitter:card": "summary_large_image",
    } == {name: tags[name] for name in tags if "image" in name or "card" in name}
    assert b"\x89PNG" == card(built)[:4]
    assert (1200, 630) == struct.unpack(">II", card(built)[16:24])
    assert "og:image" not in built.html("search")


def test_a_cards_address_needs_no_slash_at_the_end_of_the_sites(
    tmp_path: Path,
) -> None:
    conf = CONF.replace("https://example.org/", "https://example.org")
    built = site(tmp_path, {"index": "# A page\n"}, conf)

    assert '"og:image" content="https://example.org/_cards/index.png"' in built.html()


def test_a_card_shows_the_first_picture_or_the_icon(tmp_path: Path) -> None:
    red, blue = DRAWING.format("red"), DRAWING.format("blue")
    pages = {
        "index": "# Same\n",
        "without": "# Same\n",
        "red": f"# Same\n\n{red}\n",
        "twice": f"# Same\n\n{red}\n\n{blue}\n",
        "blue": f"# Same\n\n{blue}\n",
    }
    built = site(tmp_path, pages)
    cards = {page: card(built, page) for page in pages}

    assert cards["index"] == cards["without"]
    assert cards["red"] == cards["twice"]
    assert 3 == len(set(cards.values()))


def test_a_card_is_the_same_in_each_build(tmp_path: Path) -> None:
    pages = {"index": f"# A page\n\n{DRAWING.format('red')}\n"}
    first, second = (site(tmp_path / name, pages) for name in ("a", "b"))

    assert card(first) == card(second)


# Sphinx itself warns of a file that is not there, and goes on without.
@pytest.mark.parametrize(
    ("name", "told"),
    [("None", "None"), ("'gone.svg'", "None"), ("'icon.png'", "'icon.png'")],
)
def test_a_site_without_an_icon_is_told(name: str, told: str, tmp_path: Path) -> None:
    conf = f"{CONF}html_favicon = {name}\n"
    built = site(tmp_path, {"index": "# A page\n"}, conf)
    message = (
        f"html_favicon is {told}: "
        "a card needs the name of an SVG file beside conf.py"
    )

    assert 0 != built.code
    assert message in built.stderr
