"""Eight CPU devices for every test in this process, and the site as built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from site_builder import Build, build_copy, copy_tree

from shardlessons import cpu_devices

cpu_devices(8)

collect_ignore = ["site"]  # needs a browser, and a built site: nox -s site


@pytest.fixture(scope="session")
def real_site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Build]:
    """A copy of the real pages and package, and its build, which is right."""
    folder = tmp_path_factory.mktemp("real")
    copy_tree(folder)
    built = build_copy(folder)

    assert [] == built.said
    assert 0 == built.code
    return folder, built


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Have the run say something in its summary, from whichever process."""
    return lambda text: record_property("told", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    for report in reports:
        for name, text in report.user_properties:
            if name == "told":
                terminalreporter.write_line(text)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """First of all, and in one process, what needs the site as built.

    Of several processes, each takes one file after another.
    """

    def needs_site(item: pytest.Item) -> bool:
        return not {"real_site", "published"}.isdisjoint(
            getattr(item, "fixturenames", ())
        )

    items.sort(key=lambda item: not needs_site(item))
    for item in items:
        group = "the site" if needs_site(item) else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
