"""A reshape drawn: each element numbered, before and after."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import jax

from shardlessons._draw import Drawing
from shardlessons._moves import Devices, Side, devices_in, received, sides_of
from shardlessons._places import (
    by_text,
    ids_text,
    joined,
    listed_text,
    named_text,
)
from shardlessons._report import sharding_text
from shardlessons._svg import picture
from shardlessons._svg_elements import down_block, elements_block
from shardlessons._tiles import tiles_of

if TYPE_CHECKING:
    from shardlessons._leaf import Leaf

_MOST_COLUMNS = 16
_MOST_ELEMENTS = 64
_MOST_DEVICES = 8


def draw_reshape(
    before: jax.Array | jax.ShapeDtypeStruct | Leaf,
    after: jax.Array | jax.ShapeDtypeStruct | Leaf,
) -> Drawing:
    """Draw where each element of a reshaped array goes.

    Three pictures, one below the other: the elements where they are; the
    same elements in the new shape, on the devices that have them still; and
    what each device holds in the end, with what it receives for it. The
    elements are numbered in row-major order, in the colours of the devices
    that held them at first. The rows from the first on are drawn, as many
    as make whole tiles in both shapes; what follows repeats them.

    Args:
        before: the array that is reshaped, of one dimension or two. Its
            shape and sharding are drawn, and no data is needed.
        after: what it becomes.

    Returns:
        A drawing.

    Raises:
        ValueError: shapes of more dimensions, of different sizes or without
            elements; more than 16 columns, 64 elements or 8 devices in what
            would be drawn.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw_reshape, read
    >>> mesh = cpu_mesh({"data": 2, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((4, 4), "float32", sharding=sharding)
    >>> reading = read(lambda a: a.reshape(8, 2), x)
    >>> draw_reshape(x, reading.outputs[0])
    4 x 4 under P('data', 'model') becomes 8 x 2 under P('data',)
    rows 0-1 of 4 x 4, elements 0-7: 0-1 and 4-5 on 0; 2-3 and 6-7 on 1
    the same elements are rows 0-3 of 8 x 2
    after it, 0 holds 0-7, of which 2-3 and 6-7 were on 1
    after it, 1 holds 0-7, of which 0-1 and 4-5 were on 0
    """
    _check((before.shape, after.shape))
    tilings = [tiles_of(one.sharding, one.shape) for one in (before, after)]
    old, new = sides_of([before.shape, after.shape], tilings)
    _check_seen(old, new)
    words = [sharding_text(one.sharding) for one in (before, after)]
    title = (
        f"{by_text(before.shape)} under {words[0]} becomes "
        f"{by_text(after.shape)} under {words[1]}"
    )
    everything = range(len(old.holders))
    lines = [
        f"{_rows(old)}, elements 0-{len(old.holders) - 1}: "
        + "; ".join(
            f"{_elements(old.held_by(device))} on {device}"
            for device in devices_in(old)
        ),
        f"the same elements are {_rows(new)}",
    ]
    blocks = [
        elements_block(
            old.holders,
            old.shape[1],
            f"{_rows(old)}, {words[0]}",
            preposition="on",
            told=everything,
        ),
        down_block("the same elements, row by row"),
        elements_block(
            old.holders,
            new.shape[1],
            _rows(new),
            preposition="on",
            told=everything,
        ),
        down_block(f"what each device holds under {words[1]}"),
    ]
    for device in devices_in(new):
        held = new.held_by(device)
        comes = received(old, new, device)
        lines.append(_receipt(device, held, comes))
        blocks.append(
            elements_block(
                [old.holders[at] for at in held],
                _width(held, new.shape[1]),
                f"on {device}",
                numbers=held,
                preposition="was on",
                told={at for elements in comes.values() for at in elements},
            )
        )
    return Drawing(title, tuple(lines), picture(blocks, title, lines))


def _receipt(
    device: int, held: list[int], comes: dict[Devices, list[int]]
) -> str:
    text = f"after it, {device} holds {_elements(held)}"
    if not comes:
        return f"{text}, all of which it held before"
    return f"{text}, of which " + "; ".join(
        f"{_elements(elements)} {'was' if len(elements) == 1 else 'were'} on "
        f"{ids_text(senders)}"
        for senders, elements in comes.items()
    )


def _width(held: list[int], columns: int) -> int:
    """How many elements of a row a tile has."""
    row = held[0] // columns
    return sum(at // columns == row for at in held)


def _elements(elements: list[int]) -> str:
    return listed_text(joined((at, at + 1) for at in elements))


def _rows(side: Side) -> str:
    rows = named_text("row", [(0, side.rows)])
    return f"{rows} of {by_text(side.shape)}"


def _check(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    if any(len(shape) not in (1, 2) or 0 in shape for shape in shapes):
        raise ValueError(
            f"draw_reshape() was given the shapes {shapes[0]} and "
            f"{shapes[1]}; it takes one dimension or two, each of size 1 or "
            "more: leave out those that no mesh axis cuts"
        )
    if math.prod(shapes[0]) != math.prod(shapes[1]):
        raise ValueError(
            f"draw_reshape() was given the shapes {shapes[0]} and "
            f"{shapes[1]}, of {math.prod(shapes[0])} and "
            f"{math.prod(shapes[1])} elements; a reshape keeps their number"
        )


def _check_seen(old: Side, new: Side) -> None:
    columns = max(old.shape[1], new.shape[1])
    seen = (len(old.holders), columns, len(devices_in(old, new)))
    most = (_MOST_ELEMENTS, _MOST_COLUMNS, _MOST_DEVICES)
    if any(a > b for a, b in zip(seen, most, strict=True)):
        raise ValueError(
            "the drawing would have {} elements, {} columns and {} devices, "
            "and can show {}, {} and {}; give smaller shapes that are cut "
            "the same way".format(*seen, *most)
        )
