"""The collectives of a reading, against values worked out by hand."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from pairs import LINES, pair
from releases import (
    before,
    kept_source,
    needs_info_of_compiled,
    shard_map,
)
from structs import MESH, five_kinds, said, struct

from shardlessons import (
    Array,
    Collective,
    Frame,
    Reading,
    Span,
    read,
)

F32 = np.dtype("float32")


def only(reading: Reading) -> Collective:
    (one,) = reading.collectives
    assert () == reading.unread
    return one


@pytest.mark.parametrize("line", LINES)
def test_the_49_pairs(line: str) -> None:
    lhs, rhs, out, argument, output, collectives = pair(line)

    reading = read(
        lambda a, b: a @ b, struct((512, 512), lhs), struct((512, 512), rhs)
    )

    sharding = NamedSharding(MESH, out)
    assert reading.outputs[0].sharding.is_equivalent_to(sharding, 2)
    assert argument * 1024 == reading.bytes.argument
    assert output * 1024 == reading.bytes.output
    assert () == reading.unread
    # A permute between two cuts of one dimension crosses both axes, and has
    # a sender and a receiver for each of the eight devices.
    shown = [
        str(one).replace("data x model", "pairs")
        for one in reading.collectives
    ]
    assert collectives == sorted(shown)
    assert all(
        8 == len(one.groups)
        for one in reading.collectives
        if one.kind == "collective-permute"
    )
    assert all(1 == one.times for one in reading.collectives)


def test_there_are_49_pairs() -> None:
    assert 49 == len(LINES)


def test_what_a_collective_is_made_of() -> None:
    one = only(
        read(
            lambda a, b: a @ b,
            struct((8, 16), P("data", "model")),
            struct((16, 32), P("model")),
        )
    )

    # Every row of the mesh adds up its (2, 32) of the (8, 32).
    assert "all-reduce" == one.kind
    assert ("model",) == one.axes
    assert (Span("model", 2, 2),) == one.spans
    assert ((0, 1), (2, 3), (4, 5), (6, 7)) == one.groups
    assert 2 == one.group_size
    assert (Array(F32, (2, 32)),) == one.operands == one.results
    assert 2 * 32 * 4 == one.operand_bytes == one.result_bytes
    assert 1 == one.times
    assert not one.conditional
    assert not one.asynchronous
    assert "all-reduce(" in one.text
    assert (
        "all-reduce over model: float32[2,32] -> float32[2,32]" == str(one)
    )


def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
    return jnp.tanh(x @ w), None


def test_a_scan_over_layers() -> None:
    def f(x: jax.Array, ws: jax.Array) -> jax.Array:
        return jax.lax.scan(layer, x, ws)[0]

    x = struct((64, 32), P("data"))
    contracted = only(read(f, x, struct((3, 32, 32), P(None, "model"))))
    widened = only(read(f, x, struct((3, 32, 32), P(None, None, "model"))))

    # Each of 3 layers: a (16, 32) to add up over model, or half of its
    # columns to gather.
    assert "all-reduce over model: float32[16,32] -> float32[16,32]" == str(
        contracted
    )
    assert 3 == contracted.times
    assert "all-gather over model: float32[16,16] -> float32[16,32]" == str(
        widened
    )
    assert 3 == widened.times


def test_nested_loops() -> None:
    def inner(_: Any, x: jax.Array) -> jax.Array:
        return jnp.sin(x + x.sum(0))

    def outer(_: Any, x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 3, inner, x)

    one = only(
        read(
            lambda x: jax.lax.fori_loop(0, 5, outer, x),
            struct((64, 32), P("data", "model")),
        )
    )

    assert "all-reduce over data: float32[16] -> float32[16]" == str(one)
    assert 5 * 3 == one.times


def test_a_loop_that_does_not_say() -> None:
    reading = read(
        lambda x: jax.lax.while_loop(
            lambda c: c[0, 0] < 10, lambda c: c + c.sum(0), x
        ),
        struct((64, 32), P("data")),
    )

    assert reading.collectives
    assert {None} == {one.times for one in reading.collectives}


def test_branches() -> None:
    def looped(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 7, lambda _, y: jnp.sin(y + y.sum(0)), x)

    flag = struct((), P(), bool)
    x = struct((64, 32), P("data"))
    plain = read(
        lambda p, x: jax.lax.cond(
            p, lambda a: a.sum(0), lambda a: a.sum(0) * 2, x
        ),
        flag,
        x,
    )
    nested = only(
        read(lambda p, x: jax.lax.cond(p, looped, lambda a: a, x), flag, x)
    )

    assert ["all-reduce over data: float32[32] -> float32[32]"] * 2 == said(
        plain
    )
    assert [(1, True), (1, True)] == [
        (one.times, one.conditional) for one in plain.collectives
    ]
    assert (7, True) == (nested.times, nested.conditional)


def test_shard_map() -> None:
    reading = read(five_kinds(MESH), struct((64, 32), P("data", "model")))

    # Each device has (16, 16); CPU sends an all-to-all as a tuple of four.
    quarters = " + ".join(["float32[4,16]"] * 4)
    assert [
        "all-gather over data x model: float32[16,16] -> float32[128,16]",
        "all-reduce over data: float32[16,16] -> float32[16,16]",
        f"all-to-all over data: {quarters} -> {quarters}",
        "collective-permute over data: float32[16,16] -> float32[16,16]",
        "reduce-scatter over model: float32[16,16] -> float32[8,16]",
    ] == said(reading)
    by_kind = {one.kind: one for one in reading.collectives}
    assert {
        "all-gather": (1024, 8192, 8),
        "all-reduce": (1024, 1024, 4),
        "all-to-all": (1024, 1024, 4),
        "collective-permute": (1024, 1024, 2),
        "reduce-scatter": (1024, 512, 2),
    } == {
        kind: (one.operand_bytes, one.result_bytes, one.group_size)
        for kind, one in by_kind.items()
    }
    assert {
        (0, 2), (2, 4), (4, 6), (6, 0), (1, 3), (3, 5), (5, 7), (7, 1)
    } == set(by_kind["collective-permute"].groups)  # fmt: skip


def test_every_collective_of_one_channel_counts() -> None:
    # All collectives of a shard_map have the channel 1, also those of one
    # line: five of them are five.
    def f(x: jax.Array) -> jax.Array:
        for _ in range(5):
            x = jnp.tanh(jax.lax.psum(x, "model"))
        return x

    reading = read(
        shard_map(
            f,
            mesh=MESH,
            in_specs=P("data", "model"),
            out_specs=P("data"),
        ),
        struct((64, 32), P("data", "model")),
    )

    assert [
        "all-reduce over model: float32[16,16] -> float32[16,16]"
    ] * 5 == said(reading)


def test_gradients() -> None:
    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return ((x @ w) ** 2).sum()

    x = struct((64, 32), P("data"))
    data_parallel = read(
        jax.value_and_grad(loss), struct((32, 16), P()), x
    )
    sharded = read(jax.grad(loss), struct((32, 16), P("data")), x)

    # The loss and the gradient, transposed as it is computed: in one, but by
    # the XLA of jax before 0.7.
    assert (
        [
            "all-reduce over data: float32[16,32] -> float32[16,32]",
            "all-reduce over data: float32[] -> float32[]",
        ]
        if before("0.7")
        else [
            "all-reduce over data: float32[] + float32[16,32] -> "
            "float32[] + float32[16,32]"
        ]
    ) == said(data_parallel)
    assert 4 + 16 * 32 * 4 == sum(
        one.operand_bytes for one in data_parallel.collectives
    )
    assert [
        "all-gather over data: float32[8,16] -> float32[32,16]",
        "all-reduce over data: float32[16,32] -> float32[16,32]",
    ] == said(sharded)


def test_donated_static_and_keyword_arguments() -> None:
    x = struct((64, 32), P("data"))
    donated = read(jax.jit(lambda x: x + x.sum(0), donate_argnums=0), x)
    static = read(
        jax.jit(lambda x, n, *, k: (x * n).sum(0) + k, static_argnums=1),
        x,
        3,
        k=struct((32,), P()),
    )

    assert 16 * 32 * 4 == donated.bytes.alias
    for reading in (donated, static):
        assert ["all-reduce over data: float32[32] -> float32[32]"] == said(
            reading
        )


@pytest.mark.parametrize(
    ("dtype", "sent", "size"),
    [
        ("bfloat16", "float32", 4),  # CPU adds bfloat16 up in float32
        ("int8", "int8", 1),
        ("complex64", "complex64", 8),
    ],
)
def test_dtypes(dtype: str, sent: str, size: int) -> None:
    one = only(
        read(
            lambda x: x.sum(0, dtype=dtype), struct((64, 32), P("data"), dtype)
        )
    )

    assert f"all-reduce over data: {sent}[32] -> {sent}[32]" == str(one)
    assert 32 * size == one.operand_bytes


def test_equal_readings_of_two_places() -> None:
    x = struct((64, 32), P("data"))
    first = read(lambda a: a.sum(0), x)
    second = read(lambda a: a.sum(0), x)

    assert first == second
    sources = {first.collectives[0].source, second.collectives[0].source}
    assert (2 if kept_source(Frame("", 1, "")) else 1) == len(sources)


def test_no_collectives() -> None:
    reading = read(jnp.sin, struct((64, 32), P("data")))

    assert () == reading.collectives == reading.unread


@needs_info_of_compiled
def test_a_hundred_layers_are_read_in_the_time_of_their_compile() -> None:
    def f(x: jax.Array, ws: list[jax.Array]) -> jax.Array:
        for w in ws:
            x = jnp.tanh(x @ w)
        return x

    lowered = jax.jit(f).lower(
        struct((64, 32), P("data", "model")),
        [struct((32, 32), P("model"))] * 100,
    )
    start = time.perf_counter()
    compiled = lowered.compile()
    compiling = time.perf_counter() - start
    start = time.perf_counter()
    reading = read(compiled)
    reading_it = time.perf_counter() - start

    assert [
        "all-reduce over model: float32[16,32] -> float32[16,32]"
    ] * 100 == said(reading)
    assert reading_it < compiling
