"""Cards: what a preview of a page shows, with the page's own first picture.

Add ``shardlessons.sphinxext.cards`` to ``extensions``, set ``html_baseurl``,
``html_favicon`` to an SVG, and ``cards_line`` to what each card says below the
page's title. A page without a picture has the icon in its place.

The package typst draws them with the fonts that it carries itself, so that a
card is the same wherever the site is built.
"""

from __future__ import annotations

import re
from html import escape, unescape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typst
from docutils import nodes
from sphinx.errors import ExtensionError

from shardlessons.sphinxext._site import BUILDERS, address

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = "_cards"  # of the site
WIDTH, HEIGHT = 1200, 630  # what those who show previews ask for
FONT, INK = "Libertinus Serif", "#222832"  # as in card.typ

_DRAWING = re.compile(r'<div class="drawing">(<svg.*?</svg>)</div>', re.DOTALL)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.DOTALL)


def _name_card(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Name a page's card in its head."""
    if doctree is None or not app.config.html_baseurl:
        return
    drawing = _DRAWING.search(context["body"])
    said = [_title(app, page), *_TITLE.findall(drawing[1] if drawing else "")[:1]]
    tags = {
        "og:image": address(app, f"{FOLDER}/{page}.png"),
        "og:image:width": WIDTH,
        "og:image:height": HEIGHT,
        "og:image:alt": escape(". ".join(map(unescape, said))),
    }
    context["metatags"] += "".join(
        f'\n<meta property="{name}" content="{content}" />'
        for name, content in tags.items()
    )
    context["metatags"] += '\n<meta name="twitter:card" content="summary_large_image" />'


def _draw_cards(app: Sphinx, error: Exception | None) -> None:
    """Draw the cards of all pages: here, since Typst's threads survive no fork."""
    if error or app.builder.name not in BUILDERS or not app.config.html_baseurl:
        return
    icon = _icon(app)
    source = (files("shardlessons.sphinxext") / "templates/card.typ").read_bytes()
    fonts = typst.Fonts(include_system_fonts=False)
    for page in sorted(app.env.found_docs):
        html = Path(app.builder.get_outfilename(page)).read_text("utf-8")
        drawing = _DRAWING.search(html)
        inputs = {
            "site": app.config.html_title,
            "title": _title(app, page),
            "line": app.config.cards_line,
            "icon": icon,
            "picture": _on_paper(drawing[1]) if drawing else icon,
        }
        file = Path(app.outdir, FOLDER, f"{page}.png")
        file.parent.mkdir(parents=True, exist_ok=True)
        typst.compile(
            source, file, font_paths=fonts, format="png", ppi=72, sys_inputs=inputs
        )


def _title(app: Sphinx, page: str) -> str:
    return app.env.titles[page].astext()


def _icon(app: Sphinx) -> str:
    file = Path(app.srcdir, app.config.html_favicon or "")
    if file.suffix != ".svg" or not file.is_file():
        raise ExtensionError(
            f"html_favicon is {app.config.html_favicon!r}: "
            "a card needs the name of an SVG file beside conf.py"
        )
    return file.read_text("utf-8")


def _on_paper(svg: str) -> str:
    """A picture that takes its colour and font from no page around it."""
    svg = re.sub(r'font-family="[^"]*"', f'font-family="{FONT}"', svg)
    return svg.replace("currentColor", INK)


def setup(app: Sphinx) -> dict[str, Any]:
    """Name each card as its page is written, and draw them all at the end."""
    app.add_config_value("cards_line", "", "html", str)
    app.connect("html-page-context", _name_card)
    app.connect("build-finished", _draw_cards)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
