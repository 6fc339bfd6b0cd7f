"""The example's three plans: the same step as on one device, and what it sends."""

from __future__ import annotations

import functools
import math
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import PartitionSpec as P

from shardlessons import Collective, Reading, cpu_mesh, read
from shardlessons.testing import assert_out_specs

# As on the page: the example belongs to no package.
EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))
import transformer as t  # noqa: E402 - found by the line above

PLANS = {
    "data parallel": t.DATA_PARALLEL,
    "tensor parallel": t.TENSOR_PARALLEL,
    "fsdp": t.FSDP,
}
MESH = {"data": 4, "model": 2}

PARAMS = {
    path[-1].key: leaf.shape
    for path, leaf in jax.tree_util.tree_leaves_with_path(t.PARAMS)
}
LARGE = {"embed", "qkv", "out", "up", "down", "unembed"}  # those that are cut
OF_LAYERS = {"qkv", "out", "up", "down"}
ALL_NUMBERS = sum(map(math.prod, PARAMS.values()))
LARGE_NUMBERS = sum(math.prod(PARAMS[name]) for name in LARGE)
# What a device has of the activations between two layers.
ACTIVATIONS = (t.BATCH // MESH["data"], t.LENGTH, t.WIDTH)


@functools.cache
def compiled(name: str) -> jax.stages.Compiled:
    plan, mesh = PLANS[name], cpu_mesh(MESH)
    return t.jit_step(plan, mesh).lower(*t.arguments(plan, mesh)).compile()


@functools.cache
def reading(name: str) -> Reading:
    return read(compiled(name))


def trained(plan: t.Plan, mesh: jax.sharding.Mesh, step: Any) -> Any:
    """Parameters, momentum and loss after two steps from the same start."""
    tokens = jax.random.randint(jax.random.key(1), t.TOKENS.shape, 0, t.VOCAB)
    tokens = jax.device_put(tokens, t.arguments(plan, mesh)[2].sharding)
    params = jax.device_put(t.init(jax.random.key(0)), t.shardings(plan, mesh))
    momentum = jax.tree.map(jnp.zeros_like, params)
    for _ in range(2):
        params, momentum, loss = step(params, momentum, tokens)
    return params, momentum, loss


@pytest.fixture(scope="module")
def on_one_device() -> Any:
    mesh = cpu_mesh({"data": 1, "model": 1})
    return trained(t.DATA_PARALLEL, mesh, t.jit_step(t.DATA_PARALLEL, mesh))


def sent(name: str) -> set[tuple[str, str]]:
    return {(one.kind, one.over) for one in reading(name).collectives}


def over(found: Reading, kind: str, axis: str) -> list[Collective]:
    """The collectives of a kind that run over the whole of an axis."""
    return [
        one for one in found.collectives if (one.kind, one.over) == (kind, axis)
    ]


def numbers(collectives: list[Collective]) -> int:
    """How many numbers a device puts in, over all runs."""
    return sum(
        (one.times or 0) * math.prod(array.shape)
        for one in collectives
        for array in one.operands
    )


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_changes_no_number(name: str, on_one_device: Any) -> None:
    found = trained(PLANS[name], cpu_mesh(MESH), compiled(name))

    # Sums are added up in another order, so that the last digits differ.
    jax.tree.map_with_path(
        lambda path, one, other: np.testing.assert_allclose(
            one, other, rtol=1e-4, atol=1e-6, err_msg=jax.tree_util.keystr(path)
        ),
        found,
        on_one_device,
    )


def test_two_steps_change_every_parameter(on_one_device: Any) -> None:
    params, _, loss = on_one_device
    moved = jax.tree.map(
        lambda one, start: float(abs(one - start).max()),
        params,
        t.init(jax.random.key(0)),
    )

    # So that the test above compares more than what the steps began with.
    assert all(most > 1e-5 for most in jax.tree.leaves(moved)), moved
    assert loss < math.log(t.VOCAB)


@pytest.mark.parametrize("name", PLANS)
def test_parameters_stay_as_the_plan_cuts_them(name: str) -> None:
    specs = PLANS[name].params

    assert_out_specs(reading(name), (specs, specs, P()))


@pytest.mark.parametrize("name", PLANS)
def test_every_collective_is_read_and_has_a_line_of_the_example(name: str) -> None:
    files = {one.source and one.source.file for one in reading(name).collectives}

    assert {str(EXAMPLES / "transformer.py")} == files
    assert () == reading(name).unread


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("data parallel", ALL_NUMBERS),
        ("tensor parallel", ALL_NUMBERS - LARGE_NUMBERS // 2),
        ("fsdp", ALL_NUMBERS - LARGE_NUMBERS * 3 // 4),
    ],
)
def test_a_device_holds_what_the_plan_gives_it(name: str, held: int) -> None:
    tokens = t.BATCH // MESH["data"] * (t.LENGTH + 1)

    # Twice: each parameter has a momentum. Four bytes a number.
    assert 4 * (2 * held + tokens) == reading(name).bytes.argument


def test_data_parallel_adds_up_gradients() -> None:
    """The loss is a mean over the batch, and each device has a part of that.

    So it has a part of every gradient, and of the loss, and the parts are
    added over `data`. Nothing else crosses a device, for nothing else mixes
    one sequence with another.
    """
    assert {("all-reduce", "data")} == sent("data parallel")
    assert ALL_NUMBERS + 1 == numbers(
        over(reading("data parallel"), "all-reduce", "data")
    )


def test_tensor_parallel_adds_up_activations_in_each_layer() -> None:
    """Four products of a layer contract what `model` cuts.

    Forward, the second weights of attention and MLP contract the heads and
    the hidden units. Backward, the gradient of what went into the first
    weights of the two does. Each leaves partial sums of all activations.
    """
    in_layers = [
        one
        for one in over(reading("tensor parallel"), "all-reduce", "model")
        if one.times == t.LAYERS
    ]

    assert [[ACTIVATIONS]] * 4 == [
        [array.shape for array in one.operands] for one in in_layers
    ]
    assert {"attention": 2, "mlp": 2} == Counter(
        one.source.function for one in in_layers if one.source
    )


def test_tensor_parallel_adds_up_activations_at_both_ends() -> None:
    """Outside the layers `model` cuts the words.

    A device looks up the words that it has, and gives zeros for others: the
    rows are a sum. So is the gradient of what the logits are made of. For
    each token the loss has a sum over words of its exponentials, one of its
    target's logit, and, so that no exponential is too large, a maximum.
    """
    found = [
        one
        for one in over(reading("tensor parallel"), "all-reduce", "model")
        if one.times == 1
    ]

    assert {ACTIVATIONS: 2, ACTIVATIONS[:2]: 3} == Counter(
        array.shape for one in found for array in one.operands
    )


def test_tensor_parallel_adds_up_its_half_of_the_gradients() -> None:
    """The batch is cut as in data parallel, and half of a weight is here."""
    assert {("all-reduce", "data"), ("all-reduce", "model")} == sent(
        "tensor parallel"
    )
    assert ALL_NUMBERS - LARGE_NUMBERS // 2 + 1 == numbers(
        over(reading("tensor parallel"), "all-reduce", "data")
    )


def test_fsdp_gathers_what_it_multiplies_by() -> None:
    """A layer needs its weights whole, forward and again backward.

    The two large arrays outside of the layers are gathered once: the gradient
    of a look-up does not need the table, and the last weight's own backward
    pass comes right after its forward pass.
    """
    gathered: Counter[int] = Counter()
    for one in over(reading("fsdp"), "all-gather", "data"):
        (result,) = one.results
        # The compiler may swap dimensions, so only how many numbers counts.
        gathered[math.prod(result.shape)] += one.times or 0
    wanted: Counter[int] = Counter()
    for name in LARGE:
        layers = t.LAYERS if name in OF_LAYERS else 1
        times = 2 * layers if name in OF_LAYERS else 1
        wanted[math.prod(PARAMS[name]) // layers] += times

    assert wanted == gathered


def test_fsdp_adds_up_whole_gradients_on_cpu() -> None:
    """A device keeps its quarter of a large gradient: a reduce-scatter would do.

    XLA's compiler for CPU makes an all-reduce of all of it, and cuts that.
    """
    assert {("all-reduce", "data"), ("all-gather", "data")} == sent("fsdp")
    assert ALL_NUMBERS + 1 == numbers(over(reading("fsdp"), "all-reduce", "data"))


def test_a_misplaced_constraint_is_found_at_its_line() -> None:
    mesh = cpu_mesh(MESH)
    wrong = replace(t.TENSOR_PARALLEL, hidden=P("data"))
    found = read(t.jit_step(wrong, mesh), *t.arguments(wrong, mesh))
    (gather,) = (
        one
        for one in over(found, "all-gather", "model")
        if one.results[0].shape == (*ACTIVATIONS[:2], t.HIDDEN)
    )
    lines = (EXAMPLES / "transformer.py").read_text("utf-8").splitlines()

    assert gather.source is not None
    assert t.LAYERS == gather.times
    assert "with_sharding_constraint" in lines[gather.source.line - 1]
