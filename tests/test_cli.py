"""The command line, in a process of its own where it starts jax."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import kept_source, needs_axis_types

from shardlessons import Frame, cpu_mesh
from shardlessons._cli import main
from shardlessons._traffic import source_text
from shardlessons._words import WordsError, parse_words

MESH = cpu_mesh({"data": 4, "model": 2})
MODULE = """
import jax
from jax.sharding import PartitionSpec as P

if hasattr(jax.config, "jax_num_cpu_devices"):
    jax.config.update("jax_num_cpu_devices", 12)  # as a program may
KEY = jax.random.key(0)  # starts the backend

def project(x, *, weights):
    return jax.lax.with_sharding_constraint(x @ weights, P("data"))

class Model:
    @staticmethod
    def __call__(x):
        return x

    @staticmethod
    def apply(x):
        return x * 2
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, with no device flag of this process."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("XLA_FLAGS", "JAX_NUM_CPU_DEVICES")
    }
    return subprocess.run(
        [sys.executable, "-m", "shardlessons", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(MODULE)
    return tmp_path


def test_a_function_of_the_current_folder(folder: Path) -> None:
    done = run(
        folder,
        *("own:project", "--mesh", "data=4,model=2"),
        *("--arg", "float32[512,512] data,-"),
        *("--kwarg", "weights=float32[512,512] -,model"),
    )
    # What a compiler needs while it runs is its own affair.
    temp = re.search(r"temp( +[\d,]+)", done.stdout)
    source = source_text(kept_source(Frame("own.py", 10, "project")))

    assert "" == done.stderr
    assert 0 == done.returncode
    assert f"""\
project(float32[512,512]@P('data', None), ... 1 more)
mesh data=4 (Auto), model=2 (Auto)

            type              spec              bytes/device
inputs
  x         float32[512,512]  P('data', None)        262,144
  weights   float32[512,512]  P(None, 'model')       524,288
outputs
  result    float32[512,512]  P('data', None)        262,144
counted by the compiler
  argument                                           786,432
  output                                             262,144
  temp{temp[1]}
  alias                                                    0

sent by each device, in bytes by the ring model
                                            over   times  wire bytes
{source}
  all-gather float32[512,256] -> [512,512]  model      1     524,288
in all, over
  model                                                      524,288
""" == done.stdout


def test_an_error_of_jax_passes_through(folder: Path) -> None:
    done = run(
        folder,
        *("jax.numpy:matmul", "--mesh", "data=4"),
        *("--arg", "float32[8,8] data", "--arg", "float32[9,8]"),
    )

    assert 1 == done.returncode
    assert "TypeError: dot_general requires contracting dim" in done.stderr


def test_help_has_an_example_that_runs(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    said = capsys.readouterr().out
    example = """\
  python -m shardlessons jax.numpy:matmul --mesh data=4,model=2 \\
      --arg "float32[512,512] data,-" --arg "float32[512,512] -,model"
"""

    assert 0 == stop.value.code
    assert example in said
    assert 0 == main(
        [
            *("jax.numpy:matmul", "--mesh", "data=4,model=2"),
            *("--arg", "float32[512,512] data,-"),
            *("--arg", "float32[512,512] -,model"),
        ]
    )
    assert "no collectives" in capsys.readouterr().out


def test_without_a_mesh_there_is_one_device(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert 0 == main(["jax.numpy:sin", "--arg", "float32[8]"])
    assert "SingleDeviceSharding(cpu:0)" in capsys.readouterr().out


@needs_axis_types
def test_explicit_axes(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            *("jax.numpy:sin", "--mesh", "data=4", "--explicit"),
            *("--arg", "float32[8] data"),
        ]
    )

    assert 0 == code
    assert "mesh data=4 (Explicit)" in capsys.readouterr().out


def test_a_name_within_a_class(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (folder / "nested.py").write_text(MODULE[MODULE.index("class") :])

    assert 0 == main(["nested:Model.apply", "--arg", "float32[8]"])
    assert "apply(float32[8]" in capsys.readouterr().out


FORM = (
    "expected dtype[shape] and, for each dimension, the mesh axes that cut "
    'it, as "float32[512,512] data,-" or "float32[8,16] data+model"'
)
SIN = "jax.numpy:sin"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], (
            "the following arguments are required: module:function; --help "
            "says what is expected"
        )),
        ([SIN, "--mash", "data=4"], (
            "unrecognized arguments: --mash data=4; --help says what is "
            "expected"
        )),
        (["sin"], (
            "the function was given as 'sin'; expected module:function, as "
            "jax.numpy:matmul"
        )),
        ([":sin"], (
            "the function was given as ':sin'; expected module:function, as "
            "jax.numpy:matmul"
        )),
        (["nowhere.at:all"], (
            "the function was given as 'nowhere.at:all', and there is no "
            "module 'nowhere'; expected one that is installed or in {here}"
        )),
        (["jax.nowhere:all"], (
            "the function was given as 'jax.nowhere:all', and there is no "
            "module 'jax.nowhere'; expected one that is installed or in {here}"
        )),
        (["jax.numpy:sine"], (
            "the function was given as 'jax.numpy:sine', and there is no "
            "'sine' in jax.numpy; expected the name of a function"
        )),
        (["jax.numpy:pi"], (
            "the function was given as 'jax.numpy:pi', which is of the type "
            "float; expected something that can be called"
        )),
        ([SIN, "--mesh", "data"], (
            "--mesh was given 'data'; expected the size of each axis, once, "
            "as data=4,model=2"
        )),
        ([SIN, "--mesh", "data=4,data=2"], (
            "--mesh was given 'data=4,data=2'; expected the size of each "
            "axis, once, as data=4,model=2"
        )),
        ([SIN, "--mesh", "data=0"], (
            "--mesh was given 'data=0'; expected the size of each axis, "
            "once, as data=4,model=2"
        )),
        ([SIN, "--devices", "many"], (
            "--devices was given 'many'; expected a number, 1 or more"
        )),
        ([SIN, "--devices", "2", "--mesh", "data=4"], (
            "--devices was given 2; expected 4 or more, which the mesh needs"
        )),
        ([SIN, "--kwarg", "float32[8]"], (
            "--kwarg was given 'float32[8]'; expected name=array, as "
            '"x=float32[512,512] data,-"'
        )),
        ([SIN, "--arg", "eight"], f"'eight' is no array; {FORM}"),
        ([SIN, "--arg", "float33[8]"], (
            "'float33[8]' has the dtype 'float33', which jax does not know; "
            f"{FORM}"
        )),
        ([SIN, "--arg", "float32[8 8]"], (
            "'float32[8 8]' has the shape [8 8], which is no list of sizes; "
            f"{FORM}"
        )),
        ([SIN, "--arg", "float32[8] data"], (
            "'float32[8] data' names mesh axes, and there is no mesh; "
            "expected a mesh, as data=4,model=2, or dtype[shape] alone"
        )),
        ([SIN, "--mesh", "data=4", "--arg", "float32[8] modle"], (
            "'float32[8] modle' does not fit the mesh: P('modle',) names the "
            "axis 'modle', which the mesh does not have; its axes are 'data'"
        )),
        ([SIN, "--mesh", "data=4", "--arg", "float32[9] data"], (
            "'float32[9] data' does not fit the mesh: dimension 0 has size "
            "9, which the mesh axes 'data' (4) do not divide; the nearest "
            "sizes that they divide: 8 and 12"
        )),
        ([SIN, "--mesh", "data=4", "--arg", "float32[8] data,-"], (
            "'float32[8] data,-' does not fit the mesh: P('data', None) has "
            "2 entries and the shape (8,) has 1 dimensions; give at most one "
            "entry a dimension"
        )),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(arguments)
    shown = capsys.readouterr()

    assert f"shardlessons: {said.format(here=os.getcwd())}\n" == shown.err
    assert "" == shown.out
    assert 2 == code


def test_too_few_devices_is_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main([SIN, "--mesh", f"data={len(jax.devices()) + 1}"])
    said = capsys.readouterr().err

    assert 1 == said.count("\n")
    assert "CPU devices were asked for, and JAX's CPU backend has" in said
    assert 2 == code


def test_what_the_module_fails_to_import_passes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text("import not_installed_at_all")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(ModuleNotFoundError, match="not_installed_at_all"):
        main(["broken:f"])


@pytest.mark.parametrize(
    ("words", "shape", "dtype", "spec"),
    [
        ("float32[8,16] data,model", (8, 16), "float32", P("data", "model")),
        ("float32[8,16] data", (8, 16), "float32", P("data")),
        ("float32[8,16] -,model", (8, 16), "float32", P(None, "model")),
        ("int8[8,16] data+model", (8, 16), "int8", P(("data", "model"))),
        ("bfloat16[8,16]", (8, 16), "bfloat16", P()),
        ("float32[]", (), "float32", P()),
        (" float32[ 8, 16 ]  data , - ", (8, 16), "float32", P("data")),
    ],
)
def test_words(
    words: str, shape: tuple[int, ...], dtype: str, spec: P
) -> None:
    array = parse_words(words, MESH)

    assert (shape, dtype) == (array.shape, array.dtype.name)
    assert array.sharding.is_equivalent_to(
        NamedSharding(MESH, spec), len(shape)
    )


def test_words_that_name_an_axis_twice() -> None:
    with pytest.raises(WordsError, match="names the axis 'data' twice"):
        parse_words("float32[8,16] data,data", MESH)
