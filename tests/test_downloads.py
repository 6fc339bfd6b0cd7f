"""A page as a notebook, a script and Markdown: forms, on a small site."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
from markdown_it import MarkdownIt
from site_builder import CONF, ROOT, Build, build, small_site

from shardlessons.sphinxext.downloads._binder import binder_address
from shardlessons.sphinxext.downloads._inline import code, fence
from shardlessons.sphinxext.downloads._needs import CannotInstall, needs_of
from shardlessons.sphinxext.downloads._notebook import notebook
from shardlessons.sphinxext.downloads._pieces import (
    Code,
    Needs,
    Page,
    Prose,
    Raised,
    Shown,
)
from shardlessons.sphinxext.downloads._script import CannotIndent, script

BASE = "https://example.org/en/"
SETTINGS = f'''
extensions += ["shardlessons.sphinxext.downloads"]
html_baseurl = "{BASE}"
html_title = "Small"
numfig = True
myst_heading_anchors = 3
'''

PAGE = r"""
# A *small* page

```{toctree}
:caption: The rest
other
```

The sum is {check}`7 <3 + 4>`, a {term}`number`;
not_bold, 2 * 3 * 4, \<b> and \[a](b) are text.
See [the other page](other.md#part) and {ref}`below <table>`.

```{code-cell} python
import json
from pathlib import Path

class Picture:
    def __repr__(self): return "a square"
    def _repr_html_(self): return "<svg></svg>"

picture = Picture()
print(Path("helper.py").suffix)
```

```{expect}
.py
```

```{code-cell} python
---
mystnb:
  figure:
    name: square
    caption: |
      It has {check}`4 <2 + 2>` sides.
---
x = 1
picture
```

```{expect}
a square
```

```{eval:figure} picture
:name: again
The same again.
```

```{code-cell} python
:tags: [raises-exception]
print("before")
json.loads("")
```

```{expect}
before
JSONDecodeError: Expecting value: line 1 column 1 (char 0)
```

:::{table} Bars and numbers
:name: table

| a | b |
|---|--:|
| `x \| y` | {check}`5 <2 + 3>` |
:::

:::{note}
One line.

- A list with {notation}`P()`.
:::

1. First.

   ```{notation} text
   a block
   ```
2. Second, with {download}`helper.py`.

::::{grid} 1 2 2 2

:::{grid-item-card} A card
:link: other
:link-type: doc
Its text.
:::

:::{grid-item-card} Another
Its text.
:::
::::

:::{question} How much is `1 + 1`?
Two.

```pycon
>>> 1 + 1
2
```
:::

:::{glossary}
number
  What counts.
:::
"""

OTHER = """\
---
myst:
  html_meta:
    description: What the other page says.
---

# The other page

## Part

Text.
"""

MARKDOWN = """\
# A *small* page

From <https://example.org/en/index.html>.

**The rest**

- [The other page](https://example.org/en/other.html)

  - [Part](https://example.org/en/other.html#part)

The sum is 7, a number;
not_bold, 2 \\* 3 \\* 4, \\<b> and [a\\](b) are text.
See [the other page](https://example.org/en/other.html#part) and [below](https://example.org/en/index.html#table).

```python
import json
from pathlib import Path

class Picture:
    def __repr__(self): return "a square"
    def _repr_html_(self): return "<svg></svg>"

picture = Picture()
print(Path("helper.py").suffix)
```

```text
.py
```

```python
x = 1
picture
```

```text
a square
```

**Fig. 1** It has 4 sides.

```python
picture
```

```text
a square
```

**Fig. 2** The same again.

```python
print("before")
json.loads("")
```

```text
before
```

```text
JSONDecodeError: Expecting value: line 1 column 1 (char 0)
```

**Table 1** Bars and numbers

| a | b |
| --- | ---: |
| `x \\| y` | 5 |

> **Note**
>
> One line.
>
> - A list with `P()`.

1. First.

   ```text
   a block
   ```

2. Second, with [`helper.py`](https://example.org/en/_downloads/HASH/helper.py).

- [A card](https://example.org/en/other.html)
  Its text.
- Another
  Its text.

**How much is `1 + 1`?**

Two.

```pycon
>>> 1 + 1
2
```

- **number**: What counts.

7 facts
"""


def make(folder: Path, builder: str = "html") -> Build:
    docs = small_site(folder, PAGE, other=OTHER)
    (docs / "conf.py").write_text(CONF + SETTINGS, "utf-8")
    (docs / "helper.py").write_text('"""Has \'quotes\' and \\n."""\nimport json\n')
    built = build(docs, folder / "out", "-b", builder)

    assert [] == built.said
    assert "" == built.stderr
    return built


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return make(tmp_path_factory.mktemp("small"))


def text(built: Build, name: str) -> str:
    return (built.out / name).read_text("utf-8")


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


@pytest.mark.parametrize(
    ("source", "expected"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("a\n b", "`a b`")],
)
def test_code_stands_in_as_many_ticks_as_it_takes(source: str, expected: str) -> None:
    assert expected == code(source)


def test_a_fence_is_longer_than_those_in_it() -> None:
    assert "````md\n```\n````" == fence("```\n", "md")


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


def page(*pieces: Code | Prose) -> Page:
    return Page("A page", BASE, "", Needs(), pieces)


def test_only_the_last_value_is_printed() -> None:
    shown = (Shown({"text/plain": "7"}),)

    assert "x = 7; print(x)  # é" in script(page(Code("x = 7; x  # é", shown)))
    assert "print((3 +\n  4))" in script(page(Code("(3 +\n  4)", shown)))
    assert "\nshow(7)\nx = 7\n" in script(page(Code("show(7)\nx = 7", shown)))


def test_a_cell_that_raises_may_not_change_where_it_is_indented() -> None:
    cell = Code(
        'x = """a\nb"""\n1 / 0', (Raised("ZeroDivisionError: division by zero"),)
    )
    with pytest.raises(CannotIndent) as raised:
        script(page(cell))

    assert (
        "a cell that raises has a string of several lines, which indenting changes: "
        'x = """a' == str(raised.value)
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


def test_pages_in_folders_have_their_files_beside_the_folders(tmp_path: Path) -> None:
    built = make(tmp_path, builder="dirhtml")

    assert 'type="text/markdown" href="../other.md"' in text(built, "other/index.html")
    assert f"From <{BASE}>." in text(built, "index.md")
    assert f"[the other page]({BASE}other/#part)" in text(built, "index.md")


def test_what_has_no_form_in_markdown_is_a_warning(tmp_path: Path) -> None:
    docs = small_site(tmp_path, "# A page\n\n```{math}\nx\n```\n")
    (docs / "conf.py").write_text(CONF + SETTINGS, "utf-8")
    built = build(docs, tmp_path / "out")

    assert "the page cannot be downloaded: a math_block has no form" in built.stderr


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
