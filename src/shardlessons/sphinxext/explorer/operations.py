"""What a reader of the explorer can choose: operations, meshes, chips, specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp

# --- Operations, as the code that a reader copies has them


def double(x):
    return x * 2


def sum_rows(x):
    return x.sum(0)


def sum_columns(x):
    return x.sum(1)


def transpose(x):
    return x.T


def reshape(x):
    return x.reshape(16, 8)


def matmul(a, b):
    return a @ b


def mlp_gradient(x, up, down):
    def loss(up, down):
        return (jax.nn.relu(x @ up) @ down).mean()

    return jax.value_and_grad(loss, (0, 1))(up, down)


def attention(x, qkv, out):
    heads = jnp.einsum("bsd,dhk->bhsk", x, qkv)
    q, k, v = jnp.split(heads, 3, axis=-1)
    weights = jax.nn.softmax(q @ k.swapaxes(-1, -2))
    return jnp.einsum("bhsk,hkd->bsd", weights @ v, out)


# --- Meshes and chips


@dataclass(frozen=True)
class MeshShape:
    """Eight devices, and the names of the axes that they are arranged in."""

    name: str
    sizes: dict[str, int]


MESHES = (
    MeshShape("8", {"data": 8}),
    MeshShape("4x2", {"data": 4, "model": 2}),
    MeshShape("2x4", {"data": 2, "model": 4}),
    MeshShape("2x2x2", {"data": 2, "fsdp": 2, "model": 2}),
)


@dataclass(frozen=True)
class Chip:
    """What compiles: how the code makes its mesh, and what jit is told.

    Attributes:
        name: as in an address.
        title: as a reader knows it.
        maker: the function of shardlessons that makes its mesh.
        first: the maker's first argument, as code; empty if it has none.
        options: for the compiler, part of the question.
        effort: for the compiler too, of which no answer hangs: less work on
            machine code that never runs. A test asks a sample without.
    """

    name: str
    title: str
    maker: str
    first: str
    options: dict[str, Any]
    effort: dict[str, Any]


CHIPS = (
    Chip("cpu", "CPU", "cpu_mesh", "", {}, {"xla_backend_optimization_level": 0}),
    Chip("v5e", "TPU v5e", "tpu_mesh", '"v5e:2x4", ', {}, {}),
    # With no GPU to try kernels on there is nothing to choose them by, and to
    # compile those that might be chosen takes most of the time. What the choice
    # needs as temporaries differs, so the code says so too.
    Chip(
        "h100",
        "H100",
        "gpu_mesh",
        '"H100", ',
        {"xla_gpu_autotune_level": 0, "xla_gpu_enable_triton_gemm": False},
        {},
    ),
)

# --- Specs, in short: "df,m" is P(("data", "fsdp"), "model")

_AXES = {"d": "data", "f": "fsdp", "m": "model"}
_TWICE = "d,d"  # jax refuses it, and says why


@dataclass(frozen=True)
class Spec:
    """A spec: for each dimension the axes that cut it."""

    entries: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, short: str) -> Spec:
        entries = short.split(",") if short else []
        return cls(tuple(tuple(_AXES[axis] for axis in entry) for entry in entries))

    @property
    def code(self) -> str:
        """As code: ``P(("data", "fsdp"), "model")``."""
        return f"P({', '.join(map(_entry, self.entries))})"

    @property
    def token(self) -> str:
        """As an address has it: ``data-fsdp.model``, or ``_`` for ``P()``."""
        return ".".join("-".join(entry) or "_" for entry in self.entries) or "_"


def _entry(axes: tuple[str, ...]) -> str:
    quoted = [f'"{axis}"' for axis in axes]
    if len(quoted) > 1:
        return f"({', '.join(quoted)})"
    return quoted[0] if quoted else "None"


@dataclass(frozen=True)
class Operation:
    """A function, the shapes of its arguments, the specs that each can have.

    Attributes:
        function: a plain function of jax.
        title: as a reader reads it.
        shapes: of each argument by its name; every mesh divides them.
        specs: for meshes of one axis, of two and of three, the specs of each
            argument in short.
    """

    function: Callable[..., Any]
    title: str
    shapes: dict[str, tuple[int, ...]]
    specs: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def name(self) -> str:
        """As code and addresses have it."""
        return self.function.__name__

    @property
    def source(self) -> str:
        """The function's own code."""
        return inspect.getsource(self.function).rstrip()

    def choices(self, mesh: MeshShape) -> dict[str, tuple[Spec, ...]]:
        """The specs that each argument can have on a mesh."""
        given = self.specs[len(mesh.sizes) - 1]
        return {
            name: tuple(map(Spec.of, specs))
            for name, specs in zip(self.shapes, given, strict=True)
        }

    def questions(self, mesh: MeshShape) -> Iterator[tuple[Spec, ...]]:
        """All choices of a spec for each argument."""
        return product(*self.choices(mesh).values())


_ONE = ("", "d", ",d", _TWICE)
_TWO = ("", "d", "m", ",d", ",m", "d,m", "m,d", "dm", ",dm", _TWICE)
_THREE = ("", "d", "m", ",m", "d,m", "df", "df,m", "dfm", _TWICE)
_CALL: dict[str, Any] = {
    "shapes": {"x": (8, 16)},
    "specs": ((_ONE,), (_TWO,), (_THREE,)),
}
_PAIR_ONE = ("", "d", ",d", _TWICE)
_PAIR_TWO = ("", "d", "m", ",d", ",m", "d,m", "m,d", _TWICE)
_PAIR_THREE = ("", "df", "m", ",m", "df,m", _TWICE)
_MLP = {"x": (32, 64), "up": (64, 128), "down": (128, 64)}
_MLP_SPECS = (
    (("d", _TWICE), ("", "d", ",d"), ("", "d")),
    (("d", _TWICE), ("", ",m", "d,m"), ("", "m", "m,d")),
    (("df", _TWICE), ("", ",m", "f,m"), ("m", "m,f")),
)

OPERATIONS = (
    Operation(double, "x * 2", **_CALL),
    Operation(sum_rows, "x.sum(0)", **_CALL),
    Operation(sum_columns, "x.sum(1)", **_CALL),
    Operation(transpose, "x.T", **_CALL),
    Operation(reshape, "x.reshape(16, 8)", **_CALL),
    Operation(
        matmul,
        "a @ b",
        {"a": (64, 64), "b": (64, 64)},
        ((_PAIR_ONE,) * 2, (_PAIR_TWO,) * 2, (_PAIR_THREE,) * 2),
    ),
    Operation(mlp_gradient, "two-layer MLP and its gradient", _MLP, _MLP_SPECS),
    Operation(
        attention,
        "attention block",
        {"x": (8, 16, 64), "qkv": (64, 8, 24), "out": (8, 8, 64)},
        (
            (("d", _TWICE), ("", ",d"), ("", "d")),
            (("d", _TWICE), ("", ",m"), ("", "m")),
            (("df", _TWICE), ("", ",m"), ("", "m")),
        ),
    ),
)

# --- What is asked most: on a mesh of two axes, the specs of each argument

MOST_ASKED = (
    ("double", ("d,m",)),
    ("sum_rows", ("d,m",)),
    ("sum_columns", ("d,m",)),
    ("transpose", ("d,m",)),
    ("reshape", ("d,m",)),
    ("matmul", ("d,m", "m")),
    ("matmul", ("d", ",m")),
    ("matmul", ("", "m")),
    ("matmul", ("d", ",d")),
    ("mlp_gradient", ("d", "", "")),
    ("mlp_gradient", ("d", ",m", "m")),
    ("mlp_gradient", ("d", "d,m", "m,d")),
    ("attention", ("d", "", "")),
    ("attention", ("d", ",m", "m")),
)
FIRST = ("matmul", ("d,m", "m"))  # what the page shows before a choice
MOST_ASKED_MESH, MOST_ASKED_CHIP = MESHES[1], CHIPS[0]
