"""``{predict}``: what it renders, what it reports, and the checks below it."""

from __future__ import annotations

from pathlib import Path

from bs4 import BeautifulSoup
from site_builder import FIRST, Build, Said, build, small_site

from shardlessons.sphinxext.accept import accept

TABLE = """\
| sum | {predict}`value` | {predict}`parity` |
|---|---:|---|
| `1 + 1` | {check}`2 <1 + 1>` | {check}`even <"even">` |
| `1 + 2` | {check}`3 <1 + 2>` as well | |
| `2 + 3` | {check}`5 <2 + 3>` | {check}`odd <"odd">` |
"""


def built(folder: Path, page: str) -> Build:
    return build(small_site(folder, f"# A page\n\n{page}"), folder / "out")


def said(line: int, text: str, kind: str = "facts.predict") -> Said:
    """A warning at a line of the page below its title."""
    return Said("index.md", FIRST + 1 + line, kind, text)


def test_a_heading_is_its_text_marked(tmp_path: Path) -> None:
    site = built(tmp_path, TABLE)
    table = BeautifulSoup(site.html(), "html.parser").table
    heads = [head.decode_contents() for head in table.thead("th")]

    assert [] == site.said
    assert [
        "<p>sum</p>",
        '<p><span class="predict">value</span></p>',
        '<p><span class="predict">parity</span></p>',
    ] == heads
    assert ["sum", "value", "parity"] == [head.text for head in table.thead("th")]
    assert 5 == len(table.find_all(class_="fact"))
    assert (site.out / "_static/predict.js").exists()
    assert 'src="_static/predict.js' in site.html()
    assert 'href="_static/predict.css' in site.html()


FAULTS = """\
| a | {predict}`one` |
|---|---|
| x | {check}`1 <1>` |

| a | {predict}`no` |
|---|---|
| x | y |
| z | |

| a | {predict}`two` |
|---|---|
| `x` | {check}`1 <1>` {check}`2 <2>` |

Text and
{predict}`more`.

| a |
|---|
| {predict}`below` |

| {predict}`first` | b |
|---|---|
| {check}`1 <1>` | x |
| {check}`2 <2>` | y |

```{eval-rst}
+---+--------------------+
| a | :predict:`spanned` |
+===+====================+
| x                      |
+---+--------------------+
```
"""


def test_what_gives_no_choice_is_named_at_its_line(tmp_path: Path) -> None:
    outside = "{predict} marks a column in the head of a table, and"
    choice = "needs two values to choose from, and has:"

    assert [
        said(1, f"the column `one` {choice} 1"),
        said(5, "a cell of the column `no` needs one {check}, and the one of `x` has 0"),
        said(5, f"the column `no` {choice} none"),
        said(10, "a cell of the column `two` needs one {check}, and the one of `x` has 2"),
        said(15, f"{outside} `more` is in none"),
        said(19, f"{outside} `below` is in none"),
        said(21, "{predict} marks answers, and `first` is what they are asked about"),
        said(28, "the column `spanned` is in a table with cells that span others"),
    ] == built(tmp_path, FAULTS).said


def test_a_failing_answer_is_named_at_its_line_and_accepted(tmp_path: Path) -> None:
    site = built(tmp_path, TABLE.replace("`5 <", "`4 <"))
    page = tmp_path / "docs/index.md"
    before = page.read_text("utf-8")
    done, left = accept(site.ledger["facts"], tmp_path)

    assert [said(5, "written: 4, found: 5, asked: 2 + 3", "facts.check")] == site.said
    assert [f"docs/index.md:{FIRST + 6}: 4 -> 5"] == done
    assert [] == left
    assert before.replace("`4 <", "`5 <") == page.read_text("utf-8")
    assert [] == build(tmp_path / "docs", tmp_path / "again", "-E", "-W").said


def test_on_paper_a_marked_heading_is_its_text(tmp_path: Path) -> None:
    docs = small_site(tmp_path, f"# A page\n\n:::{{table}} Sums\n{TABLE}:::\n")
    site = build(docs, tmp_path / "out", "-b", "text")

    rows = [
        [cell.strip(' "') for cell in line.strip("|").split("|")]
        for line in (site.out / "index.txt").read_text("utf-8").splitlines()
        if line.startswith("|") and "===" not in line
    ]

    assert [] == site.said
    assert [
        ["sum", "value", "parity"],
        ["1 + 1", "2", "even"],
        ["1 + 2", "3 as well", ""],
        ["2 + 3", "5", "odd"],
    ] == rows
