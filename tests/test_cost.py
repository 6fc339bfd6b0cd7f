"""Wire bytes by hand for each kind, their sums, seconds, and vendors' links."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P
from releases import shard_map

import shardlessons
from shardlessons import (
    Array,
    BandwidthError,
    Collective,
    Link,
    Span,
    Traffic,
    Unread,
    cost,
    cpu_mesh,
    read,
    traffic,
)

MESH = cpu_mesh({"data": 4, "model": 2})
DATA = (Span("data", 4, 4),)
MODEL = (Span("model", 2, 2),)


def array(*shape: int, dtype: str = "float32") -> Array:
    return Array(jnp.dtype(dtype), shape)


def read_one() -> Collective:
    f = shard_map(
        lambda a: lax.psum(a, "data"), mesh=MESH, in_specs=P("data"), out_specs=P()
    )
    (found,) = read(f, jax.ShapeDtypeStruct((64,), "float32")).collectives
    return found


# One run over data, of 4, from 64 bytes to 64 bytes.
ALL_REDUCE = read_one()


def collective(kind: str, **fields: Any) -> Collective:
    return dataclasses.replace(ALL_REDUCE, kind=kind, **fields)


def together(*collectives: Collective, unread: tuple[Unread, ...] = ()) -> Traffic:
    return Traffic(tuple(map(cost, collectives)), unread)


def test_the_collective_that_the_others_are_made_from() -> None:
    assert (4, 64, 64, 1) == (
        ALL_REDUCE.group_size,
        ALL_REDUCE.operand_bytes,
        ALL_REDUCE.result_bytes,
        ALL_REDUCE.times,
    )


@pytest.mark.parametrize(
    ("kind", "operand", "result", "each"),
    [
        ("all-gather", 16, 64, 192),  # 3/4 of 256
        ("reduce-scatter", 64, 16, 192),  # 3/4 of 256
        ("all-reduce", 64, 64, 384),  # twice 3/4 of 256
        ("all-to-all", 64, 64, 192),  # 3/4 of 256
        ("collective-broadcast", 64, 64, 256),
    ],
)
def test_each_kind_by_hand(kind: str, operand: int, result: int, each: int) -> None:
    found = cost(
        collective(kind, operands=(array(operand),), results=(array(result),))
    )

    assert each == found.each
    assert each == found.bytes
    assert not found.at_most


def test_the_operands_of_a_tuple_count_together() -> None:
    parts = (array(1, 4),) * 4
    pair = (array(8), array(16, dtype="bfloat16"))

    assert 48 == cost(collective("all-to-all", operands=parts, results=parts)).each
    assert 96 == cost(collective("all-reduce", operands=pair, results=pair)).each


@pytest.mark.parametrize(
    ("pairs", "each"),
    [
        (((0, 1), (1, 2), (2, 3), (3, 0)), 64),
        (((0, 1), (1, 2)), 64),  # device 3 sends nothing, 0 sends all
        (((0, 0), (1, 1)), 0),
        (((0, 0), (1, 2)), 64),
        (((0, 1), (0, 2), (1, 3)), 128),  # 0 sends it twice
        ((), 0),
    ],
)
def test_a_permute_costs_what_the_device_sends_that_sends_most(
    pairs: tuple[tuple[int, int], ...], each: int
) -> None:
    assert each == cost(collective("collective-permute", groups=pairs)).each


def test_a_ragged_all_to_all_is_bounded_by_the_array_it_sends() -> None:
    index = array(4, dtype="int32")
    ragged = collective(
        "ragged-all-to-all", operands=(array(16), array(32), *(index,) * 4)
    )
    found = cost(ragged)

    assert 64 == found.each
    assert found.at_most
    assert (
        "ragged-all-to-all over data: at most 64 B per device (model)"
        == str(found)
    )


@pytest.mark.parametrize(
    "kind",
    [
        "all-gather",
        "reduce-scatter",
        "all-reduce",
        "all-to-all",
        "collective-broadcast",
        "ragged-all-to-all",
    ],
)
def test_a_device_alone_sends_nothing(kind: str) -> None:
    alone = collective(kind, spans=(), groups=((0,), (1,)), times=None)

    assert 0 == cost(alone).each
    assert 0 == cost(alone).bytes


def test_of_groups_that_differ_the_largest_counts() -> None:
    groups = ((0,), (1, 2, 3, 4))

    assert 96 == cost(collective("all-reduce", spans=None, groups=groups)).each


def test_a_fraction_of_a_byte_is_rounded_up() -> None:
    five = (array(5, dtype="int8"),)

    # 2 x 3/4 x 5 = 7.5
    assert 8 == cost(collective("all-reduce", operands=five)).each
    # 3/4 x 5 = 3.75
    assert 4 == cost(collective("reduce-scatter", operands=five)).each


def test_bytes_are_exact_beyond_a_float() -> None:
    huge = (array(2**54 + 4, dtype="int8"),)

    assert 3 * (2**52 + 1) == cost(collective("all-to-all", operands=huge)).each


def test_a_loop_multiplies_and_an_unknown_one_stays_unknown() -> None:
    ten = cost(collective("all-reduce", times=10))
    unknown = cost(collective("all-reduce", times=None))

    assert (96, 960) == (ten.each, ten.bytes)
    assert (96, None) == (unknown.each, unknown.bytes)
    assert "all-reduce over data: 96 B per device x 10 (model)" == str(ten)
    assert (
        "all-reduce over data: 96 B per device x unknown (model)" == str(unknown)
    )


def test_a_branch_makes_it_a_bound() -> None:
    found = cost(collective("all-reduce", conditional=True))

    assert found.at_most
    assert "all-reduce over data: at most 96 B per device (model)" == str(found)


def test_a_kind_without_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="of the kind 'gossip', which the model"):
        cost(collective("gossip"))


def test_sums_stand_per_axis_and_split_nothing_by_guess() -> None:
    found = together(
        collective("all-reduce"),
        collective("all-gather"),
        collective("all-reduce", spans=MODEL, groups=((0, 1), (2, 3))),
        collective("all-reduce", spans=DATA + MODEL, groups=(tuple(range(8)),)),
        collective("all-reduce", spans=(Span("data", 2, 4),), groups=((0, 2),)),
        collective("all-reduce", spans=None, groups=((0, 3), (1, 2))),
    )

    assert {
        "data": 96 + 48,
        "model": 64,
        "data x model": 112,
        "data (2 of 4)": 64,
        "groups of 2": 64,
    } == found.by_axis
    assert 448 == found.bytes
    assert str(found).splitlines() == [
        "bytes each device sends (ring model, not measured)",
        "  data           144",
        "  model          64",
        "  data x model   112",
        "  data (2 of 4)  64",
        "  groups of 2    64",
        "  in all         448",
    ]


def test_one_unknown_makes_its_sums_unknown_and_no_other() -> None:
    found = together(
        collective("all-reduce", times=None),
        collective("all-reduce"),
        collective("all-reduce", spans=MODEL, groups=((0, 1),), conditional=True),
        unread=(Unread("send", "of no kind"),),
    )

    assert {"data": None, "model": 64} == found.by_axis
    assert found.bytes is None
    assert found.seconds({"data": 1.0, "model": 1.0}) is None
    assert str(found).splitlines() == [
        "bytes each device sends (ring model, not measured)",
        "  data    unknown: a loop does not say how often it runs",
        "  model   at most 64",
        "  in all  unknown: a loop does not say how often it runs",
        "  and what cannot be read: 1",
    ]


def test_nothing_sent_takes_no_time() -> None:
    found = together()

    assert {} == found.by_axis
    assert 0 == found.bytes
    assert 0.0 == found.seconds({})
    assert (
        "bytes each device sends (ring model, not measured)\n  in all  0"
        == str(found)
    )


def test_seconds_are_bytes_by_the_bandwidth_of_their_axis() -> None:
    found = together(
        collective("all-reduce", times=10),  # 960 bytes
        collective("all-reduce", spans=MODEL, groups=((0, 1),)),  # 64 bytes
        collective("collective-permute", spans=(), groups=((0, 0),)),
    )

    # 960 / 96 + 64 / 32
    assert 12.0 == found.seconds({"data": 96, "model": 32, "unused": 1})


@pytest.mark.parametrize(
    ("bandwidths", "message"),
    [
        (
            {"model": 1e9},
            "no bandwidth was given for 'data', over which the program sends; "
            "given: 'model'; add 'data', in bytes per second that one device "
            "sends",
        ),
        (
            {},
            "no bandwidth was given for 'data', over which the program sends; "
            "given: none; add 'data', in bytes per second that one device "
            "sends",
        ),
        (
            {"data": 0},
            "the bandwidth of 'data' was given as 0; it is a number above "
            "zero, in bytes per second",
        ),
        (
            {"data": float("nan")},
            "the bandwidth of 'data' was given as nan; it is a number above "
            "zero, in bytes per second",
        ),
    ],
)
def test_a_bandwidth_that_is_missing_or_no_speed_is_named(
    bandwidths: dict[str, float], message: str
) -> None:
    for times in (1, None):
        found = together(collective("all-reduce", times=times))
        with pytest.raises(BandwidthError, match=f"^{re.escape(message)}$"):
            found.seconds(bandwidths)


@pytest.mark.parametrize(
    ("body", "in_spec", "out_spec", "sums"),
    [
        # (16, 8) float32 is 512 bytes, a shard over data 128.
        (lambda a: lax.psum(a, "data"), P("data"), P(), {"data": 192}),
        (
            lambda a: lax.all_gather(a, "data", tiled=True),
            P("data"),
            P(),
            {"data": 384},
        ),
        (
            lambda a: lax.psum_scatter(a, "data", tiled=True),
            P(),
            P("data"),
            {"data": 384},
        ),
        (
            lambda a: lax.all_to_all(a, "data", 1, 0, tiled=True),
            P("data"),
            P(None, "data"),
            {"data": 96},
        ),
        (
            lambda a: lax.ppermute(a, "data", [(0, 1), (1, 2)]),
            P("data"),
            P("data"),
            {"data": 128},
        ),
        (
            lambda a: lax.psum(a, ("data", "model")),
            P("data", "model"),
            P(),
            {"data x model": 112},  # a shard is 64: 2 x 7/8 x 64
        ),
    ],
)
def test_compiled_programs_agree_with_the_hand(
    body: Any, in_spec: P, out_spec: P, sums: dict[str, int]
) -> None:
    f = shard_map(
        body, mesh=MESH, in_specs=in_spec, out_specs=out_spec, check_vma=False
    )
    found = traffic(read(f, jax.ShapeDtypeStruct((16, 8), "float32")))

    assert sums == found.by_axis


def test_a_scan_counts_each_of_its_steps() -> None:
    def f(a: jax.Array) -> jax.Array:
        def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jnp.sin(lax.psum(x, "data")), None

        return lax.scan(step, a, None, length=5)[0]

    f = shard_map(f, mesh=MESH, in_specs=P(), out_specs=P(), check_vma=False)
    found = traffic(read(f, jax.ShapeDtypeStruct((16, 8), "float32")))

    # 2 x 3/4 x 512, five times
    assert {"data": 3840} == found.by_axis


def test_what_cannot_be_read_is_carried_along() -> None:
    sharding = NamedSharding(MESH, P("data", "model"))
    x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    reading = read(lambda a: a.sum(1), x)
    lost = Unread("send", "of no kind")

    assert () == traffic(reading).unread
    assert (lost,) == traffic(dataclasses.replace(reading, unread=(lost,))).unread


LINKS = {
    name: value
    for name in shardlessons.__all__
    if isinstance(value := getattr(shardlessons, name), Link)
}


def test_the_links_are_those_whose_figures_were_found() -> None:
    assert {
        "H100_NVLINK": (25e9, 18, 450e9),
        "TPU_V5E_ICI": (50e9, 4, 200e9),
        "TPU_V5P_ICI": (100e9, 6, 600e9),
        "TPU_V6E_ICI": (100e9, 4, 400e9),
    } == {
        name: (link.one_way, link.links, link.per_device)
        for name, link in LINKS.items()
    }


@pytest.mark.parametrize("name", LINKS)
def test_a_link_follows_from_what_its_vendor_publishes(name: str) -> None:
    link = LINKS[name]
    published = re.match(r"(\d+) (GBps|GB/s) bidirectional", link.published)

    assert int(published[1]) * 10**9 == 2 * link.per_device
    assert all(source.startswith("https://") for source in link.sources)
