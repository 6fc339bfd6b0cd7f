"""A sharding drawn: the array, cut into the tiles that devices hold."""

from __future__ import annotations

import math
import operator
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jax.sharding import Sharding

from shardlessons import _svg
from shardlessons._tiles import Range, Tile, check_countable, seen_in, tiles_of

WIDTH = 76


@dataclass(frozen=True, repr=False)
class Drawing:
    """Which device holds which part of an array; made by `draw`.

    Printing it gives its text alternative; a notebook shows the picture.

    Attributes:
        title: the shape, and how it is cut.
        shape: the shape that is drawn.
        tiles: what covers it, in the order of their first elements.
    """

    title: str
    shape: tuple[int, ...]
    tiles: tuple[Tile, ...]

    def __str__(self) -> str:
        return "\n".join(
            line for text in self._sentences() for line in _wrapped(text)
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _svg.html(
            self.shape,
            self.tiles,
            [_words(tile.devices) for tile in self.tiles],
            ". ".join(self._sentences()),
        )

    def _sentences(self) -> list[str]:
        return [self.title, *_places(self.shape, self.tiles)]


def draw(
    sharding: Sharding,
    shape: Sequence[int],
    *,
    seen_as: Sequence[int] | None = None,
) -> Drawing:
    """Draw which device holds which part of an array.

    Args:
        sharding: any sharding of jax whose devices are known.
        shape: the shape of the array, of one dimension or two.
        seen_as: another shape for the same elements, row by row. Each is
            drawn where `sharding` put it: what a reshape that moves nothing
            would leave, whether or not a spec can say so.

    Returns:
        A drawing. Devices are named by their ids.

    Raises:
        ValueError: a shape that is not of one dimension or two, or has no
            elements; a `seen_as` of another size; more tiles than a picture
            can show. A dimension that the mesh does not divide is jax's own
            error.

    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> draw(NamedSharding(mesh, P("data")), (16, 8))
    16 x 8 in 4 tiles of 4 x 8, each on 2 of 8 devices
    rows 0-3 on 0 and 1
    rows 4-7 on 2 and 3
    rows 8-11 on 4 and 5
    rows 12-15 on 6 and 7
    >>> columns = NamedSharding(cpu_mesh({"model": 2}), P(None, "model"))
    >>> draw(columns, (2, 16), seen_as=(4, 8))
    2 x 16 in 2 tiles of 2 x 8 on 2 devices, seen as 4 x 8
    rows 0 and 2 on 0; rows 1 and 3 on 1
    """
    shape = _drawable("shape", shape)
    tiles = tiles_of(sharding, shape)
    title = _title(shape, tiles)
    if seen_as is not None:
        other = _drawable("seen_as", seen_as)
        if math.prod(other) != math.prod(shape):
            raise ValueError(
                f"shape {shape} has {math.prod(shape)} elements and seen_as "
                f"{other} has {math.prod(other)}; give seen_as a shape of "
                "the same size"
            )
        tiles = seen_in(shape, tiles, other)
        title += f", seen as {_by(other)}"
        shape = other
    check_countable(len(tiles))
    return Drawing(title, shape, tuple(tiles))


def _drawable(name: str, shape: Sequence[int]) -> tuple[int, ...]:
    shape = tuple(map(operator.index, shape))
    if len(shape) not in (1, 2):
        raise ValueError(
            f"{name} {shape} has {len(shape)} dimensions; draw() takes 1 or "
            "2: leave out those that no mesh axis cuts"
        )
    if min(shape) < 1:
        raise ValueError(
            f"{name} {shape} has a dimension of size {min(shape)}; draw() "
            "takes sizes of 1 or more"
        )
    return shape


# The text alternative.


def _title(shape: tuple[int, ...], tiles: list[Tile]) -> str:
    whole = _by(shape) + (" elements" if len(shape) == 1 else "")
    devices = len({device for tile in tiles for device in tile.devices})
    plural = f"{devices} device{'s'[: devices > 1]}"
    if len(tiles) == 1:
        return f"{whole} whole on {'each of ' * (devices > 1)}{plural}"
    sizes = {tuple(b - a for a, b in tile.ranges) for tile in tiles}
    text = f"{whole} in {len(tiles)} tiles"
    if len(sizes) == 1:
        text += f" of {_by(*sizes)}"
    copies = {len(tile.devices) for tile in tiles}
    if len(copies) == 1 and copies != {1}:
        return f"{text}, each on {copies.pop()} of {plural}"
    return f"{text} on {plural}"


def _places(shape: tuple[int, ...], tiles: Iterable[Tile]) -> list[str]:
    """A line for each set of rows that lie alike, or that interleave."""
    row, width = ("row", shape[1]) if len(shape) == 2 else ("element", 1)
    boxes = [((*tile.ranges, (0, 1))[:2], tile.devices) for tile in tiles]
    cuts = sorted({edge for (rows, _), _ in boxes for edge in rows})
    alike: dict[str, list[Range]] = defaultdict(list)
    for band in pairwise(cuts):
        held = defaultdict(list)
        for (rows, columns), devices in boxes:
            if rows[0] <= band[0] < rows[1]:
                held[devices].append(columns)
        alike[_across(held, width)].append(band)
    lines: list[str] = []
    last = 0
    for across, bands in alike.items():
        runs = _joined(bands)
        where = _named(row, runs)
        if len(alike) == 1 and not across.startswith(":"):
            where = "all"
        elif len(alike) == 1 and shape[0] > 1:
            where = f"all {row}s"
        if lines and runs[0][0] < last and ":" not in lines[-1] + across:
            lines[-1] += f"; {where}{across}"
        else:
            lines.append(where + across)
        last = max(last, runs[-1][1])
    return lines


def _across(held: dict[tuple[int, ...], list[Range]], width: int) -> str:
    """What one row holds: on which devices, by columns if it is cut."""
    if list(held.values()) == [[(0, width)]]:
        return f" on {_ids(*held)}"
    parts = [
        f"{_named('column', sorted(columns))} on {_ids(devices)}"
        for devices, columns in sorted(held.items(), key=lambda at: min(at[1]))
    ]
    return ": " + ("; " if "," in "".join(parts) else ", ").join(parts)


def _named(noun: str, runs: list[Range]) -> str:
    one = len(runs) == 1 and runs[0][1] - runs[0][0] == 1
    return f"{noun}{'' if one else 's'} {_listed(runs)}"


def _ids(devices: tuple[int, ...]) -> str:
    runs = _joined((device, device + 1) for device in devices)
    # "0 and 1" says that two hold it; "0-1" would read as one thing.
    return _listed(
        [
            part
            for a, b in runs
            for part in ([(a, a + 1), (a + 1, b)] if b == a + 2 else [(a, b)])
        ]
    )


def _words(devices: tuple[int, ...]) -> list[str]:
    return _ids(devices).split() if len(devices) > 8 else [*map(str, devices)]


def _joined(runs: Iterable[Range]) -> list[Range]:
    joined: list[Range] = []
    for a, b in sorted(runs):
        if joined and joined[-1][1] == a:
            a = joined.pop()[0]
        joined.append((a, b))
    return joined


def _listed(runs: list[Range]) -> str:
    words = [f"{a}-{b - 1}" if b - a > 1 else f"{a}" for a, b in runs]
    lengths = {b - a for a, b in runs}
    steps = {c - a for (a, _), (c, _) in pairwise(runs)}
    if len(runs) > 4 and len(lengths) == len(steps) == 1:
        return f"{words[0]}, {words[1]} and so on to {words[-1]}"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _wrapped(text: str) -> list[str]:
    # Broken after punctuation only, so that "columns 0-7 on 0" stays whole.
    kept = re.sub(r"(?<![,;:]) ", "\0", text)
    lines = textwrap.wrap(
        kept, WIDTH, subsequent_indent="  ", break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]
