"""The same call on another mesh: `reading.on`."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import (
    needs_abstract_mesh,
    needs_axis_types,
    needs_info_of_compiled,
    needs_pickled_devices,
)
from structs import MESH, struct

from shardlessons import SpecError, cpu_mesh, read
from shardlessons._jax import using_mesh

X = struct((8, 16), P("data", "model"))
W = struct((16, 32), P("model", None))


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def step(
    params: dict[str, Any], x: jax.Array, power: int = 2, *, scale: float = 1.0
) -> dict[str, Any]:
    loss = ((x @ params["w"]) ** power).sum() * scale
    return {"loss": loss, "params": [params["w"] * 2, None]}


# --- The same call on another mesh

OTHER = cpu_mesh({"model": 4, "data": 2})


def on_other(s: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    sharding = NamedSharding(OTHER, s.sharding.spec)
    return jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=sharding)


def test_a_reading_on_another_mesh_is_that_of_the_call_there() -> None:
    reading = read(matmul, X, W)
    there = reading.on(OTHER)

    assert there == read(matmul, on_other(X), on_other(W))
    assert P("data", "model") == there.inputs[0].spec
    assert 8 * 16 * 4 // 8 == there.inputs[0].bytes
    assert 16 * 32 * 4 // 4 == there.inputs[1].bytes
    assert reading != there
    assert reading.diff(there)
    assert reading == there.on(MESH)
    assert not reading.diff(there.on(MESH))


@needs_axis_types
def test_axes_of_another_mesh_may_be_explicit() -> None:
    explicit = cpu_mesh({"data": 2, "model": 4}, explicit=True)
    there = read(lambda a: a * 2, X).on(explicit)

    assert explicit == there.outputs[0].sharding.mesh
    assert P("data", "model") == there.out_specs


def test_every_kind_of_argument_is_asked_again() -> None:
    jitted = jax.jit(
        lambda n, a, b, *, k, w, u: (a * n + b.sum() + k * u, w["w"]),
        static_argnums=0,
    )
    given = jax.device_put(np.ones((16, 32), np.float32), W.sharding)
    reading = read(
        jitted, 3, X, np.ones(4), k=2.0, w={"w": given, "n": None}, u=jnp.ones(())
    )
    there = reading.on(OTHER)

    assert ["a", "b", "k", "u", "w['w']"] == [
        leaf.path for leaf in there.inputs
    ]
    assert {OTHER} == {
        leaf.sharding.mesh for leaf in (*there.inputs, *there.outputs)
    }
    assert W.sharding.spec == there.inputs[-1].spec
    assert reading == there.on(MESH)


def test_keyword_arguments_have_their_own_names() -> None:
    w, b = jnp.ones((2, 3)), {"z": jnp.ones(5), "a": jnp.ones(7)}
    reading = read(lambda w, b: (w * 1, b), b=b, w=w)

    assert [("b['a']", (7,)), ("b['z']", (5,)), ("w", (2, 3))] == [
        (leaf.path, leaf.shape) for leaf in reading.inputs
    ]


def test_a_key_is_asked_again() -> None:
    key = jax.random.key(0)
    reading = read(lambda k, a: a * jax.random.normal(k, (16,)), key, X)

    assert P("data", "model") == reading.on(OTHER).out_specs


def test_no_array_is_held() -> None:
    array = jnp.ones((8, 16))
    reading = read(lambda a, b: a + b, array, np.ones((8, 16)))

    assert all(
        isinstance(leaf, jax.ShapeDtypeStruct)
        for leaf in jax.tree.leaves(reading.question.args)
    )


@needs_abstract_mesh
def test_specs_without_a_mesh_follow_the_mesh_in_force() -> None:
    def f(a: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(a * 2, P("model"))

    with using_mesh(MESH):
        reading = read(f, X)

    assert P("model") == reading.out_specs
    assert P("model") == reading.on(OTHER).out_specs
    assert OTHER == reading.on(OTHER).outputs[0].sharding.mesh


def test_a_mesh_that_the_function_names_is_the_reader_s_to_change() -> None:
    few = cpu_mesh({"data": 2, "model": 2})
    jitted = jax.jit(lambda a: a * 2, out_shardings=X.sharding)

    with pytest.raises(ValueError, match="incompatible devices"):
        read(jitted, X).on(few)


def test_an_axis_that_the_other_mesh_lacks_is_named() -> None:
    with pytest.raises(SpecError) as error:
        read(step, {"w": W}, X).on(cpu_mesh({"data": 8}))

    assert (
        "args[0]['w'] has the spec P('model', None), and the mesh has no axis "
        "'model'; its axes are 'data'"
    ) == str(error.value)


def test_a_sharding_without_a_spec_cannot_be_moved() -> None:
    x = jax.device_put(np.ones(4, np.float32), jax.devices()[1])
    with pytest.raises(SpecError) as error:
        read(lambda *, k: k * 2, k=x).on(MESH)

    assert (
        "kwargs['k'] has a SingleDeviceSharding, which names no axes to keep "
        "on another mesh; read the call with a NamedSharding, or with none"
    ) == str(error.value)


def test_what_does_not_divide_is_jax_s_to_say() -> None:
    with pytest.raises(ValueError, match="axis 1 is partitioned 5 times"):
        read(matmul, X, W).on(cpu_mesh({"data": 1, "model": 5}))


@pytest.mark.parametrize("mesh", [None, {"data": 4}, MESH.abstract_mesh])
def test_on_takes_a_mesh(mesh: Any) -> None:
    with pytest.raises(TypeError) as error:
        read(matmul, X, W).on(mesh)

    assert (
        f"on() was given {mesh!r}, which is no Mesh; give one, as cpu_mesh, "
        "tpu_mesh and gpu_mesh make it"
    ) == str(error.value)


@needs_info_of_compiled
def test_a_stage_cannot_be_asked_again() -> None:
    traced = jax.jit(matmul).trace(X, W)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        with pytest.raises(TypeError) as error:
            read(stage).on(OTHER)

        assert (
            "this reading does not know its function, so that it cannot be "
            "asked again; read the function and its arguments, in place of a "
            "Traced, Lowered or Compiled"
        ) == str(error.value)


@needs_pickled_devices
def test_copies_can_be_asked_and_what_was_pickled_cannot() -> None:
    reading = read(matmul, X, W)
    empty = read(lambda: None)

    for same in (copy.copy(reading), copy.deepcopy(reading)):
        assert reading == same
        assert reading.on(OTHER) == same.on(OTHER)
    assert reading.on(OTHER) == reading.looking_past("jax").on(OTHER)
    assert empty == pickle.loads(pickle.dumps(empty))
    assert None is pickle.loads(pickle.dumps(empty)).question
