"""The shapes of a compiled program, as arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from shardlessons._arithmetic import nbytes

_PREFIXES = {
    "bf": "bfloat",
    "c": "complex",
    "f": "float",
    "s": "int",
    "u": "uint",
}
_TYPE = re.compile(r"(bf|c|f|s|u)(\d+)(e\w+)?")
_TOKEN = re.compile(r"\(|\)|(\w+)\[([^\]]*)\]")
_NOT_SHAPE = re.compile(r"\{[^{}]*\}|/\*.*?\*/")  # layouts, /*index=5*/


@dataclass(frozen=True)
class Array:
    """The type of an array, or of the part of it that one device holds.

    Attributes:
        dtype: its dtype.
        shape: its shape.
    """

    dtype: np.dtype
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Its bytes, by the rule of `bytes_per_device`."""
        return nbytes(self.shape, self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


def parse_shape(text: str) -> Array | None | list[Any]:
    """A shape in HLO's words; a list for a tuple, None for a token.

    >>> from shardlessons._shapes import parse_shape
    >>> str(parse_shape("bf16[128,512]{1,0:T(8,128)(2,1)}"))
    'bfloat16[128,512]'
    """
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.finditer(_NOT_SHAPE.sub("", text)):
        if token[0] == "(":
            stack.append([])
        elif token[0] == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(_array(token[1], token[2]))
    if len(stack) != 1 or len(stack[0]) != 1:
        raise ValueError(f"a shape that cannot be read: {text}")
    return stack[0][0]


def _array(dtype: str, dimensions: str) -> Array | None:
    if dtype == "token":
        return None
    if dtype == "pred":
        name = "bool"
    elif found := _TYPE.fullmatch(dtype):
        name = _PREFIXES[found[1]] + found[2]
        name += f"_{found[3]}" if found[3] else ""
    else:
        raise ValueError(f"a type that is not known: {dtype}")
    # A dimension that may be shorter is written by its bound, as <=4.
    sizes = dimensions.split(",") if dimensions else []
    shape = tuple(int(size.removeprefix("<=")) for size in sizes)
    return Array(jnp.dtype(name), shape)


def arrays_in(shape: Array | None | list[Any]) -> tuple[Array, ...]:
    """All arrays in a shape, which may be a tuple of tuples."""
    if isinstance(shape, list):
        return tuple(array for part in shape for array in arrays_in(part))
    return () if shape is None else (shape,)
