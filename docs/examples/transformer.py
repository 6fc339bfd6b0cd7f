"""The training step of a small transformer, and three plans to shard it.

The model is plain JAX and names no mesh. A plan says how each parameter, the
tokens and the activations are cut, so the same model runs under each plan::

    step = jit_step(FSDP, mesh)
    params = jax.device_put(init(jax.random.key(0)), shardings(FSDP, mesh))
    momentum = jax.tree.map(jnp.zeros_like, params)
    params, momentum, loss = step(params, momentum, tokens)

The mesh has the axes "data" and "model", both of them Auto.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.lax import with_sharding_constraint
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

BATCH, LENGTH, VOCAB = 16, 64, 1024
LAYERS, WIDTH, HEADS, HEAD, HIDDEN = 4, 128, 4, 32, 512


def array(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def types(
    *,
    batch: int = BATCH,
    length: int = LENGTH,
    vocab: int = VOCAB,
    layers: int = LAYERS,
    width: int = WIDTH,
    heads: int = HEADS,
    head: int = HEAD,
    hidden: int = HIDDEN,
) -> tuple[Any, jax.ShapeDtypeStruct]:
    """The parameters and the tokens of a model of this size."""
    params = {
        "embed": array(vocab, width),
        "position": array(length, width),
        # One layer after the other, for scan to go through.
        "layers": {
            "attention_norm": array(layers, width),
            "qkv": array(layers, width, 3, heads, head),
            "out": array(layers, heads, head, width),
            "mlp_norm": array(layers, width),
            "up": array(layers, width, hidden),
            "down": array(layers, hidden, width),
        },
        "norm": array(width),
        "unembed": array(width, vocab),
    }
    return params, jax.ShapeDtypeStruct((batch, length + 1), jnp.int32)


PARAMS, TOKENS = types()


def init(key: jax.Array) -> Any:
    """Weights from a normal distribution, and norms that scale by one."""
    leaves, tree = jax.tree.flatten_with_path(PARAMS)
    keys = jax.random.split(key, len(leaves))
    return tree.unflatten(
        jnp.ones(leaf.shape)
        if path[-1].key.endswith("norm")
        else 0.02 * jax.random.normal(one, leaf.shape)
        for one, (path, leaf) in zip(keys, leaves, strict=True)
    )


# --- The model ------------------------------------------------------------


def layer_norm(x: jax.Array, scale: jax.Array) -> jax.Array:
    x = x - x.mean(-1, keepdims=True)
    return scale * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attention(x: jax.Array, layer: Any) -> jax.Array:
    q, k, v = jnp.einsum("btd,dnhk->nbthk", x, layer["qkv"])
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / math.sqrt(q.shape[-1])
    past = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(past, scores, -jnp.inf))
    mixed = jnp.einsum("bhts,bshk->bthk", weights, v)
    return jnp.einsum("bthk,hkd->btd", mixed, layer["out"])


def mlp(x: jax.Array, layer: Any, hidden: NamedSharding) -> jax.Array:
    units = with_sharding_constraint(jax.nn.gelu(x @ layer["up"]), hidden)
    return units @ layer["down"]


def loss_of(
    params: Any,
    tokens: jax.Array,
    *,
    table: NamedSharding,
    activations: NamedSharding,
    hidden: NamedSharding,
) -> jax.Array:
    """The mean cross-entropy of each next token."""

    def block(x: jax.Array, layer: Any) -> tuple[jax.Array, None]:
        x = x + attention(layer_norm(x, layer["attention_norm"]), layer)
        x = x + mlp(layer_norm(x, layer["mlp_norm"]), layer, hidden)
        return with_sharding_constraint(x, activations), None

    embed = with_sharding_constraint(params["embed"], table)
    x = embed[tokens[:, :-1]] + params["position"]
    x = with_sharding_constraint(x, activations)
    x, _ = jax.lax.scan(block, x, params["layers"])
    logits = layer_norm(x, params["norm"]) @ params["unembed"]
    # Not take_along_axis: by a product, each device looks at its own logits.
    target = jax.nn.one_hot(tokens[:, 1:], logits.shape[-1])
    of_target = (logits * target).sum(-1)
    return (jax.nn.logsumexp(logits, -1) - of_target).mean()


# --- The plans ------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How the arrays of a training step are cut, whatever the mesh."""

    params: Any  # a spec for each parameter; momentum is cut like them
    table: P  # the embedding, where rows are looked up in it
    tokens: P = P("data")
    activations: P = P("data")
    hidden: P = P("data")  # the activations between the weights of the MLP


# Each device has all parameters, and a part of the batch.
DATA_PARALLEL = Plan(
    params=jax.tree.map(lambda _: P(), PARAMS),
    table=P(),
)

# Each device has some of the heads, of the hidden units and of the words.
TENSOR_PARALLEL = Plan(
    params={
        "embed": P("model"),
        "position": P(),
        "layers": {
            "attention_norm": P(),
            "qkv": P(None, None, None, "model"),
            "out": P(None, "model"),
            "mlp_norm": P(),
            "up": P(None, None, "model"),
            "down": P(None, "model"),
        },
        "norm": P(),
        "unembed": P(None, "model"),
    },
    table=P("model"),
    hidden=P("data", None, "model"),
)

# Each device has a slice of every large parameter, and gathers the rest of
# one when it needs it.
FSDP = Plan(
    params={
        "embed": P("data"),
        "position": P(),
        "layers": {
            "attention_norm": P(),
            "qkv": P(None, "data"),
            "out": P(None, None, None, "data"),
            "mlp_norm": P(),
            "up": P(None, "data"),
            "down": P(None, None, "data"),
        },
        "norm": P(),
        "unembed": P("data"),
    },
    table=P(),
)


def shardings(plan: Plan, mesh: Mesh) -> Any:
    """The sharding of each parameter."""
    return jax.tree.map(lambda spec: NamedSharding(mesh, spec), plan.params)


def arguments(plan: Plan, mesh: Mesh, **sizes: int) -> tuple[Any, Any, Any]:
    """The types of a step's arguments, to compile it without an array."""
    params, tokens = types(**sizes)

    def struct(leaf: Any, spec: P) -> jax.ShapeDtypeStruct:
        sharding = NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)

    params = jax.tree.map(struct, params, plan.params)
    return params, params, struct(tokens, plan.tokens)


# --- The step -------------------------------------------------------------


def jit_step(plan: Plan, mesh: Mesh) -> Callable[..., Any]:
    """A step of gradient descent with momentum.

    It takes parameters, momentum and tokens, and returns the first two anew
    and the loss. The memory of the first two is donated to it.
    """
    where = {
        name: NamedSharding(mesh, getattr(plan, name))
        for name in ("table", "activations", "hidden")
    }

    def step(params: Any, momentum: Any, tokens: jax.Array) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, tokens, **where)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
        return params, momentum, loss

    params = shardings(plan, mesh)
    out = params, params, NamedSharding(mesh, P())
    return jax.jit(step, out_shardings=out, donate_argnums=(0, 1))
