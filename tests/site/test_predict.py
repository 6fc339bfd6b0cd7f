"""A reader predicts a column of answers, and the answers are the proven ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader, visit, violations
from bs4 import BeautifulSoup
from playwright.sync_api import Locator, Page, expect
from test_use import WIDER

SIX = "output spec"  # of the six calls


def proven(site: Path, page: str, heading: str) -> list[list[str]]:
    """What was found for each row of the table that has a marked heading."""
    (source,) = (site / "_sources").glob(f"{page}.md*")
    lines = enumerate(source.read_text("utf-8").splitlines(), 1)
    number = next(n for n, line in lines if f"{{predict}}`{heading}`" in line)
    facts = json.loads((site / "facts.json").read_text("utf-8"))["facts"]
    found: dict[int, list[str]] = {}
    for fact in facts:
        if fact["page"] == page and fact["form"] == "check":
            found.setdefault(fact["line"], []).append(fact["found"])
    rows = []
    for line, text in lines:
        if not text.startswith("|"):
            return rows
        if line > number + 1:
            rows.append(found[line])
    return rows


def six(reader: Reader, **options: object) -> tuple[Page, Locator, Locator]:
    """The page of the six calls, its table, and what is above it."""
    tab = reader(**options).new_page()
    visit(tab, "propagation")
    return tab, tab.locator("table:has(.predict)"), tab.locator(".predict-bar")


def shown(table: Locator) -> list[str]:
    cells = table.locator("td:nth-child(2)").all()
    return [" ".join(cell.inner_text().split("\n")).strip() for cell in cells]


def untipped(table: Locator) -> str:
    """A table without the tips that were shown meanwhile."""
    return re.sub(' data-tip="[^"]*"', "", table.inner_html())


def tab_to(tab: Page, wanted: Locator) -> None:
    for _ in range(100):
        tab.keyboard.press("Tab")
        if wanted.evaluate("(wanted) => wanted === document.activeElement"):
            return
    raise AssertionError(f"no stop of the tab key is {wanted}")


def choose(tab: Page, select: Locator, value: str) -> None:
    """Reach a value with arrow keys; what is passed by settles nothing."""
    for _ in select.locator("option").all():
        if value == select.input_value():
            return
        tab.keyboard.press("ArrowDown")
        expect(select).to_be_focused()
    raise AssertionError(f"{value} is none of the choices")


def test_the_six_calls_by_keyboard_alone(reader: Reader, site: Path) -> None:
    answers = [found[0] for found in proven(site, "propagation", SIX)]
    tab, table, bar = six(reader, **DESKTOP)
    before = untipped(table)
    button = bar.get_by_role("button", name=f"Predict {SIX}")
    tab_to(tab, button)
    expect(button).to_have_attribute("aria-pressed", "false")
    tab.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-pressed", "true")
    choices = table.locator("select").first.locator("option").all_inner_texts()

    assert ["?", *sorted(set(answers))] == choices
    assert 0 == table.locator(".fact:visible").count()
    tab.keyboard.press("Tab")
    for number, answer in enumerate(answers):
        tab.keyboard.press("Tab")
        select = table.locator("tr").nth(number + 1).locator("select")
        expect(select).to_be_focused()
        guess = answer if number else next(c for c in choices[1:] if c != answer)
        choose(tab, select, guess)
        # Either key settles; after Tab the next row has the focus already.
        tab.keyboard.press("Enter")
        cell = table.locator("tr").nth(number + 1).locator("td").nth(1)
        words = "right" if number else f"wrong: {guess}"

        expect(cell).to_contain_text(answer)
        expect(cell).to_contain_text("✓ right" if number else f"✗ {words}")
        expect(bar.get_by_role("status")).to_contain_text(f"{words}; it is {answer}.")
        rest = f"{len(answers) - number - 1} to go" if number < 5 else "your best: 5"
        expect(bar.get_by_role("status")).to_contain_text(
            f"{number} of {number + 1} right, {rest}"
        )

    assert answers == table.locator(".fact").all_inner_texts()
    tab.keyboard.press("Shift+Tab")
    show_all = bar.get_by_role("button", name="Show all")
    expect(show_all).to_be_focused()
    tab.keyboard.press("Enter")
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(show_all).to_be_hidden()

    assert before == untipped(table)


def test_to_leave_a_choice_settles_it(reader: Reader, site: Path) -> None:
    answers = [found[0] for found in proven(site, "propagation", SIX)]
    tab, table, bar = six(reader, **DESKTOP)
    bar.get_by_role("button").first.press("Enter")
    first, second = table.locator("select").all()[:2]
    first.focus()
    choose(tab, first, answers[0])
    tab.keyboard.press("Tab")
    expect(table.locator("tr").nth(2).locator("select")).to_be_focused()
    expect(bar.get_by_role("status")).to_contain_text("1 of 1 right, 5 to go")


def test_a_finger_chooses(reader: Reader, site: Path) -> None:
    answers = [found[0] for found in proven(site, "propagation", SIX)]
    tab, table, bar = six(reader, **PHONE)
    bar.get_by_role("button").first.tap()
    for answer in answers:
        table.locator("select").first.select_option(answer)

    expect(bar.get_by_role("status")).to_contain_text("6 of 6 right, your best: 6")
    assert [f"{answer}  ✓ right" for answer in answers] == shown(table)
    assert ["predict /propagation.html 0 output spec"] == tab.evaluate(
        "Object.keys(localStorage).filter((key) => key.startsWith('predict'))"
    )


def test_each_column_is_asked_for_its_proven_values(
    reader: Reader, site: Path
) -> None:
    rows = proven(site, "bytes", "by hand")
    tab = reader(**DESKTOP).new_page()
    visit(tab, "bytes")
    table = tab.locator("table", has=tab.get_by_role("columnheader", name="by hand"))
    before = untipped(table)
    bar = tab.locator(".predict-bar:has(+ * th:nth-child(3) .predict)").last
    numbers = [[n for n in row if n.replace(",", "").isdigit()] for row in rows]
    for column, name in enumerate(["by hand", "compiler"]):
        bar.get_by_role("button", name=f"Predict {name}").click()
        asked = [row[column] for row in numbers if len(row) > column]
        choices = table.locator("select").first.locator("option").all_inner_texts()
        by_size = sorted({int(n.replace(",", "")) for n in asked})

        assert len(asked) == table.locator("select").count()
        assert ["?", *(f"{n:,}" for n in by_size)] == choices
    bar.get_by_role("button", name="Predict compiler").click()

    assert before == untipped(table)


def test_each_table_with_answers_offers_them(lessons: list[str], site: Path) -> None:
    without = []
    for page in [*lessons, "surprises", "migrate"]:
        html = BeautifulSoup((site / f"{page}.html").read_text("utf-8"), "html.parser")
        for table in html.find_all("table"):
            if table.select("td ~ td .fact") and not table.select("th .predict"):
                without.append((page, table.thead.get_text(" ", strip=True)))

    assert [] == without


def test_a_page_loaded_again_hides_nothing(reader: Reader) -> None:
    tab, table, bar = six(reader, **DESKTOP)
    before = untipped(table)
    bar.get_by_role("button").first.click()
    table.locator("select").first.select_option(index=1)
    assert 0 < table.locator(".predict-answer:visible").count()
    tab.reload()
    expect(bar).to_be_visible()

    assert before == untipped(table)


def test_without_scripts_there_is_the_table(reader: Reader, site: Path) -> None:
    answers = [found[0] for found in proven(site, "propagation", SIX)]
    tab, table, bar = six(reader, **DESKTOP, java_script_enabled=False)

    assert 0 == bar.count()
    assert answers == shown(table)
    container = tab.locator(".pst-scrollable-table-container").first
    gap = container.bounding_box()["y"] - table.bounding_box()["y"]
    assert 0 == gap, "room is left for buttons that are not there"


def test_a_browser_that_stores_nothing_counts_all_the_same(reader: Reader) -> None:
    tab = reader(**DESKTOP).new_page()
    tab.add_init_script("Storage.prototype.setItem = () => { throw new Error(); }")
    visit(tab, "propagation")
    tab.locator(".predict-bar button").first.click()
    table = tab.locator("table:has(.predict)")
    for _ in range(6):
        table.locator("select").first.select_option(index=1)

    expect(tab.locator(".predict-bar")).to_contain_text("of 6 right, your best:")


def test_paper_has_the_answers(reader: Reader, site: Path) -> None:
    answers = [found[0] for found in proven(site, "propagation", SIX)]
    tab, table, bar = six(reader, **DESKTOP)
    bar.get_by_role("button").first.click()
    tab.emulate_media(media="print")

    expect(bar).to_be_hidden()
    assert answers == shown(table)
    assert 0 == table.locator("select:visible").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_axe_finds_nothing_while_predicting(
    predicting: str, window: dict, scheme: str, reader: Reader
) -> None:
    tab = reader(**window, color_scheme=scheme).new_page()
    visit(tab, predicting)
    for bar in tab.locator(".predict-bar").all():
        bar.get_by_role("button").first.click()
    # Some rows are open, some right, some wrong.
    for table in tab.locator("table:has(select.predict-choice)").all():
        for _ in range(table.locator("select").count() - 1):
            table.locator("select").first.select_option(index=1)
    found = violations(tab)

    assert [] == found
    assert [] == tab.evaluate(WIDER)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
