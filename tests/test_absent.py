"""Meshes of TPUs and GPUs that are not there, and what is read on them."""

from __future__ import annotations

import functools
import json
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import nbformat
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from nbclient import NotebookClient
from pairs import LINES, pair

from shardlessons import (
    TPU_V5E_ICI,
    CompilerMissingError,
    Reading,
    _absent,
    cost,
    cpu_mesh,
    gpu_mesh,
    read,
    tpu_mesh,
    traffic,
)

pytestmark = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the compilers are published for Linux on x86_64 alone",
)

SHAPE = {"data": 4, "model": 2}
MESHES: dict[str, Callable[[], Mesh]] = {
    "v5e": functools.cache(lambda: tpu_mesh("v5e:2x4", SHAPE)),
    "H100": functools.cache(lambda: gpu_mesh("H100", SHAPE)),
}
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


def struct(
    mesh: Mesh, shape: tuple[int, ...], spec: P, dtype: Any = "float32"
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def said(reading: Reading) -> list[str]:
    assert () == reading.unread
    return sorted(map(str, reading.collectives))


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


# --- The devices of a mesh


@pytest.mark.parametrize(
    ("topology", "count", "kind"),
    [
        ("v5e:2x4", 8, "TPU v5 lite"),
        ("v5e:16x16", 256, "TPU v5 lite"),
        ("v6e:2x4", 8, "TPU v6 lite"),
        ("v5p:2x2x1", 4, "TPU v5"),
        ("v5p:16x16x16", 4096, "TPU v5"),
        # Two devices a chip.
        ("v4:2x2x1", 8, "TPU v4"),
        ("tpu7x:2x2x1", 8, "TPU7x"),
    ],
)
def test_a_topology_is_a_mesh_of_its_devices(
    topology: str, count: int, kind: str
) -> None:
    mesh = tpu_mesh(topology, {"all": count})

    assert list(range(count)) == [one.id for one in mesh.devices]
    assert {kind} == {one.device_kind for one in mesh.devices}


def test_devices_are_row_by_row() -> None:
    for mesh in (MESHES["v5e"](), MESHES["H100"]()):
        ids = [[one.id for one in row] for row in mesh.devices]

        assert [[0, 1], [2, 3], [4, 5], [6, 7]] == ids
        assert SHAPE == dict(mesh.shape)


def test_the_first_axis_crosses_slices() -> None:
    mesh = tpu_mesh("v5e:4x4", {"slice": 3, "model": 16}, slices=3)

    assert [[0] * 16, [1] * 16, [2] * 16] == [
        [one.slice_index for one in row] for row in mesh.devices
    ]
    for row in mesh.devices:
        assert list(range(16)) == [one.id - row[0].id for one in row]


def test_gpus_are_split_over_hosts() -> None:
    mesh = gpu_mesh("B200", {"host": 2, "model": 4}, hosts=2)

    assert [[0] * 4, [1] * 4] == [
        [one.process_index for one in row] for row in mesh.devices
    ]
    assert {"NVIDIA B200"} == {one.device_kind for one in mesh.devices.flat}


@pytest.mark.parametrize(
    ("chip", "kind"),
    [
        ("A100", "NVIDIA A100-SXM4-80GB"),
        ("H100", "NVIDIA H100 80GB HBM3"),
        ("B200", "NVIDIA B200"),
    ],
)
def test_each_gpu_compiles(chip: str, kind: str) -> None:
    mesh = gpu_mesh(chip, SHAPE)
    reading = read(lambda a: a.sum(0), struct(mesh, (512, 512), P("data")))

    assert kind == mesh.devices[0, 0].device_kind
    assert [REDUCED.strip()] == said(reading)


def test_axes_are_auto_unless_named() -> None:
    auto, explicit = AxisType.Auto, AxisType.Explicit

    for make in (
        functools.partial(tpu_mesh, "v5e:2x4", SHAPE),
        functools.partial(gpu_mesh, "H100", SHAPE),
    ):
        assert (auto, auto) == make().axis_types
        assert (explicit, explicit) == make(explicit=True).axis_types
        assert (auto, explicit) == make(explicit=["model"]).axis_types


# --- What is refused


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: tpu_mesh("v5e:2x4", {"data": 4}),
            "the shape {'data': 4} has 4 devices, and v5e:2x4 has 8; give "
            "sizes whose product is 8",
        ),
        (
            lambda: tpu_mesh("v5e:16x16", {"data": 4}, slices=16),
            "the shape {'data': 4} has 4 devices, and 16 slices of v5e:16x16 "
            "have 4,096; give sizes whose product is 4,096",
        ),
        (
            lambda: tpu_mesh("tpu7x:2x2x1", {"data": 4}),
            "the shape {'data': 4} has 4 devices, and tpu7x:2x2x1 has 8; "
            "give sizes whose product is 8",
        ),
        (
            lambda: tpu_mesh("v5e:2x4", {"data": 8}, slices=0),
            "slices was given as 0; it is an int, 1 or more",
        ),
        (
            lambda: gpu_mesh("H100", {"data": 8}, hosts=True),
            "hosts was given as True; it is an int, 1 or more",
        ),
        (
            lambda: gpu_mesh("H100", {"data": 8}, hosts=3),
            "the shape {'data': 8} has 8 devices, which 3 hosts do not "
            "divide evenly",
        ),
        (
            lambda: gpu_mesh("h100", {"data": 8}),
            "the chip was given as 'h100'; those described are 'A100', "
            "'H100', 'B200'",
        ),
        (
            lambda: tpu_mesh("v5e:2x4", {}),
            "a mesh needs an axis, and the shape given is empty; give sizes "
            'by name, as in {"data": 4, "model": 2}',
        ),
        (
            lambda: gpu_mesh("H100", {"data": 8}, explicit="model"),
            "explicit names the axis 'model', which the mesh does not have; "
            "its axes are 'data'",
        ),
    ],
)
def test_what_does_not_fit(ask: Callable[[], Mesh], message: str) -> None:
    with pytest.raises(ValueError) as error:
        ask()

    assert message == str(error.value)


@pytest.mark.parametrize(
    ("topology", "cause"),
    [
        ("v7x:2x2x1", "Invalid TPU external name"),
        ("v5e:3x3", "is not divisible by"),
        ("v5e-8", None),
        # libtpu takes the one for v2, and ends the process at the other.
        ("", None),
        ("v5e:0x4", None),
        (None, None),
    ],
)
def test_an_unknown_topology_is_named_with_some_that_work(
    topology: Any, cause: str | None
) -> None:
    with pytest.raises(ValueError) as error:
        tpu_mesh(topology, {"data": 8})

    assert (
        f"the topology was given as {topology!r}, which libtpu does not "
        'know; it is a kind of chip and their grid, as "v5e:2x4", '
        '"v6e:16x16", "v4:2x2x1", "v5p:8x8x8", "tpu7x:4x4x4"'
    ) == str(error.value)
    assert (cause is None) == (error.value.__cause__ is None)
    assert (cause or "") in str(error.value.__cause__ or "")


@pytest.mark.parametrize(
    ("topology", "count"),
    [("v6e:16x16", 256), ("v5p:8x8x8", 512), ("tpu7x:4x4x4", 128)],
)
def test_the_topologies_that_the_message_names_work(
    topology: str, count: int
) -> None:
    assert f'"{topology}"' in _absent._EXAMPLES
    assert count == tpu_mesh(topology, {"all": count}).size


def test_the_error_is_a_runtime_error() -> None:
    assert issubclass(CompilerMissingError, RuntimeError)


@pytest.mark.parametrize(
    ("make", "wheel", "extra"),
    [
        (lambda: tpu_mesh("v5e:2x4", SHAPE), "libtpu", "tpu"),
        (lambda: gpu_mesh("H100", SHAPE), "jax-cuda13-plugin", "gpu"),
        (lambda: gpu_mesh("H100", SHAPE), "jax-cuda13-pjrt", "gpu"),
    ],
)
def test_wheels_that_are_missing_or_of_another_release(
    make: Callable[[], Mesh],
    wheel: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = metadata.version

    def missing(name: str) -> str:
        if name == wheel:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(CompilerMissingError) as error:
        make()

    assert (
        f"the compiler is in {wheel}, which is not installed: pip install "
        f'"shardlessons[{extra}]"'
    ) == str(error.value)

    monkeypatch.setattr(
        metadata, "version", lambda n: "0.0.1" if n == wheel else version(n)
    )
    with pytest.raises(CompilerMissingError) as error:
        make()

    wanted = _absent._wanted(wheel)
    assert version(wheel).startswith(wanted.rstrip("."))
    assert (
        f"{wheel} 0.0.1 is installed, and jax {jax.__version__} needs "
        f'{wanted}*: pip install "shardlessons[{extra}]"'
    ) == str(error.value)


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("linux", "aarch64")]
)
def test_another_platform_is_told_so(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    for make in (
        functools.partial(tpu_mesh, "v5e:2x4"),
        functools.partial(gpu_mesh, "H100"),
    ):
        with pytest.raises(CompilerMissingError) as error:
            make(SHAPE)

        assert (
            "the compiler is published for Linux on x86_64 alone, and this "
            f"is {platform.system()} on {machine}"
        ) == str(error.value)


def test_libtpu_that_does_not_start_is_named_with_its_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = jax.errors.JaxRuntimeError("ABORTED: libtpu multi-process lockfile")

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise said

    monkeypatch.setattr(_absent, "get_topology_desc", refuse)
    with pytest.raises(CompilerMissingError) as error:
        tpu_mesh("v5e:2x4", SHAPE)

    assert (
        "libtpu does not start in the environment of this process; restart "
        "the process or kernel with these set: ALLOW_MULTIPLE_LIBTPU_LOAD=1 "
        "TPU_ACCELERATOR_TYPE=v5litepod-8 TPU_WORKER_HOSTNAMES=localhost "
        "TPU_LOG_DIR=disabled"
    ) == str(error.value)
    assert said is error.value.__cause__


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


# --- The 49 pairs


@pytest.mark.parametrize("line", LINES)
def test_the_49_pairs_on_tpu(line: str) -> None:
    # A matmul takes its operands in bfloat16, so they are sent so; what is
    # added up is in float32.
    _the_pair(
        MESHES["v5e"](),
        line,
        lambda one: one
        if one.startswith("all-reduce")
        else one.replace("float32", "bfloat16"),
    )


@pytest.mark.parametrize("line", LINES)
def test_the_49_pairs_on_h100(line: str) -> None:
    _the_pair(MESHES["H100"](), line, lambda one: one)


def _the_pair(mesh: Mesh, line: str, seen: Callable[[str], str]) -> None:
    lhs, rhs, out, argument, output, collectives = pair(line)
    reading = read(
        lambda a, b: a @ b,
        struct(mesh, (512, 512), lhs),
        struct(mesh, (512, 512), rhs),
    )

    sharding = NamedSharding(mesh, out)
    assert reading.outputs[0].sharding.is_equivalent_to(sharding, 2)
    assert argument * 1024 == reading.bytes.argument
    assert output * 1024 == reading.bytes.output
    assert () == reading.unread
    # Where two go over the same axis, the compiler for GPU may send both as
    # one, which has the operands and results of the two.
    apart = [
        f"{one.kind} over {one.over}: {before} -> {after}".replace(
            "data x model", "pairs"
        )
        for one in reading.collectives
        for before, after in zip(one.operands, one.results, strict=True)
    ]
    assert sorted(map(seen, collectives)) == sorted(apart)
    assert all(1 == one.times for one in reading.collectives)


# --- What is read, worked out by hand


def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
    return jnp.tanh(x @ w), None


def layers(ws: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.scan(layer, x, ws)[0]


def test_a_matmul_of_full_precision_sends_float32() -> None:
    def f(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.matmul(a, b, precision="highest")

    x = struct(MESHES["v5e"](), (512, 512), P("data"))
    (half,) = read(jnp.matmul, x, x).collectives
    (whole,) = read(f, x, x).collectives

    # A device puts in its 128 of the 512 rows.
    assert 128 * 512 * 2 == half.operand_bytes
    assert 128 * 512 * 4 == whole.operand_bytes


@pytest.mark.parametrize("chip", MESHES)
def test_bfloat16_is_sent_as_it_is(chip: str) -> None:
    def sent(mesh: Mesh) -> list[str]:
        return said(
            read(
                jnp.matmul,
                struct(mesh, (512, 512), P(None, "model"), "bfloat16"),
                struct(mesh, (512, 512), P("model"), "bfloat16"),
            )
        )

    whole = "all-reduce over model: {0}[512,512] -> {0}[512,512]"
    assert [whole.format("bfloat16")] == sent(MESHES[chip]())
    # The compiler for CPU has no bfloat16 to add up in.
    assert [whole.format("float32")] == sent(cpu_mesh(SHAPE))


@pytest.mark.parametrize(("chip", "times"), [("v5e", None), ("H100", 3)])
def test_a_sum_that_is_scattered(chip: str, times: int | None) -> None:
    mesh = MESHES[chip]()
    (one,) = read(
        layers,
        struct(mesh, (3, 512, 512), P(None, "model")),
        struct(mesh, (64, 512), P("data")),
    ).collectives

    # A device multiplies half of the columns of its 16 rows with half of the
    # rows of w, and keeps half of the sum, for the layer after.
    assert (
        "reduce-scatter over model: float32[16,512] -> float32[16,256]"
        == str(one)
    )
    assert 16 * 512 * 4 == one.operand_bytes == 2 * one.result_bytes
    assert times == one.times
    assert "layer" == one.source.function
    # On TPU it stands as an all-reduce, in a fusion that keeps a part.
    assert (chip == "v5e") == ("all-reduce" in one.text)


def test_a_collective_that_the_compiler_clones_counts_once() -> None:
    mesh = MESHES["v5e"]()
    args = (
        struct(mesh, (3, 512, 512), P(None, "data")),
        struct(mesh, (512, 512), P("data")),
    )
    compiled = (
        jax.jit(jax.grad(lambda ws, x: layers(ws, x).sum()))
        .lower(*args)
        .compile()
    )

    # A layer's weights are gathered on the way there and on the way back.
    gathered = "bfloat16[1,128,512] -> bfloat16[1,512,512]"
    assert [
        f"all-gather over data: {gathered}",
        f"all-gather over data: {gathered}",
        "all-reduce over data: float32[1,512,512] -> float32[1,512,512]",
    ] == said(read(compiled))
    assert 2 < compiled.as_text().count(" all-gather(")


def test_gradients_on_gpu() -> None:
    mesh = MESHES["H100"]()
    reading = read(
        jax.grad(lambda ws, x: layers(ws, x).sum()),
        struct(mesh, (3, 512, 512), P(None, "data")),
        struct(mesh, (512, 512), P("data")),
    )

    gathered = "all-gather over data: float32[128,512] -> float32[512,512]"
    assert [
        gathered,
        gathered,
        "all-reduce over data: float32[512,512] -> float32[512,512]",
    ] == said(reading)
    assert {3} == {one.times for one in reading.collectives}
    # Its start and its end count as one.
    by_kind = {one.kind: one for one in reading.collectives}
    assert "all-reduce-start(" in by_kind["all-reduce"].text
    assert by_kind["all-reduce"].asynchronous


def five(x: jax.Array) -> tuple[jax.Array, ...]:
    ring = [(i, (i + 1) % 4) for i in range(4)]
    return (
        jax.lax.psum(x, "data"),
        jax.lax.psum_scatter(x, "model", tiled=True),
        jax.lax.all_gather(x, ("data", "model"), tiled=True),
        jax.lax.all_to_all(x, "data", 0, 1, tiled=True),
        jax.lax.ppermute(x, "data", ring),
    )


@pytest.mark.parametrize("chip", MESHES)
def test_shard_map(chip: str) -> None:
    mesh = MESHES[chip]()
    mapped = jax.shard_map(
        five,
        mesh=mesh,
        in_specs=P("data", "model"),
        out_specs=(
            P(None, "model"),
            P(("data", "model")),
            P(),
            P(None, ("model", "data")),
            P("data", "model"),
        ),
        check_vma=False,
    )
    reading = read(mapped, struct(mesh, (64, 32), P("data", "model")))

    # Each device has (16, 16). A sum this small is cheaper for a TPU to send
    # whole than to scatter; what it exchanges it shows in four parts.
    block = "float32[16,16]"
    parts, summed, kept = {
        "H100": (block, "reduce-scatter", "float32[8,16]"),
        "v5e": ("float32[4,4,16]", "all-reduce", block),
    }[chip]
    assert sorted(
        [
            f"all-gather over data x model: {block} -> float32[128,16]",
            f"all-reduce over data: {block} -> {block}",
            f"all-to-all over data: {parts} -> {parts}",
            f"collective-permute over data: {block} -> {block}",
            f"{summed} over model: {block} -> {kept}",
        ]
    ) == said(reading)
    asynchronous = {
        "H100": {"all-gather", "reduce-scatter"},
        "v5e": {"collective-permute"},
    }[chip]
    assert asynchronous == {
        one.kind for one in reading.collectives if one.asynchronous
    }


@pytest.mark.parametrize("chip", MESHES)
def test_source_lines(chip: str) -> None:
    def f(a: jax.Array) -> jax.Array:
        b = a * 2
        return b.sum(0)

    (one,) = read(f, struct(MESHES[chip](), (512, 512), P("data"))).collectives

    assert Path(__file__) == Path(one.source.file)
    assert f.__code__.co_firstlineno + 2 == one.source.line
    assert not one.inferred


def test_a_tpu_holds_whole_tiles() -> None:
    double = {
        chip: read(
            lambda a: a * 2, struct(mesh(), (8, 16), P("data", "model"))
        )
        for chip, mesh in MESHES.items()
    }

    # By hand (2, 8) float32; the smallest tile here is of (2, 128).
    assert 2 * 8 * 4 == double["H100"].bytes.argument
    assert 2 * 128 * 4 == double["v5e"].bytes.argument
    assert 2 * 8 * 4 == double["v5e"].inputs[0].bytes


def test_the_cost_on_a_tpu() -> None:
    x = struct(MESHES["v5e"](), (512, 512), P("data"))
    reading = read(lambda a: a.sum(0), x)
    sent = traffic(reading)

    # 3/4 of the 512 numbers, twice, as around a ring of 4.
    assert 2 * 3 * 512 * 4 // 4 == cost(reading.collectives[0]).each
    assert {"data": 3072} == sent.by_axis
    assert math.isclose(
        3072 / TPU_V5E_ICI.one_way,
        sent.seconds({"data": TPU_V5E_ICI.one_way}),
    )


# --- Several slices


def mapped(
    mesh: Mesh, f: Callable[[jax.Array], jax.Array], spec: P, out: P
) -> Reading:
    return read(
        jax.shard_map(
            f, mesh=mesh, in_specs=spec, out_specs=out, check_vma=False
        ),
        struct(mesh, (512, 512), spec),
    )


def test_what_crosses_slices_is_read() -> None:
    mesh = tpu_mesh("v5e:2x2", {"slice": 2, "model": 4}, slices=2)
    spec = P("slice", "model")
    ways: list[tuple[Callable[[jax.Array], jax.Array], P, str, int, int]] = [
        (
            lambda a: jax.lax.psum(a, "slice"),
            P(None, "model"),
            "all-reduce",
            1,
            1,
        ),
        (
            lambda a: jax.lax.psum_scatter(a, "slice", tiled=True),
            spec,
            "reduce-scatter",
            2,
            1,
        ),
        (
            lambda a: jax.lax.all_gather(a, "slice", tiled=True),
            P(None, "model"),
            "all-gather",
            1,
            2,
        ),
        (
            lambda a: jax.lax.all_to_all(a, "slice", 0, 1, tiled=True),
            spec,
            "all-to-all",
            1,
            1,
        ),
    ]
    for f, out, kind, given, got in ways:
        reading = mapped(mesh, f, spec, out)
        (one,) = reading.collectives

        assert () == reading.unread
        assert (kind, ("slice",)) == (one.kind, one.axes)
        assert ((0, 4), (1, 5), (2, 6), (3, 7)) == one.groups
        # A device has (256, 128) float32.
        assert 256 * 128 * 4 == one.operand_bytes
        assert one.operand_bytes * got == one.result_bytes * given
        assert one.asynchronous


def test_a_permute_within_and_between_slices() -> None:
    mesh = tpu_mesh("v5e:2x2", {"data": 8}, slices=2)
    ring = [(i, (i + 1) % 8) for i in range(8)]
    reading = mapped(
        mesh, lambda a: jax.lax.ppermute(a, "data", ring), P("data"), P("data")
    )

    pairs = [set(one.groups) for one in reading.collectives]
    assert [
        "collective-permute over data: float32[64,512] -> float32[64,512]"
    ] * 2 == said(reading)
    assert {(3, 4), (7, 0)} in pairs
    assert set(ring) - {(3, 4), (7, 0)} in pairs


def test_an_axis_that_crosses_slices_in_part() -> None:
    mesh = tpu_mesh("v5e:2x2", {"data": 4, "model": 2}, slices=2)
    reading = mapped(
        mesh,
        lambda a: jax.lax.psum(a, "data"),
        P("data", "model"),
        P(None, "model"),
    )

    # Of 4 positions on data two are in a slice: those add up and share, then
    # the slices add up, then each gathers in its own.
    whole, half = "float32[128,256]", "float32[64,256]"
    blocks = "float32[16,8,128]"  # of as many numbers as half
    assert [
        f"all-gather over data (2 of 4): {half} -> {whole}",
        f"all-reduce over data (2 of 4): {blocks} -> {blocks}",
        f"reduce-scatter over data (2 of 4): {whole} -> {half}",
    ] == said(reading)
    within = ((0, 2), (1, 3), (4, 6), (5, 7))
    between = ((0, 4), (1, 5), (2, 6), (3, 7))
    assert {
        "all-gather": within,
        "all-reduce": between,
        "reduce-scatter": within,
    } == {one.kind: one.groups for one in reading.collectives}


def test_slices_that_are_not_the_first_axis() -> None:
    devices = tpu_mesh("v5e:2x2", {"s": 2, "m": 4}, slices=2).devices
    mesh = Mesh(
        devices.T.copy(), ("m", "s"), axis_types=(AxisType.Auto, AxisType.Auto)
    )
    between = mapped(
        mesh, lambda a: jax.lax.psum(a, "s"), P("s", "m"), P(None, "m")
    )
    within = mapped(mesh, lambda a: jax.lax.psum(a, "m"), P("s", "m"), P("s"))

    assert [("s",)] == [one.axes for one in between.collectives]
    assert [("m",)] == [one.axes for one in within.collectives]
    assert ((0, 2, 4, 6), (1, 3, 5, 7)) == within.collectives[0].groups


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
