"""Assertions about a `Reading`, for a test-suite of your own."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from shardlessons._leaf import Leaf
from shardlessons._pinned import assert_pinned
from shardlessons._reading import Reading, require_reading
from shardlessons._report import sharding_text
from shardlessons._traffic_assertions import (
    assert_collectives,
    assert_no_collectives,
    assert_wire_bytes,
)

__all__ = [
    "assert_bytes",
    "assert_collectives",
    "assert_no_collectives",
    "assert_out_specs",
    "assert_pinned",
    "assert_wire_bytes",
]


def assert_out_specs(reading: Reading, expected: Any) -> None:
    """Assert what the outputs' specs are, however they are spelled.

    Specs that cut an array in the same way pass for each other, by
    ``Sharding.is_equivalent_to``: a trailing None makes no difference.

    Args:
        reading: what `shardlessons.read` returned.
        expected: a spec for each output, in the structure of the result; so
            just a spec where one array is returned. A sharding may stand in
            place of a spec.

    Raises:
        AssertionError: an output has another spec, or the structure is not
            the result's.
        TypeError: `reading` is no Reading, or a leaf of `expected` is
            neither a spec nor a sharding.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_out_specs
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> reading = read(lambda a: {"twice": a * 2, "sum": a.sum()}, x)
    >>> assert_out_specs(reading, {"twice": P("data", "model"), "sum": P()})
    """
    require_reading(reading, "assert_out_specs")
    wanted, tree = jax.tree.flatten(expected, is_leaf=_is_layout)
    for layout in wanted:
        if not _is_layout(layout):
            raise TypeError(
                f"assert_out_specs() was given {layout!r} where a spec is "
                "expected; give a PartitionSpec, or a sharding, for each "
                "output"
            )
    if tree != reading.out_tree:
        raise AssertionError(
            f"the structure of the expected specs is not that of the result "
            f"of\n  {reading.call}\n"
            f"expected {_structure(tree)}\n"
            f"actual   {_structure(reading.out_tree)}"
        )
    differing = [
        f"at {leaf.path}, a rank {len(leaf.shape)} array:\n"
        f"  expected {sharding_text(layout)}\n"
        f"  actual   {sharding_text(leaf.sharding)}"
        for leaf, layout in zip(reading.outputs, wanted, strict=True)
        if not _same(leaf, layout)
    ]
    if differing:
        head = f"output specs differ in\n  {reading.call}"
        raise AssertionError("\n".join([head, *differing]))


def assert_bytes(
    reading: Reading,
    *,
    argument: int | None = None,
    output: int | None = None,
    temp: int | None = None,
    alias: int | None = None,
) -> None:
    """Assert what one device holds, in bytes, as the compiler counts it.

    Args:
        reading: what `shardlessons.read` returned.
        argument: bytes per device of the arguments that are used.
        output: bytes per device of the results.
        temp: bytes per device needed only while the program runs.
        alias: bytes per device of results that lie in donated arguments.

    Raises:
        AssertionError: a count is another.
        TypeError: `reading` is no Reading, or no count was given.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_bytes
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> assert_bytes(read(lambda a: a * 2, x), argument=64, output=64)
    """
    require_reading(reading, "assert_bytes")
    given = {
        "argument": argument,
        "output": output,
        "temp": temp,
        "alias": alias,
    }
    wanted = {name: n for name, n in given.items() if n is not None}
    if not wanted:
        raise TypeError(
            "assert_bytes() was given no count, so it asserts nothing; give "
            "one or more of argument, output, temp and alias"
        )
    rows = [
        f"{name}: expected {count:,}, actual {actual:,}, "
        f"difference {actual - count:+,}"
        for name, count in wanted.items()
        if (actual := getattr(reading.bytes, name)) != count
    ]
    if rows:
        head = f"bytes per device differ in\n  {reading.call}"
        raise AssertionError("\n".join([head, *rows]))


def _is_layout(node: Any) -> bool:
    return isinstance(node, (PartitionSpec, Sharding))


def _same(leaf: Leaf, layout: PartitionSpec | Sharding) -> bool:
    rank = len(leaf.shape)
    if isinstance(layout, PartitionSpec):
        # is_equivalent_to fails on a longer spec with a bare IndexError.
        if leaf.spec is None or len(layout) > rank:
            return False
        layout = NamedSharding(
            leaf.sharding.mesh, layout, memory_kind=leaf.sharding.memory_kind
        )
    return leaf.sharding.is_equivalent_to(layout, rank)


def _structure(tree: jax.tree_util.PyTreeDef) -> str:
    return str(tree).removeprefix("PyTreeDef(").removesuffix(")")
