"""The assertions on specs and bytes, and what they say."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from structs import MESH

from shardlessons import read
from shardlessons.testing import (
    assert_bytes,
    assert_collectives,
    assert_no_collectives,
    assert_out_specs,
    assert_wire_bytes,
)

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
