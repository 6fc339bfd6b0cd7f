"""What crosses slices, as a compiled program writes it."""

from __future__ import annotations

import pytest

from shardlessons._groups import GroupsError
from shardlessons._program import Instruction
from shardlessons._slices import (
    Slices,
    is_transfer,
    received,
    slices_of,
    transfer,
)

# Two slices of two devices, one after the other.
TWO = Slices(
    ((0, 1), (2, 3)), {100_000: 0, 100_001: 1, 200_000: 2, 200_001: 3}
)


def instruction(opcode: str, attributes: str) -> Instruction:
    return Instruction("main", opcode, "f32[8]", (), attributes, "", tuple)


def send(**changed: str) -> Instruction:
    values = {
        "host_transfer_handler_name": '"xla_megascale_runtime"',
        "host_transfer_rendezvous": '"psum_0"',
        "megascale_target": '"{1,2}x{0:1}"',
        "megascale_transfer_type": '"ALL_REDUCE"',
        **changed,
    }
    inner = ",".join(f"_xla_{name}={value}" for name, value in values.items())
    return instruction("send", f"frontend_attributes={{{inner}}}")


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("{1,2}x{0:1}", ((0, 2), (1, 3))),
        ("{1:2}x{0,1}", ((0, 2), (1, 3))),
        ("{1,2}x{1}", ((1, 3),)),
        ("{{100000,200001},{100001,200000}}", ((0, 3), (1, 2))),
        ("{{100001->200000},{200001->100000}}", ((1, 2), (3, 0))),
    ],
)
def test_targets(text: str, groups: tuple[tuple[int, ...], ...]) -> None:
    assert groups == TWO.target(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{1,3}x{0:1}", "not devices of the mesh: {1,3}x{0:1}"),
        ("{{0,1}}", "not devices of the mesh: {{0,1}}"),
        ("all", "replica groups in a syntax that is not known: all"),
    ],
)
def test_targets_that_are_not_of_the_mesh(text: str, message: str) -> None:
    with pytest.raises(GroupsError) as error:
        TWO.target(text)

    assert message == str(error.value)


def test_groups_of_one_slice_are_those_of_each() -> None:
    assert ((0, 1), (2, 3)) == TWO.everywhere(((0, 1),))


def test_a_mesh_without_slices_has_none() -> None:
    assert slices_of([]) is None


def test_a_transfer_says_what_it_is() -> None:
    one = transfer(send())

    assert ("all-reduce", "{1,2}x{0:1}", "psum_0") == (
        one.kind,
        one.target,
        one.name,
    )
    assert is_transfer(send())
    assert not is_transfer(send(host_transfer_handler_name='"another"'))


@pytest.mark.parametrize(
    "changed",
    [
        {"megascale_transfer_type": '"NEW"'},
        {"megascale_target": ""},
        {"host_transfer_rendezvous": '""'},
    ],
)
def test_a_transfer_of_no_known_kind(changed: dict[str, str]) -> None:
    with pytest.raises(ValueError) as error:
        transfer(send(**changed))

    assert "sent from one slice to another, of no known kind" == str(
        error.value
    )


def test_a_transfer_that_nothing_receives() -> None:
    other = instruction(
        "recv", '_xla_host_transfer_rendezvous="another_0",_xla=1'
    )
    same = instruction("recv", '_xla_host_transfer_rendezvous="psum_0"')

    assert same is received(send(), [other, same])
    with pytest.raises(ValueError) as error:
        received(send(), [other])

    assert "sent from one slice to another, with no recv of psum_0" == str(
        error.value
    )
