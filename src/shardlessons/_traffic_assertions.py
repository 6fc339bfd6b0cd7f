"""Assertions about what a reading's devices send each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from shardlessons._collectives import Collective
from shardlessons._cost import Cost, traffic
from shardlessons._leaf import meshes_of
from shardlessons._program import KINDS
from shardlessons._reading import Reading, require_reading
from shardlessons._traffic import arrays_text, source_text

_Pair = tuple[str, str | tuple[str, ...]]


def assert_no_collectives(reading: Reading, *, over: str | None = None) -> None:
    """Assert that the devices send each other nothing, or not over an axis.

    What cannot be read may be a collective, and does not pass; nor, where an
    axis is named, does a collective whose groups fit no axis.

    Args:
        reading: what `shardlessons.read` returned.
        over: a mesh axis. Collectives over other axes alone then pass; one
            over a part of this axis, or over a product that it is in, does
            not.

    Raises:
        AssertionError: there is such a collective.
        ValueError: the mesh has no axis of that name.
        TypeError: `reading` is no Reading.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_no_collectives
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> assert_no_collectives(read(lambda a: a * 2, x))
    >>> assert_no_collectives(read(lambda a: a.sum(1), x), over="data")
    """
    require_reading(reading, "assert_no_collectives")
    if over is not None:
        _require_axis(reading, over, "assert_no_collectives")
    found = [
        _collective_lines(one)
        for one in reading.collectives
        if over is None or one.axes is None or over in one.axes
    ]
    found += _unread_lines(reading)
    if found:
        wanted = "none" if over is None else f"none over {over}"
        raise AssertionError(
            f"collectives in\n  {reading.call}\n"
            f"expected {wanted}\nactual\n" + "\n".join(found)
        )


def assert_collectives(
    reading: Reading, expected: Iterable[_Pair] | Mapping[_Pair, int]
) -> None:
    """Assert which collectives there are: these, as often, and no others.

    Each instruction of the program counts once, however often a loop runs
    it. The order makes no difference.

    Args:
        reading: what `shardlessons.read` returned.
        expected: the kind and the axis of each, as
            ``[("all-reduce", "model"), ("all-gather", "data")]``, or a
            Counter of such pairs. Several axes stand as a tuple, a part of
            one as in `Collective.over`: ``"data (2 of 4)"``.

    Raises:
        AssertionError: one is missing or not expected, or something that
            may be one cannot be read.
        ValueError: no collective is of that kind, or the mesh has no such
            axis.
        TypeError: `reading` is no Reading, or `expected` no such pairs.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_collectives
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> assert_collectives(
    ...     read(lambda a: a.sum(1), x), [("all-reduce", "model")]
    ... )
    >>> assert_collectives(
    ...     read(lambda a: a.sum(), x),
    ...     [("all-reduce", "data"), ("all-reduce", "model")],
    ... )
    """
    require_reading(reading, "assert_collectives")
    wanted: Counter[str] = Counter()
    counted = expected if isinstance(expected, Mapping) else Counter(expected)
    for pair, count in counted.items():
        wanted[_pair_text(reading, pair)] += count
    found = Counter(map(_collective_text, reading.collectives))
    unread = _unread_lines(reading)
    if wanted == found and not unread:
        return
    left = found - wanted
    unexpected = [
        _collective_lines(one)
        for one in reading.collectives
        if _collective_text(one) in left
    ]
    lines = [f"collectives differ in\n  {reading.call}"]
    for title, counts in (
        ("expected", wanted),
        ("actual", found),
        ("missing", wanted - found),
    ):
        if counts or title != "missing":
            lines += [title, *_counted(counts)]
    if unexpected or unread:
        lines += ["not expected", *unexpected, *unread]
    raise AssertionError("\n".join(lines))


def assert_wire_bytes(reading: Reading, *, at_most: int) -> None:
    """Assert how much a device sends, in bytes, by the ring model.

    Args:
        reading: what `shardlessons.read` returned.
        at_most: bytes per device over all axes, as `shardlessons.traffic`
            counts them.

    Raises:
        AssertionError: a device sends more, or how much is not known: a loop
            does not say how often it runs, or something cannot be read.
        TypeError: `reading` is no Reading.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_wire_bytes
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> assert_wire_bytes(read(lambda a: a.sum(1), x), at_most=8)
    """
    require_reading(reading, "assert_wire_bytes")
    sent = traffic(reading)
    unknown = [
        _collective_lines(one.collective)
        for one in sent.costs
        if one.bytes is None
    ] + _unread_lines(reading)
    head = (
        f"wire bytes per device, by the ring model, in\n  {reading.call}\n"
        f"expected at most {at_most:,}\n"
    )
    if unknown:
        raise AssertionError(
            f"{head}actual   not known, for how often or what these send is "
            "not\n" + "\n".join(unknown)
        )
    if sent.bytes > at_most:
        costs = sorted(sent.costs, key=lambda one: one.bytes, reverse=True)
        raise AssertionError(
            f"{head}actual   {sent.bytes:,}, difference "
            f"{sent.bytes - at_most:+,}\n" + "\n".join(map(_cost_lines, costs))
        )


def _require_axis(reading: Reading, axis: str, caller: str) -> None:
    axes = _axes(reading)
    if axis not in axes:
        listed = ", ".join(map(repr, axes))
        raise ValueError(
            f"{caller}() was given the axis {axis!r}, which the mesh of\n"
            f"  {reading.call}\ndoes not have; "
            + (f"its axes are {listed}" if axes else "it names no mesh")
        )


def _axes(reading: Reading) -> list[str]:
    meshes = meshes_of((*reading.inputs, *reading.outputs))
    return list(dict.fromkeys(axis for mesh in meshes for axis in mesh.shape))


def _pair_text(reading: Reading, pair: Any) -> str:
    """A pair as text, its axes in the mesh's order."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise TypeError(
            f"assert_collectives() was given {pair!r} where a pair is "
            'expected; give the kind and the axis, as ("all-reduce", "model")'
        )
    kind, axes = pair
    if kind not in KINDS:
        raise ValueError(
            f"assert_collectives() was given the kind {kind!r}; the kinds "
            f"are {', '.join(sorted(KINDS))}"
        )
    if isinstance(axes, str):
        # As Collective.over writes groups that fit no axis.
        if axes.startswith("groups of ") or axes == "no axis":
            return f"{kind} over {axes}"
        axes = tuple(axes.split(" x "))
    names = {part: part.partition(" (")[0] for part in axes}
    for name in names.values():
        _require_axis(reading, name, "assert_collectives")
    order = _axes(reading).index
    inside = sorted(axes, key=lambda part: order(names[part]))
    return f"{kind} over {' x '.join(inside) or 'no axis'}"


def _counted(counts: Counter[str]) -> list[str]:
    return [
        f"  {text}" if count == 1 else f"  {count} x {text}"
        for text, count in sorted(counts.items())
    ] or ["  none"]


def _collective_text(one: Collective) -> str:
    return f"{one.kind} over {one.over}"


def _collective_lines(one: Collective) -> str:
    where = f"{'at ' if one.source else ''}{source_text(one.source)}"
    return f"  {_collective_text(one)}: {arrays_text(one)}\n    {where}"


def _cost_lines(one: Cost) -> str:
    bound = "at most " if one.at_most else ""
    return f"{_collective_lines(one.collective)}: {bound}{one.bytes:,}"


def _unread_lines(reading: Reading) -> list[str]:
    return [
        f"  not read, for {one.why}\n    {one.text}" for one in reading.unread
    ]
