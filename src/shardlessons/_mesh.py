"""A mesh of given devices, and the checks of what it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import jax
import numpy as np
from jax.sharding import Mesh

from shardlessons._jax import make_mesh


def explicit_axes(
    shape: Mapping[str, int], explicit: bool | Collection[str]
) -> tuple[str, ...]:
    """The Explicit axes by name, of a shape that a mesh can have.

    Raises:
        ValueError: no axis, a size that is not a positive int, or a name in
            `explicit` that is not an axis.
    """
    if not shape:
        raise ValueError(
            "a mesh needs an axis, and the shape given is empty; give sizes "
            'by name, as in {"data": 4, "model": 2}'
        )
    for axis, size in shape.items():
        if not is_positive(size):
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
                f"have; its axes are {listed(shape)}"
            )
    return tuple(explicit)


def row_by_row(
    devices: Sequence[jax.Device],
    shape: Mapping[str, int],
    explicit: tuple[str, ...],
) -> Mesh:
    """The devices in their order, the last axis the fastest to change."""
    # Not jax.make_mesh: it may reorder devices to suit the hardware.
    return make_mesh(
        np.array(devices, dtype=object).reshape(tuple(shape.values())),
        tuple(shape),
        explicit,
    )


def is_positive(number: object) -> bool:
    return (
        isinstance(number, int)
        and not isinstance(number, bool)
        and number >= 1
    )


def listed(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names)
