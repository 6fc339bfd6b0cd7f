"""A machine with Python and pip alone: README, CI and Read the Docs agree."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pypdf
import pytest
import yaml
from packages import missing
from site_builder import DATE, Build

ROOT = Path(__file__).resolve().parents[1]
NOXFILE = (ROOT / "noxfile.py").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The interpreter that made this environment: the environment has no pip.
PYTHON = Path(sys._base_executable)
# The page whose values the printed book is searched for, as the ledger has them.
BYTES = ("bytes", "check")
NOT_IN_THE_BOOK = {"404.html", "genindex.html", "py-modindex.html", "search.html"}
# Settings of the session that runs the tests, which no fresh machine has.
SESSION = {"CI", "PYTHONPATH", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON", "VIRTUAL_ENV"}


def blocks(language: str) -> list[str]:
    """The README's blocks in `language`."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def commands() -> list[str]:
    """The README's commands for a machine with Python and pip alone."""
    lines = "".join(blocks("console")).splitlines()
    return [line[2:] for line in lines if line.startswith("$ python3 ")]


def checkout(folder: Path) -> Path:
    """A copy of the working tree without what git ignores."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listing, cwd=ROOT, text=True)
    for name in names.split("\0"):
        if name and (ROOT / name).exists():  # one deleted since is listed still
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # What the compilers answered to the same sources is not asked again.
    asked = ROOT / "build/explorer"
    if asked.exists():
        unfinished = shutil.ignore_patterns("tmp*")
        shutil.copytree(asked, folder / "build/explorer", ignore=unfinished)
    return folder


def run(command: str, tree: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command in `tree`, where python and python3 are `PYTHON`."""
    path = tree.parent / "bin"
    path.mkdir(exist_ok=True)
    for name in ["python", "python3"]:
        (path / name).write_text(f'#!/bin/sh\nexec "{PYTHON}" "$@"\n')
        (path / name).chmod(0o755)
    outside = {key: value for key, value in os.environ.items() if key not in SESSION}
    env = outside | {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"} | env
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tree,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
    )


def noxfile(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names in noxfile.py, read without nox, which tests go without."""
    monkeypatch.setitem(sys.modules, "nox", MagicMock())
    names = {"__name__": "noxfile", "__file__": str(ROOT / "noxfile.py")}
    exec(compile(NOXFILE, ROOT / "noxfile.py", "exec"), names)
    return names


# --- The commands


def test_ci_runs_the_commands_of_the_readme() -> None:
    ci = subprocess.check_output([ROOT / ".ci/run", "commands"], text=True)

    assert commands() == ci.splitlines()
    assert commands() == [f"python3 noxfile.py -s {task}" for task in ("docs", "tests")]


def test_read_the_docs_runs_the_command_of_the_readme() -> None:
    steps = read_the_docs()
    docs = commands()[0]

    assert steps["html"] == [f"{docs} -- html $READTHEDOCS_OUTPUT/html"]
    for kind in ("epub", "pdf"):
        output = f"{kind} $READTHEDOCS_OUTPUT/{kind}"
        assert steps[kind] == [f"{docs} -- {output} --read-by html"]


def test_readme_example_prints_what_it_says() -> None:
    (example,), (expected,) = blocks("python"), blocks("text")
    actual = subprocess.check_output([sys.executable, "-c", example], text=True)

    assert expected == actual


# --- The start without nox and uv


def test_uv_comes_from_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    version, hashes = noxfile(monkeypatch)["locked_uv"]()
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    wheel = rf'/uv-{re.escape(version)}-py3-none-.*\.whl", hash = "(sha256:\w{{64}})"'

    assert hashes == re.findall(wheel, lock)
    assert len(hashes) > 10  # a wheel for each system


def test_nox_and_uv_are_in_the_group_that_the_start_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    header = re.search(r"^# dependencies = (\[.*\])$", NOXFILE, re.M)

    assert header is not None
    assert project["dependency-groups"]["nox"] == ast.literal_eval(header[1])


def test_uv_of_another_hash_is_refused(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree")
    lock = (tree / "uv.lock").read_text(encoding="utf-8")
    forged = re.sub(
        r"(/uv-[\d.]+-py3-none-.*?sha256:)(\w)",
        lambda found: found[1] + ("1" if found[2] == "0" else "0"),
        lock,
    )
    (tree / "uv.lock").write_text(forged, encoding="utf-8")
    result = run("python3 noxfile.py --list", tree)

    assert result.returncode == 1
    assert "THESE PACKAGES DO NOT MATCH THE HASHES" in result.stdout
    assert "noxfile.py: pip could not install uv" in result.stdout
    assert list((tree / ".nox/bootstrap").iterdir()) == []


def test_an_older_python_is_told_so_in_one_line() -> None:
    ast.parse(NOXFILE, feature_version=(3, 7))
    older = "import sys; sys.version_info = (3, 10, 4); exec(sys.stdin.read())"
    result = subprocess.run(
        [sys.executable, "-c", older], input=NOXFILE, text=True, capture_output=True
    )

    assert result.returncode == 1
    expected = "noxfile.py: this is Python 3.10.4; Python 3.11 or later is needed\n"
    assert result.stderr == expected


# --- The builds: each makes an environment and runs every page

newest = pytest.mark.skipif(
    sys.version_info < (3, 12),
    reason="as with 3.12 or later, with which Read the Docs builds",
)


def read_the_docs() -> dict[str, list[str]]:
    """The commands of .readthedocs.yaml, by what they build."""
    config = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text(encoding="utf-8"))

    assert list(config) == ["version", "formats", "build"]
    assert list(config["build"]["jobs"]) == ["build"]
    steps = config["build"]["jobs"]["build"]
    assert ["html", *config["formats"]] == list(steps)
    return steps


def assert_clean(result: subprocess.CompletedProcess[str]) -> None:
    warning = r"^.*(?:WARNING|Warning:).*$|^warning.*$"
    warnings = re.findall(warning, result.stdout, re.M)

    assert (0, []) == (result.returncode, warnings), result.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as Read the Docs builds it, dated."""
    tree = checkout(tmp_path_factory.mktemp("published") / "tree")
    output = tree / "_readthedocs"
    index = output / "html/index.html"
    for command in read_the_docs()["html"]:
        result = run(command, tree, **published_to(output))
        assert_clean(result)

        assert f"The site is at {index}\n" in result.stdout
    return output / "html"


def published_to(output: Path) -> dict[str, str]:
    return {"SOURCE_DATE_EPOCH": DATE, "READTHEDOCS_OUTPUT": str(output)}


@pytest.fixture(scope="module")
def books(published: Path) -> Path:
    """What the other steps leave beside the site."""
    if gone := missing():
        pytest.skip(f"printing needs {', '.join(gone)}, and only root can install them")
    output = published.parent
    for kind in ("epub", "pdf"):
        for command in read_the_docs()[kind]:
            result = run(command, output.parent, **published_to(output))
            assert_clean(result)

            assert "reading sources... [" not in result.stdout
    return output


@newest
def test_read_the_docs_publishes_a_file_of_each_book(books: Path) -> None:
    for kind in ("epub", "pdf"):
        assert [f"shardlessons.{kind}"] == [f.name for f in (books / kind).iterdir()]


@newest
def test_the_printed_book_has_every_page_and_its_values(
    books: Path, published: Path
) -> None:
    printed = pypdf.PdfReader(books / "pdf/shardlessons.pdf")
    chapters = [one["/Title"] for one in printed.outline if not isinstance(one, list)]
    said = "".join("".join(page.extract_text().split()) for page in printed.pages)
    facts = json.loads((published / "facts.json").read_text("utf-8"))["facts"]
    of_bytes = [f["written"] for f in facts if (f["page"], f["form"]) == BYTES]
    sites = {file.name for file in published.glob("*.html")}

    assert len(chapters) == len(sites - NOT_IN_THE_BOOK)
    assert [v for v in of_bytes if "".join(v.split()) not in said] == []
    assert "\ufffd" not in said  # a sign that no font has


@newest
def test_read_the_docs_publishes_the_site(published: Path) -> None:
    assert (published / "index.html").is_file()
    assert (published / "facts.json").is_file()


@newest
def test_two_builds_of_one_date_are_the_same(
    published: Path, real_site: tuple[Path, Build]
) -> None:
    again = real_site[1].out

    assert pages(published) == pages(again)
    for page in pages(published):
        assert first_difference(published / page, again / page) is None


@newest
def test_another_jax_is_named_fact_by_fact_and_accepted(
    published: Path, tmp_path: Path
) -> None:
    tree = checkout(tmp_path / "tree")
    leave_out_chips(tree)
    before = texts(tree)
    docs, other = commands()[0], "--jax 0.8.3"
    accepted = run(f"{docs.replace('docs', 'accept')} -- {other}", tree)
    facts = [fact for fact in ledger(tree / "build/html") if not fact["recorded"]]
    # A fact has changed if the two releases answer differently, whatever the
    # pages say. What a page leaves open with dots may change unnamed.
    answers = {key(fact): fact["found"] for fact in ledger(published)}
    exact = [fact for fact in facts if "..." not in fact["written"]]
    changed = {key(f) for f in exact if f["found"] != answers[key(f)]}
    named = {key(f) for f in exact if not f["holds"]}
    # The build before the pages were rewritten said at which lines.
    warned = re.findall(r"(docs/\S+|src/\S+):(\d+): WARNING: ", accepted.stdout)
    said = {(path, int(line)) for path, line in warned}
    silent = [f for f in exact if not f["holds"] and not said.intersection(lines_of(f))]
    after = texts(tree)

    assert [] == silent
    assert changed == named
    assert 0 < len(changed) < len(exact)
    assert accepted.returncode == 0, accepted.stdout
    assert before.keys() == after.keys()
    failing = [fact for fact in facts if not fact["holds"]]
    assert rewritten(before, after) <= set().union(*map(lines_of, failing))
    assert_clean(run(f"{docs} -- {other}", tree))


def lines_of(fact: dict[str, Any]) -> set[tuple[str, int]]:
    """The lines on which a fact is written."""
    count = len(fact["written"].splitlines())
    return {(fact["path"], fact["line"] + offset) for offset in range(count)}


def leave_out_chips(tree: Path) -> None:
    """Have no build ask the compilers of chips, which change with jax.

    The explorer asks them too, and states no fact.
    """
    form = tree / "docs/explorer.md"
    form.write_text(form.read_text("utf-8").replace("```{explorer}\n```\n", ""), "utf-8")
    for page in tree.glob("docs/*chips.md"):
        text = page.read_text("utf-8")
        page.write_text(text.replace("[linux-x86_64]", "[windows-arm64]"), "utf-8")


def ledger(site: Path) -> list[dict[str, Any]]:
    return json.loads((site / "facts.json").read_text("utf-8"))["facts"]


def key(fact: dict[str, Any]) -> tuple[Any, ...]:
    return fact["path"], fact["line"], fact["column"], fact["expression"]


def texts(tree: Path) -> dict[str, list[str]]:
    """The lines of all that states facts, by its path in the tree."""
    files = [*tree.glob("docs/*.md"), *tree.glob("src/**/*.py")]
    return {
        str(file.relative_to(tree)): file.read_text("utf-8").splitlines()
        for file in files
    }


def rewritten(
    before: dict[str, list[str]], after: dict[str, list[str]]
) -> set[tuple[str, int]]:
    """The lines that changed, as they were numbered before.

    An added line counts as the one above it.
    """
    return {
        (path, number)
        for path in before
        for tag, start, stop, _, _ in SequenceMatcher(
            None, before[path], after[path], autojunk=False
        ).get_opcodes()
        if tag != "equal"
        for number in (range(start + 1, stop + 1) if stop > start else [start])
    }


def pages(site: Path) -> list[str]:
    """All pages, in each form that a reader has them in, and what they load.

    Not the ledger: it has in full what pages leave open with dots.
    """
    endings = {".html", ".md", ".ipynb", ".py", ".txt", ".css", ".js", ".json", ".png"}
    found = (file for file in site.rglob("*") if file.suffix in endings)
    files = (file for file in found if file.name != "facts.json")
    return sorted(str(file.relative_to(site)) for file in files)


def first_difference(one: Path, two: Path) -> str | None:
    """Where the two files differ, as the line of each; None where they do not."""
    if one.read_bytes() == two.read_bytes():
        return None
    lines = zip_longest(*(path.read_bytes().split(b"\n") for path in (one, two)))
    number, (old, new) = next(
        (number, pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]
    )
    return f"{one}:{number}: {old!r}\n{two}:{number}: {new!r}"
