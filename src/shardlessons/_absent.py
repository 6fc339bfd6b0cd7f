"""Meshes of TPUs and GPUs that are not there, for the compiler alone."""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import jax
from jax.experimental.topologies import get_topology_desc
from jax.sharding import Mesh

from shardlessons._devices import settle_on_cpu
from shardlessons._mesh import explicit_axes, is_positive, listed, row_by_row

# libtpu ends the process at a size of 0, and makes v2 chips of no name.
_TOPOLOGY = re.compile(r"[\w ]+[:=][1-9]\d*(x[1-9]\d*)*(_(un)?twisted)?")
_EXAMPLES = '"v5e:2x4", "v6e:16x16", "v4:2x2x1", "v5p:8x8x8", "tpu7x:4x4x4"'
# What libtpu looks for when it is loaded on a machine without a TPU.
_LIBTPU = {
    # Otherwise one process of a machine can load it at a time.
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    # Otherwise it asks the machine which TPU it has, and complains. A
    # topology has its chips from its own name.
    "TPU_ACCELERATOR_TYPE": "v5litepod-8",
    "TPU_WORKER_HOSTNAMES": "localhost",
    # Otherwise it writes into /tmp.
    "TPU_LOG_DIR": "disabled",
}


class CompilerMissingError(RuntimeError):
    """The compiler for a chip cannot be asked in this process."""


@dataclass(frozen=True)
class _Gpu:
    """One kind of GPU, as XLA describes it to its compiler.

    The values are those in XLA's own descriptions,
    https://github.com/openxla/xla/tree/main/xla/backends/gpu/target_config/specs
    (h100_sxm, a100_sxm_80, b200).
    """

    name: str
    compute_capability: int
    core_count: int
    fpus_per_core: int
    clock_rate_ghz: float
    shared_memory_per_core: int
    shared_memory_per_block_optin: int
    l2_cache_size: int
    memory_bandwidth: int
    device_memory_size: int

    def text(self) -> str:
        """As a GpuTargetConfigProto in protocol buffers' text format."""
        return f"""
            gpu_device_info {{
              cuda_compute_capability {{ major: {self.compute_capability} }}
              core_count: {self.core_count}
              fpus_per_core: {self.fpus_per_core}
              clock_rate_ghz: {self.clock_rate_ghz}
              shared_memory_per_core: {self.shared_memory_per_core}
              shared_memory_per_block: 49152
              shared_memory_per_block_optin: {
                self.shared_memory_per_block_optin
              }
              l2_cache_size: {self.l2_cache_size}
              memory_bandwidth: {self.memory_bandwidth}
              device_memory_size: {self.device_memory_size}
              threads_per_warp: 32
              threads_per_block_limit: 1024
              threads_per_core_limit: 2048
              block_dim_limit_x: 2147483647
              block_dim_limit_y: 65535
              block_dim_limit_z: 65535
              registers_per_core_limit: 65536
              registers_per_block_limit: 65536
            }}
            platform_name: "CUDA"
            runtime_version {{ major: 12 minor: 8 patch: 0 }}
            dnn_version_info {{ major: 9 minor: 7 }}
            device_description_str: "{self.name}"
        """


_GPUS = {
    "A100": _Gpu(
        name="NVIDIA A100-SXM4-80GB",
        compute_capability=8,
        core_count=108,
        fpus_per_core=64,
        clock_rate_ghz=1.41,
        shared_memory_per_core=167936,
        shared_memory_per_block_optin=166912,
        l2_cache_size=41943040,
        memory_bandwidth=2039040000000,
        device_memory_size=85100068864,
    ),
    "H100": _Gpu(
        name="NVIDIA H100 80GB HBM3",
        compute_capability=9,
        core_count=132,
        fpus_per_core=128,
        clock_rate_ghz=1.98,
        shared_memory_per_core=233472,
        shared_memory_per_block_optin=232448,
        l2_cache_size=52428800,
        memory_bandwidth=3352320000000,
        device_memory_size=84942979072,
    ),
    "B200": _Gpu(
        name="NVIDIA B200",
        compute_capability=10,
        core_count=148,
        fpus_per_core=128,
        clock_rate_ghz=1.965,
        shared_memory_per_core=233472,
        shared_memory_per_block_optin=232448,
        l2_cache_size=132644864,
        memory_bandwidth=7672320000000,
        device_memory_size=191514411008,
    ),
}


def tpu_mesh(
    topology: str,
    shape: Mapping[str, int],
    *,
    slices: int = 1,
    explicit: bool | Collection[str] = False,
) -> Mesh:
    """A mesh of TPU devices that are not there: to compile for, not to run.

    The devices are in the order of (slice, id), row by row, so that the
    first axis of ``{"slice": 2, ...}`` crosses slices. ``jax.make_mesh`` may
    order those of a real TPU in another way.

    This needs the extra ``tpu`` of the package, on Linux x86_64. Where JAX
    is to use no TPU, the variables that libtpu looks for are set while it is
    asked, unless they are set already, and are removed again.

    Args:
        topology: the chips of a slice, as libtpu names them: ``"v5e:2x4"``.
            A chip is one device; of v2, v3, v4 and tpu7x it is two.
        shape: the size of each axis by its name, as in
            ``{"data": 4, "model": 2}``.
        slices: how many slices of that topology there are.
        explicit: which axes are Explicit, as for `cpu_mesh`.

    Returns:
        A mesh of all devices of the slices.

    Raises:
        ValueError: as for `cpu_mesh`; a topology that libtpu does not know;
            a shape of another number of devices than the slices have.
        CompilerMissingError: libtpu cannot be asked here.

    >>> from shardlessons import tpu_mesh
    >>> mesh = tpu_mesh("v5e:2x4", {"data": 4, "model": 2})
    >>> mesh.devices[0, 0].device_kind
    'TPU v5 lite'
    """
    named = explicit_axes(shape, explicit)
    if not is_positive(slices):
        raise ValueError(
            f"slices was given as {slices!r}; it is an int, 1 or more"
        )
    if not isinstance(topology, str) or not _TOPOLOGY.fullmatch(topology):
        raise _unknown(topology)
    _require("tpu", ["libtpu"])
    settle_on_cpu()
    several = {"num_slices": slices} if slices > 1 else {}
    try:
        with _libtpu_environment():
            found = get_topology_desc(topology, "tpu", **several).devices
    except jax.errors.JaxRuntimeError as error:
        if str(error).startswith("INVALID_ARGUMENT"):
            raise _unknown(topology) from error
        variables = " ".join(f"{k}={v}" for k, v in _LIBTPU.items())
        raise CompilerMissingError(
            "libtpu does not start in the environment of this process; "
            f"restart the process or kernel with these set: {variables}"
        ) from error
    if len(found) != math.prod(shape.values()):
        raise ValueError(
            f"the shape {dict(shape)} has {math.prod(shape.values()):,} "
            f"devices, and {_slices_text(topology, slices)} "
            f"{len(found):,}; give sizes whose product is {len(found):,}"
        )
    devices = sorted(found, key=_slice_and_id)
    return row_by_row(devices, shape, named)


def gpu_mesh(
    chip: str,
    shape: Mapping[str, int],
    *,
    hosts: int = 1,
    explicit: bool | Collection[str] = False,
) -> Mesh:
    """A mesh of GPUs that are not there: to compile for, not to run.

    This needs the extra ``gpu`` of the package, on Linux x86_64. With no GPU
    to try kernels on, XLA picks some by rule, so that the temporaries may
    differ from those on a real one.

    Args:
        chip: ``"A100"``, ``"H100"`` or ``"B200"``, the SXM boards.
        shape: the size of each axis by its name, as in
            ``{"data": 4, "model": 2}``; it has as many GPUs as the product.
        hosts: how many machines the GPUs are split over, evenly, in order.
        explicit: which axes are Explicit, as for `cpu_mesh`.

    Returns:
        A mesh of ``math.prod(shape.values())`` devices, in the order of
        their ids, row by row.

    Raises:
        ValueError: as for `cpu_mesh`; a chip that is not described here; a
            number of devices that the hosts do not divide.
        CompilerMissingError: JAX's CUDA plugin cannot be asked here.

    >>> from shardlessons import gpu_mesh
    >>> mesh = gpu_mesh("H100", {"data": 4, "model": 2})
    >>> mesh.devices[0, 0].device_kind
    'NVIDIA H100 80GB HBM3'
    """
    named = explicit_axes(shape, explicit)
    if chip not in _GPUS:
        raise ValueError(
            f"the chip was given as {chip!r}; those described are "
            f"{listed(_GPUS)}"
        )
    if not is_positive(hosts):
        raise ValueError(
            f"hosts was given as {hosts!r}; it is an int, 1 or more"
        )
    count = math.prod(shape.values())
    if count % hosts:
        raise ValueError(
            f"the shape {dict(shape)} has {count:,} devices, which {hosts:,} "
            "hosts do not divide evenly"
        )
    _require("gpu", ["jax-cuda13-plugin", "jax-cuda13-pjrt"])
    settle_on_cpu()
    try:
        found = get_topology_desc(
            chip,
            "cuda",
            topology=f"1x{hosts}x{count // hosts}",
            target_config=_GPUS[chip].text(),
        ).devices
    except NotImplementedError as error:
        raise CompilerMissingError(
            "JAX started without its CUDA plugin in this process: its "
            f"platforms are {jax.config.jax_platforms!r}, and it finds no "
            "CUDA to run on. Restart the process or kernel, and set "
            "JAX_PLATFORMS=cpu before it starts, or make this call before "
            "any jax operation"
        ) from error
    return row_by_row(sorted(found, key=_slice_and_id), shape, named)


@contextmanager
def _libtpu_environment() -> Iterator[None]:
    # Where JAX is to use a real TPU, libtpu has to find that one.
    real = "tpu" in (jax.config.jax_platforms or "").split(",")
    added = {
        name: value
        for name, value in _LIBTPU.items()
        if not real and name not in os.environ
    }
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _require(extra: str, wheels: list[str]) -> None:
    """Refuse a platform without compilers, and wheels missing or unfit."""
    machine = platform.machine()
    if sys.platform != "linux" or machine != "x86_64":
        raise CompilerMissingError(
            f"the compiler is published for Linux on x86_64 alone, and this "
            f"is {platform.system()} on {machine}"
        )
    install = f'pip install "shardlessons[{extra}]"'
    for wheel in wheels:
        try:
            version = metadata.version(wheel)
        except metadata.PackageNotFoundError:
            raise CompilerMissingError(
                f"the compiler is in {wheel}, which is not installed: "
                f"{install}"
            ) from None
        wanted = _wanted(wheel)
        if wanted and not f"{version}.".startswith(wanted):
            raise CompilerMissingError(
                f"{wheel} {version} is installed, and jax {jax.__version__} "
                f"needs {wanted}*: {install}"
            )


def _wanted(wheel: str) -> str | None:
    """What a wheel's version has to begin with; None if jax says nothing."""
    if wheel.startswith("jax-"):
        return f"{metadata.version('jaxlib')}."
    for requirement in metadata.requires("jax") or ():
        if found := re.match(rf"{wheel}==([\d.]+\.)\*", requirement):
            return found[1]
    return None


def _unknown(topology: object) -> ValueError:
    return ValueError(
        f"the topology was given as {topology!r}, which libtpu does not "
        f"know; it is a kind of chip and their grid, as {_EXAMPLES}"
    )


def _slices_text(topology: str, slices: int) -> str:
    if slices == 1:
        return f"{topology} has"
    return f"{slices:,} slices of {topology} have"


def _slice_and_id(device: Any) -> tuple[int, int]:
    # A device of a single slice has no slice_index.
    return getattr(device, "slice_index", 0), device.id
