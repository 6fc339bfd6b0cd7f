"""Each way in which a page can be wrong, on a page that is wrong in that way."""

from __future__ import annotations

import pytest
from site_builder import (
    FIRST,
    FRONT_MATTER,
    Build,
    build,
    cell,
    expect,
    small_site,
)

# What a page says wrong, and what the build says of it: the line, counted from
# the page's first, the kind, and the message.
WRONG = {
    "check in a paragraph": (
        "One\nline, then {check}`4 <1 + 2>`.\n",
        [(2, "facts.check", "written: 4, found: 3, asked: 1 + 2")],
    ),
    "check in a heading": (
        "# Title {check}`4 <1 + 2>`\n",
        [(1, "facts.check", "written: 4, found: 3, asked: 1 + 2")],
    ),
    "check in a table, with a bar": (
        "| a |\n|---|\n| {check}`3 <1 \\| 2>` |\n| {check}`4 <1 \\| 2>` |\n",
        [(4, "facts.check", "written: 4, found: 3, asked: 1 | 2")],
    ),
    "check in a list": (
        "- one\n- two\n  - {check}`4 <1 + 2>`\n",
        [(3, "facts.check", "written: 4, found: 3, asked: 1 + 2")],
    ),
    "check in a dropdown": (
        ":::{dropdown} Open\nText.\n\nMore {check}`4 <1 + 2>`.\n:::\n",
        [(4, "facts.check", "written: 4, found: 3, asked: 1 + 2")],
    ),
    "check in a caption": (
        ":::{table} Is {check}`4 <1 + 2>` it\n| a |\n|---|\n| 1 |\n:::\n",
        [(1, "facts.check", "written: 4, found: 3, asked: 1 + 2")],
    ),
    "the second of two equal checks in one paragraph": (
        cell("n = iter([3, 4])")
        + "A {check}`3 <next(n)>` and\n{check}`3 <next(n)>`.\n",
        [(6, "facts.check", "written: 3, found: 4, asked: next(n)")],
    ),
    "all in one run": (
        "{check}`4 <3>`\n\n{check}`5 <3>`\n\n" + cell("print(1)") + expect("2"),
        [
            (1, "facts.check", "written: 4, found: 3, asked: 3"),
            (3, "facts.check", "written: 5, found: 3, asked: 3"),
            (10, "facts.expect", "written: 2, found: 1"),
        ],
    ),
    "an expression that raises": (
        "{check}`4 <nothing>`\n",
        [
            (
                1,
                "facts.raised",
                "`nothing` raises NameError: name 'nothing' is not defined "
                "(written: 4)",
            )
        ],
    ),
    "a check without an expression": (
        "{check}`4`\n",
        [(1, "facts.check", "a check needs `value <expression>`, this one is `4`")],
    ),
    "a check that holds for anything": (
        "{check}`... <1>`\n",
        [(1, "facts.check", "`...` holds for any value: write it out")],
    ),
    "a line of an expect": (
        cell("print(1)\nprint(2)\nprint(3)") + expect("1\n7\n3"),
        [(9, "facts.expect", "written: 7, found: 2")],
    ),
    "a line missing from an expect": (
        cell("print(1)\nprint(2)\nprint(3)") + expect("1\n3"),
        [(9, "facts.expect", "written: (nothing), found: 2")],
    ),
    "a line too many in an expect": (
        cell("print(1)") + expect("1\n2"),
        [(7, "facts.expect", "written: 2, found: (nothing)")],
    ),
    "an expect without a cell": (
        "Text.\n\n" + expect("1"),
        [(3, "facts.expect", "an {expect} stands without a cell above it")],
    ),
    "an expect that text parts from its cell": (
        cell("a = 1") + "Text.\n\n" + expect("1"),
        [(7, "facts.expect", "an {expect} stands without a cell above it")],
    ),
    "two expects": (
        cell("print(1)") + expect("1") + expect("1"),
        [(9, "facts.expect", "the cell above has an {expect} already")],
    ),
    "a cell that prints without an expect": (
        cell("print(1)"),
        [(2, "facts.unbound", "the cell prints what no {expect} states: 1")],
    ),
    "a cell that raises without an expect": (
        cell("1 / 0", "raises-exception"),
        [
            (
                3,
                "facts.raised",
                "the cell raises ZeroDivisionError: division by zero; state it in "
                "an {expect}, or mend the cell",
            )
        ],
    ),
    "a cell that raises without the tag": (
        cell("1 / 0") + expect("ZeroDivisionError: division by zero"),
        [(2, "facts.raised", "the cell raises: tag it raises-exception")],
    ),
    "a cell that is to raise and does not": (
        cell("a = 1", "raises-exception"),
        [(3, "facts.raised", "the cell is tagged raises-exception, and raises nothing")],
    ),
    "a cell that raises another class": (
        cell("1 / 0", "raises-exception") + expect("ValueError: division by zero"),
        [
            (
                7,
                "facts.expect",
                "written: ValueError: division by zero, found: ZeroDivisionError: "
                "division by zero (stated to raise ValueError, raises "
                "ZeroDivisionError)",
            )
        ],
    ),
    "cells after one that raises still run": (
        cell("1 / 0", "raises-exception")
        + expect("ZeroDivisionError: division by zero")
        + cell("print(2)")
        + expect("3"),
        [(15, "facts.expect", "written: 3, found: 2")],
    ),
    "stderr": (
        cell("import sys\nprint('oh', file=sys.stderr)"),
        [(2, "facts.stderr", "the cell writes to stderr: oh")],
    ),
    "a cell that nothing runs": (
        ":::{dropdown} Open\n" + cell("a = 1") + ":::\n",
        [(2, "mystnb.nbcell", "Found an unexpected `code-cell`")],
    ),
    "an answer": (
        ":::{question} What?\nText.\n\n```pycon\n>>> 1 + 1\n3\n>>> 2\n2\n```\n:::\n",
        [(6, "facts.question", "written: 3, found: 2, asked: 1 + 1")],
    ),
    "an answer of several lines": (
        ":::{question} What?\n```pycon\n>>> for i in range(2):\n...     print(i)\n"
        "0\n5\n```\n:::\n",
        [(6, "facts.question", "written: 5, found: 1, asked: for i in range(2):")],
    ),
    "an answer below a block that is not run": (
        ":::{question} What?\n````{notation} pycon\n>>> 9\n````\n\n"
        "```pycon\n>>> 1 + 1\n3\n````\n:::\n",
        [(8, "facts.question", "written: 3, found: 2, asked: 1 + 1")],
    ),
    "an answer that raises": (
        ":::{question} What?\n```pycon\n>>> 1 / 0\n1\n```\n:::\n",
        [
            (
                3,
                "facts.raised",
                "`1 / 0` raises ZeroDivisionError: division by zero",
            )
        ],
    ),
    "an answer without a proof": (
        ":::{question} What?\nThis.\n:::\n",
        [(1, "facts.question", "the answer has no ```pycon example that proves it")],
    ),
    "a spec in running text": (
        "It is\n`P('data', None)`.\n",
        [
            (
                2,
                "facts.unbound",
                "P('data', None) looks like a spec and is bound to nothing: make "
                "it a {check}, or mark it as {notation}",
            )
        ],
    ),
    "a byte count in a table": (
        "| a |\n|---|\n| 12 bytes |\n",
        [
            (
                3,
                "facts.unbound",
                "12 bytes looks like a size and is bound to nothing: make it a "
                "{check}, or mark it as {notation}",
            )
        ],
    ),
    "a number in a caption": (
        ":::{table} All 2,048 of them\n| a |\n|---|\n| 1 |\n:::\n",
        [
            (
                1,
                "facts.unbound",
                "2,048 looks like a number and is bound to nothing: make it a "
                "{check}, or mark it as {notation}",
            )
        ],
    ),
    "a spec in the caption of a cell's figure": (
        "```{code-cell} python\n---\nmystnb:\n  figure:\n"
        "    caption: |\n      This is `P('data')`.\n---\n"
        "class A:\n    def _repr_html_(self):\n        return '<b>a</b>'\n\n"
        "    def __repr__(self):\n        return 'a'\nA()\n```\n\n"
        + expect("a"),
        [
            (
                6,
                "facts.unbound",
                "P('data') looks like a spec and is bound to nothing: make it a "
                "{check}, or mark it as {notation}",
            )
        ],
    ),
    "a wrong check in the caption of a cell's figure": (
        "```{code-cell} python\n---\nmystnb:\n  figure:\n"
        "    caption: |\n      This is {check}`1 <1 + 1>`.\n---\n"
        "class A:\n    def _repr_html_(self):\n        return '<b>a</b>'\n\n"
        "    def __repr__(self):\n        return 'a'\nA()\n```\n\n"
        + expect("a"),
        [(6, "facts.check", "written: 1, found: 2, asked: 1 + 1")],
    ),
    "an error in a list": (
        "- It raises `ValueError: no`.\n",
        [
            (
                1,
                "facts.unbound",
                "ValueError: no looks like an error and is bound to nothing: make "
                "it a {check}, or mark it as {notation}",
            )
        ],
    ),
    "a type": (
        "It is `float32[8@data]`.\n",
        [
            (
                1,
                "facts.unbound",
                "float32[8@data] looks like a type and is bound to nothing: make "
                "it a {check}, or mark it as {notation}",
            )
        ],
    ),
    "a block that nothing runs": (
        "Text.\n\n```python\na = 1\n```\n",
        [
            (
                3,
                "facts.unbound",
                "the block is neither run nor marked as {notation}: a = 1",
            )
        ],
    ),
    "an example outside of an answer": (
        "Text.\n\n```pycon\n>>> 1\n2\n```\n",
        [
            (
                3,
                "facts.unbound",
                "the block is neither run nor marked as {notation}: >>> 1",
            )
        ],
    ),
}


@pytest.fixture(scope="module")
def wrong_site(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """One site with a page for each way of being wrong."""
    folder = tmp_path_factory.mktemp("wrong")
    pages = {
        _file_of(name): FRONT_MATTER + page + ("" if "#" in page else "\n# End\n")
        for name, (page, _) in WRONG.items()
    }
    toctree = "# All\n\n```{toctree}\n:glob:\n\n*\n```\n"
    return build(small_site(folder, toctree, **pages), folder / "out", "-j", "auto")


def _file_of(name: str) -> str:
    return name.replace(" ", "-").replace(",", "")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_at_its_line(name: str, wrong_site: Build) -> None:
    said = [
        (s.line - FIRST + 1, s.kind, s.text)
        for s in wrong_site.said
        if s.file == f"{_file_of(name)}.md"
        and s.kind.startswith(("facts", "mystnb"))
    ]
    _, wanted = WRONG[name]

    assert [(line, kind) for line, kind, _ in wanted] == [s[:2] for s in said]
    for (_, _, text), (_, _, found) in zip(wanted, said, strict=True):
        assert found.startswith(text)
