"""A reading as text and as HTML, both from the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from shardlessons._arithmetic import spec_text

if TYPE_CHECKING:
    from shardlessons._reading import Leaf, Reading

WIDTH = 76
_COLUMNS = ("", "type", "spec", "bytes/device")


@dataclass(frozen=True)
class Section:
    """Rows under one heading; each row has a cell for each of `_COLUMNS`."""

    title: str
    rows: tuple[tuple[str, ...], ...]


def text(reading: Reading) -> str:
    """The report of a terminal: columns aligned, numbers to the right."""
    sections = _sections(reading)
    rows = [_COLUMNS, *(row for section in sections for row in section.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [*_heading(reading), "", _line(_COLUMNS, widths)]
    for section in sections:
        lines.append(section.title)
        lines += [_line(row, widths) for row in section.rows]
    return "\n".join(lines)


def html(reading: Reading) -> str:
    """The view of a notebook: one table, a body for each section."""
    caption = "<br/>".join(
        f"<code>{escape(line)}</code>" for line in _heading(reading)
    )
    head = "".join(
        f'<th scope="col">{escape(name)}</th>' if name else "<td></td>"
        for name in _COLUMNS
    )
    bodies = "\n".join(map(_body, _sections(reading)))
    return (
        f"<table>\n<caption>{caption}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n{bodies}\n</table>"
    )


def call_text(name: str, arguments: Sequence[str]) -> str:
    """``f(…)``, with as many leading arguments as fit in a line."""
    for kept in range(len(arguments), -1, -1):
        left = len(arguments) - kept
        shown = [*arguments[:kept], *([f"... {left} more"] if left else [])]
        call = f"{name}({', '.join(shown)})"
        if len(call) <= WIDTH or kept <= 1:
            return call
    raise AssertionError("unreachable: no arguments is a call too")


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


def _heading(reading: Reading) -> list[str]:
    meshes = {
        leaf.sharding.mesh: None
        for leaf in (*reading.inputs, *reading.outputs)
        if isinstance(leaf.sharding, NamedSharding)
    }
    return [reading.call, *map(_mesh_text, meshes)]


def _mesh_text(mesh: Any) -> str:
    axes = ", ".join(
        f"{name}={size} ({kind.name})"
        for (name, size), kind in zip(
            mesh.shape.items(), mesh.axis_types, strict=True
        )
    )
    return f"mesh {axes}"


def _sections(reading: Reading) -> list[Section]:
    counts = reading.bytes
    return [
        Section("inputs", _leaf_rows(reading.inputs)),
        Section("outputs", _leaf_rows(reading.outputs)),
        Section(
            "counted by the compiler",
            tuple(
                (name, "", "", f"{getattr(counts, name):,}")
                for name in ("argument", "output", "temp", "alias")
            ),
        ),
    ]


def _leaf_rows(leaves: Sequence[Leaf]) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (
            leaf.path,
            type_text(leaf),
            sharding_text(leaf.sharding),
            "" if leaf.bytes is None else f"{leaf.bytes:,}",
        )
        for leaf in leaves
    ) or (("none", "", "", ""),)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    *cells, number = row
    *left, right = widths
    aligned = map(str.ljust, cells, left)
    return "  ".join(["", *aligned, number.rjust(right)]).rstrip()


def _body(section: Section) -> str:
    span = len(_COLUMNS)
    title = escape(section.title)
    rows = "\n".join(
        f'<tr><th scope="row"><code>{escape(row[0])}</code></th>'
        + "".join(f"<td>{_cell(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in section.rows
    )
    return (
        f'<tbody>\n<tr><th scope="rowgroup" colspan="{span}">{title}</th>'
        f"</tr>\n{rows}\n</tbody>"
    )


def _cell(cell: str) -> str:
    return f"<code>{escape(cell)}</code>" if cell else ""
