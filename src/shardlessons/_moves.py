"""Where each element of an array lies before a reshape, and after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shardlessons._tiles import Tile

Devices = tuple[int, ...]


@dataclass(frozen=True)
class Side:
    """The first rows of an array that is reshaped, or of what it becomes.

    Attributes:
        shape: of the whole array.
        rows: how many of its rows are seen.
        holders: for each element seen, in row-major order, the devices that
            hold it.
    """

    shape: tuple[int, int]
    rows: int
    holders: tuple[Devices, ...]

    def held_by(self, device: int) -> list[int]:
        """The elements on one device."""
        return [at for at, held in enumerate(self.holders) if device in held]


def sides_of(
    shapes: Sequence[tuple[int, ...]], tilings: Sequence[Sequence[Tile]]
) -> tuple[Side, Side]:
    """The fewest rows of either that have the same elements in whole tiles.

    Args:
        shapes: of one dimension or two, before and after.
        tilings: the tiles that cover each.
    """
    # One dimension lies along a row.
    flats = [(1, *shape)[-2:] for shape in shapes]
    cuts = [
        {
            at * columns
            for tile in tiles
            for at in ((0, 1), *tile.ranges)[-2]
        }
        for (_, columns), tiles in zip(flats, tilings, strict=True)
    ]
    count = min(set.intersection(*cuts) - {0})
    first, second = (
        Side(flat, count // flat[1], _holders(flat, tiles, count))
        for flat, tiles in zip(flats, tilings, strict=True)
    )
    return first, second


def received(
    before: Side, after: Side, device: int
) -> dict[Devices, list[int]]:
    """What a device has to receive, by the devices that have it."""
    missing: dict[Devices, list[int]] = {}
    for at in after.held_by(device):
        if device not in before.holders[at]:
            missing.setdefault(before.holders[at], []).append(at)
    return missing


def devices_in(*sides: Side) -> list[int]:
    """The devices that hold something of any side."""
    return sorted({d for side in sides for held in side.holders for d in held})


def _holders(
    shape: tuple[int, int], tiles: Sequence[Tile], count: int
) -> tuple[Devices, ...]:
    holders: list[Devices] = [()] * math.prod(shape)
    for tile in tiles:
        (top, bottom), (left, right) = ((0, 1), *tile.ranges)[-2:]
        for row in range(top, bottom):
            start = row * shape[1]
            holders[start + left : start + right] = [tile.devices] * (
                right - left
            )
    return tuple(holders[:count])
