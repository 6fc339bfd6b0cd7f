"""Tiles as an SVG: coloured and labelled by the devices that hold them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from shardlessons._tiles import Range, Tile

# Okabe and Ito's colours, which colour-blind readers tell apart, with grey for
# their black. The two of a pair (0 and 1, 2 and 3, ...) differ most. So thin,
# they leave a page's own text legible over them, on white and on black.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7",
    "#56b4e9", "#d55e00", "#f0e442", "#666666",
)  # fmt: skip
ALPHA = 0.33

# In units of the picture. It is never wider than 332, and so a phone of 340
# pixels shows it unscaled: its text is as large there as these say.
_SIDE = 288
_LABEL = 14
_INDEX = 12
_DIGIT = 0.6  # of the font's size: wide enough for any usual font

Box = tuple[float, float, float, float]  # x, y, width, height


def html(
    shape: tuple[int, ...],
    tiles: Sequence[Tile],
    labels: list[list[str]],
    spoken: str,
) -> str:
    """An SVG that needs no ids, style sheet or script of its own.

    Strokes and text are in the colour of the text around it, so that it
    suits the page's theme; a page's own CSS may change any part.
    """
    # One dimension lies along a row.
    rows, columns = (1, *shape)[-2:]
    downs = [((0, 1), *tile.ranges)[-2] for tile in tiles]
    acrosses = [tile.ranges[-1] for tile in tiles]
    left = 6 + _wide(rows - 1, _INDEX) if len(shape) == 2 else 2
    top = _INDEX + 6
    # The same step for either shape of a reshape, unless a label needs more.
    unit = _SIDE / max(8, rows, columns)
    widths = (max(_wide(word, _LABEL) for word in words) for words in labels)
    x_unit = _roomy(max(unit, 60 / columns), _SIDE / columns, acrosses, widths)
    labels = [
        _fitted(words, (b - a) * x_unit)
        for words, (a, b) in zip(labels, acrosses, strict=True)
    ]
    heights = map(_tall, labels)
    y_unit = _roomy(max(unit, 36 / rows), 3 * _SIDE / rows, downs, heights)
    fills, edges, grid, texts = [], [], [], []
    for tile, (r0, r1), (c0, c1), lines in zip(
        tiles, downs, acrosses, labels, strict=True
    ):
        width, height = (c1 - c0) * x_unit, (r1 - r0) * y_unit
        box = (left + c0 * x_unit, top + r0 * y_unit, width, height)
        shown = lines if _tall(lines) <= height else []
        fills.append(_fill(tile.devices, box))
        edges.append(_path("M{} {}h{}v{}h{}z", *box, -width))
        if max(rows, columns) <= 32:
            grid += _grid(box, (x_unit, y_unit), shown)
        texts += _label(box, shown)
    need = _wide(columns - 1, _INDEX) + 4
    marks = [
        _text(left + at, _INDEX, index)
        for index, at in _marks(acrosses, x_unit, need)
    ]
    if len(shape) == 2:
        marks += [
            _text(left - 5, top + at + 0.35 * _INDEX, index, "end")
            for index, at in _marks(downs, y_unit, _INDEX)
        ]
    # Many thin tiles must not be all outline.
    thinnest = min(
        *((b - a) * x_unit for a, b in acrosses),
        *((b - a) * y_unit for a, b in downs),
    )
    width = left + columns * x_unit + 8
    height = top + rows * y_unit + 2
    return f"""\
<figure class="sharding" style="margin:1em 0">
<svg role="img" aria-label="{escape(spoken)}." \
viewBox="0 0 {_number(width)} {_number(height)}" \
style="display:block;width:{_number(width / _LABEL)}em;max-width:100%;\
height:auto" fill="none" stroke="none">
<g fill-opacity="{ALPHA}" stroke-opacity="{ALPHA}">{"".join(fills)}</g>
<path d="{"".join(grid)}" stroke="currentColor" stroke-opacity="0.3" \
stroke-width="0.75"/>
<path d="{"".join(edges)}" stroke="currentColor" \
stroke-width="{_number(min(2, thinnest / 6))}"/>
<g fill="currentColor" font-size="{_INDEX}" text-anchor="middle">\
{"".join(marks)}</g>
<g fill="currentColor" font-size="{_LABEL}" font-weight="600" \
text-anchor="middle">{"".join(texts)}</g>
</svg>
</figure>"""


def _fill(devices: tuple[int, ...], box: Box) -> str:
    """A device's colour, or slanting stripes of the colours of several."""
    x, y, width, height = map(_number, box)
    # By id, so that a device has one colour in all drawings.
    hues = list(dict.fromkeys(device % len(COLOURS) for device in devices))
    at = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    if len(hues) == 1:
        [hue] = hues
        return f'<rect {at} class="device-{hue}" fill="{COLOURS[hue]}"/>'
    # A dashed line, wide as the tile and turned by 45 degrees, is the
    # stripes; the inner svg clips it. A <pattern> would need an id, which
    # two drawings on a page could share.
    stripe, reach = 8, math.ceil((box[2] + box[3]) / math.sqrt(2))
    stripes = "".join(
        f'<path class="device-{hue}" stroke="{COLOURS[hue]}" '
        f'd="M{i * stripe} 0H{reach}"/>'
        for i, hue in enumerate(hues)
    )
    dashes = f"{stripe} {stripe * (len(hues) - 1)}"
    return (
        f'<svg {at}><g transform="rotate(45)" stroke-width="{2 * reach}" '
        f'stroke-dasharray="{dashes}">{stripes}</g></svg>'
    )


def _grid(
    box: Box, units: tuple[float, float], lines: list[str]
) -> Iterator[str]:
    """The elements' edges inside a tile, interrupted by its label."""
    wide = max((_wide(line, _LABEL) for line in lines), default=0)
    hole = (wide / 2 + 1, _tall(lines) / 2 - 1)
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
                yield _path(template, at, start, stop)


def _fitted(words: list[str], width: float) -> list[str]:
    """The words in as few lines as fit the width; none if one does not."""
    most = int((width - 4) / (_DIGIT * _LABEL))
    if most < max(map(len, words)):
        return []
    return textwrap.wrap(" ".join(words), most, break_on_hyphens=False)


def _label(box: Box, lines: list[str]) -> Iterator[str]:
    x, y, width, height = box
    for i, line in enumerate(lines):
        step = (i - (len(lines) - 1) / 2) * (_LABEL + 1)
        yield _text(x + width / 2, y + height / 2 + step + 0.36 * _LABEL, line)


def _marks(
    ranges: list[Range], unit: float, need: float
) -> list[tuple[int, float]]:
    """The first index of each tile, and the very last, that have room."""
    size = max(stop for _, stop in ranges)
    marks: dict[int, float] = {}
    for index in [0, size - 1, *sorted({start for start, _ in ranges})]:
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
        (need + 3) / (b - a)
        for need, (a, b) in zip(needs, ranges, strict=True)
    )
    return max(unit, larger) if larger <= most else unit


def _wide(text: object, size: int) -> float:
    return len(str(text)) * _DIGIT * size


def _tall(lines: list[str]) -> float:
    return len(lines) * (_LABEL + 1)


def _text(x: float, y: float, text: object, anchor: str = "") -> str:
    end = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{_number(x)}" y="{_number(y)}"{end}>{text}</text>'


def _path(template: str, *numbers: float) -> str:
    return template.format(*map(_number, numbers))


def _number(value: float) -> str:
    return f"{round(value, 2):g}"
