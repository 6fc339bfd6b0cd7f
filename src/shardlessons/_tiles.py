"""The tiles that a sharding cuts an array into, as it lies or seen reshaped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from jax.sharding import Sharding

# More are neither legible as a picture nor bearable to hear as a text.
_MOST_TILES = 1024

Range = tuple[int, int]


@dataclass(frozen=True)
class Tile:
    """A rectangle of the array that the same devices hold.

    Attributes:
        ranges: for each dimension the first index, and the one after the
            last.
        devices: the ids of the devices that hold it, ascending; several
            hold replicas of it.
    """

    ranges: tuple[Range, ...]
    devices: tuple[int, ...]


def tiles_of(sharding: Sharding, shape: tuple[int, ...]) -> list[Tile]:
    holders = defaultdict(list)
    for device, index in sharding.devices_indices_map(shape).items():
        ranges = tuple(
            part.indices(size)[:2]
            for part, size in zip(index, shape, strict=True)
        )
        holders[ranges].append(device.id)
    return [Tile(at, tuple(sorted(holders[at]))) for at in sorted(holders)]


def seen_in(
    shape: tuple[int, ...], tiles: list[Tile], other: tuple[int, ...]
) -> list[Tile]:
    """The elements of `tiles` as they stand in `other`, both row by row."""
    width = shape[1] if len(shape) == 2 else 1
    runs: list[tuple[int, int, tuple[int, ...]]] = []
    rows = sum(t.ranges[0][1] - t.ranges[0][0] for t in tiles)
    check_countable(len(tiles) if rows == shape[0] else rows)
    for tile in tiles:
        (top, bottom), (left, right) = (*tile.ranges, (0, width))[:2]
        if right - left == width:
            runs.append((top * width, bottom * width, tile.devices))
        else:
            runs += [
                (row * width + left, row * width + right, tile.devices)
                for row in range(top, bottom)
            ]
    if len(other) == 1:
        return [Tile(((a, b),), held) for a, b, held in sorted(runs)]
    seen: list[Tile] = []
    above: dict[tuple[Range, tuple[int, ...]], int] = {}
    for start, stop, held in sorted(runs):
        for rows, columns in _rectangles(start, stop, other[1]):
            # What lies right below the same columns of the same devices
            # makes them one taller tile.
            at = above.get((columns, held))
            if at is not None and seen[at].ranges[0][1] == rows[0]:
                rows = (seen[at].ranges[0][0], rows[1])
                seen[at] = Tile((rows, columns), held)
            else:
                above[columns, held] = len(seen)
                seen.append(Tile((rows, columns), held))
    return seen


def _rectangles(
    start: int, stop: int, width: int
) -> Iterator[tuple[Range, Range]]:
    """A run of elements as the end of a row, whole rows, a row's start."""
    while start < stop:
        row, column = divmod(start, width)
        rows = 1 if column else max(1, (stop - start) // width)
        end = min(stop - row * width, width)
        yield (row, row + rows), (column, end)
        start = row * width + (rows - 1) * width + end


def check_countable(count: int) -> None:
    if count > _MOST_TILES:
        raise ValueError(
            f"the drawing would have {count} tiles, and can show "
            f"{_MOST_TILES}; give a smaller shape that is cut the same way"
        )
