"""One array of a call, and how it lies on the devices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jax.sharding import (
    AbstractMesh,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
)

from shardlessons._arithmetic import nbytes


@dataclass(frozen=True)
class Leaf:
    """One array among a call's inputs or outputs.

    Attributes:
        path: where it stands, as ``params['w']`` or ``result[0]``.
        shape: the shape of the whole array.
        dtype: its dtype.
        sharding: how it lies on the devices; None for an input that the
            function does not use, which the compiler drops.
    """

    path: str
    shape: tuple[int, ...]
    dtype: Any
    sharding: Sharding | None

    @property
    def spec(self) -> PartitionSpec | None:
        """The spec of a NamedSharding; None for any other sharding."""
        if isinstance(self.sharding, NamedSharding):
            return self.sharding.spec
        return None

    @property
    def bytes(self) -> int | None:
        """Bytes per device, by hand; None for an input that is dropped."""
        if self.sharding is None:
            return None
        return nbytes(self.sharding.shard_shape(self.shape), self.dtype)


def meshes_of(leaves: Iterable[Leaf]) -> tuple[Mesh | AbstractMesh, ...]:
    """The meshes that the leaves' shardings name, each once."""
    return tuple(
        dict.fromkeys(
            leaf.sharding.mesh
            for leaf in leaves
            if isinstance(leaf.sharding, NamedSharding)
        )
    )


def spec_or_sharding(leaf: Leaf) -> PartitionSpec | Sharding | None:
    """The leaf's spec, or what stands in its place."""
    return leaf.sharding if leaf.spec is None else leaf.spec
