"""What tests of readings share: arrays that only have a sharding, a call, lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from releases import shard_map

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


def five_kinds(mesh: Mesh) -> Callable[[jax.Array], Any]:
    """A function of an array under P("data", "model"): a collective of each kind."""

    def f(x: jax.Array) -> tuple[jax.Array, ...]:
        ring = [(i, (i + 1) % 4) for i in range(4)]
        return (
            jax.lax.psum(x, "data"),
            jax.lax.psum_scatter(x, "model", tiled=True),
            jax.lax.all_gather(x, ("data", "model"), tiled=True),
            jax.lax.all_to_all(x, "data", 0, 1, tiled=True),
            jax.lax.ppermute(x, "data", ring),
        )

    return shard_map(
        f,
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


def rows_of(report: str, first: str, last: str) -> list[str]:
    """The lines of a report between two."""
    lines = report.splitlines()
    return lines[lines.index(first) + 1 : lines.index(last)]
