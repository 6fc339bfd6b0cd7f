"""The foot of each page: how many facts it proved, with which jax, when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

from shardlessons.sphinxext._ledger import ledger_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def foot_text(app: Sphinx, docname: str) -> str | None:
    """One sentence on the page's facts, or None if it states none."""
    ledger = ledger_of(app.env)
    facts, asked = ledger.facts(docname), ledger.asked(docname)
    count = f"{len(facts)} fact{'s' if len(facts) != 1 else ''}"
    if facts and (platforms := ledger.recorded(docname)):
        return (
            f"{count} on this page, as recorded by a build on "
            f"{' or '.join(platforms)}: this build, on "
            f"{app.config.shardlessons_platform}, did not ask them."
        )
    if not facts or not asked:
        return None
    versions, day = asked
    proven = sum(fact.holds for fact in facts)
    of_whom = f"of {versions} " if versions else ""
    result = (
        "each one holds"
        if proven == len(facts)
        else f"{len(facts) - proven} of them no longer hold"
    )
    return f"{count} on this page, asked {of_whom}on {day}: {result}."


def _add_foot(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    text = foot_text(app, docname)
    if text is None:
        return
    sections = list(doctree.findall(nodes.section))
    place = sections[0] if sections else doctree
    foot = nodes.container(classes=["facts-foot"])
    foot += nodes.paragraph(text, text)
    place += foot


def setup_foot(app: Sphinx) -> None:
    """Add the foot when a page is written, all pages having been read."""
    app.connect("doctree-resolved", _add_foot)
