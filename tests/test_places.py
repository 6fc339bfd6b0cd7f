"""What a picture of a sharding says in words."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from pictures import labels

from shardlessons import cpu_mesh, draw
from shardlessons._tiles import seen_in, tiles_of

MESH = "mesh data=4, model=2: devices 0-7, row by row"


def sharding(*spec, **mesh):
    return NamedSharding(cpu_mesh(mesh or {"data": 4, "model": 2}), P(*spec))


def lines(drawing):
    return str(drawing).splitlines()


def test_rows_alike_below_each_other_are_one_tile():
    tiles = tiles_of(sharding(None, "model"), (16, 8))
    seen = seen_in((16, 8), tiles, (8, 16))

    expected = [((0, 8), (at, at + 4)) for at in (0, 4, 8, 12)]
    assert expected == [tile.ranges for tile in seen]


# The text.


def test_two_dimensions_cut():
    expected = [
        "8 x 16 in 8 tiles of 2 x 8 on 8 devices",
        "rows 0-1: columns 0-7 on 0, columns 8-15 on 1",
        "rows 2-3: columns 0-7 on 2, columns 8-15 on 3",
        "rows 4-5: columns 0-7 on 4, columns 8-15 on 5",
        "rows 6-7: columns 0-7 on 6, columns 8-15 on 7",
        MESH,
    ]
    assert expected == lines(draw(sharding("data", "model"), (8, 16)))


def test_replicas_and_no_columns_where_rows_are_whole():
    expected = [
        "16 x 8 in 4 tiles of 4 x 8, each on 2 of 8 devices",
        "rows 0-3 on 0 and 1",
        "rows 4-7 on 2 and 3",
        "rows 8-11 on 4 and 5",
        "rows 12-15 on 6 and 7",
        MESH,
    ]
    assert expected == lines(draw(sharding("data"), (16, 8)))


def test_seen_as_says_which_rows_alternate():
    expected = [
        "8 x 16 in 8 tiles of 2 x 8 on 8 devices, seen as 16 x 8",
        "rows 0 and 2 on 0; rows 1 and 3 on 1",
        "rows 4 and 6 on 2; rows 5 and 7 on 3",
        "rows 8 and 10 on 4; rows 9 and 11 on 5",
        "rows 12 and 14 on 6; rows 13 and 15 on 7",
        MESH,
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
                MESH,
            ],
        ),
        (
            sharding(),
            (8, 8),
            ["8 x 8 whole on each of 8 devices", "all on 0-7", MESH],
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
                MESH,
            ],
        ),
        (
            sharding(None, "x", x=2),
            (1, 2),
            [
                "1 x 2 in 2 tiles of 1 x 1 on 2 devices",
                "row 0: column 0 on 0, column 1 on 1",
                "mesh x=2: devices 0-1, row by row",
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
        MESH,
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


@pytest.mark.parametrize(
    ("where", "shape", "expected"),
    [
        (sharding(), (), ["scalar whole on each of 8 devices", "all on 0-7"]),
        (
            sharding(None, "model"),
            (0, 8),
            [
                "0 x 8 in 2 tiles of 0 x 4, each on 4 of 8 devices",
                "no elements",
            ],
        ),
        (
            sharding("data"),
            (0,),
            ["0 elements whole on each of 8 devices", "no elements"],
        ),
        (
            sharding("data", None, "model"),
            (8, 2, 4),
            [
                "8 x 2 x 4 in 8 tiles of 2 x 2 x 2 on 8 devices",
                *(
                    f"slices {2 * i}-{2 * i + 1}, all rows: "
                    f"columns 0-1 on {2 * i}, columns 2-3 on {2 * i + 1}"
                    for i in range(4)
                ),
            ],
        ),
        (
            sharding("model"),
            (2, 4, 4),
            [
                "2 x 4 x 4 in 2 tiles of 1 x 4 x 4, each on 4 of 8 devices",
                "slice 0 on 0, 2, 4 and 6",
                "slice 1 on 1, 3, 5 and 7",
            ],
        ),
        (
            sharding(None, "model"),
            (2, 4, 4),
            [
                "2 x 4 x 4 in 2 tiles of 2 x 2 x 4, each on 4 of 8 devices",
                "slices 0-1, rows 0-1 on 0, 2, 4 and 6",
                "slices 0-1, rows 2-3 on 1, 3, 5 and 7",
            ],
        ),
    ],
)
def test_any_number_of_dimensions_up_to_three(where, shape, expected):
    assert [*expected, MESH] == lines(draw(where, shape))


def test_a_mesh_in_another_order_says_which_device_is_where():
    devices = cpu_mesh({"x": 4}).devices[[0, 1, 3, 2]]
    where = NamedSharding(jax.sharding.Mesh(devices, ("x",)), P("x"))
    drawing = draw(where, (4,))

    expected = "mesh x=4: devices 0, 1, 3, 2, row by row"
    assert expected == lines(drawing)[-1]
    assert ["0", "1", "3", "2"] == labels(drawing)[4:]
