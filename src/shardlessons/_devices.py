"""CPU devices and meshes of them; `XLA_FLAGS` stay as they are."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import jax
import numpy as np
from jax.sharding import Mesh

from shardlessons._jax import (
    COUNT_FLAG,
    COUNT_OPTION,
    make_mesh,
    start_cpu,
    wanted_count,
)

_COUNT = 8


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
    if not shape:
        raise ValueError(
            "a mesh needs an axis, and the shape given is empty; give sizes "
            'by name, as in {"data": 4, "model": 2}'
        )
    for axis, size in shape.items():
        if not _is_positive(size):
            raise ValueError(
                f"axis {axis!r} was given the size {size!r}; a size is an "
                "int, 1 or more"
            )
    if isinstance(explicit, str):
        explicit = (explicit,)
    elif isinstance(explicit, bool):
        explicit = tuple(shape) if explicit else ()
    for axis in explicit:
        if axis not in shape:
            raise ValueError(
                f"explicit names the axis {axis!r}, which the mesh does not "
                f"have; its axes are {_listed(shape)}"
            )
    count = math.prod(shape.values())
    devices = _first(count, make=max(count, _COUNT))
    # Not jax.make_mesh: it may reorder devices to suit the hardware.
    return make_mesh(
        np.array(devices, dtype=object).reshape(tuple(shape.values())),
        tuple(shape),
        explicit,
    )


def _first(count: int, *, make: int) -> list[jax.Device]:
    if not _is_positive(count):
        raise ValueError(
            f"the number of devices was given as {count!r}; it is an int, 1 "
            "or more"
        )
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


def _is_positive(number: object) -> bool:
    return (
        isinstance(number, int)
        and not isinstance(number, bool)
        and number >= 1
    )


def _listed(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names)
