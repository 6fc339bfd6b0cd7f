"""Meshes of chips that are not there, for the tests of what is read on them."""

from __future__ import annotations

import functools
import platform
import sys
from collections.abc import Callable

import pytest
from jax.sharding import Mesh

from shardlessons import gpu_mesh, tpu_mesh

# For `pytestmark`.
where_compilers_are = pytest.mark.skipif(
    (sys.platform, platform.machine()) != ("linux", "x86_64"),
    reason="the compilers are published for Linux on x86_64 alone",
)
SHAPE = {"data": 4, "model": 2}
MESHES: dict[str, Callable[[], Mesh]] = {
    "v5e": functools.cache(lambda: tpu_mesh("v5e:2x4", SHAPE)),
    "H100": functools.cache(lambda: gpu_mesh("H100", SHAPE)),
}
