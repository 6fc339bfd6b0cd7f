"""Tables as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 76
_NARROWEST = 16  # a first column below this reads worse than a long line

Row = tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Rows under one heading; each row has a cell for each column."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """Sections under the same columns.

    Attributes:
        title: a line above; "" for none.
        columns: the head of each column; none for a table without rows.
        sections: in order.
        numbers: how many of the last columns hold numbers.
    """

    title: str
    columns: Row = ()
    sections: tuple[Section, ...] = ()
    numbers: int = 1


@dataclass(frozen=True)
class Report:
    """Lines of text, then tables; printed as both text and HTML.

    >>> from shardlessons._table import Report, Section, Table
    >>> rows = (("argument", "64"), ("temp", "1,024"))
    >>> bytes = Table("", ("", "bytes"), (Section("a device holds", rows),))
    >>> print(Report(("f(x)",), (bytes,)).text())
    f(x)
    <BLANKLINE>
                bytes
    a device holds
      argument     64
      temp      1,024
    """

    heading: tuple[str, ...]
    tables: tuple[Table, ...] = ()

    def text(self) -> str:
        """For a terminal: columns aligned, numbers to the right."""
        parts = ["\n".join(self.heading), *map(_table_text, self.tables)]
        return "\n\n".join(parts)

    def html(self) -> str:
        """For a notebook: a table each, with a body for each section."""
        heading = "<br/>".join(
            f"<code>{escape(line)}</code>" for line in self.heading
        )
        tables = list(self.tables)
        if tables and not tables[0].title:
            parts = [_table_html(tables.pop(0), heading)]
        else:
            parts = [f"<p>{heading}</p>"]
        parts += [_table_html(table, escape(table.title)) for table in tables]
        return "<div>\n" + "\n".join(parts) + "\n</div>"


def _table_text(table: Table) -> str:
    rows = [table.columns, *(r for s in table.sections for r in s.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    # The first column gives way: a cell too long for it has its own line.
    excess = sum(widths) + 2 * len(widths) - WIDTH
    if excess > 0:
        widths[0] = min(widths[0], max(widths[0] - excess, _NARROWEST))
    lines = [table.title] if table.title else []
    if any(table.columns):
        lines += _lines(table.columns, widths, table.numbers)
    for section in table.sections:
        lines.append(section.title)
        for row in section.rows:
            lines += _lines(row, widths, table.numbers)
    return "\n".join(lines)


def _lines(row: Row, widths: Sequence[int], numbers: int) -> list[str]:
    first, *rest = row
    if len(first) > widths[0] and any(rest):
        return [f"  {first}", *_lines(("", *rest), widths, numbers)]
    left = len(row) - numbers
    cells = [
        cell.ljust(width) if place < left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return ["  ".join(["", *cells]).rstrip()]


def _table_html(table: Table, caption: str) -> str:
    if not table.columns:
        return f"<p>{caption}</p>"
    head = "".join(
        f'<th scope="col">{escape(name)}</th>' if name else "<td></td>"
        for name in table.columns
    )
    bodies = "\n".join(
        _body(section, len(table.columns)) for section in table.sections
    )
    return (
        f"<table>\n<caption>{caption}</caption>\n"
        f"<thead><tr>{head}</tr></thead>\n{bodies}\n</table>"
    )


def _body(section: Section, span: int) -> str:
    rows = "\n".join(
        f'<tr><th scope="row"><code>{escape(row[0])}</code></th>'
        + "".join(f"<td>{_cell(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in section.rows
    )
    return (
        f'<tbody>\n<tr><th scope="rowgroup" colspan="{span}">'
        f"{escape(section.title)}</th></tr>\n{rows}\n</tbody>"
    )


def _cell(cell: str) -> str:
    return f"<code>{escape(cell)}</code>" if cell else ""
