"""The menu of downloads in the header, by keyboard and without scripts."""

from __future__ import annotations

from browser import DESKTOP, PHONE, Reader, visit
from playwright.sync_api import expect


def test_the_menu_of_downloads_opens_by_keyboard(reader: Reader) -> None:
    tab = reader(**DESKTOP).new_page()
    visit(tab, "placement")
    menu = tab.locator("#downloads")
    tab.get_by_role("button", name="Download this page").focus()

    expect(menu).to_be_hidden()
    tab.keyboard.press("Enter")
    expect(menu).to_be_visible()
    tab.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    expect(tab.get_by_role("link", name="Notebook")).to_be_focused()
    with tab.expect_download() as started:
        tab.keyboard.press("Enter")

    assert "placement.ipynb" == started.value.suggested_filename


def test_the_menu_of_downloads_needs_no_script(reader: Reader) -> None:
    tab = reader(**PHONE, java_script_enabled=False).new_page()
    visit(tab, "glossary")
    tab.get_by_role("button", name="Download this page").tap()

    expect(tab.get_by_role("link", name="Markdown")).to_be_visible()
    expect(tab.get_by_role("link", name="Notebook")).to_have_count(0)
