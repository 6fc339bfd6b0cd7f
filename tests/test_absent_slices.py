"""What is read on several TPU slices that are not there."""

from __future__ import annotations

from collections.abc import Callable

import jax
from chips import where_compilers_are
from jax.sharding import AxisType, Mesh
from jax.sharding import PartitionSpec as P
from structs import said, struct

from shardlessons import (
    Reading,
    read,
    tpu_mesh,
)

pytestmark = where_compilers_are


def mapped(
    mesh: Mesh, f: Callable[[jax.Array], jax.Array], spec: P, out: P
) -> Reading:
    return read(
        jax.shard_map(
            f, mesh=mesh, in_specs=spec, out_specs=out, check_vma=False
        ),
        struct((512, 512), spec, mesh=mesh),
    )


def test_what_crosses_slices_is_read() -> None:
    mesh = tpu_mesh("v5e:2x2", {"slice": 2, "model": 4}, slices=2)
    spec = P("slice", "model")
    ways: list[tuple[Callable[[jax.Array], jax.Array], P, str, int, int]] = [
        (
            lambda a: jax.lax.psum(a, "slice"),
            P(None, "model"),
            "all-reduce",
            1,
            1,
        ),
        (
            lambda a: jax.lax.psum_scatter(a, "slice", tiled=True),
            spec,
            "reduce-scatter",
            2,
            1,
        ),
        (
            lambda a: jax.lax.all_gather(a, "slice", tiled=True),
            P(None, "model"),
            "all-gather",
            1,
            2,
        ),
        (
            lambda a: jax.lax.all_to_all(a, "slice", 0, 1, tiled=True),
            spec,
            "all-to-all",
            1,
            1,
        ),
    ]
    for f, out, kind, given, got in ways:
        reading = mapped(mesh, f, spec, out)
        (one,) = reading.collectives

        assert () == reading.unread
        assert (kind, ("slice",)) == (one.kind, one.axes)
        assert ((0, 4), (1, 5), (2, 6), (3, 7)) == one.groups
        # A device has (256, 128) float32.
        assert 256 * 128 * 4 == one.operand_bytes
        assert one.operand_bytes * got == one.result_bytes * given
        assert one.asynchronous


def test_a_permute_within_and_between_slices() -> None:
    mesh = tpu_mesh("v5e:2x2", {"data": 8}, slices=2)
    ring = [(i, (i + 1) % 8) for i in range(8)]
    reading = mapped(
        mesh, lambda a: jax.lax.ppermute(a, "data", ring), P("data"), P("data")
    )

    pairs = [set(one.groups) for one in reading.collectives]
    assert [
        "collective-permute over data: float32[64,512] -> float32[64,512]"
    ] * 2 == said(reading)
    assert {(3, 4), (7, 0)} in pairs
    assert set(ring) - {(3, 4), (7, 0)} in pairs


def test_an_axis_that_crosses_slices_in_part() -> None:
    mesh = tpu_mesh("v5e:2x2", {"data": 4, "model": 2}, slices=2)
    reading = mapped(
        mesh,
        lambda a: jax.lax.psum(a, "data"),
        P("data", "model"),
        P(None, "model"),
    )

    # Of 4 positions on data two are in a slice: those add up and share, then
    # the slices add up, then each gathers in its own.
    whole, half = "float32[128,256]", "float32[64,256]"
    blocks = "float32[16,8,128]"  # of as many numbers as half
    assert [
        f"all-gather over data (2 of 4): {half} -> {whole}",
        f"all-reduce over data (2 of 4): {blocks} -> {blocks}",
        f"reduce-scatter over data (2 of 4): {whole} -> {half}",
    ] == said(reading)
    within = ((0, 2), (1, 3), (4, 6), (5, 7))
    between = ((0, 4), (1, 5), (2, 6), (3, 7))
    assert {
        "all-gather": within,
        "all-reduce": between,
        "reduce-scatter": within,
    } == {one.kind: one.groups for one in reading.collectives}


def test_slices_that_are_not_the_first_axis() -> None:
    devices = tpu_mesh("v5e:2x2", {"s": 2, "m": 4}, slices=2).devices
    mesh = Mesh(
        devices.T.copy(), ("m", "s"), axis_types=(AxisType.Auto, AxisType.Auto)
    )
    between = mapped(
        mesh, lambda a: jax.lax.psum(a, "s"), P("s", "m"), P(None, "m")
    )
    within = mapped(mesh, lambda a: jax.lax.psum(a, "m"), P("s", "m"), P("s"))

    assert [("s",)] == [one.axes for one in between.collectives]
    assert [("m",)] == [one.axes for one in within.collectives]
    assert ((0, 2, 4, 6), (1, 3, 5, 7)) == within.collectives[0].groups
