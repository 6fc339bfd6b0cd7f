"""The windows that readers have, and a visit to a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
DESKTOP: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}}

Reader = Callable[..., BrowserContext]

AXE = Path(__file__).with_name("node_modules") / "axe-core/axe.min.js"
VIOLATIONS = """async () => {
  // Those of the theme fade from one colour to another.
  await Promise.all(document.getAnimations().map((each) => each.finished));
  const { violations } = await axe.run();
  return violations.map(({ id, nodes }) =>
    [id, ...nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
}"""


@dataclass(frozen=True)
class Visit:
    """The bytes of each request that a page made, and what held up its paint."""

    sent: dict[str, int]
    blocking: list[str]

    def __str__(self) -> str:
        heaviest = sorted(self.sent.items(), key=lambda item: -item[1])
        return "\n".join(f"{size:8} {url}" for url, size in heaviest)

    @property
    def total(self) -> int:
        return sum(self.sent.values())


def opened(reader: Reader, page: str, **options: object) -> Page:
    """Open a page in a browser of its own, in which no script fails."""
    tab = reader(**options).new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"{page}.html")

    assert [] == errors
    return tab


def visit(tab: Page, name: str) -> Visit:
    """Open a page and wait until it has loaded."""
    urls: dict[str, str] = {}
    sent: dict[str, int] = {}
    session = tab.context.new_cdp_session(tab)
    session.on(
        "Network.requestWillBeSent",
        lambda event: urls.update({event["requestId"]: event["request"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda event: sent.update({event["requestId"]: event["encodedDataLength"]}),
    )
    session.on(
        "Network.loadingFailed",
        lambda event: sent.setdefault(event["requestId"], 0),
    )
    session.send("Network.enable")
    tab.goto(f"{name}.html", wait_until="networkidle")
    # The icon comes after all else; a page that is left has the next one ask for it.
    for _ in range(500):
        if urls.keys() <= sent.keys():
            break
        tab.wait_for_timeout(10)
    blocking = tab.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((file) => file.renderBlockingStatus === "blocking")
          .map((file) => file.name)"""
    )
    session.detach()
    asked = {key: url for key, url in urls.items() if not url.startswith("data:")}
    return Visit({url: int(sent.get(key, 0)) for key, url in asked.items()}, blocking)


def violations(tab: Page) -> list[Any]:
    """What axe finds wrong with a page as it is: the rule, and elements."""
    tab.add_script_tag(path=AXE)
    return tab.evaluate(VIOLATIONS)
