"""A page as Markdown, and the site as ``llms.txt``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from shardlessons.sphinxext.downloads._blocks import shown_as_text
from shardlessons.sphinxext.downloads._pieces import Page


@dataclass(frozen=True)
class Entry:
    """A page in ``llms.txt``."""

    title: str
    address: str
    description: str


def markdown(page: Page) -> str:
    """The text of the page's ``.md``: CommonMark and its tables."""
    parts = [f"# {page.title}", f"From <{page.address}>."]
    if page.cells and page.needs.packages:
        quoted = " ".join(f'"{package}"' for package in page.needs.packages)
        parts.append(f"The code needs `pip install {quoted}`.")
    return "\n\n".join([*parts, *map(shown_as_text, page.pieces)]) + "\n"


def llms_txt(
    title: str, description: str, sections: Iterable[tuple[str, list[Entry]]]
) -> str:
    """The text of ``llms.txt``, in the form of https://llmstxt.org."""
    parts = [f"# {title}", f"> {description}"]
    for heading, entries in sections:
        parts.append(f"## {heading}")
        parts.append(
            "\n".join(f"- [{e.title}]({e.address}): {e.description}" for e in entries)
        )
    return "\n\n".join(parts) + "\n"
