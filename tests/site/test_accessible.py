"""What axe finds on a page, its questions open, in each of its looks."""

from __future__ import annotations

import pytest
from browser import DESKTOP, PHONE, Reader, violations


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_axe_finds_nothing(page: str, window: dict, reader: Reader) -> None:
    tab = reader(**window, color_scheme="light").new_page()
    tab.goto(f"{page}.html")
    tab.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    found = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(
            "(scheme) => scheme === document.documentElement.dataset.theme", arg=scheme
        )
        found[scheme] = violations(tab)

    assert {"light": [], "dark": []} == found
