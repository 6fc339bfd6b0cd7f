"""What a compiled program sends from device to device."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardlessons._groups import Groups, Span
from shardlessons._jax import FRAMES_ARE_NUMBERED
from shardlessons._program import (
    KINDS,
    POINT_TO_POINT,
    Instruction,
    Program,
    attribute,
    read_program,
)
from shardlessons._shapes import Array, arrays_in, parse_shape
from shardlessons._slices import Slices, is_transfer, received, transfer
from shardlessons._sources import Frame, frame_reader, outside
from shardlessons._where import Where

_CHAIN = re.compile(r'chain_id="(\d+)"')


@dataclass(frozen=True)
class Collective:
    """One collective of a compiled program, as every device runs it.

    Two are equal if they send the same; which line they come from, and how
    the compiler spells them, makes no difference. Where the compiler sends
    several arrays as one, which have a line each, it keeps one of the lines.

    Attributes:
        kind: ``all-gather``, ``all-reduce``, ``reduce-scatter``,
            ``all-to-all``, ``ragged-all-to-all``, ``collective-permute`` or
            ``collective-broadcast``.
        spans: the mesh axes, or parts of axes, that it runs over, in the
            mesh's order; of a collective-permute, the axes it crosses. None
            where no axes fit its groups.
        groups: the devices that exchange with each other, by their position
            in the mesh, row by row; of a collective-permute, the pairs of
            sender and receiver.
        operands: what each device puts in.
        results: what each device gets.
        times: how often it runs when the program runs once: the product of
            the trip counts of the loops around it. None where a loop does
            not say.
        conditional: it stands in a branch; `times` is then the most it runs.
        asynchronous: other work may run between its start and its end.
        frames: where it comes from, innermost first; frames of jax itself
            are left out. Empty where the compiler keeps no line.
        inferred: the compiler keeps no line for the collective itself, so
            `frames` are those of the nearest operation that uses its result,
            or else of the nearest that makes an operand.
        text: the instruction, as the compiler prints it.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> def struct(shape, spec):
    ...     sharding = NamedSharding(mesh, spec)
    ...     return jax.ShapeDtypeStruct(shape, "float32", sharding=sharding)
    >>> def f(x, w):
    ...     return x @ w
    >>> reading = read(f, struct((8, 16), P("data", "model")),
    ...                struct((16, 32), P("model")))
    >>> [one] = reading.collectives
    >>> print(one)
    all-reduce over model: float32[2,32] -> float32[2,32]
    >>> one.axes, one.group_size, one.operand_bytes, one.times
    (('model',), 2, 256, 1)
    >>> [frame.function for frame in one.frames[:1]]
    ['f']
    """

    kind: str
    spans: tuple[Span, ...] | None
    groups: Groups = field(repr=False)
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    times: int | None
    conditional: bool
    asynchronous: bool
    frames: tuple[Frame, ...] = field(compare=False, repr=False)
    inferred: bool = field(compare=False, repr=False)
    text: str = field(compare=False, repr=False)

    @property
    def axes(self) -> tuple[str, ...] | None:
        """The names of the mesh axes, whole or in part; None as in `spans`."""
        if self.spans is None:
            return None
        return tuple(span.axis for span in self.spans)

    @property
    def over(self) -> str:
        """The axes in words, as ``data x model`` or ``data (2 of 4)``."""
        if self.spans is None:
            sizes = sorted(set(map(len, self.groups)))
            return f"groups of {' and '.join(map(str, sizes))}"
        return " x ".join(map(str, self.spans)) or "no axis"

    @property
    def group_size(self) -> int:
        """How many devices are in a group, the largest where they differ."""
        return max(map(len, self.groups), default=0)

    @property
    def operand_bytes(self) -> int:
        """Bytes that each device puts in, each time."""
        return sum(array.bytes for array in self.operands)

    @property
    def result_bytes(self) -> int:
        """Bytes that each device gets, each time."""
        return sum(array.bytes for array in self.results)

    @property
    def source(self) -> Frame | None:
        """The innermost frame; None where the compiler keeps no line."""
        return self.frames[0] if self.frames else None

    def looking_past(self, *packages: str) -> Collective:
        """The same, without the frames in the packages named."""
        return dataclasses.replace(
            self, frames=outside(self.frames, packages)
        )

    def __str__(self) -> str:
        operands, results = (
            " + ".join(map(str, arrays))
            for arrays in (self.operands, self.results)
        )
        return f"{self.kind} over {self.over}: {operands} -> {results}"


@dataclass(frozen=True)
class Unread:
    """What may be a collective, but cannot be read.

    Attributes:
        text: the instruction, as the compiler prints it.
        why: what stands in the way.
    """

    text: str
    why: str


def read_collectives(
    modules: Callable[[], Sequence[Any]],
    meshes: Sequence[Mapping[str, int]],
    slices: Slices | None = None,
) -> tuple[tuple[Collective, ...], tuple[Unread, ...]]:
    """The collectives of a program, and what cannot be read of it.

    Args:
        modules: gives the program's ``HloModule`` s.
        meshes: for each mesh that may name the axes, the size of each axis
            by its name; the one that fits best is taken.
        slices: the slices of the mesh, where there are several.
    """
    found: list[Collective | Unread] = []
    # Here and below every exception is caught: a compiler may print what no
    # one has seen yet, and a reading shows that, rather than fail.
    try:
        for module in modules():
            found += _module(module, meshes, slices)
    except Exception as error:
        found.append(Unread("", f"the program: {_reason(error)}"))
    return (
        tuple(one for one in found if isinstance(one, Collective)),
        tuple(one for one in found if isinstance(one, Unread)),
    )


def _module(
    module: Any, meshes: Sequence[Mapping[str, int]], slices: Slices | None
) -> list[Collective | Unread]:
    text = module.to_string()
    program = read_program(module, text)
    reader = _Reader(program, text, meshes, slices)
    clones: set[Any] = set()
    found = []
    for instruction in program.instructions:
        if instruction.kind in KINDS or _is_send(instruction):
            clone = _clone(instruction, program)
            if clone is None or clone not in clones:
                clones.add(clone)
                found.append(reader.read(instruction))
    return found


def _is_send(instruction: Instruction) -> bool:
    host = "is_host_transfer=true" in instruction.attributes
    sent = instruction.opcode in POINT_TO_POINT and not host
    return sent or is_transfer(instruction)


def _clone(instruction: Instruction, program: Program) -> Any:
    """What the clones of one collective have in common; None for no clone.

    To hide a collective behind other work, the TPU compiler puts a clone of
    it into each of a chain of fusions: its start, the work, its end. The
    channel does not tell them from others: all of a shard_map have one.
    """
    if not _is_in_chain(instruction):
        return None
    caller = program.callers.get(instruction.computation)
    return (
        caller.computation if caller else None,
        attribute(instruction.attributes, "channel_id"),
        *_CHAIN.findall(instruction.attributes),
    )


def _is_asynchronous(instruction: Instruction) -> bool:
    started = instruction.opcode.endswith(("-start", "send"))
    # A start for GPU may say that its end follows at once.
    waits = '"is_sync":true' in instruction.attributes
    return started and not waits or _is_in_chain(instruction)


def _is_in_chain(instruction: Instruction) -> bool:
    return "async_collective_fusion_config" in instruction.attributes


class _Reader:
    """Reads the instructions of one module."""

    def __init__(
        self,
        program: Program,
        text: str,
        meshes: Sequence[Mapping[str, int]],
        slices: Slices | None,
    ) -> None:
        self._program = program
        self._where = Where(text, meshes, slices)
        self._frames = frame_reader(text, numbered=FRAMES_ARE_NUMBERED)
        self._lines = "stack_frame_id=" in text or "source_line=" in text

    def read(self, instruction: Instruction) -> Collective | Unread:
        try:
            return self._read(instruction)
        except Exception as error:
            return Unread(instruction.text, _reason(error))

    def _read(self, instruction: Instruction) -> Collective:
        between = is_transfer(instruction)
        if instruction.kind not in KINDS and not between:
            raise ValueError("sent from one device to another, of no kind")
        run = self._program.runs.get(instruction.computation)
        if run is None:
            raise ValueError("in a computation that nothing is seen to run")
        if between:
            kind = transfer(instruction).kind
            operands = _carried(instruction)
            results = _carried(
                received(instruction, self._program.instructions)
            )
            groups, spans = self._where.between_slices(instruction)
        else:
            kind = instruction.kind
            operands, results = _operands(instruction), _results(instruction)
            groups, spans = self._where.of(instruction)
        if scattered := self._scattered(instruction):
            kind, results = "reduce-scatter", scattered
        frames = self._frames(instruction.attributes)
        near = () if frames else self._frames_near(instruction)
        return Collective(
            kind=kind,
            spans=spans,
            groups=groups,
            operands=operands,
            results=results,
            times=run.times,
            conditional=run.conditional,
            asynchronous=run.asynchronous or _is_asynchronous(instruction),
            frames=frames or near,
            inferred=bool(near),
            text=instruction.text,
        )

    def _scattered(self, instruction: Instruction) -> tuple[Array, ...]:
        """What a device gets of an all-reduce whose fusion scatters it.

        The TPU compiler makes a reduce-scatter of such a fusion, which it
        names so; elsewhere nothing is scattered.
        """
        caller = self._program.callers.get(instruction.computation)
        named = instruction.computation.startswith("all-reduce-scatter")
        if instruction.kind != "all-reduce" or not named or caller is None:
            return ()
        return arrays_in(parse_shape(caller.shape))

    def _frames_near(self, instruction: Instruction) -> tuple[Frame, ...]:
        if not self._lines:
            return ()  # every instruction would be asked, for nothing
        for text in instruction.near():
            if frames := self._frames(text):
                return frames
        caller = self._program.callers.get(instruction.computation)
        if caller is None:
            return ()
        return self._frames(caller.text) or self._frames_near(caller)


def _operands(instruction: Instruction) -> tuple[Array, ...]:
    shapes = instruction.operands
    # The others say where its parts go, and what to write them into.
    if instruction.kind == "ragged-all-to-all":
        shapes = shapes[:1]
    return arrays_in(list(map(parse_shape, shapes)))


def _results(instruction: Instruction) -> tuple[Array, ...]:
    shape = parse_shape(instruction.shape)
    if instruction.opcode.endswith("-start") and isinstance(shape, list):
        # A start holds (operands, results, ...). That of an all-reduce holds
        # the results alone, but not always from jax 0.12 on.
        if instruction.kind != "all-reduce" or isinstance(shape[0], list):
            shape = shape[1]
    return arrays_in(shape)


def _carried(instruction: Instruction) -> tuple[Array, ...]:
    """What a send or recv carries: its shape is (that, context, token)."""
    return arrays_in(parse_shape(instruction.shape)[:1])


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
