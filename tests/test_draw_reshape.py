"""`draw_reshape`: each element before and after, and who has to receive it."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import filled, labels, texts

from shardlessons import cpu_mesh, draw_reshape, read
from shardlessons._moves import sides_of
from shardlessons._tiles import tiles_of

MESH = cpu_mesh({"data": 4, "model": 2})


def struct(shape, *spec):
    sharding = NamedSharding(MESH, P(*spec))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


X = struct((8, 16), "data", "model")


def test_what_two_devices_have_to_exchange():
    drawing = draw_reshape(X, struct((16, 8), "data"))

    assert (
        "8 x 16 under P('data', 'model') becomes 16 x 8 under P('data',)"
        == drawing.title
    )
    expected = (
        "rows 0-1 of 8 x 16, elements 0-31: "
        "0-7 and 16-23 on 0; 8-15 and 24-31 on 1",
        "the same elements are rows 0-3 of 16 x 8",
        "after it, 0 holds 0-31, of which 8-15 and 24-31 were on 1",
        "after it, 1 holds 0-31, of which 0-7 and 16-23 were on 0",
    )
    assert expected == drawing.lines


def test_the_picture_numbers_every_element_four_times():
    drawing = draw_reshape(X, struct((16, 8), "data"))
    numbers = [text for text in texts(drawing, 12) if text.isdigit()]

    assert [str(i) for i in range(32)] * 4 == numbers
    expected = ["on 0", "on 1"] * 3 + ["was on 1"] * 2 + ["was on 0"] * 2
    assert expected == labels(drawing)
    # Two runs of elements in each of two rows, then a row each.
    assert 2 * 2 + 3 * 4 == len(filled(drawing))


def test_arrays_with_data_and_leaves_of_a_reading_will_do():
    x = jax.device_put(jnp.ones((8, 16)), X.sharding)
    after = read(lambda a: a.reshape(16, 8), X).outputs[0]

    expected = draw_reshape(X, struct((16, 8), "data"))
    assert expected == draw_reshape(x, after)


def test_nothing_is_received_where_all_is_held():
    drawing = draw_reshape(struct((16, 8), "data"), X)

    expected = (
        "after it, 0 holds 0-7 and 16-23, all of which it held before",
        "after it, 1 holds 8-15 and 24-31, all of which it held before",
    )
    assert expected == drawing.lines[-2:]
    assert [] == [text for text in labels(drawing) if text[:3] == "was"]


def test_replicas_are_named_together():
    drawing = draw_reshape(
        struct((8, 4), None, "model"), struct((4, 8), "data")
    )

    assert (
        "after it, 0 holds 0-7, of which 2-3 and 6-7 were on 1, 3, 5 and 7"
        == drawing.lines[2]
    )
    assert "was on 1, 3, 5 and 7" in labels(drawing)


def test_one_element_was():
    drawing = draw_reshape(
        struct((8, 1), "data"), struct((1, 8), None, "data")
    )
    other = draw_reshape(
        struct((2, 4), "model", "data"), struct((4, 2), "data")
    )

    assert all(line.endswith("before") for line in drawing.lines[2:])
    assert "after it, 0 holds 0-1, of which 1 was on 2" == other.lines[2]


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        (((8, 16), ("data", "model")), ((16, 8), ("data",)), 32),
        (((8, 16), (None, "model")), ((16, 8), ()), 128),
        (((16, 8), ("model",)), ((8, 16), ("data",)), 64),
        (((128,), ("data",)), ((16, 8), ("data",)), 128),
    ],
)
def test_the_fewest_rows_that_are_whole_tiles_in_both(before, after, count):
    arrays = [struct(shape, *spec) for shape, spec in (before, after)]
    old, new = sides_of(
        [one.shape for one in arrays],
        [tiles_of(one.sharding, one.shape) for one in arrays],
    )

    assert count == len(old.holders) == len(new.holders)
    for side, one in zip((old, new), arrays, strict=True):
        indices = one.sharding.devices_indices_map(one.shape)
        elements = jnp.arange(128).reshape(one.shape)
        for device, index in indices.items():
            held = sorted(elements[index].ravel().tolist())
            assert [at for at in held if at < count] == side.held_by(device.id)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            ((2, 2, 2), (8,)),
            "draw_reshape() was given the shapes (2, 2, 2) and (8,); it "
            "takes one dimension or two, each of size 1 or more: leave out "
            "those that no mesh axis cuts",
        ),
        (
            ((8,), (4,)),
            "draw_reshape() was given the shapes (8,) and (4,), of 8 and 4 "
            "elements; a reshape keeps their number",
        ),
        (
            ((8, 16), (16, 8)),
            "the drawing would have 128 elements, 16 columns and 8 devices, "
            "and can show 64, 16 and 8; give smaller shapes that are cut the "
            "same way",
        ),
    ],
)
def test_what_cannot_be_drawn(shapes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw_reshape(*map(struct, shapes))
