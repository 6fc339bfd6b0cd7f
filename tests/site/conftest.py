"""The built site in a browser: ``nox -s site`` runs what is here."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Reader
from playwright.sync_api import Browser, BrowserContext, sync_playwright
from server import serve


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--site", type=Path, required=True, help="the built site")


def names(site: Path) -> list[str]:
    """The pages that have a source, but the one for an address without a page."""
    sources = sorted((site / "_sources").glob("*.md*"))
    found = [source.name.partition(".")[0] for source in sources]
    if "index" not in found:
        raise pytest.UsageError(f"--site {site}: no built site is there")
    return [name for name in found if name != "404"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``page`` for each page; the others for some."""
    folder = metafunc.config.getoption("--site")
    pages = names(folder)
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", pages)
    if "lesson" in metafunc.fixturenames:
        metafunc.parametrize("lesson", chapter(folder))
    if "predicting" in metafunc.fixturenames:
        texts = {page: (folder / f"{page}.html").read_text("utf-8") for page in pages}
        marked = [page for page in pages if 'class="predict"' in texts[page]]
        metafunc.parametrize("predicting", marked)


def chapter(site: Path) -> list[str]:
    """The index, and the pages that it numbers."""
    index = (site / "index.html").read_text("utf-8")
    numbered = re.findall(r'<a [^>]*href="([\w-]+)\.html">\d+\. ', index)
    if not numbered:
        raise pytest.UsageError(f"{site}/index.html numbers no page")
    return ["index", *dict.fromkeys(numbered)]


@pytest.fixture(scope="session")
def lessons(site: Path) -> list[str]:
    """The names of the chapter's pages."""
    return chapter(site)


@pytest.fixture(scope="session")
def site(request: pytest.FixtureRequest) -> Path:
    """The folder of the built site."""
    return request.config.getoption("--site").resolve()


@pytest.fixture(scope="session")
def base(site: Path) -> Iterator[str]:
    """The address of the site's root."""
    with serve(site) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without the requests that it makes on its own."""
    path = shutil.which("chromium")
    assert path is not None, "python tests/site/prepare.py installs chromium"
    quiet = ["--no-sandbox", "--disable-background-networking", "--disable-sync"]
    quiet += ["--disable-component-update", "--no-first-run"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()


@pytest.fixture
def reader(chromium: Browser, base: str) -> Iterator[Reader]:
    """Make a reader: a browser of its own, with nothing in its cache."""
    readers = []

    def make(**options: object) -> BrowserContext:
        readers.append(chromium.new_context(base_url=base, **options))
        return readers[-1]

    yield make
    for each in readers:
        each.close()
