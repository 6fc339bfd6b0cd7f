"""What several writers of a site ask of a build."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Others that write HTML, EPUB's and the like, write no site.
BUILDERS = ("html", "dirhtml")


def address(app: Sphinx, path: str) -> str:
    """Where the site has a file: by ``html_baseurl``, as Sphinx reads it."""
    return posixpath.join(app.config.html_baseurl, path)


def description_of(document: nodes.document) -> str:
    """A page's description in its front matter, or nothing."""
    return next(
        (
            meta["content"]
            for meta in document.findall(nodes.meta)
            if meta.get("name") == "description"
        ),
        "",
    )
