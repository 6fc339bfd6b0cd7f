"""Collectives in the text of a program, as XLA prints it and as it might."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from releases import (
    before,
    module_from_text,
)

from shardlessons import (
    Array,
    Collective,
    Unread,
)
from shardlessons._collectives import read_collectives
from shardlessons._shapes import parse_shape

AXES = {"data": 4, "model": 2}
F32 = np.dtype("float32")


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
