"""Change every value that the real pages state: the build has to name each one.

All are changed at once, in a copy, in three ways one after the other. The
build of the copy must warn once for each changed line, at that line, and of
nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from site_builder import Build, build_copy, copy_tree

from shardlessons.sphinxext._rules import proves_nothing

_LAST = re.compile(r"[A-Za-z0-9](?=[^A-Za-z0-9]*$)")
_FIRST = re.compile(r"[A-Za-z0-9]")


def _other(character: str) -> str:
    """Another character of the same kind: 1 for 0, b for a."""
    for first, last in ("09", "az", "AZ"):
        if first <= character <= last:
            return first if character == last else chr(ord(character) + 1)
    raise AssertionError(character)


MUTATIONS: dict[str, Callable[[str], str]] = {
    "the last character is another": lambda t: _LAST.sub(
        lambda m: _other(m[0]), t, count=1
    ),
    "the first character is another": lambda t: _FIRST.sub(
        lambda m: _other(m[0]), t, count=1
    ),
    "the last character is doubled": lambda t: _LAST.sub(
        lambda m: m[0] * 2, t, count=1
    ),
}


def _changed(value: str, change: Callable[[str], str]) -> str:
    """The value changed; one without a letter or a digit, as (), gets one."""
    return change(value) if _FIRST.search(value) else f"{value[:-1]}0{value[-1:]}"


def mutate(
    root: Path, facts: list[dict[str, Any]], change: Callable[[str], str]
) -> Counter[tuple[str, int]]:
    """Change each written value; return how many were changed on each line."""
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
                new = _changed(line[start:end], change)
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


@pytest.mark.parametrize("how", MUTATIONS)
def test_every_changed_value_is_named_at_its_line(
    how: str,
    real_site: tuple[Path, Build],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, built = real_site
    facts = built.ledger["facts"]
    copy_tree(tmp_path)
    changed = mutate(tmp_path, facts, MUTATIONS[how])
    said = Counter((s.file, s.line) for s in build_copy(tmp_path).said)

    with capsys.disabled():
        caught = sum((changed & said).values())
        print(
            f"\nmutation: {how}: {sum(changed.values())} written values changed "
            f"in {len(facts)} facts, {caught} reported at their line"
        )
    assert {} == dict(changed - said), "changed and not reported"
    assert {} == dict(said - changed), "reported and not changed"
