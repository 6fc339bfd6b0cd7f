"""The collectives of a reading over each kind of mesh."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from releases import (
    before,
    shard_map,
)
from structs import MESH, said, struct

from shardlessons import (
    Array,
    Collective,
    Reading,
    Span,
    cpu_mesh,
    read,
)

THREE = cpu_mesh({"a": 2, "b": 2, "c": 2})
EIGHT = cpu_mesh({"data": 8})
F32 = np.dtype("float32")


def only(reading: Reading) -> Collective:
    (one,) = reading.collectives
    assert () == reading.unread
    return one


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
