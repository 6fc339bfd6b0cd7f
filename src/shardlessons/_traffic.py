"""What the devices send, as rows: by source line, the most bytes first."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from shardlessons._collectives import Array, Collective, Unread
from shardlessons._cost import Cost, Traffic, cost
from shardlessons._sources import Frame
from shardlessons._table import WIDTH, Row, Section, Table

TRAFFIC_COLUMNS = ("", "over", "times", "wire bytes")
TITLE = "sent by each device, in bytes by the ring model"
_SHOWN_ARRAYS = 3
_CELL = re.compile(r"ipykernel_\d+[/\\][^/\\]+\.py$")


@dataclass(frozen=True)
class Sent:
    """Equal collectives from one line.

    Attributes:
        cost: the cost of one of them.
        count: how many there are.
    """

    cost: Cost
    count: int

    @property
    def bytes(self) -> int | None:
        """Wire bytes per device of all; None where they are not known."""
        each = self.cost.bytes
        return None if each is None else each * self.count

    @property
    def source(self) -> Frame | None:
        """The line that they come from."""
        return self.cost.collective.source

    def row(self, sign: str = "") -> Row:
        """The cells for `TRAFFIC_COLUMNS`."""
        one = self.cost.collective
        if one.times is None:
            # What it sends each time is known all the same.
            times, amount = "?", f"? x {self.cost.each * self.count:,}"
        else:
            times = f"{one.times * self.count:,}"
            amount = amount_text(self.bytes)
        return (
            f"{sign}{kind_text(one)} {arrays_text(one)}",
            one.over,
            at_most_text(one.conditional) + times,
            at_most_text(self.cost.at_most) + amount,
        )


def traffic_tables(
    collectives: Sequence[Collective], unread: Sequence[Unread]
) -> list[Table]:
    """The tables of a report: what is sent, the sums, and what is unread."""
    tables = []
    if collectives:
        lines = by_source(collectives)
        sections = [
            Section(
                source_text(sent[0].source), tuple(one.row() for one in sent)
            )
            for sent in lines
        ]
        sums = Section("in all, over", _sum_rows(collectives))
        tables.append(
            Table(TITLE, TRAFFIC_COLUMNS, (*sections, sums), numbers=2)
        )
    elif not unread:
        tables.append(Table("no collectives"))
    if unread:
        sections = [Section(one.why, unread_rows(one)) for one in unread]
        tables.append(Table("not read", ("",), tuple(sections), numbers=0))
    return tables


def by_source(collectives: Iterable[Collective]) -> list[list[Sent]]:
    """Equal ones put together; a list for each line, most bytes first.

    What is not known may be the most, and stands before the rest.
    """
    counts: dict[tuple[Frame | None, Collective], int] = {}
    for one in collectives:
        key = (one.source, one)
        counts[key] = counts.get(key, 0) + 1
    lines: dict[Frame | None, list[Sent]] = {}
    for (source, one), count in counts.items():
        lines.setdefault(source, []).append(Sent(cost(one), count))
    for sent in lines.values():
        sent.sort(key=lambda one: (_descending(one.bytes), one.row()))
    return sorted(
        lines.values(),
        key=lambda sent: (
            _descending(_sum(one.bytes for one in sent)),
            source_text(sent[0].source),
        ),
    )


def amount_text(count: int | None) -> str:
    """A number as a table shows it; ``?`` for one that is not known."""
    return "?" if count is None else f"{count:,}"


def unread_rows(unread: Unread) -> tuple[Row, ...]:
    """The text of what is unread, all of it."""
    lines = wrap(unread.text, WIDTH - 2, break_on_hyphens=False)
    return tuple((line,) for line in lines or ["no text"])


def source_text(source: Frame | None) -> str:
    """``model.py:14 in loss``: a file below here, or the end of its path.

    >>> from shardlessons import Frame
    >>> from shardlessons._traffic import source_text
    >>> source_text(Frame("/home/me/project/models/mlp.py", 14, "loss"))
    'models/mlp.py:14 in loss'
    >>> source_text(None)
    'no line is recorded'
    """
    if source is None:
        return "no line is recorded"
    return str(Frame(file_text(source.file), source.line, source.function))


def file_text(file: str) -> str:
    """A file as `source_text` names it."""
    if cell := _cell(file):
        return cell
    path = Path(file)
    if not path.is_absolute():
        return file
    here = Path(os.path.abspath(os.curdir))
    if path.is_relative_to(here):
        return path.relative_to(here).as_posix()
    return "/".join(path.parts[-2:])


def _cell(file: str) -> str | None:
    """The name of a notebook's cell, whose file names a process."""
    if not _CELL.search(file):
        return None
    if ipython := sys.modules.get("IPython"):
        compiler = getattr(ipython.get_ipython(), "compile", None)
        named = getattr(compiler, "format_code_name", lambda file: None)(file)
        if named:
            return " ".join(named)
    return "a notebook's cell"


def arrays_text(
    collective: Collective, shown: int | None = _SHOWN_ARRAYS
) -> str:
    """What goes in and what comes out, once if that is the same.

    A dtype is written where it changes; of kinds of arrays, `shown` are.
    """
    operands = _sum_text(collective.operands, shown)
    if collective.results == collective.operands:
        return operands
    results = _sum_text(collective.results, shown)
    dtypes = {a.dtype for a in (*collective.operands, *collective.results)}
    if len(dtypes) == 1 and len(collective.results) == 1:
        results = results[results.index("[") :]
    return f"{operands} -> {results}"


def _sum_text(arrays: Sequence[Array], shown: int | None) -> str:
    counts: dict[Array, int] = {}
    for array in arrays:
        counts[array] = counts.get(array, 0) + 1
    parts, dtype = [], None
    for array, count in list(counts.items())[:shown]:
        shape = str(array) if array.dtype != dtype else _shape(array)
        dtype = array.dtype
        parts.append(shape if count == 1 else f"{count} x {shape}")
    if left := len(arrays) - sum(list(counts.values())[:shown]):
        parts.append(f"{left} more")
    return " + ".join(parts) or "nothing"


def _shape(array: Array) -> str:
    return f"[{','.join(map(str, array.shape))}]"


def kind_text(collective: Collective) -> str:
    """Its kind, and whether other work may run beside it."""
    return f"{collective.kind}{' async' if collective.asynchronous else ''}"


def _sum_rows(collectives: Iterable[Collective]) -> tuple[Row, ...]:
    """Over each axis, the most first; then over all, if that is more."""
    sent = Traffic(tuple(map(cost, collectives)), ())
    bounded = {one.collective.over for one in sent.costs if one.at_most}
    sums = sorted(
        sent.by_axis.items(), key=lambda item: (_descending(item[1]), item[0])
    )
    rows = [
        (over, "", "", at_most_text(over in bounded) + amount_text(count))
        for over, count in sums
    ]
    if len(rows) > 1:
        amount = at_most_text(sent.at_most) + amount_text(sent.bytes)
        rows.append(("all of these", "", "", amount))
    return tuple(rows)


def at_most_text(bounded: bool) -> str:
    """What stands before a number that is an upper bound."""
    return "<= " if bounded else ""


def _sum(counts: Iterable[int | None]) -> int | None:
    counts = list(counts)
    return None if None in counts else sum(filter(None, counts))


def _descending(count: int | None) -> tuple[bool, int]:
    return count is not None, -(count or 0)
