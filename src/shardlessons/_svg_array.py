"""An array as tiles, coloured and labelled by the devices that hold them."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from shardlessons._places import device_words, named_text
from shardlessons._svg import (
    LABEL,
    MARK,
    WIDTH,
    Block,
    Box,
    Canvas,
    folded,
    wide,
)
from shardlessons._tiles import Range, Tile

# A rectangle, and the devices that hold it.
_Flat = tuple[Range, Range, tuple[int, ...]]


def array_blocks(
    shape: tuple[int, ...],
    tiles: Sequence[Tile],
    *,
    sides: Sequence[float] = (200, 288),
    caption: str = "",
) -> list[Block]:
    """A block for the array; of three dimensions one for each slice.

    Args:
        shape: of three dimensions at most.
        tiles: what covers it.
        sides: how long its longer side may be, the first that leaves every
            tile room for its label.
        caption: what to write above.
    """
    # A dimension without elements is drawn as if it had one.
    empty = 0 in shape
    sizes = tuple(max(size, 1) for size in shape)
    ranges = [
        tuple((a, max(b, a + 1)) for a, b in tile.ranges) for tile in tiles
    ]
    # Fewer than two dimensions lie along a row.
    rows, columns = (1, 1, *sizes)[-2:]
    solid = [((0, 1), (0, 1), (0, 1), *at)[-3:] for at in ranges]
    edges = sorted({edge for band, _, _ in solid for edge in band})
    slices: dict[tuple[_Flat, ...], list[Range]] = defaultdict(list)
    for band in pairwise(edges):
        flat = tuple(
            (down, across, tile.devices)
            for (deep, down, across), tile in zip(solid, tiles, strict=True)
            if deep[0] <= band[0] < deep[1]
        )
        slices[flat].append(band)
    captions = [caption] * len(slices)
    if empty:
        captions = [f"{caption}\nno elements".strip()]
    elif len(shape) == 3:
        captions = [
            f"{caption}\n{named_text('slice', bands)}".strip()
            for bands in slices.values()
        ]
        if len(slices) > 1:
            sides = [min(side, WIDTH / 2 - 40) for side in sides]
    blocks: list[Block] = []
    for side in sides:
        planes = [
            _Plane(
                (rows, columns),
                flat,
                side,
                name,
                marked=(len(shape) > 1 and not empty, not empty),
            )
            for flat, name in zip(slices, captions, strict=True)
        ]
        blocks = [plane.block() for plane in planes]
        if all(plane.labelled for plane in planes):
            break
    return blocks


class _Plane:
    """Rows and columns, cut into tiles."""

    def __init__(
        self,
        size: tuple[int, int],
        tiles: Sequence[_Flat],
        side: float,
        caption: str,
        *,
        marked: tuple[bool, bool],
    ) -> None:
        self.rows, self.columns = size
        self.tiles, self.marked = tiles, marked
        self.left = 6 + wide(self.rows - 1, MARK) if marked[0] else 2
        unit = side / max(8, *size)
        downs = [down for down, _, _ in tiles]
        acrosses = [across for _, across, _ in tiles]
        wordings = [device_words(devices) for _, _, devices in tiles]
        # The same step for both sides, unless a label needs more.
        self.x_unit = _roomy(
            max(unit, min(72, side) / self.columns),
            side / self.columns,
            acrosses,
            (max(wide(w, LABEL) for w in words[0]) for words in wordings),
        )
        tallest = 3 * side / self.rows
        self.labels = [
            _fitted(words, (b - a) * self.x_unit, (d - c) * tallest)
            for words, (a, b), (c, d) in zip(
                wordings, acrosses, downs, strict=True
            )
        ]
        self.y_unit = _roomy(
            max(unit, 36 / self.rows),
            tallest,
            downs,
            map(_tall, self.labels),
        )
        self.labels = [
            lines if _tall(lines) <= (d - c) * self.y_unit else []
            for lines, (c, d) in zip(self.labels, downs, strict=True)
        ]
        self.labelled = all(self.labels)
        room = max(self.columns * self.x_unit, 120)
        self.caption = folded(caption, room, MARK)
        self.top = len(self.caption) * (MARK + 3) + MARK + 4
        # Many thin tiles must not be all outline.
        thinnest = min(
            *((b - a) * self.x_unit for a, b in acrosses),
            *((b - a) * self.y_unit for a, b in downs),
        )
        self.stroke = min(2, thinnest / 6) if thinnest >= 4 else 0
        self.told_by_row = {
            down
            for (down, _, _), lines in zip(tiles, self.labels, strict=True)
            if not lines
        }

    def block(self) -> Block:
        across = max(
            self.columns * self.x_unit,
            *(wide(line, MARK) for line in ("", *self.caption)),
        )
        return Block(
            self.left + across + 2,
            self.top + self.rows * self.y_unit + 2,
            self._paint,
        )

    def _paint(self, canvas: Canvas, x: float, y: float) -> None:
        for i, line in enumerate(self.caption):
            at = y + i * (MARK + 3) + MARK / 2
            canvas.mark(x + self.left, at, line, "start")
        x, y = x + self.left, y + self.top
        for (down, across, devices), lines in zip(
            self.tiles, self.labels, strict=True
        ):
            box = (
                x + across[0] * self.x_unit,
                y + down[0] * self.y_unit,
                (across[1] - across[0]) * self.x_unit,
                (down[1] - down[0]) * self.y_unit,
            )
            shown = [] if down in self.told_by_row else lines
            canvas.fill(devices, box)
            if shown:
                canvas.edge(box, self.stroke)
            elif self.stroke:
                # Faint, for the words that stand over a row of tiles.
                canvas.faint(box)
            if max(self.rows, self.columns) <= 32:
                _grid(canvas, box, (self.x_unit, self.y_unit), shown)
            for at, line in zip(_steps(box, len(shown)), shown, strict=True):
                canvas.label(box[0] + box[2] / 2, at, line)
        if self.told_by_row:
            size = self.columns * self.x_unit, self.rows * self.y_unit
            canvas.edge((x, y, *size))
        self._label_rows(canvas, x, y)
        self._indices(canvas, x, y)

    def _label_rows(self, canvas: Canvas, x: float, y: float) -> None:
        """Where a tile has no room: which devices share its row of tiles."""
        rows: dict[Range, set[int]] = defaultdict(set)
        for down, _, devices in self.tiles:
            if down in self.told_by_row:
                rows[down].update(devices)
        told = [
            (start * self.y_unit, stop * self.y_unit, held)
            for (start, stop), held in sorted(rows.items())
        ]
        label_rows(canvas, x, y, self.columns * self.x_unit, told)

    def _indices(self, canvas: Canvas, x: float, y: float) -> None:
        if self.marked[1]:
            acrosses = {across for _, across, _ in self.tiles}
            need = wide(self.columns - 1, MARK) + 4
            for index, at in _marks(acrosses, self.x_unit, need):
                canvas.mark(x + at, y - MARK / 2 - 3, index)
        if self.marked[0]:
            downs = {down for down, _, _ in self.tiles}
            for index, at in _marks(downs, self.y_unit, MARK):
                canvas.mark(x - 5, y + at, index, "end")


def label_rows(
    canvas: Canvas,
    x: float,
    y: float,
    across: float,
    rows: Iterable[tuple[float, float, Collection[int]]],
) -> None:
    """Which devices are in rows that have no room to tell them one by one.

    Args:
        canvas: where to write.
        x, y: the upper left corner of what has the rows.
        across: how wide they are.
        rows: where each starts and stops below `y`, and its devices. Rows
            too thin for a label are told together.
    """
    groups: list[tuple[float, float, set[int]]] = []
    for start, stop, devices in rows:
        if groups:
            top, bottom, held = groups[-1]
            if bottom == start and bottom - top < LABEL + 1:
                groups[-1] = (top, stop, held | set(devices))
                continue
        groups.append((start, stop, set(devices)))
    if len(groups) > 1:
        (top, middle, held), (start, bottom, rest) = groups[-2:]
        if middle == start and bottom - start < LABEL:
            groups[-2:] = [(top, bottom, held | rest)]
    for top, bottom, held in groups:
        text = " ".join(device_words(tuple(sorted(held)))[-2])
        if wide(text, LABEL) <= across and bottom - top >= LABEL:
            canvas.label(x + across / 2, y + (top + bottom) / 2, text)


def _grid(
    canvas: Canvas, box: Box, units: tuple[float, float], lines: list[str]
) -> None:
    """The elements' edges inside a tile, interrupted by its label."""
    broad = max((wide(line, LABEL) for line in lines), default=0)
    hole = (broad / 2 + 1, _tall(lines) / 2 - 1)
    for axis, template in enumerate(("M{0} {1}V{2}", "M{1} {0}H{2}")):
        middles = [box[i] + box[i + 2] / 2 for i in (axis, 1 - axis)]
        ends = [box[1 - axis], box[1 - axis] + box[3 - axis]]
        for i in range(1, round(box[axis + 2] / units[axis])):
            at = box[axis] + i * units[axis]
            stops = ends
            if lines and abs(at - middles[0]) < hole[axis]:
                gap = hole[1 - axis]
                stops = [
                    ends[0], middles[1] - gap, middles[1] + gap, ends[1],
                ]  # fmt: skip
            for start, stop in zip(stops[::2], stops[1::2], strict=True):
                canvas.grid(template, at, start, stop)


def _fitted(
    wordings: Sequence[Sequence[str]], width: float, height: float
) -> list[str]:
    """The first wording that fits, in as few lines as it can; or none."""
    most = int((width - 3) / wide("0", LABEL))
    for words in wordings:
        if most >= max(map(len, words)):
            lines = textwrap.wrap(
                " ".join(words), most, break_on_hyphens=False
            )
            if _tall(lines) <= height:
                return lines
    return []


def _steps(box: Box, count: int) -> Iterator[float]:
    for i in range(count):
        yield box[1] + box[3] / 2 + (i - (count - 1) / 2) * (LABEL + 1)


def _marks(
    ranges: Iterable[Range], unit: float, need: float
) -> list[tuple[int, float]]:
    """The first index of each tile, and the very last, that have room."""
    ranges = sorted(ranges)
    size = max(stop for _, stop in ranges)
    marks: dict[int, float] = {}
    for index in [0, size - 1, *(start for start, _ in ranges)]:
        # Not beyond the array: the picture ends there.
        at = min((index + 0.5) * unit, size * unit - need / 2 + 1)
        if all(abs(at - other) >= need for other in marks.values()):
            marks[index] = at
    return sorted(marks.items())


def _roomy(
    unit: float, most: float, ranges: list[Range], needs: Iterable[float]
) -> float:
    """The unit, or a larger one that gives every label its room."""
    larger = max(
        (need + 4) / (b - a)
        for need, (a, b) in zip(needs, ranges, strict=True)
    )
    return max(unit, larger) if larger <= most else unit


def _tall(lines: list[str]) -> float:
    return len(lines) * (LABEL + 1)
