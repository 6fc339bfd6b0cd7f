"""Which devices a collective runs over, and along which mesh axes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shardlessons._groups import (
    Groups,
    Span,
    parse_groups,
    parse_pairs,
    spans_of_groups,
    spans_of_pairs,
)
from shardlessons._program import Instruction, attribute
from shardlessons._slices import Slices, transfer


class Where:
    """Finds the groups of a module's collectives, and the axes they span."""

    def __init__(
        self,
        text: str,
        meshes: Sequence[Mapping[str, int]],
        slices: Slices | None,
    ) -> None:
        head = text.partition("\n")[0]
        self._replicas = _count(head, "replica_count")
        self._partitions = _count(head, "num_partitions")
        self._meshes = meshes
        self._slices = slices
        # A hundred layers share a few groups, of thousands of devices each.
        self._known: dict[
            tuple[str, str], tuple[Groups, tuple[Span, ...] | None]
        ] = {}

    def of(
        self, instruction: Instruction
    ) -> tuple[Groups, tuple[Span, ...] | None]:
        """The groups of a collective of the program, and their spans."""
        permute = instruction.kind == "collective-permute"
        name = "source_target_pairs" if permute else "replica_groups"
        value = attribute(instruction.attributes, name)
        if value is None:
            raise ValueError(f"no {name}")
        if min(self._replicas, self._partitions) > 1:
            raise ValueError("replicas and partitions in one program")
        if (name, value) not in self._known:
            devices = self._replicas * self._partitions
            if permute:
                groups = parse_pairs(value)
            else:
                groups = parse_groups(value, devices)
            slices = self._slices
            if slices is not None and len(slices.places[0]) == devices:
                groups = slices.everywhere(groups)
            self._known[name, value] = groups, self._spans(groups, permute)
        return self._known[name, value]

    def between_slices(
        self, instruction: Instruction
    ) -> tuple[Groups, tuple[Span, ...] | None]:
        """The groups of a transfer from slice to slice, and their spans."""
        if self._slices is None:
            raise ValueError("sent between slices, and no mesh has several")
        one = transfer(instruction)
        key = one.kind, one.target
        if key not in self._known:
            groups = self._slices.target(one.target)
            permute = one.kind == "collective-permute"
            self._known[key] = groups, self._spans(groups, permute)
        return self._known[key]

    def _spans(
        self, groups: Groups, permute: bool
    ) -> tuple[Span, ...] | None:
        spans_of = spans_of_pairs if permute else spans_of_groups
        fitting = [
            spans
            for axes in self._meshes
            if (spans := spans_of(groups, axes)) is not None
        ]
        # Of several meshes, the one whose axes the groups hold whole.
        return min(fitting, key=_parts, default=None)


def _parts(spans: tuple[Span, ...]) -> int:
    return sum(span.size < span.of for span in spans)


def _count(head: str, name: str) -> int:
    found = re.search(rf"\b{name}=(\d+)", head)
    return int(found[1]) if found else 1
