"""What the compiler decided for one call, as a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import Mesh
from jax.stages import Compiled, Lowered, Traced, Wrapped

from shardlessons import _report
from shardlessons._collectives import Collective, Unread, read_collectives
from shardlessons._jax import argument_names, input_sharding, result_infos
from shardlessons._leaf import Leaf, meshes_of, spec_or_sharding
from shardlessons._question import Question
from shardlessons._slices import slices_of

if TYPE_CHECKING:
    from shardlessons._diff import Difference


@dataclass(frozen=True)
class Bytes:
    """What one device holds for the program, as its compiler counts it.

    All are bytes per device, in the device's own memory, from
    ``compiled.memory_analysis()``.

    Attributes:
        argument: the arguments that are used.
        output: the results, and a pointer to each where there are several.
        temp: what is needed only while the program runs.
        alias: the part of `output` that lies in donated arguments.
    """

    argument: int
    output: int
    temp: int
    alias: int


# Compared by value: two readings are equal if they say the same of the same
# call, so that a test can compare what was with what is.
@dataclass(frozen=True, repr=False)
class Reading:
    """What the compiler decided for one call; made by `read`.

    It keeps the function, and no array and no compiled program. Printing it
    gives a report.

    Attributes:
        call: the call, shortened to a line where arguments are many.
        inputs: the arrays given, keyword arguments last. Static arguments
            are not among them.
        outputs: the arrays returned.
        bytes: what one device holds, as the compiler counts it.
        collectives: what the devices send each other.
        unread: what may be a collective too, but cannot be read.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        question: the call without its arrays, for `on`; None where no
            function was read.
    """

    call: str
    inputs: tuple[Leaf, ...]
    outputs: tuple[Leaf, ...]
    bytes: Bytes
    collectives: tuple[Collective, ...]
    unread: tuple[Unread, ...]
    in_tree: jax.tree_util.PyTreeDef
    out_tree: jax.tree_util.PyTreeDef
    question: Any = field(default=None, compare=False)

    @property
    def in_specs(self) -> tuple[Any, ...]:
        """The specs of the positional arguments, as `shard_map` takes them.

        A sharding that is not a NamedSharding stands as itself; None stands
        for an input that is dropped. Keyword arguments, which jit's
        ``in_shardings`` does not cover either, are in `inputs`.
        """
        return self.in_tree.unflatten(map(spec_or_sharding, self.inputs))[0]

    @property
    def in_shardings(self) -> tuple[Any, ...]:
        """The shardings of the positional arguments, as jit takes them."""
        return self.in_tree.unflatten(leaf.sharding for leaf in self.inputs)[0]

    @property
    def out_specs(self) -> Any:
        """The specs of the result, in the result's own structure.

        A sharding that is not a NamedSharding stands as itself.
        """
        return self.out_tree.unflatten(map(spec_or_sharding, self.outputs))

    @property
    def out_shardings(self) -> Any:
        """The shardings of the result, in the result's own structure."""
        return self.out_tree.unflatten(leaf.sharding for leaf in self.outputs)

    def looking_past(self, *packages: str) -> Reading:
        """The same reading, its sources outside the packages named.

        A layer of a library calls jax on the reader's behalf; the line that
        calls the layer is then the one to know.

        Args:
            *packages: as they are imported: ``"flax"``, ``"optax"``.

        Returns:
            The reading, whose collectives lack the frames in those packages,
            so that `Collective.source` is the innermost frame outside.

        Raises:
            ValueError: a package is not installed.
        """
        return replace(
            self,
            collectives=tuple(
                one.looking_past(*packages) for one in self.collectives
            ),
        )

    def on(self, mesh: Mesh) -> Reading:
        """The same call asked again, its arguments on another mesh.

        Each argument that has a NamedSharding keeps its spec; one without a
        sharding stays without. A mesh that the function names itself, or
        that jit was given in ``in_shardings`` or ``out_shardings``, is not
        changed, and jax says that the two do not fit. Specs without a mesh
        follow: where the call was read under ``jax.set_mesh``, it is read
        again under ``jax.set_mesh(mesh)``.

        Args:
            mesh: as `cpu_mesh`, `tpu_mesh` or `gpu_mesh` make it.

        Raises:
            SpecError: an argument's spec names an axis that the mesh does
                not have, or its sharding has no spec.
            TypeError: `mesh` is no Mesh; or no function was read, but a
                Traced, Lowered or Compiled, or a reading was unpickled.
            Exception: whatever jax raises for the call itself, untouched.

        >>> import jax
        >>> from jax.sharding import NamedSharding, PartitionSpec as P
        >>> from shardlessons import cpu_mesh, read
        >>> small = cpu_mesh({"data": 2, "model": 2})
        >>> large = cpu_mesh({"data": 4, "model": 2})
        >>> sharding = NamedSharding(small, P("data", "model"))
        >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
        >>> reading = read(lambda a: a * 2, x)
        >>> reading.outputs[0].bytes, reading.on(large).outputs[0].bytes
        (128, 64)
        """
        if not isinstance(mesh, Mesh):
            raise TypeError(
                f"on() was given {mesh!r}, which is no Mesh; give one, as "
                "cpu_mesh, tpu_mesh and gpu_mesh make it"
            )
        if self.question is None:
            raise TypeError(
                "this reading does not know its function, so that it cannot "
                "be asked again; read the function and its arguments, in "
                "place of a Traced, Lowered or Compiled"
            )
        return self.question.ask(read, mesh)

    def diff(self, after: Reading) -> Difference:
        """What another reading says differently; false if it says the same.

        Args:
            after: a reading of the same call after a change, or of another
                that is to be compared.

        Raises:
            TypeError: `after` is no Reading.
        """
        from shardlessons import _diff  # which needs no reading until then

        require_reading(after, "diff")
        return _diff.difference(self, after)

    def __str__(self) -> str:
        return _report.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from shardlessons import _draw_call  # which needs no reading until then

        report = _report.html(self)
        if _draw_call.why_not(self):
            return report
        picture = _draw_call.draw_call(self)._repr_html_()
        return f"<div>\n{picture}\n{report}\n</div>"


def read(
    f: Callable[..., Any] | Wrapped | Traced | Lowered | Compiled,
    /,
    *args: Any,
    **kwargs: Any,
) -> Reading:
    """Compile a call and read back what the compiler decided; run nothing.

    Args:
        f: a function, which is jitted as it is; a jitted function, with
            whatever it was jitted with; or a call already traced, lowered
            or compiled, which takes no arguments here.
        *args: the arguments of the call: arrays, each a
            ``jax.ShapeDtypeStruct`` (with a sharding or without), scalars,
            any pytree of them.
        **kwargs: its keyword arguments.

    Returns:
        The specs, shardings, bytes per device and collectives of the call.

    Raises:
        TypeError: `f` is not callable, or arguments were given with a call
            that has its own.
        NotImplementedError: the backend's compiler counts no bytes; or
            `f` is compiled already, before jax 0.7, which keeps no shapes
            of its results.
        Exception: whatever jax raises for the call itself, untouched.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> reading = read(lambda a: a.sum(1), x)
    >>> reading.out_specs == P("data")
    True
    >>> reading.bytes.argument, reading.bytes.output
    (64, 8)
    """
    if isinstance(f, (Traced, Lowered, Compiled)):
        if args or kwargs:
            raise TypeError(
                f"read() was given a {type(f).__name__} and arguments; a "
                f"{type(f).__name__} has its arguments already: give it "
                "alone, or give the function and the arguments"
            )
        return _read(f)
    if callable(f):
        # A jitted function keeps what it was jitted with.
        jitted = f if isinstance(f, Wrapped) else jax.jit(f)
        reading = _read(jitted.trace(*args, **kwargs))
        return replace(reading, question=Question.of(f, args, kwargs))
    raise TypeError(
        f"read() was given {f!r}, which is not callable; give a function "
        "and its arguments, or a Traced, Lowered or Compiled of jax"
    )


def require_reading(reading: Any, caller: str) -> None:
    """Refuse, in the caller's name, what is no Reading."""
    if not isinstance(reading, Reading):
        raise TypeError(
            f"{caller}() was given {reading!r}, which is no Reading; call "
            "shardlessons.read(f, *args) first and give what it returns"
        )


def _read(stage: Traced | Lowered | Compiled) -> Reading:
    name = names = None
    if isinstance(stage, Traced):
        name, names = stage.fun_name, argument_names(stage)
        stage = stage.lower()
    lowered = stage if isinstance(stage, Lowered) else None
    compiled = stage if lowered is None else lowered.compile()
    if name is None:
        # Only the program's own name is left: jit_f.
        module = compiled.runtime_executable().hlo_modules()[0]
        name = module.name.removeprefix("jit_")
    inputs = _inputs(compiled, names)
    counted = compiled.memory_analysis()
    if counted is None:
        raise NotImplementedError(
            f"the compiler of {name} gives no memory_analysis(), which the "
            "bytes of a reading come from; read it for another backend"
        )
    outputs = _outputs(compiled, result_infos(lowered, compiled))
    meshes = meshes_of((*inputs, *outputs))
    collectives, unread = read_collectives(
        lambda: compiled.runtime_executable().hlo_modules(),
        [mesh.shape for mesh in meshes],
        slices_of(meshes),
    )
    return Reading(
        call=_report.call_text(
            name, _report.arguments_text(compiled.in_tree, inputs)
        ),
        inputs=inputs,
        outputs=outputs,
        bytes=Bytes(
            argument=counted.argument_size_in_bytes,
            output=counted.output_size_in_bytes,
            temp=counted.temp_size_in_bytes,
            alias=counted.alias_size_in_bytes,
        ),
        collectives=collectives,
        unread=unread,
        in_tree=compiled.in_tree,
        out_tree=compiled.out_tree,
    )


def _inputs(
    compiled: Compiled, names: Sequence[str | None] | None
) -> tuple[Leaf, ...]:
    infos = jax.tree_util.tree_leaves_with_path(compiled.args_info)
    # Not tree_leaves: a dropped input is None, and None is no leaf.
    shardings = compiled.in_tree.flatten_up_to(compiled.input_shardings)
    names = names or [None] * len(infos)
    return tuple(
        Leaf(
            name or _place(path),
            info.shape,
            info.dtype,
            input_sharding(sharding),
        )
        for name, (path, info), sharding in zip(
            names, infos, shardings, strict=True
        )
    )


def _outputs(compiled: Compiled, infos: Any) -> tuple[Leaf, ...]:
    infos = jax.tree_util.tree_leaves_with_path(infos)
    shardings = compiled.out_tree.flatten_up_to(compiled.output_shardings)
    return tuple(
        Leaf(
            "result" + jax.tree_util.keystr(path),
            info.shape,
            info.dtype,
            sharding,
        )
        for (path, info), sharding in zip(infos, shardings, strict=True)
    )


def _place(path: tuple[Any, ...]) -> str:
    """Where an input stands, of a call that has lost its names."""
    keyword = path[0].idx == 1
    return ("kwargs" if keyword else "args") + jax.tree_util.keystr(path[1:])
