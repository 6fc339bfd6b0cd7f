"""When what is written holds for what was found.

Texts are compared as Python's :mod:`doctest` compares them.
Where there is structure, structure decides and not its spelling:
``P('data')`` holds for ``P('data', None)``, 2,097,152 for ``2097152``.
"""

from __future__ import annotations

import ast
import doctest
import re
import sys
from dataclasses import dataclass
from typing import Any

FLAGS = (
    doctest.ELLIPSIS
    | doctest.NORMALIZE_WHITESPACE
    | doctest.DONT_ACCEPT_TRUE_FOR_1
)
_CHECKER = doctest.OutputChecker()
_SENTENCE = re.compile(r"[\w.]+ [\w.]+ [\w.]+")


def proves_nothing(written: str) -> bool:
    """Whether the text would hold for anything at all."""
    return not written.replace("...", "").strip()


def same_text(written: str, found: str) -> bool:
    """Whether two texts agree by doctest's rules."""
    return _CHECKER.check_output(
        written.rstrip() + "\n", found.rstrip() + "\n", FLAGS
    )


def holds(written: str, value: Any) -> bool:
    """Whether ``written`` is a way to write ``value``."""
    if isinstance(value, BaseException):
        return any(same_text(written, text) for text in error_texts(value))
    if _has_specs(value):
        try:
            return _plain(_parse(written)) == _plain(value)
        except ValueError:
            pass  # more than axes and None: its text decides
    return any(same_text(written, text) for text in _texts(value))


def spell(value: Any, like: str) -> str:
    """``value`` as a page would write it, in the manner of ``like``."""
    if isinstance(value, BaseException):
        name, full, message = error_texts(value)
        if like.partition(": ")[0].isidentifier() and ": " in like:
            return full
        # A sentence is a message; anything shorter stood for a value.
        return message if _SENTENCE.match(like) else name
    if _has_specs(value):
        return repr(value).replace("PartitionSpec(", "P(")
    if isinstance(value, str) and like[:1] in ("'", '"'):
        return repr(value)
    if "," in like and _is_number(value):
        return f"{value:,}"
    return str(value)


def error_texts(error: BaseException) -> tuple[str, str, str]:
    """The three ways to write an error: class, class and message, message."""
    name = type(error).__name__
    return name, f"{name}: {error}", str(error)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _texts(value: Any) -> list[str]:
    texts = [str(value), repr(value)]
    if _is_number(value):
        texts.append(f"{value:,}")
    return texts


# --- specs: a tree of P(...), compared entry by entry ----------------------


def _spec_class() -> type | None:
    jax = sys.modules.get("jax")
    return jax.sharding.PartitionSpec if jax else None


def _has_specs(value: Any) -> bool:
    spec = _spec_class()
    if spec is None:
        return False
    if isinstance(value, spec):
        return True
    if isinstance(value, dict):
        return any(map(_has_specs, value.values()))
    return isinstance(value, (tuple, list)) and any(map(_has_specs, value))


def _parse(written: str) -> Any:
    """Read ``P('data', None)``, or a tuple, list or dict of such."""
    spec = _spec_class()

    def read(node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=elements):
                return tuple(map(read, elements))
            case ast.List(elts=elements):
                return list(map(read, elements))
            case ast.Dict(keys=keys, values=values):
                return {read(k): read(v) for k, v in zip(keys, values) if k}
            case ast.Call(
                func=ast.Name(id="P" | "PartitionSpec"), args=args, keywords=[]
            ):
                return spec(*map(read, args))
        raise ValueError(f"{written!r} is not a spec")

    try:
        return read(ast.parse(written.strip(), mode="eval").body)
    except (SyntaxError, TypeError) as error:
        raise ValueError(f"{written!r} is not a spec") from error


def _plain(value: Any) -> Any:
    """Specs without what spelling adds: trailing None, tuples of one axis."""
    spec = _spec_class()
    if spec is not None and isinstance(value, spec):
        entries = [
            e[0] if isinstance(e, tuple) and len(e) == 1 else e or None
            for e in value
        ]
        while entries and entries[-1] is None:
            entries.pop()
        # Newer releases have specs of sums that are not added up yet.
        more = (getattr(value, name, None) for name in ("unreduced", "reduced"))
        return ("spec", *entries, *filter(None, more))
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return (list if isinstance(value, list) else tuple)(map(_plain, value))
    return value


# --- several lines: which of them differ -----------------------------------


@dataclass(frozen=True)
class Difference:
    """One line of a text that does not hold.

    ``offset`` counts written lines from 0. ``written`` is None where the
    found line has no counterpart, ``found`` is None where the written one has
    none.
    """

    offset: int
    written: str | None
    found: str | None

    @property
    def said(self) -> str:
        """The two, as a message says them."""
        written, found = (
            "(nothing)" if text is None else text
            for text in (self.written, self.found)
        )
        return f"written: {written}, found: {found}"


def differences(written: str, found: str) -> list[Difference]:
    """The lines that differ, none if the two texts agree as a whole."""
    if same_text(written, found):
        return []
    by_line = _by_line(written.splitlines(), found.splitlines())
    # White space is folded, so a text may be broken into lines elsewhere than
    # what was found: then words tell more exactly which lines differ.
    by_word = _by_word(written.splitlines(), found.split())
    named = sum(edit.written is not None for edit in by_line)
    best = by_word if 0 < len(by_word) < named else by_line
    return best or [Difference(0, written, found)]


def rewritten(written: str, found: str) -> list[str]:
    """The written lines with the differing ones, and only those, replaced."""
    groups: list[list[str]] = [[line] for line in written.splitlines()]
    groups.append([])
    for edit in differences(written, found):
        group = groups[edit.offset]
        if edit.written is None:
            end = edit.offset == len(groups) - 1
            group.insert(len(group) - (not end), edit.found or "")
        else:
            group[-1:] = [] if edit.found is None else edit.found.splitlines()
    return [line for group in groups for line in group]


def _by_line(ours: list[str], theirs: list[str]) -> list[Difference]:
    return [
        Difference(
            i,
            ours[i] if step != "add" else None,
            theirs[j] if step != "drop" else None,
        )
        for step, i, j in _align(ours, theirs)
        if step in ("change", "drop", "add")
    ]


def _by_word(lines: list[str], theirs: list[str]) -> list[Difference]:
    words = [(n, word) for n, line in enumerate(lines) for word in line.split()]
    if not words:
        return []
    found: list[list[str]] = [[] for _ in lines]
    differ: set[int] = set()
    for step, i, j in _align([word for _, word in words], theirs):
        if step == "any" and not (i < len(words) and proves_nothing(words[i][1])):
            i -= 1  # the word before, which ends in dots
        line = words[min(i, len(words) - 1)][0]
        if step in ("change", "drop", "add"):
            differ.add(line)
        if step in ("change", "add", "same"):
            found[line].append(theirs[j])
        elif step == "any" and "..." not in found[line][-1:]:
            found[line].append("...")
    return [Difference(n, lines[n], " ".join(found[n])) for n in sorted(differ)]


def _align(ours: list[str], theirs: list[str]) -> list[tuple[str, int, int]]:
    """The cheapest way from one list of texts to another.

    Each step is ``same``, ``change``, ``drop`` (of ours), ``add`` (of
    theirs), or ``any``: one of theirs that a ``...`` of ours stands for.
    """
    rows, columns = len(ours), len(theirs)
    cost = [[0] * (columns + 1) for _ in range(rows + 1)]
    step = [[""] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows, -1, -1):
        wild = i < rows and proves_nothing(ours[i])
        for j in range(columns, -1, -1):
            # At equal cost the first way is taken.
            ways = []
            if i < rows and j < columns and not wild:
                if same_text(ours[i], theirs[j]):
                    ways.append((cost[i + 1][j + 1], "same"))
                ways.append((1 + cost[i + 1][j + 1], "change"))
            if wild:
                ways.append((cost[i + 1][j], "end"))
            open_end = (
                i > 0 and ours[i - 1].endswith("...") and not proves_nothing(ours[i - 1])
            )
            if j < columns and (wild or open_end):
                ways.append((cost[i][j + 1], "any"))
            if i < rows:
                ways.append((1 + cost[i + 1][j], "drop"))
            if j < columns:
                ways.append((1 + cost[i][j + 1], "add"))
            if ways:
                cost[i][j], step[i][j] = min(ways, key=lambda way: way[0])
    path = []
    i = j = 0
    while i < rows or j < columns:
        taken = step[i][j]
        path.append((taken, i, j))
        i += taken in ("same", "change", "drop", "end")
        j += taken in ("same", "change", "add", "any")
    return path
