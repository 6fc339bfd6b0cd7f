"""What a page says of itself to those who link to it."""

from __future__ import annotations

import re
import struct
from pathlib import Path

TAG = re.compile(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)"')
CANONICAL = re.compile(r'<link rel="canonical" href="([^"]*)"')


def test_a_page_has_one_address_and_a_card(page: str, site: Path) -> None:
    html = (site / f"{page}.html").read_text("utf-8")
    tags = dict(TAG.findall(html))
    (address,) = CANONICAL.findall(html)
    root, _, name = address.rpartition("/")
    card = site / tags["og:image"].removeprefix(f"{root}/")
    size = struct.unpack(">II", card.read_bytes()[16:24])

    assert f"{page}.html" == name
    assert address == tags["og:url"]
    assert (1200, 630) == size
    assert ("1200", "630") == (tags["og:image:width"], tags["og:image:height"])
    assert "summary_large_image" == tags["twitter:card"]
    assert tags["og:image:alt"].startswith(tags["og:title"])
