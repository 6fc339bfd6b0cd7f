"""What a program for several TPU slices sends from slice to slice.

XLA compiles such a program for the devices of one slice, and all slices run
it. What crosses slices is handed to the host, as a send and a recv of one
name, whose attributes say which collective the two are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jax.sharding import Mesh

from shardlessons._groups import Groups, GroupsError, parse_groups
from shardlessons._program import Instruction

_KINDS = {
    "ALL_GATHER": "all-gather",
    "ALL_REDUCE": "all-reduce",
    "ALL_TO_ALL": "all-to-all",
    "ONE_TO_ONE": "collective-permute",
    "REDUCE_SCATTER": "reduce-scatter",
}
_HANDLER = '_xla_host_transfer_handler_name="xla_megascale_runtime"'
_NAME = re.compile(r'_xla_host_transfer_rendezvous="([^"]+)"')
_WHAT = re.compile(
    r'_xla_megascale_target="?([^"]+?)"?,'
    r'_xla_megascale_transfer_type="(\w+)"'
)
_RANGES = r"\d+(?::\d+)?(?:,\d+(?::\d+)?)*"
_PRODUCT = re.compile(rf"\{{({_RANGES})\}}x\{{({_RANGES})\}}")
# The id of a device is its id in its slice, and this for each slice before
# it, its own included.
_SLICE = 100_000


@dataclass(frozen=True)
class Slices:
    """Where in a mesh, row by row, the devices of its slices are.

    Attributes:
        places: for each slice, the position of each of its devices.
        ids: the position of each device by its id.
    """

    places: tuple[tuple[int, ...], ...]
    ids: Mapping[int, int]

    def everywhere(self, groups: Groups) -> Groups:
        """Groups of each slice, from those in the program of one."""
        return tuple(
            tuple(place[member] for member in group)
            for place in self.places
            for group in groups
        )

    def target(self, text: str) -> Groups:
        """The groups of ``{1,2}x{0:3}``, ``{{a,b},...}`` or ``{{a->b},...}``.

        Raises:
            GroupsError: `text` is none of these, or not of this mesh.
        """
        if product := _PRODUCT.fullmatch(text):
            slices, devices = map(_numbers, product.groups())
            groups = tuple(
                tuple(_SLICE * one + device for one in slices)
                for device in devices
            )
        else:
            groups = parse_groups(text.replace("->", ","), len(self.ids))
        try:
            return tuple(
                tuple(self.ids[member] for member in group)
                for group in groups
            )
        except KeyError as error:
            raise GroupsError(f"not devices of the mesh: {text}") from error


@dataclass(frozen=True)
class Transfer:
    """A collective between slices: its kind, its target, its name."""

    kind: str
    target: str
    name: str


def slices_of(meshes: Iterable[Any]) -> Slices | None:
    """The slices of the first mesh that has several."""
    for mesh in meshes:
        devices = list(mesh.devices.flat) if isinstance(mesh, Mesh) else []
        places: dict[int, list[int]] = {}
        for position, device in enumerate(devices):
            index = getattr(device, "slice_index", 0)
            places.setdefault(index, []).append(position)
        if len(places) > 1:
            return Slices(
                tuple(tuple(places[index]) for index in sorted(places)),
                {one.id: position for position, one in enumerate(devices)},
            )
    return None


def is_transfer(instruction: Instruction) -> bool:
    """It is the half of a collective between slices that says so."""
    return instruction.opcode == "send" and _HANDLER in instruction.attributes


def transfer(instruction: Instruction) -> Transfer:
    """What collective a transfer is.

    Raises:
        ValueError: it does not say, or says what is not known.
    """
    what = _WHAT.search(instruction.attributes)
    name = _NAME.search(instruction.attributes)
    if what is None or name is None or what[2] not in _KINDS:
        raise ValueError("sent from one slice to another, of no known kind")
    return Transfer(_KINDS[what[2]], what[1], name[1])


def received(
    instruction: Instruction, others: Iterable[Instruction]
) -> Instruction:
    """The recv that belongs to a transfer.

    Raises:
        ValueError: there is none.
    """
    name = transfer(instruction).name
    for other in others:
        found = _NAME.search(other.attributes)
        if other.opcode == "recv" and found and found[1] == name:
            return other
    raise ValueError(f"sent from one slice to another, with no recv of {name}")


def _numbers(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition(":")
        found += range(int(first), int(last or first) + 1)
    return found
