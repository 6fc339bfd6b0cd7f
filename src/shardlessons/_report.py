"""A reading as a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding
from jax.tree_util import PyTreeDef

from shardlessons._arithmetic import spec_text
from shardlessons._jax import axis_kinds
from shardlessons._leaf import Leaf, meshes_of
from shardlessons._paths import grouped
from shardlessons._table import WIDTH, Report, Row, Section, Table
from shardlessons._traffic import traffic_tables

if TYPE_CHECKING:
    from shardlessons._reading import Reading

LEAF_COLUMNS = ("", "type", "spec", "bytes/device")
COUNTS = ("argument", "output", "temp", "alias")


def text(reading: Reading) -> str:
    """The report of a terminal."""
    return _report(reading).text()


def html(reading: Reading) -> str:
    """The view of a notebook; it has the rows of the text."""
    return _report(reading).html()


def call_text(name: str, arguments: Sequence[str]) -> str:
    """``f(…)``, with as many leading arguments as fit in a line."""
    for kept in range(len(arguments), -1, -1):
        left = len(arguments) - kept
        shown = [*arguments[:kept], *([f"... {left} more"] if left else [])]
        call = f"{name}({', '.join(shown)})"
        if len(call) <= WIDTH or kept <= 1:
            return call
    raise AssertionError("unreachable: no arguments is a call too")


def arguments_text(in_tree: PyTreeDef, inputs: Sequence[Leaf]) -> list[str]:
    """Each argument of the call as a short text."""
    leaves = iter(inputs)
    positional, keyword = in_tree.children()
    shown = [_argument_text(tree, leaves) for tree in positional.children()]
    keys = keyword.node_data()[1]
    return shown + [
        f"{key}={_argument_text(tree, leaves)}"
        for key, tree in zip(keys, keyword.children(), strict=True)
    ]


def _argument_text(tree: PyTreeDef, leaves: Iterator[Leaf]) -> str:
    own = [next(leaves) for _ in range(tree.num_leaves)]
    node = tree.node_data()
    if node is None:
        return leaf_text(own[0])
    kind = node[0]
    if kind is type(None):
        return "None"
    plural = "leaf" if len(own) == 1 else "leaves"
    return f"{kind.__name__} of {len(own)} {plural}"


def leaf_text(leaf: Leaf) -> str:
    """A leaf as ``float32[8,16]@P('data', 'model')``."""
    if leaf.sharding is None:
        return f"{type_text(leaf)} (unused)"
    return f"{type_text(leaf)}@{sharding_text(leaf.sharding)}"


def type_text(leaf: Leaf) -> str:
    """A leaf's type as JAX writes it: ``float32[8,16]``."""
    return f"{leaf.dtype.name}[{','.join(map(str, leaf.shape))}]"


def sharding_text(sharding: Any) -> str:
    """A sharding, or a spec, as short as it can be and still say its kind."""
    if sharding is None:
        return "dropped (unused)"
    if isinstance(sharding, PartitionSpec):
        return spec_text(sharding)
    if isinstance(sharding, NamedSharding):
        return spec_text(sharding.spec)
    if isinstance(sharding, SingleDeviceSharding):
        (device,) = sharding.device_set
        return f"SingleDeviceSharding({device.platform}:{device.id})"
    return repr(sharding)


def types_text(leaves: Sequence[Leaf]) -> str:
    """The types of the leaves of one row: ``12 x float32[8,16]``."""
    shown = type_text(leaves[0])
    if len(set(map(type_text, leaves))) > 1:
        # The leaves of a row have at least a dtype in common.
        shown = f"{leaves[0].dtype.name}[...]"
    return shown if len(leaves) == 1 else f"{len(leaves):,} x {shown}"


def bytes_text(leaves: Sequence[Leaf]) -> str:
    """The bytes per device of leaves, "" where all are dropped."""
    counts = [leaf.bytes for leaf in leaves if leaf.bytes is not None]
    return f"{sum(counts):,}" if counts else ""


def mesh_lines(leaves: Sequence[Leaf]) -> list[str]:
    """A line for each mesh that the leaves' shardings name."""
    return list(map(_mesh_text, meshes_of(leaves)))


def _mesh_text(mesh: Any) -> str:
    axes = ", ".join(
        f"{name}={size} ({kind})"
        for (name, size), kind in zip(
            mesh.shape.items(), axis_kinds(mesh), strict=True
        )
    )
    return f"mesh {axes}"


def _report(reading: Reading) -> Report:
    leaves = (*reading.inputs, *reading.outputs)
    counts = reading.bytes
    counted = tuple(
        (name, "", "", f"{getattr(counts, name):,}") for name in COUNTS
    )
    holds = Table(
        "",
        LEAF_COLUMNS,
        (
            Section("inputs", _leaf_rows(reading.inputs)),
            Section("outputs", _leaf_rows(reading.outputs)),
            Section("counted by the compiler", counted),
        ),
    )
    return Report(
        (reading.call, *mesh_lines(leaves)),
        (holds, *traffic_tables(reading.collectives, reading.unread)),
    )


def _leaf_rows(leaves: Sequence[Leaf]) -> tuple[Row, ...]:
    groups = grouped(
        leaves,
        exact=lambda leaf: (type_text(leaf), sharding_text(leaf.sharding)),
        rough=lambda leaf: (leaf.dtype.name, sharding_text(leaf.sharding)),
    )
    return tuple(
        (
            group.path,
            types_text(group.members),
            sharding_text(group.members[0].sharding),
            bytes_text(group.members),
        )
        for group in groups
    ) or (("none", "", "", ""),)
