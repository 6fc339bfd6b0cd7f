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

from shardlessons import cpu_mesh, read
from shardlessons._report import call_text, sharding_text

MESH = cpu_mesh({"data": 4, "model": 2})


def struct(
    shape: tuple[int, ...], spec: P, dtype: Any = jnp.float32
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(MESH, spec)
    )


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
  alias                                                      0"""


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


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


def test_a_row_for_each_leaf_in_order() -> None:
    params = {f"{n:03}": X for n in range(100)}
    text = str(read(lambda p: p, params))

    assert 100 == text.count("\n  p['")
    assert 100 == text.count("\n  result['")
    assert text.index("p['007']") < text.index("p['008']")


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
  alias                            0""" == str(read(lambda: None))


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


def test_the_html_is_semantic_and_leaves_style_to_the_page() -> None:
    html = read(matmul, X, Y)._repr_html_()
    table = ET.fromstring(html)
    scopes = [th.get("scope") for th in table.iter("th")]

    assert "table" == table.tag
    assert "matmul(" in "".join(table.find("caption").itertext())
    assert 3 == len(table.findall("tbody"))
    assert (3, 3, 7) == (
        scopes.count("col"),
        scopes.count("rowgroup"),
        scopes.count("row"),
    )
    assert "style" not in html
    assert "color" not in html


def test_the_html_escapes() -> None:
    reading = read(lambda a: a, {"<b>&": X})

    assert "&lt;b&gt;&amp;" in reading._repr_html_()
    assert "&lt;lambda&gt;(" in reading._repr_html_()
    assert "<b>" not in reading._repr_html_()
