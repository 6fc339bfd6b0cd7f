"""Rewrite written values to found ones: ``python -m shardlessons.sphinxext.accept``.

Takes a build's ``facts.json`` and edits the pages it was read from. Only the
lines of facts that do not hold change; review them with ``git diff``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from shardlessons.sphinxext import _rules


class CannotAccept(Exception):
    """A found value that cannot stand where the written one does."""


def accept(facts: list[dict[str, Any]], root: Path) -> list[str]:
    """Edit the files below ``root``; return a line for each fact rewritten.

    Args:
        facts: the ``facts`` of a ``facts.json``.
        root: the folder that the facts' paths start from.

    Raises:
        CannotAccept: a value cannot be written where its fact stands, or the
            file no longer says what the build read. Files edited up to then
            stay edited.
    """
    by_path: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fact in facts:
        if not fact["holds"]:
            by_path[fact["path"]].append(fact)
    report: list[str] = []
    for path, failing in sorted(by_path.items()):
        file = root / path
        lines = file.read_text("utf-8").splitlines(keepends=True)
        # From the end, so that what comes before keeps its place.
        failing.sort(key=lambda f: (f["line"], f["column"]), reverse=True)
        for fact in failing:
            edit = _edit_role if fact["form"] == "check" else _edit_block
            edit(lines, fact)
        report += map(_said, reversed(failing))
        file.write_text("".join(lines), "utf-8")
    return report


def _said(fact: dict[str, Any]) -> str:
    place = f"{fact['path']}:{fact['line']}"
    written, found = (
        " / ".join(fact[key].splitlines()) for key in ("written", "found")
    )
    return f"{place}: {written} -> {found}"


def _edit_role(lines: list[str], fact: dict[str, Any]) -> None:
    index, start = fact["line"] - 1, fact["column"] - 1
    place = f"{fact['path']}:{fact['line']}"
    if "\n" in fact["found"]:
        raise CannotAccept(f"{place}: the value has several lines: use {{expect}}")
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
    raise CannotAccept(f"{place}: the file has changed since the build: build again")


def _edit_block(lines: list[str], fact: dict[str, Any]) -> None:
    first = fact["line"] - 1
    written = fact["written"].splitlines()
    old = lines[first : first + len(written)]
    if [line.strip() for line in old] != [line.strip() for line in written]:
        raise CannotAccept(
            f"{fact['path']}:{fact['line']}: the file has changed since the build, "
            "or the example prints nothing yet: build again, or write it by hand"
        )
    indent = old[0][: len(old[0]) - len(old[0].lstrip())] if old else ""
    lines[first : first + len(written)] = [
        f"{indent}{line}\n" if line else "\n"
        for line in _rules.rewritten(fact["written"], fact["found"])
    ]


def main(arguments: list[str] | None = None) -> int:
    """The command line: 0 when all failing facts were rewritten."""
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
    try:
        report = accept(ledger["facts"], options.root)
    except CannotAccept as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join([*report, f"{len(report)} facts rewritten"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
