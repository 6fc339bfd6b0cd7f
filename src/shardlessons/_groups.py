"""Replica groups as a compiled program writes them, and the axes they span."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

Groups = tuple[tuple[int, ...], ...]

_NUMBERS = r"\d+(?:,\d+)*"
_LISTED = re.compile(rf"\{{(?:\{{(?:{_NUMBERS})?\}}(?:,|(?=\}})))*\}}")
_GROUP = re.compile(rf"\{{({_NUMBERS})?\}}")
_IOTA = re.compile(
    rf"\[(?P<shape>{_NUMBERS})\](?:<=\[(?P<dims>{_NUMBERS})\])?"
    rf"(?:T\((?P<order>{_NUMBERS})\))?"
)
_AXIS = r"(?:'[^']*'|\w+)"
_MESH = re.compile(
    rf"mesh\[(?P<axes>{_AXIS}=\d+(?:,{_AXIS}=\d+)*)\]"
    r"(?:, device_ids=\((?P<ids>[^{}]*?)\))? "
    r"\{(?P<refs>[^{}]*)\}"
)
_SIZE = re.compile(rf"({_AXIS})=(\d+)")
_REF = re.compile(rf"({_AXIS})(?::\((\d+)\)(\d+))?(?:,|$)")


class GroupsError(ValueError):
    """Replica groups that cannot be read."""


@dataclass(frozen=True)
class Span:
    """How much of one mesh axis a collective runs over.

    Attributes:
        axis: the axis, by name.
        size: how many of the axis's positions a group holds.
        of: the size of the axis; the same as `size` where a group holds all
            of it.
    """

    axis: str
    size: int
    of: int

    def __str__(self) -> str:
        if self.size == self.of:
            return self.axis
        return f"{self.axis} ({self.size} of {self.of})"


def parse_groups(text: str, devices: int) -> Groups:
    """Replica groups, in any of the syntaxes of XLA, as device positions.

    Args:
        text: ``{{0,1},{2,3}}``; ``[2,4]<=[4,2]T(1,0)``;
            ``mesh['a'=4,'b'=2] {'a'}``, where a part of an axis stands as
            ``'a':(2)2``; or ``{}``, which is one group of all devices.
        devices: how many devices the program runs on.

    Raises:
        GroupsError: `text` is none of these.
    """
    if text == "{}":
        return (tuple(range(devices)),)
    if _LISTED.fullmatch(text):
        return _rows(text)
    if (iota := _IOTA.fullmatch(text)) and iota["dims"]:
        shape = _ints(iota["shape"])
        if len(shape) == 2:
            return _tuples(_iota(iota["dims"], iota["order"], shape))
    if mesh := _MESH.fullmatch(text):
        return _mesh_groups(mesh["axes"], mesh["ids"], mesh["refs"])
    raise GroupsError(f"replica groups in a syntax that is not known: {text}")


def parse_pairs(text: str) -> Groups:
    """The ``{{from,to},...}`` of a collective-permute.

    Raises:
        GroupsError: `text` is not that.
    """
    if text == "{}":
        return ()
    pairs = _rows(text) if _LISTED.fullmatch(text) else ((),)
    if any(len(pair) != 2 for pair in pairs):
        raise GroupsError(f"source_target_pairs that are not pairs: {text}")
    return pairs


def spans_of_groups(
    groups: Groups, axes: Mapping[str, int]
) -> tuple[Span, ...] | None:
    """The axes, or parts of axes, that every group is a product of.

    Args:
        groups: positions of devices in the mesh, row by row.
        axes: the size of each axis of the mesh by its name.

    Returns:
        A span for each axis that a group runs over, in the mesh's order:
        none where each group is one device. None where no axes fit.
    """
    members = np.array(groups) if len(set(map(len, groups))) == 1 else None
    if members is None or members.size != math.prod(axes.values()):
        return None
    coordinates = np.unravel_index(members, tuple(axes.values()))
    # Of each axis, how many positions stand in each group.
    counts = [
        (np.diff(np.sort(along), axis=1) != 0).sum(axis=1) + 1
        for along in coordinates
    ]
    sizes = [int(count[0]) for count in counts]
    same = all((count == count[0]).all() for count in counts)
    if not same or math.prod(sizes) != members.shape[1]:
        return None
    return tuple(
        Span(axis, size, axes[axis])
        for axis, size in zip(axes, sizes, strict=True)
        if size > 1
    )


def spans_of_pairs(
    pairs: Groups, axes: Mapping[str, int]
) -> tuple[Span, ...] | None:
    """The axes along which some pair of a permute differs.

    None where a position is not of the mesh.
    """
    devices = math.prod(axes.values())
    if not all(position < devices for pair in pairs for position in pair):
        return None
    ends = np.array(pairs, int).reshape(-1, 2)
    coordinates = np.unravel_index(ends, tuple(axes.values()))
    return tuple(
        Span(axis, size, size)
        for (axis, size), along in zip(axes.items(), coordinates, strict=True)
        if (along[:, 0] != along[:, 1]).any()
    )


def _mesh_groups(axes: str, ids: str | None, refs: str) -> Groups:
    """The groups of ``mesh[axes], device_ids=(ids) {refs}``."""
    sizes = {name: int(size) for name, size in _SIZE.findall(axes)}
    whole = f"mesh[{axes}] {{{refs}}}"
    parts = _REF.findall(refs)
    if "".join(_REF.sub("", refs)) or not all(p[0] in sizes for p in parts):
        raise GroupsError(f"axes that the mesh does not have: {whole}")
    devices = _device_ids(ids, tuple(sizes.values()))
    # Each axis is cut into (before, size, after) for each part named of it,
    # so that every reference is a dimension of its own.
    cuts = {name: {1, size} for name, size in sizes.items()}
    for name, before, size in parts:
        if before:
            cuts[name] |= {int(before), int(before) * int(size)}
    shape: list[int] = []
    place: dict[tuple[str, int], int] = {}
    for name, size in sizes.items():
        edges = sorted(cuts[name])
        for low, high in zip(edges, edges[1:], strict=False):
            if high % low:
                raise GroupsError(f"parts of an axis that overlap: {whole}")
            place[name, low] = len(shape)
            shape.append(high // low)
    dimensions = []
    for name, before, size in parts:
        low = int(before or 1)
        end = low * int(size or sizes[name])
        while low < end:
            dimension = place[name, low]
            dimensions.append(dimension)
            low *= shape[dimension]
    if len(set(dimensions)) != len(dimensions):
        raise GroupsError(f"an axis twice: {whole}")
    rest = [d for d in range(len(shape)) if d not in dimensions]
    moved = devices.reshape(shape).transpose(rest + dimensions)
    members = math.prod(shape[d] for d in dimensions)
    return _tuples(moved.reshape(-1, members))


def _device_ids(ids: str | None, shape: tuple[int, ...]) -> np.ndarray:
    if ids is None:
        return np.arange(math.prod(shape))
    if iota := _IOTA.fullmatch(ids):
        return _iota(iota["dims"] or iota["shape"], iota["order"], shape)
    if re.fullmatch(_NUMBERS, ids) and len(_ints(ids)) == math.prod(shape):
        return np.array(_ints(ids))
    raise GroupsError(f"device ids in a syntax that is not known: {ids}")


def _iota(dims: str, order: str | None, shape: Sequence[int]) -> np.ndarray:
    """0, 1, 2, ... as an array of `dims`, transposed, then reshaped."""
    sizes = _ints(dims)
    axes = _ints(order) if order else None
    try:
        numbers = np.arange(math.prod(sizes)).reshape(sizes)
        return numbers.transpose(axes).reshape(shape)
    except ValueError as error:
        text = f"{list(shape)}<=[{dims}]" + (f"T({order})" if order else "")
        raise GroupsError(f"an iota that does not fit: {text}") from error


def _rows(text: str) -> Groups:
    return tuple(_ints(row) for row in _GROUP.findall(text))


def _ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def _tuples(rows: np.ndarray) -> Groups:
    return tuple(map(tuple, rows.tolist()))
