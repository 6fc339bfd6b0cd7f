"""Pages that are right, rebuilt, read in parallel, and what they show."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_builder import (
    FIRST,
    FRONT_MATTER,
    Said,
    build,
    build_page,
    cell,
    copy_tree,
    expect,
    small_site,
)

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
