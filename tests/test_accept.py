"""Rewriting written values to found ones, and only those."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_builder import FRONT_MATTER, build, small_site

from shardlessons.sphinxext.accept import accept, main

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
    done, left = accept(built.ledger["facts"], tmp_path)
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
    assert [
        "docs/index.md:9: 3 -> 2",
        "docs/index.md:14: 4 -> 3",
        "docs/index.md:14: 1,025 -> 1,024",
        "docs/index.md:24: 5 / 7 / ... -> 5 / 6 / 7",
        "docs/index.md:34: 6 -> 5",
    ] == done
    assert [] == left

    assert [] == build(docs, tmp_path / "out", "-E", "-W").said


RAISING = """\
# A page

```{code-cell} python
print(5)
1 / 1
```

```{expect}
5
ZeroDivisionError: division by zero
```

```{code-cell} python
:tags: [raises-exception]
print(6)
```

```{expect}
7
```

```{code-cell} python
:tags: [hide-input, raises-exception]
print(8)
```

```{expect}
ZeroDivisionError: division by zero
```

```{code-cell} python
1 / 0
```

```{expect}
1
```
"""
ACCEPTED = """\
# A page

```{code-cell} python
print(5)
1 / 1
```

```{expect}
5
1.0
```

```{code-cell} python
print(6)
```

```{expect}
6
```

```{code-cell} python
:tags: [hide-input]
print(8)
```

```{expect}
8
```

```{code-cell} python
:tags: [raises-exception]
1 / 0
```

```{expect}
ZeroDivisionError: division by zero
```
"""


def test_a_cell_that_raises_now_or_no_longer_is_tagged_so(tmp_path: Path) -> None:
    docs = small_site(tmp_path, RAISING)
    built = build(docs, tmp_path / "out")
    done, left = accept(built.ledger["facts"], tmp_path)
    after = (docs / "index.md").read_text("utf-8")

    assert ACCEPTED == after.removeprefix(FRONT_MATTER)
    assert 4 == len(done)
    assert [] == left

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
        "raised": False,
    }

    assert ([], []) == accept([fact], tmp_path)
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
        "raised": False,
        "mistagged": False,
    }
    done, left = accept([fact], tmp_path)

    assert [] == done
    assert ["page.md:1: the file has changed since the build: build again"] == left
    assert "Something else\n" == page.read_text("utf-8")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (
            "{check}`a <'a\\nb'>`\n",
            "docs/index.md:9: the value has several lines: use {expect}",
        ),
        (
            "{check}`a <chr(96)>`\n",
            "docs/index.md:9: a check cannot hold the value `",
        ),
        (
            "{check}`a <b>`\n",
            "docs/index.md:9: asking raises NameError: name 'b' is not defined: "
            "mend it by hand",
        ),
        (
            ":::{question} What?\n```pycon\n>>> 2\n```\n:::\n",
            "docs/index.md:11: nothing is written; write 2",
        ),
        (
            "```{code-cell} python\nNone\n```\n\n```{expect}\n1\n```\n",
            "docs/index.md:14: the cell prints nothing now: mend it by hand",
        ),
        (
            "```{code-cell} python\n---\ntags: [raises-exception]\n---\n1\n```\n\n"
            "```{expect}\nKeyError: 1\n```\n",
            "docs/index.md:17: the cell's tags are not in its first line: mend "
            "raises-exception",
        ),
    ],
)
def test_what_cannot_be_written_is_left_and_said(
    page: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = small_site(tmp_path, f"# A page\n\n{page}")
    before = (docs / "index.md").read_text("utf-8")
    built = build(docs, tmp_path / "out")
    code = main([str(built.out / "facts.json"), "--root", str(tmp_path)])
    printed = capsys.readouterr()

    assert 1 == code
    assert f"{why}\nleft: 1\n" == printed.err
    assert "rewritten: 0\n" == printed.out
    assert before == (docs / "index.md").read_text("utf-8")


def test_the_command_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`4 <3>`\n")
    built = build(docs, tmp_path / "out")
    code = main([str(built.out / "facts.json"), "--root", str(tmp_path)])

    assert 0 == code
    assert "docs/index.md:9: 4 -> 3\nrewritten: 1\n" == capsys.readouterr().out
