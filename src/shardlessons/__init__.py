"""Ask JAX what sharding comes out and what each device holds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlessons._arithmetic import (
        SpecError,
        bytes_per_device,
        shard_shape,
    )
    from shardlessons._devices import DevicesError, cpu_devices, cpu_mesh
    from shardlessons._draw import Drawing, draw
    from shardlessons._reading import Bytes, Leaf, Reading, read
    from shardlessons._tiles import Tile

__version__ = "0.1.0"

# Looked up on first use, so that importing the package does not import jax:
# a reader's own flags can still be set after it.
_HOMES = {
    "Bytes": "_reading",
    "DevicesError": "_devices",
    "Drawing": "_draw",
    "Leaf": "_reading",
    "Reading": "_reading",
    "SpecError": "_arithmetic",
    "Tile": "_tiles",
    "bytes_per_device": "_arithmetic",
    "cpu_devices": "_devices",
    "cpu_mesh": "_devices",
    "draw": "_draw",
    "read": "_reading",
    "shard_shape": "_arithmetic",
}

__all__ = [
    "Bytes",
    "DevicesError",
    "Drawing",
    "Leaf",
    "Reading",
    "SpecError",
    "Tile",
    "bytes_per_device",
    "cpu_devices",
    "cpu_mesh",
    "draw",
    "read",
    "shard_shape",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(
        importlib.import_module(f"{__name__}.{_HOMES[name]}"), name
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
