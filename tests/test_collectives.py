"""The collectives of a reading, against values worked out by hand."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from pairs import LINES, pair
from releases import (
    before,
    kept_source,
    module_from_text,
    needs_info_of_compiled,
    shard_map,
)

from shardlessons import (
    Array,
    Collective,
    Frame,
    Reading,
    Span,
    Unread,
    cpu_mesh,
    read,
)
from shardlessons._collectives import read_collectives
from shardlessons._shapes import parse_shape

MESH = cpu_mesh({"data": 4, "model": 2})
THREE = cpu_mesh({"a": 2, "b": 2, "c": 2})
EIGHT = cpu_mesh({"data": 8})
AXES = {"data": 4, "model": 2}
F32 = np.dtype("float32")


def struct(
    shape: tuple[int, ...], spec: P, dtype: Any = "float32", mesh: Mesh = MESH
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def said(reading: Reading) -> list[str]:
    """What a reading's collectives say, one a line; all of them are read."""
    assert () == reading.unread
    return sorted(map(str, reading.collectives))


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
    def f(x: jax.Array) -> tuple[jax.Array, ...]:
        ring = [(i, (i + 1) % 4) for i in range(4)]
        return (
            jax.lax.psum(x, "data"),
            jax.lax.psum_scatter(x, "model", tiled=True),
            jax.lax.all_gather(x, ("data", "model"), tiled=True),
            jax.lax.all_to_all(x, "data", 0, 1, tiled=True),
            jax.lax.ppermute(x, "data", ring),
        )

    reading = read(
        shard_map(
            f,
            mesh=MESH,
            in_specs=P("data", "model"),
            out_specs=(
                P(None, "model"),
                P(("data", "model")),
                P(),
                P(None, ("model", "data")),
                P("data", "model"),
            ),
            check_vma=False,
        ),
        struct((64, 32), P("data", "model")),
    )

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


@pytest.mark.parametrize("axes", [("b", "c"), ("a", "c"), ("a", "b")])
def test_three_axes(axes: tuple[str, str]) -> None:
    (rest,) = {"a", "b", "c"} - set(axes)
    one = only(
        read(
            lambda x, w: x @ w,
            struct((64, 64), P(rest, axes), mesh=THREE),
            struct((64, 32), P(axes), mesh=THREE),
        )
    )

    assert axes == one.axes
    assert " x ".join(axes) == one.over
    assert 4 == one.group_size
    assert (Array(F32, (32, 32)),) == one.operands


def test_an_axis_of_size_1() -> None:
    mesh = cpu_mesh({"data": 4, "one": 1, "model": 2})
    spec = P(("data", "one"), "model")
    x = struct((64, 64), spec, mesh=mesh)
    summed = only(read(lambda x: x.sum(0), x))
    alone = only(
        read(
            shard_map(
                lambda x: jax.lax.psum(x, "one"),
                mesh=mesh,
                in_specs=spec,
                out_specs=P("data", "model"),
            ),
            x,
        )
    )

    assert "all-reduce over data: float32[32] -> float32[32]" == str(summed)
    # The compiler keeps a sum over one device; it is over no axis.
    assert ((), 1, "no axis") == (alone.axes, alone.group_size, alone.over)


def test_a_part_of_an_axis() -> None:
    # (8, 64) over 8 devices is (2, 4, 64) over 2 x 4 of them: the sum of the
    # middle is over 4 neighbours.
    def f(x: jax.Array) -> jax.Array:
        return x.reshape(2, 4, 64).sum(1)

    x = struct((8, 64), P("data"), mesh=EIGHT)
    if not before("0.9") and before("0.10"):
        # jax 0.9 cannot say how the sum lies, and compiles no such program.
        with pytest.raises(ValueError, match="dim_size=2 is not divisible"):
            read(f, x)
        return
    reading = read(f, x)
    summed = next(
        one for one in reading.collectives if one.kind == "all-reduce"
    )

    assert ("data",) == summed.axes
    assert (Span("data", 4, 8),) == summed.spans
    assert "data (4 of 8)" == summed.over
    assert ((0, 1, 2, 3), (4, 5, 6, 7)) == summed.groups


def test_of_two_meshes_the_one_that_fits() -> None:
    flat = cpu_mesh({"all": 8})
    reading = read(
        lambda x, y: x.sum(0) + y.sum(0),
        struct((64, 64), P("all"), mesh=flat),
        struct((64, 64), P("data", "model")),
    )

    # The four rows are a part of one mesh's axis, and an axis of the other.
    assert [
        "all-reduce over all: float32[64] -> float32[64]",
        "all-reduce over data: float32[32] -> float32[32]",
    ] == said(reading)


def test_a_constraint_on_an_argument_itself() -> None:
    def f(x: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(x, NamedSharding(MESH, P()))

    x = struct((16, 16), P("data", "model"))
    reading = read(f, x)
    zeros = jax.device_put(np.zeros(x.shape, np.float32), x.sharding)

    assert jax.jit(f)(zeros).sharding == reading.outputs[0].sharding
    if before("0.7"):  # there it has no effect
        assert P("data", "model") == reading.out_specs
        assert () == reading.collectives == reading.unread
    else:
        assert P() == reading.out_specs
        assert [
            "all-gather over data: float32[4,16] -> float32[16,16]",
            "all-gather over model: float32[4,8] -> float32[4,16]",
        ] == said(reading)


def test_devices_in_another_order() -> None:
    # Positions count, whatever devices stand at them.
    mesh = Mesh(MESH.devices[::-1, ::-1], ("data", "model"))
    one = only(
        read(
            lambda x: x.sum(0), struct((64, 64), P("data", "model"), mesh=mesh)
        )
    )

    assert "all-reduce over data: float32[32] -> float32[32]" == str(one)
    assert ((0, 2, 4, 6), (1, 3, 5, 7)) == one.groups


def test_a_mesh_that_only_the_function_knows() -> None:
    def f(x: jax.Array) -> jax.Array:
        sharding = NamedSharding(MESH, P("data", "model"))
        return jax.lax.with_sharding_constraint(x, sharding).sum()

    reading = read(f, np.ones((64, 64), np.float32))

    assert [
        "all-reduce over data: float32[] -> float32[]",
        "all-reduce over model: float32[] -> float32[]",
    ] == said(reading)


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


# What no program for CPU has, as XLA itself reads and prints it.

HEAD = """HloModule m, num_partitions=8

add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }

"""


def module(text: str) -> Any:
    return module_from_text(HEAD + text)


class Before0102:
    """A module of a jaxlib whose computations have no instructions."""

    def __init__(self, module: Any) -> None:
        self._text = module.to_string()

    def computations(self) -> list[object]:
        return [object()]

    def to_string(self) -> str:
        return self._text


def collectives_of(
    text: str,
) -> tuple[tuple[Collective, ...], tuple[Unread, ...]]:
    """Read by its instructions, and by its text with the same result."""
    whole = module(text)
    found = read_collectives(lambda: [whole], [AXES])
    again = read_collectives(lambda: [Before0102(whole)], [AXES])
    assert set(found[0]) == set(again[0])
    assert found[1] == again[1]
    return found


def test_starts_and_ends_count_once() -> None:
    found, unread = collectives_of("""
    wrapped { p = f32[8,16] parameter(0)
      ROOT q = f32[2,16] reduce-scatter(p), channel_id=3,
        replica_groups=[2,4]<=[4,2]T(1,0), use_global_device_ids=true,
        dimensions={0}, to_apply=add }

    ENTRY e { x = f32[8,16] parameter(0)
      a = (f32[8,16], f32[32,16]) all-gather-start(x), channel_id=1,
        replica_groups={{0,2,4,6},{1,3,5,7}}, use_global_device_ids=true,
        dimensions={0}
      a2 = f32[32,16] all-gather-done(a)
      b = f32[8,16] all-reduce-start(x), channel_id=2, replica_groups={},
        to_apply=add
      b2 = f32[8,16] all-reduce-done(b)
      c = ((f32[8,16]), f32[2,16], u32[]) async-start(x), calls=wrapped
      c2 = f32[2,16] async-done(c)
      d = (f32[8,16], f32[8,16], u32[], u32[]) collective-permute-start(x),
        channel_id=4, source_target_pairs={{0,2},{2,4},{4,6},{6,0}}
      d2 = f32[8,16] collective-permute-done(d)
      ROOT r = (f32[32,16], f32[8,16], f32[2,16], f32[8,16])
        tuple(a2, b2, c2, d2) }
    """)

    assert [
        "all-gather over data: float32[8,16] -> float32[32,16]",
        "all-reduce over data x model: float32[8,16] -> float32[8,16]",
        "collective-permute over data: float32[8,16] -> float32[8,16]",
        "reduce-scatter over data: float32[8,16] -> float32[2,16]",
    ] == sorted(map(str, found))
    assert all(one.asynchronous and one.times == 1 for one in found)
    assert () == unread


@pytest.mark.parametrize(
    "shape", ["f32[8]", "((f32[8]), f32[8])"], ids=["before", "jax 0.12"]
)
def test_the_start_of_an_all_reduce(shape: str) -> None:
    line = f"%a = {shape} all-reduce-start(%x), replica_groups={{}}"
    (one,), unread = read_collectives(lambda: [Printed(line)], [AXES])

    assert () == unread
    assert (Array(F32, (8,)),) == one.operands == one.results


def test_a_start_that_waits_for_its_end() -> None:
    (one,), _ = collectives_of("""
    ENTRY e { x = f32[8] parameter(0)
      a = f32[8] all-reduce-start(x), channel_id=1, replica_groups={},
        to_apply=add,
        backend_config={"collective_backend_config":{"is_sync":true}}
      ROOT r = f32[8] all-reduce-done(a) }
    """)

    assert not one.asynchronous


def test_several_arrays_at_once() -> None:
    (one,), _ = collectives_of("""
    ENTRY e { x = f32[8,16] parameter(0)
      y = s4[8,16] parameter(1)
      a = ((f32[8,16], s4[8,16]), (f32[16,16], s4[16,16]))
        all-gather-start(x, y), channel_id=1, replica_groups=[4,2]<=[8],
        use_global_device_ids=true, dimensions={0}
      ROOT r = (f32[16,16], s4[16,16]) all-gather-done(a) }
    """)

    assert (
        "all-gather over model: float32[8,16] + int4[8,16] -> "
        "float32[16,16] + int4[16,16]" == str(one)
    )
    # 4 bits for each of the second's.
    assert 8 * 16 * 4 + 8 * 16 // 2 == one.operand_bytes
    assert 2 * one.operand_bytes == one.result_bytes


@pytest.mark.skipif(
    before("0.5"), reason="XLA reads ragged-all-to-all from jax 0.5 on"
)
def test_rare_kinds() -> None:
    found, unread = collectives_of("""
    ENTRY e { x = f32[8,16] parameter(0)
      o = s32[4] parameter(1)
      a = f32[8,16] collective-broadcast(x), channel_id=1,
        replica_groups={{0,1},{2,3},{4,5},{6,7}}
      b = f32[8,16] ragged-all-to-all(x, a, o, o, o, o), channel_id=2,
        replica_groups={{0,2,4,6},{1,3,5,7}}
      t = token[] after-all()
      s = (f32[8,16], u32[], token[]) send(x, t), channel_id=3
      sent = token[] send-done(s), channel_id=3
      h = (f32[8,16], u32[], token[]) send(x, t), channel_id=4,
        is_host_transfer=true
      hosted = token[] send-done(h), channel_id=4, is_host_transfer=true
      ROOT r = f32[8,16] copy(b) }
    """)

    assert [
        "collective-broadcast over model: float32[8,16] -> float32[8,16]",
        "ragged-all-to-all over data: float32[8,16] -> float32[8,16]",
    ] == sorted(map(str, found))
    # Sent to another device, but as no collective; the host is no device.
    assert ["sent from one device to another, of no kind"] == [
        one.why for one in unread
    ]
    assert "send(" in unread[0].text


def test_a_computation_that_is_called_twice() -> None:
    (one,), _ = collectives_of("""
    f { p = f32[8] parameter(0)
      ROOT q = f32[8] all-reduce(p), channel_id=1, replica_groups={},
        to_apply=add }

    body { p = (s32[], f32[8]) parameter(0)
      i = s32[] get-tuple-element(p), index=0
      x = f32[8] get-tuple-element(p), index=1
      y = f32[8] call(x), to_apply=f
      ROOT r = (s32[], f32[8]) tuple(i, y) }

    cond { p = (s32[], f32[8]) parameter(0)
      i = s32[] get-tuple-element(p), index=0
      n = s32[] constant(6)
      ROOT r = pred[] compare(i, n), direction=LT }

    ENTRY e { x = f32[8] parameter(0)
      y = f32[8] call(x), to_apply=f
      i = s32[] constant(0)
      s = (s32[], f32[8]) tuple(i, y)
      w = (s32[], f32[8]) while(s), condition=cond, body=body,
        backend_config={"known_trip_count":{"n":"6"}}
      ROOT r = f32[8] get-tuple-element(w), index=1 }
    """)

    assert 1 + 6 == one.times


def test_a_condition_runs_once_more_than_its_body() -> None:
    (one,), _ = collectives_of("""
    body { p = f32[8] parameter(0)
      ROOT r = f32[8] negate(p) }

    cond { p = f32[8] parameter(0)
      x = f32[8] all-reduce(p), channel_id=1, replica_groups={}, to_apply=add
      ROOT r = pred[] constant(true) }

    ENTRY e { x = f32[8] parameter(0)
      ROOT w = f32[8] while(x), condition=cond, body=body,
        backend_config={"known_trip_count":{"n":"6"}} }
    """)

    assert 7 == one.times


# One all-gather as the TPU compiler writes it to hide it behind a product,
# and a second one of the same channel, for a shard_map has only one.
CHAIN = """
    start{n} {{ p = bf16[8,16] parameter(0)
      ROOT q = bf16[32,16] all-gather(p), channel_id=1,
        replica_groups=[2,4]<=[4,2]T(1,0), dimensions={{0}},
        use_global_device_ids=true, frontend_attributes={{chain_id="{n}"}},
        backend_config={{"async_collective_fusion_config":{{}}}} }}

    middle{n} {{ p = bf16[8,16] parameter(0)
      ROOT q = bf16[32,16] all-gather(p), channel_id=1,
        replica_groups=[2,4]<=[4,2]T(1,0), dimensions={{0}},
        use_global_device_ids=true, frontend_attributes={{chain_id="{n}"}},
        backend_config={{"async_collective_fusion_config":{{}}}} }}
"""


def test_clones_count_once() -> None:
    found, unread = collectives_of(
        CHAIN.format(n=0)
        + CHAIN.format(n=1)
        + """
    ENTRY e { x = bf16[8,16] parameter(0)
      a = bf16[32,16] fusion(x), kind=kCustom, calls=start0
      b = bf16[32,16] fusion(x), kind=kOutput, calls=middle0
      c = bf16[32,16] fusion(x), kind=kCustom, calls=start1
      d = bf16[32,16] fusion(x), kind=kOutput, calls=middle1
      ROOT r = (bf16[32,16], bf16[32,16], bf16[32,16], bf16[32,16])
        tuple(a, b, c, d) }
    """
    )

    assert [
        "all-gather over data: bfloat16[8,16] -> bfloat16[32,16]"
    ] * 2 == list(map(str, found))
    assert all(one.asynchronous for one in found)
    assert () == unread


def test_an_all_reduce_that_is_scattered_at_once() -> None:
    # The way a reduce-scatter is written for TPU.
    (one,), _ = collectives_of("""
    all-reduce-scatter.1 { p = f32[8,16] parameter(0)
      q = f32[8,16] all-reduce(p), channel_id=1,
        replica_groups={{0,2,4,6},{1,3,5,7}}, use_global_device_ids=true,
        to_apply=add
      ROOT r = f32[2,16] slice(q), slice={[0:2], [0:16]} }

    ENTRY e { x = f32[8,16] parameter(0)
      ROOT r = f32[2,16] fusion(x), kind=kCustom, calls=all-reduce-scatter.1 }
    """)

    assert "reduce-scatter over data: float32[8,16] -> float32[2,16]" == str(
        one
    )


def test_groups_that_no_axes_fit() -> None:
    (one,), _ = collectives_of("""
    ENTRY e { x = f32[8] parameter(0)
      ROOT r = f32[8] all-reduce(x), channel_id=1, to_apply=add,
        replica_groups={{0,3},{1,2},{4,7},{5,6}}, use_global_device_ids=true }
    """)

    assert (None, "groups of 2") == (one.axes, one.over)
    assert "all-reduce over groups of 2: float32[8] -> float32[8]" == str(one)


class Printed:
    """A module of which only a text is known, that no compiler wrote."""

    def __init__(self, line: str, head: str = "HloModule m") -> None:
        self._text = f"{head}\n\nENTRY %e (x: f32[8]) -> f32[8] {{\n"
        self._text += f"  %x = f32[8]{{0}} parameter(0)\n  {line}\n}}\n"

    def computations(self) -> list[object]:
        return [object()]

    def to_string(self) -> str:
        return self._text


@pytest.mark.parametrize(
    ("shape", "attributes", "why"),
    [
        ("f32[8]", "to_apply=%add", "no replica_groups"),
        (
            "f32[8]",
            "replica_groups=<new>, to_apply=%add",
            "replica groups in a syntax that is not known: <new>",
        ),
        (
            "q7[8]",
            "replica_groups={{0,1}}",
            "a type that is not known: q7",
        ),
        ("f32", "replica_groups={{0,1}}", "a shape that cannot be read: f32"),
    ],
)
def test_what_cannot_be_read_is_shown(
    shape: str, attributes: str, why: str
) -> None:
    line = f"%r = {shape} all-reduce(%x), {attributes}"

    assert ((), (Unread(line, why),)) == read_collectives(
        lambda: [Printed(f"ROOT {line}")], [AXES]
    )


def test_replicas_and_partitions_are_not_read() -> None:
    line = "%r = f32[8] all-reduce(%x), replica_groups={{0,1}}"
    head = "HloModule m, replica_count=2, num_partitions=4"

    assert ((), (Unread(line, "replicas and partitions in one program"),)) == (
        read_collectives(lambda: [Printed(line, head)], [AXES])
    )


def test_a_program_that_cannot_be_had() -> None:
    def fails() -> list[Any]:
        raise RuntimeError("not on this platform")

    class Empty(Printed):
        def to_string(self) -> str:
            return ""

    assert (
        (),
        (Unread("", "the program: not on this platform"),),
    ) == read_collectives(fails, [AXES])
    assert (
        (),
        (Unread("", "the program: the text of the program has no ENTRY"),),
    ) == read_collectives(lambda: [Empty("")], [AXES])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[]", "float32[]"),
        ("bf16[128,512]{1,0:T(8,128)(2,1)S(1)}", "bfloat16[128,512]"),
        ("pred[3]{0}", "bool[3]"),
        ("s4[2,<=3]{1,0:E(4)}", "int4[2,3]"),
        ("u2[5]", "uint2[5]"),
        ("f8e4m3fn[1]", "float8_e4m3fn[1]"),
        ("f4e2m1fn[1]", "float4_e2m1fn[1]"),
        ("c64[0]", "complex64[0]"),
    ],
)
def test_shapes(text: str, expected: str) -> None:
    assert expected == str(parse_shape(text))


def test_shapes_of_tuples() -> None:
    f, u = Array(F32, (2,)), Array(np.dtype("uint32"), ())

    assert [[f, f], f, u] == parse_shape(
        "((f32[2]{0}, f32[2]{0}), f32[2]{0}, /*index=3*/u32[]{:S(2)})"
    )
    assert [f, None] == parse_shape("(f32[2], token[])")


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
