"""What two readings say differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from shardlessons._collectives import Collective, Unread
from shardlessons._cost import Traffic, traffic
from shardlessons._paths import grouped
from shardlessons._report import (
    COUNTS,
    LEAF_COLUMNS,
    bytes_text,
    mesh_lines,
    sharding_text,
    type_text,
    types_text,
)
from shardlessons._table import Report, Row, Section, Table
from shardlessons._traffic import (
    TITLE,
    TRAFFIC_COLUMNS,
    amount_text,
    by_source,
    source_text,
    unread_rows,
)

if TYPE_CHECKING:
    from shardlessons._leaf import Leaf
    from shardlessons._reading import Bytes, Reading

_T = TypeVar("_T")
_COUNT_COLUMNS = ("", "before", "after", "difference")


@dataclass(frozen=True)
class LeafChange:
    """An array of which two readings differ.

    Attributes:
        path: where it stands, as in `Leaf`.
        before: what it was; None for one that is new.
        after: what it is; None for one that is gone.
    """

    path: str
    before: Leaf | None
    after: Leaf | None


@dataclass(frozen=True, repr=False)
class Difference:
    """What two readings say differently; made by `Reading.diff`.

    It is false where they say the same. Printing it gives a report. Where
    there are two, the first is from before and the second from after.

    Attributes:
        calls: the calls; that these differ is no difference.
        meshes: the meshes of each, as a report names them.
        inputs: the inputs whose type or sharding differs, added and removed
            ones too. Two spellings of a sharding are one.
        outputs: the same of the outputs.
        bytes: what one device holds.
        removed: the collectives that are gone. One that sends the same from
            the same function is the same, on whatever line.
        added: the collectives that are new.
        unread_removed: what could not be read, and is gone.
        unread_added: what cannot be read, and is new.
        traffic: what is sent, by the ring model.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> def total(a):
    ...     return a.sum(1)
    >>> def read_as(spec):
    ...     sharding = NamedSharding(mesh, spec)
    ...     x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    ...     return read(total, x)
    >>> difference = read_as(P("data", "model")).diff(read_as(P("data")))
    >>> [collective.kind for collective in difference.removed]
    ['all-reduce']
    >>> difference.bytes[1].argument - difference.bytes[0].argument
    64
    >>> bool(read_as(P("data")).diff(read_as(P("data", None))))
    False
    """

    calls: tuple[str, str]
    meshes: tuple[tuple[str, ...], tuple[str, ...]]
    inputs: tuple[LeafChange, ...]
    outputs: tuple[LeafChange, ...]
    bytes: tuple[Bytes, Bytes]
    removed: tuple[Collective, ...]
    added: tuple[Collective, ...]
    unread_removed: tuple[Unread, ...]
    unread_added: tuple[Unread, ...]
    traffic: tuple[Traffic, Traffic]

    def __bool__(self) -> bool:
        return bool(
            self.meshes[0] != self.meshes[1]
            or self.bytes[0] != self.bytes[1]
            or self.inputs
            or self.outputs
            or self.removed
            or self.added
            or self.unread_removed
            or self.unread_added
        )

    def __str__(self) -> str:
        return _report(self).text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return _report(self).html()


def difference(before: Reading, after: Reading) -> Difference:
    """What `after` says that `before` does not, and the other way."""
    removed, added = _unmatched(before.collectives, after.collectives, _sends)
    gone, new = _unmatched(before.unread, after.unread, lambda one: one)
    return Difference(
        calls=(before.call, after.call),
        meshes=(_meshes(before), _meshes(after)),
        inputs=_changes(before.inputs, after.inputs),
        outputs=_changes(before.outputs, after.outputs),
        bytes=(before.bytes, after.bytes),
        removed=removed,
        added=added,
        unread_removed=gone,
        unread_added=new,
        traffic=(traffic(before), traffic(after)),
    )


def _meshes(reading: Reading) -> tuple[str, ...]:
    return tuple(mesh_lines((*reading.inputs, *reading.outputs)))


def _changes(
    before: Sequence[Leaf], after: Sequence[Leaf]
) -> tuple[LeafChange, ...]:
    old = {leaf.path: leaf for leaf in before}
    new = {leaf.path: leaf for leaf in after}
    return tuple(
        LeafChange(path, old.get(path), new.get(path))
        for path in dict.fromkeys((*old, *new))
        if not _same(old.get(path), new.get(path))
    )


def _same(before: Leaf | None, after: Leaf | None) -> bool:
    if before is None or after is None:
        return before is after
    if type_text(before) != type_text(after):
        return False
    one, other = before.sharding, after.sharding
    if one is None or other is None:
        return one is other
    return one == other or one.is_equivalent_to(other, len(after.shape))


def _sends(collective: Collective) -> Hashable:
    # Not the line: it moves with each edit above it.
    source = collective.source
    return collective, source and (source.file, source.function)


def _unmatched(
    before: Iterable[_T], after: Iterable[_T], key: Callable[[_T], Hashable]
) -> tuple[tuple[_T, ...], tuple[_T, ...]]:
    """Those of `before` without a partner in `after`, and of `after`."""
    before, after = list(before), list(after)
    return _without(before, map(key, after), key), _without(
        after, map(key, before), key
    )


def _without(
    some: Iterable[_T],
    others: Iterable[Hashable],
    key: Callable[[_T], Hashable],
) -> tuple[_T, ...]:
    left = Counter(others)
    kept = []
    for one in some:
        if left[key(one)]:
            left[key(one)] -= 1
        else:
            kept.append(one)
    return tuple(kept)


def _report(found: Difference) -> Report:
    if not found:
        calls = dict.fromkeys(found.calls)
        return Report(("no difference in", *(f"  {call}" for call in calls)))
    heading = [
        *_twice([found.calls[0]], [found.calls[1]]),
        *_twice(*found.meshes),
    ]
    tables = [
        _leaf_table(found),
        _count_table(found),
        _collective_table(found),
        _unread_table(found),
    ]
    return Report(
        tuple(heading), tuple(table for table in tables if table.sections)
    )


def _twice(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Lines that are the same, or each with its sign."""
    if before == after:
        return list(before)
    return [f"- {line}" for line in before] + [f"+ {line}" for line in after]


def _leaf_table(found: Difference) -> Table:
    sections = [
        Section(title, tuple(_leaf_rows(changes)))
        for title, changes in (
            ("inputs", found.inputs),
            ("outputs", found.outputs),
        )
        if changes
    ]
    return Table("", LEAF_COLUMNS, tuple(sections))


def _leaf_rows(changes: Sequence[LeafChange]) -> Iterable[Row]:
    for group in grouped(
        changes,
        exact=lambda change: _facts(change, type_text),
        rough=lambda change: _facts(change, lambda leaf: leaf.dtype.name),
    ):
        for sign, side in (("-", "before"), ("+", "after")):
            leaves = [getattr(change, side) for change in group.members]
            if leaves[0] is not None:
                yield (
                    f"{sign} {group.path}",
                    types_text(leaves),
                    sharding_text(leaves[0].sharding),
                    bytes_text(leaves),
                )


def _facts(
    change: LeafChange, kind: Callable[[Leaf], str]
) -> tuple[Any, ...]:
    return tuple(
        leaf and (kind(leaf), sharding_text(leaf.sharding))
        for leaf in (change.before, change.after)
    )


def _count_table(found: Difference) -> Table:
    before, after = found.bytes
    first, second = found.traffic
    sent, then = first.by_axis, second.by_axis
    sums = [
        (over, sent.get(over, 0), then.get(over, 0))
        for over in sorted({*sent, *then})
    ]
    sums.append(("all of these", first.bytes, second.bytes))
    sections = (
        Section(
            "counted by the compiler",
            _count_rows(
                (name, getattr(before, name), getattr(after, name))
                for name in COUNTS
            ),
        ),
        Section(
            "sent by the ring model, over",
            _count_rows(sums),
        ),
    )
    return Table(
        "bytes per device",
        _COUNT_COLUMNS,
        tuple(section for section in sections if section.rows),
        numbers=3,
    )


def _count_rows(
    counts: Iterable[tuple[str, int | None, int | None]],
) -> tuple[Row, ...]:
    return tuple(
        (
            name,
            amount_text(before),
            amount_text(after),
            "?" if before is None or after is None else f"{after - before:+,}",
        )
        for name, before, after in counts
        if before != after
    )


def _collective_table(found: Difference) -> Table:
    rows: dict[str, list[Row]] = {}
    for sign, collectives in (("- ", found.removed), ("+ ", found.added)):
        for sent in by_source(collectives):
            title = source_text(sent[0].source)
            rows.setdefault(title, []).extend(one.row(sign) for one in sent)
    return Table(
        TITLE,
        TRAFFIC_COLUMNS,
        tuple(Section(title, tuple(some)) for title, some in rows.items()),
        numbers=2,
    )


def _unread_table(found: Difference) -> Table:
    sections = [
        Section(f"{sign} {one.why}", unread_rows(one))
        for sign, some in (
            ("-", found.unread_removed),
            ("+", found.unread_added),
        )
        for one in some
    ]
    return Table("not read", ("",), tuple(sections), numbers=0)
