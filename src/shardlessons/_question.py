"""The call that a reading answers, kept so as to ask it on another mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from shardlessons._arithmetic import SpecError, spec_text
from shardlessons._jax import has_mesh_in_force, moved, using_mesh
from shardlessons._mesh import listed


@dataclass(frozen=True)
class Question:
    """A function, its arguments without values, whether a mesh was in force."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    under_mesh: bool

    @classmethod
    def of(
        cls,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Question:
        args, kwargs = jax.tree.map(_abstract, (args, kwargs))
        return cls(f, args, kwargs, has_mesh_in_force())

    def ask(self, read: Callable[..., Any], mesh: Mesh) -> Any:
        """The answer of `read`, its arguments on another mesh.

        Raises:
            SpecError: an argument's spec names an axis that `mesh` lacks, or
                its sharding has no spec.
        """
        leaves, tree = jax.tree_util.tree_flatten_with_path(
            (self.args, self.kwargs)
        )
        args, kwargs = tree.unflatten(
            _moved(path, leaf, mesh) for path, leaf in leaves
        )
        # What is without a mesh in the function means the mesh in force.
        with using_mesh(mesh) if self.under_mesh else nullcontext():
            return read(self.f, *args, **kwargs)

    def __deepcopy__(self, memo: Any) -> Question:
        return self

    def __reduce__(self) -> Any:
        # A function may not be pickled, which a reading without it may.
        return type(None), ()


def _abstract(leaf: Any) -> Any:
    """An array's type and sharding; anything else as it is."""
    if isinstance(leaf, jax.Array):
        # A key has no weak type, a tracer no device to be committed to.
        committed = getattr(leaf, "committed", False)
        return jax.ShapeDtypeStruct(
            leaf.shape,
            leaf.dtype,
            sharding=leaf.sharding if committed else None,
            weak_type=getattr(leaf, "weak_type", False),
        )
    if isinstance(leaf, np.ndarray):
        dtype = jax.dtypes.canonicalize_dtype(leaf.dtype)
        return jax.ShapeDtypeStruct(leaf.shape, dtype)
    return leaf


def _moved(path: tuple[Any, ...], leaf: Any, mesh: Mesh) -> Any:
    sharding = getattr(leaf, "sharding", None)
    if not isinstance(leaf, jax.ShapeDtypeStruct) or sharding is None:
        return leaf
    keyword = path[0].idx == 1
    place = ("kwargs" if keyword else "args") + jax.tree_util.keystr(path[1:])
    if not isinstance(sharding, NamedSharding):
        raise SpecError(
            f"{place} has a {type(sharding).__name__}, which names no axes "
            "to keep on another mesh; read the call with a NamedSharding, or "
            "with none"
        )
    for axis in _axes(sharding.spec):
        if axis not in mesh.shape:
            raise SpecError(
                f"{place} has the spec {spec_text(sharding.spec)}, and the "
                f"mesh has no axis {axis!r}; its axes are "
                f"{listed(mesh.shape)}"
            )
    return moved(
        leaf,
        NamedSharding(
            mesh, sharding.spec, memory_kind=sharding.memory_kind
        ),
    )


def _axes(spec: PartitionSpec) -> Iterator[str]:
    for entry in spec:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, tuple):
            yield from entry
