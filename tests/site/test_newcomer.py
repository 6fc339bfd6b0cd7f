"""A newcomer at the index: the first screen leads to what is asked most."""

from __future__ import annotations

import pytest
from browser import DESKTOP, PHONE, Reader, visit

# The question, the page, and what its answer is read from.
ASKED = [
    ("How do I read an output’s spec?", "propagation", "y.sharding.spec"),
    ("Why did my array come out replicated?", "surprises", "reshape"),
    ("Which of two plans needs fewer bytes?", "bytes", "memory_analysis()"),
    ("Which line caused an all-gather?", "traffic", ".source"),
]


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize(("question", "leads_to", "answer"), ASKED, ids=[a[1] for a in ASKED])
def test_the_first_screen_leads_to_the_answer(
    question: str, leads_to: str, answer: str, window: dict, reader: Reader
) -> None:
    tab = reader(**window).new_page()
    visit(tab, "index")
    link = tab.get_by_role("link", name=question)
    place = link.bounding_box()
    link.click()
    tab.wait_for_url(f"**/{leads_to}.html#*")
    section = tab.locator(":target")

    assert place["y"] + place["height"] <= window["viewport"]["height"]
    assert section.is_visible()
    assert answer in section.inner_text()
