"""Build a small site, or a copy of the real one, and read what the build said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
_WARNING = re.compile(
    r"^(?P<file>\S+?):(?P<line>\d+): WARNING: (?P<text>.*?)(?: \[(?P<kind>[\w.]+)\])?$",
    re.MULTILINE,
)

CONF = '''
extensions = ["shardlessons.sphinxext", "sphinx.ext.autodoc"]
nb_execution_mode = "inline"
nb_execution_allow_errors = True
nb_output_stderr = "remove"
nb_eval_name_regex = r"(?s).*"
nb_render_plugin = "shardlessons"
myst_enable_extensions = ["colon_fence"]
html_theme = "basic"
'''

FRONT_MATTER = """\
---
file_format: mystnb
kernelspec:
  name: python3
---

"""


@dataclass(frozen=True)
class Said:
    """One warning: the file's name, the line, the kind, the text."""

    file: str
    line: int
    kind: str
    text: str


@dataclass(frozen=True)
class Build:
    """What a build left: exit code, warnings in order, ledger, output."""

    code: int
    stderr: str
    out: Path

    @property
    def said(self) -> list[Said]:
        return [
            Said(Path(m["file"]).name, int(m["line"]), m["kind"] or "", m["text"])
            for m in _WARNING.finditer(self.stderr)
        ]

    @property
    def ledger(self) -> dict[str, Any]:
        return json.loads((self.out / "facts.json").read_text("utf-8"))

    def html(self, page: str = "index") -> str:
        return (self.out / f"{page}.html").read_text("utf-8")


def copy_tree(folder: Path) -> None:
    """Copy the real pages and the package that they document."""
    for name in ("docs", "src"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
        )


# 2026-01-01, in the form of SOURCE_DATE_EPOCH.
DATE = "1767225600"


def build_copy(folder: Path) -> Build:
    """Build what :func:`copy_tree` copied, documenting the copy's package."""
    return build(
        folder / "docs",
        folder / "out",
        *("-E", "-n", "-j", str(2 * (os.cpu_count() or 1))),  # as noxfile.py
        *("-D", f"shardlessons_explorer_cache={ROOT / 'build/explorer'}"),
        PYTHONPATH=str(folder / "src"),
        SOURCE_DATE_EPOCH=DATE,
    )


def build(docs: Path, out: Path, *flags: str, **variables: str) -> Build:
    """Run sphinx-build in a process of its own, as an author does."""
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **variables}
    # Two of these would have the explorer's answers asked afresh.
    for name in ("PYTHONDONTWRITEBYTECODE", "CI", "READTHEDOCS"):
        env.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-N", "-b", "html", *flags, docs, out],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    return Build(done.returncode, done.stderr, out)


def small_site(folder: Path, page: str, **others: str) -> Path:
    """Write a site of one page, with a kernel, and any other pages given."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "conf.py").write_text(CONF, "utf-8")
    (docs / "index.md").write_text(FRONT_MATTER + page, "utf-8")
    for name, text in others.items():
        (docs / f"{name}.md").write_text(text, "utf-8")
    return docs


# The first line of a page below its front matter.
FIRST = FRONT_MATTER.count("\n") + 1


def build_page(folder: Path, page: str, *flags: str) -> Build:
    return build(small_site(folder, page), folder / "out", *flags)


def cell(code: str, *tags: str) -> str:
    tag_line = f":tags: [{', '.join(tags)}]\n" if tags else ""
    return f"```{{code-cell}} python\n{tag_line}{code}\n```\n\n"


def expect(text: str) -> str:
    return f"```{{expect}}\n{text}\n```\n\n"
