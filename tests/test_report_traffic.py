"""What a reading's text says of its collectives."""

from __future__ import annotations

import dataclasses
import os
import sys
import types
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from releases import kept_source
from structs import rows_of, struct

from shardlessons import Frame, Unread, read
from shardlessons._traffic import source_text

X = struct((512, 512), P("data", None))


def layers(x: jax.Array) -> jax.Array:
    for _ in range(3):
        x = jnp.sin(x - x.sum(1, keepdims=True))
    return x


def test_equal_collectives_of_a_line_are_one_row_with_times_summed() -> None:
    line = layers.__code__.co_firstlineno + 2
    source = source_text(kept_source(Frame(__file__, line, "layers")))
    report = str(read(layers, struct((8, 16), P("data", "model"))))

    assert [
        "  all-reduce float32[2]  model      3          24"
    ] == rows_of(report, source, "in all, over")


def test_the_most_bytes_come_first_and_what_is_not_known_before_them() -> None:
    one = struct((8, 16), P("data", "model"))
    (small,) = read(lambda a: a.sum(1), one).collectives
    (large,) = read(lambda a: a.sum(0), one).collectives
    base = read(lambda a: a, one)
    collectives = (
        dataclasses.replace(small, frames=(Frame("f.py", 1, "f"),)),
        dataclasses.replace(large, frames=(Frame("f.py", 2, "g"),)),
        dataclasses.replace(small, times=None, frames=()),
        dataclasses.replace(
            large, times=2, conditional=True, frames=(Frame("f.py", 1, "f"),)
        ),
    )
    given = dataclasses.replace(base, collectives=collectives)
    backwards = dataclasses.replace(base, collectives=collectives[::-1])

    assert """\
sent by each device, in bytes by the ring model
                         over   times  wire bytes
no line is recorded
  all-reduce float32[2]  model      ?       ? x 8
f.py:1 in f
  all-reduce float32[8]  data    <= 2       <= 96
  all-reduce float32[2]  model      1           8
f.py:2 in g
  all-reduce float32[8]  data       1          48
in all, over
  model                                         ?
  data                                     <= 144
  all of these                               <= ?\
""" == str(given)[str(given).index("sent by") :]
    assert str(given) == str(backwards)


def test_what_is_unread_is_shown_with_all_its_text() -> None:
    text = "%all-odd.1 = f32[8]{0} all-odd(%p), " + "attribute={1,2} " * 9
    reading = dataclasses.replace(
        read(lambda a: a, X), unread=(Unread(text, "no replica_groups"),)
    )
    shown = str(reading).partition("\n\nnot read\n")[2].splitlines()

    assert "no replica_groups" == shown[0]
    assert text.split() == " ".join(shown[1:]).split()
    assert 76 >= max(map(len, shown))
    assert "no collectives" not in str(reading)
    assert "no replica_groups" in reading._repr_html_()


def test_long_lists_of_arrays_are_cut_and_counted() -> None:
    one = struct((8, 16), P("data", "model"))
    (small,) = read(lambda a: a.sum(1), one).collectives
    array = small.operands[0]
    many = tuple(
        dataclasses.replace(array, shape=(n,)) for n in (1, 1, 2, 3, 4, 5)
    )
    reading = dataclasses.replace(
        read(lambda a: a, one),
        collectives=(dataclasses.replace(small, operands=many, results=many),),
    )

    assert "all-reduce 2 x float32[1] + [2] + [3] + 2 more" in str(reading)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (None, "no line is recorded"),
        (Frame("/home/me/work/models/mlp.py", 3, "f"), "models/mlp.py:3 in f"),
        (Frame("/mlp.py", 3, ""), "//mlp.py:3"),
        (Frame("<stdin>", 3, "f"), "<stdin>:3 in f"),
        (Frame("/tmp/ipykernel_77/12.py", 3, "f"), "a notebook's cell:3 in f"),
    ],
    ids=["none", "elsewhere", "at the root", "no file", "cell"],
)
def test_sources_are_shortened(frame: Frame | None, text: str) -> None:
    assert text == source_text(frame)


def test_a_source_below_the_current_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = Frame(os.path.join(tmp_path, "a", "b", "c.py"), 3, "f")

    assert "a/b/c.py:3 in f" == source_text(frame)


def test_a_cell_is_named_as_ipython_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shell = types.SimpleNamespace(
        compile=types.SimpleNamespace(
            format_code_name=lambda file: ("Cell", "In[4]")
        )
    )
    monkeypatch.setitem(
        sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell)
    )

    assert "Cell In[4]:3 in f" == source_text(
        Frame("/tmp/ipykernel_77/12.py", 3, "f")
    )
