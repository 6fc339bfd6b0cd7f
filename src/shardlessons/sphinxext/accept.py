"""Rewrite written values to found ones: ``python -m shardlessons.sphinxext.accept``.

Takes a build's ``facts.json`` and edits the pages it was read from. Only the
lines of facts that do not hold change, and the tag of a cell that raises now,
or no longer; review them with ``git diff``.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._cells import RAISES

_CELL = re.compile(r"[`:]{3,}\{code-cell\}")
_TAGS = re.compile(r":tags: \[(?P<tags>.*)\]\n?")


class CannotAccept(Exception):
    """A found value cannot stand where the written one does."""


def accept(
    facts: list[dict[str, Any]], root: Path
) -> tuple[list[str], list[str]]:
    """Edit the files below ``root``.

    Args:
        facts: the ``facts`` of a ``facts.json``.
        root: the folder that the facts' paths start from.

    Returns:
        A line for each fact that was rewritten, and one for each that has to
        be mended by hand.
    """
    by_path: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fact in facts:
        if fact["holds"] is False:
            by_path[fact["path"]].append(fact)
    done: list[str] = []
    left: list[str] = []
    for path, failing in sorted(by_path.items()):
        file = root / path
        lines = file.read_text("utf-8").splitlines(keepends=True)
        said = []
        # From the end, so that what comes before keeps its place.
        for fact in sorted(
            failing, key=lambda f: (f["line"], f["column"]), reverse=True
        ):
            place = f"{path}:{fact['line']}"
            try:
                _edit(lines, fact)
            except CannotAccept as error:
                left.append(f"{place}: {error}")
            else:
                said.append(f"{place}: {_said(fact)}")
        file.write_text("".join(lines), "utf-8")
        done += reversed(said)
    return done, left


def _edit(lines: list[str], fact: dict[str, Any]) -> None:
    if fact["raised"]:
        raise CannotAccept(f"asking raises {fact['found']}: mend it by hand")
    edit = _edit_role if fact["form"] == "check" else _edit_block
    edit(lines, fact)


def _said(fact: dict[str, Any]) -> str:
    written, found = (
        " / ".join(fact[key].splitlines()) for key in ("written", "found")
    )
    return f"{written} -> {found}"


def _edit_role(lines: list[str], fact: dict[str, Any]) -> None:
    index, start = fact["line"] - 1, fact["column"] - 1
    if "\n" in fact["found"]:
        raise CannotAccept("the value has several lines: use {expect}")
    if "`" in fact["found"] or " <" in fact["found"]:
        raise CannotAccept(f"a check cannot hold the value {fact['found']}")
    # Text in a table has its bars escaped.
    for escaped in (False, True):
        old, new = (
            fact[key].replace("|", "\\|") if escaped else fact[key]
            for key in ("written", "found")
        )
        after = lines[index][start:]
        if after.startswith(f"`{old} <"):
            lines[index] = lines[index][:start] + "`" + new + after[1 + len(old) :]
            return
    raise CannotAccept("the file has changed since the build: build again")


def _edit_block(lines: list[str], fact: dict[str, Any]) -> None:
    first = fact["line"] - 1
    written = fact["written"].splitlines()
    old = lines[first : first + len(written)]
    if [line.strip() for line in old] != [line.strip() for line in written]:
        raise CannotAccept("the file has changed since the build: build again")
    if not written:
        raise CannotAccept(f"nothing is written; write {fact['found']}")
    if fact["form"] == "expect":
        if not fact["found"]:
            raise CannotAccept("the cell prints nothing now: mend it by hand")
        if fact["mistagged"]:
            first += _toggle_tag(lines, first)
    indent = old[0][: len(old[0]) - len(old[0].lstrip())]
    lines[first : first + len(written)] = [
        f"{indent}{line}\n" if line else "\n"
        for line in _rules.rewritten(fact["written"], fact["found"])
    ]


def _toggle_tag(lines: list[str], below: int) -> int:
    """Have the cell above a line raise, or no longer; return the lines added."""
    place = 1 + max(n for n in range(below) if _CELL.match(lines[n]))
    found = _TAGS.fullmatch(lines[place])
    if found is None and lines[place].startswith((":", "---")):
        raise CannotAccept(f"the cell's tags are not in its first line: mend {RAISES}")
    old = found["tags"].split(", ") if found else []
    new = [tag for tag in old if tag != RAISES] if RAISES in old else [*old, RAISES]
    line = f":tags: [{', '.join(new)}]\n"
    lines[place : place + bool(old)] = [line] if new else []
    return bool(new) - bool(old)


def main(arguments: list[str] | None = None) -> int:
    """The command line: 0 when every failing fact was rewritten."""
    parser = argparse.ArgumentParser(prog="accept", description=__doc__)
    parser.add_argument("ledger", type=Path, help="facts.json of a build")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path(),
        help="the folder that holds docs/ (default: this one)",
    )
    options = parser.parse_args(arguments)
    ledger = json.loads(options.ledger.read_text("utf-8"))
    done, left = accept(ledger["facts"], options.root)
    print("\n".join([*done, f"rewritten: {len(done)}"]))
    if left:
        print("\n".join([*left, f"left: {len(left)}"]), file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
