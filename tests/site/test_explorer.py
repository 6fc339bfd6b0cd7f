"""The explorer in a browser: what a reader chooses is looked up, nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import DESKTOP, PHONE, Reader, visit, violations
from playwright.sync_api import Locator, Page, expect


def opened(reader: Reader, query: str = "", **options: object) -> Page:
    tab = reader(**{**DESKTOP, **options}).new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(f"explorer.html{query}", wait_until="networkidle")

    assert [] == errors
    return tab


def answer(site: Path, piece: str, key: str) -> dict:
    text = (site / f"_static/explorer/{piece}.json").read_text("utf-8")
    return json.loads(text)["answers"][key]


def choice(tab: Page) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(urlsplit(tab.url).query).items()}


def said(tab: Page) -> Locator:
    return tab.get_by_role("status").and_(tab.locator(".explorer-said"))


def expect_shown(tab: Page, found: dict) -> None:
    expect(said(tab)).to_have_text(found["said"])
    shown = tab.locator(".explorer-report")
    if "error" in found:
        expect(shown).to_have_text(found["error"])
        expect(tab.locator(".explorer-tiles figure")).to_have_count(0)
        return
    expect(tab.locator(".explorer-tiles figure")).to_have_count(len(found["tiles"]))
    # The spaces between, and classes without a style, are the light page's affair.
    texts = """(element) => [...element.querySelectorAll("*")]
      .filter((one) => !one.children.length)
      .map((one) => [one.localName, one.textContent])"""
    made = """(element, html) => {
      const made = document.createElement("div");
      made.innerHTML = html;
      return (%s)(made);
    }"""

    assert shown.evaluate(texts) == shown.evaluate(made % texts, found["html"])


def test_nothing_is_fetched_before_it_is_asked(reader: Reader, site: Path) -> None:
    tab = reader(**DESKTOP).new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(urlsplit(request.url).path))
    visit(tab, "explorer")
    before = [path for path in asked if path.endswith(".json")]
    tab.get_by_label("TPU v5e").check()
    expect_shown(tab, answer(site, "matmul.4x2.v5e", "data.model/model"))
    pieces = [path.rpartition("/")[2] for path in asked if path.endswith(".json")]

    assert [] == before
    assert ["matmul.4x2.tiles.json", "matmul.4x2.v5e.json"] == sorted(pieces)


def test_a_keyboard_alone_chooses(reader: Reader, site: Path) -> None:
    tab = opened(reader)
    tab.get_by_label("Operation").focus()
    tab.keyboard.type("two-layer")
    expect(tab.get_by_label("up (64, 128)")).to_have_value("_")
    tab.keyboard.press("Tab")  # to the mesh
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Tab")  # to the chip
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Tab")  # to x
    tab.keyboard.press("Tab")  # to up
    tab.keyboard.press("ArrowDown")

    expect_shown(tab, answer(site, "mlp_gradient.2x4.v5e", "data/_.model/_"))
    assert {
        "operation": "mlp_gradient",
        "mesh": "2x4",
        "chip": "v5e",
        "x": "data",
        "up": "_.model",
        "down": "_",
    } == choice(tab)


def test_an_address_restores_the_choice(reader: Reader, site: Path) -> None:
    query = (
        "?operation=attention&mesh=2x2x2&chip=h100&x=data-fsdp&qkv=_.model&out=model"
    )
    tab = opened(reader, query)

    expect_shown(tab, answer(site, "attention.2x2x2.h100", "data-fsdp/_.model/model"))
    code = tab.locator(".explorer-code pre")
    expect(code).to_contain_text('struct((8, 16, 64), P(("data", "fsdp"))),')
    expect(code).to_contain_text('gpu_mesh("H100", {"data": 2, "fsdp": 2, "model": 2})')
    assert query.endswith(urlsplit(tab.url).query)


@pytest.mark.parametrize(
    "query", ["?operation=attention", "?operation=no&mesh=8&chip=cpu"]
)
def test_an_address_of_no_choice_shows_the_first(
    query: str, reader: Reader, site: Path
) -> None:
    expect_shown(
        opened(reader, query), answer(site, "matmul.4x2.cpu", "data.model/model")
    )


def test_an_error_of_jax_is_an_answer(reader: Reader, site: Path) -> None:
    tab = opened(reader)
    tab.get_by_label("a (64, 64)").select_option('P("data", "data")')

    expect_shown(tab, answer(site, "matmul.4x2.cpu", "data.data/model"))
    expect(tab.locator(".explorer-report")).to_contain_text("DuplicateSpecError")


def test_a_row_of_the_most_asked_leads_to_its_choice(
    reader: Reader, site: Path
) -> None:
    tab = opened(reader)
    tab.get_by_role("link", name="x.reshape(16, 8)").click()
    tab.wait_for_url("**/explorer.html?operation=reshape*")

    expect_shown(tab, answer(site, "reshape.4x2.cpu", "data.model"))
    expect(tab.get_by_label("Operation")).to_have_value("reshape")


def test_the_code_is_copied_with_the_choice(reader: Reader) -> None:
    tab = opened(reader, permissions=["clipboard-read", "clipboard-write"])
    tab.get_by_label("b (64, 64)").select_option('P(None, "model")')
    code = tab.locator(".explorer-code pre")
    expect(code).to_contain_text('struct((64, 64), P(None, "model")),')
    tab.get_by_role("button", name="Copy the code").click()
    expect(said(tab)).to_have_text("The code is copied.")

    assert code.text_content() == tab.evaluate("navigator.clipboard.readText()")


def test_an_answer_that_does_not_arrive_is_said(reader: Reader, site: Path) -> None:
    tab = opened(reader)
    tab.route("**/explorer/*.json*", lambda route: route.abort())
    tab.get_by_label("H100").check()
    expect(said(tab)).to_contain_text("The answer could not be fetched")
    tab.unroute("**/explorer/*.json*")
    tab.get_by_label("TPU v5e").check()

    expect_shown(tab, answer(site, "matmul.4x2.v5e", "data.model/model"))


def test_without_scripts_there_is_an_answer_and_the_most_asked(
    reader: Reader, site: Path
) -> None:
    tab = opened(reader, java_script_enabled=False)

    expect(tab.locator(".explorer form")).to_be_hidden()
    expect(tab.locator(".explorer-report")).to_be_visible()
    rows = tab.locator("table.table tbody tr")
    found = answer(site, "sum_rows.4x2.cpu", "data.model")["row"]
    shown = [
        *found["out"],
        f"{found['argument']:,}",
        f"{found['sent']:,}",
        *found["by"],
    ]
    for text in shown:
        expect(rows.nth(1)).to_contain_text(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_an_answer_fits_and_axe_finds_nothing(
    window: dict, scheme: str, reader: Reader
) -> None:
    query = "?operation=mlp_gradient&mesh=4x2&chip=h100&x=data&up=data.model&down=model"
    tab = opened(reader, query, **window, color_scheme=scheme)
    found = violations(tab)
    wider = """() => [...document.querySelectorAll(".explorer *")]
      .filter((each) => each.getBoundingClientRect().right > innerWidth + 1
        && !each.closest("svg, pre"))
      .map((each) => each.outerHTML.slice(0, 120))"""

    assert [] == found
    assert [] == tab.evaluate(wider)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
