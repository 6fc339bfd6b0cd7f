"""What a release of jax lacks, or has under another name.

Nothing else in the package asks which release of jax it runs on, and here a
feature is asked for, not a number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
from jax.sharding import (
    Mesh,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
)
from jax.stages import Compiled, Lowered, Traced

COUNT_OPTION = "jax_num_cpu_devices"
COUNT_FLAG = "--xla_force_host_platform_device_count"

# The XLA of jax 0.8 lists stack frames in another order than it numbers them,
# which nothing but its number tells.
FRAMES_ARE_NUMBERED = jax.__version_info__ >= (0, 9)

# An older jax names keyword arguments in the order of the signature, and
# takes them sorted.
_NAMES_ARE_SORTED = jax.__version_info__ >= (0, 6)

_NAMED = (NamedSharding, SingleDeviceSharding)
# From jax 0.5.3 on. Every axis of an older mesh is what Auto is since.
_AxisType = getattr(jax.sharding, "AxisType", None)


def make_mesh(
    devices: np.ndarray, axes: tuple[str, ...], explicit: Collection[str]
) -> Mesh:
    """A mesh whose axes are Auto, but for those named.

    Raises:
        NotImplementedError: an axis is to be Explicit, and jax has no axis
            types.
    """
    if _AxisType is not None:
        kinds = tuple(
            _AxisType.Explicit if axis in explicit else _AxisType.Auto
            for axis in axes
        )
        return Mesh(devices, axes, axis_types=kinds)
    if explicit:
        raise NotImplementedError(
            f"the mesh was to have Explicit axes, and jax {jax.__version__} "
            "has none: jax.sharding.AxisType came in jax 0.5.3; install that "
            "or a later one, or leave explicit out"
        )
    return Mesh(devices, axes)


def axis_kinds(mesh: Any) -> tuple[str, ...]:
    """``Auto``, ``Explicit`` or ``Manual`` for each axis of a mesh."""
    if _AxisType is None:
        return ("Auto",) * len(mesh.axis_names)
    return tuple(kind.name for kind in mesh.axis_types)


def using_mesh(mesh: Mesh) -> AbstractContextManager[Any]:
    """Within it, a spec may stand where a sharding is expected."""
    if hasattr(jax, "set_mesh"):  # from jax 0.7 on
        return jax.set_mesh(mesh)
    if hasattr(jax.sharding, "use_mesh"):  # from jax 0.5 on
        return jax.sharding.use_mesh(mesh)
    return mesh


def has_mesh_in_force() -> bool:
    """Whether a spec may stand where a sharding is expected.

    Before jax 0.5 there is no way to ask, and this is false.
    """
    if not hasattr(jax.sharding, "get_abstract_mesh"):
        return False
    return not jax.sharding.get_abstract_mesh().empty


def moved(
    struct: jax.ShapeDtypeStruct, sharding: Sharding
) -> jax.ShapeDtypeStruct:
    """The same shape and dtype, under another sharding."""
    if hasattr(struct, "update"):  # from jax 0.6 on
        return struct.update(sharding=sharding)
    return jax.ShapeDtypeStruct(
        struct.shape,
        struct.dtype,
        sharding=sharding,
        weak_type=struct.weak_type,
    )


def wanted_count() -> tuple[str, int] | None:
    """How many CPU devices the reader asks for, and by what; None if not.

    The option wins, as it does in jax.
    """
    option = getattr(jax.config, COUNT_OPTION, -1)  # from jax 0.5 on
    if option >= 0:
        return COUNT_OPTION, option
    flag = re.search(rf"{COUNT_FLAG}=(\d+)", os.environ.get("XLA_FLAGS", ""))
    return ("XLA_FLAGS", int(flag[1])) if flag else None


def start_cpu(count: int) -> None:
    """Start the CPU backend with `count` devices, if it is not up already.

    JAX has no public way to ask that first. Where there is only XLA_FLAGS to
    say the number, they are as they were once this returns: XLA reads them
    when the backend starts, once.
    """
    if hasattr(jax.config, COUNT_OPTION):
        try:
            jax.config.update(COUNT_OPTION, count)
        except RuntimeError:
            pass  # it is up
        jax.devices("cpu")
        return
    before = os.environ.get("XLA_FLAGS")
    set_count(count)
    try:
        jax.devices("cpu")
    finally:
        if before is None:
            del os.environ["XLA_FLAGS"]
        else:
            os.environ["XLA_FLAGS"] = before


def set_count(count: int) -> None:
    """Say how many CPU devices there are to be, before a backend is up."""
    if hasattr(jax.config, COUNT_OPTION):
        jax.config.update(COUNT_OPTION, count)
    else:
        flags = os.environ.get("XLA_FLAGS", "")
        os.environ["XLA_FLAGS"] = f"{flags} {COUNT_FLAG}={count}".strip()


def argument_names(traced: Traced) -> tuple[str, ...]:
    """What each input is called, as ``params['w']``."""
    names = tuple(traced.jaxpr.jaxpr.debug_info.arg_names)
    if _NAMES_ARE_SORTED:
        return names
    _, keyword = traced.in_tree.children()
    known = len(names) - keyword.num_leaves
    rest = sorted(names[known:], key=lambda name: re.split(r"[.[]", name)[0])
    return (*names[:known], *rest)


def result_infos(lowered: Lowered | None, compiled: Compiled) -> Any:
    """The shape and dtype of each result, in the result's structure.

    Raises:
        NotImplementedError: only a Compiled is left of the call, which does
            not keep them before jax 0.7.
    """
    if lowered is not None:
        return lowered.out_info
    if hasattr(compiled, "out_info"):
        return compiled.out_info
    raise NotImplementedError(
        f"a Compiled was given, and that of jax {jax.__version__} does not "
        "keep the shapes of its results, as jax 0.7 does; give the Lowered "
        "it was compiled from, or the function and its arguments"
    )


def input_sharding(sharding: Sharding | None) -> Sharding | None:
    """The sharding of an input, by the name that its array has for it."""
    # Before jax 0.5 a Compiled calls one device replicated.
    other = sharding is not None and not isinstance(sharding, _NAMED)
    if other and len(sharding.device_set) == 1:
        (device,) = sharding.device_set
        return SingleDeviceSharding(device, memory_kind=sharding.memory_kind)
    return sharding


def has_instructions(module: Any) -> bool:
    """An ``HloModule`` gives its instructions, and not just its text."""
    # jax 0.10.2 is the first whose does.
    return all(hasattr(c, "instructions") for c in module.computations())


def shape_of(instruction: Any) -> Any:
    """The shape of an ``HloInstruction``; None if only its text has it."""
    return getattr(instruction, "shape", None)  # from jax 0.11 on
