"""The line of the reader's own that a collective comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis
import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P
from releases import kept, kept_source, shard_map
from structs import MESH, struct

from shardlessons import Collective, Frame, Reading, read
from shardlessons._sources import frame_reader, outside

LINES = Path(__file__).read_text().splitlines()


def marked(name: str, function: str) -> Frame:
    """The frame of the one line that ends in a mark."""
    (line,) = [
        number
        for number, text in enumerate(LINES, 1)
        if text.endswith(f"# {name}")
    ]
    return Frame(__file__, line, function)


def only(reading: Reading) -> Collective:
    (one,) = reading.collectives
    return one


def every_source(reading: Reading) -> set[Frame | None]:
    assert reading.collectives
    return {one.source for one in reading.collectives}


X = struct((64, 32), P("data", "model"))
W = struct((32, 32), P("model"))


def product(x: jax.Array, w: jax.Array) -> jax.Array:
    x = jnp.sin(x)
    return x @ w  # product


PRODUCT = marked("product", "product")


def test_a_function() -> None:
    one = only(read(product, X, W))

    assert kept_source(PRODUCT) == one.source
    # What calls read() is no part of the function.
    assert kept(PRODUCT) == one.frames
    assert f"{__file__}:{PRODUCT.line} in product" == str(PRODUCT)


def test_a_function_that_another_calls() -> None:
    def caller(x: jax.Array, w: jax.Array) -> jax.Array:
        return product(x, w) + 1  # caller

    one = only(read(caller, X, W))

    prefix = "test_a_function_that_another_calls.<locals>."
    assert kept(PRODUCT, marked("caller", f"{prefix}caller")) == one.frames


def test_jit_in_jit() -> None:
    inner = jax.jit(jax.jit(product))

    @jax.jit
    def outer(x: jax.Array, w: jax.Array) -> jax.Array:
        return jnp.tanh(inner(x, w))  # outer

    one = only(read(outer, X, W))

    prefix = "test_jit_in_jit.<locals>."
    assert kept(PRODUCT, marked("outer", f"{prefix}outer")) == one.frames


def test_functions_of_jax_are_looked_past() -> None:
    def f(x: jax.Array) -> jax.Array:
        y = jnp.linalg.norm(x, axis=0)  # norm
        return y + 1

    # jnp.linalg.norm is a jitted function of jax, of many lines of its own.
    prefix = "test_functions_of_jax_are_looked_past.<locals>."
    norm = kept_source(marked("norm", f"{prefix}f"))
    assert {norm} == every_source(read(f, X))


def test_gradients() -> None:
    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return (product(x, w) ** 2).sum()

    reading = read(jax.grad(loss), struct((32, 32), P()), X)
    summed = [one for one in reading.collectives if one.kind == "all-reduce"]

    # Of w, the backward pass adds up what the line's product was.
    assert {kept_source(PRODUCT)} == {one.source for one in summed}


def test_vmap() -> None:
    one = only(read(jax.vmap(product, in_axes=(0, None)), X, W))

    assert kept_source(PRODUCT) == one.source


def test_scan() -> None:
    def body(x: jax.Array, w: jax.Array) -> tuple[jax.Array, None]:
        return product(x, w), None  # body

    def f(x: jax.Array, ws: jax.Array) -> jax.Array:
        return jax.lax.scan(body, x, ws)[0]  # scan

    one = only(
        read(
            f,
            struct((64, 32), P("data")),
            struct((3, 32, 32), P(None, "model")),
        )
    )

    prefix = "test_scan.<locals>."
    assert kept(
        PRODUCT,
        marked("body", f"{prefix}body"),
        marked("scan", f"{prefix}f"),
    ) == one.frames


@pytest.mark.parametrize("transform", [jax.grad, jax.jacrev])
def test_remat(transform: Any) -> None:
    block = jax.checkpoint(product)

    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        x = block(block(x, w), w)  # remat
        return x.mean()  # mean

    reading = read(transform(loss), W, struct((64, 32), P("data")))

    prefix = "test_remat.<locals>."
    known = {
        PRODUCT,
        # What the compiler moves out of the block has the block's line.
        marked("remat", f"{prefix}loss"),
        marked("mean", f"{prefix}loss"),
        # sin(x), whose argument the backward pass needs again.
        Frame(__file__, PRODUCT.line - 1, "product"),
    }
    assert every_source(reading) <= set(map(kept_source, known))
    assert kept_source(PRODUCT) in every_source(reading)


def test_shard_map() -> None:
    def f(x: jax.Array) -> jax.Array:
        y = jax.lax.psum(x, "data")  # psum
        return jax.lax.all_gather(y, "model")  # gather

    reading = read(
        shard_map(
            f,
            mesh=MESH,
            in_specs=P("data", "model"),
            out_specs=P(),
            check_vma=False,
        ),
        X,
    )

    prefix = "test_shard_map.<locals>."
    assert {
        "all-reduce": kept_source(marked("psum", f"{prefix}f")),
        "all-gather": kept_source(marked("gather", f"{prefix}f")),
    } == {one.kind: one.source for one in reading.collectives}


def test_a_line_that_the_compiler_drops() -> None:
    # From jax 0.12 on, what gathers a parameter has no line of its own on
    # CPU; then the line that uses the whole parameter stands in.
    def loss(w: jax.Array, x: jax.Array) -> jax.Array:
        return product(x, w).sum()

    reading = read(
        jax.grad(loss),
        struct((32, 32), P("data")),
        struct((64, 32), P("data")),
    )

    assert {kept_source(PRODUCT)} == every_source(reading)


def test_a_cell_has_no_file() -> None:
    namespace: dict[str, Any] = {}
    cell = "def f(x):\n    y = x * 2\n    return y.sum(0)\n"
    exec(compile(cell, "<cell 3>", "exec"), namespace)

    one = only(read(namespace["f"], struct((64, 32), P("data"))))

    assert kept_source(Frame("<cell 3>", 3, "f")) == one.source


def test_looking_past_a_module_and_a_folder_of_like_name() -> None:
    folder = Path(hypothesis.__file__).parent
    own = Frame(str(folder) + "_of_mine/a.py", 1, "f")
    frames = (
        Frame(str(folder / "a.py"), 1, "f"),
        own,
        Frame(pytest.__file__, 2, "g"),
        Frame("<cell>", 3, "h"),
    )

    assert (own, frames[3]) == outside(frames, ["hypothesis", "pytest"])
    assert frames == outside(frames, [])


@pytest.mark.parametrize("name", ["flaxx", "flaxx.linen"])
def test_a_package_that_is_not_there(name: str) -> None:
    reading = read(product, X, W)

    with pytest.raises(ValueError) as raised:
        reading.looking_past(name)

    assert (
        f"looking_past() was given {name!r}, which is not installed; give "
        "the names that are imported, as 'flax'" == str(raised.value)
    )


def test_older_texts() -> None:
    frames = frame_reader("HloModule m\n")
    line = 'metadata={op_name="f" source_file="/a/b.py" source_line=7}'

    assert (Frame("/a/b.py", 7, ""),) == frames(line)
    assert "/a/b.py:7" == str(frames(line)[0])
    assert () == frames("no metadata")


TABLES = """HloModule m

FileNames
1 "/a/b.py"
2 "<a "cell">"

FunctionNames
1 "f"
2 "g.<locals>.<lambda>"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7 column=2 end_column=9}
2 {file_name_id=2 function_name_id=2 line=8 end_line=8 column=2 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=2 parent_frame_id=3}
4 {file_location_id=1 parent_frame_id=5}


%f (x: f32[]) -> f32[] {
  %x = f32[] parameter(0)
}
"""


def test_the_tables_of_a_module() -> None:
    frames = frame_reader(TABLES)
    f = Frame("/a/b.py", 7, "f")
    g = Frame('<a "cell">', 8, "g.<locals>.<lambda>")

    assert (f,) == frames("stack_frame_id=1")
    assert (g, f) == frames("stack_frame_id=2")
    # Twice the same line is once.
    assert (g, f) == frames("stack_frame_id=3")
    # A frame that is its own parent has none.
    assert (f,) == frames("stack_frame_id=4")
    assert () == frames("stack_frame_id=9")


def test_numbers_that_are_not_those_of_the_tables() -> None:
    assert () == frame_reader(TABLES, numbered=False)("stack_frame_id=1")
