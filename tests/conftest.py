"""Eight CPU devices for every test in this process, and the site as built."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from site_builder import Build, build_copy, copy_tree

from shardlessons import cpu_devices

cpu_devices(8)

collect_ignore = ["site"]  # needs a browser, and a built site: nox -s site


@pytest.fixture(scope="session")
def real_site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Build]:
    """A copy of the real pages and package, and its build, which is right.

    Where several processes run the tests, one builds and the others wait.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "real"
    said = folder / "said.json"
    with FileLock(folder.with_suffix(".lock")):
        if not said.exists():
            copy_tree(folder)
            built = build_copy(folder)
            said.write_text(json.dumps([built.code, built.stderr]), "utf-8")
    built = Build(*json.loads(said.read_text("utf-8")), folder / "out")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first, so that no process ends long after the others."""
    order = ["published", "real_site"]

    def place(item: pytest.Item) -> int:
        needs = getattr(item, "fixturenames", ())
        return next((n for n, name in enumerate(order) if name in needs), len(order))

    items.sort(key=place)
