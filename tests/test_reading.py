"""`read`: what it takes, what it gives, what it raises."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from releases import (
    before,
    needs_info_of_compiled,
    shard_map,
)
from structs import MESH, struct

from shardlessons import Bytes, Leaf, Reading, read

ONE = SingleDeviceSharding(jax.devices("cpu")[0])
MEMORY = jax.devices("cpu")[0].default_memory().kind
X = struct((8, 16), P("data", "model"))
W = struct((16, 32), P("model", None))


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def test_a_reading_of_two_arrays() -> None:
    reading = read(matmul, X, W)

    assert "matmul(" in reading.call
    assert (
        Leaf("a", (8, 16), np.dtype("float32"), X.sharding),
        Leaf("b", (16, 32), np.dtype("float32"), W.sharding),
    ) == reading.inputs
    assert (
        Leaf(
            "result",
            (8, 32),
            np.dtype("float32"),
            NamedSharding(MESH, P("data"), memory_kind=MEMORY),
        ),
    ) == reading.outputs
    assert (P("data", "model"), P("model", None)) == reading.in_specs
    assert (X.sharding, W.sharding) == reading.in_shardings
    assert P("data") == reading.out_specs
    # (2, 8) and (8, 32) floats; (2, 32); as much again to add up over model.
    assert Bytes(64 + 1024, 256, 256, 0) == reading.bytes


def test_every_stage_of_a_call_reads_the_same() -> None:
    reading = read(matmul, X, W)
    traced = jax.jit(matmul).trace(X, W)
    unnamed = tuple(
        dataclasses.replace(leaf, path=path)
        for leaf, path in zip(
            reading.inputs, ("args[0]", "args[1]"), strict=True
        )
    )
    from_lowered = dataclasses.replace(reading, inputs=unnamed)

    assert reading == read(jax.jit(matmul), X, W)
    assert reading == read(traced)
    assert from_lowered == read(traced.lower())


@needs_info_of_compiled
def test_a_compiled_call_reads_as_a_lowered_one() -> None:
    lowered = jax.jit(matmul).lower(X, W)

    assert read(lowered) == read(lowered.compile())


def test_a_compiled_call_that_keeps_no_shapes_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = jax.jit(matmul).lower(X, W).compile()
    monkeypatch.delattr(jax.stages.Compiled, "out_info", raising=False)
    with pytest.raises(NotImplementedError) as error:
        read(compiled)

    assert (
        f"a Compiled was given, and that of jax {jax.__version__} does not "
        "keep the shapes of its results, as jax 0.7 does; give the Lowered it "
        "was compiled from, or the function and its arguments"
    ) == str(error.value)


def test_arrays_and_structs_read_the_same() -> None:
    def put(s: jax.ShapeDtypeStruct) -> jax.Array:
        return jax.device_put(np.zeros(s.shape, s.dtype), s.sharding)

    assert read(matmul, X, W) == read(matmul, put(X), put(W))
    assert read(jnp.sin, np.ones(3, np.float32)) == read(
        jnp.sin, jax.ShapeDtypeStruct((3,), jnp.float32)
    )


def test_nothing_runs() -> None:
    ran = []

    def f(a: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: ran.append("ran"))
        return a * 2

    read(f, X)
    jax.effects_barrier()

    assert [] == ran


def test_one_device_is_shown_as_what_it_is() -> None:
    reading = read(lambda a: a * 2, np.ones(4, np.float32))

    assert (ONE,) == reading.in_specs
    assert ONE == reading.out_specs
    assert None is reading.outputs[0].spec
    assert 16 == reading.outputs[0].bytes
    assert Bytes(16, 16, 0, 0) == reading.bytes


def test_a_result_that_follows_no_input_is_on_one_device() -> None:
    assert ONE == read(lambda a: jnp.zeros_like(a), X).out_specs


def test_a_scalar_beside_a_sharded_array_is_replicated() -> None:
    reading = read(lambda a, s: a * s, X, 3.0)

    assert (P("data", "model"), P()) == reading.in_specs
    assert ((), "float32", 4) == (
        reading.inputs[1].shape,
        reading.inputs[1].dtype.name,
        reading.inputs[1].bytes,
    )


@pytest.mark.parametrize(
    ("impl", "words"), [("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4)]
)
def test_keys(impl: str, words: int) -> None:
    dtype = jax.random.key(0, impl=impl).dtype
    keys = struct((8, 16), P("data", "model"), dtype)
    reading = read(lambda k: k.T, keys)

    assert P("model", "data") == reading.out_specs
    assert dtype == reading.outputs[0].dtype
    assert 16 * 4 * words == reading.outputs[0].bytes
    assert 16 * 4 * words == reading.bytes.argument
    assert 16 * 4 * words == reading.bytes.output


def test_several_results_cost_a_pointer_each() -> None:
    reading = read(lambda a: (a, a * 2), X)

    assert [64, 64] == [leaf.bytes for leaf in reading.outputs]
    assert 64 + 64 + 2 * 8 == reading.bytes.output


@pytest.mark.parametrize(
    ("f", "args", "specs"),
    [
        (lambda: None, (), None),
        (lambda a: (), (X,), ()),
        (lambda a: {}, ([],), {}),
        (lambda a, b: {"n": None, "a": a}, (X, None), {
            "n": None,
            "a": P("data", "model"),
        }),
    ],
    ids=["nothing", "empty tuple", "empty in and out", "none leaves"],
)
def test_results_without_arrays(f: Any, args: Any, specs: Any) -> None:
    reading = read(f, *args)

    assert specs == reading.out_specs
    assert len(args) == len(reading.in_specs)


def test_an_array_without_elements_comes_out_replicated() -> None:
    reading = read(lambda a: a * 2, struct((0, 4), P(None, "data")))

    assert P() == reading.out_specs
    assert Bytes(0, 0, 0, 0) == reading.bytes
    assert 0 == reading.outputs[0].bytes


def test_the_gradient_of_an_integer_is_compiled_as_bool() -> None:
    def f(x: jax.Array) -> Any:
        n = jnp.arange(3)
        return jax.vjp(lambda a, i: a * i, x, n)[1](jnp.ones(3))

    reading = read(f, np.ones(3, np.float32))

    assert [12, 3] == [leaf.bytes for leaf in reading.outputs]
    assert 12 + 3 + 2 * 8 == reading.bytes.output


def test_a_donated_argument_is_alias() -> None:
    jitted = jax.jit(lambda a: a + 1, donate_argnums=0)

    assert Bytes(64, 64, 0, 64) == read(jitted, X).bytes


def test_a_shard_map() -> None:
    mapped = shard_map(
        lambda a: jax.lax.psum(a, "data"),
        mesh=MESH,
        in_specs=P("data", "model"),
        out_specs=P(None, "model"),
    )

    assert P(None, "model") == read(mapped, X).out_specs
    assert (2, 16) == read(mapped, X).outputs[0].shape


def test_named_and_nameless_callables() -> None:
    class Model:
        def __call__(self, a: jax.Array) -> jax.Array:
            return a * 2

        def trace(self) -> None:
            raise AssertionError("a method of the reader's, not jax's")

    leaf = "(float32[8,16]@P('data', 'model'))"

    assert "<lambda>" + leaf == read(lambda a: a, X).call
    assert P("data", "model") == read(Model(), X).out_specs
    partial = "<unnamed wrapped function>" if before("0.6") else "f"
    assert partial + leaf == read(functools.partial(f, 2), X).call


def f(n: int, a: jax.Array) -> jax.Array:
    return a * n


def test_two_readings_are_equal_if_they_say_the_same() -> None:
    assert read(f, 2.0, X) == read(f, 2.0, X)
    assert hash(read(f, 2.0, X)) == hash(read(f, 2.0, X))
    assert read(f, 2.0, X) != read(f, 2.0, W)


def test_a_reading_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(f, 2.0, X).call = "g()"


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        (jax.jit(matmul).trace(X, W), "Traced"),
        (jax.jit(matmul).lower(X, W), "Lowered"),
        (jax.jit(matmul).lower(X, W).compile(), "Compiled"),
    ],
    ids=["traced", "lowered", "compiled"],
)
def test_a_stage_takes_no_arguments(stage: Any, kind: str) -> None:
    for args, kwargs in (((X,), {}), ((), {"a": X})):
        with pytest.raises(TypeError) as error:
            read(stage, *args, **kwargs)

        assert (
            f"read() was given a {kind} and arguments; a {kind} has its "
            "arguments already: give it alone, or give the function and the "
            "arguments"
        ) == str(error.value)


@pytest.mark.parametrize("given", [3, None, "f"])
def test_what_is_not_callable_is_refused(given: Any) -> None:
    with pytest.raises(TypeError) as error:
        read(given, X)

    assert (
        f"read() was given {given!r}, which is not callable; give a function "
        "and its arguments, or a Traced, Lowered or Compiled of jax"
    ) == str(error.value)


def test_a_backend_that_counts_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        jax.stages.Compiled, "memory_analysis", lambda self: None
    )
    with pytest.raises(NotImplementedError) as error:
        read(matmul, X, W)

    assert (
        "the compiler of matmul gives no memory_analysis(), which the bytes "
        "of a reading come from; read it for another backend"
    ) == str(error.value)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (matmul, (X, X)),
        (matmul, (X,)),
        (lambda a: a * 2, (struct((7, 16), P("data")),)),
        (lambda a: float(a), (X,)),
        (lambda a: a, ("text",)),
    ],
    ids=["shapes", "arity", "indivisible", "concrete", "text"],
)
def test_an_error_of_jax_is_untouched(f: Any, args: Any) -> None:
    def of(ask: Any) -> tuple[type, str]:
        with pytest.raises(Exception) as error:
            ask(*args)
        # The line of the call is part of some messages.
        return type(error.value), str(error.value).partition("This ")[0]

    plain = of(lambda *a: jax.jit(f).lower(*a).compile())

    assert plain == of(lambda *a: read(f, *a))


def test_what_a_reading_is_made_of() -> None:
    assert [
        "call",
        "inputs",
        "outputs",
        "bytes",
        "collectives",
        "unread",
        "in_tree",
        "out_tree",
        "question",
    ] == [field.name for field in dataclasses.fields(Reading)]
