"""Eight CPU devices for every test in this process, and the site as built."""

from __future__ import annotations

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last of all, what builds the site in a copy of the tree."""
    items.sort(key=lambda item: "published" in getattr(item, "fixturenames", ()))
