"""CPU devices and meshes of them; `XLA_FLAGS` stay as they are."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec

import jax
from jax.sharding import Mesh

from shardlessons._jax import (
    COUNT_FLAG,
    COUNT_OPTION,
    start_cpu,
    wanted_count,
)
from shardlessons._mesh import explicit_axes, is_positive, row_by_row

_COUNT = 8

_CUDA_PLUGINS = {"jax_plugins.xla_cuda12", "jax_plugins.xla_cuda13"}
# Where one of these is, JAX starts CUDA.
_NVIDIA = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")


class DevicesError(RuntimeError):
    """JAX's CPU backend has fewer devices than were asked for."""


def cpu_devices(count: int = _COUNT) -> list[jax.Device]:
    """The first `count` CPU devices, made now if nothing has made any yet.

    JAX fixes the number of its CPU devices when its first operation runs.
    Before that, this sets ``jax_num_cpu_devices``; a number that the reader
    has set, there or by ``XLA_FLAGS``, is left as it is. Before jax 0.5,
    which has no such option, ``XLA_FLAGS`` say the number while the backend
    starts, and are put back.

    Args:
        count: how many devices to return, 1 or more.

    Returns:
        `count` devices, in the order of their ids.

    Raises:
        ValueError: `count` is not a positive int.
        DevicesError: the CPU backend has fewer than `count` devices.

    >>> from shardlessons import cpu_devices
    >>> [device.id for device in cpu_devices()]
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    return _first(count, make=count)


def cpu_mesh(
    shape: Mapping[str, int], *, explicit: bool | Collection[str] = False
) -> Mesh:
    """A mesh of CPU devices, in the order of their ids, row by row.

    Where nothing has made CPU devices yet, at least eight are made, so that
    a small mesh does not stand in the way of a larger one later.

    Args:
        shape: the size of each axis by its name, as in
            ``{"data": 4, "model": 2}``.
        explicit: which axes are Explicit: none (the default; all axes are
            Auto), all (``True``), or those named.

    Returns:
        A mesh of ``math.prod(shape.values())`` devices.

    Raises:
        ValueError: no axis, a size that is not a positive int, or a name in
            `explicit` that is not an axis.
        DevicesError: the CPU backend has too few devices.
        NotImplementedError: an axis is to be Explicit, before jax 0.5.3.

    >>> from shardlessons import cpu_mesh
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> [[device.id for device in row] for row in mesh.devices]
    [[0, 1], [2, 3], [4, 5], [6, 7]]
    >>> [kind.name for kind in mesh.axis_types]
    ['Auto', 'Auto']
    >>> mesh = cpu_mesh({"data": 4, "model": 2}, explicit=["model"])
    >>> [kind.name for kind in mesh.axis_types]
    ['Auto', 'Explicit']
    """
    named = explicit_axes(shape, explicit)
    count = math.prod(shape.values())
    devices = _first(count, make=max(count, _COUNT))
    return row_by_row(devices, shape, named)


def settle_on_cpu() -> None:
    """Have JAX start on the CPU alone, where it would end there anyway.

    Unless its platforms are chosen, JAX tries each compiler that is
    installed for the chip of its own. Where there is none this takes a
    second, and prints a traceback for CUDA's. A choice stands: the reader's,
    and that of JAX, which chooses "tpu,cpu" where it finds a TPU.
    """
    if jax.config.jax_platforms is not None:
        return
    plugins = {one.value for one in entry_points(group="jax_plugins")}
    if not plugins and find_spec("libtpu") is None:
        return
    if plugins <= _CUDA_PLUGINS and not any(map(os.path.exists, _NVIDIA)):
        jax.config.update("jax_platforms", "cpu")


def _first(count: int, *, make: int) -> list[jax.Device]:
    if not is_positive(count):
        raise ValueError(
            f"the number of devices was given as {count!r}; it is an int, 1 "
            "or more"
        )
    settle_on_cpu()
    wanted = wanted_count()
    if wanted is None:
        start_cpu(make)
    devices = jax.devices("cpu")
    if len(devices) >= count:
        return devices[:count]
    if wanted is None:
        found = "it started before this call"
        remedy = "make this call before any jax operation"
    elif wanted[0] == COUNT_OPTION:
        found, remedy = f"{COUNT_OPTION} is {wanted[1]}", f"set it to {count}"
    else:
        found = f"XLA_FLAGS has {COUNT_FLAG}={wanted[1]}"
        remedy = f"change it to {COUNT_FLAG}={count}, or remove it"
    raise DevicesError(
        f"{count} CPU devices were asked for, and JAX's CPU backend has "
        f"{len(devices)}: {found}. The number cannot change once the backend "
        f"has started: restart the process or kernel and {remedy}."
    )
