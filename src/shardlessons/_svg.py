"""Pictures: shapes in layers, laid out in blocks, with their text inside."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape

# Okabe and Ito's colours, which colour-blind readers tell apart, with grey for
# their black. The two of a pair (0 and 1, 2 and 3, ...) differ most. So thin,
# they leave a page's own text legible over them, on white and on black.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7",
    "#56b4e9", "#d55e00", "#f0e442", "#666666",
)  # fmt: skip
ALPHA = 0.33

# In units of the picture. It is never wider than this, and so a phone shows
# it unscaled: its text is as large there as these say.
WIDTH = 332
LABEL = 14
MARK = 12
_GAP = 14
_MOST = 300  # of a line
_NARROW = frozenset("fijlrt()[]' .,:;")

Box = tuple[float, float, float, float]  # x, y, width, height


class Canvas:
    """Shapes by layer, so that a style is written once for all its shapes."""

    def __init__(self) -> None:
        self._fills: list[str] = []
        self._grid: list[str] = []
        self._edges: dict[float, list[str]] = defaultdict(list)
        self._arrows: list[str] = []
        self._marks: list[str] = []
        self._labels: list[str] = []

    def fill(self, hues: Iterable[int], box: Box) -> None:
        """A box in one colour, or in slanting stripes of several."""
        x, y, width, height = map(number, box)
        # By id, so that a device has one colour in all pictures.
        hues = list(dict.fromkeys(hue % len(COLOURS) for hue in hues))
        at = f'x="{x}" y="{y}" width="{width}" height="{height}"'
        if len(hues) == 1:
            [hue] = hues
            self._fills.append(f'<rect {at} fill="{COLOURS[hue]}"/>')
            return
        # A dashed line, wide as the box and turned by 45 degrees, is the
        # stripes; the inner svg clips it. A <pattern> would need an id.
        stripe, reach = 8, math.ceil((box[2] + box[3]) / math.sqrt(2))
        stripes = "".join(
            f'<path stroke="{COLOURS[hue]}" d="M{i * stripe} 0H{reach}"/>'
            for i, hue in enumerate(hues)
        )
        dashes = f"{stripe} {stripe * (len(hues) - 1)}"
        self._fills.append(
            f'<svg {at}><g transform="rotate(45)" '
            f'stroke-width="{2 * reach}" '
            f'stroke-dasharray="{dashes}">{stripes}</g></svg>'
        )

    def edge(self, box: Box, stroke: float = 1) -> None:
        """The outline of a box."""
        self._edges[round(stroke, 2)].append(_outline(box))

    def faint(self, box: Box) -> None:
        """The outline of a box that words stand over."""
        self._grid.append(_outline(box))

    def grid(self, template: str, *numbers: float) -> None:
        """A faint line."""
        self._grid.append(path(template, *numbers))

    def arrow(self, points: Sequence[tuple[float, float]]) -> None:
        """From the first point to the last, bent by one between them."""
        (x, y), *bend, (to_x, to_y) = points
        from_x, from_y = bend[0] if bend else (x, y)
        away = math.atan2(from_y - to_y, from_x - to_x)
        head = [
            value
            for turn in (-0.45, 0.45)
            for value in (
                to_x + 7 * math.cos(away + turn),
                to_y + 7 * math.sin(away + turn),
            )
        ]
        line = "M{} {}Q{} {} {} {}" if bend else "M{} {}L{} {}"
        flat = [value for point in points for value in point]
        self._arrows.append(
            path(line, *flat)
            + path("M{} {}L{} {} {} {}", *head[:2], to_x, to_y, *head[2:])
        )

    def label(self, x: float, y: float, text: object) -> None:
        """What a shape is, bold and centred on a point."""
        self._labels.append(_text(x, y + 0.36 * LABEL, text))

    def mark(
        self, x: float, y: float, text: object, anchor: str = "", turn: int = 0
    ) -> None:
        """A text beside a shape, its middle at the height of a point."""
        more = f' text-anchor="{anchor}"' if anchor else ""
        if turn:
            more += path(' transform="rotate({} {} {})"', turn, x, y)
        self._marks.append(_text(x, y + 0.36 * MARK, text, more))

    def svg(
        self, width: float, height: float, title: str, lines: Sequence[str]
    ) -> str:
        """The picture alone; it needs no style sheet, script or font.

        Strokes and texts are in the colour of the text around it, so that
        it suits the page's theme.
        """
        strokes = "".join(
            f'<path d="{"".join(edges)}" stroke-width="{number(stroke)}"/>'
            for stroke, edges in self._edges.items()
        )
        layers = (
            ("", f'fill-opacity="{ALPHA}" stroke-opacity="{ALPHA}"',
             self._fills),
            ("path", 'stroke-opacity=".3" stroke-width=".75" '
             'stroke="currentColor"', self._grid),
            ("", 'stroke="currentColor"', [strokes] if strokes else []),
            ("path", 'stroke="currentColor" stroke-width="1.5"',
             self._arrows),
            ("", f'fill="currentColor" font-size="{MARK}"', self._marks),
            ("", f'fill="currentColor" font-size="{LABEL}" '
             'font-weight="600"', self._labels),
        )  # fmt: skip
        body = "".join(
            f'<path {style} d="{"".join(shapes)}"/>'
            if kind
            else f"<g {style}>{''.join(shapes)}</g>"
            for kind, style, shapes in layers
            if shapes
        )
        # The same picture has the same ids wherever it is drawn.
        spoken = (escape(title), escape(". ".join(lines)))
        name = "d" + sha256("".join((*spoken, body)).encode()).hexdigest()[:8]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'aria-labelledby="{name}t {name}d" '
            f'viewBox="0 0 {number(width)} {number(height)}" '
            f'style="display:block;width:{number(width / LABEL)}em;'
            'max-width:100%;height:auto" fill="none" '
            'font-family="system-ui,sans-serif" text-anchor="middle">'
            f'<title id="{name}t">{spoken[0]}</title>'
            f'<desc id="{name}d">{spoken[1]}</desc>{body}</svg>'
        )


@dataclass(frozen=True)
class Block:
    """A part of a picture: its size, and how to paint it from a corner."""

    width: float
    height: float
    paint: Callable[[Canvas, float, float], None]


def picture(blocks: Iterable[Block], title: str, lines: Sequence[str]) -> str:
    """Blocks from left to right, in as many rows as they need."""
    rows: list[list[Block]] = [[]]
    for block in blocks:
        used = sum(one.width + _GAP for one in rows[-1])
        if rows[-1] and used + block.width > WIDTH:
            rows.append([])
        rows[-1].append(block)
    canvas, right, y = Canvas(), 0.0, 0.0
    for row in rows:
        x = 0.0
        for block in row:
            block.paint(canvas, x, y)
            x += block.width + _GAP
        right = max(right, x - _GAP)
        y += max(block.height for block in row) + _GAP
    return canvas.svg(right, y - _GAP, title, lines)


def arrow_block(height: float) -> Block:
    """An arrow to the right, in the middle of a height."""

    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.arrow([(x, y + height / 2), (x + 16, y + height / 2)])

    return Block(18, height, paint)


def wide(text: object, size: int) -> float:
    """How much room a text takes in a wide font, as DejaVu Sans."""
    usual = 0.7 if size == LABEL else 0.64  # labels are bold
    return size * sum(
        1 if one in "mwMW" else 0.42 if one in _NARROW else usual
        for one in str(text)
    )


def folded(text: str, room: float, size: int) -> list[str]:
    """Lines no wider than the room, except for a word that is.

    A word wider than the picture is broken.
    """
    lines: list[str] = []
    for part in text.splitlines():
        for i, word in enumerate(part.split(" ")):
            longer = f"{lines[-1]} {word}" if i else word
            if i and wide(longer, size) <= room:
                lines[-1] = longer
                continue
            while wide(word, size) > _MOST:
                end = max(
                    end
                    for end in range(1, len(word))
                    if wide(word[:end], size) <= _MOST
                )
                lines.append(word[:end])
                word = word[end:]
            lines.append(word)
    return lines


def number(value: float) -> str:
    return f"{round(value, 1):g}"


def path(template: str, *numbers: float) -> str:
    return template.format(*map(number, numbers))


def _outline(box: Box) -> str:
    return path("M{} {}h{}v{}h{}z", *box, -box[2])


def _text(x: float, y: float, text: object, more: str = "") -> str:
    at = f'x="{number(x)}" y="{number(y)}"{more}'
    return f"<text {at}>{escape(str(text), quote=False)}</text>"
