"""Shard shapes and bytes by hand: no device, no compiler, no array."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.sharding import AbstractMesh, Mesh, PartitionSpec

# XLA packs these; a 1-bit integer takes a whole byte, as a bool does.
_PACKED_BITS = {
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4_e2m1fn": 4,
}


class SpecError(ValueError):
    """A spec does not fit the shape or the mesh that it was given with."""


def shard_shape(
    shape: Sequence[int],
    spec: PartitionSpec,
    mesh: Mesh | AbstractMesh | Mapping[str, int],
) -> tuple[int, ...]:
    """The shape of the shard that each device holds.

    Args:
        shape: the shape of the whole array.
        spec: for each dimension the mesh axis, or axes, that cut it.
        mesh: a mesh, or just the size of each axis by its name.

    Returns:
        `shape`, each dimension divided by the product of its axes' sizes.

    Raises:
        SpecError: the spec has more entries than the array has dimensions,
            names an axis that the mesh does not have, names one twice, does
            not divide a dimension, or leaves one UNCONSTRAINED.

    >>> from jax.sharding import PartitionSpec as P
    >>> from shardlessons import cpu_mesh, shard_shape
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> shard_shape((512, 512), P("data", None), mesh)
    (128, 512)
    >>> shard_shape((512, 512), P(("data", "model")), {"data": 4, "model": 2})
    (64, 512)
    """
    sizes = mesh if isinstance(mesh, Mapping) else mesh.shape
    entries = tuple(spec)
    if len(entries) > len(shape):
        raise SpecError(
            f"{spec_text(spec)} has {len(entries)} entries and the shape "
            f"{tuple(shape)} has {len(shape)} dimensions; give at most one "
            "entry a dimension"
        )
    seen: set[str] = set()
    local = list(shape)
    for dimension, entry in enumerate(entries):
        if entry is PartitionSpec.UNCONSTRAINED:
            raise SpecError(
                f"{spec_text(spec)} leaves dimension {dimension} to the "
                "compiler, so its shard has no shape until the function is "
                "compiled; ask read(f, ...) for it"
            )
        axes = _axes(entry)
        for axis in axes:
            if axis not in sizes:
                names = ", ".join(repr(name) for name in sizes)
                raise SpecError(
                    f"{spec_text(spec)} names the axis {axis!r}, which the "
                    f"mesh does not have; its axes are {names}"
                )
            if axis in seen:
                raise SpecError(
                    f"{spec_text(spec)} names the axis {axis!r} twice; an "
                    "axis can cut one dimension, once"
                )
            seen.add(axis)
        parts = math.prod(sizes[axis] for axis in axes)
        size = shape[dimension]
        if size % parts:
            raise SpecError(_indivisible(dimension, size, axes, sizes, parts))
        local[dimension] = size // parts
    return tuple(local)


def bytes_per_device(
    shape: Sequence[int],
    dtype: Any,
    spec: PartitionSpec,
    mesh: Mesh | AbstractMesh | Mapping[str, int],
) -> int:
    """The bytes of the shard that each device holds.

    This follows the ``memory_analysis()`` of a program compiled for CPU. The
    2 and 4 bit types (int2, uint2, int4, uint4, float4_e2m1fn) are packed,
    and a shard is rounded up to whole bytes; every other type, bool among
    them, takes whole bytes for each element. A PRNG key takes the bytes of
    its uint32 words. A TPU pads, and may count more.

    Args:
        shape: the shape of the whole array.
        dtype: a NumPy or JAX dtype, such as ``jnp.bfloat16``, ``"int4"`` or
            ``jax.random.key(0).dtype``.
        spec: for each dimension the mesh axis, or axes, that cut it.
        mesh: a mesh, or just the size of each axis by its name.

    Returns:
        Bytes per device.

    Raises:
        SpecError: as for `shard_shape`.

    >>> import jax.numpy as jnp
    >>> from jax.sharding import PartitionSpec as P
    >>> from shardlessons import bytes_per_device, cpu_mesh
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> bytes_per_device((512, 512), jnp.float32, P("data", None), mesh)
    262144
    >>> bytes_per_device((512, 512), jnp.int4, P("data", None), mesh)
    32768
    """
    # ShapeDtypeStruct reads a dtype as JAX does, PRNG keys included.
    return nbytes(
        shard_shape(shape, spec, mesh), jax.ShapeDtypeStruct((), dtype).dtype
    )


def nbytes(shape: Sequence[int], dtype: Any) -> int:
    """The bytes of an unsharded array, by the rule of `bytes_per_device`."""
    if dtype == jax.dtypes.float0:
        bits = 8  # an integer's gradient: no size, compiled as bool
    else:
        bits = _PACKED_BITS.get(dtype.name, 8 * dtype.itemsize)
    return (math.prod(shape) * bits + 7) // 8


def spec_text(spec: PartitionSpec) -> str:
    """A spec as ``P('data', 'model')``, the repr of JAX from 0.9 on."""
    return repr(spec).replace("PartitionSpec(", "P(", 1)


def _axes(entry: Any) -> tuple[str, ...]:
    if entry is None:
        return ()
    return tuple(entry) if isinstance(entry, (tuple, list)) else (entry,)


def _indivisible(
    dimension: int,
    size: int,
    axes: tuple[str, ...],
    sizes: Mapping[str, int],
    parts: int,
) -> str:
    product = " x ".join(f"{axis!r} ({sizes[axis]})" for axis in axes)
    if len(axes) > 1:
        product += f" = {parts}"
    below, above = size // parts * parts, (size // parts + 1) * parts
    nearest = f"{below} and {above}" if below else f"{above}"
    return (
        f"dimension {dimension} has size {size}, which the mesh axes "
        f"{product} do not divide; the nearest sizes that they divide: "
        f"{nearest}"
    )
