"""An array and how it lies on a mesh, in words: ``float32[8,16] data,-``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from shardlessons._arithmetic import SpecError, shard_shape
from shardlessons._report import sharding_text, type_text

if TYPE_CHECKING:
    from shardlessons._leaf import Leaf

_WORDS = re.compile(r"\s*(\w+)\[([\d,\s]*)\]\s*(?:\s(\S.*?))?\s*")
_FORM = (
    "expected dtype[shape] and, for each dimension, the mesh axes that cut "
    'it, as "float32[512,512] data,-" or "float32[8,16] data+model"'
)


class WordsError(ValueError):
    """Words that are no array, or one that does not fit the mesh."""


def parse_words(words: str, mesh: Mesh | None) -> jax.ShapeDtypeStruct:
    """The array that the words name.

    Args:
        words: a dtype and a shape; then an entry for each dimension: an axis
            of the mesh, several as ``data+model``, or ``-`` for none.
            Dimensions without an entry are not cut.
        mesh: the mesh that has the axes; None for an array on one device.

    Returns:
        An array without data, with a sharding if there is a mesh.

    Raises:
        WordsError: the words are not of that form, or do not fit the mesh.

    >>> from shardlessons import cpu_mesh
    >>> from shardlessons._words import parse_words
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> x = parse_words("bfloat16[16,8] data+model,-", mesh)
    >>> x.shape, x.dtype.name, x.sharding.spec[0]
    ((16, 8), 'bfloat16', ('data', 'model'))
    """
    found = _WORDS.fullmatch(words)
    if not found:
        raise WordsError(f"{words!r} is no array; {_FORM}")
    dtype, shape, entries = found.groups()
    try:
        dtype = jnp.dtype(dtype)
        shape = tuple(int(size) for size in shape.split(",") if shape.strip())
    except TypeError:
        raise WordsError(
            f"{words!r} has the dtype {dtype!r}, which jax does not know; "
            f"{_FORM}"
        ) from None
    except ValueError:
        raise WordsError(
            f"{words!r} has the shape [{shape}], which is no list of sizes; "
            f"{_FORM}"
        ) from None
    if mesh is None:
        if entries:
            raise WordsError(
                f"{words!r} names mesh axes, and there is no mesh; expected "
                "a mesh, as data=4,model=2, or dtype[shape] alone"
            )
        return jax.ShapeDtypeStruct(shape, dtype)
    spec = PartitionSpec(*map(_entry, entries.split(",") if entries else ()))
    try:
        shard_shape(shape, spec, mesh)
    except SpecError as error:
        raise WordsError(f"{words!r} does not fit the mesh: {error}") from None
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(mesh, spec)
    )


def leaf_words(leaf: Leaf) -> str:
    """A leaf in the words that `parse_words` takes.

    Two specs that cut an array alike have the same words, whatever trailing
    None they are spelled with. A sharding that no words exist for stands as
    reports show it.
    """
    if leaf.spec is None:
        return f"{type_text(leaf)} {sharding_text(leaf.sharding)}"
    entries = [*leaf.spec, *[None] * (len(leaf.shape) - len(leaf.spec))]
    return f"{type_text(leaf)} {','.join(map(_entry_words, entries))}".rstrip()


def _entry(words: str) -> str | tuple[str, ...] | None:
    words = words.strip()
    if words == "-":
        return None
    axes = tuple(axis.strip() for axis in words.split("+"))
    # Before jax 0.5 P(("data",)) is not P("data").
    return axes if len(axes) > 1 else axes[0]


def _entry_words(entry: str | tuple[str, ...] | None) -> str:
    if not entry:
        return "-"
    return entry if isinstance(entry, str) else "+".join(entry)
