"""`draw_call`: the arrays of a call before and after, to one scale."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import SVG, filled, labels, texts

from shardlessons import cpu_mesh, draw_call, read

MESH = cpu_mesh({"data": 4, "model": 2})


def struct(shape, *spec, mesh=MESH):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


X = struct((8, 16), "data", "model")


def test_each_array_is_told_with_its_spec_and_the_mesh_once():
    drawing = draw_call(read(lambda a: a.sum(1), X))

    expected = (
        "a P('data', 'model'): 8 x 16 in 8 tiles of 2 x 8 on 8 devices",
        "rows 0-1: columns 0-7 on 0, columns 8-15 on 1",
        "rows 2-3: columns 0-7 on 2, columns 8-15 on 3",
        "rows 4-5: columns 0-7 on 4, columns 8-15 on 5",
        "rows 6-7: columns 0-7 on 6, columns 8-15 on 7",
        "result P('data',): 8 elements in 4 tiles of 2, "
        "each on 2 of 8 devices",
        "elements 0-1 on 0 and 1",
        "elements 2-3 on 2 and 3",
        "elements 4-5 on 4 and 5",
        "elements 6-7 on 6 and 7",
        "mesh data=4, model=2: devices 0-7, row by row",
    )
    assert expected == drawing.lines
    assert "<lambda>(float32[8,16]@P('data', 'model'))" == drawing.title


def test_all_arrays_and_the_mesh_are_labelled():
    each = [str(i) for i in range(8)]
    turned = ["0", "2", "4", "6", "1", "3", "5", "7"]

    assert each + turned + each == labels(draw_call(read(lambda a: a.T, X)))
    captions = " ".join(texts(draw_call(read(lambda a: a.T, X)), 12))
    assert "a P('data', 'model') 0 8 15" in captions
    assert "result P('model', 'data') 0 2 4 7" in captions
    assert 2 * 2 == captions.count("'data'") + captions.count("'model'")


def test_arrays_are_drawn_to_one_scale():
    drawing = draw_call(read(lambda a: a[:, :8] * 2, struct((8, 16), "data")))
    boxes = filled(drawing)

    before, after = boxes[0], boxes[4]
    assert 2 * after[2] == before[2]


def test_an_input_that_is_dropped_is_not_drawn():
    drawing = draw_call(read(lambda a, b: a + 1, X, X))

    assert [] == [line for line in drawing.lines if line.startswith("b ")]


def test_the_html_of_a_small_reading_has_the_picture_above_the_report():
    reading = read(lambda a: a.sum(1), X)
    html = ET.fromstring(reading._repr_html_())
    parts = [part.get("class") for part in html]

    assert ["drawing", None] == parts
    assert html[0].find(f"{SVG}svg/{SVG}title").text == reading.call
    assert draw_call(reading).svg in reading._repr_html_()


def many(*arrays):
    return sum(array.sum() for array in arrays)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (7 * [X], "8 arrays, and can be drawn with 6"),
        (
            [struct((2, 2, 2, 8), None, None, None, "data")],
            "an array of 4 dimensions, arrays[0]",
        ),
    ],
)
def test_a_call_that_cannot_be_drawn(arguments, why):
    reading = read(many, *arguments)
    message = (
        f"draw_call() was given {reading.call}, which has {why}; draw "
        "what it has one by one, with draw()"
    )

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw_call(reading)
    assert "<svg" not in reading._repr_html_()


def test_a_call_without_arrays():
    reading = read(lambda: None)

    with pytest.raises(ValueError, match="which has no arrays; "):
        draw_call(reading)
    assert "<svg" not in reading._repr_html_()
