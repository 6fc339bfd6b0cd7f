"""Ask JAX what sharding comes out and what each device holds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shardlessons._absent import (
        CompilerMissingError,
        gpu_mesh,
        tpu_mesh,
    )
    from shardlessons._arithmetic import (
        SpecError,
        bytes_per_device,
        shard_shape,
    )
    from shardlessons._collectives import Collective, Unread
    from shardlessons._cost import (
        BandwidthError,
        Cost,
        H100_NVLINK,
        Link,
        TPU_V5E_ICI,
        TPU_V5P_ICI,
        TPU_V6E_ICI,
        Traffic,
        cost,
        traffic,
    )
    from shardlessons._devices import DevicesError, cpu_devices, cpu_mesh
    from shardlessons._diff import Difference, LeafChange
    from shardlessons._draw import Drawing, draw
    from shardlessons._draw_bytes import draw_bytes
    from shardlessons._draw_call import draw_call
    from shardlessons._draw_collectives import draw_collectives
    from shardlessons._draw_reshape import draw_reshape
    from shardlessons._groups import Span
    from shardlessons._leaf import Leaf
    from shardlessons._reading import Bytes, Reading, read
    from shardlessons._shapes import Array
    from shardlessons._sources import Frame

__version__ = "0.1.0"

# Looked up on first use, so that importing the package does not import jax:
# a reader's own flags can still be set after it.
_HOMES = {
    "Array": "_shapes",
    "BandwidthError": "_cost",
    "Bytes": "_reading",
    "Collective": "_collectives",
    "CompilerMissingError": "_absent",
    "Cost": "_cost",
    "DevicesError": "_devices",
    "Difference": "_diff",
    "Drawing": "_draw",
    "Frame": "_sources",
    "H100_NVLINK": "_cost",
    "Leaf": "_leaf",
    "LeafChange": "_diff",
    "Link": "_cost",
    "Reading": "_reading",
    "Span": "_groups",
    "SpecError": "_arithmetic",
    "TPU_V5E_ICI": "_cost",
    "TPU_V5P_ICI": "_cost",
    "TPU_V6E_ICI": "_cost",
    "Traffic": "_cost",
    "Unread": "_collectives",
    "bytes_per_device": "_arithmetic",
    "cost": "_cost",
    "cpu_devices": "_devices",
    "cpu_mesh": "_devices",
    "draw": "_draw",
    "draw_bytes": "_draw_bytes",
    "draw_call": "_draw_call",
    "draw_collectives": "_draw_collectives",
    "draw_reshape": "_draw_reshape",
    "gpu_mesh": "_absent",
    "read": "_reading",
    "shard_shape": "_arithmetic",
    "tpu_mesh": "_absent",
    "traffic": "_cost",
}

__all__ = [
    "Array",
    "BandwidthError",
    "Bytes",
    "Collective",
    "CompilerMissingError",
    "Cost",
    "DevicesError",
    "Difference",
    "Drawing",
    "Frame",
    "H100_NVLINK",
    "Leaf",
    "LeafChange",
    "Link",
    "Reading",
    "Span",
    "SpecError",
    "TPU_V5E_ICI",
    "TPU_V5P_ICI",
    "TPU_V6E_ICI",
    "Traffic",
    "Unread",
    "bytes_per_device",
    "cost",
    "cpu_devices",
    "cpu_mesh",
    "draw",
    "draw_bytes",
    "draw_call",
    "draw_collectives",
    "draw_reshape",
    "gpu_mesh",
    "read",
    "shard_shape",
    "tpu_mesh",
    "traffic",
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
