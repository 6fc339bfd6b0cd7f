"""Search, as a reader types and on its page: what it finds, where it leads."""

from __future__ import annotations

from browser import DESKTOP, Reader, opened, visit

ERROR = "Sharding passed to jit does not match the sharding on the respective arg"


def test_an_error_text_is_found_while_it_is_typed(reader: Reader) -> None:
    tab = opened(reader, "index", **DESKTOP)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    tab.keyboard.press("Control+k")
    tab.keyboard.type(ERROR)
    link = tab.locator("#search-results a[href*='placement.html']").first
    link.wait_for()

    assert "searchindex.js" in asked
    link.click()
    tab.wait_for_url("**/placement.html*")


def test_an_error_text_is_found_on_the_search_page(reader: Reader) -> None:
    tab = opened(reader, "search", **DESKTOP)
    box = tab.locator("main input[name=q]")
    box.fill(ERROR)
    box.press("Enter")
    tab.wait_for_url("**/search.html?q=*")
    tab.locator("#search-results a[href*='placement.html']").first.wait_for()


def test_no_page_loads_the_index_before_a_search(reader: Reader) -> None:
    seen = visit(reader(**DESKTOP).new_page(), "index")

    assert [] == [url for url in seen.sent if "search" in url]
