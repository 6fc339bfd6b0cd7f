"""Many leaves of a pytree in a few rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

FEW = 8  # as many leaves are listed one by one
MANY = 12  # more rows than these are put together further

_NUMBER = re.compile(r"\d+")
_KEY = re.compile(r"\[[^\]]*\]|\.?[^.\[]+")
_LONGEST_RANGE = 12
_FEW_PARTS = 4


@dataclass(frozen=True)
class Group:
    """Leaves that stand in one row.

    Attributes:
        path: their paths as one; the path itself of a leaf alone.
        members: the leaves, in order.
    """

    path: str
    members: tuple[Any, ...]


def grouped(
    leaves: Sequence[Any],
    exact: Callable[[Any], Hashable],
    rough: Callable[[Any], Hashable],
) -> list[Group]:
    """Leaves that are alike, put together if there are more than `FEW`.

    Leaves whose paths differ in numbers alone are one group if `exact` is
    the same of them. Where more than `MANY` groups are left, those of one
    argument are one if `rough` is. Both keep the order of first members.

    Args:
        leaves: what has a `path`.
        exact: what the leaves of one row have in common.
        rough: what they have in common where rows are too many.

    >>> from collections import namedtuple
    >>> from shardlessons._paths import grouped
    >>> Leaf = namedtuple("Leaf", "path kind")
    >>> leaves = [Leaf(f"p['layers'][{n}]['w']", n == 0) for n in range(9)]
    >>> for group in grouped(leaves, lambda l: l.kind, lambda l: l.kind):
    ...     print(group.path, len(group.members))
    p['layers'][0]['w'] 1
    p['layers'][1-8]['w'] 8
    """
    if len(leaves) <= FEW:
        return [Group(leaf.path, (leaf,)) for leaf in leaves]
    roots = _roots(leaf.path for leaf in leaves)
    groups = [
        Group(_pattern(members, same, len(root)), members)
        for (root, _), same in _by(
            leaves,
            lambda leaf: _template(leaf.path, roots[leaf.path]),
        ).items()
        for members in _by(same, exact).values()
    ]
    # Members of a pattern stand together by now: back to the leaves' order.
    place = {id(leaf): number for number, leaf in enumerate(leaves)}
    groups.sort(key=lambda group: place[id(group.members[0])])
    if len(groups) <= MANY:
        return groups
    together = _by(
        groups,
        lambda group: (
            roots[group.members[0].path],
            rough(group.members[0]),
        ),
    )
    return [one for some in together.values() for one in _joined(some)]


def _by(
    items: Iterable[Any], key: Callable[[Any], Any]
) -> dict[Any, tuple[Any, ...]]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return {known: tuple(some) for known, some in found.items()}


def _roots(paths: Iterable[str]) -> dict[str, str]:
    """Which argument, or which part of a result of few parts, each is of."""
    keys = {path: _KEY.findall(path) for path in paths}
    parts = {"".join(key[:2]) for key in keys.values() if key[0] == "result"}
    deep = 2 if len(parts) <= _FEW_PARTS else 1
    return {
        path: "".join(key[: deep if key[0] == "result" else 1])
        for path, key in keys.items()
    }


def _template(path: str, root: str) -> tuple[str, str]:
    return root, _NUMBER.sub("*", path[len(root) :])


def _pattern(
    members: Sequence[Any], same: Sequence[Any], start: int
) -> str:
    """The path of members that differ in numbers, as ``p[*]``.

    ``*`` stands for every number there is; where other groups have some of
    them, the numbers are named, as ``p[1-8]``, if only one place differs.

    Args:
        members: the leaves of the group.
        same: those of all groups that have the same template.
        start: where numbers may differ.
    """
    path = members[0].path
    if len(members) == 1:
        return path

    def numbers(leaf: Any) -> list[str]:
        return _NUMBER.findall(leaf.path[start:])

    slots = list(zip(*map(numbers, members), strict=True))
    fixed = {n: slot[0] for n, slot in enumerate(slots) if len(set(slot)) == 1}
    fitting = sum(
        all(own[n] == number for n, number in fixed.items())
        for own in map(numbers, same)
    )
    named = len(slots) - len(fixed) == 1 and fitting > len(members)
    texts = iter(
        fixed.get(n) or (_ranges(slot) if named else "*")
        for n, slot in enumerate(slots)
    )
    return path[:start] + _NUMBER.sub(lambda _: next(texts), path[start:])


def _ranges(numbers: Iterable[str]) -> str:
    """``1-8,10``, or ``*`` if that is long."""
    runs: list[list[int]] = []
    for number in sorted(map(int, numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
    return text if len(text) <= _LONGEST_RANGE else "*"


def _joined(groups: Sequence[Group]) -> list[Group]:
    """One group of many; a pair stays as it is, for its paths say more."""
    if len(groups) <= 2:
        return list(groups)
    keys = [_KEY.findall(group.path) for group in groups]
    head = _common(keys)
    rest = [key[len(head) :] for key in keys]
    tail = _common([key[::-1] for key in rest])[::-1]
    members = tuple(leaf for group in groups for leaf in group.members)
    return [Group("".join([*head, "...", *tail]), members)]


def _common(keys: Sequence[Sequence[str]]) -> list[str]:
    """What all the sequences begin with."""
    common = []
    for column in zip(*keys, strict=False):
        if len(set(column)) > 1:
            break
        common.append(column[0])
    return common
