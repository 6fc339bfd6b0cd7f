"""Replica groups in each of XLA's syntaxes, and the axes they span."""

from __future__ import annotations

import pytest

from shardlessons import Span
from shardlessons._groups import (
    GroupsError,
    parse_groups,
    parse_pairs,
    spans_of_groups,
    spans_of_pairs,
)

AXES = {"data": 4, "model": 2}
ROWS = ((0, 1), (2, 3), (4, 5), (6, 7))
COLUMNS = ((0, 2, 4, 6), (1, 3, 5, 7))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("{{0,1},{2,3},{4,5},{6,7}}", ROWS),
        ("{{0,2,4,6},{1,3,5,7}}", COLUMNS),
        ("{{0},{1}}", ((0,), (1,))),
        ("[4,2]<=[8]", ROWS),
        # 0..7 as 4 x 2, transposed: 0 2 4 6 1 3 5 7, in two rows.
        ("[2,4]<=[4,2]T(1,0)", COLUMNS),
        ("[1,8]<=[8]", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        # As 2 x 2 x 2, the middle axis last: pairs that are 2 apart.
        ("[4,2]<=[2,2,2]T(0,2,1)", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['axis_0'=4,'axis_1'=2] {'axis_0'}", COLUMNS),
        ("mesh['axis_0'=4,'axis_1'=2] {'axis_1'}", ROWS),
        ("mesh[data=4,model=2] {model}", ROWS),
        # The order of the axes is the order within a group.
        ("mesh['a'=4,'b'=2] {'a','b'}", ((0, 1, 2, 3, 4, 5, 6, 7),)),
        ("mesh['a'=4,'b'=2] {'b','a'}", ((0, 2, 4, 6, 1, 3, 5, 7),)),
        # (2)2 of 8: the part of size 2 behind the first 2, of 2 x 2 x 2.
        ("mesh['data'=8] {'data':(2)2}", ((0, 2), (1, 3), (4, 6), (5, 7))),
        ("mesh['data'=8] {'data':(1)2}", ((0, 4), (1, 5), (2, 6), (3, 7))),
        ("mesh['data'=8] {'data':(2)4}", ((0, 1, 2, 3), (4, 5, 6, 7))),
        (
            "mesh['data'=8] {'data':(2)2,'data':(1)2}",
            ((0, 4, 2, 6), (1, 5, 3, 7)),
        ),
        # Its devices 0 2 4 6 1 3 5 7, as 2 x 1 x 4.
        (
            "mesh['a'=2,'b'=1,'c'=4], device_ids=([4,2]T(1,0)) {'a'}",
            ((0, 1), (2, 3), (4, 5), (6, 7)),
        ),
        (
            "mesh['a'=2,'c'=4], device_ids=(0,2,4,6,1,3,5,7) {'c'}",
            COLUMNS,
        ),
        ("mesh['a'=4,'b'=2] {}", tuple((n,) for n in range(8))),
    ],
)
def test_each_syntax(text: str, expected: object) -> None:
    assert expected == parse_groups(text, 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "replica groups in a syntax that is not known: "),
        (
            "{{0,1},{2,3}",
            "replica groups in a syntax that is not known: {{0,1},{2,3}",
        ),
        ("{0,1}", "replica groups in a syntax that is not known: {0,1}"),
        ("[2,4]", "replica groups in a syntax that is not known: [2,4]"),
        (
            "[2,2,2]<=[8]",
            "replica groups in a syntax that is not known: [2,2,2]<=[8]",
        ),
        ("[2,4]<=[7]", "an iota that does not fit: [2, 4]<=[7]"),
        (
            "[2,4]<=[4,2]T(1,1)",
            "an iota that does not fit: [2, 4]<=[4,2]T(1,1)",
        ),
        (
            "mesh['a'=4] {'b'}",
            "axes that the mesh does not have: mesh['a'=4] {'b'}",
        ),
        (
            "mesh['a'=8] {'a':2}",
            "axes that the mesh does not have: mesh['a'=8] {'a':2}",
        ),
        ("mesh['a'=8] {'a','a'}", "an axis twice: mesh['a'=8] {'a','a'}"),
        (
            "mesh['a'=8] {'a':(3)2}",
            "parts of an axis that overlap: mesh['a'=8] {'a':(3)2}",
        ),
        (
            "mesh['a'=8], device_ids=(0,1) {'a'}",
            "device ids in a syntax that is not known: 0,1",
        ),
    ],
)
def test_what_is_none_of_them(text: str, message: str) -> None:
    with pytest.raises(GroupsError) as raised:
        parse_groups(text, 8)

    assert message == str(raised.value)


def test_pairs() -> None:
    assert ((0, 2), (2, 0)) == parse_pairs("{{0,2},{2,0}}")
    assert () == parse_pairs("{}")

    for text in ("{{0,2,4}}", "[4,2]<=[8]", "{{0}}"):
        with pytest.raises(GroupsError) as raised:
            parse_pairs(text)

        assert f"source_target_pairs that are not pairs: {text}" == str(
            raised.value
        )


DATA, MODEL = Span("data", 4, 4), Span("model", 2, 2)


@pytest.mark.parametrize(
    ("groups", "axes", "expected"),
    [
        (COLUMNS, AXES, (DATA,)),
        (ROWS, AXES, (MODEL,)),
        (((0, 1, 2, 3, 4, 5, 6, 7),), AXES, (DATA, MODEL)),
        (((6, 0, 4, 2), (7, 5, 3, 1)), AXES, (DATA,)),
        (tuple((n,) for n in range(8)), AXES, ()),
        # Rows 0 and 1, rows 2 and 3: two of the four of data.
        (((0, 2), (1, 3), (4, 6), (5, 7)), AXES, (Span("data", 2, 4),)),
        (
            ((0, 1, 2, 3), (4, 5, 6, 7)),
            AXES,
            (Span("data", 2, 4), MODEL),
        ),
        # An axis of size 1 is in no group.
        (COLUMNS, {"data": 4, "one": 1, "model": 2}, (DATA,)),
        # As 2 x 2 x 2: first and last.
        (
            ((0, 1, 4, 5), (2, 3, 6, 7)),
            {"a": 2, "b": 2, "c": 2},
            (Span("a", 2, 2), Span("c", 2, 2)),
        ),
        # A diagonal, groups that differ in kind or size, too few devices.
        (((0, 3), (2, 5), (4, 7), (6, 1)), AXES, None),
        (((0, 1), (2, 4), (3, 5), (6, 7)), AXES, None),
        (((0, 1, 2), (3, 4, 5, 6, 7)), AXES, None),
        (((0, 1), (2, 3)), AXES, None),
        ((), AXES, None),
    ],
)
def test_the_axes_of_groups(
    groups: tuple[tuple[int, ...], ...], axes: dict[str, int], expected: object
) -> None:
    assert expected == spans_of_groups(groups, axes)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (((0, 1), (1, 0), (2, 3), (3, 2)), (MODEL,)),
        (((0, 2), (2, 4), (4, 6), (6, 0)), (DATA,)),
        (((0, 3),), (DATA, MODEL)),
        (((0, 2), (0, 1)), (DATA, MODEL)),
        (((0, 0),), ()),
        ((), ()),
        (((0, 8),), None),
    ],
)
def test_the_axes_that_pairs_cross(
    pairs: tuple[tuple[int, ...], ...], expected: object
) -> None:
    assert expected == spans_of_pairs(pairs, AXES)


def test_a_span_in_words() -> None:
    assert "data" == str(DATA)
    assert "data (2 of 4)" == str(Span("data", 2, 4))
