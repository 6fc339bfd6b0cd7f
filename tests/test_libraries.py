"""Models and optimizers of flax, equinox and optax: what a step of them sends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import flax.linen as nn
import jax
import optax
from flax import nnx
from jax.sharding import PartitionSpec as P
from structs import struct

from shardlessons import Collective, Frame, Reading, read


def only(reading: Reading) -> Collective:
    (one,) = reading.collectives
    assert () == reading.unread
    return one


def replicated(tree: Any) -> Any:
    return jax.tree.map(
        lambda leaf: struct(leaf.shape, P(), leaf.dtype), tree
    )


BATCH = struct((64, 32), P("data"))


# A dense layer of (32, 16) and an SGD step, its batch over data: the mean is
# a scalar to add up, the gradient (32, 16) or its transpose. XLA sends them
# as one.
GRADIENTS = {
    "float32[] + float32[16,32]",
    "float32[16,32] + float32[]",
    "float32[] + float32[32,16]",
    "float32[32,16] + float32[]",
}


def sgd(loss: Callable[..., jax.Array], params: Any) -> Reading:
    optimizer = optax.sgd(0.1, momentum=0.9)

    def step(params: Any, state: Any, x: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    params = replicated(params)
    state = replicated(jax.eval_shape(optimizer.init, params))
    return read(step, params, state, BATCH)


def check_step(reading: Reading) -> None:
    one = only(reading)
    operands, results = str(one).partition(": ")[2].split(" -> ")

    assert ("all-reduce", "data", 1) == (one.kind, one.over, one.times)
    assert operands in GRADIENTS
    assert operands == results
    assert 4 + 32 * 16 * 4 == one.operand_bytes


def test_a_step_of_flax_linen_and_optax() -> None:
    model = nn.Dense(16, use_bias=False)
    params = jax.eval_shape(model.init, jax.random.key(0), BATCH)

    check_step(sgd(lambda p, x: (model.apply(p, x) ** 2).mean(), params))


def test_a_step_of_flax_nnx_and_optax() -> None:
    graph, params = nnx.split(
        nnx.eval_shape(
            lambda: nnx.Linear(32, 16, use_bias=False, rngs=nnx.Rngs(0))
        )
    )

    check_step(
        sgd(lambda p, x: (nnx.merge(graph, p)(x) ** 2).mean(), params)
    )


def test_a_step_of_equinox_and_optax() -> None:
    model = eqx.filter_eval_shape(
        eqx.nn.Linear, 32, 16, use_bias=False, key=jax.random.key(0)
    )
    params, static = eqx.partition(
        model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct)
    )

    check_step(
        sgd(
            lambda p, x: (jax.vmap(eqx.combine(p, static))(x) ** 2).mean(),
            params,
        )
    )


def test_looking_past_packages() -> None:
    model = nn.Dense(32)
    x = struct((64, 32), P("data", "model"))
    params = jax.tree.map(
        lambda leaf: struct(leaf.shape, P("model" if leaf.ndim > 1 else None)),
        jax.eval_shape(model.init, jax.random.key(0), x),
    )

    def f(params: Any, x: jax.Array) -> jax.Array:
        return model.apply(params, x)  # apply

    reading = read(f, params, x)
    past = reading.looking_past("flax")
    one, again = only(reading), only(past)

    (line,) = [
        number
        for number, text in enumerate(Path(__file__).read_text().splitlines(), 1)
        if text.endswith("# apply")
    ]
    frame = Frame(__file__, line, "test_looking_past_packages.<locals>.f")
    assert one.source is not None
    assert "flax" in Path(one.source.file).parts
    assert "Dense.__call__" == one.source.function
    assert frame == again.source
    assert (frame,) == again.frames
    assert reading == past == past.looking_past("flax", "jax")
    assert again == one.looking_past("flax")
