"""What Lighthouse says of a page, on a slow phone with a slow connection."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

AT_LEAST = {"performance": 99, "accessibility": 100, "best-practices": 100, "seo": 100}
FIRST_PAINT = 1300  # ms
SCRIPT = Path(__file__).with_name("lighthouse.mjs")


def reports(urls: list[str]) -> list[dict[str, Any]]:
    """Ask Lighthouse of each page: its scores, its first paint, what fell short."""
    # Only what it needs: a proxy would be asked for this machine's own pages.
    env = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    done = subprocess.run(
        ["node", SCRIPT, shutil.which("chromium") or "chromium", *urls],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=env,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def first(base: str, lessons: list[str]) -> dict[str, dict[str, Any]]:
    """The report of each page, from two browsers at a time."""
    halves = [lessons[::2], lessons[1::2]]
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(reports, [[f"{base}{p}.html" for p in h] for h in halves]))
    return dict(zip(sum(halves, []), sum(found, []), strict=True))


def reached(report: dict[str, Any]) -> bool:
    scores = report["scores"]
    return report["paint"] <= FIRST_PAINT and all(
        scores[name] >= least for name, least in AT_LEAST.items()
    )


def test_lighthouse_is_content(
    lesson: str, base: str, first: dict[str, dict[str, Any]]
) -> None:
    report = first[lesson]
    # The work of the browser is measured, and other programs lengthen it: what
    # falls short is measured again, alone.
    for _ in range(4):
        if not reached(report):
            (report,) = reports([f"{base}{lesson}.html"])

    print(f"\n{lesson}: {report['scores']}, first paint {report['paint']:.0f} ms")
    assert reached(report), json.dumps(report, indent=1)
