"""What `read` makes of arguments: their names, those that are static or unused."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from jax.sharding import PartitionSpec as P
from releases import (
    needs_info_of_compiled,
)
from structs import struct

from shardlessons import read

X = struct((8, 16), P("data", "model"))
W = struct((16, 32), P("model", None))


def step(
    params: dict[str, Any], x: jax.Array, power: int = 2, *, scale: float = 1.0
) -> dict[str, Any]:
    loss = ((x @ params["w"]) ** power).sum() * scale
    return {"loss": loss, "params": [params["w"] * 2, None]}


def test_pytrees_keep_their_structure_and_names() -> None:
    reading = read(step, {"w": W, "b": None}, X, scale=2.0)

    assert [
        ("params['w']", P("model", None)),
        ("x", P("data", "model")),
        ("scale", P()),
    ] == [(leaf.path, leaf.spec) for leaf in reading.inputs]
    assert ["result['loss']", "result['params'][0]"] == [
        leaf.path for leaf in reading.outputs
    ]
    assert (
        {"b": None, "w": P("model", None)},
        P("data", "model"),
    ) == reading.in_specs
    assert {
        "loss": P(),
        "params": [P("model", None), None],
    } == reading.out_specs
    assert W.sharding == reading.out_shardings["params"][0]
    assert jax.tree.structure(
        (({"w": 0, "b": None}, 0), {"scale": 0})
    ) == reading.in_tree


@needs_info_of_compiled
def test_a_compiled_call_names_its_keywords() -> None:
    compiled = jax.jit(step).lower({"w": W}, X, scale=2.0).compile()
    reading = read(compiled)

    assert ["args[0]['w']", "args[1]", "kwargs['scale']"] == [
        leaf.path for leaf in reading.inputs
    ]
    assert reading.call.startswith("step(dict of 1 leaf, float32[8,16]@P(")


@pytest.mark.parametrize(
    "jitted",
    [
        jax.jit(step, static_argnums=2),
        jax.jit(step, static_argnames="power"),
    ],
    ids=["argnums", "argnames"],
)
def test_static_arguments_are_left_out(jitted: Any) -> None:
    reading = read(jitted, {"w": W}, X, 3, scale=1.0)

    assert ["params['w']", "x", "scale"] == [
        leaf.path for leaf in reading.inputs
    ]


def test_a_static_argument_that_comes_first_keeps_the_names_right() -> None:
    jitted = jax.jit(lambda n, a: a * n, static_argnums=0)
    reading = read(jitted, 3, X)

    assert ["a"] == [leaf.path for leaf in reading.inputs]
    assert (P("data", "model"),) == reading.in_specs


def test_a_function_without_names_has_positions() -> None:
    def f(*args: jax.Array, **kwargs: jax.Array) -> jax.Array:
        return args[0] + kwargs["k"]

    assert ["args[0]", "kwargs['k']"] == [
        leaf.path for leaf in read(f, X, k=X).inputs
    ]


def test_an_input_that_is_not_used_is_dropped() -> None:
    reading = read(lambda a, b: a, X, W)
    dropped = reading.inputs[1]

    assert (P("data", "model"), None) == reading.in_specs
    assert (None, None, None) == (
        dropped.sharding,
        dropped.spec,
        dropped.bytes,
    )
    assert 64 == reading.bytes.argument


def test_an_input_that_is_not_used_and_kept_is_not_dropped() -> None:
    jitted = jax.jit(lambda a, b: a, keep_unused=True)

    assert (X.sharding, W.sharding) == read(jitted, X, W).in_shardings
