"""`draw`: who holds what, as a text and as a picture that says the same."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import jax
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

from shardlessons import _svg, cpu_mesh, draw
from shardlessons._draw import Drawing
from shardlessons._tiles import Tile

# Text and ground of sphinx-book-theme, and of a page that is all black.
THEMES = {
    "light": ("#323232", "#ffffff"),
    "dark": ("#ced6dd", "#121212"),
    "dark theme": ("#ced6dd", "#14181e"),
}
# The widest picture is drawn on a phone's page of this width, in pixels.
PHONE = 340


def sharding(*spec, **mesh):
    return NamedSharding(cpu_mesh(mesh or {"data": 4, "model": 2}), P(*spec))


def lines(drawing):
    return str(drawing).splitlines()


def svg(drawing):
    return ET.fromstring(drawing._repr_html_()).find("svg")


def labels(drawing):
    """The texts of the last group: which devices hold each tile."""
    return [text.text for text in svg(drawing).findall("g")[-1]]


def marks(drawing):
    return [text.text for text in svg(drawing).findall("g")[-2]]


# What it holds.


def test_a_drawing_is_data():
    drawing = draw(sharding("model"), (4, 8))

    expected = Drawing(
        title="4 x 8 in 2 tiles of 2 x 8, each on 4 of 8 devices",
        shape=(4, 8),
        tiles=(
            Tile(ranges=((0, 2), (0, 8)), devices=(0, 2, 4, 6)),
            Tile(ranges=((2, 4), (0, 8)), devices=(1, 3, 5, 7)),
        ),
    )
    assert expected == drawing
    with pytest.raises(dataclasses.FrozenInstanceError):
        drawing.title = ""


@pytest.mark.parametrize(
    ("spec", "shape", "seen_as"),
    [
        (("data", "model"), (8, 16), (16, 8)),
        (("data", "model"), (8, 16), (128,)),
        ((None, "model"), (6, 4), (3, 8)),
        (("data",), (4, 6), (3, 8)),
        (("data",), (4, 6), (8, 3)),
        (("data",), (24,), (4, 6)),
        ((), (4, 6), (2, 12)),
    ],
)
def test_seen_as_leaves_each_element_where_it_was(spec, shape, seen_as):
    where = sharding(*spec)
    drawing = draw(where, shape, seen_as=seen_as)

    before = elements(draw(where, shape))
    assert sorted(before) == sorted(elements(drawing))
    assert dict(before) == dict(elements(drawing))
    assert seen_as == drawing.shape


def elements(drawing):
    """For each element, by its place in the row-major order, its devices."""
    width = drawing.shape[1] if len(drawing.shape) == 2 else 1
    return [
        (row * width + column, tile.devices)
        for tile in drawing.tiles
        for row in range(*tile.ranges[0])
        for column in range(*(*tile.ranges, (0, 1))[1])
    ]


def test_rows_alike_below_each_other_are_one_tile():
    drawing = draw(sharding(None, "model"), (16, 8), seen_as=(8, 16))

    expected = [((0, 8), (at, at + 4)) for at in (0, 4, 8, 12)]
    assert expected == [tile.ranges for tile in drawing.tiles]


# The text.


def test_two_dimensions_cut():
    expected = [
        "8 x 16 in 8 tiles of 2 x 8 on 8 devices",
        "rows 0-1: columns 0-7 on 0, columns 8-15 on 1",
        "rows 2-3: columns 0-7 on 2, columns 8-15 on 3",
        "rows 4-5: columns 0-7 on 4, columns 8-15 on 5",
        "rows 6-7: columns 0-7 on 6, columns 8-15 on 7",
    ]
    assert expected == lines(draw(sharding("data", "model"), (8, 16)))


def test_replicas_and_no_columns_where_rows_are_whole():
    expected = [
        "16 x 8 in 4 tiles of 4 x 8, each on 2 of 8 devices",
        "rows 0-3 on 0 and 1",
        "rows 4-7 on 2 and 3",
        "rows 8-11 on 4 and 5",
        "rows 12-15 on 6 and 7",
    ]
    assert expected == lines(draw(sharding("data"), (16, 8)))


def test_seen_as_says_which_rows_alternate():
    expected = [
        "8 x 16 in 8 tiles of 2 x 8 on 8 devices, seen as 16 x 8",
        "rows 0 and 2 on 0; rows 1 and 3 on 1",
        "rows 4 and 6 on 2; rows 5 and 7 on 3",
        "rows 8 and 10 on 4; rows 9 and 11 on 5",
        "rows 12 and 14 on 6; rows 13 and 15 on 7",
    ]
    drawing = draw(sharding("data", "model"), (8, 16), seen_as=(16, 8))
    assert expected == lines(drawing)


@pytest.mark.parametrize(
    ("where", "shape", "expected"),
    [
        (
            sharding(None, "model"),
            (4, 8),
            [
                "4 x 8 in 2 tiles of 4 x 4, each on 4 of 8 devices",
                "all rows: columns 0-3 on 0, 2, 4 and 6; "
                "columns 4-7 on 1, 3, 5 and 7",
            ],
        ),
        (
            sharding(),
            (8, 8),
            ["8 x 8 whole on each of 8 devices", "all on 0-7"],
        ),
        (
            SingleDeviceSharding(jax.devices()[3]),
            (8,),
            ["8 elements whole on 1 device", "all on 3"],
        ),
        (
            sharding("data"),
            (8,),
            [
                "8 elements in 4 tiles of 2, each on 2 of 8 devices",
                "elements 0-1 on 0 and 1",
                "elements 2-3 on 2 and 3",
                "elements 4-5 on 4 and 5",
                "elements 6-7 on 6 and 7",
            ],
        ),
        (
            sharding(None, "x", x=2),
            (1, 2),
            [
                "1 x 2 in 2 tiles of 1 x 1 on 2 devices",
                "row 0: column 0 on 0, column 1 on 1",
            ],
        ),
    ],
)
def test_text(where, shape, expected):
    assert expected == lines(draw(where, shape))


def test_long_lines_go_on_after_a_comma():
    expected = [
        "2 x 32 in 8 tiles of 2 x 4 on 8 devices",
        "all rows: columns 0-3 on 0, columns 4-7 on 1, columns 8-11 on 2,",
        "  columns 12-15 on 3, columns 16-19 on 4, columns 20-23 on 5,",
        "  columns 24-27 on 6, columns 28-31 on 7",
    ]
    assert expected == lines(draw(sharding(None, ("data", "model")), (2, 32)))


def test_many_steps_are_told_by_their_first_two_and_the_last():
    drawing = draw(sharding(None, "x", x=2), (8, 8), seen_as=(16, 4))

    expected = "rows 0, 2 and so on to 14 on 0; rows 1, 3 and so on to 15 on 1"
    assert expected == lines(drawing)[1]


def test_uneven_tiles_have_no_common_size():
    indices = ((slice(3),), (slice(3, None),))
    parts = dict(zip(jax.devices()[:2], indices, strict=True))
    uneven = SimpleNamespace(devices_indices_map=lambda shape: parts)

    expected = [
        "5 elements in 2 tiles on 2 devices",
        "elements 0-2 on 0",
        "elements 3-4 on 1",
    ]
    assert expected == lines(draw(uneven, (5,)))


def test_repr_is_the_text():
    drawing = draw(sharding("data"), (16, 8))

    assert str(drawing) == repr(drawing)


# The picture.

EACH = [
    draw(sharding("data", "model"), (8, 16)),
    draw(sharding("data", "model"), (8, 16), seen_as=(16, 8)),
    draw(sharding("data"), (16, 8)),
    draw(sharding(), (8, 8)),
    draw(sharding("data"), (8,)),
    draw(sharding(None, "data"), (32, 4)),
    draw(sharding("data", "model"), (8192, 1024)),
    draw(sharding(None, ("data", "model")), (64, 64), seen_as=(128, 32)),
]


@pytest.mark.parametrize("drawing", EACH, ids=lambda drawing: drawing.title)
def test_the_text_and_its_name_for_a_screen_reader_say_the_same(drawing):
    figure = ET.fromstring(drawing._repr_html_())
    named = [node for node in figure.iter() if "aria-label" in node.attrib]
    text = re.sub(r"\n(?!  )", ". ", str(drawing)).replace("\n  ", " ") + "."

    assert [figure.find("svg")] == named
    assert "img" == named[0].get("role")
    assert text == named[0].get("aria-label")
    assert [] == [n for n in figure.iter() if n.tag in ("title", "desc")]


@pytest.mark.parametrize("drawing", EACH, ids=lambda drawing: drawing.title)
def test_the_picture_can_stand_twice_on_a_page_without_a_network(drawing):
    html = drawing._repr_html_()

    assert None is re.search(r"\bid=|href|url\(|<script|<style|@import", html)


@pytest.mark.parametrize("drawing", EACH, ids=lambda drawing: drawing.title)
def test_text_on_a_phone_is_at_least_11_pixels(drawing):
    picture = svg(drawing)
    width = float(picture.get("viewBox").split()[2])
    texts = picture.findall("g")[1:]
    sizes = [float(group.get("font-size")) for group in texts]

    assert 11 <= min(sizes) * min(1, PHONE / width)
    assert "max-width:100%" in picture.get("style")


def test_the_picture_is_the_same_in_another_process():
    program = (
        "from jax.sharding import NamedSharding, PartitionSpec as P\n"
        "from shardlessons import cpu_mesh, draw\n"
        "mesh = cpu_mesh({'data': 4, 'model': 2})\n"
        "print(draw(NamedSharding(mesh, P('data')), (16, 8))._repr_html_())"
    )
    other = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )

    expected = draw(sharding("data"), (16, 8))._repr_html_() + "\n"
    assert expected == other.stdout


def test_each_tile_is_labelled_by_its_devices():
    assert [str(i) for i in range(8)] == labels(EACH[0])
    assert ["0 1", "2 3", "4 5", "6 7"] == labels(EACH[2])
    assert ["0 1 2 3 4 5 6 7"] == labels(EACH[3])


def test_a_label_takes_lines_where_its_tile_is_narrow():
    assert ["0", "1", "2", "3", "4", "5", "6", "7"] == labels(EACH[5])


def test_tiles_too_thin_for_a_label_have_none():
    assert [] == labels(EACH[7])


def test_edges_show_where_tiles_start_and_the_last_index():
    assert ["0", "8", "15", "0", "2", "4", "6", "7"] == marks(EACH[0])
    assert ["0", "2", "4", "6", "7"] == marks(EACH[4])


def test_either_shape_of_a_reshape_has_the_same_step():
    heights = [
        float(svg(drawing).find("g/rect").get("height")) / rows
        for drawing, rows in ((EACH[0], 2), (EACH[1], 1))
    ]

    assert [18, 18] == heights


def test_replicas_are_stripes_of_the_colours_of_all_that_hold_them():
    first = svg(EACH[2]).find("g/svg")

    expected = [("device-0", _svg.COLOURS[0]), ("device-1", _svg.COLOURS[1])]
    stripes = [(p.get("class"), p.get("stroke")) for p in first.iter("path")]
    assert expected == stripes


def test_elements_are_told_apart_up_to_32_a_side():
    grids = [svg(draw(sharding("data"), (n,))).find("path") for n in (32, 64)]

    assert [True, False] == [bool(grid.get("d")) for grid in grids]


def test_strokes_and_text_take_the_colour_of_the_page():
    picture = svg(EACH[0])

    strokes = [path.get("stroke") for path in picture.findall("path")]
    assert ["currentColor", "currentColor"] == strokes
    texts = [group.get("fill") for group in picture.findall("g")[1:]]
    assert ["currentColor", "currentColor"] == texts


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("colour", _svg.COLOURS)
def test_text_has_contrast_on_every_colour(colour, theme):
    text, ground = map(rgb, THEMES[theme])
    seen = [
        _svg.ALPHA * over + (1 - _svg.ALPHA) * under
        for over, under in zip(rgb(colour), ground, strict=True)
    ]
    low, high = sorted([luminance(text), luminance(seen)])

    assert (high + 0.05) / (low + 0.05) >= 4.5


def rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(channels):
    """Relative luminance, as WCAG 2.2 defines it."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in channels
    ]
    return sum(
        share * c
        for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )


# What it refuses.


@pytest.mark.parametrize(
    ("shape", "seen_as", "message"),
    [
        (
            (),
            None,
            "shape () has 0 dimensions; draw() takes 1 or 2: leave out those "
            "that no mesh axis cuts",
        ),
        (
            (2, 2, 2),
            None,
            "shape (2, 2, 2) has 3 dimensions; draw() takes 1 or 2: leave "
            "out those that no mesh axis cuts",
        ),
        (
            (8,),
            (2, 2, 2),
            "seen_as (2, 2, 2) has 3 dimensions; draw() takes 1 or 2: leave "
            "out those that no mesh axis cuts",
        ),
        (
            (8, 0),
            None,
            "shape (8, 0) has a dimension of size 0; draw() takes sizes of 1 "
            "or more",
        ),
        (
            (8, 16),
            (16, 9),
            "shape (8, 16) has 128 elements and seen_as (16, 9) has 144; "
            "give seen_as a shape of the same size",
        ),
    ],
)
def test_a_shape_that_cannot_be_drawn(shape, seen_as, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw(sharding(), shape, seen_as=seen_as)


def test_more_tiles_than_can_be_seen():
    message = (
        "the drawing would have 2048 tiles, and can show 1024; give a "
        "smaller shape that is cut the same way"
    )

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw(sharding(None, "model"), (1024, 4), seen_as=(4096,))


def test_a_dimension_that_the_mesh_does_not_divide_is_for_jax_to_refuse():
    where = sharding("data")
    with pytest.raises(ValueError, match="evenly divide") as by_jax:
        where.devices_indices_map((6, 8))
    with pytest.raises(ValueError, match="evenly divide") as by_draw:
        draw(where, (6, 8))

    assert str(by_jax.value) == str(by_draw.value)
