"""The cut style sheet shows each page as the whole ones do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader, visit

# The style of each element and of its marks before and after it, all open.
STYLES = """() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const styles = [];
  for (const element of document.querySelectorAll("body *"))
    for (const part of [null, "::before", "::after"]) {
      const style = getComputedStyle(element, part);
      if (part && style.content === "none") continue;
      const text = [...style].map((name) => name + ": " + style[name]).join("; ");
      const name = element.tagName + "." + element.className + (part ?? "");
      styles.push([name, text]);
    }
  return styles;
}"""
WHOLE = """(sheets) => Promise.all(sheets.map((sheet) => new Promise((resolve, reject) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = "_static/" + sheet;
  link.onload = resolve;
  link.onerror = reject;
  document.head.append(link);
}))).then(() => document.querySelector("link[href*='page.css']").remove())"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_cut_style_is_the_whole_one(
    page: str, window: dict, scheme: str, reader: Reader, site: Path
) -> None:
    cut = (site / "_static/page.css").read_text("utf-8")
    sheets = re.search(r"/\* of: (.*?) \*/", cut)
    assert sheets is not None
    tab = reader(**window, color_scheme=scheme, reduced_motion="reduce").new_page()
    visit(tab, page)
    tab.add_style_tag(content="* { transition: none !important }")
    now = tab.evaluate(STYLES)
    tab.evaluate(WHOLE, sheets[1].split())
    tab.evaluate("document.fonts.ready.then(() => {})")
    whole = tab.evaluate(STYLES)

    assert len(now) == len(whole)
    assert [] == [pair for pair in zip(now, whole, strict=True) if pair[0] != pair[1]][:3]
