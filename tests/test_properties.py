"""Random programs: bytes by hand are the compiler's, and all can be read."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from shardlessons import bytes_per_device, cpu_mesh, read

MESHES = [
    {"data": 8},
    {"data": 4, "model": 2},
    {"data": 2, "model": 4},
    {"a": 2, "b": 2, "c": 2},
    {"data": 4, "one": 1, "model": 2},
    {"data": 2, "model": 3},
    {"data": 2},
    {"one": 1},
]
DTYPES = ["float32", "bfloat16", "int8", "bool", "int4", "uint2", "complex64"]

# A program compiles in some hundredths of a second, the first in one.
slow = settings(
    deadline=None,
    max_examples=60,
    derandomize=True,  # a build does not depend on luck
    suppress_health_check=[HealthCheck.too_slow],
)


def axes_of(entry: Any) -> tuple[str, ...]:
    """P(('data',)) keeps 'data'."""
    return (entry,) if isinstance(entry, str) else entry or ()


@st.composite
def specs(draw: st.DrawFn, mesh: Mesh, rank: int) -> P:
    """Any spec for a rank: each axis cuts one dimension, or none."""
    entries: list[list[str]] = [[] for _ in range(rank)]
    for axis in draw(st.permutations(mesh.axis_names)):
        place = draw(st.integers(-1, rank - 1))
        if place >= 0:
            entries[place].append(axis)
    return P(*(tuple(entry) or None for entry in entries))


@st.composite
def structs(
    draw: st.DrawFn, mesh: Mesh, rank: int, dtype: str
) -> jax.ShapeDtypeStruct:
    """An array that its spec divides."""
    spec = draw(specs(mesh, rank))
    shape = tuple(
        draw(st.integers(1, 3))
        * math.prod(mesh.shape[axis] for axis in axes_of(entry))
        for entry in spec
    )
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


meshes = st.sampled_from(MESHES).map(cpu_mesh)


@slow
@given(st.data())
def test_bytes_by_hand_are_those_of_the_compiler(data: st.DataObject) -> None:
    mesh = data.draw(meshes)
    dtype = data.draw(st.sampled_from(DTYPES))
    x = data.draw(structs(mesh, data.draw(st.integers(0, 3)), dtype))

    reading = read(lambda a: a, x)

    by_hand = bytes_per_device(x.shape, x.dtype, x.sharding.spec, mesh)
    assert by_hand == reading.bytes.argument
    assert by_hand == reading.bytes.output
    assert () == reading.collectives == reading.unread


@slow
@given(st.data())
def test_a_gather_of_any_array(data: st.DataObject) -> None:
    mesh = data.draw(meshes)
    # Of these CPU sends no other type in the array's place.
    dtype = data.draw(st.sampled_from(["float32", "int8", "complex64"]))
    x = data.draw(structs(mesh, data.draw(st.integers(1, 3)), dtype))
    axes = tuple(
        axis
        for entry in x.sharding.spec
        for axis in axes_of(entry)
        if mesh.shape[axis] > 1
    )
    whole = NamedSharding(mesh, P())

    reading = read(jax.jit(lambda a: a, out_shardings=whole), x)

    # Gathered axis by axis, or several at once; the last one makes it whole.
    assert () == reading.unread
    assert {"all-gather"} >= {one.kind for one in reading.collectives}
    assert set(axes) == {
        axis for one in reading.collectives for axis in one.axes or ()
    }
    for one in reading.collectives:
        assert one.group_size * one.operand_bytes == one.result_bytes
        assert one.group_size == math.prod(span.size for span in one.spans)
    if axes:
        n = math.prod(mesh.shape[axis] for axis in axes)
        assert n == math.prod(one.group_size for one in reading.collectives)
        own = bytes_per_device(x.shape, x.dtype, x.sharding.spec, mesh)
        assert n * own == max(one.result_bytes for one in reading.collectives)


@slow
@given(st.data())
def test_a_sum_of_any_array(data: st.DataObject) -> None:
    mesh = data.draw(meshes)
    x = data.draw(structs(mesh, data.draw(st.integers(1, 3)), "float32"))
    rank = len(x.shape)
    over = data.draw(st.sets(st.integers(0, rank - 1), min_size=1))
    cutting = {
        axis
        for dimension in over
        for axis in axes_of(x.sharding.spec[dimension])
        if mesh.shape[axis] > 1
    }

    reading = read(lambda a: a.sum(tuple(over)), x)

    shape = x.sharding.shard_shape(x.shape)
    left = [n for d, n in enumerate(shape) if d not in over]
    assert () == reading.unread
    assert {"all-reduce"} >= {one.kind for one in reading.collectives}
    assert cutting == {
        axis for one in reading.collectives for axis in one.axes or ()
    }
    for one in reading.collectives:
        assert 4 * math.prod(left) == one.operand_bytes == one.result_bytes


STEPS = [
    jnp.sin,
    jnp.sort,
    jnp.flip,
    lambda a: a + a.sum(),
    lambda a: a - a.mean(0),
    lambda a: a.reshape(-1),
    lambda a: a.reshape(-1, 2),
    lambda a: a.T,
    lambda a: a @ a.T,
    lambda a: jnp.cumsum(a, 0),
    lambda a: jnp.roll(a, 1, 0),
    lambda a: jnp.concatenate([a, a]),
    lambda a: a[: a.shape[0] // 2],
    lambda a: jnp.take(a, jnp.array([0]), 0),
    lambda a: a.astype(jnp.bfloat16),
    lambda a: jnp.pad(a, 1),
    lambda a: jax.lax.fori_loop(0, 3, lambda _, b: b * 2 + b.sum(), a),
    lambda a: jax.lax.while_loop(
        lambda b: (b == 0).any(), lambda b: b + b.sum(), a
    ),
    lambda a: jax.lax.cond(a.sum() > 0, jnp.sin, lambda b: b + b.sum(), a),
    lambda a: jax.lax.scan(lambda c, b: (c + b.sum(), b), 0 * a.sum(), a)[1],
]


@slow
@given(st.data())
def test_any_program_is_read(data: st.DataObject) -> None:
    mesh = data.draw(meshes)
    x = data.draw(structs(mesh, data.draw(st.integers(0, 2)), "float32"))
    steps = data.draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
    gradient = data.draw(st.booleans())

    def f(a: jax.Array) -> Any:
        for step in steps:
            a = step(a)
        return a

    def summed(a: jax.Array) -> jax.Array:
        return f(a).sum().astype("float32")

    jitted = jax.jit(jax.grad(summed) if gradient else f)
    try:
        lowered = jitted.lower(x)
        compiled = lowered.compile()
    except Exception:
        assume(False)  # jax does not take it; read() has no part in that

    # Before jax 0.7 a Compiled does not know the shapes of its results.
    reading = read(compiled if hasattr(compiled, "out_info") else lowered)

    assert () == reading.unread
    for one in reading.collectives:
        assert one.spans is not None
        assert one.operands
        assert one.results
        assert one.group_size > 1
        assert set(one.axes or ()) <= set(mesh.axis_names)
