"""Each way in which a page can be wrong, on a page that is wrong in that way."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_builder import (
    FIRST,
    FRONT_MATTER,
    Build,
    Said,
    build,
    copy_tree,
    small_site,
)


def build_page(folder: Path, page: str, *flags: str) -> Build:
    return build(small_site(folder, page), folder / "out", *flags)


def cell(code: str, *tags: str) -> str:
    tag_line = f":tags: [{', '.join(tags)}]\n" if tags else ""
    return f"```{{code-cell}} python\n{tag_line}{code}\n```\n\n"


def expect(text: str) -> str:
    return f"```{{expect}}\n{text}\n```\n\n"


RIGHT = (
    "# A page\n\nThree is {check}`3 <1 + 2>`.\n\n"
    + cell("a = 5\nprint(a)")
    + expect("5")
    + cell("1 / 0", "raises-exception")
    + expect("ZeroDivisionError: division by zero")
    + ":::{question} How much is it?\nFive.\n\n```pycon\n>>> a\n5\n```\n:::\n\n"
    + "Written {notation}`P(...)`.\n"
)


def test_a_right_page_passes(tmp_path: Path) -> None:
    built = build_page(tmp_path, RIGHT, "-n", "-W")

    assert [] == built.said
    assert 0 == built.code
    assert {"stated": 4, "proven": 4, "recorded": 0, "notation": 1} == built.ledger["counts"]
    assert [
        ("check", "1 + 2", "3", "3", True),
        ("expect", "a = 5\nprint(a)", "5", "5", True),
        (
            "expect",
            "1 / 0",
            "ZeroDivisionError: division by zero",
            "ZeroDivisionError: division by zero",
            True,
        ),
        ("question", "a", "5", "5", True),
    ] == [
        (f["form"], f["expression"], f["written"], f["found"], f["holds"])
        for f in built.ledger["facts"]
    ]


def test_the_foot_counts_the_facts_of_the_page(tmp_path: Path) -> None:
    docs = small_site(tmp_path, RIGHT)
    built = build(docs, tmp_path / "out", SOURCE_DATE_EPOCH="86400")

    assert "4 facts on this page, asked on 1970-01-02: each one holds." in built.html()


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


def test_warnings_are_fatal_and_a_rebuild_fails_again(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`4 <3>`\n")
    first = build(docs, tmp_path / "out", "-W", "--keep-going")
    second = build(docs, tmp_path / "out", "-W", "--keep-going")

    wanted = [Said("index.md", FIRST + 2, "facts.check", "written: 4, found: 3, asked: 3")]
    assert wanted == first.said
    assert wanted == second.said
    assert (1, 1) == (first.code, second.code)


def test_a_mended_page_passes_on_rebuild(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`4 <3>`\n")
    build(docs, tmp_path / "out")
    page = docs / "index.md"
    page.write_text(page.read_text("utf-8").replace("`4", "`3"), "utf-8")
    built = build(docs, tmp_path / "out", "-W")

    assert [] == built.said
    assert {"stated": 1, "proven": 1, "recorded": 0, "notation": 0} == built.ledger["counts"]


def test_a_page_without_a_kernel_says_what_it_needs(tmp_path: Path) -> None:
    docs = small_site(
        tmp_path,
        "# A page\n\n```{toctree}\nother\n```\n",
        other="# Other\n\n{check}`4 <3>`\n",
    )
    built = build(docs, tmp_path / "out")

    assert [
        Said(
            "other.md",
            3,
            "facts.check",
            "cannot check `4`: this page has no kernel to ask: begin it with the "
            "front matter file_format: mystnb and kernelspec: {name: python3}",
        )
    ] == built.said


def test_pages_read_in_parallel_say_the_same(tmp_path: Path) -> None:
    names = [f"page{i}" for i in range(6)]
    pages = {
        name: f"{FRONT_MATTER}# Page\n\n{{check}}`{i + i % 2} <{i}>`\n"
        for i, name in enumerate(names)
    }
    toctree = "# All\n\n```{toctree}\n" + "\n".join(names) + "\n```\n"
    built = build(
        small_site(tmp_path, toctree, **pages), tmp_path / "out", "-j", "2"
    )

    assert {
        Said(f"page{i}.md", 9, "facts.check", f"written: {i + 1}, found: {i}, asked: {i}")
        for i in (1, 3, 5)
    } == set(built.said)
    assert {"stated": 6, "proven": 3, "recorded": 0, "notation": 0} == built.ledger["counts"]


def test_an_error_is_shown_without_a_traceback(tmp_path: Path) -> None:
    page = "# A page\n\n" + cell("1 / 0", "raises-exception")
    built = build_page(
        tmp_path, page + expect("ZeroDivisionError: division by zero"), "-W"
    )

    assert "ZeroDivisionError: division by zero" in built.html()
    assert "Traceback" not in built.html()


def test_a_check_shows_how_it_was_asked(tmp_path: Path) -> None:
    built = build_page(tmp_path, "# A page\n\n{check}`3 <1 + 2>`\n", "-W")

    assert '<span class="fact" title="asked: 1 + 2">3</span>' in built.html()


def test_output_that_comes_in_pieces_is_shown_as_one(tmp_path: Path) -> None:
    page = "# A page\n\n" + cell(
        "import sys, time\n"
        "for piece in ('a', 'b\\nc', '\\n', 'd\\n'):\n"
        "    print(piece, end='', flush=True)\n"
        "    time.sleep(0.3)"
    )
    built = build_page(tmp_path, page + expect("ab\nc\nd"), "-W")

    assert [] == built.said
    assert "<pre><span></span>ab\nc\nd\n</pre>" in built.html()


def test_all_pages_are_read_again_when_the_package_has_changed(
    tmp_path: Path,
) -> None:
    docs = small_site(tmp_path, "# A page\n\n{check}`3 <3>`\n")
    copy_tree(tmp_path / "copy")
    source = tmp_path / "copy" / "src"
    feet = []
    for day in range(3):
        if day == 2:
            (source / "shardlessons" / "_svg.py").touch()
        built = build(
            docs,
            tmp_path / "out",
            PYTHONPATH=str(source),
            SOURCE_DATE_EPOCH=str(day * 86400),
        )
        feet.append(built.html().partition("asked on ")[2][:10])

    assert ["1970-01-01", "1970-01-01", "1970-01-03"] == feet


def test_a_docstring_is_held_to_its_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "docstrings.py"
    module.write_text(
        "def f():\n"
        '    """Say it.\n'
        "\n"
        "    >>> 1 + 1\n"
        "    2\n"
        "    >>> 2 + 2\n"
        "    5\n"
        '    """\n',
        "utf-8",
    )
    docs = small_site(
        tmp_path, "# A page\n\n```{eval-rst}\n.. autofunction:: docstrings.f\n```\n"
    )
    built = build(docs, tmp_path / "out", PYTHONPATH=str(tmp_path))

    assert [
        Said(
            "docstrings.py",
            7,
            "facts.docstring",
            "written: 5, found: 4, asked: 2 + 2",
        )
    ] == built.said
    assert [("docstrings.py", 5, True), ("docstrings.py", 7, False)] == [
        (f["path"], f["line"], f["holds"]) for f in built.ledger["facts"]
    ]


def test_a_docstring_on_a_page_without_a_kernel_is_bound_to_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "docstrings.py").write_text(
        'def f():\n    """Say it.\n\n    >>> 1 + 1\n    2\n    """\n', "utf-8"
    )
    page = "# Other\n\n```{eval-rst}\n.. autofunction:: docstrings.f\n```\n"
    docs = small_site(
        tmp_path, "# A page\n\n```{toctree}\nother\n```\n", other=page
    )
    built = build(docs, tmp_path / "out", PYTHONPATH=str(tmp_path))

    assert [
        "the block is neither run nor marked as {notation}: >>> 1 + 1"
    ] == [s.text for s in built.said]
