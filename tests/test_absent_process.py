"""What asking for chips that are not there does to the process that asks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import nbformat
import pytest
from chips import where_compilers_are
from nbclient import NotebookClient

from shardlessons import (
    _absent,
)

pytestmark = where_compilers_are


# What a reader with neither chip has: no platform chosen, none forbidden.
OURS = ("JAX_", "XLA_", *_absent._LIBTPU)
PLAIN = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
PROGRAM = """
import jax
from jax.sharding import NamedSharding, PartitionSpec as P
from shardlessons import cpu_mesh, gpu_mesh, read, tpu_mesh

shape = {"data": 4, "model": 2}

def sent(mesh):
    spec = NamedSharding(mesh, P("data"))
    x = jax.ShapeDtypeStruct((512, 512), "float32", sharding=spec)
    [one] = read(lambda a: a.sum(0), x).collectives
    print(one)
"""
END = "print(jax.numpy.ones(2) + 1, jax.devices()[0].platform)\n"
ALL = f"""{PROGRAM}
sent(cpu_mesh(shape))
sent(tpu_mesh("v5e:2x4", shape))
sent(gpu_mesh("H100", shape))
{END}"""
GPU_FIRST = f"""{PROGRAM}
sent(gpu_mesh("H100", shape))
sent(tpu_mesh("v5e:2x4", shape))
{END}"""
REDUCED = "all-reduce over data: float32[512] -> float32[512]\n"


def start(code: str, *before: str, **variables: str) -> subprocess.Popen[str]:
    """A fresh interpreter, its standard streams as file descriptors."""
    return subprocess.Popen(
        [*before, sys.executable, "-W", "error", "-c", code],
        env={**PLAIN, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> str:
    """What a process prints, when it prints nothing else and succeeds."""
    out, error = process.communicate(timeout=300)

    assert "" == error
    assert 0 == process.returncode
    return out


def test_jax_that_started_without_its_plugin_is_told_what_to_set() -> None:
    # The reader asks for all platforms, and JAX leaves out CUDA, loudly.
    process = start(
        PROGRAM + "jax.numpy.ones(3); gpu_mesh('H100', shape)",
        JAX_PLATFORMS="",
    )
    _, error = process.communicate(timeout=120)

    assert 1 == process.returncode
    assert (
        "shardlessons._absent.CompilerMissingError: JAX started without its "
        "CUDA plugin in this process: its platforms are '', and it finds no "
        "CUDA to run on. Restart the process or kernel, and set "
        "JAX_PLATFORMS=cpu before it starts, or make this call before any "
        "jax operation"
    ) == error.strip().splitlines()[-1]


# --- The process that asks


def test_nothing_is_printed_and_no_variable_stays() -> None:
    code = (
        "import os, jax; before = dict(os.environ)\n"
        + ALL
        + "print(before == dict(os.environ), jax.config.jax_platforms)"
    )

    for variables in ({}, {"JAX_PLATFORMS": "cpu"}):
        assert REDUCED * 3 + "[2. 2.] cpu\nTrue cpu\n" == answer(
            start(code, **variables)
        )


def test_variables_of_the_reader_are_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TPU_LOG_DIR", "mine")
    with _absent._libtpu_environment():
        inside = {name: os.environ.get(name) for name in _absent._LIBTPU}

    assert {**_absent._LIBTPU, "TPU_LOG_DIR": "mine"} == inside
    assert "mine" == os.environ["TPU_LOG_DIR"]
    assert "TPU_ACCELERATOR_TYPE" not in os.environ


def test_libtpu_is_left_to_find_a_real_tpu() -> None:
    before = jax.config.jax_platforms
    # What JAX makes of it where it finds a TPU.
    jax.config.update("jax_platforms", "tpu,cpu")
    try:
        with _absent._libtpu_environment():
            assert set() == _absent._LIBTPU.keys() & os.environ.keys()
    finally:
        jax.config.update("jax_platforms", before)


def test_a_notebook_shows_what_it_prints_alone() -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(ALL)]
    )
    client = NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(env=PLAIN)

    outputs = notebook.cells[0].outputs
    assert {"stdout"} == {output.name for output in outputs}
    assert REDUCED * 3 + "[2. 2.] cpu\n" == "".join(
        output.text for output in outputs
    )


def test_three_processes_at_once() -> None:
    code = f"{PROGRAM}sent(tpu_mesh('v5e:2x4', shape)); {END}"
    processes = [start(code) for _ in range(3)]

    assert [REDUCED + "[2. 2.] cpu\n"] * 3 == [
        answer(process) for process in processes
    ]


def test_no_network_is_needed() -> None:
    cut = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.call([*cut, "true"]):
        pytest.skip("this machine lets no one cut off the network")

    assert REDUCED * 2 + "[2. 2.] cpu\n" == answer(start(GPU_FIRST, *cut))


# --- Thousands of chips

STEP = """
import json, resource, sys
sys.path.insert(0, EXAMPLES)
import transformer as t
from shardlessons import read, tpu_mesh

mesh = tpu_mesh("v5p:16x16x16", {"data": 256, "model": 16})
step = t.jit_step(t.FSDP, mesh)
sizes = {"batch": 512, "width": 256, "hidden": 1024}
reading = read(step, *t.arguments(t.FSDP, mesh, **sizes))
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "devices": mesh.size,
    "unread": len(reading.unread),
    "over": sorted({one.over for one in reading.collectives}),
    "seconds": used.ru_utime + used.ru_stime,
    "GB": used.ru_maxrss * 1024 / 1e9,
}))
"""


def test_a_training_step_on_4096_chips() -> None:
    examples = Path(__file__).parent.parent / "docs" / "examples"
    found = json.loads(answer(start(f"EXAMPLES = {str(examples)!r}\n{STEP}")))

    assert (4096, 0, ["data"]) == (
        found["devices"],
        found["unread"],
        found["over"],
    )
    # Of the processor, which other work on the machine does not lengthen.
    assert found["seconds"] < 60
    assert found["GB"] < 2


@pytest.mark.parametrize(
    ("change", "variables", "platforms"),
    [
        ("", {}, "cpu"),
        # What is chosen stands.
        ("", {"JAX_PLATFORMS": ""}, ""),
        ("", {"JAX_PLATFORMS": "cpu,tpu"}, "cpu,tpu"),
        # JAX may find a GPU, or the chip of another plugin.
        ("d._NVIDIA = ('/dev/null',)", {}, None),
        ("d._CUDA_PLUGINS = set()", {}, None),
        # No compiler is installed that JAX would try.
        ("d.entry_points = lambda group: []; d.find_spec = id", {}, "cpu"),
        (
            "d.entry_points = lambda group: []; "
            "d.find_spec = lambda name: None",
            {},
            None,
        ),
    ],
)
def test_jax_is_kept_to_the_cpu_where_it_would_end_there(
    change: str, variables: dict[str, str], platforms: str | None
) -> None:
    code = (
        f"import jax, shardlessons._devices as d; {change}\n"
        "d.settle_on_cpu(); print(repr(jax.config.jax_platforms))"
    )
    environment = dict(os.environ)
    environment.pop("JAX_PLATFORMS", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ("", repr(platforms)) == (done.stderr, done.stdout.strip())
