"""The picture of a sharding: its tiles, its labels, what it refuses."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import SVG, filled, labels, svg, texts

from shardlessons import _svg, cpu_mesh, draw
from shardlessons._draw import Drawing
from shardlessons._places import device_words
from shardlessons._tiles import seen_in, tiles_of

MESH = "mesh data=4, model=2: devices 0-7, row by row"


def sharding(*spec, **mesh):
    return NamedSharding(cpu_mesh(mesh or {"data": 4, "model": 2}), P(*spec))


def lines(drawing):
    return str(drawing).splitlines()


def marks(drawing):
    return texts(drawing, 12)


# What it holds.


def test_a_drawing_is_data():
    drawing = draw(sharding("model"), (4, 8))

    expected = Drawing(
        title="4 x 8 in 2 tiles of 2 x 8, each on 4 of 8 devices",
        lines=(
            "rows 0-1 on 0, 2, 4 and 6",
            "rows 2-3 on 1, 3, 5 and 7",
            MESH,
        ),
        svg=drawing.svg,
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
    tiles = tiles_of(sharding(*spec), shape)
    seen = elements(seen_as, seen_in(shape, tiles, seen_as))

    before = elements(shape, tiles)
    assert sorted(before) == sorted(seen)
    assert dict(before) == dict(seen)


def elements(shape, tiles):
    """For each element, by its place in the row-major order, its devices."""
    width = shape[1] if len(shape) == 2 else 1
    return [
        (row * width + column, tile.devices)
        for tile in tiles
        for row in range(*tile.ranges[0])
        for column in range(*(*tile.ranges, (0, 1))[1])
    ]


# The picture.

EACH = [
    draw(sharding("data", "model"), (8, 16)),
    draw(sharding("data", "model"), (8, 16), seen_as=(16, 8)),
    draw(sharding("data"), (16, 8)),
    draw(sharding(), (8, 8)),
    draw(sharding("data"), (8,)),
    draw(sharding(None, "data"), (32, 4)),
]
ON_THE_MESH = [str(i) for i in range(8)]


def test_each_tile_is_labelled_by_its_devices_and_so_is_the_mesh():
    expected = [
        ON_THE_MESH,
        ["0", "1", "0", "1", "2", "3", "2", "3"]
        + ["4", "5", "4", "5", "6", "7", "6", "7"],
        ["0 1", "2 3", "4 5", "6 7"],
        ["0 1 2 3 4 5 6 7"],
        ["0 1", "2 3", "4 5", "6 7"],
    ]
    found = [labels(drawing) for drawing in EACH[:5]]
    assert expected == [words[:-8] for words in found]
    assert 5 * [ON_THE_MESH] == [words[-8:] for words in found]


def test_a_label_takes_lines_where_its_tile_is_narrow():
    assert ON_THE_MESH + ON_THE_MESH == labels(EACH[5])


def test_tiles_too_thin_for_a_label_are_told_by_row():
    where = sharding(None, ("data", "model"))
    drawing = draw(where, (64, 64), seen_as=(128, 32))

    assert {"0-7"} == {text for text in labels(drawing) if "-" in text}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ((3,), [["3"], ["3"]]),
        ((0, 1, 2, 6), [["0", "1", "2", "6"], ["0-2", "6"], ["×4"]]),
        (tuple(range(64)), [["0-63"], ["×64"]]),
        (
            (*range(5), *range(8, 13)),
            [["0-4", "8-12"], ["×10"]],
        ),
    ],
)
def test_a_label_is_each_device_or_their_ranges_or_number(devices, expected):
    assert expected == device_words(devices)


def test_edges_show_where_tiles_start_and_the_last_index():
    expected = ["0", "8", "15", "0", "2", "4", "6", "7", "model", "data"]
    assert expected == marks(EACH[0])
    assert ["0", "2", "4", "6", "7", "model", "data"] == marks(EACH[4])


def test_slices_are_drawn_side_by_side_and_named():
    drawing = draw(sharding("data", None, "model"), (8, 2, 4))

    named = [text for text in marks(drawing) if text.startswith("slice")]
    assert [f"slices {i}-{i + 1}" for i in (0, 2, 4, 6)] == named
    assert ON_THE_MESH + ON_THE_MESH == labels(drawing)


def test_a_mesh_of_three_axes_is_drawn_plane_by_plane():
    drawing = draw(sharding("x", x=2, y=2, z=2), (8,))

    expected = ["x 0", "z", "y", "x 1", "z", "y"]
    assert expected == marks(drawing)[-6:]
    assert ON_THE_MESH == labels(drawing)[-8:]


def test_the_tiles_are_as_large_as_their_parts_of_the_array():
    boxes = filled(EACH[0])[:8]
    (x, y, width, height) = boxes[0]

    expected = [
        (round(x + j * width, 1), round(y + i * height, 1), width, height)
        for i in range(4)
        for j in range(2)
    ]
    assert expected == boxes


def test_uneven_tiles_are_unevenly_wide():
    indices = ((slice(3),), (slice(3, None),))
    parts = dict(zip(jax.devices()[:2], indices, strict=True))
    drawing = draw(
        SimpleNamespace(devices_indices_map=lambda shape: parts), (5,)
    )

    widths = [width for _, _, width, _ in filled(drawing)]
    assert [3 / 5, 2 / 5] == [round(w / sum(widths), 3) for w in widths]
    assert ["0", "1"] == labels(drawing)


def test_replicas_are_stripes_of_the_colours_of_all_that_hold_them():
    first = svg(EACH[2]).find(f"{SVG}g/{SVG}svg")

    stripes = [path.get("stroke") for path in first.iter(f"{SVG}path")]
    assert [*_svg.COLOURS[:2]] == stripes


def test_a_device_has_one_colour_on_its_tile_and_on_the_mesh():
    colours = [
        shape.get("fill") for shape in svg(EACH[0]).iter(f"{SVG}rect")
    ]

    assert [*_svg.COLOURS, *_svg.COLOURS] == colours


# What it refuses.


@pytest.mark.parametrize(
    ("shape", "seen_as", "message"),
    [
        (
            (2, 2, 2, 2),
            None,
            "shape (2, 2, 2, 2) has 4 dimensions; draw() takes up to 3: "
            "leave out those that no mesh axis cuts",
        ),
        (
            (8,),
            (2, 2, 2),
            "seen_as (2, 2, 2) has 3 dimensions; draw() takes up to 2 with "
            "seen_as: leave out those that no mesh axis cuts",
        ),
        (
            (2, 2, 2),
            (8,),
            "shape (2, 2, 2) has 3 dimensions; draw() takes up to 2 with "
            "seen_as: leave out those that no mesh axis cuts",
        ),
        (
            (8, 0),
            (0,),
            "seen_as (0,) has no rows of elements, which draw() needs with "
            "seen_as; give it a dimension, each of size 1 or more",
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
