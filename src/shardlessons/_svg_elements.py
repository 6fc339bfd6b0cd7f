"""Elements of an array, numbered, in the colours of their devices."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby

from shardlessons._moves import Devices
from shardlessons._places import ids_text
from shardlessons._svg import LABEL, MARK, WIDTH, Block, Canvas, wide

_CELL = 18
_GAP = 6


@dataclass(frozen=True)
class _Run:
    """Neighbours in a row on the same devices, and whether that is told."""

    devices: Devices
    told: bool
    count: int


def elements_block(
    holders: Sequence[Devices],
    columns: int,
    caption: str,
    *,
    preposition: str,
    told: Collection[int],
    numbers: Sequence[int] = (),
) -> Block:
    """Rows of elements, and words for where each of them is or comes from.

    Args:
        holders: for each element, row by row, the devices that give it its
            colours.
        columns: how many elements a row has.
        caption: what to write above.
        preposition: what stands before the devices: ``on``, ``was on``.
        told: the numbers of the elements whose devices are told.
        numbers: the elements' numbers, if not 0, 1, 2, ...
    """
    numbers = numbers or range(len(holders))
    cell = max(_CELL, wide(max(numbers), MARK) + 3)
    rows = [
        _runs(holders, [n in told for n in numbers], range(at, at + columns))
        for at in range(0, len(holders), columns)
    ]

    def words(devices: Devices) -> str:
        return f"{preposition} {ids_text(devices)}"

    # A row of one run is told beside it; rows cut alike are told above, and
    # what has no room in either place is told below, by its colours.
    beside = [
        words(runs[0].devices) if len(runs) == 1 and runs[0].told else ""
        for runs in rows
    ]
    above = [run for run in rows[0] if run.told]
    below: list[Devices] = []
    room = WIDTH - columns * cell - _GAP
    if any(beside):
        above = []
    if max(wide(text, LABEL) for text in beside) > room or (
        not any(beside)
        and (
            len(set(map(tuple, rows))) > 1
            or any(
                wide(words(run.devices), LABEL) > run.count * cell
                for run in above
            )
        )
    ):
        beside, above = [""] * len(rows), []
        below = list(
            dict.fromkeys(
                run.devices for runs in rows for run in runs if run.told
            )
        )
    top = MARK + 5 + (LABEL + 4) * bool(above)
    bottom = top + len(rows) * cell + 2

    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.mark(x + 1, y + MARK / 2, caption, "start")
        left = x + 1
        for run in rows[0] if above else []:
            if run.told:
                at = y + top - LABEL / 2 - 3
                middle = left + run.count * cell / 2
                canvas.label(middle, at, words(run.devices))
            left += run.count * cell
        for row, runs in enumerate(rows):
            left, at = x + 1, y + top + row * cell
            for run in runs:
                box = (left, at, run.count * cell, cell)
                canvas.fill(run.devices, box)
                canvas.edge(box, 1.5)
                left += run.count * cell
            for i in range(columns):
                number = numbers[row * columns + i]
                canvas.mark(x + 1 + (i + 0.5) * cell, at + cell / 2, number)
            if beside[row]:
                middle = left + _GAP + wide(beside[row], LABEL) / 2
                canvas.label(middle, at + cell / 2, beside[row])
        for i, devices in enumerate(below):
            at = y + bottom + 3 + i * (LABEL + 4)
            canvas.fill(devices, (x + 1, at, 24, LABEL))
            canvas.edge((x + 1, at, 24, LABEL), 1.5)
            text = words(devices)
            middle = x + 25 + _GAP + wide(text, LABEL) / 2
            canvas.label(middle, at + LABEL / 2, text)

    across = columns * cell
    if any(beside):
        across += _GAP + max(wide(text, LABEL) for text in beside)
    told_below = [wide(words(devices), LABEL) + 25 + _GAP for devices in below]
    return Block(
        max(across, wide(caption, MARK), *told_below) + 2,
        bottom + (3 + len(below) * (LABEL + 4)) * bool(below),
        paint,
    )


def down_block(text: str) -> Block:
    """An arrow down, with a text to its right; it has a row for itself."""

    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.arrow([(x + 8, y), (x + 8, y + 20)])
        canvas.mark(x + 20, y + 10, text, "start")

    return Block(WIDTH, 22, paint)


def _runs(
    holders: Sequence[Devices], told: Sequence[bool], row: range
) -> list[_Run]:
    return [
        _Run(devices, is_told, len(list(run)))
        for (devices, is_told), run in groupby(
            row, key=lambda at: (holders[at], told[at])
        )
    ]

