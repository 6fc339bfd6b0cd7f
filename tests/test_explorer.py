"""The explorer: its answers, asked again from the code that a reader copies."""

from __future__ import annotations

import html
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from site_builder import CONF, ROOT, Build, build

from shardlessons.sphinxext._platforms import this_platform
from shardlessons.sphinxext.explorer import _recorded
from shardlessons.sphinxext.explorer.operations import MESHES, OPERATIONS, Spec

CHIPS = ["cpu", "v5e", "h100"] if this_platform() == "linux-x86_64" else ["cpu"]
# In a process that has asked nothing before; each prints, or raises.
ASK = """
import contextlib, io, json, sys
for code in json.load(sys.stdin):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(code, "ask.py", "exec"), {})
        print(json.dumps(out.getvalue()))
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All answers, as a build of the pages has them."""
    build = tmp_path_factory.mktemp("build")
    with pytest.MonkeyPatch.context() as here:
        for name in ("CI", "READTHEDOCS"):
            here.delenv(name, raising=False)
        return _recorded.recorded(build, ROOT / "build/explorer")


def piece(folder: Path, name: str) -> dict:
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


def code_for(folder: Path, operation: str, mesh: str, chip: str, key: str) -> str:
    """What the page's script shows for a choice."""
    offered = next(
        one
        for one in _recorded.index_of(folder)["operations"]
        if one["name"] == operation
    )
    code = piece(folder, f"{operation}.{mesh}.{chip}")["code"]
    choices = offered["choices"][mesh].items()
    for (name, specs), token in zip(choices, key.split("/"), strict=True):
        (spec,) = (spec["code"] for spec in specs if spec["token"] == token)
        code = code.replace(f"{{{name}}}", spec)
    return code


def words(report: str) -> list[str]:
    """What a recorded answer says, in order."""
    return html.unescape(re.sub("<[^>]*>", " ", report)).split()


# --- The answers


@pytest.mark.parametrize("chip", CHIPS)
def test_the_code_that_is_copied_prints_the_answer(chip: str, folder: Path) -> None:
    chosen = random.Random(chip)
    asked = []
    for operation in OPERATIONS:
        mesh = chosen.choice(MESHES).name
        answers = piece(folder, f"{operation.name}.{mesh}.{chip}")["answers"]
        for key in chosen.sample(sorted(answers), 2):
            asked.append((operation.name, mesh, chip, key, answers[key]))
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps([code_for(folder, *one[:4]) for one in asked]),
        capture_output=True,
        text=True,
        check=True,
    )
    printed = [json.loads(line) for line in done.stdout.splitlines() if line[0] == '"']

    assert len(asked) == len(printed)
    for (*choice, answer), said in zip(asked, printed, strict=True):
        shown = [answer["error"]] if "error" in answer else words(answer["html"])
        expected = [said] if "error" in answer else said.split()
        assert expected == shown, choice


def test_the_code_runs_as_a_file(folder: Path, tmp_path: Path) -> None:
    choice = ("matmul", "4x2", "cpu", "data.model/model")
    (tmp_path / "ask.py").write_text(code_for(folder, *choice), "utf-8")
    done = subprocess.run(
        [sys.executable, "ask.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = piece(folder, "matmul.4x2.cpu")["answers"]["data.model/model"]

    assert words(answer["html"]) == done.stdout.split()


def test_jax_refuses_an_axis_used_twice_and_nothing_else(folder: Path) -> None:
    errors = {
        (key, answer["error"].partition(":")[0])
        for file in folder.glob("*.*.*.json")
        if "tiles" not in file.name
        for key, answer in json.loads(file.read_text("utf-8"))["answers"].items()
        if "error" in answer
    }

    assert {"DuplicateSpecError"} == {name for _, name in errors}
    assert all("data.data" in key for key, _ in errors)


def test_every_choice_has_an_answer_and_every_answer_its_pictures(
    folder: Path,
) -> None:
    index = _recorded.index_of(folder)
    count = 0
    for operation in OPERATIONS:
        for mesh in MESHES:
            tiles = piece(folder, f"{operation.name}.{mesh.name}.tiles")
            shown = set()
            for chip in CHIPS:
                answers = piece(folder, f"{operation.name}.{mesh.name}.{chip}")[
                    "answers"
                ]
                asked = [
                    "/".join(spec.token for spec in specs)
                    for specs in operation.questions(mesh)
                ]
                count += len(answers)
                shown |= {t[2] for a in answers.values() for t in a.get("tiles", ())}

                assert asked == list(answers)
            assert set(tiles) == shown

    assert index["count"] == count


def test_a_second_sweep_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = (
        "import sys\nfrom pathlib import Path\n"
        "from shardlessons.sphinxext.explorer import operations, sweep\n"
        "chips = [c for c in operations.CHIPS if c.name in sys.argv[2:]]\n"
        "sweep.ask_all(Path(sys.argv[1]), operations.OPERATIONS[4], chips)\n"
    )
    command = [sys.executable, "-c", again, tmp_path, *CHIPS]
    subprocess.run(command, capture_output=True, check=True)
    files = sorted(tmp_path.iterdir())

    assert len(MESHES) * (len(CHIPS) + 1) == len(files)
    for file in files:
        assert (folder / file.name).read_bytes() == file.read_bytes(), file.name


# --- Specs in short


@pytest.mark.parametrize(
    ("short", "code", "token"),
    [
        ("", "P()", "_"),
        (",m", 'P(None, "model")', "_.model"),
        ("df,m", 'P(("data", "fsdp"), "model")', "data-fsdp.model"),
    ],
)
def test_a_spec_in_short(short: str, code: str, token: str) -> None:
    spec = Spec.of(short)

    assert (code, token) == (spec.code, spec.token)


# --- The cache


@pytest.fixture
def swept(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of the sweeps that were asked for, which ask no compiler."""
    folders: list[Path] = []

    def sweep(folder: Path) -> None:
        folder.mkdir(parents=True)
        folders.append(folder)

    monkeypatch.setattr(_recorded, "_sweep", sweep)
    for name in ("CI", "READTHEDOCS"):
        monkeypatch.delenv(name, raising=False)
    return folders


def test_what_was_asked_before_is_not_asked_again(
    swept: list[Path], tmp_path: Path
) -> None:
    first = _recorded.recorded(tmp_path / "doctrees", tmp_path / "cache")
    second = _recorded.recorded(tmp_path / "doctrees", tmp_path / "cache")

    assert [tmp_path / "cache" / _recorded.key()] == swept
    assert first == second


@pytest.mark.parametrize("name", ["CI", "READTHEDOCS"])
def test_a_host_asks_afresh(
    name: str, swept: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "True")
    for _ in range(2):
        _recorded.recorded(tmp_path / "doctrees", tmp_path / "cache")

    assert [tmp_path / "cache" / _recorded.key()] * 2 == swept


def test_another_release_is_another_question(monkeypatch: pytest.MonkeyPatch) -> None:
    key = _recorded.key()
    monkeypatch.setattr(_recorded, "versions", lambda: {"jax": "0.0.1"})

    assert key != _recorded.key()


@pytest.fixture
def ask(
    swept: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Ask for the sweep of each of some releases, with one cache, in order."""

    def ask(*releases: int) -> None:
        for release in releases:
            monkeypatch.setattr(_recorded, "versions", lambda: {"jax": release})
            _recorded.recorded(tmp_path / "doctrees", tmp_path / "cache")

    return ask


def test_the_cache_keeps_the_newest_few(
    ask: Callable[..., None], swept: list[Path], tmp_path: Path
) -> None:
    ask(*range(6))

    assert 4 == len(list((tmp_path / "cache").iterdir()))
    assert swept[-1].exists()


def test_the_cache_keeps_what_is_in_use(
    ask: Callable[..., None], swept: list[Path]
) -> None:
    ask(1, 2, 3, 4)
    for day, sweep in enumerate(swept):
        os.utime(sweep, (day, day))
    ask(1, 5)

    assert [True, False, True, True, True] == [sweep.exists() for sweep in swept]


def test_the_cache_keeps_what_others_put_there(
    ask: Callable[..., None], tmp_path: Path
) -> None:
    others = [tmp_path / "cache" / name for name in ("html", "a0b1c2d3", "tmp01234567")]
    for other in others:
        other.mkdir(parents=True)
        os.utime(other, (0, 0))
    ask(*range(6))

    assert all(other.exists() for other in others)


def test_a_sweep_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_recorded, "_MODULE", "shardlessons.not_there")

    with pytest.raises(_recorded.SweepFailed, match="No module named shardlessons.not"):
        _recorded.recorded(tmp_path, None)
    assert [] == list(tmp_path.iterdir())


# --- The page


def small(base: Path) -> Path:
    """Write a site with an explorer, whose pages any builder can read."""
    docs = base / "docs"
    docs.mkdir()
    extensions = "extensions += ['shardlessons.sphinxext.explorer']\n"
    (docs / "conf.py").write_text(CONF + extensions, "utf-8")
    (docs / "index.md").write_text(
        "# Pages\n\n```{toctree}\nask\n```\n", "utf-8"
    )
    (docs / "ask.md").write_text("# Ask\n\n```{explorer}\n```\n", "utf-8")
    return base


def built_by(builder: str, base: Path) -> Build:
    """Build a small site from what other builders have read of it."""
    cache = f"shardlessons_explorer_cache={ROOT / 'build/explorer'}"
    flags = ["-n", "-D", cache, "-b", builder, "-d", base / "doctrees"]
    return build(base / "docs", base / builder, *flags, SOURCE_DATE_EPOCH="1767225600")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Build:
    return built_by("html", small(tmp_path_factory.mktemp("site")))


def test_a_page_in_a_folder_of_its_own_finds_script_and_answers(
    tmp_path: Path, folder: Path
) -> None:
    made = built_by("dirhtml", small(tmp_path))
    page = BeautifulSoup(made.html("ask/index"), "html.parser")
    named = [
        page.select_one(".explorer")["data-pieces"],
        page.select_one("script[src*='explorer.js']")["src"].partition("?")[0],
    ]

    assert ["../_static/explorer/", "../_static/explorer.js"] == named
    for address in named:
        assert (made.out / "ask" / address).exists()


def test_a_site_has_the_answers_whatever_builder_read_the_page(
    tmp_path: Path, folder: Path
) -> None:
    checked = built_by("linkcheck", small(tmp_path))
    made = built_by("html", tmp_path)
    page = BeautifulSoup(made.html("ask"), "html.parser")

    assert [("", 0)] * 2 == [(one.stderr, one.code) for one in (checked, made)]
    assert "matmul" in page.select_one(".explorer-report caption").get_text()
    assert "x.sum(0)" in page.select_one("table.notation tbody").get_text()


def test_a_text_has_no_answers_whatever_builder_read_the_page(
    tmp_path: Path, folder: Path
) -> None:
    read = built_by("html", small(tmp_path))
    made = built_by("text", tmp_path)

    assert [("", 0)] * 2 == [(one.stderr, one.code) for one in (read, made)]
    assert "Ask\n***\n" == (made.out / "ask.txt").read_text("utf-8")


def test_a_book_has_the_most_asked_without_form_and_links(
    tmp_path: Path, folder: Path
) -> None:
    made = built_by("epub", small(tmp_path))
    page = BeautifulSoup((made.out / "ask.xhtml").read_text("utf-8"), "html.parser")

    assert "x.sum(0)" in page.select_one("table tbody").get_text()
    assert [] == page.select("form, script, table a")


def test_the_page_has_a_first_answer_and_the_most_asked(built: Build) -> None:
    page = BeautifulSoup(built.html("ask"), "html.parser")
    rows = page.select("table.notation tbody tr")

    assert ("", 0) == (built.stderr, built.code)
    assert "matmul" in page.select_one(".explorer-report caption").get_text()
    assert 3 == len(page.select(".explorer-tiles figure > svg"))
    assert "x.sum(0)" in rows[1].get_text()
    assert "P('model',)" in rows[1].get_text()
    assert (
        "?operation=sum_rows&mesh=4x2&chip=cpu&x=data.model"
        == (rows[1].select_one("a")["href"])
    )
    assert "recorded by the build of 2026-01-01 from jax " in (
        page.select_one(".facts-foot").get_text()
    )


def test_the_answers_are_published_as_they_were_recorded(
    built: Build, folder: Path
) -> None:
    published = built.out / "_static/explorer"
    names = {file.name for file in folder.iterdir()} - {"index.json"}

    assert names == {file.name for file in published.iterdir()}
    for name in names:
        assert (folder / name).read_bytes() == (published / name).read_bytes()
