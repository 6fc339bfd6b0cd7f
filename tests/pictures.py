"""What is read off a picture, to hold it to what it has to be."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations

SVG = "{http://www.w3.org/2000/svg}"
# A phone's page has this much room for a picture, in pixels.
PHONE = 340


def svg(drawing):
    return ET.fromstring(drawing.svg)


def texts(drawing, size=None):
    """What is written in it, of one size of font if that is given."""
    return [
        text.text
        for group in svg(drawing).findall(f"{SVG}g[@font-size]")
        for text in group
        if size in (None, int(group.get("font-size")))
    ]


def labels(drawing):
    """What stands on the shapes, in bold."""
    return texts(drawing, 14)


def rectangles(drawing):
    """Every text as left, top, right and bottom, as wide as it can be."""
    for group in svg(drawing).findall(f"{SVG}g[@font-size]"):
        size = float(group.get("font-size"))
        for text in group:
            x, y = float(text.get("x")), float(text.get("y"))
            # Of DejaVu Sans, which is wide; digits in bold wider still.
            digit = 0.7 if group.get("font-weight") else 0.64
            wide = size * sum(
                1 if c in "mwMW" else 0.42 if c in "fijlrt()[]' .,:;" else digit
                for c in text.text
            )
            anchor = text.get("text-anchor", "middle")
            left = x - wide * {"start": 0, "middle": 0.5, "end": 1}[anchor]
            box = (left, y - 0.72 * size, left + wide, y)
            if turned := text.get("transform"):
                # By -90 degrees about the middle of its line.
                _, about_x, about_y = map(float, turned[7:-1].split())
                top, bottom = about_y - wide / 2, about_y + wide / 2
                box = (about_x - size / 2, top, about_x + size / 2, bottom)
            yield text.text, box


def overlaps(drawing):
    """Pairs of texts that meet."""
    return [
        (one, other)
        for (one, a), (other, b) in combinations(rectangles(drawing), 2)
        if min(a[2], b[2]) - max(a[0], b[0]) > 0.5
        and min(a[3], b[3]) - max(a[1], b[1]) > 0.5
    ]


def outside(drawing):
    """Texts that the picture's edge cuts."""
    _, _, width, height = map(float, svg(drawing).get("viewBox").split())
    return [
        text
        for text, box in rectangles(drawing)
        if box[0] < -1 or box[1] < -1 or box[2] > width + 1 or box[3] > height
    ]


def filled(drawing):
    """The boxes that have a colour, as x, y, width and height."""
    group = svg(drawing).find(f"{SVG}g[@fill-opacity]")
    return [
        tuple(float(shape.get(at)) for at in ("x", "y", "width", "height"))
        for shape in group
    ]
