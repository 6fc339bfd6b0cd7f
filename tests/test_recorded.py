"""A page that only some platforms can ask: recorded there, asked here, or told."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from site_builder import Build, Said, build, small_site
from test_collect import CONFTEST, pytest_in

from shardlessons.sphinxext._platforms import (
    KNOWN,
    BadFrontMatter,
    platforms_of,
    this_platform,
)
from shardlessons.sphinxext.accept import accept

FRONT = """\
---
file_format: mystnb
kernelspec:
  name: python3
  language: python
platforms: [linux-x86_64]
---

"""
PAGE = """\
# Chips

Two is {check}`2 <chips>`.

```{code-cell} python
import chips_compiler
chips = 2
print(chips)
```

```{expect}
2
```

```{code-cell} python
:tags: [raises-exception]
chips / 0
```

```{expect}
ZeroDivisionError: ...
```

:::{question} How many?
Two.

```pycon
>>> chips
2
```
:::
"""
# Only what can be said without asking.
MALFORMED = """\
# Chips

{check}`2`, {check}`... <chips>`.

```{code-cell} python
chips = 2
```

```{expect}
...
```

Text.

```{expect}
2
```

:::{question} How many?
Two.
:::

It is `P('data', None)`.
"""
FIRST_HERE = FRONT.count("\n")  # the line above the page's first
INDEX = "# A page\n\n{check}`3 <1 + 2>`\n\n```{toctree}\nchips\n```\n"


def build_chips(folder: Path, page: str, here: str, *flags: str) -> Build:
    docs = small_site(folder, INDEX, chips=FRONT + page)
    return build(docs, folder / "out", "-D", f"shardlessons_platform={here}", *flags)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("else[w]here")  # a pattern, were it not escaped
    return build_chips(folder, PAGE, "darwin-arm64", "-n", "-W", "-j", "2")


def test_elsewhere_nothing_is_asked_and_the_build_passes(elsewhere: Build) -> None:
    assert [] == elsewhere.said
    assert 0 == elsewhere.code


def test_the_ledger_tells_recorded_from_proven(elsewhere: Build) -> None:
    assert {
        "stated": 5,
        "proven": 1,
        "recorded": 4,
        "notation": 0,
    } == elsewhere.ledger["counts"]
    assert [
        ("chips", "check", "2", None, None, True),
        ("chips", "expect", "2", None, None, True),
        ("chips", "expect", "ZeroDivisionError: ...", None, None, True),
        ("chips", "question", "2", None, None, True),
        ("index", "check", "3", "3", True, False),
    ] == [
        (f["page"], f["form"], f["written"], f["found"], f["holds"], f["recorded"])
        for f in elsewhere.ledger["facts"]
    ]


def test_the_page_shows_what_is_written(elsewhere: Build) -> None:
    page = BeautifulSoup(elsewhere.html("chips"), "html.parser")
    outputs = page.select("div.cell_output pre")

    assert ["2\n", "ZeroDivisionError: ...\n"] == [o.get_text() for o in outputs]
    assert [False, True] == [
        o.find_parent(class_="error") is not None for o in outputs
    ]
    assert ["2"] == [f.get_text() for f in page.select("span.fact")]
    assert ">>> chips\n2\n" == page.select_one("details pre").get_text()
    assert "linux-x86_64" not in page.get_text().partition("4 facts on")[0]


def test_the_foot_says_that_the_values_are_recorded(elsewhere: Build) -> None:
    page = BeautifulSoup(elsewhere.html("chips"), "html.parser")

    assert (
        "4 facts on this page, as recorded by a build on linux-x86_64: this build, "
        "on darwin-arm64, did not ask them."
    ) == page.select_one(".facts-foot").get_text().strip()


def test_accept_leaves_recorded_values_as_they_are(elsewhere: Build) -> None:
    root = elsewhere.out.parent
    before = (root / "docs" / "chips.md").read_text("utf-8")

    assert ([], []) == accept(elsewhere.ledger["facts"], root)
    assert before == (root / "docs" / "chips.md").read_text("utf-8")


def test_what_is_malformed_fails_elsewhere_too(tmp_path: Path) -> None:
    built = build_chips(tmp_path, MALFORMED, "darwin-arm64")

    assert [
        (3, "a check needs `value <expression>`, this one is `2`"),
        (3, "`...` holds for any value: write it out"),
        (10, "the {expect} holds for any output: write it out"),
        (15, "an {expect} stands without a cell above it"),
        (19, "the answer has no ```pycon example that proves it"),
        (
            23,
            "P('data', None) looks like a spec and is bound to nothing: make it a "
            "{check}, or mark it as {notation}",
        ),
    ] == [(s.line - FIRST_HERE, s.text) for s in built.said]


def test_where_the_page_can_be_asked_a_missing_backend_fails(tmp_path: Path) -> None:
    built = build_chips(tmp_path, PAGE, "linux-x86_64", "-W", "--keep-going")

    assert (
        Said(
            "chips.md",
            FIRST_HERE + 6,
            "facts.raised",
            "the cell raises: tag it raises-exception",
        )
        in built.said
    )
    assert (
        Said(
            "chips.md",
            FIRST_HERE + 12,
            "facts.expect",
            "written: 2, found: ModuleNotFoundError: No module named 'chips_compiler'",
        )
        in built.said
    )
    assert 1 == built.code
    assert 0 == built.ledger["counts"]["recorded"]


def test_where_the_page_can_be_asked_it_is(tmp_path: Path) -> None:
    page = PAGE.replace("import chips_compiler\n", "").replace(
        "Two is {check}`2 <chips>`.\n\n", ""
    )
    built = build_chips(tmp_path, page, "linux-x86_64", "-W")

    assert [] == built.said
    assert {
        "stated": 4,
        "proven": 4,
        "recorded": 0,
        "notation": 0,
    } == built.ledger["counts"]


def test_a_rebuild_on_another_platform_asks_again(tmp_path: Path) -> None:
    build_chips(tmp_path, "# Chips\n\n{check}`3 <3>`\n", "darwin-arm64", "-W")
    docs, out = tmp_path / "docs", tmp_path / "out"
    recorded = []
    for here in ("linux-x86_64", "darwin-arm64", "linux-x86_64"):
        built = build(docs, out, "-W", "-D", f"shardlessons_platform={here}")
        assert [] == built.said
        recorded.append(built.ledger["counts"]["recorded"])

    assert [0, 1, 0] == recorded


def test_the_last_line_counts_what_is_recorded(tmp_path: Path) -> None:
    docs = small_site(tmp_path, INDEX.partition("{check}")[0], chips=FRONT + PAGE)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-N"),
            *("-D", "shardlessons_platform=windows-amd64", docs, tmp_path / "out"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (
        "facts: 4 stated, 0 proven, 4 recorded, 0 marked as notation" in done.stdout
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("linux-x86_64", "'linux-x86_64'"),
        ("[linux-x86-64]", "['linux-x86-64']"),
        ("[]", "[]"),
    ],
)
def test_platforms_that_do_not_exist_are_refused(value: str, said: str) -> None:
    with pytest.raises(
        BadFrontMatter,
        match=re.escape(
            f"platforms is {said}; it takes a list of one or more of darwin-arm64, "
        ),
    ):
        platforms_of(f"---\nplatforms: {value}\n---\n")


def test_the_language_of_the_kernel_is_asked_for_everywhere() -> None:
    with pytest.raises(
        BadFrontMatter,
        match=re.escape(
            "a page with platforms names the language of its kernel, for where it "
            "does not run: write kernelspec: {name: python3, language: python}"
        ),
    ):
        platforms_of(FRONT.replace("  language: python\n", ""))
    assert ("linux-x86_64",) == platforms_of(FRONT)


def test_a_build_names_the_page_whose_platforms_do_not_exist(tmp_path: Path) -> None:
    page = FRONT.replace("linux-x86_64", "linux") + PAGE
    docs = small_site(tmp_path, INDEX, chips=page)
    built = build(docs, tmp_path / "out")

    assert 2 == built.code
    assert f"{docs / 'chips.md'}: platforms is ['linux']; it takes" in built.stderr


def test_pages_without_front_matter_are_for_all() -> None:
    assert () == platforms_of("# A page\n")
    assert () == platforms_of("---\nfile_format: mystnb\n---\n")


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("Linux", "x86_64", "linux-x86_64"),
        ("Darwin", "arm64", "darwin-arm64"),
        ("Windows", "AMD64", "windows-amd64"),
    ],
)
def test_a_platform_is_system_and_machine(
    system: str, machine: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert name == this_platform()
    assert name in KNOWN


def test_examples_are_skipped_elsewhere_with_the_reason(tmp_path: Path) -> None:
    conftest = CONFTEST.replace(".parent)", ".parent, platform='darwin-arm64')")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "chips.md").write_text(FRONT + PAGE, "utf-8")
    (tmp_path / "page.md").write_text("```pycon\n>>> 1\n1\n```\n", "utf-8")
    said = pytest_in(tmp_path, "-rs", "-vv")

    assert ["SKIPPED"] * 3 + ["PASSED"] == [
        line.split()[1] for line in said.splitlines() if "%]" in line
    ]
    assert (
        "only linux-x86_64 can ask this page, and this is darwin-arm64" in said
    )


def test_examples_run_where_the_page_can_be_asked(tmp_path: Path) -> None:
    conftest = CONFTEST.replace(".parent)", ".parent, platform='linux-x86_64')")
    (tmp_path / "conftest.py").write_text(conftest, "utf-8")
    (tmp_path / "chips.md").write_text(FRONT + PAGE, "utf-8")
    said = pytest_in(tmp_path, "-vv")

    assert ["FAILED", "PASSED", "FAILED"] == [  # the second is to raise
        line.split()[1] for line in said.splitlines() if "%]" in line
    ]
    assert "No module named 'chips_compiler'" in said
