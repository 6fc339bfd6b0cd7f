"""What is read on chips that are not there, against values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from chips import MESHES, SHAPE, where_compilers_are
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from pairs import LINES, pair
from structs import five_kinds, said, struct

from shardlessons import (
    TPU_V5E_ICI,
    cost,
    cpu_mesh,
    read,
    traffic,
)

pytestmark = where_compilers_are


# --- The 49 pairs


@pytest.mark.parametrize("line", LINES)
def test_the_49_pairs_on_tpu(line: str) -> None:
    # A matmul takes its operands in bfloat16, so they are sent so; what is
    # added up is in float32.
    _the_pair(
        MESHES["v5e"](),
        line,
        lambda one: one
        if one.startswith("all-reduce")
        else one.replace("float32", "bfloat16"),
    )


@pytest.mark.parametrize("line", LINES)
def test_the_49_pairs_on_h100(line: str) -> None:
    _the_pair(MESHES["H100"](), line, lambda one: one)


def _the_pair(mesh: Mesh, line: str, seen: Callable[[str], str]) -> None:
    lhs, rhs, out, argument, output, collectives = pair(line)
    reading = read(
        lambda a, b: a @ b,
        struct((512, 512), lhs, mesh=mesh),
        struct((512, 512), rhs, mesh=mesh),
    )

    sharding = NamedSharding(mesh, out)
    assert reading.outputs[0].sharding.is_equivalent_to(sharding, 2)
    assert argument * 1024 == reading.bytes.argument
    assert output * 1024 == reading.bytes.output
    assert () == reading.unread
    # Where two go over the same axis, the compiler for GPU may send both as
    # one, which has the operands and results of the two.
    apart = [
        f"{one.kind} over {one.over}: {before} -> {after}".replace(
            "data x model", "pairs"
        )
        for one in reading.collectives
        for before, after in zip(one.operands, one.results, strict=True)
    ]
    assert sorted(map(seen, collectives)) == sorted(apart)
    assert all(1 == one.times for one in reading.collectives)


# --- What is read, worked out by hand


def layer(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
    return jnp.tanh(x @ w), None


def layers(ws: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.scan(layer, x, ws)[0]


def test_a_matmul_of_full_precision_sends_float32() -> None:
    def f(a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.matmul(a, b, precision="highest")

    x = struct((512, 512), P("data"), mesh=MESHES["v5e"]())
    (half,) = read(jnp.matmul, x, x).collectives
    (whole,) = read(f, x, x).collectives

    # A device puts in its 128 of the 512 rows.
    assert 128 * 512 * 2 == half.operand_bytes
    assert 128 * 512 * 4 == whole.operand_bytes


@pytest.mark.parametrize("chip", MESHES)
def test_bfloat16_is_sent_as_it_is(chip: str) -> None:
    def sent(mesh: Mesh) -> list[str]:
        return said(
            read(
                jnp.matmul,
                struct((512, 512), P(None, "model"), "bfloat16", mesh=mesh),
                struct((512, 512), P("model"), "bfloat16", mesh=mesh),
            )
        )

    whole = "all-reduce over model: {0}[512,512] -> {0}[512,512]"
    assert [whole.format("bfloat16")] == sent(MESHES[chip]())
    # The compiler for CPU has no bfloat16 to add up in.
    assert [whole.format("float32")] == sent(cpu_mesh(SHAPE))


@pytest.mark.parametrize(("chip", "times"), [("v5e", None), ("H100", 3)])
def test_a_sum_that_is_scattered(chip: str, times: int | None) -> None:
    mesh = MESHES[chip]()
    (one,) = read(
        layers,
        struct((3, 512, 512), P(None, "model"), mesh=mesh),
        struct((64, 512), P("data"), mesh=mesh),
    ).collectives

    # A device multiplies half of the columns of its 16 rows with half of the
    # rows of w, and keeps half of the sum, for the layer after.
    assert (
        "reduce-scatter over model: float32[16,512] -> float32[16,256]"
        == str(one)
    )
    assert 16 * 512 * 4 == one.operand_bytes == 2 * one.result_bytes
    assert times == one.times
    assert "layer" == one.source.function
    # On TPU it stands as an all-reduce, in a fusion that keeps a part.
    assert (chip == "v5e") == ("all-reduce" in one.text)


def test_a_collective_that_the_compiler_clones_counts_once() -> None:
    mesh = MESHES["v5e"]()
    args = (
        struct((3, 512, 512), P(None, "data"), mesh=mesh),
        struct((512, 512), P("data"), mesh=mesh),
    )
    compiled = (
        jax.jit(jax.grad(lambda ws, x: layers(ws, x).sum()))
        .lower(*args)
        .compile()
    )

    # A layer's weights are gathered on the way there and on the way back.
    gathered = "bfloat16[1,128,512] -> bfloat16[1,512,512]"
    assert [
        f"all-gather over data: {gathered}",
        f"all-gather over data: {gathered}",
        "all-reduce over data: float32[1,512,512] -> float32[1,512,512]",
    ] == said(read(compiled))
    assert 2 < compiled.as_text().count(" all-gather(")


def test_gradients_on_gpu() -> None:
    mesh = MESHES["H100"]()
    reading = read(
        jax.grad(lambda ws, x: layers(ws, x).sum()),
        struct((3, 512, 512), P(None, "data"), mesh=mesh),
        struct((512, 512), P("data"), mesh=mesh),
    )

    gathered = "all-gather over data: float32[128,512] -> float32[512,512]"
    assert [
        gathered,
        gathered,
        "all-reduce over data: float32[512,512] -> float32[512,512]",
    ] == said(reading)
    assert {3} == {one.times for one in reading.collectives}
    # Its start and its end count as one.
    by_kind = {one.kind: one for one in reading.collectives}
    assert "all-reduce-start(" in by_kind["all-reduce"].text
    assert by_kind["all-reduce"].asynchronous


@pytest.mark.parametrize("chip", MESHES)
def test_shard_map(chip: str) -> None:
    mesh = MESHES[chip]()
    reading = read(five_kinds(mesh), struct((64, 32), P("data", "model"), mesh=mesh))

    # Each device has (16, 16). A sum this small is cheaper for a TPU to send
    # whole than to scatter; what it exchanges it shows in four parts.
    block = "float32[16,16]"
    parts, summed, kept = {
        "H100": (block, "reduce-scatter", "float32[8,16]"),
        "v5e": ("float32[4,4,16]", "all-reduce", block),
    }[chip]
    assert sorted(
        [
            f"all-gather over data x model: {block} -> float32[128,16]",
            f"all-reduce over data: {block} -> {block}",
            f"all-to-all over data: {parts} -> {parts}",
            f"collective-permute over data: {block} -> {block}",
            f"{summed} over model: {block} -> {kept}",
        ]
    ) == said(reading)
    asynchronous = {
        "H100": {"all-gather", "reduce-scatter"},
        "v5e": {"collective-permute"},
    }[chip]
    assert asynchronous == {
        one.kind for one in reading.collectives if one.asynchronous
    }


@pytest.mark.parametrize("chip", MESHES)
def test_source_lines(chip: str) -> None:
    def f(a: jax.Array) -> jax.Array:
        b = a * 2
        return b.sum(0)

    (one,) = read(f, struct((512, 512), P("data"), mesh=MESHES[chip]())).collectives

    assert Path(__file__) == Path(one.source.file)
    assert f.__code__.co_firstlineno + 2 == one.source.line
    assert not one.inferred


def test_a_tpu_holds_whole_tiles() -> None:
    double = {
        chip: read(
            lambda a: a * 2, struct((8, 16), P("data", "model"), mesh=mesh())
        )
        for chip, mesh in MESHES.items()
    }

    # By hand (2, 8) float32; the smallest tile here is of (2, 128).
    assert 2 * 8 * 4 == double["H100"].bytes.argument
    assert 2 * 128 * 4 == double["v5e"].bytes.argument
    assert 2 * 8 * 4 == double["v5e"].inputs[0].bytes


def test_the_cost_on_a_tpu() -> None:
    x = struct((512, 512), P("data"), mesh=MESHES["v5e"]())
    reading = read(lambda a: a.sum(0), x)
    sent = traffic(reading)

    # 3/4 of the 512 numbers, twice, as around a ring of 4.
    assert 2 * 3 * 512 * 4 // 4 == cost(reading.collectives[0]).each
    assert {"data": 3072} == sent.by_axis
    assert math.isclose(
        3072 / TPU_V5E_ICI.one_way,
        sent.seconds({"data": TPU_V5E_ICI.one_way}),
    )
