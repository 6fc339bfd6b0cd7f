"""A reading pinned to a file, and the fixture of pytest that does it."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jax
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from releases import kept_source
from structs import MESH, struct

from shardlessons import Frame, Unread, read
from shardlessons.testing import assert_pinned


def rows(a: jax.Array) -> jax.Array:
    return a.sum(1)


# What a pinned file says of where the sum of rows comes from.
KEPT = kept_source(Frame(__file__, 1, "rows"))
ORIGIN = (
    f"from {KEPT.function or '?'} in test_pinned.py"
    if KEPT
    else "from no recorded line"
)
CUT = read(rows, struct((8, 16), P("data", "model")))
WHOLE = read(rows, struct((8, 16), P("data")))
NOTE = """\
# What jax decides for a call, pinned by shardlessons: one fact a line.
# To accept what it decides now, run pytest with --update-pinned.
"""
HOW = "run pytest with --update-pinned, or call assert_pinned(..., update=True)"


def facts(reading: Any, tmp_path: Path) -> list[str]:
    """The lines of the file that a reading is pinned in."""
    path = tmp_path / "facts.txt"
    assert_pinned(reading, path, update=True)
    text = path.read_text("utf-8")

    assert text.startswith(NOTE)
    assert text.endswith("\n")
    return text.removeprefix(NOTE).splitlines()


def test_the_file(tmp_path: Path) -> None:
    assert [
        "call: rows",
        "mesh: data=4 (Auto), model=2 (Auto)",
        "input a: float32[8,16] data,model",
        "output result: float32[8] data",
        "bytes argument: 64",
        "bytes output: 8",
        "bytes temp: 8",
        "bytes alias: 0",
        "sends: all-reduce over model, float32[2], 8 wire bytes, times 1, "
        + ORIGIN,
        "wire bytes over model: 8",
    ] == facts(CUT, tmp_path)


def test_neither_lines_nor_spelling_nor_order_are_in_it(
    tmp_path: Path,
) -> None:
    (one,) = CUT.collectives
    here, there = (
        dataclasses.replace(one, frames=(Frame(file, line, "f"),))
        for file, line in (("/here/m.py", 1), ("/there/at/m.py", 2))
    )
    other = dataclasses.replace(one, kind="all-to-all")

    def with_those(*collectives: Any) -> Any:
        return dataclasses.replace(CUT, collectives=collectives)

    assert facts(with_those(here, other), tmp_path) == facts(
        with_those(other, there), tmp_path
    )
    assert facts(
        read(lambda a: a, struct((8, 16), P("data"))), tmp_path
    ) == facts(read(lambda a: a, struct((8, 16), P(("data",), None))), tmp_path)


def test_rare_facts(tmp_path: Path) -> None:
    (one,) = CUT.collectives
    odd = dataclasses.replace(
        CUT,
        inputs=(
            dataclasses.replace(CUT.inputs[0], sharding=None),
            dataclasses.replace(
                CUT.inputs[0],
                sharding=SingleDeviceSharding(jax.devices("cpu")[0]),
            ),
            dataclasses.replace(
                CUT.inputs[0],
                sharding=NamedSharding(MESH, P(("data", "model"))),
            ),
        ),
        collectives=(
            *[dataclasses.replace(one, times=None, frames=())] * 2,
            dataclasses.replace(one, conditional=True, frames=()),
        ),
        unread=(Unread("%odd.7 = ...", "no replica_groups"),),
    )

    assert [
        "input a: float32[8,16] dropped (unused)",
        "input a: float32[8,16] SingleDeviceSharding(cpu:0)",
        "input a: float32[8,16] data+model,-",
        "sends: 2 x all-reduce over model, float32[2], 8 wire bytes, "
        "times ?, from no recorded line",
        "sends: all-reduce over model, float32[2], <= 8 wire bytes, "
        "times <= 1, from no recorded line",
        "wire bytes over model: ?",
        "not read: no replica_groups",
    ] == [
        line
        for line in facts(odd, tmp_path)
        if not line.startswith(("call", "mesh", "output", "bytes"))
    ]


def test_what_is_pinned_passes_and_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.txt"

    assert assert_pinned(CUT, path, update=True) is True
    path.chmod(0o400)
    assert assert_pinned(CUT, path) is False
    assert assert_pinned(CUT, str(path), update=True) is False


def test_notes_in_the_file_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    assert_pinned(CUT, path, update=True)
    path.write_text("# mine\n" + path.read_text().removeprefix(NOTE))

    assert assert_pinned(CUT, path) is False


def test_a_file_that_does_not_exist_fails_and_is_not_made(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.txt"
    with pytest.raises(AssertionError) as error:
        assert_pinned(CUT, path)

    assert f"""\
the reading of
  rows(float32[8,16]@P('data', 'model'))
is to be pinned in {path}, which does not exist; to write it, {HOW}\
""" == str(error.value)
    assert not path.exists()


def test_what_differs_is_shown_as_a_diff_and_not_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rows.txt"
    assert_pinned(CUT, path, update=True)
    before = path.read_text()
    with pytest.raises(AssertionError) as error:
        assert_pinned(WHOLE, path)

    assert f"""\
the reading of
  rows(float32[8,16]@P('data',))
differs from the one pinned in {path}
--- expected
+++ actual
 mesh: data=4 (Auto), model=2 (Auto)
-input a: float32[8,16] data,model
+input a: float32[8,16] data,-
 output result: float32[8] data
-bytes argument: 64
+bytes argument: 128
 bytes output: 8
-bytes temp: 8
+bytes temp: 0
 bytes alias: 0
-sends: all-reduce over model, float32[2], 8 wire bytes, times 1, \
{ORIGIN}
-wire bytes over model: 8
+sends: nothing
to accept what it says now, {HOW}""" == str(error.value)
    assert before == path.read_text()


def test_what_is_no_reading_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"assert_pinned\(\) was given 3, wh"):
        assert_pinned(3, tmp_path / "rows.txt")


# The plugin, in a pytest of its own.

PLUGIN = "shardlessons._plugin"
SUITE = """
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from shardlessons import cpu_mesh, read

def test_rows(pinned):
    sharding = NamedSharding(cpu_mesh({"data": 4, "model": 2}), P("data"))
    x = jax.ShapeDtypeStruct((8, FEATURES), "float32", sharding=sharding)
    pinned(read(lambda a: a.sum(1), x), "pinned/rows.txt")
"""


def run_pytest(folder: Path, *flags: str) -> tuple[int, str]:
    """Run a suite with the plugin; return its code and what it prints.

    Loaded by name, whatever this environment has installed.
    """
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", PLUGIN),
            *("-p", "no:cacheprovider", "-q", *flags),
        ],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "" == done.stderr
    return done.returncode, done.stdout


def test_the_fixture_fails_writes_when_told_and_passes(tmp_path: Path) -> None:
    tests = tmp_path / "tests"
    tests.mkdir()
    suite = tests / "test_suite.py"
    suite.write_text(SUITE.replace("FEATURES", "16"))
    file = tests / "pinned" / "rows.txt"

    code, said = run_pytest(tmp_path)
    assert 1 == code
    assert f"is to be pinned in {file}, which does not exist" in said
    assert HOW in said
    assert not file.exists()

    code, said = run_pytest(tmp_path, "--update-pinned")
    assert 0 == code
    assert "= readings pinned =" in said
    assert "\nwrote tests/pinned/rows.txt\n" in said
    assert "input a: float32[8,16] data,-\n" in file.read_text()

    code, said = run_pytest(tmp_path)
    assert 0 == code
    assert "readings pinned" not in said

    suite.write_text(SUITE.replace("FEATURES", "32"))
    code, said = run_pytest(tmp_path)
    assert 1 == code
    assert "-input a: float32[8,16] data,-" in said
    assert "+input a: float32[8,32] data,-" in said
    assert "float32[8,16]" in file.read_text()


def test_the_plugin_imports_nothing_of_jax() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); "
        f"import {PLUGIN}; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert ["shardlessons", PLUGIN] == done.stdout.split()


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    points = tomllib.loads(pyproject.read_text("utf-8"))["project"][
        "entry-points"
    ]

    assert {"shardlessons": PLUGIN} == points["pytest11"]


def test_pinning_works_without_pytest(tmp_path: Path) -> None:
    code = (
        "import sys, shardlessons.testing as t; from shardlessons import read; "
        "t.assert_pinned(read(lambda: 1.0), 'one.txt', update=True); "
        "t.assert_pinned(read(lambda: 1.0), 'one.txt'); "
        "print('pytest' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "False" == done.stdout.strip()
