"""What a page loads: how much, from where, and what a reader waits for."""

from __future__ import annotations

import pytest
from browser import DESKTOP, PHONE, Reader, visit

FIRST_VISIT, NEXT_PAGE = 90_000, 20_000  # bytes, compressed
# Whole lists, in which a reader looks something up.
REFERENCE = {"api": 30_000, "since-when": 30_000}
REQUESTS, BLOCKING = 12, 3
SHIFT = 0.02


def before(page: str) -> str:
    """A page that a reader may come from."""
    return "glossary" if page == "index" else "index"


def test_a_first_visit_is_light(page: str, reader: Reader, base: str) -> None:
    seen = visit(reader(**PHONE).new_page(), page)

    print(f"\n{page}: {len(seen.sent)} requests, {seen.total} bytes")
    assert [] == [url for url in seen.sent if not url.startswith(base)]
    assert seen.total <= FIRST_VISIT, f"\n{seen}"
    assert len(seen.sent) <= REQUESTS, f"\n{seen}"
    assert len(seen.blocking) <= BLOCKING, seen.blocking


def test_the_next_page_is_lighter(page: str, reader: Reader) -> None:
    tab = reader(**PHONE).new_page()
    visit(tab, before(page))
    seen = visit(tab, page)

    print(f"\n{page}: {seen.total} bytes")
    assert seen.total <= REFERENCE.get(page, NEXT_PAGE), f"\n{seen}"


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_moves_while_a_page_loads(
    page: str, window: dict, reader: Reader
) -> None:
    tab = reader(**window).new_page()
    tab.add_init_script(
        """window.shifts = [];
        new PerformanceObserver((list) => {
          for (const shift of list.getEntries())
            window.shifts.push([shift.value, ...shift.sources.map(
              ({ node }) => node?.outerHTML?.slice(0, 200))]);
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    tab.goto(f"{page}.html")
    for _ in range(int(tab.evaluate("document.body.scrollHeight / innerHeight"))):
        tab.mouse.wheel(0, window["viewport"]["height"])
        tab.wait_for_timeout(10)
    shifts = tab.evaluate("shifts")

    assert sum(shift[0] for shift in shifts) < SHIFT, shifts
