"""Tiles in words: which part of an array which devices hold."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from jax.sharding import Mesh, NamedSharding, Sharding

from shardlessons._tiles import Range, Tile

WIDTH = 76


def title_text(shape: tuple[int, ...], tiles: Sequence[Tile]) -> str:
    """The shape, and how it is cut, as ``8 x 16 in 4 tiles of 2 x 16``."""
    whole = by_text(shape) + (" elements" if len(shape) == 1 else "")
    devices = len({device for tile in tiles for device in tile.devices})
    plural = f"{devices} device{'s'[: devices > 1]}"
    if len(tiles) == 1:
        return f"{whole} whole on {'each of ' * (devices > 1)}{plural}"
    sizes = {tuple(b - a for a, b in tile.ranges) for tile in tiles}
    text = f"{whole} in {len(tiles)} tiles"
    if len(sizes) == 1:
        text += f" of {by_text(*sizes)}"
    copies = {len(tile.devices) for tile in tiles}
    if len(copies) == 1 and copies != {1}:
        return f"{text}, each on {copies.pop()} of {plural}"
    return f"{text} on {plural}"


def place_lines(shape: tuple[int, ...], tiles: Sequence[Tile]) -> list[str]:
    """A line for each set of rows that lie alike, or that interleave."""
    if 0 in shape:
        return ["no elements"]
    if len(shape) < 3:
        # A scalar is one element.
        sizes = shape or (1,)
        return _flat_lines(
            sizes, [Tile(t.ranges or ((0, 1),), t.devices) for t in tiles]
        )
    cuts = sorted({edge for tile in tiles for edge in tile.ranges[0]})
    alike: dict[tuple[str, ...], list[Range]] = defaultdict(list)
    for band in pairwise(cuts):
        flat = [
            Tile(tile.ranges[1:], tile.devices)
            for tile in tiles
            if tile.ranges[0][0] <= band[0] < tile.ranges[0][1]
        ]
        alike[tuple(_flat_lines(shape[1:], flat))].append(band)
    return [
        f"{named_text('slice', joined(bands))}"
        + (line.removeprefix("all") if line[:6] == "all on" else f", {line}")
        for lines, bands in alike.items()
        for line in lines
    ]


def mesh_lines(meshes: Iterable[Mesh]) -> list[str]:
    """Which device is where on each mesh."""
    return [f"{mesh_text(mesh)}: {_order(mesh)}" for mesh in meshes]


def mesh_text(mesh: Mesh) -> str:
    """The axes, as ``mesh data=4, model=2``."""
    axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
    return f"mesh {axes}" if axes else "mesh without axes"


def meshes_of(shardings: Iterable[Sharding | None]) -> tuple[Mesh, ...]:
    """The meshes that the shardings lie on, each once."""
    return tuple(
        dict.fromkeys(
            one.mesh
            for one in shardings
            if isinstance(one, NamedSharding) and isinstance(one.mesh, Mesh)
        )
    )


def by_text(shape: Sequence[int]) -> str:
    """A shape as ``8 x 16``."""
    return " x ".join(map(str, shape)) or "scalar"


def ids_text(devices: Sequence[int]) -> str:
    """Devices as ``0 and 1``, or ``0-7``."""
    runs = joined((device, device + 1) for device in devices)
    # "0 and 1" says that two hold it; "0-1" would read as one thing.
    return listed_text(
        [
            part
            for a, b in runs
            for part in ([(a, a + 1), (a + 1, b)] if b == a + 2 else [(a, b)])
        ]
    )


def device_words(devices: tuple[int, ...]) -> list[list[str]]:
    """What a tile may be labelled with, the longest first."""
    each = [*map(str, devices)]
    if len(devices) == 1:
        return [each, each]
    ranges = re.sub(",|and |so ", "", ids_text(devices)).split()
    full = [each] if len(devices) <= 8 else []
    return [*full, ranges, [f"\N{MULTIPLICATION SIGN}{len(devices)}"]]


def range_text(run: Range) -> str:
    """A range as ``0-3``, its last index included."""
    a, b = run
    return f"{a}-{b - 1}" if b - a > 1 else f"{a}"


def listed_text(runs: list[Range]) -> str:
    """Ranges as ``0-3, 8 and 12-15``."""
    words = [*map(range_text, runs)]
    lengths = {b - a for a, b in runs}
    steps = {c - a for (a, _), (c, _) in pairwise(runs)}
    if len(runs) > 4 and len(lengths) == len(steps) == 1:
        return f"{words[0]}, {words[1]} and so on to {words[-1]}"
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def wrapped(text: str) -> list[str]:
    """Lines, broken after punctuation: "columns 0-7 on 0" stays whole."""
    kept = re.sub(r"(?<![,;:]) ", "\0", text)
    lines = textwrap.wrap(
        kept, WIDTH, subsequent_indent="  ", break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


def _order(mesh: Mesh) -> str:
    ids = [device.id for device in mesh.devices.flat]
    if len(ids) == 1:
        return f"device {ids[0]}"
    if ids == [*range(ids[0], ids[0] + len(ids))]:
        return f"devices {ids[0]}-{ids[-1]}, row by row"
    return f"devices {', '.join(map(str, ids))}, row by row"


def _flat_lines(shape: tuple[int, ...], tiles: Iterable[Tile]) -> list[str]:
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
        runs = joined(bands)
        where = named_text(row, runs)
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
        return f" on {ids_text(*held)}"
    parts = [
        f"{named_text('column', sorted(columns))} on {ids_text(devices)}"
        for devices, columns in sorted(held.items(), key=lambda at: min(at[1]))
    ]
    return ": " + ("; " if "," in "".join(parts) else ", ").join(parts)


def named_text(noun: str, runs: list[Range]) -> str:
    """Ranges with their noun: ``row 3``, or ``rows 0-1 and 4``."""
    one = len(runs) == 1 and runs[0][1] - runs[0][0] == 1
    return f"{noun}{'' if one else 's'} {listed_text(runs)}"


def joined(runs: Iterable[Range]) -> list[Range]:
    """Ranges that follow each other as one."""
    whole: list[Range] = []
    for a, b in sorted(runs):
        if whole and whole[-1][1] == a:
            a = whole.pop()[0]
        whole.append((a, b))
    return whole
