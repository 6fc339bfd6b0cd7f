"""The instructions of a compiled program that communicate, or call others."""

from __future__ import annotations

import functools
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shardlessons._jax import has_instructions, shape_of

KINDS = frozenset(
    {
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-broadcast",
        "collective-permute",
        "ragged-all-to-all",
        "reduce-scatter",
    }
)
# What else sends from device to device, but has no kind of its own.
POINT_TO_POINT = frozenset({"send", "recv"})
_CALLERS = frozenset(
    {"async-start", "call", "conditional", "custom-call", "fusion", "while"}
)
_WANTED = (
    KINDS | {f"{kind}-start" for kind in KINDS} | POINT_TO_POINT | _CALLERS
)

_CALLED = re.compile(
    r"\b(calls|to_apply|body|condition|branch_computations|"
    r"called_computations|true_computation|false_computation)="
    r"(?:\{([^{}]*)\}|(%[\w.\-]+))"
)
_BRANCHES = frozenset(
    {"branch_computations", "true_computation", "false_computation"}
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
_NAME = re.compile(r"%([\w.\-]+)")
_ENTRY = re.compile(r"^ENTRY %?([\w.\-]+)", re.MULTILINE)
_HEAD = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_ASSIGNED = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = ")


@dataclass(frozen=True)
class Instruction:
    """One instruction, with what its operands are.

    Attributes:
        computation: the name of the computation it is in.
        opcode: as HLO's text has it: ``all-gather-start``.
        shape: of the result, as text.
        operands: the shape of each operand, as text.
        attributes: the text behind the operands.
        text: all of it.
        near: gives the texts of the instructions in its computation that
            use its result, directly or not, the nearest first; then of those
            that make its operands. Nothing before jax 0.10.2.
    """

    computation: str
    opcode: str
    shape: str
    operands: tuple[str, ...]
    attributes: str
    text: str
    near: Callable[[], Iterable[str]]

    @property
    def kind(self) -> str:
        """The opcode without -start."""
        return self.opcode.removesuffix("-start")


@dataclass(frozen=True)
class Run:
    """How often a computation runs when the program runs once.

    Attributes:
        times: a count; None where a loop does not say.
        conditional: a branch lies on the way, so it may run less often.
        asynchronous: something else may run meanwhile.
    """

    times: int | None
    conditional: bool = False
    asynchronous: bool = False


@dataclass(frozen=True)
class Program:
    """A module's instructions of interest, and what runs them.

    Attributes:
        instructions: in the order of the module.
        runs: how often each computation runs, by its name; one that nothing
            is seen to run is left out.
        callers: the first instruction that runs each computation.
    """

    instructions: tuple[Instruction, ...]
    runs: Mapping[str, Run]
    callers: Mapping[str, Instruction]


def read_program(module: Any, text: str) -> Program:
    """The instructions of a module that communicate, or call others.

    Args:
        module: an ``HloModule`` of jaxlib.
        text: its text, which alone names its entry, and is read where jaxlib
            has no instructions.

    Raises:
        ValueError: the text is not that of a module.
    """
    entry = _ENTRY.search(text)
    if entry is None:
        raise ValueError("the text of the program has no ENTRY")
    instructions = tuple(
        _from_instructions(module)
        if has_instructions(module)
        else _from_text(text)
    )
    calls: dict[str, list[tuple[Instruction, Run]]] = defaultdict(list)
    for instruction in instructions:
        for callee, run in _calls(instruction):
            calls[callee].append((instruction, run))
    return Program(
        instructions,
        _runs(entry[1], calls),
        {callee: callers[0][0] for callee, callers in calls.items()},
    )


def attribute(attributes: str, name: str) -> str | None:
    """The value of an attribute that has no comma and space in it."""
    # Of the values wanted only a mesh has one: before its device_ids.
    found = re.search(
        rf"(?:^|, ){name}=(.*?)(?=, (?!device_ids=)\w+=|$)", attributes
    )
    return found[1] if found else None


def _from_instructions(module: Any) -> list[Instruction]:
    found: dict[str, Instruction] = {}
    wrapped: set[str] = set()
    for computation in module.computations():
        for instruction in computation.instructions():
            opcode = _opcode(instruction)
            if opcode not in _WANTED:
                continue
            text = instruction.to_string().strip()
            written, shape, _, attributes = _split(text)
            if opcode == "async-start" and written != opcode:
                # Written as the one instruction that it wraps, which then
                # stands in a computation that the text leaves out.
                wrapped.add(instruction.async_wrapped_root().name)
                opcode = written
            found[instruction.name] = Instruction(
                computation=computation.name,
                opcode=opcode,
                shape=shape,
                operands=tuple(map(_shape, instruction.operands())),
                attributes=attributes,
                text=text,
                near=functools.partial(_near, instruction),
            )
    return [one for name, one in found.items() if name not in wrapped]


def _near(instruction: Any) -> Iterator[str]:
    for step in ("users", "operands"):
        queue, seen = deque([instruction]), {instruction.name}
        while queue:
            for other in getattr(queue.popleft(), step)():
                if other.name not in seen:
                    seen.add(other.name)
                    queue.append(other)
                    yield other.to_string()


def _opcode(instruction: Any) -> str:
    """``kAllGatherStart`` as ``all-gather-start``."""
    name = instruction.opcode.name.removeprefix("k")
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _shape(instruction: Any) -> str:
    shape = shape_of(instruction)
    return _split(instruction.to_string())[1] if shape is None else str(shape)


def _from_text(text: str) -> Iterator[Instruction]:
    computation = ""
    shapes: dict[str, str] = {}
    for line in text.splitlines():
        if head := _HEAD.match(line):
            computation, shapes = head[1], {}
        elif name := _ASSIGNED.match(line):
            opcode, shape, operands, attributes = _split(line)
            shapes[name[1]] = shape
            if opcode in _WANTED:
                yield Instruction(
                    computation=computation,
                    opcode=opcode,
                    shape=shape,
                    operands=tuple(shapes[o] for o in _NAME.findall(operands)),
                    attributes=attributes,
                    text=line.strip().removeprefix("ROOT "),
                    near=tuple,
                )


def _split(text: str) -> tuple[str, str, str, str]:
    """Opcode, shape, operands and attributes of an instruction's text."""
    _, _, rest = text.partition(" = ")
    end = _closing(rest) if rest.startswith("(") else rest.index(" ")
    shape, call = rest[:end], rest[end:].lstrip()
    opcode, _, _ = call.partition("(")
    call = call[len(opcode) :]
    end = _closing(call)
    return opcode, shape, call[1 : end - 1], call[end:].removeprefix(", ")


def _closing(text: str) -> int:
    """Where the bracket that `text` begins with is closed, and one more."""
    depth = 0
    for bracket in re.finditer(r"[()]", text):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return bracket.end()
    raise ValueError(f"a bracket that does not close: {text}")


def _calls(instruction: Instruction) -> Iterator[tuple[str, Run]]:
    """The computations an instruction runs, and how often each."""
    for key, several, one in _CALLED.findall(instruction.attributes):
        for name in _NAME.findall(several or one):
            yield name, _run(instruction, key)


def _run(instruction: Instruction, key: str) -> Run:
    if instruction.opcode == "while":
        found = _TRIPS.search(instruction.attributes)
        trips = int(found[1]) if found else None
        if key == "condition" and trips is not None:
            trips += 1  # once more, to find that the loop is over
        return Run(trips)
    if key in _BRANCHES:
        return Run(1, conditional=True)
    return Run(1, asynchronous=instruction.opcode == "async-start")


def _runs(
    entry: str, calls: Mapping[str, list[tuple[Instruction, Run]]]
) -> dict[str, Run]:
    found: dict[str, Run | None] = {entry: Run(1)}

    def run_of(name: str) -> Run | None:
        if name not in found:
            ways = [
                _within(outer, inner)
                for caller, inner in calls.get(name, ())
                if (outer := run_of(caller.computation)) is not None
            ]
            found[name] = _together(ways) if ways else None
        return found[name]

    for callee in calls:
        run_of(callee)
    return {name: run for name, run in found.items() if run is not None}


def _within(outer: Run, inner: Run) -> Run:
    known = outer.times is not None and inner.times is not None
    return Run(
        outer.times * inner.times if known else None,
        outer.conditional or inner.conditional,
        outer.asynchronous or inner.asynchronous,
    )


def _together(ways: list[Run]) -> Run:
    """A computation that is run from several places."""
    times = [run.times for run in ways]
    return Run(
        None if None in times else sum(times),
        any(run.conditional for run in ways),
        any(run.asynchronous for run in ways),
    )
