"""The examples on pages as tests: each one, at its line, by the build's rules."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from site_builder import FRONT_MATTER, Build

PAGE = (
    FRONT_MATTER
    + """\
# A page

```{code-cell} python
:tags: [prelude]
a = 1
```

```{code-cell} python
:tags: [raises-exception]
a / 0
```

:::{question} What?
```pycon
>>> a
1
>>> a / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero
>>> a + 1
3
```
:::

```{code-cell} python
:tags: [raises-exception]
a
```

````{notation} markdown
```{code-cell} python
never_defined
```

```pycon
>>> never_defined
```
````
"""
)
CONFTEST = """\
from pathlib import Path
from shardlessons.sphinxext.collect import collector

pytest_collect_file = collector(Path(__file__).parent)
"""


def pytest_in(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        check=False,
    )
    return done.stdout


def test_each_example_is_a_test_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, "utf-8")
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    said = pytest_in(tmp_path, "-vv")

    assert [
        ("page.md::line:9,column:1", "PASSED"),
        ("page.md::line:14,column:1", "PASSED"),
        ("page.md::line:21,column:1", "PASSED"),
        ("page.md::line:23,column:1", "PASSED"),
        ("page.md::line:26,column:1", "FAILED"),
        ("page.md::line:31,column:1", "FAILED"),
    ] == [tuple(line.split()[:2]) for line in said.splitlines() if "%]" in line]
    assert "written: 3\nfound: 2" in said
    assert "tagged raises-exception, and does not raise" in said


def test_the_real_pages_have_a_test_for_each_example(
    real_site: tuple[Path, Build],
) -> None:
    folder, built = real_site
    answers = {
        f"{fact['page']}.md::line:{fact['line']}"
        for fact in built.ledger["facts"]
        if fact["form"] == "question"
    }
    listed = pytest_in(folder / "docs", "--collect-only", "-c", os.devnull)
    lines = [
        line.partition(",column")[0].rpartition("/")[2]
        for line in listed.splitlines()
        if "::line:" in line
    ]

    assert len(answers) > 10
    assert len(lines) == len(set(lines))
    # An answer stands below its statement, which the test is named after.
    tested = {line.rpartition(":")[0] for line in lines}
    assert {answer.rpartition(":")[0] for answer in answers} <= tested
