"""A call drawn: its arrays before and after, beside the mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shardlessons._draw import Drawing
from shardlessons._places import (
    mesh_lines,
    meshes_of,
    place_lines,
    title_text,
)
from shardlessons._report import sharding_text
from shardlessons._svg import Block, arrow_block, picture
from shardlessons._svg_array import array_blocks
from shardlessons._svg_mesh import mesh_blocks
from shardlessons._tiles import tiles_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shardlessons._leaf import Leaf
    from shardlessons._reading import Reading

_MOST_ARRAYS = 6
_MOST_TILES = 64
_SIDE = 120


def draw_call(reading: Reading) -> Drawing:
    """Draw the arrays of a call: its inputs, its outputs, and the mesh.

    All are drawn to one scale, in the colours of the devices that hold them.
    An input that the function does not use lies nowhere and is not drawn.

    Args:
        reading: what `read` returned.

    Returns:
        A drawing.

    Raises:
        ValueError: no arrays or more than six, one of more than three
            dimensions, or one in more than 64 tiles.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw_call, read
    >>> mesh = cpu_mesh({"data": 2, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((4, 8), "float32", sharding=sharding)
    >>> draw_call(read(lambda a: a.sum(0), x))
    <lambda>(float32[4,8]@P('data', 'model'))
    a P('data', 'model'): 4 x 8 in 4 tiles of 2 x 4 on 4 devices
    rows 0-1: columns 0-3 on 0, columns 4-7 on 1
    rows 2-3: columns 0-3 on 2, columns 4-7 on 3
    result P('model',): 8 elements in 2 tiles of 4, each on 2 of 4 devices
    elements 0-3 on 0 and 2
    elements 4-7 on 1 and 3
    mesh data=2, model=2: devices 0-3, row by row
    """
    obstacle = why_not(reading)
    if obstacle:
        raise ValueError(
            f"draw_call() was given {reading.call}, which has {obstacle}; "
            "draw what it has one by one, with draw()"
        )
    before, after = _held(reading.inputs), _held(reading.outputs)
    leaves = [*before, *after]
    longest = max((size for leaf in leaves for size in leaf.shape), default=1)
    unit = _SIDE / max(8, longest)
    lines, blocks = [], []
    for side in (before, after):
        if side is after:
            blocks.append(arrow_block(60))
        for leaf in side:
            spec = sharding_text(leaf.sharding)
            tiles = tiles_of(leaf.sharding, leaf.shape)
            lines.append(
                f"{leaf.path} {spec}: {title_text(leaf.shape, tiles)}"
            )
            lines += place_lines(leaf.shape, tiles)
            blocks += array_blocks(
                leaf.shape,
                tiles,
                sides=[unit * max(8, *leaf.shape, 0)],
                caption=f"{leaf.path}\n{spec}",
            )
    meshes = meshes_of(leaf.sharding for leaf in leaves)
    lines += mesh_lines(meshes)
    grids: list[Block] = [b for mesh in meshes for b in mesh_blocks(mesh)]
    return Drawing(
        reading.call,
        tuple(lines),
        picture([*blocks, *grids], reading.call, lines),
    )


def why_not(reading: Reading) -> str:
    """What keeps a reading from being drawn; "" if nothing does."""
    leaves = _held((*reading.inputs, *reading.outputs))
    if not leaves:
        return "no arrays"
    if len(leaves) > _MOST_ARRAYS:
        return f"{len(leaves)} arrays, and can be drawn with {_MOST_ARRAYS}"
    for leaf in leaves:
        if len(leaf.shape) > 3:
            return f"an array of {len(leaf.shape)} dimensions, {leaf.path}"
        count = len(tiles_of(leaf.sharding, leaf.shape))
        if count > _MOST_TILES:
            return f"an array in {count} tiles, {leaf.path}"
    return ""


def _held(leaves: Sequence[Leaf]) -> list[Leaf]:
    return [leaf for leaf in leaves if leaf.sharding is not None]
