"""Collectives drawn: who sends to whom, as arrows between devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
from jax.sharding import Mesh

from shardlessons._draw import Drawing
from shardlessons._places import ids_text, mesh_lines, meshes_of
from shardlessons._svg import picture
from shardlessons._svg_arrows import arrows_block
from shardlessons._traffic import arrays_text

if TYPE_CHECKING:
    from shardlessons._collectives import Collective
    from shardlessons._reading import Reading

_TO_EACH = ("all-to-all", "ragged-all-to-all")
_MOST_DEVICES = 64


def draw_collectives(reading: Reading) -> Drawing:
    """Draw which devices send to which, over the mesh.

    The devices of a replica group stand in a ring, as in the model of
    `cost`: each sends to the next, the last to the first. In an all-to-all
    each sends to every other of its group; a collective-permute says itself
    who sends to whom. Collectives that send along the same arrows are drawn
    once.

    Args:
        reading: what `read` returned.

    Returns:
        A drawing; of a reading without collectives, the mesh alone.

    Raises:
        ValueError: no sharding of the call names a mesh of concrete devices
            that the collectives run on, or the mesh has more than 64.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw_collectives, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> draw_collectives(read(lambda a: a.sum(0), x))
    <lambda>(float32[8,16]@P('data', 'model'))
    all-reduce over data: float32[8]
    0 to 2 to 4 to 6 to 0; 1 to 3 to 5 to 7 to 1
    mesh data=4, model=2: devices 0-7, row by row
    """
    mesh = _mesh(reading)
    alike: dict[tuple[str, ...], list[Collective]] = {}
    for one in reading.collectives:
        alike.setdefault((one.kind, str(one.groups)), []).append(one)
    lines, blocks = [], []
    for same in alike.values():
        lines += [
            f"{one.kind} over {one.over}: {arrays_text(one)}" for one in same
        ]
        chains = list(_chains(same[0], mesh))
        lines.append(_sends(same[0], chains, mesh))
        caption = f"{same[0].kind} over {same[0].over}"
        blocks.append(arrows_block(mesh, chains, caption))
    if not blocks:
        lines.append("no collectives")
        blocks.append(arrows_block(mesh, [], "no collectives"))
    lines += mesh_lines([mesh])
    return Drawing(
        reading.call, tuple(lines), picture(blocks, reading.call, lines)
    )


def _mesh(reading: Reading) -> Mesh:
    sizes = {
        1 + max(map(max, filter(None, one.groups)), default=0)
        for one in reading.collectives
    }
    leaves = (*reading.inputs, *reading.outputs)
    meshes = meshes_of(leaf.sharding for leaf in leaves)
    fitting = [m for m in meshes if m.devices.size >= max(sizes, default=1)]
    if not fitting:
        raise ValueError(
            f"draw_collectives() was given {reading.call}, no sharding of "
            "which names a mesh that its collectives run on; give an input "
            "a NamedSharding on that mesh"
        )
    if fitting[0].devices.size > _MOST_DEVICES:
        raise ValueError(
            f"the mesh has {fitting[0].devices.size} devices, and can be "
            f"drawn with {_MOST_DEVICES}; read the call on a smaller one"
        )
    return fitting[0]


def _sends(
    one: Collective, chains: Sequence[tuple[int, ...]], mesh: Mesh
) -> str:
    ids = [device.id for device in mesh.devices.flat]
    if one.kind in _TO_EACH:
        groups = (sorted(ids[at] for at in group) for group in one.groups)
        return "; ".join(
            f"{ids_text(group)} each to the others" for group in groups
        )
    return "; ".join(
        " to ".join(str(ids[at]) for at in chain) for chain in chains
    ) or "nothing is sent"


def _chains(one: Collective, mesh: Mesh) -> Iterator[tuple[int, ...]]:
    """Positions of devices, each of which sends to the next."""
    for group in one.groups:
        if one.kind == "collective-permute" or len(group) < 2:
            if len(set(group)) > 1:
                yield group
        elif one.kind in _TO_EACH:
            yield from permutations(group, 2)
        else:
            ring = _snake(group, mesh)
            yield (*ring, ring[0])


def _snake(group: Sequence[int], mesh: Mesh) -> list[int]:
    """The group as a ring of neighbours, where it spans rows and columns."""
    shape = (1, 1, *mesh.devices.shape)
    columns: dict[tuple[int, ...], list[int]] = {}
    for at in sorted(group):
        *plane, _, column = map(int, np.unravel_index(at, shape))
        columns.setdefault((*plane, column), []).append(at)
    return [
        at
        for i, key in enumerate(sorted(columns))
        for at in columns[key][:: -1 if i % 2 else 1]
    ]
