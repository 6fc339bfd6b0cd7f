"""Change every value that the real pages state: the build has to name each one.

All are changed at once, in a copy, in three ways by turns. The build of the
copy must warn once for each changed line, at that line, and of nothing else.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from site_builder import Build, build_copy, copy_tree

from shardlessons.sphinxext._rules import proves_nothing

_LAST = re.compile(r"[A-Za-z0-9](?=[^A-Za-z0-9]*$)")
_FIRST = re.compile(r"[A-Za-z0-9]")


def _other(found: re.Match[str]) -> str:
    """Another character of the same kind: 1 for 0, b for a."""
    for first, last in ("09", "az", "AZ"):
        if first <= found[0] <= last:
            return first if found[0] == last else chr(ord(found[0]) + 1)
    raise AssertionError(found[0])


WAYS = [
    lambda text: _LAST.sub(_other, text, count=1),
    lambda text: _FIRST.sub(_other, text, count=1),
    lambda text: _LAST.sub(lambda found: found[0] * 2, text, count=1),
]


def mutate(root: Path, facts: list[dict[str, Any]]) -> Counter[tuple[str, int]]:
    """Change each written value; return how many were changed on each line."""
    ways = itertools.cycle(WAYS)

    def change(text: str) -> str:
        # A value without a letter or a digit, such as (), gets one.
        if not _FIRST.search(text):
            return f"{text[:-1]}0{text[-1:]}"
        return next(ways)(text)

    changed: Counter[tuple[str, int]] = Counter()
    by_path: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        by_path.setdefault(fact["path"], []).append(fact)
    for path, stated in by_path.items():
        lines = (root / path).read_text("utf-8").split("\n")
        # From the right, so that what stands to the left keeps its column.
        for fact in sorted(stated, key=lambda f: (f["line"], -f["column"])):
            number = fact["line"]
            if fact["form"] == "check":
                line, start = lines[number - 1], fact["column"]
                end = start + line[start:].index(" <")
                new = change(line[start:end])
                assert new != line[start:end]
                lines[number - 1] = line[:start] + new + line[end:]
                changed[Path(path).name, number] += 1
                continue
            for offset in range(len(fact["written"].splitlines())):
                line = lines[number - 1 + offset]
                if not proves_nothing(line) and _FIRST.search(line):
                    lines[number - 1 + offset] = change(line)
                    assert line != lines[number - 1 + offset]
                    changed[Path(path).name, number + offset] += 1
        (root / path).write_text("\n".join(lines), "utf-8")
    return changed


def test_every_changed_value_is_named_at_its_line(
    real_site: tuple[Path, Build],
    tmp_path: Path,
    tell: Callable[[str], None],
) -> None:
    _, built = real_site
    # A change to what this platform cannot ask shows on one that can.
    facts = [fact for fact in built.ledger["facts"] if not fact["recorded"]]
    copy_tree(tmp_path)
    changed = mutate(tmp_path, facts)
    said = Counter((s.file, s.line) for s in build_copy(tmp_path).said)

    caught = sum((changed & said).values())
    tell(
        f"mutation: {sum(changed.values())} written values changed "
        f"in {len(facts)} facts, {caught} reported at their line"
    )

    assert {} == dict(changed - said), "changed and not reported"
    assert {} == dict(said - changed), "reported and not changed"
