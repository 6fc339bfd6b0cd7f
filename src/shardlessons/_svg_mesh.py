"""A mesh as a grid of its devices, in the colours of their tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from jax.sharding import Mesh

from shardlessons._svg import LABEL, MARK, WIDTH, Block, Canvas, wide
from shardlessons._svg_array import label_rows

_LINE = 8  # a mesh of one axis is one line, up to so many devices
_CELL = 20  # the height of a device


def mesh_blocks(mesh: Mesh) -> list[Block]:
    """A block for the last two axes at each place of those before them."""
    ids = np.vectorize(lambda device: device.id, otypes=[int])(mesh.devices)
    names, sizes = mesh.axis_names, ids.shape
    if len(sizes) < 2:
        count = ids.size
        across = 1 if count <= _LINE else math.ceil(math.sqrt(count))
        rows = [ids.flat[i : i + across] for i in range(0, count, across)]
        return [_Grid(rows, ("", *names)[-1:] + ("",)).block()]
    return [
        _Grid(
            ids[place],
            names[-2:],
            ", ".join(
                f"{name} {at}"
                for name, at in zip(names, place, strict=False)
            ),
        ).block()
        for place in product(*map(range, sizes[:-2]))
    ]


class _Grid:
    """Rows and columns of devices, the axes' names along two sides."""

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        names: Sequence[str],
        caption: str = "",
    ) -> None:
        self.rows, self.caption = rows, caption
        columns = max(map(len, rows))
        most = max(max(row) for row in rows)
        self.left = MARK + 5 if names[0] else 2
        self.top = (MARK + 5) * (bool(names[1]) + bool(caption)) + 2
        room = WIDTH - self.left - 4
        self.width = min(max(wide(most, LABEL) + 10, 26), room / columns)
        self.height = min(_CELL, max(300 / len(rows), 4))
        self.names = [_shortened(name) for name in names]
        self.labelled = (
            wide(most, LABEL) + 2 <= self.width and self.height >= LABEL
        )
        self.across = columns * self.width
        self.down = len(rows) * self.height

    def block(self) -> Block:
        texts = (self.names[1], self.caption)
        across = max(self.across, *(wide(text, MARK) for text in texts))
        down = max(self.down, wide(self.names[0], MARK))
        return Block(self.left + across + 1, self.top + down + 2, self._paint)

    def _paint(self, canvas: Canvas, x: float, y: float) -> None:
        lines = [text for text in (self.caption, self.names[1]) if text]
        for i, text in enumerate(lines):
            middle = max(self.across, wide(text, MARK)) / 2
            at = y + i * (MARK + 5) + MARK / 2
            canvas.mark(x + self.left + middle, at, text)
        y += self.top
        if self.names[0]:
            middle = max(self.down, wide(self.names[0], MARK)) / 2
            canvas.mark(x + MARK / 2, y + middle, self.names[0], turn=-90)
        x += self.left
        for i, row in enumerate(self.rows):
            at = y + i * self.height
            for j, device in enumerate(row):
                box = (x + j * self.width, at, self.width, self.height)
                canvas.fill([device], box)
                if self.height > 4:
                    (canvas.edge if self.labelled else canvas.faint)(box)
                if self.labelled:
                    canvas.label(
                        box[0] + self.width / 2, at + self.height / 2, device
                    )
        if not self.labelled:
            told = [
                (i * self.height, (i + 1) * self.height, row)
                for i, row in enumerate(self.rows)
            ]
            label_rows(canvas, x, y, self.across, told)


def _shortened(name: str) -> str:
    most = int((WIDTH - 40) / wide("m", MARK))
    if len(name) <= most:
        return name
    return name[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
