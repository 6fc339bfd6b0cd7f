"""Merging ledgers into one history, the kinds of change, and its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shardlessons.sphinxext import _history
from shardlessons.sphinxext._history import Stretch, Value, key_of, kind_of
from shardlessons.sphinxext.survey._merge import Asked, merge


def fact(expression: str, found: str, written: str = "1", **more: Any) -> dict[str, Any]:
    return {
        "page": "index",
        "form": "check",
        "expression": expression,
        "occurrence": 1,
        "written": written,
        "found": found,
        "holds": found == written,
        "raised": False,
        "unanswered": False,
        **more,
    }


def found(text: str) -> Value:
    return Value("found", text)


def asked(release: str, *facts: dict[str, Any]) -> Asked:
    return Asked(release, (), facts)


def test_equal_values_in_a_row_are_one_stretch() -> None:
    history = merge(
        [
            asked("1", fact("a", "0"), fact("b", "1")),
            asked("2", fact("a", "0"), fact("b", "1")),
            asked("3", fact("a", "1"), fact("b", "1")),
            asked("4", fact("a", "0"), fact("b", "1")),
        ]
    )

    assert {"index": {"check b": found("1").digest}} == history.held
    assert {
        "index": {
            "check a": (
                Stretch("1", "2", found("0")),
                Stretch("3", "3", found("1")),
                Stretch("4", "4", found("0")),
            )
        }
    } == history.changed


def test_what_holds_is_as_written_whatever_its_dots_stand_for() -> None:
    said = {"written": "at ...", "holds": True}
    history = merge(
        [
            asked("1", fact("a", "at 0x1", **said)),
            asked("2", fact("a", "at 0x2", **said)),
        ]
    )

    assert {"index": {"check a": found("at ...").digest}} == history.held


def test_the_last_release_says_which_facts_there_are() -> None:
    history = merge([asked("1", fact("gone", "1")), asked("2", fact("new", "1"))])
    missing = Value("unanswered", "its page could not be read so far")

    assert {"check new"} == history.keys("index")
    assert (
        Stretch("1", "1", missing),
        Stretch("2", "2", found("1")),
    ) == history.changed["index"]["check new"]


def test_the_place_of_an_installation_is_no_part_of_an_error() -> None:
    text = (
        "ImportError: cannot import name 'a' from 'b'{0}: /{1}/lib/b.py\n"
        "Traceback (most recent call last):\n  File \"/{1}/b.py\", line 1\n    a\n"
        "NameError: a\n"
    )
    history = merge(
        [
            asked("1", fact("a", text.format(" (/one/b.py)", "one"))),
            asked("2", fact("a", text.format(" (/two/b.py)", "two"))),
        ]
    )

    said = "ImportError: cannot import name 'a' from 'b': b.py\nNameError: a"

    assert {"check a": found(said).digest} == history.held["index"]


def test_the_place_of_an_object_in_memory_is_no_part_of_a_value() -> None:
    history = merge(
        [
            asked("1", fact("a", "<function f at 0x7f00>")),
            asked("2", fact("a", "<function f at 0x7fff>")),
        ]
    )

    assert {"check a": found("<function f>").digest} == history.held["index"]


def test_two_facts_of_one_key_are_refused() -> None:
    with pytest.raises(ValueError, match="two facts of index have the key 'check a'"):
        merge([asked("1", fact("a", "1"), fact("a", "2"))])


KINDS = [
    ("value", found("1"), found("2")),
    ("value", found("P('a',)"), found("PartitionSpec('b',)")),
    ("wording", found("P('a',)"), found("PartitionSpec('a',)")),
    ("wording", found("a  b"), found("a\nb")),
    ("wording", found("ValueError: one"), found("ValueError: two")),
    ("wording", found("1\nValueError: one"), found("1\nValueError: two")),
    ("error class", found("ValueError"), found("TypeError")),
    ("error class", found("1"), Value("raised", "ValueError: one")),
    ("error class", found("jax.errors.AError: one"), found("BError: one")),
    ("availability", found("1"), Value("raised", "AttributeError: no a")),
    ("availability", found("1"), Value("unanswered", "ValueError: one")),
    (
        "availability",
        found("TypeError: f() got an unexpected keyword argument 'a'"),
        found("1"),
    ),
]


@pytest.mark.parametrize(("kind", "old", "new"), KINDS)
def test_the_kind_of_a_change(kind: str, old: Value, new: Value) -> None:
    assert kind == kind_of(old, new)
    assert kind == kind_of(new, old)


def test_a_key_is_short_and_tells_long_expressions_apart() -> None:
    long = [key_of("expect", f"a = 1\nprint({n})", 1) for n in (1, 2)]

    assert "check a.b" == key_of("check", "a.b", 1)
    assert "check a.b #2" == key_of("check", "a.b", 2)
    assert long[0].startswith("expect a = 1 ... ")
    assert long[0] != long[1]
    assert len(key_of("check", "a" * 200, 1)) < 100


def test_the_file_reads_back_and_is_sorted(tmp_path: Path) -> None:
    history = merge(
        [
            Asked(
                "0.4.35",
                ("AxisType",),
                [fact("b", "0"), fact("a", "1"), fact("c", "x\ny"), fact("d", "1")],
            ),
            Asked(
                "0.5.3",
                (),
                [
                    fact("b", "E: no", raised=True),
                    fact("a", "1"),
                    fact("c", "z"),
                    fact("d", "E: no", unanswered=True, raised=True),
                ],
            ),
            Asked("0.6", (), [fact(name, "1") for name in "bacd"]),
        ]
    )
    file = tmp_path / "since.json"
    _history.save(history, file)
    page = json.loads(file.read_text("utf-8"))["pages"]["index"]

    assert history == _history.load(file)
    assert {
        "held": {"check a": found("1").digest},
        "changed": {
            "check b": {"0.4.35": "0", "0.5.3": {"raised": "E: no"}, "0.6": "1"},
            "check c": {"0.4.35": ["x", "y"], "0.5.3": "z", "0.6": "1"},
            "check d": {
                "0.4.35": "1",
                "0.5.3": {"unanswered": "E: no"},
                "0.6": "1",
            },
        },
    } == page
    assert ["check b", "check c", "check d"] == list(page["changed"])


def test_a_stretch_is_named_by_its_ends(tmp_path: Path) -> None:
    history = merge(
        [asked(name, fact("a", "0")) for name in ("1", "2")] + [asked("3", fact("a", "1"))]
    )
    file = tmp_path / "since.json"
    _history.save(history, file)

    assert '"1 to 2": "0"' in file.read_text("utf-8")
    assert history == _history.load(file)


def test_a_digest_does_not_hang_on_how_lines_are_broken() -> None:
    assert found("a b\nc").digest == found("a\nb  c").digest
    assert found("a b").digest != found("ab").digest
    assert found("a").digest != Value("raised", "a").digest
