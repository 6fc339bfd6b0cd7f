"""The cut style sheet shows each page as the whole ones do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader

# The style of elements and of what is before and after them, all being open: of
# several that no rule can tell apart by their names and place, the first's.
STYLES = """() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  const named = (element) => element && `${element.tagName}.${element.getAttribute("class")}`;
  const kinds = new Map();
  const kindOf = new Map();
  const styles = [];
  for (const element of document.querySelectorAll("body, body *")) {
    const { parentElement: parent, previousElementSibling: before } = element;
    const place = [...parent.children].indexOf(element);
    const kind = [
      kindOf.get(parent), named(element), named(before), place < 2 ? place : place % 2,
      !element.nextElementSibling, ...element.getAttributeNames(),
    ].join();
    const isNew = !kinds.has(kind);
    if (isNew) kinds.set(kind, kinds.size);
    kindOf.set(element, kinds.get(kind));
    if (!isNew) continue;
    for (const part of ["", "::before", "::after"]) {
      const style = getComputedStyle(element, part || null);
      if (part && style.content === "none") continue;
      const names = [...style].filter((name) => !name.startsWith("--"));
      styles.push([
        `${named(element)}${part}`,
        names.map((name) => `${name}: ${style.getPropertyValue(name)}`),
      ]);
    }
  }
  return styles;
}"""
DIFFERENT = f"""(before) => ({STYLES})().flatMap(([name, style], number) =>
  style
    .map((property, index) => [name, before[number][1][index], property])
    .filter(([, cut, whole]) => cut !== whole))"""
WHOLE = """(sheets) => Promise.all(sheets.map((sheet) => new Promise((resolve) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = "_static/" + sheet;
  link.onload = resolve;
  document.head.append(link);
}))).then(async () => {
  document.querySelector("link[href*='page.css']").remove();
  document.body.getBoundingClientRect(); // the layout asks for the fonts
  await document.fonts.ready;
})"""


@pytest.mark.parametrize(
    ("window", "scheme"),
    [(PHONE, "light"), (DESKTOP, "dark")],
    ids=["phone-light", "desktop-dark"],
)
def test_the_cut_style_is_the_whole_one(
    page: str, window: dict, scheme: str, reader: Reader, site: Path
) -> None:
    cut = (site / "_static/page.css").read_text("utf-8")
    sheets = re.search(r"/\* of: (.*?) \*/", cut)
    tab = reader(**window, color_scheme=scheme).new_page()
    tab.goto(f"{page}.html")
    tab.add_style_tag(content="* { transition: none !important }")
    before = tab.evaluate_handle(STYLES)
    count = tab.evaluate("(styles) => styles.length", before)
    tab.evaluate(WHOLE, sheets[1].split())
    different = tab.evaluate(DIFFERENT, before)

    assert 100 < count
    assert [] == different[:5]
