"""Shard shapes and bytes by hand, against values and against the compiler."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import needs_small_floats

from shardlessons import (
    SpecError,
    bytes_per_device,
    cpu_mesh,
    read,
    shard_shape,
)
from shardlessons._arithmetic import _PACKED_BITS

MESH = {"data": 4, "model": 2}
KEY = jax.random.key(0).dtype
# The types by name, those marked that a release of jax may lack.
PACKED = [
    pytest.param(name, marks=needs_small_floats)
    if name == "float4_e2m1fn"
    else name
    for name in _PACKED_BITS
]


@pytest.mark.parametrize(
    ("shape", "spec", "local"),
    [
        ((8, 16), P(), (8, 16)),
        ((8, 16), P("data"), (2, 16)),
        ((8, 16), P("data", "model"), (2, 8)),
        ((8, 16), P(None, "model"), (8, 8)),
        ((8, 16), P(("data", "model")), (1, 16)),
        ((8, 16), P(None, ("model", "data")), (8, 2)),
        ((8, 16), P((), "data"), (8, 4)),
        ((), P(), ()),
        ((0, 4), P("data"), (0, 4)),
    ],
)
def test_shard_shape(
    shape: tuple[int, ...], spec: P, local: tuple[int, ...]
) -> None:
    mesh = cpu_mesh(MESH)

    assert local == shard_shape(shape, spec, MESH)
    assert local == shard_shape(shape, spec, mesh)
    assert local == shard_shape(shape, spec, mesh.abstract_mesh)
    assert local == NamedSharding(mesh, spec).shard_shape(shape)


@pytest.mark.parametrize(
    ("shape", "dtype", "spec", "count"),
    [
        ((512, 512), jnp.float32, P(), 1048576),
        ((512, 512), jnp.float32, P("data", None), 262144),
        ((512, 512), jnp.float32, P(None, "model"), 524288),
        ((128, 256), "float32", P(), 131072),
        ((8, 16), jnp.bfloat16, P("data", "model"), 32),
        ((8, 16), np.complex64, P("data", "model"), 128),
        ((8, 16), bool, P("data", "model"), 16),
        ((8, 16), jnp.int4, P("data", "model"), 8),
        ((8, 16), jnp.int2, P("data", "model"), 4),
        ((4, 7), jnp.int4, P("data"), 4),  # 3.5, rounded up
        ((4, 7), jnp.uint2, P("data"), 2),  # 1.75, rounded up
        ((4, 2), jnp.uint4, P("data", "model"), 1),
        ((), jnp.float32, P(), 4),
        ((0, 4), jnp.float32, P(), 0),
        ((8, 16), KEY, P("data", "model"), 128),  # two uint32 a key
        ((8,), jax.random.key(0, impl="rbg").dtype, P("data"), 32),  # four
    ],
)
def test_bytes_per_device(
    shape: tuple[int, ...], dtype: Any, spec: P, count: int
) -> None:
    assert count == bytes_per_device(shape, dtype, spec, MESH)


@pytest.mark.parametrize(
    "dtype",
    [
        *PACKED,
        *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
        *("bfloat16", "float16", "float32", "complex64"),
        *("float8_e4m3fn", "float8_e5m2"),
        pytest.param("float8_e8m0fnu", marks=needs_small_floats),
        KEY,
        jax.random.key(0, impl="rbg").dtype,
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("shape", "spec"),
    [
        ((8, 16), P("data", "model")),
        ((4, 7), P("data")),
        ((4, 2), P("data", "model")),
        ((3, 5), P()),
        ((), P()),
        ((0, 4), P(None, "data")),
    ],
    ids=str,
)
def test_bytes_are_those_that_the_compiler_counts(
    dtype: Any, shape: tuple[int, ...], spec: P
) -> None:
    sharding = NamedSharding(cpu_mesh(MESH), spec)
    x = jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
    reading = read(lambda a: a, x)
    by_hand = bytes_per_device(shape, dtype, spec, MESH)

    assert by_hand == reading.bytes.argument
    assert by_hand == reading.bytes.output
    assert by_hand == reading.inputs[0].bytes


@pytest.mark.parametrize("name", PACKED)
def test_packed_types_have_the_bits_that_jax_says(name: str) -> None:
    dtype = jnp.dtype(name)
    info = jnp.finfo if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo

    assert info(dtype).bits == _PACKED_BITS[name]


@pytest.mark.parametrize(
    ("shape", "spec", "message"),
    [
        (
            (8,),
            P("data", None),
            "P('data', None) has 2 entries and the shape (8,) has 1 "
            "dimensions; give at most one entry a dimension",
        ),
        (
            (8, 16),
            P("data", "modle"),
            "P('data', 'modle') names the axis 'modle', which the mesh does "
            "not have; its axes are 'data', 'model'",
        ),
        (
            (8, 16),
            P("data", ("model", "data")),
            "P('data', ('model', 'data')) names the axis 'data' twice; an "
            "axis can cut one dimension, once",
        ),
        (
            (8, 17),
            P(None, "data"),
            "dimension 1 has size 17, which the mesh axes 'data' (4) do not "
            "divide; the nearest sizes that they divide: 16 and 20",
        ),
        (
            (17, 4),
            P(("data", "model")),
            "dimension 0 has size 17, which the mesh axes 'data' (4) x "
            "'model' (2) = 8 do not divide; the nearest sizes that they "
            "divide: 16 and 24",
        ),
        (
            (3, 4),
            P("data"),
            "dimension 0 has size 3, which the mesh axes 'data' (4) do not "
            "divide; the nearest sizes that they divide: 4",
        ),
        (
            (8, 16),
            P("data", P.UNCONSTRAINED),
            "P('data', UNCONSTRAINED) leaves dimension 1 to the compiler, so "
            "its shard has no shape until the function is compiled; ask "
            "read(f, ...) for it",
        ),
    ],
    ids=["long", "unknown", "twice", "one", "two", "small", "unconstrained"],
)
def test_a_spec_that_does_not_fit(
    shape: tuple[int, ...], spec: P, message: str
) -> None:
    for ask in (
        lambda: shard_shape(shape, spec, MESH),
        lambda: bytes_per_device(shape, "int8", spec, cpu_mesh(MESH)),
    ):
        with pytest.raises(SpecError) as error:
            ask()

        assert message == str(error.value)


def test_a_spec_error_is_a_value_error() -> None:
    assert issubclass(SpecError, ValueError)
