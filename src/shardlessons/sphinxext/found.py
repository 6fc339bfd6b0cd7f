"""How a page is found: its description, its preview, the site's map.

Add ``shardlessons.sphinxext.found`` to ``extensions``, set ``html_baseurl``,
and give each page a description in its front matter::

    ---
    myst:
      html_meta:
        description: What the page answers, in a sentence or two.
    ---
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging

from shardlessons.sphinxext._site import BUILDERS, address, description_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logger = logging.getLogger(__name__)

LONGEST = 160  # what search engines show


def _describe(
    app: Sphinx, page: str, _: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Give a page the tags that a preview of it is made of."""
    if doctree is None:  # the index, the search page
        return
    description = description_of(doctree)
    if not 0 < len(description) <= LONGEST:
        logger.warning(
            "the page needs a description of at most %d characters in its front "
            "matter (myst: html_meta: description:), and has one of %d",
            LONGEST,
            len(description),
            location=page,
            type="shardlessons",
            subtype="description",
        )
    if next(doctree.findall(nodes.section), None) is None:
        logger.warning(
            "the page needs a title, which is its first heading, and has none: "
            "write one, as in # A page",
            location=page,
            type="shardlessons",
            subtype="title",
        )
    preview = {
        "type": "article",
        "site_name": app.config.html_title,
        "title": app.env.titles[page].astext(),
        "description": description,
        "url": context["pageurl"] or "",
    }
    context["metatags"] += "".join(
        f'\n<meta property="og:{name}" content="{escape(content)}" />'
        for name, content in preview.items()
    )


def _map(app: Sphinx, error: Exception | None) -> None:
    """Write the addresses of all pages, and where that list is."""
    if error or app.builder.name not in BUILDERS or not app.config.html_baseurl:
        return
    orphans = {page for page, meta in app.env.metadata.items() if "orphan" in meta}
    file = app.builder.get_target_uri
    urls = "".join(
        f"<url><loc>{escape(address(app, file(page)))}</loc></url>\n"
        for page in sorted(app.env.found_docs - orphans)
    )
    (app.outdir / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        f"{urls}</urlset>\n",
        "utf-8",
    )
    (app.outdir / "robots.txt").write_text(
        f"User-agent: *\nDisallow:\nSitemap: {address(app, 'sitemap.xml')}\n", "utf-8"
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Describe each page as it is written, and list all of them at the end."""
    app.connect("html-page-context", _describe)
    app.connect("build-finished", _map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
