"""Rewriting written values to found ones, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_builder import build, small_site

from shardlessons.sphinxext.accept import CannotAccept, accept, main

PAGE = """\
# A page

One is {check}`1 <1>`, two is {check}`3 <2>`, and
more.

| a | b |
|---|---|
| {check}`4 <1 \\| 2>` | {check}`1,025 <1024>` |

```{code-cell} python
a = 5
print(a)
print(a + 1)
print(a + 2)
```

```{expect}
5
7
...
```

- a list

  :::{question} How much?
  ```pycon
  >>> a
  6
  >>> a + 1
  6
  ```
  :::
"""


def test_only_lines_that_do_not_hold_change(tmp_path: Path) -> None:
    docs = small_site(tmp_path, PAGE)
    before = (docs / "index.md").read_text("utf-8").splitlines()
    built = build(docs, tmp_path / "out")
    report = accept(built.ledger["facts"], tmp_path)
    after = (docs / "index.md").read_text("utf-8").splitlines()

    assert len(before) == len(after)
    assert [
        (
            "One is {check}`1 <1>`, two is {check}`3 <2>`, and",
            "One is {check}`1 <1>`, two is {check}`2 <2>`, and",
        ),
        (
            "| {check}`4 <1 \\| 2>` | {check}`1,025 <1024>` |",
            "| {check}`3 <1 \\| 2>` | {check}`1,024 <1024>` |",
        ),
        ("7", "6"),
        ("  6", "  5"),
    ] == [(b, a) for b, a in zip(before, after, strict=True) if b != a]
    assert 5 == len(report)
    assert "docs/index.md:9: 3 -> 2" in report

    assert [] == build(docs, tmp_path / "out", "-E", "-W").said


def test_nothing_to_do_changes_nothing(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("{check}`1 <1>`\n", "utf-8")
    fact = {
        "path": "page.md",
        "line": 1,
        "column": 8,
        "form": "check",
        "expression": "1",
        "written": "1",
        "found": "1",
        "holds": True,
    }

    assert [] == accept([fact], tmp_path)
    assert "{check}`1 <1>`\n" == page.read_text("utf-8")


@pytest.mark.parametrize("form", ["check", "expect"])
def test_a_file_changed_since_the_build_is_left_alone(
    form: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Something else\n", "utf-8")
    fact = {
        "path": "page.md",
        "line": 1,
        "column": 1,
        "form": form,
        "expression": "1",
        "written": "2",
        "found": "1",
        "holds": False,
    }
    with pytest.raises(CannotAccept) as caught:
        accept([fact], tmp_path)

    assert str(caught.value).startswith(
        "page.md:1: the file has changed since the build"
    )
    assert "Something else\n" == page.read_text("utf-8")


def test_several_lines_do_not_fit_into_a_check(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`a <'a\\nb'>`\n")
    built = build(docs, tmp_path / "out")
    with pytest.raises(CannotAccept) as caught:
        accept(built.ledger["facts"], tmp_path)

    assert (
        "docs/index.md:9: the value has several lines: use {expect}"
        == str(caught.value)
    )


def test_the_command_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`4 <3>`\n")
    built = build(docs, tmp_path / "out")
    code = main([str(built.out / "facts.json"), "--root", str(tmp_path)])

    assert 0 == code
    assert "docs/index.md:9: 4 -> 3\n1 facts rewritten\n" == capsys.readouterr().out
