"""The text and the HTML of a reading."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import needs_axis_types, needs_frames
from structs import MESH, rows_of, struct

from shardlessons import Frame, cpu_mesh, read
from shardlessons._report import call_text, sharding_text
from shardlessons._traffic import source_text

X = struct((512, 512), P("data", None))
Y = struct((512, 512), P(None, "model"))
TEXT = """\
matmul(float32[512,512]@P('data', None), float32[512,512]@P(None, 'model'))
mesh data=4 (Auto), model=2 (Auto)

            type              spec                bytes/device
inputs
  a         float32[512,512]  P('data', None)          262,144
  b         float32[512,512]  P(None, 'model')         524,288
outputs
  result    float32[512,512]  P('data', 'model')       131,072
counted by the compiler
  argument                                             786,432
  output                                               131,072
  temp                                                       0
  alias                                                      0

no collectives"""


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


# Two layers, data parallel over "data" and tensor parallel over "model".
PARAMS = {
    "w1": struct((512, 2048), P(None, "model")),
    "w2": struct((2048, 512), P("model", None)),
}
BATCH = struct((64, 512), P("data", None))


def forward(params: Any, x: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(x @ params["w1"])
    return hidden @ params["w2"]


def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((forward(params, x) - y) ** 2)


def step(params: Any, x: jax.Array, y: jax.Array) -> Any:
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def layers(x: jax.Array) -> jax.Array:
    for _ in range(3):
        x = jnp.sin(x - x.sum(1, keepdims=True))
    return x


def cells(html: str) -> list[list[str]]:
    """The text of each row of a table, which has to be well formed."""
    return [
        ["".join(cell.itertext()) for cell in row]
        for row in ET.fromstring(html).iter("tr")
    ]


def test_the_text() -> None:
    reading = read(matmul, X, Y)

    assert TEXT == str(reading)
    assert TEXT == repr(reading)


def test_the_text_keeps_within_76_columns_and_ends_no_line_in_blanks() -> None:
    params = {f"layer_{n}": {"w": X, "b": Y} for n in range(20)}
    lines = str(read(lambda p, x: p, params, X)).splitlines()

    assert 76 >= max(map(len, lines))
    assert lines == [line.rstrip() for line in lines]


def test_a_row_for_each_of_few_leaves_in_order() -> None:
    params = {f"{n:03}": X for n in range(8)}
    text = str(read(lambda p: p, params))

    assert [f"p['{n:03}']" for n in range(8)] == [
        row.split()[0] for row in rows_of(text, "inputs", "outputs")
    ]


def test_many_leaves_that_differ_in_a_number_are_one_row() -> None:
    stack = [{"w": X, "b": struct((512,), P())} for _ in range(40)]
    stack[7]["w"] = Y
    text = str(
        read(
            lambda p: jax.tree.map(jnp.sin, p["layers"]),
            {"layers": stack, "top": X},
        )
    )

    assert """\
  p['layers'][*]['b']  40 x float32[512]      P()                     81,920
  p['layers'][0-6,8-39]['w']
                       39 x float32[512,512]  P('data', None)     10,223,616
  p['layers'][7]['w']  float32[512,512]       P(None, 'model')       524,288
  p['top']             float32[512,512]       dropped (unused)\
""" == "\n".join(rows_of(text, "inputs", "outputs"))


def test_bytes_of_a_row_are_summed_and_order_is_that_of_first_leaves() -> None:
    params = {"a": Y, "b": [X] * 9, "c": Y}
    text = str(read(lambda p: jax.tree.map(jnp.sin, p), params))

    assert [
        ["p['a']", "float32[512,512]", "P(None,", "'model')", "524,288"],
        ["p['b'][*]", "9", "x", "float32[512,512]", "P('data',", "None)",
         "2,359,296"],
        ["p['c']", "float32[512,512]", "P(None,", "'model')", "524,288"],
    ] == [row.split() for row in rows_of(text, "inputs", "outputs")]


def test_a_thousand_leaves_of_many_names_are_a_row_for_each_spec() -> None:
    names = "abcdefghijklmnopqrst"
    params = {
        f"{one}{two}": {"w": Y, "b": struct((512,), P("model"))}
        for one in names
        for two in names + "uvwxy"
    }
    params["odd"] = {"w": X, "b": struct((512,), P("model"))}
    f = jax.jit(lambda p: jax.tree.map(lambda a: a, p))
    report = str(read(f, params))

    assert 1002 == len(jax.tree.leaves(params))
    assert """\
  p...['b']           501 x float32[512]      P('model',)            513,024
  p...['w']           500 x float32[512,512]  P(None, 'model')   262,144,000
  p['odd']['w']       float32[512,512]        P('data', None)        262,144\
""" == "\n".join(rows_of(report, "inputs", "outputs"))


def test_the_parts_of_a_result_are_not_put_together() -> None:
    params = {f"w{n}": X for n in range(6)}
    report = str(read(lambda p: (p, p), params))

    assert ["result[0]['w*']", "result[1]['w*']"] == [
        row.split()[0]
        for row in rows_of(report, "outputs", "counted by the compiler")
    ]


@needs_frames
def test_a_training_step() -> None:
    reading = read(step, PARAMS, BATCH, BATCH)
    here = source_text(Frame(__file__, 1, "")).removesuffix(":1")
    line = forward.__code__.co_firstlineno

    assert f"""\
step(dict of 2 leaves, float32[64,512]@P('data', None), ... 1 more)
mesh data=4 (Auto), model=2 (Auto)

                   type               spec              bytes/device
inputs
  params['w1']     float32[512,2048]  P(None, 'model')     2,097,152
  params['w2']     float32[2048,512]  P('model', None)     2,097,152
  x                float32[64,512]    P('data', None)         32,768
  y                float32[64,512]    P('data', None)         32,768
outputs
  result[0]['w1']  float32[512,2048]  P(None, 'model')     2,097,152
  result[0]['w2']  float32[2048,512]  P('model',)          2,097,152
  result[1]        float32[]          P()                          4
counted by the compiler
  argument                                                 4,259,840
  output                                                   4,194,332
  temp                                                     {reading.bytes.temp:,}
  alias                                                            0

sent by each device, in bytes by the ring model
                                                  over   times  wire bytes
{here}:{line + 1} in forward
  all-reduce float32[1024,512] + [512,1024] + []  data       1   6,291,462
{here}:{line + 2} in forward
  all-reduce float32[16,512]                      model      1      32,768
in all, over
  data                                                           6,291,462
  model                                                             32,768
  all of these                                                   6,324,230\
""" == str(reading)
    assert 76 >= max(map(len, str(reading).splitlines()))


def test_a_dropped_input_and_one_device_are_shown_as_such() -> None:
    text = str(read(lambda a, b: a, np.ones(3, np.float32), X))

    assert """\
<lambda>(float32[3]@SingleDeviceSharding(cpu:0), float32[512,512] (unused))

            type              spec                         bytes/device
inputs
  a         float32[3]        SingleDeviceSharding(cpu:0)            12
  b         float32[512,512]  dropped (unused)
outputs""" == text[: text.index("outputs") + len("outputs")]


def test_a_call_without_arrays() -> None:
    assert """\
<lambda>()

            type  spec  bytes/device
inputs
  none
outputs
  none
counted by the compiler
  argument                         0
  output                           0
  temp                             0
  alias                            0

no collectives""" == str(read(lambda: None))


@needs_axis_types
def test_two_meshes_are_both_named() -> None:
    flat = cpu_mesh({"all": 8}, explicit=True)
    x = jax.ShapeDtypeStruct(
        (8,), jnp.float32, sharding=NamedSharding(flat, P("all"))
    )
    lines = str(read(lambda a: a * 2, x)).splitlines()

    assert "mesh all=8 (Explicit)" == lines[1]


@pytest.mark.parametrize(
    ("args", "kwargs", "call"),
    [
        ((), {}, "<lambda>()"),
        ((None, []), {}, "<lambda>(None, list of 0 leaves)"),
        (({"w": X, "b": Y}, (X,)), {}, (
            "<lambda>(dict of 2 leaves, tuple of 1 leaf)"
        )),
        ((), {"x": X}, "<lambda>(x=float32[512,512]@P('data', None))"),
        ((X,) * 9, {}, (
            "<lambda>(float32[512,512]@P('data', None), ... 8 more)"
        )),
    ],
    ids=["none", "no leaves", "pytrees", "keyword", "many"],
)
def test_calls(args: Any, kwargs: Any, call: str) -> None:
    assert call == read(lambda *a, **k: (a, k), *args, **kwargs).call


def test_a_call_keeps_its_first_argument_however_long() -> None:
    assert f"f({'x' * 99}, ... 1 more)" == call_text("f", ["x" * 99, "y"])
    assert f"f({'x' * 99})" == call_text("f", ["x" * 99])


@pytest.mark.parametrize(
    ("sharding", "text"),
    [
        (None, "dropped (unused)"),
        (P(), "P()"),
        (P("data"), "P('data',)"),
        (P(("data", "model"), None), "P(('data', 'model'), None)"),
        (NamedSharding(MESH, P("data", "model")), "P('data', 'model')"),
        (
            jax.sharding.SingleDeviceSharding(jax.devices("cpu")[3]),
            "SingleDeviceSharding(cpu:3)",
        ),
    ],
    ids=str,
)
def test_shardings_are_shown_as_what_they_are(
    sharding: Any, text: str
) -> None:
    assert text == sharding_text(sharding)


def test_another_kind_of_sharding_is_its_repr() -> None:
    # No public name is left for it; programs of older parts return it.
    from jax._src.sharding_impls import GSPMDSharding

    sharding = GSPMDSharding.get_replicated(tuple(MESH.devices.flat))

    assert "GSPMDSharding({replicated}" in sharding_text(sharding)


def test_the_html_has_the_cells_of_the_text() -> None:
    html = read(matmul, X, Y)._repr_html_()

    assert [
        ["", "type", "spec", "bytes/device"],
        ["inputs"],
        ["a", "float32[512,512]", "P('data', None)", "262,144"],
        ["b", "float32[512,512]", "P(None, 'model')", "524,288"],
        ["outputs"],
        ["result", "float32[512,512]", "P('data', 'model')", "131,072"],
        ["counted by the compiler"],
        ["argument", "", "", "786,432"],
        ["output", "", "", "131,072"],
        ["temp", "", "", "0"],
        ["alias", "", "", "0"],
    ] == cells(html)


def test_the_html_of_a_training_step_has_the_rows_of_the_text() -> None:
    reading = read(step, PARAMS, BATCH, BATCH)
    text = [" ".join(line.split()) for line in str(reading).splitlines()]
    shown = [
        " ".join(" ".join(row).split())
        for row in cells(reading._repr_html_())
    ]

    assert [
        line
        for line in text[2:]
        if line and line != "sent by each device, in bytes by the ring model"
    ] == shown
    assert (
        "<caption>sent by each device, in bytes by the ring model</caption>"
    ) in reading._repr_html_()


def test_the_html_says_that_nothing_is_sent() -> None:
    assert "<p>no collectives</p>" in read(matmul, X, Y)._repr_html_()


def test_the_html_is_semantic_and_leaves_style_to_the_page() -> None:
    html = read(matmul, X, Y)._repr_html_()
    root = ET.fromstring(html)
    (table,) = root.findall(".//table")
    scopes = [th.get("scope") for th in table.iter("th")]

    assert "div" == root.tag
    assert "matmul(" in "".join(table.find("caption").itertext())
    assert 3 == len(table.findall("tbody"))
    assert (3, 3, 7) == (
        scopes.count("col"),
        scopes.count("rowgroup"),
        scopes.count("row"),
    )
    report = html[html.index("<table") :]
    assert "style" not in report
    assert "color" not in report


def test_the_html_escapes() -> None:
    reading = read(lambda a: a, {"<b>&": X})

    assert "&lt;b&gt;&amp;" in reading._repr_html_()
    assert "&lt;lambda&gt;(" in reading._repr_html_()
    assert "<b>" not in reading._repr_html_()
