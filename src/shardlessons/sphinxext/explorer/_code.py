"""The code that asks one question, as a reader copies it."""

from __future__ import annotations

from collections.abc import Iterable

from shardlessons.sphinxext.explorer.operations import Chip, MeshShape, Operation

FILE = "ask.py"  # where it says that it stands

_HEAD = """\
import jax
{numpy}from jax.sharding import NamedSharding, PartitionSpec as P

from shardlessons import {maker}, read

mesh = {maker}({first}{{{sizes}}})

def struct(shape, spec):
    sharding = NamedSharding(mesh, spec)
    return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)

{source}

"""


def head_of(operation: Operation, mesh: MeshShape, chip: Chip) -> str:
    """The code without its question: the mesh, ``struct`` and the function."""
    return _HEAD.format(
        numpy="import jax.numpy as jnp\n" if "jnp." in operation.source else "",
        maker=chip.maker,
        first=chip.first,
        sizes=", ".join(f'"{axis}": {size}' for axis, size in mesh.sizes.items()),
        source=operation.source,
    )


def code_of(
    operation: Operation, mesh: MeshShape, chip: Chip, specs: Iterable[str]
) -> str:
    """The whole code; it prints the report of a reading.

    Args:
        operation: what is asked.
        mesh: its mesh.
        chip: what compiles it.
        specs: of each argument, as code.
    """
    asked, jitted = operation.name, ""
    if chip.options:
        asked = "asked"
        options = "".join(
            f'    "{key}": {value},\n' for key, value in chip.options.items()
        )
        jitted = f"options = {{\n{options}}}\n"
        jitted += f"asked = jax.jit({operation.name}, compiler_options=options)\n"
    arguments = "".join(
        f"    struct({shape}, {spec}),\n"
        for shape, spec in zip(operation.shapes.values(), specs, strict=True)
    )
    head = head_of(operation, mesh, chip)
    return f"{head}{jitted}print(read(\n    {asked},\n{arguments}))\n"
