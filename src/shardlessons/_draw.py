"""A sharding drawn: the array, cut into the tiles that devices hold."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

from jax.sharding import Sharding

from shardlessons._places import (
    by_text,
    mesh_lines,
    meshes_of,
    place_lines,
    title_text,
    wrapped,
)
from shardlessons._svg import picture
from shardlessons._svg_array import array_blocks
from shardlessons._svg_mesh import mesh_blocks
from shardlessons._tiles import check_countable, seen_in, tiles_of


@dataclass(frozen=True, repr=False)
class Drawing:
    """A picture and what it says in words, both made of the same parts.

    Printing it gives the words; a notebook shows the picture, which has the
    words as its text alternative.

    Attributes:
        title: what is drawn.
        lines: what the picture says of it.
        svg: the picture. It needs no font, style sheet or network, and can
            be written to a file as it is.
    """

    title: str
    lines: tuple[str, ...]
    svg: str = field(repr=False)

    def __str__(self) -> str:
        texts = (self.title, *self.lines)
        return "\n".join(line for text in texts for line in wrapped(text))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f'<div class="drawing">{self.svg}</div>'


def draw(
    sharding: Sharding,
    shape: Sequence[int],
    *,
    seen_as: Sequence[int] | None = None,
) -> Drawing:
    """Draw which device holds which part of an array, beside the mesh.

    An array of three dimensions is drawn as slices along the first.

    Args:
        sharding: any sharding of jax whose devices are known.
        shape: the shape of the array, of at most three dimensions.
        seen_as: another shape for the same elements, row by row. Each is
            drawn where `sharding` put it: what a reshape that moves nothing
            would leave, whether or not a spec can say so. Both shapes are
            then of one dimension or two.

    Returns:
        A drawing. Devices are named by their ids.

    Raises:
        ValueError: a shape of more dimensions; a `seen_as` of another size;
            more tiles than a picture can show. A dimension that the mesh
            does not divide is jax's own error.

    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> draw(NamedSharding(mesh, P("data")), (16, 8))
    16 x 8 in 4 tiles of 4 x 8, each on 2 of 8 devices
    rows 0-3 on 0 and 1
    rows 4-7 on 2 and 3
    rows 8-11 on 4 and 5
    rows 12-15 on 6 and 7
    mesh data=4, model=2: devices 0-7, row by row
    >>> columns = NamedSharding(cpu_mesh({"model": 2}), P(None, "model"))
    >>> draw(columns, (2, 16), seen_as=(4, 8))
    2 x 16 in 2 tiles of 2 x 8 on 2 devices, seen as 4 x 8
    rows 0 and 2 on 0; rows 1 and 3 on 1
    mesh model=2: devices 0-1, row by row
    """
    shape = _drawable("shape", shape, most=3)
    tiles = tiles_of(sharding, shape)
    title = title_text(shape, tiles)
    if seen_as is not None:
        other = _drawable("seen_as", seen_as, most=2)
        _drawable("shape", shape, most=2)
        if math.prod(other) != math.prod(shape):
            raise ValueError(
                f"shape {shape} has {math.prod(shape)} elements and seen_as "
                f"{other} has {math.prod(other)}; give seen_as a shape of "
                "the same size"
            )
        tiles = seen_in(shape, tiles, other)
        title += f", seen as {by_text(other)}"
        shape = other
    check_countable(len(tiles))
    meshes = meshes_of([sharding])
    lines = [*place_lines(shape, tiles), *mesh_lines(meshes)]
    blocks = array_blocks(shape, tiles)
    blocks += [block for mesh in meshes for block in mesh_blocks(mesh)]
    return Drawing(title, tuple(lines), picture(blocks, title, lines))


def _drawable(name: str, shape: Sequence[int], most: int) -> tuple[int, ...]:
    shape = tuple(map(operator.index, shape))
    if len(shape) > most:
        raise ValueError(
            f"{name} {shape} has {len(shape)} dimensions; draw() takes up to "
            f"{most}{' with seen_as' if most == 2 else ''}: leave out those "
            "that no mesh axis cuts"
        )
    if most == 2 and (len(shape) == 0 or 0 in shape):
        raise ValueError(
            f"{name} {shape} has no rows of elements, which draw() needs "
            "with seen_as; give it a dimension, each of size 1 or more"
        )
    return shape
