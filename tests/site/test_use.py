"""What a reader does on a page, with a mouse, a keyboard, a finger, no scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from browser import DESKTOP, PHONE, Reader, opened, visit
from playwright.sync_api import Page, expect

# What is wider than the window, but for what scrolls on its own.
WIDER = """() => [...document.querySelectorAll(".bd-article-container *")]
  .filter((element) => {
    const { width, right } = element.getBoundingClientRect();
    return width && right > document.documentElement.clientWidth + 1
      && !element.closest("pre, svg, .pst-scrollable-table-container, .output");
  })
  .map((element) => element.outerHTML.slice(0, 120))"""

# Names in tables that take two lines.
BROKEN = """() =>
  [...document.querySelectorAll("table.table td code")]
    .filter((code) => !/\\s/.test(code.textContent.trim()))
    .filter((code) => code.getClientRects().length > 1)
    .map((code) => code.textContent)"""
SCROLLED = """() =>
  [...document.querySelectorAll(".pst-scrollable-table-container")]
    .filter((box) => box.scrollWidth > box.clientWidth + 1)
    .map((box) => [box.scrollWidth, box.clientWidth, box.textContent.slice(0, 80)])"""


# --- Without scripts


def test_a_page_is_whole_without_scripts(page: str, reader: Reader) -> None:
    scripted = reader(**PHONE).new_page()
    scripted.goto(f"{page}.html")
    plain = reader(**PHONE, java_script_enabled=False).new_page()
    plain.goto(f"{page}.html")
    text = "article.bd-article"

    assert plain.locator(text).text_content().strip() == without_buttons(scripted, text)
    assert plain.locator("h1").first.is_visible()
    assert 0 == plain.locator(".pst-js-only:visible").count()
    for question in plain.locator("details.question").all():
        question.locator("summary").click()
        expect(question.locator(".sd-summary-content")).to_be_visible()
    for term in plain.locator("a:has(> .std-term)").all()[:3]:
        assert "glossary" in page or "glossary.html#term-" in term.get_attribute("href")
    assert [] == plain.evaluate(WIDER)


def test_a_page_is_whole_from_a_disk(page: str, reader: Reader, site: Path) -> None:
    reading = reader(**PHONE)
    reading.set_offline(True)
    tab = reading.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto((site / f"{page}.html").as_uri())

    assert [] == errors
    assert tab.locator("h1").first.is_visible()
    assert "flex" == tab.locator(".bd-header-article").evaluate(
        "(header) => getComputedStyle(header).display"
    )
    assert [] == tab.evaluate(WIDER)
    for fact in tab.locator("article p .fact:visible").all()[:1]:
        fact.tap()
        expect(tab.get_by_role("tooltip")).to_contain_text("asked: ")


def without_buttons(tab: Page, selector: str) -> str | None:
    return tab.evaluate(
        """(selector) => {
          const copy = document.querySelector(selector).cloneNode(true);
          const scripted = ".copybtn, #tip, .predict-bar, .since-head, "
            + ".since-status, .since-filters, label:has(.since-choice)";
          for (const each of copy.querySelectorAll(scripted)) each.remove();
          return copy.textContent.trim();
        }""",
        selector,
    )


# --- Layout


@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_nothing_is_wider_than_the_window(
    page: str, window: dict, reader: Reader
) -> None:
    tab = opened(reader, page, **window)
    assert [] == tab.evaluate(SCROLLED), "tables that scroll"
    assert [] == tab.evaluate(BROKEN), "names in tables on two lines"
    for script in (
        "0",
        "document.querySelectorAll('details').forEach((each) => each.open = true)",
        "document.querySelector('.asked-button')?.click()",
    ):
        tab.evaluate(script)
        assert [] == tab.evaluate(WIDER), script
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_sidebar_opens_on_a_phone(reader: Reader) -> None:
    tab = opened(reader, "bytes", **PHONE)
    contents = tab.get_by_role("link", name="Glossary").first
    expect(contents).to_be_hidden()
    tab.locator(".primary-toggle").click()
    contents.click()
    tab.wait_for_url("**/glossary.html")


# --- Copying


@pytest.mark.parametrize("block", ["div.cell_input", "details.question"])
def test_a_block_is_copied_with_the_prelude(block: str, reader: Reader) -> None:
    tab = opened(
        reader, "bytes", **DESKTOP, permissions=["clipboard-read", "clipboard-write"]
    )
    tab.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    cell = "div.cell:not(.tag_prelude) " if block == "div.cell_input" else ""
    part = tab.locator(f"{cell}{block} div.highlight").first
    code = part.locator("pre")
    prelude = tab.locator("div.tag_prelude pre").text_content().strip()
    part.hover()
    part.locator("button.copybtn").click()
    expect(part.locator("button.copybtn")).to_contain_class("success")
    copied = tab.evaluate("navigator.clipboard.readText()")
    kept = [line for line in prelude.splitlines() if line]
    shown = code.inner_text().strip().splitlines()[0].removeprefix(">>> ")

    assert kept == [line for line in copied.splitlines() if line][: len(kept)]
    assert shown in copied.splitlines()[len(kept) :]
    assert ">>>" not in copied


# --- Colours


def test_the_colours_change_and_stay(reader: Reader) -> None:
    tab = opened(reader, "bytes", **PHONE, color_scheme="light")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(colour)
    tab.get_by_role("button", name="Color mode").click()
    tab.get_by_role("button", name="Dark").click()

    assert light != tab.evaluate(colour)
    expect(tab.get_by_role("button", name="Dark")).to_be_hidden()
    visit(tab, "traffic")
    assert "dark" == tab.evaluate("document.documentElement.dataset.theme")


def test_a_dark_system_is_dark_at_once(reader: Reader) -> None:
    tab = reader(**PHONE, color_scheme="dark").new_page()
    tab.route("**/page.js*", lambda route: route.abort())
    tab.goto("bytes.html")

    assert "dark" == tab.evaluate("document.documentElement.dataset.theme")


# --- Keyboard and touch


def test_the_first_stop_skips_to_the_text(reader: Reader) -> None:
    tab = opened(reader, "bytes", **DESKTOP)
    tab.keyboard.press("Tab")
    expect(tab.get_by_text("Skip to main content")).to_be_focused()
    tab.keyboard.press("Enter")

    assert tab.url.endswith("#main-content")


def test_a_term_says_what_it_means_to_a_keyboard(reader: Reader) -> None:
    tab = opened(reader, "bytes", **DESKTOP)
    term = tab.locator("article a:has(> .std-term)").first
    for _ in range(100):
        tab.keyboard.press("Tab")
        if term.evaluate("(term) => term === document.activeElement"):
            break
    expect(term).to_be_focused()
    expect(tab.get_by_role("tooltip")).to_be_visible()
    assert term.get_attribute("data-tip") == tab.get_by_role("tooltip").text_content()
    assert "tip" == term.get_attribute("aria-describedby")
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("tooltip")).to_be_hidden()


def test_a_term_says_what_it_means_to_a_finger(reader: Reader) -> None:
    tab = opened(reader, "bytes", **PHONE)
    term = tab.locator("article a:has(> .std-term)").first
    term.tap()
    expect(tab.get_by_role("tooltip")).to_be_visible()
    assert tab.url.endswith("bytes.html")
    term.tap()
    tab.wait_for_url("**/glossary.html#term-*")


def test_a_value_says_what_it_was_asked(reader: Reader) -> None:
    tab = opened(reader, "bytes", **PHONE)
    fact = tab.locator("article .fact").first
    fact.tap()
    expect(tab.get_by_role("tooltip")).to_contain_text("asked: ")
    tab.locator("h1").tap()
    expect(tab.get_by_role("tooltip")).to_be_hidden()


def test_one_button_shows_all_that_was_asked(reader: Reader) -> None:
    tab = opened(reader, "bytes", **DESKTOP)
    shown = """() => getComputedStyle(
      document.querySelector('.fact'), '::after').content"""
    button = tab.get_by_role("button", name="Show what each value was asked")
    before = tab.evaluate(shown)
    button.press("Enter")
    tab.locator(".fact[data-tip]").first.wait_for()

    assert "none" == before
    assert "asked: " in tab.evaluate(shown)
    assert "true" == button.get_attribute("aria-pressed")


# --- Releases of jax


def test_a_chosen_release_is_told_on_each_page(reader: Reader) -> None:
    tab = opened(reader, "traffic", **PHONE)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    choice = tab.locator(".facts-foot select")
    releases = choice.locator("option").all_inner_texts()

    assert 0 == tab.locator(".since-yours").count()
    choice.select_option(releases[1])
    told = tab.locator(".since-head")
    expect(told).to_contain_text(f"On jax {releases[1]}, ")
    differing = tab.locator(".since-yours").count()
    expect(told).to_contain_text(f"{differing} fact")
    assert [url for url in asked if "/_since/traffic.js" in url]
    assert tab.locator(".since-yours").first.is_visible()

    visit(tab, "propagation")
    expect(told).to_contain_text(f"On jax {releases[1]}, ")
    tab.locator(".facts-foot select").select_option("")
    expect(told).to_be_hidden()
    assert 0 == tab.locator(".since-yours, .since-differs").count()


def test_a_mark_says_on_which_releases_to_a_keyboard(reader: Reader) -> None:
    tab = opened(reader, "traffic", **DESKTOP)
    mark = tab.locator("article a.since-mark").first
    tab.keyboard.press("Tab")  # the browser shows focus for a keyboard
    mark.focus()
    expect(tab.get_by_role("tooltip")).to_have_text(mark.text_content())


def test_a_mark_leads_to_its_row(reader: Reader) -> None:
    tab = opened(reader, "propagation", **DESKTOP)
    tab.locator("article a.since-mark").first.click()
    tab.wait_for_url("**/since-when.html#*")
    row = tab.locator(":target")

    expect(row.locator("tr").first).to_be_in_viewport()
    expect(tab.locator(".since-group[open]")).to_have_count(1)


def test_a_filter_opens_the_tables_that_have_a_row_left(reader: Reader) -> None:
    tab = opened(reader, "since-when", **PHONE)
    opened_tables = tab.locator(".since-group[open]")
    release = tab.locator(".since-filters").get_by_label("Differs on")
    expect(opened_tables).to_have_count(0)
    release.select_option(index=1)

    assert 0 < opened_tables.count() == tab.locator(".since-group:visible").count()
    assert tab.locator(".since-group tbody:visible").first.is_visible()
    release.select_option("")
    expect(opened_tables).to_have_count(0)


# --- Lost readers


def test_a_page_not_found_leads_back(reader: Reader, base: str) -> None:
    tab = reader(**DESKTOP).new_page()
    # As Read the Docs does: the page, at the address that was not found.
    tab.route(
        "**/en/latest/**",
        lambda route: route.fulfill(
            response=tab.request.get(
                base + (route.request.url.partition("/en/latest/")[2] or "index.html")
                if "lost" not in route.request.url
                else base + "404.html"
            )
        ),
    )
    tab.goto("en/latest/lost/in/folders.html")
    expect(tab.locator("h1")).to_contain_text("Page not found")
    assert 20 < tab.evaluate("document.styleSheets[0].cssRules.length")
    tab.get_by_role("link", name="Glossary").first.click()
    tab.wait_for_url("**/en/latest/glossary.html")
