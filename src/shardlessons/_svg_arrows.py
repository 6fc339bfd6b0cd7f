"""A mesh as separate devices, with arrows from one to another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

from jax.sharding import Mesh

from shardlessons._svg import LABEL, MARK, WIDTH, Block, Canvas, wide

Point = tuple[float, float]

_LINE = 8  # of a mesh of one axis, so many devices stand in a row
_CELL = (28, 20)
_PITCH = (58, 38)
_LEAST = 32
_BETWEEN = 24  # planes of a mesh of three axes
_ROOM = WIDTH - 54


def arrows_block(
    mesh: Mesh, chains: Sequence[tuple[int, ...]], caption: str
) -> Block:
    """Arrows from device to device along each chain.

    Args:
        mesh: the devices.
        chains: positions in the mesh, row by row.
        caption: what to write above.
    """
    return _Arrows(mesh, chains, caption).block()


class _Arrows:
    def __init__(
        self, mesh: Mesh, chains: Sequence[tuple[int, ...]], caption: str
    ) -> None:
        self.ids = [device.id for device in mesh.devices.flat]
        self.chains, self.caption = chains, caption
        *lead, rows, columns = (1, *mesh.devices.shape)
        if not lead:
            rows, columns = -(-columns // _LINE), min(columns, _LINE)
        planes = math.prod(lead)
        # As many planes side by side as leave their devices room.
        least = columns * _LEAST + _BETWEEN
        across = max(
            count
            for count in range(1, planes + 1)
            if planes % count == 0
            and (count == 1 or count * least <= _ROOM + _BETWEEN)
        )
        room = _ROOM - _BETWEEN * (across - 1)
        self.pitch = (min(_PITCH[0], room / (columns * across)), _PITCH[1])
        self.cell = (min(_CELL[0], self.pitch[0] * 0.7), _CELL[1])
        # The arrows back lie outside.
        self.left, self.top = 34, 2 * (MARK + 5) + 16
        step = (
            columns * self.pitch[0] + _BETWEEN,
            rows * self.pitch[1] + MARK + 5 + 10,
        )
        corners = [
            (
                self.left + plane % across * step[0],
                self.top + plane // across * step[1],
            )
            for plane in range(planes)
        ]
        self.middles = [
            (
                corner[0] + column * self.pitch[0] + self.cell[0] / 2,
                corner[1] + row * self.pitch[1] + self.cell[1] / 2,
            )
            for corner in corners
            for row in range(rows)
            # Of one axis, the next row begins below the end of the last.
            for column in range(columns)[:: 1 if lead or row % 2 == 0 else -1]
        ][: len(self.ids)]
        across_plane = (columns - 1) * self.pitch[0] + self.cell[0]
        self.right = max(x for x, _ in self.middles) + self.cell[0] / 2
        self.down = max(y for _, y in self.middles) + self.cell[1] / 2
        names = mesh.axis_names
        self.side = names[-2] if len(names) > 1 else ""
        texts = [
            ", ".join(
                f"{name} {at}" for name, at in zip(names, place, strict=False)
            )
            + ": " * bool(place)
            + (names[-1] if names else "")
            for place in product(*map(range, lead[1:]))
        ]
        # Above each plane, and not beyond the edge to the left of it.
        self.heads = [
            (
                corner[0] + max(across_plane, wide(text, MARK)) / 2,
                corner[1],
                text,
            )
            for corner, text in zip(corners, texts, strict=True)
        ]

    def block(self) -> Block:
        ends = [x + wide(text, MARK) / 2 for x, _, text in self.heads]
        return Block(
            max(self.right + 18, wide(self.caption, MARK), *ends),
            self.down + 16,
            self._paint,
        )

    def _paint(self, canvas: Canvas, x: float, y: float) -> None:
        canvas.mark(x, y + MARK / 2, self.caption, "start")
        for middle, top, text in self.heads:
            # Above the arrows that go round the first row.
            canvas.mark(x + middle, y + top - MARK / 2 - 16, text)
        if self.side:
            middle = y + (self.top + self.down) / 2
            canvas.mark(x + MARK / 2, middle, self.side, turn=-90)
        width, height = self.cell
        for (cx, cy), device in zip(self.middles, self.ids, strict=True):
            box = (x + cx - width / 2, y + cy - height / 2, width, height)
            canvas.fill([device], box)
            canvas.edge(box)
            if wide(device, LABEL) <= width:
                canvas.label(x + cx, y + cy, device)
        for chain in self.chains:
            for a, b in pairwise(chain):
                canvas.arrow([(x + u, y + v) for u, v in self._way(a, b)])

    def _way(self, a: int, b: int) -> list[Point]:
        """Straight where no device is in the way, else around them."""
        start, end = self.middles[a], self.middles[b]
        dx, dy = end[0] - start[0], end[1] - start[1]
        length = math.hypot(dx, dy)
        # To the left of its way, so that a way there and one back differ.
        side = (dy / length, -dx / length)
        off = 4 if dx == 0 or dy == 0 else 2
        half = (self.cell[0] / 2, self.cell[1] / 2)
        reach = 1 + min(
            side_length * length / abs(part)
            for side_length, part in zip(half, (dx, dy), strict=True)
            if part
        )
        first, last = (
            (
                at[0] + side[0] * off + sign * dx / length * reach,
                at[1] + side[1] * off + sign * dy / length * reach,
            )
            for at, sign in ((start, 1), (end, -1))
        )
        others = (m for i, m in enumerate(self.middles) if i not in (a, b))
        if not any(_crosses(first, last, m, half) for m in others):
            return [first, last]
        out = abs(side[0]) * half[0] + abs(side[1]) * half[1]
        gap = abs(side[0]) * (self.pitch[0] - self.cell[0]) + abs(side[1]) * (
            self.pitch[1] - self.cell[1]
        )
        # A curve is half as far out as the point that bends it.
        bend = out + 2 * min(4 + length / 30, gap * 0.6)
        return [
            (start[0] + side[0] * out, start[1] + side[1] * out),
            (
                (start[0] + end[0]) / 2 + side[0] * bend,
                (start[1] + end[1]) / 2 + side[1] * bend,
            ),
            (end[0] + side[0] * out, end[1] + side[1] * out),
        ]


def _crosses(first: Point, last: Point, middle: Point, half: Point) -> bool:
    """Whether a straight way meets a device."""
    return any(
        all(
            abs(a + (b - a) * step / 40 - m) <= h + 1
            for a, b, m, h in zip(first, last, middle, half, strict=True)
        )
        for step in range(41)
    )
