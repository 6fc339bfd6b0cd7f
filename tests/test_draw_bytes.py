"""`draw_bytes`: bars of bytes per device, to one scale."""

from __future__ import annotations

import re
from dataclasses import replace

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import filled, texts

from shardlessons import Bytes, cpu_mesh, draw_bytes, read

MESH = cpu_mesh({"data": 4, "model": 2})
X = jax.ShapeDtypeStruct(
    (8, 16), "float32", sharding=NamedSharding(MESH, P("data"))
)
READING = read(lambda a: a + 1, X)


def counted(argument, output, temp, alias):
    return replace(READING, bytes=Bytes(argument, output, temp, alias))


PLANS = {
    "whole": counted(2_097_152, 1_048_576, 0, 0),
    "cut": counted(524_288, 262_144, 1_048_576, 262_144),
}


def test_the_words():
    expected = (
        "bytes per device\n"
        "whole: argument 2,097,152, output 1,048,576, temp 0, alias 0\n"
        "cut: argument 524,288, output 262,144, temp 1,048,576, "
        "alias 262,144"
    )

    assert expected == str(draw_bytes(PLANS))


def test_the_bars_are_to_one_scale_and_none_stands_for_zero():
    widths = [box[2] for box in filled(draw_bytes(PLANS))]

    shares = [width / widths[0] for width in widths]
    expected = [1, 0.5, 0.25, 0.125, 0.5, 0.125]
    assert pytest.approx(expected, abs=0.001) == shares


def test_each_bar_has_its_name_and_number():
    written = texts(draw_bytes(PLANS))

    assert [
        "cut", "argument", "524,288", "output", "262,144",
        "temp", "1,048,576", "alias", "262,144",
    ] == written[9:]  # fmt: skip


def test_a_bar_is_what_the_compiler_counts():
    drawing = draw_bytes({"plan": READING})

    bytes = READING.bytes
    expected = (
        f"plan: argument {bytes.argument}, output {bytes.output}, "
        f"temp {bytes.temp}, alias {bytes.alias}"
    )
    assert (expected,) == drawing.lines


def test_nothing_held_has_no_bars():
    assert [] == re.findall("<rect", draw_bytes({"": counted(0, 0, 0, 0)}).svg)


def test_no_reading():
    message = (
        "draw_bytes() was given no reading; give a reading for each name: "
        "draw_bytes({'sharded': read(f, x)})"
    )

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw_bytes({})
