"""The assertions on traffic, and what they say."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import kept_source, shard_map
from structs import MESH

from shardlessons import Frame, Span, Unread, read
from shardlessons._traffic import source_text
from shardlessons.testing import (
    assert_collectives,
    assert_no_collectives,
    assert_wire_bytes,
)

X = jax.ShapeDtypeStruct(
    (8, 16), jnp.float32, sharding=NamedSharding(MESH, P("data", "model"))
)


def test_no_collectives_pass() -> None:
    assert_no_collectives(read(lambda a: a * 2, X))
    assert_no_collectives(read(lambda a: a.sum(1), X), over="data")


def rows(a: jax.Array) -> jax.Array:
    return a.sum(1)


def both(a: jax.Array) -> jax.Array:
    return a.sum()


def at(f: Callable[..., Any]) -> str:
    """Where the first line of a function's body is, as messages say it."""
    line = f.__code__.co_firstlineno + 1
    source = kept_source(Frame(__file__, line, f.__name__))
    return f"{'at ' if source else ''}{source_text(source)}"


def test_a_collective_is_shown_with_its_line() -> None:
    for over, wanted in ((None, "none"), ("model", "none over model")):
        with pytest.raises(AssertionError) as error:
            assert_no_collectives(read(rows, X), over=over)

        assert f"""\
collectives in
  rows(float32[8,16]@P('data', 'model'))
expected {wanted}
actual
  all-reduce over model: float32[2]
    {at(rows)}""" == str(error.value)


@pytest.mark.parametrize(
    "spans",
    [
        (Span("data", 4, 4), Span("model", 2, 2)),
        (Span("data", 2, 4),),
        None,
    ],
    ids=["product", "part", "groups that fit no axis"],
)
def test_a_collective_over_some_of_an_axis_is_over_it(spans: Any) -> None:
    (one,) = read(rows, X).collectives
    reading = dataclasses.replace(
        read(rows, X), collectives=(dataclasses.replace(one, spans=spans),)
    )

    with pytest.raises(AssertionError, match="expected none over data"):
        assert_no_collectives(reading, over="data")


def test_an_axis_that_the_mesh_lacks_is_named_beside_those_it_has() -> None:
    with pytest.raises(ValueError) as error:
        assert_no_collectives(read(rows, X), over="modle")

    assert """\
assert_no_collectives() was given the axis 'modle', which the mesh of
  rows(float32[8,16]@P('data', 'model'))
does not have; its axes are 'data', 'model'""" == str(error.value)

    with pytest.raises(ValueError, match="does not have; it names no mesh"):
        assert_no_collectives(read(jnp.sin, np.ones(3)), over="data")


ODD = Unread("%odd.1 = f32[8]{0} odd(%p)", "no replica_groups")


def test_what_is_unread_passes_no_assertion_on_traffic() -> None:
    reading = dataclasses.replace(read(lambda a: a * 2, X), unread=(ODD,))
    shown = """\
  not read, for no replica_groups
    %odd.1 = f32[8]{0} odd(%p)"""
    for ask in (
        lambda: assert_no_collectives(reading),
        lambda: assert_no_collectives(reading, over="data"),
        lambda: assert_collectives(reading, []),
        lambda: assert_wire_bytes(reading, at_most=100),
    ):
        with pytest.raises(AssertionError) as error:
            ask()

        assert str(error.value).endswith(shown)


def test_collectives_that_are_as_expected_pass() -> None:
    assert_collectives(read(lambda a: a * 2, X), [])
    assert_collectives(read(rows, X), [("all-reduce", "model")])
    for pairs in (
        [("all-reduce", "data"), ("all-reduce", "model")],
        [("all-reduce", ("model",)), ("all-reduce", ("data",))],
        Counter([("all-reduce", "data"), ("all-reduce", "model")]),
        {("all-reduce", "data"): 1, ("all-reduce", "model"): 1},
    ):
        assert_collectives(read(both, X), pairs)


def test_a_product_of_axes_is_a_tuple_or_words_in_any_order() -> None:
    f = shard_map(
        lambda a: jax.lax.psum(a, ("data", "model")),
        mesh=MESH,
        in_specs=P("data", "model"),
        out_specs=P(),
    )
    reading = read(f, X)

    for axes in (("data", "model"), ("model", "data"), "data x model"):
        assert_collectives(reading, [("all-reduce", axes)])


def test_other_collectives_show_expected_actual_and_lines() -> None:
    with pytest.raises(AssertionError) as error:
        assert_collectives(
            read(rows, X), [("all-gather", "data"), ("all-gather", "data")]
        )

    assert f"""\
collectives differ in
  rows(float32[8,16]@P('data', 'model'))
expected
  2 x all-gather over data
actual
  all-reduce over model
missing
  2 x all-gather over data
not expected
  all-reduce over model: float32[2]
    {at(rows)}""" == str(error.value)


def test_a_collective_that_is_missing_and_one_too_often() -> None:
    with pytest.raises(AssertionError) as error:
        assert_collectives(read(lambda a: a * 2, X), [("all-reduce", "data")])

    assert """\
collectives differ in
  <lambda>(float32[8,16]@P('data', 'model'))
expected
  all-reduce over data
actual
  none
missing
  all-reduce over data""" == str(error.value)

    once = read(rows, X)
    twice = dataclasses.replace(once, collectives=once.collectives * 2)
    with pytest.raises(AssertionError, match="actual\n  2 x all-reduce over"):
        assert_collectives(twice, [("all-reduce", "model")])


@pytest.mark.parametrize(
    ("expected", "kind", "said"),
    [
        (("all-reduce", "model"), TypeError, (
            "assert_collectives() was given 'all-reduce' where a pair is "
            'expected; give the kind and the axis, as ("all-reduce", "model")'
        )),
        ([("allreduce", "model")], ValueError, (
            "assert_collectives() was given the kind 'allreduce'; the kinds "
            "are all-gather, all-reduce, all-to-all, collective-broadcast, "
            "collective-permute, ragged-all-to-all, reduce-scatter"
        )),
        ([("all-reduce", "modle")], ValueError, """\
assert_collectives() was given the axis 'modle', which the mesh of
  rows(float32[8,16]@P('data', 'model'))
does not have; its axes are 'data', 'model'"""),
    ],
    ids=["one pair alone", "no kind", "no axis"],
)
def test_what_can_never_be_expected_is_refused(
    expected: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind) as error:
        assert_collectives(read(rows, X), expected)

    assert said == str(error.value)


def test_parts_of_axes_and_plain_groups_are_expected_in_words() -> None:
    base = read(rows, X)
    (one,) = base.collectives
    part = dataclasses.replace(one, spans=(Span("data", 2, 4),))
    plain = dataclasses.replace(one, spans=None)

    assert_collectives(
        dataclasses.replace(base, collectives=(part, plain)),
        [("all-reduce", "data (2 of 4)"), ("all-reduce", "groups of 2")],
    )


def test_wire_bytes() -> None:
    assert_wire_bytes(read(lambda a: a * 2, X), at_most=0)
    assert_wire_bytes(read(rows, X), at_most=8)
    with pytest.raises(AssertionError) as error:
        assert_wire_bytes(read(rows, X), at_most=7)

    assert f"""\
wire bytes per device, by the ring model, in
  rows(float32[8,16]@P('data', 'model'))
expected at most 7
actual   8, difference +1
  all-reduce over model: float32[2]
    {at(rows)}: 8""" == str(error.value)


def test_wire_bytes_that_are_not_known_fail_and_name_the_collective() -> None:
    base = read(rows, X)
    (one,) = base.collectives
    reading = dataclasses.replace(
        base,
        collectives=(one, dataclasses.replace(one, times=None, frames=())),
    )
    with pytest.raises(AssertionError) as error:
        assert_wire_bytes(reading, at_most=1_000_000)

    assert """\
wire bytes per device, by the ring model, in
  rows(float32[8,16]@P('data', 'model'))
expected at most 1,000,000
actual   not known, for how often or what these send is not
  all-reduce over model: float32[2]
    no line is recorded""" == str(error.value)
