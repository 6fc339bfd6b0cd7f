"""What readers download from the real site: each runs in an environment of its own.

An environment holds what a notebook's first cell installs, and Jupyter; the
notebooks that install the same share one. This package comes from a wheel of
the tree, since the release that the cell names may not be published yet.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag
from markdown_it import MarkdownIt
from site_builder import ROOT, Build
from uv import find_uv_bin

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._platforms import this_platform

WITH_CELLS = sorted(
    page.stem
    for page in (ROOT / "docs").glob("*.md")
    if re.search(r"^```\{code-cell\}", page.read_text("utf-8"), re.MULTILINE)
)
ENDINGS = ["ipynb", "py"]
JUPYTER = ["ipykernel", "nbclient"]
_INSTALL = re.compile(r"^%pip install --quiet (.*)$", re.MULTILINE)
# A line of code, of which a page may leave the number open: a script has its own.
_PLACE = re.compile(r"\S+:(?:\d+|\.{3}) in ")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


published = pytest.mark.skipif(
    sys.version_info < (3, 12),
    reason="as with 3.12 or later, with which the site is published",
)


@dataclass(frozen=True)
class Ran:
    """What a page's notebook and script gave, and what the build had found."""

    built: nbformat.NotebookNode
    notebook: nbformat.NotebookNode
    execution: subprocess.CompletedProcess[str]
    script: subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def ran(
    real_site: tuple[Path, Build], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Ran]:
    """Each page that this platform asked, run as a notebook and as a script."""
    _, built = real_site
    recorded = {fact["page"] for fact in built.ledger["facts"] if fact["recorded"]}
    pages = [name for name in WITH_CELLS if name not in recorded]
    return run_all(pages, built.out, tmp_path_factory.mktemp("downloads"))


def run_all(pages: list[str], site: Path, folder: Path) -> dict[str, Ran]:
    wheels = folder / "wheels"
    uv("build", "--wheel", "--out-dir", wheels, ROOT)
    needs = {name: installed(read(site / f"{name}.ipynb")) for name in pages}
    pythons = {
        packages: environment(folder / f"env-{number}", packages, wheels)
        for number, packages in enumerate(sorted(set(needs.values())))
    }

    def run(file: Path) -> subprocess.CompletedProcess[str]:
        return run_alone(file, folder / file.name, pythons[needs[file.stem]])

    files = [site / f"{name}.{ending}" for ending in ENDINGS for name in pages]
    # What is long takes long, so it begins.
    files.sort(key=lambda file: file.stat().st_size, reverse=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = dict(zip((f.name for f in files), pool.map(run, files), strict=True))
    return {
        name: Ran(
            read(site / f"{name}.ipynb"),
            read(folder / f"{name}.ipynb" / f"{name}.ipynb"),
            done[f"{name}.ipynb"],
            done[f"{name}.py"],
        )
        for name in pages
    }


def installed(notebook: nbformat.NotebookNode) -> tuple[str, ...]:
    """The packages that the first code cell of a notebook installs."""
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    found = _INSTALL.search(first.source)
    return tuple(shlex.split(found[1])) if found else ()


def environment(folder: Path, packages: tuple[str, ...], wheels: Path) -> Path:
    """A new environment with these packages and Jupyter."""
    uv("venv", "--seed", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    uv(
        "pip",
        "install",
        "--python",
        python,
        "--find-links",
        wheels,
        *packages,
        *JUPYTER,
    )
    return python


def uv(*arguments: str | Path) -> None:
    done = subprocess.run(
        [find_uv_bin(), *arguments, "--quiet"], capture_output=True, text=True
    )

    assert 0 == done.returncode, done.stderr


def run_alone(
    file: Path, folder: Path, python: Path
) -> subprocess.CompletedProcess[str]:
    """Run a notebook, in place, or a script, in a folder that has nothing else."""
    folder.mkdir()
    shutil.copy(file, folder)
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_", "PYTHON"))
    }
    env |= {
        "JAX_PLATFORMS": "tpu,cpu",  # as where there is a TPU: the first cell chooses
        "PIP_NO_INDEX": "1",  # all that the first cell installs is there already
        "IPYKERNEL_CELL_NAME": "<cell>",
    }
    jupyter = [python.with_name("jupyter-execute"), "--inplace"]
    command = jupyter if file.suffix == ".ipynb" else [python]
    return subprocess.run(
        [*command, file.name], cwd=folder, env=env, capture_output=True, text=True
    )


def read(file: Path) -> nbformat.NotebookNode:
    return nbformat.read(file, as_version=4)


def cells(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, str]]:
    """Source and output of the page's own cells, which the build had run."""
    own = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in own:
        if not cell.source.startswith("%"):
            yield cell.source, "".join(map(text, cell.outputs)).rstrip()


def text(output: nbformat.NotebookNode) -> str:
    match output.output_type:
        case "stream":
            assert "stdout" == output.name, output.text
            return output.text
        case "error":
            return _ANSI.sub("", f"{output.ename}: {output.evalue}").rstrip() + "\n"
        case _:
            return output.data["text/plain"] + "\n"


def anywhere(printed: str) -> str:
    return _PLACE.sub("FILE:LINE in ", printed)


def left_open(built: Build, page: str) -> dict[str, str]:
    """What the page states of each cell's output of which it leaves some open."""
    return {
        fact["expression"]: fact["written"]
        for fact in built.ledger["facts"]
        if fact["page"] == page
        and fact["form"] == "expect"
        and "..." in fact["written"]
    }


def of(page: str, ran: dict[str, Ran]) -> Ran:
    if page not in ran:
        pytest.skip(f"{this_platform()} cannot ask it")
    return ran[page]


def test_every_page_with_cells_can_be_downloaded(
    real_site: tuple[Path, Build],
) -> None:
    _, built = real_site
    for ending in ENDINGS:
        assert WITH_CELLS == sorted(f.stem for f in built.out.glob(f"*.{ending}"))


@published
@pytest.mark.parametrize("page", WITH_CELLS)
def test_a_notebook_gives_what_the_build_found(
    page: str, real_site: tuple[Path, Build], ran: dict[str, Ran]
) -> None:
    one = of(page, ran)
    stated = left_open(real_site[1], page)
    pairs = list(zip_longest(cells(one.built), cells(one.notebook)))

    assert 0 == one.execution.returncode, one.execution.stderr
    for (source, expected), (_, actual) in pairs:
        if source in stated and expected != actual:
            assert _rules.same_text(stated[source], actual), source
        else:
            assert (source, expected) == (source, actual)


@published
@pytest.mark.parametrize("page", WITH_CELLS)
def test_a_script_prints_what_the_build_found(
    page: str, real_site: tuple[Path, Build], ran: dict[str, Ran]
) -> None:
    one = of(page, ran)
    stated = left_open(real_site[1], page)
    expected = "\n".join(
        stated.get(source, output) for source, output in cells(one.built)
    )
    want, got = map(anywhere, (expected, one.script.stdout))

    assert (0, "") == (one.script.returncode, one.script.stderr)
    assert _rules.same_text(want, got), f"{want}\n--- printed:\n{got}"


# --- Markdown

PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
PAGES.remove("404")
MARKDOWN = MarkdownIt("commonmark").enable("table")
BLOCKS = ["p", "li", "dd", "td", "th", "pre", "figcaption", "caption", "summary"]


def markdown(built: Build, page: str) -> str:
    return (built.out / f"{page}.md").read_text("utf-8")


def one_line(block: Tag) -> str:
    return " ".join(block.get_text().split())


@pytest.mark.parametrize("page", PAGES)
def test_markdown_has_every_fact(page: str, real_site: tuple[Path, Build]) -> None:
    """In a paragraph, a cell or a block of code that reads as the page's does."""
    _, built = real_site
    html = BeautifulSoup(built.html(page), "html.parser").article
    for other in html.select(".since-mark, .since-below, .headerlink, .explorer"):
        other.decompose()  # the page alone has these
    blocks = [
        fact if fact.name == "pre" else fact.find_parent(BLOCKS) or fact
        for fact in html.select(".fact, pre")
    ]
    stated = map(one_line, {id(block): block for block in blocks}.values())
    made = MARKDOWN.render(markdown(built, page))
    # Each is looked for below the one before it.
    below = map(one_line, BeautifulSoup(made, "html.parser").find_all(BLOCKS))
    missing = [
        text
        for text in stated
        # A definition has its term before it.
        if not any(text == block or block.endswith(f": {text}") for block in below)
    ]

    assert [] == missing[:1]


@pytest.mark.parametrize("page", PAGES)
def test_readers_of_markdown_see_no_backslash_of_an_escape(
    page: str, real_site: tuple[Path, Build]
) -> None:
    # So each is a token, whose content is what readers see.
    tokens = MarkdownIt("commonmark").enable("table").disable("text_join")
    escapes = [
        child
        for token in tokens.parse(markdown(real_site[1], page))
        for child in token.children or ()
        if child.info == "escape"
    ]

    assert [] == [escape.content for escape in escapes if len(escape.content) > 1]


@pytest.mark.parametrize("page", PAGES)
def test_markdown_has_nothing_of_a_directive_left(
    page: str, real_site: tuple[Path, Build]
) -> None:
    text = markdown(real_site[1], page)
    tokens = MARKDOWN.parse(text)
    inline = [child for token in tokens for child in token.children or ()]
    prose = "\n".join(child.content for child in inline if child.type == "text")

    assert [] == re.findall(r"\{[\w:-]+\}|:::.*|^%.*", prose, re.MULTILINE)
    assert [] == [token.content for token in tokens if token.type == "html_block"]
    assert 1 == sum(token.tag == "h1" for token in tokens if token.nesting == 1)
