"""Arrays that only have a sharding, and what a reading of them says is sent."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from shardlessons import Reading, cpu_mesh

MESH = cpu_mesh({"data": 4, "model": 2})


def struct(
    shape: tuple[int, ...], spec: P, dtype: Any = "float32", mesh: Mesh = MESH
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def said(reading: Reading) -> list[str]:
    """Each collective as a line, where all could be read."""
    assert () == reading.unread
    return sorted(map(str, reading.collectives))
