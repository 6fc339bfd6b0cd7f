"""What axe finds on a page, its questions open, in each of its looks."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader

AXE = Path(__file__).with_name("node_modules") / "axe-core/axe.min.js"


VIOLATIONS = """async () => {
  // Those of the theme fade from one colour to another.
  await Promise.all(document.getAnimations().map((each) => each.finished));
  const { violations } = await axe.run();
  return violations.map(({ id, nodes }) =>
    [id, ...nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
}"""


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_axe_finds_nothing(page: str, window: dict, reader: Reader) -> None:
    tab = reader(**window, color_scheme="light").new_page()
    tab.goto(f"{page}.html")
    tab.add_script_tag(path=AXE)
    tab.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    found = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(
            "(scheme) => scheme === document.documentElement.dataset.theme", arg=scheme
        )
        found[scheme] = tab.evaluate(VIOLATIONS)

    assert {"light": [], "dark": []} == found
