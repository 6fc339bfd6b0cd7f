"""What several writers of a site ask of a build."""

from __future__ import annotations

from docutils import nodes

# Others that write HTML, EPUB's and the like, write no site.
BUILDERS = ("html", "dirhtml")


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
