"""Each question of the chapter, asked of `read` and of plain jax."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from shardlessons import Reading, bytes_per_device, cpu_mesh, read

AUTO = cpu_mesh({"data": 4, "model": 2})
EXPLICIT = cpu_mesh({"data": 4, "model": 2}, explicit=True)

CALLS = {
    "a * 2": (lambda a, b: a * 2, P("data", "model")),
    "a.sum(0)": (lambda a, b: a.sum(0), P("model")),
    "a.sum(1)": (lambda a, b: a.sum(1), P("data")),
    "a.T": (lambda a, b: a.T, P("model", "data")),
    "a.reshape(16, 8)": (lambda a, b: a.reshape(16, 8), P("data")),
    "a @ b": (lambda a, b: a @ b, P("data")),
}
ASKING = ("a.reshape(16, 8)", "a @ b")


def struct(
    shape: tuple[int, ...], spec: P, mesh: jax.sharding.Mesh = AUTO
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, jnp.float32, sharding=NamedSharding(mesh, spec)
    )


def arrays(mesh: jax.sharding.Mesh) -> tuple[jax.Array, jax.Array]:
    return (
        jax.device_put(
            np.ones((8, 16), np.float32),
            NamedSharding(mesh, P("data", "model")),
        ),
        jax.device_put(
            np.ones((16, 32), np.float32),
            NamedSharding(mesh, P("model", None)),
        ),
    )


@pytest.mark.parametrize("call", CALLS)
def test_the_six_calls_by_running_them(call: str) -> None:
    f, spec = CALLS[call]
    x, w = arrays(AUTO)
    by_running = jax.jit(f)(x, w)

    assert spec == by_running.sharding.spec
    assert spec == read(f, x, w).out_specs
    assert by_running.sharding == read(f, x, w).out_shardings


@pytest.mark.parametrize("call", CALLS)
def test_the_six_calls_ahead_of_time(call: str) -> None:
    f, spec = CALLS[call]
    x = struct((8, 16), P("data", "model"))
    w = struct((16, 32), P("model", None))
    compiled = jax.jit(f).lower(x, w).compile()
    reading = read(f, x, w)

    assert spec == compiled.output_shardings.spec
    assert compiled.output_shardings == reading.out_shardings
    assert compiled.input_shardings[0] == reading.in_shardings


@pytest.mark.parametrize("call", [c for c in CALLS if c not in ASKING])
def test_four_calls_are_the_same_under_explicit(call: str) -> None:
    f, spec = CALLS[call]
    x, w = arrays(EXPLICIT)

    assert spec == jax.jit(f)(x, w).sharding.spec
    assert spec == read(f, x, w).out_specs
    assert spec == jax.eval_shape(f, x, w).sharding.spec


@pytest.mark.parametrize("call", ASKING)
def test_two_calls_ask_under_explicit(call: str) -> None:
    f, _ = CALLS[call]
    x, w = arrays(EXPLICIT)
    for ask in (lambda: jax.jit(f)(x, w), lambda: read(f, x, w)):
        # The class is not among jax.errors.
        with pytest.raises(Exception, match="`?out_sharding`?") as error:
            ask()

        assert "ShardingTypeError" == type(error.value).__name__


def test_the_two_questions_answered_under_explicit() -> None:
    x, w = arrays(EXPLICIT)
    answer = NamedSharding(EXPLICIT, P("data", None))
    reshape = read(lambda a: a.reshape(16, 8, out_sharding=answer), x)
    matmul = read(lambda a, b: jnp.matmul(a, b, out_sharding=answer), x, w)
    reshard = read(lambda a: jax.reshard(a, answer) * 2, x)

    assert P("data", None) == reshape.out_specs
    assert P("data", None) == matmul.out_specs
    assert P("data", None) == reshard.out_specs


def test_a_bare_spec_as_out_sharding_needs_a_mesh_in_context() -> None:
    x, w = arrays(EXPLICIT)

    def f(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.matmul(a, b, out_sharding=P("data"))

    with pytest.raises(ValueError, match="not under a mesh context"):
        read(f, x, w)
    with jax.set_mesh(EXPLICIT):
        assert P("data", None) == read(f, x, w).out_specs


def test_under_explicit_the_type_says_it() -> None:
    x, _ = arrays(EXPLICIT)

    assert "float32[8@data,16@model]" == str(jax.typeof(x))


def test_out_shardings_decides() -> None:
    x, _ = arrays(AUTO)
    wanted = NamedSharding(AUTO, P("model", "data"))
    f = jax.jit(lambda a: a * 2, out_shardings=wanted)

    assert wanted == f(x).sharding
    assert P("model", "data") == read(f, x).out_specs


@pytest.mark.parametrize(
    "x", [jnp.ones((8, 16)), np.ones((8, 16), np.float32)], ids=["jax", "np"]
)
def test_in_shardings_places_an_uncommitted_array(x: jax.Array) -> None:
    wanted = NamedSharding(AUTO, P("data", "model"))
    f = jax.jit(lambda a: a * 2, in_shardings=wanted)
    reading = read(f, x)

    assert P("data", "model") == f(x).sharding.spec
    assert P("data", "model") == reading.out_specs
    assert (P("data", "model"),) == reading.in_specs


def test_in_shardings_refuses_a_committed_array() -> None:
    x, _ = arrays(AUTO)
    other = NamedSharding(AUTO, P("model", "data"))
    f = jax.jit(lambda a: a * 2, in_shardings=other)
    messages = []
    for ask in (lambda: f(x), lambda: read(f, x)):
        with pytest.raises(ValueError) as error:
            ask()
        messages.append(str(error.value))

    assert messages[0] == messages[1]
    assert messages[0].startswith(
        "Sharding passed to jit does not match the sharding on the "
        "respective arg."
    )
    assert P("model", "data") == read(f, jax.device_put(x, other)).out_specs


@pytest.mark.parametrize(
    ("stage", "spec"),
    [
        (lambda f, x: jax.eval_shape(f, x).sharding, None),
        (lambda f, x: jax.jit(f).trace(x).out_info.sharding, None),
        (
            lambda f, x: jax.jit(f).lower(x).compile().output_shardings,
            P("data"),
        ),
    ],
    ids=["eval_shape", "trace", "compile"],
)
def test_at_which_stage_the_answer_exists(
    stage: Callable[..., NamedSharding | None], spec: P | None
) -> None:
    x = struct((8, 16), P("data", "model"))
    sharding = stage(lambda a: a.sum(1), x)

    assert spec == (None if sharding is None else sharding.spec)


def test_a_wrong_shape_fails_ahead_of_time() -> None:
    x = struct((8, 16), P("data", "model"))

    with pytest.raises(TypeError, match="dot_general requires contracting"):
        read(lambda a, b: a @ b, x, x)


@pytest.mark.parametrize(
    ("specs", "argument", "output"),
    [
        ((P(), P()), 2097152, 1048576),
        ((P("data", None), P(None, "model")), 786432, 131072),
    ],
    ids=["replicated", "sharded"],
)
def test_what_a_spec_is_worth(
    specs: tuple[P, P], argument: int, output: int
) -> None:
    a, b = (struct((512, 512), spec) for spec in specs)
    counted = jax.jit(jnp.matmul).lower(a, b).compile().memory_analysis()
    reading = read(jnp.matmul, a, b)
    by_hand = sum(
        bytes_per_device((512, 512), "float32", spec, AUTO) for spec in specs
    )

    assert argument == counted.argument_size_in_bytes
    assert argument == reading.bytes.argument
    assert argument == by_hand
    assert output == counted.output_size_in_bytes
    assert output == reading.bytes.output
    assert output == reading.outputs[0].bytes
    assert counted.temp_size_in_bytes == reading.bytes.temp


def test_an_unused_argument_is_dropped() -> None:
    x = struct((8, 16), P("data", "model"))
    counted = jax.jit(lambda a, b: a).lower(x, x).compile().memory_analysis()
    reading = read(lambda a, b: a, x, x)

    assert 64 == counted.argument_size_in_bytes
    assert 64 == reading.bytes.argument
    assert (P("data", "model"), None) == reading.in_specs


def test_a_donated_buffer_shows_as_alias() -> None:
    x = struct((8, 16), P("data", "model"))
    f = jax.jit(lambda a: a + 1, donate_argnums=0)
    reading: Reading = read(f, x)

    assert 64 == f.lower(x).compile().memory_analysis().alias_size_in_bytes
    assert 64 == reading.bytes.alias
