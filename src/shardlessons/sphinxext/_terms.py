"""Glossary terms say what they mean where they are used: as the link's title."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx_design.dropdown import dropdown_title

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment


@functools.lru_cache(maxsize=1)
def _definitions(env: BuildEnvironment) -> dict[str, str]:
    """What each term means, by the anchor that a link to it names."""
    objects = env.domains.standard_domain.objects
    pages = {page for (kind, _), (page, _) in objects.items() if kind == "term"}
    return {
        anchor: item[-1].astext().replace("\n", " ")
        for page in sorted(pages)
        for item in env.get_doctree(page).findall(nodes.definition_list_item)
        for term in item.findall(nodes.term)
        for anchor in term["ids"]
    }


def _explain(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for link in list(doctree.findall(nodes.reference)):
        inner = link.next_node(nodes.inline)
        if inner is not None and "std-term" in inner["classes"]:
            anchor = link.get("refid") or link["refuri"].partition("#")[2]
            link["reftitle"] = _definitions(app.env)[anchor]
            if isinstance(link.parent.parent, dropdown_title):
                # A click on a question opens it: no link can be inside.
                inner["classes"].remove("std-term")
                link.replace_self(link.children)


def setup_terms(app: Sphinx) -> None:
    """Explain links to terms, all pages having been read."""
    app.connect("doctree-resolved", _explain)
