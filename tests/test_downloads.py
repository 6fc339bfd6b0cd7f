"""A page as a notebook, a script and Markdown: forms, on a small site."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from downloaded import BASE, MARKDOWN, SETTINGS, make, text
from markdown_it import MarkdownIt
from site_builder import CONF, FIRST, Build, Said, build, cell, small_site


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make(tmp_path_factory.mktemp("small"))


# --- Markdown


def test_markdown_has_plain_commonmark_for_each_form(small: Build) -> None:
    found = re.sub(r"_downloads/\w+", "_downloads/HASH", text(small, "index.md"))
    found = re.sub(r"(\d+ facts) on this page.*", r"\1", found)

    assert MARKDOWN == found


def test_markdown_reads_as_the_page(small: Build) -> None:
    html = MarkdownIt("commonmark").enable("table").render(text(small, "index.md"))

    assert "2 * 3 * 4, &lt;b&gt; and [a](b) are text" in html
    assert "<td><code>x | y</code></td>" in html
    assert ["<em>small</em>"] == re.findall("<em>.*?</em>", html)


# --- Notebook


def test_a_notebook_is_valid_and_says_what_it_is(small: Build) -> None:
    read = nbformat.reads(text(small, "index.ipynb"), as_version=4)
    first, helper, *_ = read.cells
    nbformat.validate(read)

    assert first.source.startswith(f"# A *small* page\n\nThis is the page <{BASE}index")
    assert helper.source.startswith('%%writefile helper.py\n"""Has')
    assert "python3" == read.metadata.kernelspec.name


def test_a_notebook_has_the_outputs_of_the_build(small: Build) -> None:
    read = nbformat.reads(text(small, "index.ipynb"), as_version=4)
    cells = [cell for cell in read.cells if cell.get("outputs")]
    printed, shown, again, raised = (cell.outputs for cell in cells)

    assert [".py\n"] == [output.text for output in printed]
    assert {"text/plain": "a square", "text/html": "<svg></svg>"} == shown[0].data
    assert shown[0].data == again[0].data
    assert "picture" == cells[2].source
    assert ["before\n"] == [o.text for o in raised if o.output_type == "stream"]
    assert ("JSONDecodeError", "Expecting value: line 1 column 1 (char 0)") == (
        raised[1].ename,
        raised[1].evalue,
    )
    assert ["raises-exception"] == cells[3].metadata.tags


def test_a_notebook_keeps_an_answer_closed(small: Build) -> None:
    read = nbformat.reads(text(small, "index.ipynb"), as_version=4)
    [question] = [c.source for c in read.cells if "<details>" in c.source]
    html = MarkdownIt("commonmark").render(question)

    assert "<summary>\n<p><strong>How much is <code>1 + 1</code>?" in html
    assert "&gt;&gt;&gt; 1 + 1\n2\n" in html


# --- Script


def test_a_script_prints_what_the_page_shows(small: Build, tmp_path: Path) -> None:
    file = small.out / "index.py"
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, capture_output=True, text=True
    )
    helper = (tmp_path / "helper.py").read_text("utf-8")

    assert "" == done.stderr
    assert [
        ".py",
        "a square",
        "a square",
        "before",
        "JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    ] == done.stdout.splitlines()
    assert '"""Has \'quotes\' and \\n."""\nimport json\n' == helper


# --- The site


def test_two_builds_write_the_same(small: Build, tmp_path: Path) -> None:
    again = make(tmp_path)
    for name in ("index.md", "index.ipynb", "index.py", "other.md", "llms.txt"):
        assert text(small, name) == text(again, name)


def test_a_page_without_cells_is_markdown_alone(small: Build) -> None:
    assert ["other.md"] == [
        f.name for f in small.out.glob("other.*") if f.suffix != ".html"
    ]


def test_a_page_names_its_markdown(small: Build) -> None:
    link = '<link rel="alternate" type="text/markdown" href="other.md" />'

    assert link in small.html("other")


def test_llms_txt_lists_the_pages(small: Build) -> None:
    assert (
        "# Small\n\n> \n\n## The rest\n\n"
        f"- [The other page]({BASE}other.md): What the other page says.\n"
        == text(small, "llms.txt")
    )
    assert text(small, "llms-full.txt") == "\n".join(
        text(small, name) for name in ("index.md", "other.md")
    )


def test_llms_txt_lists_pages_below_pages_in_the_readers_order(
    tmp_path: Path,
) -> None:
    docs = small_site(
        tmp_path,
        "# Root\n\n```{toctree}\n:caption: First\na\nc\n```\n\n"
        "```{toctree}\nb\nd\nno\n```\n",
        a="# A\n\n```{toctree}\nb\n```\n",
        b="# B\n",
        c="# C\n",
        d="# D\n",
        no="# No\n\n```{math}\nx\n```\n",
    )
    (docs / "conf.py").write_text(CONF + SETTINGS, "utf-8")
    built = build(docs, tmp_path / "out")
    listed = re.findall(r"^## (.*)|\[(.*)\]", text(built, "llms.txt"), re.MULTILINE)
    whole = re.findall("^# (.*)", text(built, "llms-full.txt"), re.MULTILINE)

    assert ["First", "A", "B", "C", "Pages", "D"] == [a or b for a, b in listed]
    assert ["Root", "A", "B", "C", "D"] == whole


def test_the_sites_address_needs_no_slash_at_its_end(
    small: Build, tmp_path: Path
) -> None:
    without = make(tmp_path, settings=SETTINGS.replace(BASE, BASE.removesuffix("/")))
    for name in ("index.md", "index.ipynb", "index.py", "llms.txt"):
        assert text(small, name) == text(without, name)


def test_pages_in_folders_have_their_files_beside_the_folders(tmp_path: Path) -> None:
    built = make(tmp_path, builder="dirhtml")

    assert 'type="text/markdown" href="../other.md"' in text(built, "other/index.html")
    assert f"From <{BASE}>." in text(built, "index.md")
    assert f"[the other page]({BASE}other/#part)" in text(built, "index.md")


def say(folder: Path, page: str) -> Build:
    docs = small_site(folder, page)
    (docs / "conf.py").write_text(CONF + SETTINGS, "utf-8")
    return build(docs, folder / "out")


def test_what_has_no_form_in_markdown_is_a_warning(tmp_path: Path) -> None:
    built = say(tmp_path, "# A page\n\n```{math}\nx\n```\n")

    assert "the page cannot be downloaded: a math_block has no form" in built.stderr


def test_what_no_script_can_run_is_a_warning_at_its_line(tmp_path: Path) -> None:
    built = say(tmp_path, "# A page\n\n" + cell("x = 1\n%xmode Plain", "remove-output"))

    assert (
        Said(
            "index.md",
            FIRST + 5,
            "shardlessons.downloads",
            "the page cannot be downloaded: no script can run %xmode Plain: "
            "write the cell in plain Python",
        )
        in built.said
    )


@pytest.mark.parametrize("page", ["", "Text.\n", "Text.\n\n# A page\n"])
def test_a_page_that_begins_with_no_title_is_a_warning(
    page: str, tmp_path: Path
) -> None:
    built = say(tmp_path, page)

    assert (
        "index.md: WARNING: the page cannot be downloaded: it begins with no heading, "
        "which is the title of its files: write one above all else, as in # A page "
        "[shardlessons.downloads]\n" in built.stderr
    )
    assert not (built.out / "index.md").exists()


def test_what_is_elsewhere_or_nowhere_is_downloaded_as_on_the_page(
    tmp_path: Path,
) -> None:
    built = say(
        tmp_path,
        "# A page\n\n{download}`there <https://a.example/b.py>`, {download}`gone.py`\n",
    )

    assert ["download.not_readable"] == [said.kind for said in built.said]
    assert "[`there`](https://a.example/b.py), `gone.py`\n" in text(built, "index.md")
