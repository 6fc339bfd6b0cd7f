"""What two readings say differently."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ET
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from releases import needs_axis_types

from shardlessons import Bytes, Difference, Frame, Unread, cpu_mesh, read

MESH = cpu_mesh({"data": 4, "model": 2})


def struct(shape: tuple[int, ...], spec: P, mesh: Any = MESH) -> Any:
    return jax.ShapeDtypeStruct(
        shape, jnp.float32, sharding=NamedSharding(mesh, spec)
    )


def rows(a: jax.Array) -> jax.Array:
    return a.sum(1)


CUT = read(rows, struct((8, 16), P("data", "model")))
WHOLE = read(rows, struct((8, 16), P("data")))


def test_a_difference_says_what_changed() -> None:
    found = CUT.diff(WHOLE)
    (change,) = found.inputs

    assert isinstance(found, Difference)
    assert (CUT.inputs[0], WHOLE.inputs[0]) == (change.before, change.after)
    assert "a" == change.path
    assert () == found.outputs
    assert (CUT.bytes, WHOLE.bytes) == found.bytes
    assert (CUT.collectives, ()) == (found.removed, found.added)
    assert (8, 0) == tuple(sent.bytes for sent in found.traffic)


def test_the_text() -> None:
    line = rows.__code__.co_firstlineno + 1
    temps = CUT.bytes.temp, WHOLE.bytes.temp
    before = dataclasses.replace(
        CUT,
        collectives=tuple(
            dataclasses.replace(one, frames=(Frame("model.py", line, "rows"),))
            for one in CUT.collectives
        ),
    )

    assert (8, 0) == temps
    assert f"""\
- rows(float32[8,16]@P('data', 'model'))
+ rows(float32[8,16]@P('data',))
mesh data=4 (Auto), model=2 (Auto)

       type           spec                bytes/device
inputs
  - a  float32[8,16]  P('data', 'model')            64
  + a  float32[8,16]  P('data',)                   128

bytes per device
                before  after  difference
counted by the compiler
  argument          64    128         +64
  temp               8      0          -8
sent by the ring model, over
  model              8      0          -8
  all of these       8      0          -8

sent by each device, in bytes by the ring model
                           over   times  wire bytes
model.py:{line} in rows
  - all-reduce float32[2]  model      1           8""" == str(
        before.diff(WHOLE)
    )
    assert str(before.diff(WHOLE)) == repr(before.diff(WHOLE))


def test_the_other_way_round_every_sign_is_the_other() -> None:
    text = str(WHOLE.diff(CUT))

    assert "  + all-reduce float32[2]  model      1           8" in text
    assert "  argument         128     64         -64" in text


def test_no_difference_is_false_and_says_so() -> None:
    again = read(rows, struct((8, 16), P("data", "model")))

    assert not CUT.diff(again)
    assert """\
no difference in
  rows(float32[8,16]@P('data', 'model'))""" == str(CUT.diff(again))
    assert "no difference in" in CUT.diff(again)._repr_html_()


def test_the_name_of_a_call_and_the_spelling_of_a_spec_are_none() -> None:
    def other(a: jax.Array) -> jax.Array:
        return a * 2

    one = read(lambda a: a * 2, struct((8, 16), P("data", None)))
    two = read(other, struct((8, 16), P("data")))

    assert not one.diff(two)
    assert """\
no difference in
  <lambda>(float32[8,16]@P('data', None))
  other(float32[8,16]@P('data',))""" == str(one.diff(two))


def test_a_line_that_moved_is_no_difference_and_another_function_is() -> None:
    def moved(line: int, function: str) -> Any:
        (one,) = CUT.collectives
        frames = (Frame("model.py", line, function),)
        return dataclasses.replace(
            CUT, collectives=(dataclasses.replace(one, frames=frames),)
        )

    assert not moved(1, "f").diff(moved(2, "f"))
    assert moved(1, "f").diff(moved(1, "g"))


def test_collectives_are_counted() -> None:
    twice = dataclasses.replace(CUT, collectives=CUT.collectives * 3)

    assert CUT.collectives * 2 == CUT.diff(twice).added
    assert () == CUT.diff(twice).removed


def test_inputs_and_outputs_that_are_added_or_removed() -> None:
    one = read(lambda p: p, {"a": struct((8,), P()), "b": struct((8,), P())})
    two = read(lambda p: p, {"b": struct((8,), P()), "c": struct((8,), P())})
    found = one.diff(two)

    assert [("p['a']", True, False), ("p['c']", False, True)] == [
        (change.path, change.before is not None, change.after is not None)
        for change in found.inputs
    ]
    assert ["result['a']", "result['c']"] == [c.path for c in found.outputs]
    assert """\
inputs
  - p['a']       float32[8]  P()             32
  + p['c']       float32[8]  P()             32
outputs
  - result['a']  float32[8]  P()             32
  + result['c']  float32[8]  P()             32""" in str(found)


def test_an_input_that_is_dropped() -> None:
    x = struct((8,), P("data"))
    used = read(lambda a, b: a + b, x, x)
    found = used.diff(read(lambda a, b: a, x, x))

    assert """\
  - b  float32[8]  P('data',)                   8
  + b  float32[8]  dropped (unused)""" in str(found)


def double(mesh: Any) -> Any:
    return read(lambda a: a * 2, struct((8, 16), P("data"), mesh))


def test_another_mesh() -> None:
    turned = cpu_mesh({"data": 2, "model": 4})

    assert ["a"] == [c.path for c in double(MESH).diff(double(turned)).inputs]


@needs_axis_types
def test_other_kinds_of_axes() -> None:
    explicit = cpu_mesh({"data": 4, "model": 2}, explicit=True)

    assert """\
- mesh data=4 (Auto), model=2 (Auto)
+ mesh data=4 (Explicit), model=2 (Explicit)""" in str(
        double(MESH).diff(double(explicit))
    )
    assert () == double(MESH).diff(double(explicit)).inputs


def test_many_changes_alike_are_one_pair_of_rows() -> None:
    def double(spec: P) -> Any:
        stack = [struct((8, 16), spec)] * 20
        return read(lambda p: jax.tree.map(lambda a: a * 2, p), stack)

    text = str(double(P("data")).diff(double(P("data", "model"))))

    assert """\
inputs
  - p[*]       20 x float32[8,16]  P('data',)                 2,560
  + p[*]       20 x float32[8,16]  P('data', 'model')         1,280
outputs
""" in text


def test_bytes_alone_are_a_difference() -> None:
    other = dataclasses.replace(CUT, bytes=Bytes(64, 8, 9, 0))

    assert CUT.diff(other)
    assert """\
rows(float32[8,16]@P('data', 'model'))
mesh data=4 (Auto), model=2 (Auto)

bytes per device
        before  after  difference
counted by the compiler
  temp       8      9          +1""" == str(CUT.diff(other))


def test_what_is_not_known_has_no_difference_in_bytes() -> None:
    (one,) = CUT.collectives
    other = dataclasses.replace(
        CUT, collectives=(dataclasses.replace(one, times=None),)
    )

    assert "  model              8      ?           ?" in str(CUT.diff(other))


def test_what_is_unread_is_a_difference() -> None:
    other = dataclasses.replace(CUT, unread=(Unread("%odd = ...", "why"),))

    assert other.unread == CUT.diff(other).unread_added
    assert other.unread == other.diff(CUT).unread_removed
    assert "not read\n+ why\n  %odd = ..." in str(CUT.diff(other))


def test_the_html_has_the_rows_of_the_text() -> None:
    found = CUT.diff(WHOLE)
    shown = [
        " ".join(" ".join("".join(cell.itertext()) for cell in row).split())
        for row in ET.fromstring(found._repr_html_()).iter("tr")
    ]
    titles = (
        "bytes per device",
        "sent by each device, in bytes by the ring model",
    )

    assert [
        " ".join(line.split())
        for line in str(found).splitlines()[3:]
        if line and line not in titles
    ] == shown


def test_what_is_no_reading_is_refused() -> None:
    with pytest.raises(TypeError) as error:
        CUT.diff("that")

    assert (
        "diff() was given 'that', which is no Reading; call "
        "shardlessons.read(f, *args) first and give what it returns"
    ) == str(error.value)
