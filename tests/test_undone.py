"""Names that a cell did not define, and code for a jax with Auto axes alone."""

from __future__ import annotations

import ast

import pytest

from shardlessons.sphinxext._older import AXIS_TYPE, CPU_DEVICES, Adapted
from shardlessons.sphinxext._undone import Undone


def run(undone: Undone, source: str) -> str | None:
    """Run a cell and tell; return why it is not answered."""
    error = None
    try:
        exec(compile(source, "<cell>", "exec"), undone.namespace)
    except Exception as raised:
        error = raised
    return undone.ran(source, error)


def new() -> Undone:
    return Undone({"__name__": "__main__"})


def test_what_follows_in_the_cell_is_undone_and_what_came_before_is_not() -> None:
    undone = new()
    run(undone, "import math\na = 1\nb = math.nothing\nc = 2\n")
    why = "AttributeError: module 'math' has no attribute 'nothing'"

    assert {"b": why, "c": why} == undone.names
    assert None is undone.reason("a + math.pi")
    assert why == undone.reason("a + b")


def test_a_name_from_before_is_not_taken_for_the_one_that_was_to_come() -> None:
    undone = new()
    run(undone, "f = 1\n")
    run(undone, "f = [][0]\n")

    assert 1 == undone.namespace["f"]
    assert "IndexError: list index out of range" == undone.reason("f")


def test_the_reason_is_the_first_error_and_not_one_that_follows_from_it() -> None:
    undone = new()
    run(undone, "a = [][0]\n")
    why = run(undone, "b = a + 1\n")
    run(undone, "def f():\n    return b\n")

    assert "IndexError: list index out of range" == why
    assert why == undone.reason("f()")


def test_a_cell_that_raises_by_itself_is_its_own_answer() -> None:
    undone = new()
    why = run(undone, "a = [][0]\nb = a\n")

    assert None is why
    assert {"a", "b"} == set(undone.names)


def test_a_name_bound_anew_is_answered_again() -> None:
    undone = new()
    run(undone, "a = [][0]\n")
    run(undone, "a = 1\nb = a\n")

    assert {} == undone.names
    assert None is undone.reason("a + b")


@pytest.mark.parametrize(
    "source",
    [
        "def f(a): return a",
        "g = lambda a: a",
        "[a for a in range(3)]",
        "h.a",
        "dict(a=1)",
    ],
)
def test_another_name_that_is_spelt_so_is_not_it(source: str) -> None:
    undone = new()
    undone.names["a"] = "KeyError: 1"

    assert None is undone.reason(source)


def test_an_error_that_the_cell_calls_for_undoes_what_it_was_to_bind() -> None:
    undone = new()
    run(undone, "def fail():\n    raise ValueError('no')\n")
    run(undone, "before = 1\nwith open(__file__) if fail() else fail() as x:\n    y = 1\n")

    assert {"x", "y"} == set(undone.names)


def adapted(source: str, *without: str) -> str:
    return ast.unparse(Adapted(frozenset(without)).visit(ast.parse(source)))


PRELUDE = """\
from jax.sharding import AxisType, NamedSharding
jax.config.update('jax_num_cpu_devices', 8)
mesh = jax.make_mesh((4, 2), ('data', 'model'), axis_types=(AxisType.Auto,) * 2)"""


def test_a_jax_that_has_the_names_is_asked_as_written() -> None:
    assert PRELUDE == adapted(PRELUDE)


def test_a_jax_without_them_is_asked_for_what_it_has() -> None:
    asked = adapted(PRELUDE, AXIS_TYPE, CPU_DEVICES)

    assert [
        "from jax.sharding import NamedSharding",
        "__import__('os').environ.update("
        "XLA_FLAGS=f'--xla_force_host_platform_device_count={8}')",
        "mesh = jax.make_mesh((4, 2), ('data', 'model'))",
    ] == asked.split("\n")


@pytest.mark.parametrize(
    "source",
    [
        "jax.make_mesh((8,), ('data',), axis_types=(AxisType.Explicit,))",
        "jax.make_mesh((8,), ('data',), axis_types=(kind,))",
        "[kind.name for kind in AxisType]",
        "jax.config.update('jax_enable_x64', True)",
    ],
)
def test_what_is_not_auto_stays_as_written(source: str) -> None:
    assert source == adapted(source, AXIS_TYPE, CPU_DEVICES)
