"""When what is written holds, and which of several lines do not."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from jax.sharding import PartitionSpec as P

from shardlessons.sphinxext._rules import (
    Difference,
    differences,
    holds,
    proves_nothing,
    rewritten,
    spell,
)


class Pair(NamedTuple):
    spec: P
    size: int


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("786432", 786432),
        ("786,432", 786432),
        ("'a'", "a"),
        ("a", "a"),
        ("a ... c", "a b b c"),
        ("a  b", "a b"),
        ("True", True),
        ("None", None),
        ("P('data',)", P("data")),
        ('P("data", None)', P("data")),
        ("P('data')", P("data", None)),
        ("P(('data',))", P("data")),
        ("PartitionSpec('data')", P("data")),
        ("P()", P(None)),
        ("(P('a',), P())", (P("a", None), P())),
        ("{'w': P('a')}", {"w": P("a")}),
        ("(P('a'), 2)", Pair(P("a"), 2)),
        (str((P("a"), -1)), (P("a"), -1)),
        (str(P(P.UNCONSTRAINED)), P(P.UNCONSTRAINED)),
        (str(P("a", unreduced={"b"})), P("a", unreduced={"b"})),
        ("ValueError", ValueError("no")),
        ("ValueError: no", ValueError("no")),
        ("no", ValueError("no")),
        ("ValueError: n...", ValueError("no")),
    ],
)
def test_holds(written: str, value: object) -> None:
    assert holds(written, value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("786433", 786432),
        ("7864,32", 786432),
        ("True", 1),
        ("1", True),
        ("P('model',)", P("data")),
        ("P('data', 'model')", P("data")),
        ("P(None, 'data')", P("data")),
        ("P(('data', 'model'))", P("data", "model")),
        ("data", P("data")),
        ("P('data'", P("data")),
        ("P(print('data'))", P("data")),
        ("P('a')", P("a", unreduced={"b"})),
        ("(P('a',), -2)", (P("a"), -1)),
        ("TypeError", ValueError("no")),
        ("ValueError: yes", ValueError("no")),
        ("Error: no", ValueError("no")),
    ],
)
def test_does_not_hold(written: str, value: object) -> None:
    assert not holds(written, value)


@pytest.mark.parametrize(
    ("value", "like", "spelled"),
    [
        (786432, "1", "786432"),
        (786432, "1,000", "786,432"),
        ("a", "b", "a"),
        ("a", "'b'", "'a'"),
        (P("data"), "P()", "P('data',)"),
        (ValueError("no"), "TypeError", "ValueError"),
        (ValueError("no"), "TypeError: yes", "ValueError: no"),
        (ValueError("no"), "not at all", "no"),
        (ValueError("no"), "P('data', None, 'model')", "ValueError"),
        (ValueError("no"), "786,432", "ValueError"),
    ],
)
def test_spelled_as_the_page_spells(value: object, like: str, spelled: str) -> None:
    assert spelled == spell(value, like)
    assert holds(spelled, value)


@pytest.mark.parametrize("text", ["", "...", " ... ...\n..."])
def test_text_that_proves_nothing(text: str) -> None:
    assert proves_nothing(text)


@pytest.mark.parametrize(
    ("written", "found", "wanted"),
    [
        ("a\nb", "a\nb", []),
        ("a\nx\nc", "a\nb\nc", [Difference(1, "x", "b")]),
        ("a\nc", "a\nb\nc", [Difference(1, None, "b")]),
        ("a\nb\nc", "a\nc", [Difference(1, "b", None)]),
        ("a", "a\nb", [Difference(1, None, "b")]),
        ("a\n...\nz", "a\nb\nc\nz", []),
        ("a\n...\ny", "a\nb\nc\nz", [Difference(2, "y", "z")]),
        ("a x ...\ny", "a b c\nd\ne\ny", [Difference(0, "a x ...", "a b c")]),
        # Broken into lines elsewhere: only the line with the wrong word.
        ("a b\nc x\ne", "a b c d e", [Difference(1, "c x", "c d")]),
        ("a b\nc ...\ne", "a b c d e", []),
        ("a b\nc ...\nx y", "a b c d e z y", [Difference(2, "x y", "z y")]),
    ],
)
def test_differences(written: str, found: str, wanted: list[Difference]) -> None:
    assert wanted == differences(written, found)


@pytest.mark.parametrize(
    ("written", "found", "wanted"),
    [
        ("a\nx\nc", "a\nb\nc", ["a", "b", "c"]),
        ("a\nc", "a\nb\nb\nc", ["a", "b", "b", "c"]),
        ("a\nb\nc", "a\nc", ["a", "c"]),
        ("a", "a\nb\nc", ["a", "b", "c"]),
        ("a...\nx", "abc\nb", ["a...", "b"]),
        ("a b\nc x\ne", "a b c d e", ["a b", "c d", "e"]),
    ],
)
def test_only_lines_that_differ_are_rewritten(
    written: str, found: str, wanted: list[str]
) -> None:
    assert wanted == rewritten(written, found)
    assert [] == differences("\n".join(wanted), found)
