"""What axe finds on a page, its questions open, in each of its looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader, visit

AXE = Path(__file__).with_name("node_modules") / "axe-core/axe.min.js"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_axe_finds_nothing(
    page: str, window: dict, scheme: str, reader: Reader
) -> None:
    tab = reader(**window, color_scheme=scheme).new_page()
    visit(tab, page)
    tab.add_script_tag(path=AXE)
    found = tab.evaluate(
        """async () => {
          for (const each of document.querySelectorAll("details")) each.open = true;
          // Those of the theme fade from one colour to another.
          await Promise.all(document.getAnimations().map((each) => each.finished));
          const { violations } = await axe.run();
          return violations.map(({ id, nodes }) =>
            [id, ...nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
        }"""
    )

    assert scheme == tab.evaluate("document.documentElement.dataset.theme")
    assert [] == found
