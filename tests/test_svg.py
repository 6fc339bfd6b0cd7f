"""What holds for every picture: legible, spoken, small and by itself."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pictures import PHONE, SVG, outside, overlaps, svg, texts

from shardlessons import (
    _svg,
    cpu_mesh,
    draw,
    draw_bytes,
    draw_call,
    draw_collectives,
    draw_reshape,
    read,
)

# Text and ground of sphinx-book-theme, of a page that is all black, of paper.
THEMES = {
    "light": ("#222832", "#ffffff"),
    "dark": ("#ced6dd", "#121212"),
    "dark theme": ("#ced6dd", "#14181e"),
    "print": ("#000000", "#ffffff"),
}
SMALL = {"data": 4, "model": 2}


def struct(shape, *spec, **mesh):
    sharding = NamedSharding(cpu_mesh(mesh or SMALL), P(*spec))
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)


def drawn(shape, *spec, seen_as=None, **mesh):
    sharding = struct(shape, *spec, **mesh).sharding
    return draw(sharding, shape, seen_as=seen_as)


def matmul(a, b):
    return a @ b


def pair(a, b):
    return read(matmul, struct((512, 512), *a), struct((512, 512), *b))


X = struct((8, 16), "data", "model")
LONG = {"fully_sharded_data_parallel": 2, "tensor_parallel": 4}
EACH = {
    "tiles": drawn((8, 16), "data", "model"),
    "seen": drawn((8, 16), "data", "model", seen_as=(16, 8)),
    "replicas": drawn((16, 8), "data"),
    "whole": drawn((8, 8)),
    "line": drawn((8,), "data"),
    "narrow": drawn((32, 4), None, "data"),
    "large": drawn((8192, 1024), "data", "model"),
    "interleaved": drawn(
        (64, 64), None, ("data", "model"), seen_as=(128, 32)
    ),
    "scalar": drawn(()),
    "empty": drawn((0, 8), None, "model"),
    "ones": drawn((1, 1, 1)),
    "slices": drawn((4, 4, 8), "x", "y", "z", x=2, y=2, z=2),
    "one slice": drawn((4, 8, 16), None, "data", "model"),
    "one axis": drawn((16, 4), "x", x=8),
    "empty slices": drawn((0, 4, 8), None, "model"),
    "long names": drawn((8, 4), "tensor_parallel", **LONG),
    "multiply": draw_call(read(lambda a: a * 2, X)),
    "transpose": draw_call(read(lambda a: a.T, X)),
    "two inputs": draw_call(
        read(matmul, X, struct((16, 32), "model", None))
    ),
    "long spec": draw_call(
        read(
            lambda a: a + 1,
            struct((8, 4), 2 * "fully_sharded_", **{2 * "fully_sharded_": 2}),
        )
    ),
    "reshape": draw_reshape(X, struct((16, 8), "data")),
    "reshape, replicas": draw_reshape(
        struct((8, 4), None, "model"), struct((4, 8), "data")
    ),
    "bytes": draw_bytes(
        {
            "replicated": pair((), ()),
            "gathers": pair(("data",), ("data",)),
        }
    ),
    "all-gather": draw_collectives(pair(("data",), (None, "data"))),
    "permute": draw_collectives(pair(("model",), ("model",))),
    "all-to-all": draw_collectives(
        read(lambda a: a + a.T, struct((512, 512), "data"))
    ),
    "nothing": draw_collectives(pair((), ())),
    "three axes": draw_collectives(
        read(
            lambda a: a.sum(0),
            struct((8, 8), ("x", "z"), x=2, y=2, z=2),
        )
    ),
}
each = pytest.mark.parametrize("name", EACH)


@each
def test_no_text_meets_another_or_the_edge(name):
    assert [] == overlaps(EACH[name])
    assert [] == outside(EACH[name])


@each
def test_text_on_a_phone_is_at_least_11_pixels(name):
    picture = svg(EACH[name])
    width = float(picture.get("viewBox").split()[2])
    sizes = [
        float(group.get("font-size"))
        for group in picture.findall(f"{SVG}g[@font-size]")
    ]

    assert 11 <= min(sizes) * min(1, PHONE / width)
    assert "max-width:100%" in picture.get("style")


@each
def test_the_words_and_the_text_alternative_say_the_same(name):
    drawing = EACH[name]
    picture = svg(drawing)
    title, description = picture.findall("*")[:2]
    printed = re.sub(r"\n  ", " ", str(drawing))

    assert ["title", "desc"] == [
        node.tag.removeprefix(SVG) for node in (title, description)
    ]
    assert "img" == picture.get("role")
    assert [title.get("id"), description.get("id")] == picture.get(
        "aria-labelledby"
    ).split()
    assert drawing.title == title.text
    assert ". ".join(drawing.lines) == description.text
    assert "".join(printed.split()) == "".join(
        "\n".join((drawing.title, *drawing.lines)).split()
    )


def test_pictures_that_differ_have_other_ids():
    ids = [
        node.get("id")
        for drawing in EACH.values()
        for node in svg(drawing).iter()
        if node.get("id")
    ]

    assert 2 * len(EACH) == len(set(ids)) == len(ids)


@each
def test_the_picture_needs_nothing_from_elsewhere(name):
    used = re.search(r"href|url\(|<script|<style|@|class=", re.sub(
        r"<title.*</desc>", "", EACH[name].svg
    ))  # fmt: skip

    assert None is used


@each
def test_strokes_and_text_take_the_colour_of_the_page(name):
    layers = svg(EACH[name]).findall("*")[2:]
    strokes = {
        layer.get("stroke") for layer in layers if layer.get("stroke")
    }
    texts = {
        layer.get("fill") for layer in layers if layer.get("font-size")
    }

    assert {"currentColor"} == strokes
    assert {"currentColor"} == texts


@each
def test_a_picture_is_small(name):
    most = {"tiles": 1536, "replicas": 1536, "interleaved": 5120}
    size = len(gzip.compress(EACH[name].svg.encode(), 9))

    assert most.get(name, 4096) > size


def test_the_html_is_the_picture():
    expected = f'<div class="drawing">{EACH["tiles"].svg}</div>'

    assert expected == EACH["tiles"]._repr_html_()


def test_repr_is_the_text():
    assert str(EACH["tiles"]) == repr(EACH["tiles"])


def test_the_picture_is_the_same_in_another_process():
    program = (
        "from jax.sharding import NamedSharding, PartitionSpec as P\n"
        "from shardlessons import cpu_mesh, draw\n"
        "mesh = cpu_mesh({'data': 4, 'model': 2})\n"
        "print(draw(NamedSharding(mesh, P('data')), (16, 8)).svg)"
    )
    other = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )

    assert EACH["replicas"].svg + "\n" == other.stdout


MANY = """
import json, sys
sys.path.append(sys.argv[1])
from jax.sharding import NamedSharding, PartitionSpec as P
from pictures import labels, outside, overlaps, svg
import jax
from shardlessons import cpu_devices, cpu_mesh, draw, draw_collectives, read
cpu_devices(256)
def sent(mesh, *spec):
    sharding = NamedSharding(cpu_mesh(mesh), P(*spec))
    x = jax.ShapeDtypeStruct((64, 64), "float32", sharding=sharding)
    return draw_collectives(read(lambda a: a.sum(0), x))
cases = [
    ((64, 64), ("a", "b"), {"a": 8, "b": 8}),
    ((64, 64), ("a",), {"a": 8, "b": 8}),
    ((64, 64), (None, "a"), {"a": 64}),
    ((64, 64, 64), ("a", "b", "c"), {"a": 4, "b": 4, "c": 4}),
    ((4096, 4096), ("a", "b"), {"a": 16, "b": 16}),
    ((4096, 64), ("a",), {"a": 256}),
    ((64, 4096), (None, "a"), {"a": 256}),
    ((4096, 64), ("a",), {"a": 128, "b": 2}),
    ((8, 8), (), {"a": 16, "b": 16}),
]
found = []
drawings = [
    draw(NamedSharding(cpu_mesh(mesh), P(*spec)), shape)
    for shape, spec, mesh in cases
] + [
    sent({"a": 8, "b": 8}, "a"),
    sent({"a": 4, "b": 4, "c": 4}, ("a", "c")),
    sent({"a": 64}, "a"),
    sent({"a": 2, "b": 2, "c": 2, "d": 2}, "b"),
]
for drawing in drawings:
    found.append({
        "overlaps": overlaps(drawing),
        "outside": outside(drawing),
        "width": float(svg(drawing).get("viewBox").split()[2]),
        "labels": len(labels(drawing)),
    })
json.dump(found, sys.stdout)
"""


def test_many_devices_are_legible_too():
    done = subprocess.run(
        [sys.executable, "-c", MANY, Path(__file__).parent],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout)

    assert 13 == len(found)
    assert 13 * [[]] == [one["overlaps"] for one in found]
    assert 13 * [[]] == [one["outside"] for one in found]
    assert PHONE >= max(one["width"] for one in found)
    # Each array and each mesh says at least which devices it has.
    assert 17 <= min(one["labels"] for one in found[:9])
    assert [64, 64, 64, 16] == [one["labels"] for one in found[9:]]
    assert 64 + 64 == found[0]["labels"]


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


def test_a_long_axis_name_is_shortened():
    name = "a" * 60
    drawing = drawn((8,), name, **{name: 2})

    assert [f"{'a' * 23}…"] == [t for t in texts(drawing) if t[0] == "a"]


def test_a_word_wider_than_the_picture_is_broken():
    lines = _svg.folded("a b " + "c" * 50, 120, _svg.MARK)

    assert ["a b", "c" * 39, "c" * 11] == lines
