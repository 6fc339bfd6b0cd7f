"""What a test needs of jax that some release lacks, or has by another name."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import pytest

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
