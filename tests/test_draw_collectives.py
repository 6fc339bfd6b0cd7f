"""`draw_collectives`: who sends to whom, as arrows over the mesh."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import SVG, labels, svg, texts

from shardlessons import cpu_mesh, draw_collectives, read

MESH = cpu_mesh({"data": 4, "model": 2})
MESH_LINE = "mesh data=4, model=2: devices 0-7, row by row"


def struct(shape, *spec, mesh=MESH):
    sharding = NamedSharding(mesh, P(*spec))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


def matmul(a, b):
    return a @ b


def pair(a, b):
    return read(matmul, struct((512, 512), *a), struct((512, 512), *b))


def arrows(drawing):
    """The start, and the tip, of each arrow."""
    layers = [
        path.get("d")
        for path in svg(drawing).findall(f"{SVG}path")
        if path.get("stroke-width") == "1.5"
    ]
    number = r"-?[\d.]+"
    # A way, straight or bent, and then its head from side to tip to side.
    each = re.compile(
        rf"M({number}) ({number})(?:L|Q{number} {number} )"
        rf"({number}) ({number})M{number} {number}"
        rf"L({number}) ({number}) {number} {number}"
    )
    found = [tuple(map(float, one)) for one in each.findall("".join(layers))]
    assert all(one[2:4] == one[4:6] for one in found)
    return [(one[:2], one[4:6]) for one in found]


def sent(drawing):
    """Which device each arrow starts at, and which it points at."""
    middles = {}
    for group in svg(drawing).findall(f"{SVG}g[@font-weight]"):
        for text in group:
            at = (float(text.get("x")), float(text.get("y")) - 5)
            middles[at] = int(text.text)

    def nearest(point):
        return middles[
            min(
                middles,
                # A device is wider than it is tall.
                key=lambda at: max(
                    abs(at[0] - point[0]) / 14, abs(at[1] - point[1]) / 10
                ),
            )
        ]

    return [(nearest(a), nearest(b)) for a, b in arrows(drawing)]


def ring(*devices):
    return list(zip(devices, (*devices[1:], devices[0]), strict=True))


def test_the_rings_of_an_all_gather_over_an_axis():
    drawing = draw_collectives(pair(("data",), (None, "data")))

    expected = (
        "all-gather over data: float32[512,128] -> [512,512]",
        "0 to 2 to 4 to 6 to 0; 1 to 3 to 5 to 7 to 1",
        MESH_LINE,
    )
    assert expected == drawing.lines
    assert ring(0, 2, 4, 6) + ring(1, 3, 5, 7) == sent(drawing)
    assert [str(i) for i in range(8)] == labels(drawing)
    assert ["all-gather over data", "model", "data"] == texts(drawing, 12)


def test_two_devices_send_to_each_other():
    drawing = draw_collectives(pair((None, "model"), ("model",)))

    assert ring(0, 1) + ring(2, 3) + ring(4, 5) + ring(6, 7) == sent(drawing)


def test_a_ring_over_two_axes_goes_from_neighbour_to_neighbour():
    both = ("data", "model")
    drawing = draw_collectives(pair((None, both), (both,)))

    assert ring(0, 2, 4, 6, 7, 5, 3, 1) == sent(drawing)


def test_a_permute_sends_as_it_says_and_nothing_to_itself():
    reading = pair(("model",), ("model",))
    drawing = draw_collectives(reading)

    permute = next(
        one
        for one in reading.collectives
        if one.kind == "collective-permute"
    )
    expected = [(a, b) for a, b in permute.groups if a != b]
    assert expected == sent(drawing)[: len(expected)]


def test_in_an_all_to_all_each_sends_to_every_other():
    drawing = draw_collectives(
        read(lambda a: a + a.T, struct((512, 512), "data"))
    )

    groups = ((0, 2, 4, 6), (1, 3, 5, 7))
    expected = {(a, b) for g in groups for a in g for b in g if a != b}
    assert (
        "0, 2, 4 and 6 each to the others; 1, 3, 5 and 7 each to the others"
        == drawing.lines[1]
    )
    assert 24 == len(sent(drawing))
    assert expected == set(sent(drawing))


def test_collectives_along_the_same_arrows_are_drawn_once():
    def f(a):
        return jnp.sin(a - a.sum(1, keepdims=True)).sum(1)

    reading = read(f, struct((8, 16), "data", "model"))
    drawing = draw_collectives(reading)

    assert 2 == len(reading.collectives)
    assert ["all-reduce over model"] == [
        text for text in texts(drawing, 12) if " over " in text
    ]
    assert 8 == len(arrows(drawing))


def test_nothing_is_sent():
    drawing = draw_collectives(pair(("data",), ()))

    assert ("no collectives", MESH_LINE) == drawing.lines
    assert [] == arrows(drawing)


def test_planes_of_three_axes_are_named():
    mesh = cpu_mesh({"x": 2, "y": 2, "z": 2})
    drawing = draw_collectives(
        read(lambda a: a.sum(0), struct((8, 8), "x", mesh=mesh))
    )

    expected = ["all-reduce over x", "x 0: z", "x 1: z", "y"]
    assert expected == texts(drawing, 12)
    assert ring(0, 4) + ring(1, 5) + ring(2, 6) + ring(3, 7) == sent(drawing)


def test_devices_are_named_by_their_ids():
    devices = MESH.devices[::-1]
    mesh = jax.sharding.Mesh(devices, MESH.axis_names)
    drawing = draw_collectives(
        read(lambda a: a.sum(1), struct((8, 16), None, "model", mesh=mesh))
    )

    assert "6 to 7 to 6; 4 to 5 to 4; 2 to 3 to 2; 0 to 1 to 0" == (
        drawing.lines[1]
    )


def test_a_call_whose_shardings_name_no_mesh():
    f = jax.shard_map(
        lambda a: lax.psum(a, "data"), mesh=MESH, in_specs=P(), out_specs=P()
    )
    reading = read(lambda: 1)
    message = (
        f"draw_collectives() was given {reading.call}, no sharding of which "
        "names a mesh that its collectives run on; give an input a "
        "NamedSharding on that mesh"
    )

    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        draw_collectives(reading)
    assert f is not None
