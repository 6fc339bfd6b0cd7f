"""What a test needs of jax that some release lacks, or has by another name."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from shardlessons import Frame


def before(release: str) -> bool:
    """The jax in use is older."""
    return jax.__version_info__ < tuple(map(int, release.split(".")))


needs_axis_types = pytest.mark.skipif(
    not hasattr(jax.sharding, "AxisType"),
    reason="Explicit axes came in jax 0.5.3",
)
needs_count_option = pytest.mark.skipif(
    not hasattr(jax.config, "jax_num_cpu_devices"),
    reason="jax_num_cpu_devices came in jax 0.5",
)
needs_info_of_compiled = pytest.mark.skipif(
    not hasattr(jax.stages.Compiled, "out_info"),
    reason="Compiled.out_info came in jax 0.7",
)
needs_abstract_mesh = pytest.mark.skipif(
    not hasattr(jax.sharding, "get_abstract_mesh"),
    reason="whether a mesh is in force can be asked from jax 0.5 on",
)
needs_pickled_devices = pytest.mark.skipif(
    before("0.10"), reason="devices can be copied from jax 0.10 on"
)
needs_frames = pytest.mark.skipif(
    before("0.9"), reason="frames that can be told came in jax 0.9"
)
needs_small_floats = pytest.mark.skipif(
    not hasattr(jnp, "float4_e2m1fn"),
    reason="float4_e2m1fn and float8_e8m0fnu came in jax 0.5",
)


def kept(*frames: Frame) -> tuple[Frame, ...]:
    """What a compiled program keeps of an operation's frames.

    All of them; none in jax 0.8, which lists them in another order than it
    numbers them; before, the innermost, without its function.
    """
    if not before("0.9"):
        return frames
    if not before("0.8"):
        return ()
    return (dataclasses.replace(frames[0], function=""),)


def kept_source(frame: Frame) -> Frame | None:
    """What `Collective.source` is, of an operation with that frame."""
    return next(iter(kept(frame)), None)


def shard_map(f: Any, *, check_vma: bool = True, **given: Any) -> Any:
    """`jax.shard_map`, which came in jax 0.6."""
    if hasattr(jax, "shard_map"):
        return jax.shard_map(f, check_vma=check_vma, **given)
    from jax.experimental.shard_map import shard_map as experimental

    return experimental(f, check_rep=check_vma, **given)


def module_from_text(text: str) -> Any:
    """An ``HloModule`` as XLA reads it."""
    for home in ("_hlo", "_jax", "xla_extension"):  # the newest first
        try:
            module = importlib.import_module(f"jaxlib.{home}")
        except ModuleNotFoundError:
            continue
        if hasattr(module, "hlo_module_from_text"):
            return module.hlo_module_from_text(text)
    raise AssertionError("jaxlib reads no text of a module")
