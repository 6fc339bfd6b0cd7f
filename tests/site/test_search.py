"""Search, as a reader types and on its page: what it finds, where it leads."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from browser import DESKTOP, Reader, opened, visit
from playwright.sync_api import Locator, Page, Route, expect
from server import serve
from site_builder import ROOT, build

ERROR = "Sharding passed to jit does not match the sharding on the respective arg"
LINKS = "#search-results li > a"
# A page in a folder, of a site whose pages are folders themselves.
CONF = """
extensions = ["myst_parser", "shardlessons.sphinxext.light"]
templates_path = ["_templates"]
html_theme = "sphinx_book_theme"
html_static_path = ["_static"]
html_js_files = ["search.js"]
html_sidebars = {"**": ["sidebar-start.html"]}
html_theme_options = {"article_header_end": ["header-buttons.html"]}
"""
PAGES = {
    "index": "# Start\n\n```{toctree}\npart/one\npart/two\n```\n",
    "part/one": "# One\n",
    "part/two": "# Placement\n",
}


def box(tab: Page) -> Locator:
    """The dialog's input, opened."""
    tab.keyboard.press("Control+k")
    return tab.locator("#pst-search-dialog input[name=q]")


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


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a site that is written by dirhtml."""
    docs = tmp_path_factory.mktemp("folders") / "docs"
    for name in ("_templates", "_static"):
        shutil.copytree(ROOT / "docs" / name, docs / name)
    (docs / "part").mkdir()
    (docs / "conf.py").write_text(CONF, "utf-8")
    for name, text in PAGES.items():
        (docs / f"{name}.md").write_text(text, "utf-8")
    built = build(docs, docs.parent / "out", "-b", "dirhtml")
    assert (0, "") == (built.code, built.stderr)
    # Not at the root of a host, which a link with too many dots leads to as well.
    with serve(docs.parent) as address:
        yield f"{address}out/"


@pytest.mark.parametrize("start", ["", "part/one/"])
def test_a_page_that_is_a_folder_is_found(
    start: str, folders: str, reader: Reader
) -> None:
    tab = reader(**DESKTOP).new_page()
    tab.goto(folders + start)
    box(tab).fill("placement")
    tab.locator(LINKS).first.click()
    tab.wait_for_url(f"{folders}part/two/*")
    expect(tab.locator("h1")).to_contain_text("Placement")


@pytest.mark.parametrize("file", ["language_data", "searchtools", "searchindex"])
def test_a_search_that_could_not_be_loaded_is_tried_again(
    file: str, reader: Reader
) -> None:
    tab = opened(reader, "index", **DESKTOP)
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.route(f"**/{file}.js", lambda route: route.abort())
    query = box(tab)
    query.fill(ERROR)
    expect(tab.locator("#search-results")).to_have_text(
        "The search could not be loaded. Type to try again."
    )
    query.clear()
    expect(tab.locator("#search-results")).to_be_empty()
    tab.unroute(f"**/{file}.js")
    query.fill(ERROR)
    tab.locator(f"{LINKS}[href*='placement.html']").first.wait_for()

    assert [] == errors


def test_what_is_typed_stays_while_the_search_loads(reader: Reader) -> None:
    tab = opened(reader, "index", **DESKTOP)
    held: list[Route] = []
    tab.route("**/searchtools.js", lambda route: held.append(route))
    query = box(tab)
    query.fill(ERROR)
    tab.wait_for_timeout(300)
    held[0].continue_()
    tab.locator(f"{LINKS}[href*='placement.html']").first.wait_for()

    expect(query).to_have_value(ERROR)


def test_a_query_finds_what_it_finds_alone(reader: Reader) -> None:
    alone = opened(reader, "index", **DESKTOP)
    box(alone).fill(ERROR)
    expect(alone.locator(".search-summary")).to_contain_text("finished")
    tab = opened(reader, "index", **DESKTOP)
    query = box(tab)
    query.fill("shardlessons")
    tab.locator(LINKS).first.wait_for()
    query.fill(ERROR)

    expect(tab.locator(LINKS)).to_have_text(alone.locator(LINKS).all_inner_texts())
    expect(tab.locator(".search-summary")).to_have_text(
        alone.locator(".search-summary").inner_text()
    )
