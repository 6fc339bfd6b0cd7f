"""A notebook, a script and what they need, of pieces of a page."""

from __future__ import annotations

import os
import tomllib

import nbformat
import pytest
from docutils import nodes
from markdown_it import MarkdownIt
from site_builder import ROOT

from shardlessons.sphinxext.downloads._binder import binder_address
from shardlessons.sphinxext.downloads._inline import Inline, code, fence
from shardlessons.sphinxext.downloads._needs import CannotInstall, needs_of
from shardlessons.sphinxext.downloads._notebook import notebook
from shardlessons.sphinxext.downloads._pieces import (
    CannotDownload,
    Code,
    Needs,
    Page,
    Prose,
    Raised,
    Shown,
)
from shardlessons.sphinxext.downloads._script import script

BASE = "https://example.org/en/"


@pytest.mark.parametrize(
    ("source", "expected"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a\n b", "`a b`")],
)
def test_code_stands_in_as_many_ticks_as_it_takes(source: str, expected: str) -> None:
    assert expected == code(source)


def test_a_fence_is_longer_than_those_in_it() -> None:
    assert "````md\n```\n````" == fence("```\n", "md")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.10.2 has it", "0.10.2 has it"),
        ("26.6", "26.6"),
        ("3)x", "3)x"),
        ("1. is a number", r"1\. is a number"),
        ("2) is one\n3.", "2\\) is one\n3\\."),
        ("1234567890. is none", "1234567890. is none"),
        ("- 1\n# 2\n> 3", "\\- 1\n\\# 2\n\\> 3"),
    ],
)
def test_a_paragraph_begins_no_list_and_no_heading(text: str, expected: str) -> None:
    paragraph = nodes.paragraph("", "", nodes.Text(text))
    made = Inline(BASE, BASE).paragraph(paragraph)

    assert expected == made
    assert f"<p>{text.replace('>', '&gt;')}</p>\n" == MarkdownIt().render(made)


def test_the_first_code_cell_installs_what_the_others_use() -> None:
    needs = Needs(
        ("jax==0.10.2", "shardlessons[gpu]==0.1.0"),
        {"examples/a.py": "a = 1\n"},
        {"JAX_PLATFORMS": "cpu"},
        ("linux-x86_64",),
    )
    made = notebook(Page("A page", BASE, "jax 0.10.2 on cpu", needs, (Code("a"),)))
    first, setup, file, cell = nbformat.reads(made, as_version=4).cells

    assert "outputs are those of jax 0.10.2 on CPU" in first.source
    assert "The cells run on linux-x86_64." in first.source
    assert (
        '%pip install --quiet "jax==0.10.2" "shardlessons[gpu]==0.1.0"\n'
        "%env JAX_PLATFORMS=cpu\n"
        "%mkdir -p examples" == setup.source
    )
    assert "%%writefile examples/a.py\na = 1" == file.source
    assert (None, 1) == (setup.execution_count, cell.execution_count)


def page(*pieces: Code | Prose) -> Page:
    return Page("A page", BASE, "", Needs(), pieces)


def test_only_the_last_value_is_printed() -> None:
    shown = (Shown({"text/plain": "7"}),)

    assert "x = 7; print(repr(x))  # é" in script(page(Code("x = 7; x  # é", shown)))
    assert "print(repr((3 +\n  4)))" in script(page(Code("(3 +\n  4)", shown)))
    assert "\nshow(7)\nx = 7\n" in script(page(Code("show(7)\nx = 7", shown)))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'a b'", "'a b'"),
        ("1, 'b'", "(1, 'b')"),
        ("(1), (2)", "(1, 2)"),
        ("import numpy\nnumpy.arange(2)", "array([0, 1])"),
    ],
)
def test_a_value_is_printed_as_it_is_shown(
    source: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(script(page(Code(source, (Shown({"text/plain": expected}),)))), {})

    assert f"{expected}\n" == capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        # None of these can be indented.
        ('x = """a\nb"""\nraise ValueError(x)', "ValueError: a\nb"),
        ("x = (", "SyntaxError: '(' was never closed (<cell>, line 1)"),
        ("return 1", "SyntaxError: 'return' outside function (<cell>, line 1)"),
    ],
)
def test_a_script_prints_an_error_and_goes_on(
    source: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(script(page(Code(source, (Raised(error),)), Code("print(2)"))), {})

    assert f"{error}\n2\n" == capsys.readouterr().out


@pytest.mark.parametrize("outputs", [(), (Raised("UsageError: no such command"),)])
def test_what_only_a_notebook_runs_is_an_error(outputs: tuple[Raised, ...]) -> None:
    with pytest.raises(CannotDownload) as raised:
        script(page(Code("x = 1\n%timeit x", outputs, line=7)))

    assert 8 == raised.value.line
    assert "no script can run %timeit x: write the cell in plain Python" == str(
        raised.value
    )


# --- What the cells need


def test_packages_are_those_that_cells_import() -> None:
    import jax

    version = jax.__version__
    answered = f"jax {version} on cpu"
    plain = needs_of(["import os, jax.numpy", "import numpy"], {}, answered=answered)
    with_own = needs_of(
        ["def f():\n    from shardlessons import read"],
        {},
        answered=answered,
        extras=["tpu", "gpu"],
    )

    assert (f"jax=={version}",) == plain.packages
    assert {"JAX_PLATFORMS": "cpu"} == plain.settings
    assert (f"jax=={version}", "shardlessons[gpu,tpu]==0.1.0") == with_own.packages
    assert Needs() == needs_of(["import os"], {}, answered="")


def test_what_is_no_python_imports_nothing() -> None:
    assert Needs() == needs_of(["import os\nx = ("], {}, answered="")
    assert () == needs_of([], {"old.py": "print 1\n"}, answered="").packages


def test_an_import_of_no_package_is_an_error() -> None:
    with pytest.raises(CannotInstall) as raised:
        needs_of(["import helper"], {}, answered="")

    assert () == needs_of(["import helper"], {"a/helper.py": ""}, answered="").packages
    assert (
        "a cell imports helper, which is of no package that is installed: install "
        "that, or offer the file on the page with {download}" == str(raised.value)
    )


def test_extras_are_a_list() -> None:
    with pytest.raises(CannotInstall) as raised:
        needs_of([], {}, answered="", extras="tpu")

    assert "extras is 'tpu'; it takes a list, as in extras: [gpu, tpu]" == str(
        raised.value
    )


@pytest.mark.parametrize(
    ("repository", "where"),
    [
        ("https://github.com/a/b", "gh/a/b"),
        ("https://github.com/a/b.git", "gh/a/b"),
        ("git@github.com:a/b.git", "gh/a/b"),
        ("https://code.example/b", "git/https%3A%2F%2Fcode.example%2Fb"),
    ],
)
def test_binder_clones_from_where_it_is_told(repository: str, where: str) -> None:
    assert (
        f"https://mybinder.org/v2/{where}/v1%2Fa?urlpath=lab/tree/build/html/p.ipynb"
        == binder_address(repository, "v1/a", "p.ipynb")
    )


def test_binder_has_what_the_notebooks_install() -> None:
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    releases = [p["version"] for p in lock["package"] if p["name"] == "jax"]
    newest = max(releases, key=lambda v: tuple(map(int, v.split("."))))
    lines = (ROOT / ".binder/requirements.txt").read_text("utf-8").splitlines()

    assert [f"jax=={newest}", "."] == [line for line in lines if line[0] != "#"]


def test_binder_builds_the_site_as_the_readme_says() -> None:
    command = "python3 noxfile.py -s docs"
    script = (ROOT / ".binder/postBuild").read_text("utf-8")

    assert f"$ {command}\n" in (ROOT / "README.md").read_text("utf-8")
    assert f"{command}\n" in script
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)
