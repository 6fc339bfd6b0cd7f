"""The pytest plugin: the fixture ``pinned`` and ``--update-pinned``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# Nothing of jax up here: pytest imports this in every run of everyone who
# has the package installed.
if TYPE_CHECKING:
    from shardlessons import Reading

_WROTE = "shardlessons wrote"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("shardlessons").addoption(
        "--update-pinned",
        action="store_true",
        help="write what the fixture pinned is given into its files",
    )


@pytest.fixture
def pinned(request: pytest.FixtureRequest) -> Callable[[Reading, str], None]:
    """Hold a reading against a file: ``pinned(reading, "step.txt")``.

    The file is named from the folder of the test's own file. With
    ``--update-pinned`` it is written where it is missing or differs, and the
    run's summary says so; see ``shardlessons.testing.assert_pinned``.
    """

    def check(reading: Reading, path: str) -> None:
        from shardlessons.testing import assert_pinned

        __tracebackhide__ = True
        file = request.path.parent / path
        update = request.config.getoption("update_pinned")
        if assert_pinned(reading, file, update=update):
            # Part of the test's report, so that it reaches the summary from
            # a worker of pytest-xdist too.
            request.node.user_properties.append((_WROTE, str(file)))

    return check


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    files = {
        file: None
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, file in getattr(report, "user_properties", ())
        if name == _WROTE
    }
    if files:
        terminalreporter.section("readings pinned")
    for file in files:
        path = Path(file)
        if path.is_relative_to(config.invocation_params.dir):
            path = path.relative_to(config.invocation_params.dir)
        terminalreporter.line(f"wrote {path}")
