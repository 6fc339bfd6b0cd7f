"""Bytes per device drawn: a bar for each count of each plan, to one scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shardlessons._draw import Drawing
from shardlessons._svg import MARK, WIDTH, Block, Canvas, picture, wide

if TYPE_CHECKING:
    from shardlessons._reading import Reading

_COUNTS = ("argument", "output", "temp", "alias")
_BAR = 14
_STEP = 20


def draw_bytes(readings: Mapping[str, Reading]) -> Drawing:
    """Draw what one device holds under each of several plans.

    Args:
        readings: what `read` returned for each plan, by its name.

    Returns:
        A drawing of the bytes per device that the compiler counts, as bars
        to one scale. Those of `alias` are a part of the output's.

    Raises:
        ValueError: no reading.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, draw_bytes, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> def plan(spec):
    ...     sharding = NamedSharding(mesh, spec)
    ...     x = jax.ShapeDtypeStruct((512, 8), "float32", sharding=sharding)
    ...     return read(lambda a: a + 1, x)
    >>> draw_bytes({"replicated": plan(P()), "sharded": plan(P("data"))})
    bytes per device
    replicated: argument 16,384, output 16,384, temp 0, alias 0
    sharded: argument 4,096, output 4,096, temp 0, alias 0
    """
    if not readings:
        raise ValueError(
            "draw_bytes() was given no reading; give a reading for each "
            "name: draw_bytes({'sharded': read(f, x)})"
        )
    counts = {
        name: {kind: getattr(reading.bytes, kind) for kind in _COUNTS}
        for name, reading in readings.items()
    }
    most = max(count for kinds in counts.values() for count in kinds.values())
    lines = [
        f"{name}: " + ", ".join(f"{k} {n:,}" for k, n in kinds.items())
        for name, kinds in counts.items()
    ]
    title = "bytes per device"
    blocks = [_plan(name, kinds, most) for name, kinds in counts.items()]
    return Drawing(title, tuple(lines), picture(blocks, title, lines))


def _plan(name: str, counts: Mapping[str, int], most: int) -> Block:
    names = max(wide(kind, MARK) for kind in counts)
    numbers = wide(f"{most:,}", MARK)
    room = WIDTH - names - numbers - 12

    def paint(canvas: Canvas, x: float, y: float) -> None:
        canvas.mark(x, y + MARK / 2, name, "start")
        for i, (kind, count) in enumerate(counts.items()):
            top = y + MARK + 6 + i * _STEP
            middle = top + _BAR / 2
            left = x + names + 6
            length = room * count / most if most else 0
            canvas.mark(x + names, middle, kind, "end")
            if length:
                box = (left, top, length, _BAR)
                canvas.fill([i], box)
                canvas.edge(box)
            canvas.mark(left + length + 5, middle, f"{count:,}", "start")

    return Block(WIDTH, MARK + 6 + len(counts) * _STEP, paint)
