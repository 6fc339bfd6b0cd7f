"""The survey as a command, on a small project and with a uv that installs nothing."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from site_builder import FRONT_MATTER, build, small_site

from shardlessons.sphinxext.survey.__main__ import main
from shardlessons.sphinxext.survey._settings import SettingsError, settings

PAGE = """\
# A page

```{code-cell} python
import os
release = os.environ["FAKE_RELEASE"]
```

Same {check}`2 <1 + 1>`, other {check}`2.0 <release>`, not there before
{check}`3 <{"1.5": 3, "2.0": 3}[release]>`.
"""

# Makes an environment whose Python is this one, and which knows its release.
UV = f"""\
#!{sys.executable}
import json, os, pathlib, sys

words = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as log:
    print(*words, file=log)
if words[:2] == ["python", "list"]:
    entry = {{"implementation": "cpython", "variant": "default"}}
    print(json.dumps([{{**entry, "version": "3.13.0", "path": "new"}},
                      {{**entry, "version": "3.12.0", "path": "old"}},
                      {{**entry, "version": "3.8.0", "path": "too old"}}]))
elif words[0] == "venv":
    folder = pathlib.Path(words[-1])
    (folder / "bin").mkdir(parents=True)
    python = folder / "bin" / "python"
    release = folder.parent.name
    python.write_text(f"#!/bin/sh\\nFAKE_RELEASE={{release}} "
                      'PYTHONPATH={os.pathsep.join(sys.path)} '
                      'exec {sys.executable} "$@"\\n')
    python.chmod(0o755)
elif any(word in words for word in os.environ["FAKE_MISSING"].split()):
    print("no wheels with a matching Python", file=sys.stderr)
    sys.exit(1)
"""

PROJECT = """\
[project]
name = "small"
requires-python = ">=3.11"

[tool.shardlessons.versions]
releases = ["1.0", "1.5"]
groups = ["docs"]
command = {command}
"""
LOCK = """\
[[package]]
name = "jax"
version = "0.9"

[[package]]
name = "jax"
version = "2.0"
"""


@dataclass(frozen=True)
class Project:
    """A project of one page, and what its uv was told."""

    root: Path
    uv: Path

    @property
    def told(self) -> list[str]:
        return (self.root / "uv.log").read_text("utf-8").splitlines()

    def survey(self, *arguments: str) -> int:
        return main([*arguments, "--uv", str(self.uv), "--root", str(self.root)])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    small_site(tmp_path, PAGE)
    (tmp_path / "src").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT.format(command="[]"), "utf-8")
    (tmp_path / "uv.lock").write_text(LOCK, "utf-8")
    uv = tmp_path / "uv"
    uv.write_text(UV, "utf-8")
    uv.chmod(0o755)
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "uv.log"))
    monkeypatch.setenv("FAKE_MISSING", "-")
    return Project(tmp_path, uv)


def test_one_history_of_all_releases_and_nothing_done_twice(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    code = project.survey()
    first = capsys.readouterr()
    content = json.loads((project.root / "docs/since.json").read_text("utf-8"))

    assert (0, "") == (code, first.err)
    assert {"1.0": [], "1.5": [], "2.0": []} == content["releases"]
    page = content["pages"]["index"]
    assert ["check 1 + 1"] == list(page["held"])
    assert {
        "check release": {"1.0": "1.0", "1.5": "1.5", "2.0": "2.0"},
        'check {"1.5": 3, "2.0": 3}[release]': {
            "1.0": {"raised": "KeyError: '1.0'"},
            "1.5 to 2.0": "3",
        },
    } == page["changed"]
    assert (
        "facts: 1 always held, 2 did not (error class 1, value 1): "
        "see docs/since.json\n"
    ) in first.out

    before = project.told
    written = (project.root / "docs/since.json").read_bytes()
    code = project.survey()
    again = capsys.readouterr().out

    assert 0 == code
    assert written == (project.root / "docs/since.json").read_bytes()
    assert 3 == again.count(": installed before\n") == again.count(": pages built before\n")
    new = project.told[len(before) :]
    assert ["export", "python"] == [line.split()[0] for line in new]

    # A changed page is built again, in the environments that are there.
    page_file = project.root / "docs/index.md"
    page_file.write_text(page_file.read_text("utf-8") + "\nMore.\n", "utf-8")
    project.survey()
    third = capsys.readouterr().out

    assert 3 == third.count(": installed before\n") == third.count(": pages built in ")


def test_a_release_that_fails_is_named_and_the_others_are_kept(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FAKE_MISSING", "jax==1.5")
    code = project.survey()
    said = capsys.readouterr()

    assert 1 == code
    assert "jax 1.5: FAILED\n" in said.out
    assert "jax 1.5: " in said.err and "no wheels with a matching Python" in said.err
    assert "since.json is as it was: run this again" in said.err
    assert not (project.root / "docs/since.json").exists()
    # Every Python that the project runs on was tried, the newest first.
    tried = [line.split()[2] for line in project.told if "survey/1.5" in line
             and line.startswith("venv")]
    assert ["new", "old"] == tried

    monkeypatch.setenv("FAKE_MISSING", "-")
    code = project.survey()
    said = capsys.readouterr()

    assert 0 == code
    assert 2 == said.out.count(": pages built before\n")
    assert "jax 1.5: pages built in" in said.out


def test_a_uv_that_answers_nothing_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_MISSING", "export")

    assert 2 == project.survey()
    assert "export --frozen ... exits with 1:\n  no wheels" in capsys.readouterr().err


def test_a_named_release_is_compared_with_the_pages_and_writes_nothing(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    code = project.survey("1.0")
    said = capsys.readouterr()
    page = "docs/index.md"

    assert 1 == code
    assert (
        f"{page}:14: 2.0 -> 1.0\n"
        f"{page}:15: 3 -> KeyError: '1.0'\n"
        "changed by jax 1.0: 2\n"
    ) in said.out
    assert not (project.root / "docs/since.json").exists()
    assert 0 == project.survey("2.0")
    assert "changed by jax 2.0: 0\n" in capsys.readouterr().out


def test_the_command_runs_in_each_environment_and_may_fail(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    fails = "import os; os.environ['FAKE_RELEASE'] == '1.0' and exit('no: 1.0')"
    command = json.dumps(["python", "-c", fails])
    text = PROJECT.format(command=command).replace('"1.0", "1.5"', '"1.0"')
    (project.root / "pyproject.toml").write_text(text, "utf-8")
    code = project.survey()
    said = capsys.readouterr()

    assert 1 == code
    assert "jax 2.0: command run in" in said.out
    assert "no: 1.0" in said.err
    project.survey()

    assert 2 == capsys.readouterr().out.count(": pages built before\n")


def test_a_project_without_settings_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n", "utf-8")

    with pytest.raises(SettingsError, match=r"has no \[tool\.shardlessons\.versions\]"):
        settings(tmp_path)


def test_a_setting_that_is_missing_is_named(tmp_path: Path) -> None:
    text = "[tool.shardlessons.versions]\nreleases = []\ngroup = []\n"
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")

    with pytest.raises(SettingsError, match=r"has the keys \['group', 'releases'\]"):
        settings(tmp_path)


REPORTED = """\
# A page

```{code-cell} python
import math
a = 1
b = math.nothing
```

```{code-cell} python
print(b)
```

```{expect}
2
```

First {check}`1 <a>`, then {check}`2 <b>`, wrong {check}`4 <3>`.

```{code-cell} python
:tags: [raises-exception]
a
```

```{expect}
ValueError: no
```

Raised {check}`ValueError <raised>`.

:::{question} What is it?
```pycon
>>> c = b
>>> c
2
>>> b = 2
>>> b
2
```
:::
"""


def test_report_mode_records_what_does_not_hold_and_warns_of_nothing(
    tmp_path: Path,
) -> None:
    elsewhere = FRONT_MATTER.replace(
        "---\n\n", "  language: python\nplatforms: [windows-arm64]\n---\n\n"
    )
    docs = small_site(tmp_path, REPORTED, other=f"{elsewhere}# B\n\n{{check}}`1 <2>`\n")
    built = build(docs, tmp_path / "out", "-W", "-D", "shardlessons_report=1")
    why = "AttributeError: module 'math' has no attribute 'nothing'"

    assert ([], 0) == (built.said, built.code), built.stderr
    assert [
        ("print(b)", why, True),
        ("a", "1", False),
        ("b", why, True),
        ("3", "3", False),
        ("a", "1", False),
        ("raised", "the cell above raises nothing", True),
        ("c", why, True),
        ("b", "2", False),
    ] == [(f["expression"], f["found"], f["unanswered"]) for f in built.ledger["facts"]]
    assert [
        (10, "raised", f"the cell raises {why}; state it in an {{expect}}, or mend the cell"),
        (23, "check", "written: 4, found: 3, asked: 3"),
    ] == [
        (f["line"], f["kind"], f["message"])
        for f in built.ledger["findings"]
        if "nothing'; state" in f["message"] or "asked: 3" in f["message"]
    ]
