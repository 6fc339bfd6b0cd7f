"""`read`: what it takes, what it gives, what it raises."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P
from releases import (
    before,
    needs_abstract_mesh,
    needs_axis_types,
    needs_info_of_compiled,
    needs_pickled_devices,
    shard_map,
)

from shardlessons import Bytes, Leaf, Reading, SpecError, cpu_mesh, read
from shardlessons._jax import using_mesh

MESH = cpu_mesh({"data": 4, "model": 2})
ONE = SingleDeviceSharding(jax.devices("cpu")[0])
MEMORY = jax.devices("cpu")[0].default_memory().kind


def struct(
    shape: tuple[int, ...], spec: P, dtype: Any = jnp.float32
) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        shape, dtype, sharding=NamedSharding(MESH, spec)
    )


X = struct((8, 16), P("data", "model"))
W = struct((16, 32), P("model", None))


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    return a @ b


def step(
    params: dict[str, Any], x: jax.Array, power: int = 2, *, scale: float = 1.0
) -> dict[str, Any]:
    loss = ((x @ params["w"]) ** power).sum() * scale
    return {"loss": loss, "params": [params["w"] * 2, None]}


def test_a_reading_of_two_arrays() -> None:
    reading = read(matmul, X, W)

    assert "matmul(" in reading.call
    assert (
        Leaf("a", (8, 16), np.dtype("float32"), X.sharding),
        Leaf("b", (16, 32), np.dtype("float32"), W.sharding),
    ) == reading.inputs
    assert (
        Leaf(
            "result",
            (8, 32),
            np.dtype("float32"),
            NamedSharding(MESH, P("data"), memory_kind=MEMORY),
        ),
    ) == reading.outputs
    assert (P("data", "model"), P("model", None)) == reading.in_specs
    assert (X.sharding, W.sharding) == reading.in_shardings
    assert P("data") == reading.out_specs
    # (2, 8) and (8, 32) floats; (2, 32); as much again to add up over model.
    assert Bytes(64 + 1024, 256, 256, 0) == reading.bytes


def test_every_stage_of_a_call_reads_the_same() -> None:
    reading = read(matmul, X, W)
    traced = jax.jit(matmul).trace(X, W)
    unnamed = tuple(
        dataclasses.replace(leaf, path=path)
        for leaf, path in zip(
            reading.inputs, ("args[0]", "args[1]"), strict=True
        )
    )
    from_lowered = dataclasses.replace(reading, inputs=unnamed)

    assert reading == read(jax.jit(matmul), X, W)
    assert reading == read(traced)
    assert from_lowered == read(traced.lower())


@needs_info_of_compiled
def test_a_compiled_call_reads_as_a_lowered_one() -> None:
    lowered = jax.jit(matmul).lower(X, W)

    assert read(lowered) == read(lowered.compile())


def test_a_compiled_call_that_keeps_no_shapes_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = jax.jit(matmul).lower(X, W).compile()
    monkeypatch.delattr(jax.stages.Compiled, "out_info", raising=False)
    with pytest.raises(NotImplementedError) as error:
        read(compiled)

    assert (
        f"a Compiled was given, and that of jax {jax.__version__} does not "
        "keep the shapes of its results, as jax 0.7 does; give the Lowered it "
        "was compiled from, or the function and its arguments"
    ) == str(error.value)


def test_arrays_and_structs_read_the_same() -> None:
    def put(s: jax.ShapeDtypeStruct) -> jax.Array:
        return jax.device_put(np.zeros(s.shape, s.dtype), s.sharding)

    assert read(matmul, X, W) == read(matmul, put(X), put(W))
    assert read(jnp.sin, np.ones(3, np.float32)) == read(
        jnp.sin, jax.ShapeDtypeStruct((3,), jnp.float32)
    )


def test_nothing_runs() -> None:
    ran = []

    def f(a: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: ran.append("ran"))
        return a * 2

    read(f, X)
    jax.effects_barrier()

    assert [] == ran


def test_pytrees_keep_their_structure_and_names() -> None:
    reading = read(step, {"w": W, "b": None}, X, scale=2.0)

    assert [
        ("params['w']", P("model", None)),
        ("x", P("data", "model")),
        ("scale", P()),
    ] == [(leaf.path, leaf.spec) for leaf in reading.inputs]
    assert ["result['loss']", "result['params'][0]"] == [
        leaf.path for leaf in reading.outputs
    ]
    assert (
        {"b": None, "w": P("model", None)},
        P("data", "model"),
    ) == reading.in_specs
    assert {
        "loss": P(),
        "params": [P("model", None), None],
    } == reading.out_specs
    assert W.sharding == reading.out_shardings["params"][0]
    assert jax.tree.structure(
        (({"w": 0, "b": None}, 0), {"scale": 0})
    ) == reading.in_tree


@needs_info_of_compiled
def test_a_compiled_call_names_its_keywords() -> None:
    compiled = jax.jit(step).lower({"w": W}, X, scale=2.0).compile()
    reading = read(compiled)

    assert ["args[0]['w']", "args[1]", "kwargs['scale']"] == [
        leaf.path for leaf in reading.inputs
    ]
    assert reading.call.startswith("step(dict of 1 leaf, float32[8,16]@P(")


@pytest.mark.parametrize(
    "jitted",
    [
        jax.jit(step, static_argnums=2),
        jax.jit(step, static_argnames="power"),
    ],
    ids=["argnums", "argnames"],
)
def test_static_arguments_are_left_out(jitted: Any) -> None:
    reading = read(jitted, {"w": W}, X, 3, scale=1.0)

    assert ["params['w']", "x", "scale"] == [
        leaf.path for leaf in reading.inputs
    ]


def test_a_static_argument_that_comes_first_keeps_the_names_right() -> None:
    jitted = jax.jit(lambda n, a: a * n, static_argnums=0)
    reading = read(jitted, 3, X)

    assert ["a"] == [leaf.path for leaf in reading.inputs]
    assert (P("data", "model"),) == reading.in_specs


def test_a_function_without_names_has_positions() -> None:
    def f(*args: jax.Array, **kwargs: jax.Array) -> jax.Array:
        return args[0] + kwargs["k"]

    assert ["args[0]", "kwargs['k']"] == [
        leaf.path for leaf in read(f, X, k=X).inputs
    ]


def test_an_input_that_is_not_used_is_dropped() -> None:
    reading = read(lambda a, b: a, X, W)
    dropped = reading.inputs[1]

    assert (P("data", "model"), None) == reading.in_specs
    assert (None, None, None) == (
        dropped.sharding,
        dropped.spec,
        dropped.bytes,
    )
    assert 64 == reading.bytes.argument


def test_an_input_that_is_not_used_and_kept_is_not_dropped() -> None:
    jitted = jax.jit(lambda a, b: a, keep_unused=True)

    assert (X.sharding, W.sharding) == read(jitted, X, W).in_shardings


def test_one_device_is_shown_as_what_it_is() -> None:
    reading = read(lambda a: a * 2, np.ones(4, np.float32))

    assert (ONE,) == reading.in_specs
    assert ONE == reading.out_specs
    assert None is reading.outputs[0].spec
    assert 16 == reading.outputs[0].bytes
    assert Bytes(16, 16, 0, 0) == reading.bytes


def test_a_result_that_follows_no_input_is_on_one_device() -> None:
    assert ONE == read(lambda a: jnp.zeros_like(a), X).out_specs


def test_a_scalar_beside_a_sharded_array_is_replicated() -> None:
    reading = read(lambda a, s: a * s, X, 3.0)

    assert (P("data", "model"), P()) == reading.in_specs
    assert ((), "float32", 4) == (
        reading.inputs[1].shape,
        reading.inputs[1].dtype.name,
        reading.inputs[1].bytes,
    )


@pytest.mark.parametrize(
    ("impl", "words"), [("threefry2x32", 2), ("rbg", 4), ("unsafe_rbg", 4)]
)
def test_keys(impl: str, words: int) -> None:
    dtype = jax.random.key(0, impl=impl).dtype
    keys = struct((8, 16), P("data", "model"), dtype)
    reading = read(lambda k: k.T, keys)

    assert P("model", "data") == reading.out_specs
    assert dtype == reading.outputs[0].dtype
    assert 16 * 4 * words == reading.outputs[0].bytes
    assert 16 * 4 * words == reading.bytes.argument
    assert 16 * 4 * words == reading.bytes.output


def test_several_results_cost_a_pointer_each() -> None:
    reading = read(lambda a: (a, a * 2), X)

    assert [64, 64] == [leaf.bytes for leaf in reading.outputs]
    assert 64 + 64 + 2 * 8 == reading.bytes.output


@pytest.mark.parametrize(
    ("f", "args", "specs"),
    [
        (lambda: None, (), None),
        (lambda a: (), (X,), ()),
        (lambda a: {}, ([],), {}),
        (lambda a, b: {"n": None, "a": a}, (X, None), {
            "n": None,
            "a": P("data", "model"),
        }),
    ],
    ids=["nothing", "empty tuple", "empty in and out", "none leaves"],
)
def test_results_without_arrays(f: Any, args: Any, specs: Any) -> None:
    reading = read(f, *args)

    assert specs == reading.out_specs
    assert len(args) == len(reading.in_specs)


def test_an_array_without_elements_comes_out_replicated() -> None:
    reading = read(lambda a: a * 2, struct((0, 4), P(None, "data")))

    assert P() == reading.out_specs
    assert Bytes(0, 0, 0, 0) == reading.bytes
    assert 0 == reading.outputs[0].bytes


def test_the_gradient_of_an_integer_is_compiled_as_bool() -> None:
    def f(x: jax.Array) -> Any:
        n = jnp.arange(3)
        return jax.vjp(lambda a, i: a * i, x, n)[1](jnp.ones(3))

    reading = read(f, np.ones(3, np.float32))

    assert [12, 3] == [leaf.bytes for leaf in reading.outputs]
    assert 12 + 3 + 2 * 8 == reading.bytes.output


def test_a_donated_argument_is_alias() -> None:
    jitted = jax.jit(lambda a: a + 1, donate_argnums=0)

    assert Bytes(64, 64, 0, 64) == read(jitted, X).bytes


def test_a_shard_map() -> None:
    mapped = shard_map(
        lambda a: jax.lax.psum(a, "data"),
        mesh=MESH,
        in_specs=P("data", "model"),
        out_specs=P(None, "model"),
    )

    assert P(None, "model") == read(mapped, X).out_specs
    assert (2, 16) == read(mapped, X).outputs[0].shape


def test_named_and_nameless_callables() -> None:
    class Model:
        def __call__(self, a: jax.Array) -> jax.Array:
            return a * 2

        def trace(self) -> None:
            raise AssertionError("a method of the reader's, not jax's")

    leaf = "(float32[8,16]@P('data', 'model'))"

    assert "<lambda>" + leaf == read(lambda a: a, X).call
    assert P("data", "model") == read(Model(), X).out_specs
    partial = "<unnamed wrapped function>" if before("0.6") else "f"
    assert partial + leaf == read(functools.partial(f, 2), X).call


def f(n: int, a: jax.Array) -> jax.Array:
    return a * n


def test_two_readings_are_equal_if_they_say_the_same() -> None:
    assert read(f, 2.0, X) == read(f, 2.0, X)
    assert hash(read(f, 2.0, X)) == hash(read(f, 2.0, X))
    assert read(f, 2.0, X) != read(f, 2.0, W)


def test_a_reading_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        read(f, 2.0, X).call = "g()"


@pytest.mark.parametrize(
    ("stage", "kind"),
    [
        (jax.jit(matmul).trace(X, W), "Traced"),
        (jax.jit(matmul).lower(X, W), "Lowered"),
        (jax.jit(matmul).lower(X, W).compile(), "Compiled"),
    ],
    ids=["traced", "lowered", "compiled"],
)
def test_a_stage_takes_no_arguments(stage: Any, kind: str) -> None:
    for args, kwargs in (((X,), {}), ((), {"a": X})):
        with pytest.raises(TypeError) as error:
            read(stage, *args, **kwargs)

        assert (
            f"read() was given a {kind} and arguments; a {kind} has its "
            "arguments already: give it alone, or give the function and the "
            "arguments"
        ) == str(error.value)


@pytest.mark.parametrize("given", [3, None, "f"])
def test_what_is_not_callable_is_refused(given: Any) -> None:
    with pytest.raises(TypeError) as error:
        read(given, X)

    assert (
        f"read() was given {given!r}, which is not callable; give a function "
        "and its arguments, or a Traced, Lowered or Compiled of jax"
    ) == str(error.value)


def test_a_backend_that_counts_nothing_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        jax.stages.Compiled, "memory_analysis", lambda self: None
    )
    with pytest.raises(NotImplementedError) as error:
        read(matmul, X, W)

    assert (
        "the compiler of matmul gives no memory_analysis(), which the bytes "
        "of a reading come from; read it for another backend"
    ) == str(error.value)


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (matmul, (X, X)),
        (matmul, (X,)),
        (lambda a: a * 2, (struct((7, 16), P("data")),)),
        (lambda a: float(a), (X,)),
        (lambda a: a, ("text",)),
    ],
    ids=["shapes", "arity", "indivisible", "concrete", "text"],
)
def test_an_error_of_jax_is_untouched(f: Any, args: Any) -> None:
    def of(ask: Any) -> tuple[type, str]:
        with pytest.raises(Exception) as error:
            ask(*args)
        # The line of the call is part of some messages.
        return type(error.value), str(error.value).partition("This ")[0]

    plain = of(lambda *a: jax.jit(f).lower(*a).compile())

    assert plain == of(lambda *a: read(f, *a))


def test_what_a_reading_is_made_of() -> None:
    assert [
        "call",
        "inputs",
        "outputs",
        "bytes",
        "collectives",
        "unread",
        "in_tree",
        "out_tree",
        "question",
    ] == [field.name for field in dataclasses.fields(Reading)]


# --- The same call on another mesh

OTHER = cpu_mesh({"model": 4, "data": 2})


def on_other(s: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    sharding = NamedSharding(OTHER, s.sharding.spec)
    return jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=sharding)


def test_a_reading_on_another_mesh_is_that_of_the_call_there() -> None:
    reading = read(matmul, X, W)
    there = reading.on(OTHER)

    assert there == read(matmul, on_other(X), on_other(W))
    assert P("data", "model") == there.inputs[0].spec
    assert 8 * 16 * 4 // 8 == there.inputs[0].bytes
    assert 16 * 32 * 4 // 4 == there.inputs[1].bytes
    assert reading != there
    assert reading.diff(there)
    assert reading == there.on(MESH)
    assert not reading.diff(there.on(MESH))


@needs_axis_types
def test_axes_of_another_mesh_may_be_explicit() -> None:
    explicit = cpu_mesh({"data": 2, "model": 4}, explicit=True)
    there = read(lambda a: a * 2, X).on(explicit)

    assert explicit == there.outputs[0].sharding.mesh
    assert P("data", "model") == there.out_specs


def test_every_kind_of_argument_is_asked_again() -> None:
    jitted = jax.jit(
        lambda n, a, b, *, k, w, u: (a * n + b.sum() + k * u, w["w"]),
        static_argnums=0,
    )
    given = jax.device_put(np.ones((16, 32), np.float32), W.sharding)
    reading = read(
        jitted, 3, X, np.ones(4), k=2.0, w={"w": given, "n": None}, u=jnp.ones(())
    )
    there = reading.on(OTHER)

    assert ["a", "b", "k", "u", "w['w']"] == [
        leaf.path for leaf in there.inputs
    ]
    assert {OTHER} == {
        leaf.sharding.mesh for leaf in (*there.inputs, *there.outputs)
    }
    assert W.sharding.spec == there.inputs[-1].spec
    assert reading == there.on(MESH)


def test_keyword_arguments_have_their_own_names() -> None:
    w, b = jnp.ones((2, 3)), {"z": jnp.ones(5), "a": jnp.ones(7)}
    reading = read(lambda w, b: (w * 1, b), b=b, w=w)

    assert [("b['a']", (7,)), ("b['z']", (5,)), ("w", (2, 3))] == [
        (leaf.path, leaf.shape) for leaf in reading.inputs
    ]


def test_a_key_is_asked_again() -> None:
    key = jax.random.key(0)
    reading = read(lambda k, a: a * jax.random.normal(k, (16,)), key, X)

    assert P("data", "model") == reading.on(OTHER).out_specs


def test_no_array_is_held() -> None:
    array = jnp.ones((8, 16))
    reading = read(lambda a, b: a + b, array, np.ones((8, 16)))

    assert all(
        isinstance(leaf, jax.ShapeDtypeStruct)
        for leaf in jax.tree.leaves(reading.question.args)
    )


@needs_abstract_mesh
def test_specs_without_a_mesh_follow_the_mesh_in_force() -> None:
    def f(a: jax.Array) -> jax.Array:
        return jax.lax.with_sharding_constraint(a * 2, P("model"))

    with using_mesh(MESH):
        reading = read(f, X)

    assert P("model") == reading.out_specs
    assert P("model") == reading.on(OTHER).out_specs
    assert OTHER == reading.on(OTHER).outputs[0].sharding.mesh


def test_a_mesh_that_the_function_names_is_the_reader_s_to_change() -> None:
    few = cpu_mesh({"data": 2, "model": 2})
    jitted = jax.jit(lambda a: a * 2, out_shardings=X.sharding)

    with pytest.raises(ValueError, match="incompatible devices"):
        read(jitted, X).on(few)


def test_an_axis_that_the_other_mesh_lacks_is_named() -> None:
    with pytest.raises(SpecError) as error:
        read(step, {"w": W}, X).on(cpu_mesh({"data": 8}))

    assert (
        "args[0]['w'] has the spec P('model', None), and the mesh has no axis "
        "'model'; its axes are 'data'"
    ) == str(error.value)


def test_a_sharding_without_a_spec_cannot_be_moved() -> None:
    x = jax.device_put(np.ones(4, np.float32), jax.devices()[1])
    with pytest.raises(SpecError) as error:
        read(lambda *, k: k * 2, k=x).on(MESH)

    assert (
        "kwargs['k'] has a SingleDeviceSharding, which names no axes to keep "
        "on another mesh; read the call with a NamedSharding, or with none"
    ) == str(error.value)


def test_what_does_not_divide_is_jax_s_to_say() -> None:
    with pytest.raises(ValueError, match="axis 1 is partitioned 5 times"):
        read(matmul, X, W).on(cpu_mesh({"data": 1, "model": 5}))


@pytest.mark.parametrize("mesh", [None, {"data": 4}, MESH.abstract_mesh])
def test_on_takes_a_mesh(mesh: Any) -> None:
    with pytest.raises(TypeError) as error:
        read(matmul, X, W).on(mesh)

    assert (
        f"on() was given {mesh!r}, which is no Mesh; give one, as cpu_mesh, "
        "tpu_mesh and gpu_mesh make it"
    ) == str(error.value)


@needs_info_of_compiled
def test_a_stage_cannot_be_asked_again() -> None:
    traced = jax.jit(matmul).trace(X, W)
    for stage in (traced, traced.lower(), traced.lower().compile()):
        with pytest.raises(TypeError) as error:
            read(stage).on(OTHER)

        assert (
            "this reading does not know its function, so that it cannot be "
            "asked again; read the function and its arguments, in place of a "
            "Traced, Lowered or Compiled"
        ) == str(error.value)


@needs_pickled_devices
def test_copies_can_be_asked_and_what_was_pickled_cannot() -> None:
    reading = read(matmul, X, W)
    empty = read(lambda: None)

    for same in (copy.copy(reading), copy.deepcopy(reading)):
        assert reading == same
        assert reading.on(OTHER) == same.on(OTHER)
    assert reading.on(OTHER) == reading.looking_past("jax").on(OTHER)
    assert empty == pickle.loads(pickle.dumps(empty))
    assert None is pickle.loads(pickle.dumps(empty)).question
