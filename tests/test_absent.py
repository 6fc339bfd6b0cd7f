"""Meshes of TPUs and GPUs that are not there, and what is refused."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any

import jax
import pytest
from chips import MESHES, SHAPE, where_compilers_are
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P
from structs import said, struct

from shardlessons import (
    CompilerMissingError,
    _absent,
    gpu_mesh,
    read,
    tpu_mesh,
)

pytestmark = where_compilers_are


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
    reading = read(lambda a: a.sum(0), struct((512, 512), P("data"), mesh=mesh))

    assert kind == mesh.devices[0, 0].device_kind
    assert ["all-reduce over data: float32[512] -> float32[512]"] == said(
        reading
    )


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
