"""The assertions for a reader's own tests, and what they say."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from releases import kept_source, shard_map

from shardlessons import Frame, Span, Unread, cpu_mesh, read
from shardlessons._traffic import source_text
from shardlessons.testing import (
    assert_bytes,
    assert_collectives,
    assert_no_collectives,
    assert_out_specs,
    assert_wire_bytes,
)

MESH = cpu_mesh({"data": 4, "model": 2})
X = jax.ShapeDtypeStruct(
    (8, 16), jnp.float32, sharding=NamedSharding(MESH, P("data", "model"))
)


def sums(a: jax.Array) -> dict[str, Any]:
    return {"rows": a.sum(1), "parts": (a.sum(0), None)}


def test_specs_that_hold_pass() -> None:
    assert_out_specs(read(lambda a: a.T, X), P("model", "data"))
    assert_out_specs(
        read(sums, X), {"rows": P("data"), "parts": (P("model"), None)}
    )
    assert_out_specs(read(lambda: None), None)


@pytest.mark.parametrize(
    "spelling", [P("data"), P("data", None), P(("data",)), P(("data",), None)]
)
def test_spelling_does_not_matter(spelling: P) -> None:
    assert_out_specs(read(lambda a: a.reshape(16, 8), X), spelling)


@pytest.mark.parametrize("spelling", [P(), P(None), P(None, None)])
def test_spelling_of_replicated_does_not_matter(spelling: P) -> None:
    replicated = NamedSharding(MESH, P())
    f = jax.jit(lambda a: a * 2, out_shardings=replicated)

    assert_out_specs(read(f, X), spelling)


def test_a_sharding_may_stand_for_a_spec() -> None:
    one = SingleDeviceSharding(jax.devices("cpu")[0])

    assert_out_specs(read(jnp.sin, np.ones(3)), one)
    assert_out_specs(
        read(lambda a: a.T, X), NamedSharding(MESH, P("model", "data"))
    )


def test_a_spec_that_differs_shows_call_expected_and_actual() -> None:
    with pytest.raises(AssertionError) as error:
        assert_out_specs(read(lambda a: a.sum(0), X), P("data"))

    assert """\
output specs differ in
  <lambda>(float32[8,16]@P('data', 'model'))
at result, a rank 1 array:
  expected P('data',)
  actual   P('model',)""" == str(error.value)


def test_each_output_that_differs_is_shown_and_no_other() -> None:
    def f(a: jax.Array) -> list[jax.Array]:
        return [a.sum(0), a, a.sum(1)]

    with pytest.raises(AssertionError) as error:
        assert_out_specs(read(f, X), [P(), P("data", "model"), P("model")])

    assert """\
output specs differ in
  f(float32[8,16]@P('data', 'model'))
at result[0], a rank 1 array:
  expected P()
  actual   P('model',)
at result[2], a rank 1 array:
  expected P('model',)
  actual   P('data',)""" == str(error.value)


def test_the_order_of_axes_in_a_product_matters() -> None:
    x = jax.ShapeDtypeStruct(
        (8,), "int8", sharding=NamedSharding(MESH, P(("data", "model")))
    )

    assert_out_specs(read(lambda a: a * 2, x), P(("data", "model")))
    with pytest.raises(AssertionError, match="output specs differ"):
        assert_out_specs(read(lambda a: a * 2, x), P(("model", "data")))


def test_one_device_is_no_spec() -> None:
    with pytest.raises(AssertionError) as error:
        assert_out_specs(read(lambda a: a * 2, np.ones(3, np.float32)), P())

    assert """\
output specs differ in
  <lambda>(float32[3]@SingleDeviceSharding(cpu:0))
at result, a rank 1 array:
  expected P()
  actual   SingleDeviceSharding(cpu:0)""" == str(error.value)


def test_a_spec_longer_than_the_rank_differs() -> None:
    with pytest.raises(AssertionError) as error:
        assert_out_specs(read(lambda a: a.sum(1), X), P("data", "model"))

    assert """\
at result, a rank 1 array:
  expected P('data', 'model')
  actual   P('data',)""" in str(error.value)


def test_an_axis_that_the_mesh_does_not_have_is_an_error_of_jax() -> None:
    with pytest.raises(ValueError, match="Resource axis: modle of .* not fou"):
        assert_out_specs(read(lambda a: a.sum(1), X), P("modle"))


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        (P("data"), "*"),
        ({"rows": P("data")}, "{'rows': *}"),
        (
            {"rows": P("data"), "parts": [P("model"), None]},
            "{'parts': [*, None], 'rows': *}",
        ),
        (None, "None"),
    ],
    ids=["one spec", "missing", "list for tuple", "none"],
)
def test_another_structure_is_shown_beside_the_result_s(
    expected: Any, shown: str
) -> None:
    with pytest.raises(AssertionError) as error:
        assert_out_specs(read(sums, X), expected)

    assert f"""\
the structure of the expected specs is not that of the result of
  sums(float32[8,16]@P('data', 'model'))
expected {shown}
actual   {{'parts': (*, None), 'rows': *}}""" == str(error.value)


def test_what_is_neither_spec_nor_sharding_is_refused() -> None:
    with pytest.raises(TypeError) as error:
        assert_out_specs(read(lambda a: a.sum(1), X), "data")

    assert (
        "assert_out_specs() was given 'data' where a spec is expected; give "
        "a PartitionSpec, or a sharding, for each output"
    ) == str(error.value)


def test_bytes_that_hold_pass() -> None:
    reading = read(jax.jit(lambda a: a + 1, donate_argnums=0), X)

    assert_bytes(reading, argument=64, output=64, temp=0, alias=64)
    assert_bytes(reading, temp=0)


def test_bytes_that_differ_show_call_expected_actual_and_difference() -> None:
    reading = read(lambda a: a * 2, X)

    with pytest.raises(AssertionError) as error:
        assert_bytes(reading, argument=2048, output=64, temp=0, alias=64)
    assert """\
bytes per device differ in
  <lambda>(float32[8,16]@P('data', 'model'))
argument: expected 2,048, actual 64, difference -1,984
alias: expected 64, actual 0, difference -64""" == str(error.value)

    with pytest.raises(AssertionError) as error:
        assert_bytes(reading, output=0)
    assert """\
bytes per device differ in
  <lambda>(float32[8,16]@P('data', 'model'))
output: expected 0, actual 64, difference +64""" == str(error.value)


def test_no_count_asserts_nothing_and_is_refused() -> None:
    with pytest.raises(TypeError) as error:
        assert_bytes(read(lambda a: a * 2, X))

    assert (
        "assert_bytes() was given no count, so it asserts nothing; give one "
        "or more of argument, output, temp and alias"
    ) == str(error.value)


def test_what_is_no_reading_is_refused() -> None:
    for ask, name in (
        (lambda given: assert_out_specs(given, P()), "assert_out_specs"),
        (lambda given: assert_bytes(given, temp=0), "assert_bytes"),
        (assert_no_collectives, "assert_no_collectives"),
        (lambda given: assert_collectives(given, []), "assert_collectives"),
        (
            lambda given: assert_wire_bytes(given, at_most=0),
            "assert_wire_bytes",
        ),
    ):
        with pytest.raises(TypeError) as error:
            ask(jnp.sin)

        assert (
            f"{name}() was given {jnp.sin!r}, which is no Reading; call "
            "shardlessons.read(f, *args) first and give what it returns"
        ) == str(error.value)


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
