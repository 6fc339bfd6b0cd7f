"""``since.json`` and the pages that it is about: agreement, marks, the table."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from site_builder import FRONT_MATTER, Build, build, small_site

from shardlessons.sphinxext._history import save
from shardlessons.sphinxext.survey._merge import Asked, merge

PAGE = """\
# A page

Three is {check}`3 <1 + 2>`, and a is {check}`a <chr(97)>`.

```{code-cell} python
print(chr(98))
```

```{expect}
b
```

:::{question} What is c?
```pycon
>>> chr(99)
'c'
```
:::

[Since when](since.md)
"""
SINCE = "---\norphan: true\n---\n\n# Since when\n\n```{since-when}\n```\n"
# What the older releases answered; the newest answers as the page says.
OLDER: dict[str, dict[str, Any]] = {
    "1.0": {
        "chr(97)": {"found": "ValueError: " + "no " * 40, "raised": True},
        "print(chr(98))": {"found": "x\ny"},
        "chr(99)": {"found": "KeyError: c", "raised": True, "unanswered": True},
    },
    "2.0": {"chr(97)": {"found": "A"}, "print(chr(98))": {"found": "x\ny"}},
    "3.0": {"print(chr(98))": {"found": "x\ny"}},
    "4.0": {},
}


def write_history(docs: Path, facts: list[dict[str, Any]]) -> None:
    """A ``since.json`` whose newest release answers as the build did."""
    all_asked = [
        Asked(
            release,
            ("AxisType",) if release == "1.0" else (),
            [
                fact | {"holds": False} | answers[fact["expression"]]
                if fact["expression"] in answers
                else fact
                for fact in facts
            ],
        )
        for release, answers in OLDER.items()
    ]
    save(merge(all_asked), docs / "since.json")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Build]:
    """A site whose pages and history agree."""
    folder = tmp_path_factory.mktemp("since")
    docs = small_site(folder, PAGE)
    write_history(docs, build(docs, folder / "first").ledger["facts"])
    (docs / "since.md").write_text(SINCE, "utf-8")
    return docs, build(docs, folder / "out", "-n", "-W", "--keep-going")


def soup(built: Build, page: str) -> BeautifulSoup:
    return BeautifulSoup(built.html(page), "html.parser")


def rows(built: Build) -> list[list[tuple[str, str, str, str]]]:
    """Of each fact, the cells: columns, releases, kind, text."""
    return [
        [
            (td["colspan"], td["data-releases"], td["data-kind"], td.get_text())
            for td in body.select_one("tr").select("td")
        ]
        for body in soup(built, "since").select("table.since tbody")
    ]


def test_where_file_and_pages_agree_nothing_is_said(site: tuple[Path, Build]) -> None:
    _, built = site

    assert ([], 0) == (built.said, built.code), built.stderr


def test_releases_in_a_row_with_one_value_share_a_cell(site: tuple[Path, Build]) -> None:
    _, built = site

    assert [
        [
            ("1", "1.0", "error class", "another error"),
            ("1", "2.0", "value", "A"),
            ("2", "3.0 to 4.0", "", "a"),
        ],
        [
            ("3", "1.0 to 3.0", "value", "another value"),
            ("1", "4.0", "", "b"),
        ],
        [
            ("1", "1.0", "availability", "not answered"),
            ("3", "2.0 to 4.0", "", "'c'"),
        ],
    ] == rows(built)
    head = soup(built, "since").select("table.since thead th")

    assert ["fact", *OLDER] == [th.get_text() for th in head]


def test_long_values_are_given_in_full_below_their_row(site: tuple[Path, Build]) -> None:
    _, built = site
    page = soup(built, "since")
    values = [
        [(dt.get_text(), dt.find_next("pre").get_text()) for dt in dl.select("dt")]
        for dl in page.select(".since-values dl")
    ]

    assert [("1.0 to 3.0", "x\ny"), ("4.0", "b")] == values[1]
    assert (
        "1.0, not answered, because of an error above",
        "KeyError: c",
    ) == values[2][0]
    assert "1.0 is asked without AxisType." == page.select_one(".since-without").get_text()


def test_each_changed_fact_is_marked_and_linked_with_its_row(
    site: tuple[Path, Build],
) -> None:
    _, built = site
    page, table = soup(built, "index"), soup(built, "since")
    marks = page.select("a.since-mark")

    assert [
        "Not the same on every release. jax 1.0: error class; jax 2.0: value",
        "Not the same on every release. jax 1.0 to 3.0: value",
        "Not the same on every release. jax 1.0: availability",
    ] == [mark.get_text() for mark in marks]
    for mark in marks:
        target, _, row = mark["href"].partition("#")
        back = table.find(id=row).select_one("th a")["href"]

        assert "since.html" == target
        assert page.find(id=back.partition("#")[2]) is not None
    assert "a" == page.select_one("span.fact[id]").get_text()


def test_a_page_names_what_its_script_fetches(site: tuple[Path, Build]) -> None:
    _, built = site
    place = soup(built, "index").select_one("#since-data")
    source, _, _ = place["data-source"].partition("?v=")
    script = (built.out / source).read_text("utf-8")
    data = json.loads(script.removeprefix("sinceData="))
    texts = data["texts"]

    assert list(OLDER) == place["data-releases"].split()
    assert "_since/index.js" == source
    assert [
        [[1, "availability", texts.index("KeyError: c")], [3]],
        [[1, "error class", 0], [1, "value", texts.index("A")], [2]],
        [[3, "value", texts.index("x\ny")], [1]],
    ] == sorted(data["facts"].values())
    assert 4 == len(texts)
    assert soup(built, "index").select_one("script[src*='since.js']") is not None


def test_each_disagreement_is_named(site: tuple[Path, Build], tmp_path: Path) -> None:
    docs, _ = site
    copy = small_site(tmp_path, PAGE, since=SINCE)
    content = json.loads((docs / "since.json").read_text("utf-8"))
    page = content["pages"]["index"]
    page["held"]["check 1 + 2"] = "00000000"
    page["held"]["check gone"] = "00000000"
    page["changed"]["check chr(97)"]["3.0 to 4.0"] = "z"
    (asked,) = [key for key in page["changed"] if key.startswith("question")]
    del page["changed"][asked]
    content["pages"]["nowhere"] = {"held": {"check 1": "00000000"}, "changed": {}}
    (copy / "since.json").write_text(json.dumps(content), "utf-8")
    built = build(copy, tmp_path / "out")
    again = "run nox -s versions"

    assert {
        f"index.md:9: jax 4.0 answers 3, and since.json has another value in column "
        f"all: {again}; asked: 1 + 2",
        f"index.md:9: jax 4.0 answers a, and since.json has z in column 3.0 to 4.0: "
        f"{again}; asked: chr(97)",
        f"index.md:22: since.json does not have this fact: {again}; asked: chr(99)",
        f"index.md:1: since.json has a fact that is not here: {again}; it is check gone",
        f"since.json:1: there is no page nowhere: {again}",
    } == {
        re.sub(r"^\S*/", "", line).replace("WARNING: ", "").replace(" [facts.since]", "")
        for line in built.stderr.splitlines()
    }


def test_a_fact_that_does_not_hold_is_named_once_and_another_jax_is_not_compared(
    site: tuple[Path, Build], tmp_path: Path
) -> None:
    docs, _ = site
    wrong = PAGE.replace("`3 <1 + 2>`", "`4 <1 + 2>`")
    jax = FRONT_MATTER + "# B\n\n```{code-cell} python\nimport jax\n```\n\n{check}`1 <1>`\n"
    copy = small_site(tmp_path, wrong, since=SINCE, other=f"{jax}")
    (copy / "since.json").write_bytes((docs / "since.json").read_bytes())
    built = build(copy, tmp_path / "out")

    assert [("index.md", 9, "written: 4, found: 3, asked: 1 + 2")] == [
        (said.file, said.line, said.text) for said in built.said if said.kind != "toc.not_included"
    ]


def test_the_table_asks_for_its_file(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# A page\n\n```{since-when}\n```\n")
    built = build(docs, tmp_path / "out")

    assert "there is no since.json beside the pages: run nox -s versions" in built.stderr
