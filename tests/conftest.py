"""Eight CPU devices for every test that does not start its own process."""

from __future__ import annotations

import pytest

from shardlessons import cpu_devices

cpu_devices(8)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Last of all, what builds the site in a copy of the tree."""
    items.sort(key=lambda item: "published" in getattr(item, "fixturenames", ()))
