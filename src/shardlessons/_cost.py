"""A model of what collectives cost: bytes on the wire, seconds, by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardlessons._collectives import Collective, Unread
    from shardlessons._reading import Reading


class BandwidthError(ValueError):
    """Bandwidths that do not fit the traffic that they were given for."""


@dataclass(frozen=True)
class Link:
    """One link between two devices, by its vendor's figures.

    Attributes:
        name: the device and its link.
        one_way: bytes per second over one link in one direction. On an axis
            of a torus that is closed to a ring a device has two links.
        links: how many links a device has.
        published: what the vendor says, of which `one_way` is a part.
        sources: where that is said.

    >>> from shardlessons import TPU_V5E_ICI
    >>> TPU_V5E_ICI.one_way, TPU_V5E_ICI.links, TPU_V5E_ICI.per_device
    (50000000000, 4, 200000000000)
    """

    name: str
    one_way: int
    links: int
    published: str
    sources: tuple[str, ...]

    @property
    def per_device(self) -> int:
        """Bytes per second that a device sends over all its links at once."""
        return self.one_way * self.links


# Vendors give both directions of all links of a device together: one link in
# one direction is half of that, by the number of links.
TPU_V5E_ICI = Link(
    name="TPU v5e ICI",
    one_way=50_000_000_000,
    links=4,
    published="400 GBps bidirectional ICI bandwidth per chip; 4 ICI ports",
    sources=("https://docs.cloud.google.com/tpu/docs/v5e",),
)
TPU_V5P_ICI = Link(
    name="TPU v5p ICI",
    one_way=100_000_000_000,
    links=6,
    published="1200 GBps bidirectional ICI bandwidth per chip; 6 neighbors",
    sources=(
        "https://docs.cloud.google.com/tpu/docs/v5p",
        "https://jax-ml.github.io/scaling-book/tpus",
    ),
)
TPU_V6E_ICI = Link(
    name="TPU v6e ICI",
    one_way=100_000_000_000,
    links=4,
    published="800 GBps bidirectional ICI bandwidth per chip; 4 ICI ports",
    sources=("https://docs.cloud.google.com/tpu/docs/v6e",),
)
H100_NVLINK = Link(
    name="H100 SXM NVLink",
    one_way=25_000_000_000,
    links=18,
    published="900 GB/s bidirectional per GPU; 18 links per GPU",
    sources=(
        "https://www.nvidia.com/en-sg/technologies/hopper-architecture/",
        "https://docs.nvidia.com/health-validation/reference/checks/nvlink",
    ),
)


@dataclass(frozen=True)
class Cost:
    """What one collective sends, by the model of `cost`; nothing measured.

    Attributes:
        collective: the collective.
        each: bytes that a device sends, the one that sends most, each time
            that the collective runs.
        at_most: `each` or `bytes` is an upper bound: the collective stands
            in a branch, or sizes its messages only when it runs.
    """

    collective: Collective
    each: int
    at_most: bool

    @property
    def bytes(self) -> int | None:
        """Bytes that a device sends when the program runs once.

        None where a loop does not say how often it runs.
        """
        if self.each == 0:
            return 0
        times = self.collective.times
        return None if times is None else self.each * times

    def __str__(self) -> str:
        one, times = self.collective, self.collective.times
        each = f"{_amount(self.each, self.at_most)} B per device"
        if times != 1:
            each += " x unknown" if times is None else f" x {times}"
        return f"{one.kind} over {one.over}: {each} (model)"


def cost(collective: Collective) -> Cost:
    """What one collective sends, by the ring model.

    A model, not a measurement: the n devices of a group pass pieces round a
    ring, and nothing but the array's own bytes counts. Bytes per device, each
    time:

    - all-gather: (n-1)/n of the result, which is the full array.
    - reduce-scatter: (n-1)/n of the operand, which is the full array.
    - all-reduce: both of these, 2 (n-1)/n of the operand.
    - all-to-all: (n-1)/n of the operand, sent directly.
    - collective-permute: the operand, once for each other device that it
      goes to; nothing where every device sends to itself.
    - collective-broadcast: the operand, passed on from device to device.
    - ragged-all-to-all: at most the first operand, if no element goes to
      two devices. How much leaves a device is known only when it runs.

    Devices may differ: the last of a permute may send nothing, and groups
    may differ in size. The device that sends most is the one that counts. A
    fraction of a byte is rounded up.

    Args:
        collective: one of ``read(f, ...).collectives``.

    Returns:
        Its cost.

    Raises:
        ValueError: it is of no kind named above.

    >>> import jax
    >>> from jax import lax
    >>> from jax.sharding import PartitionSpec as P
    >>> from shardlessons import cost, cpu_mesh, read
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> f = jax.shard_map(
    ...     lambda a: lax.psum(a, "data"),
    ...     mesh=mesh, in_specs=P("data"), out_specs=P(),
    ... )
    >>> x = jax.ShapeDtypeStruct((16, 8), "float32")
    >>> (reduce,) = read(f, x).collectives
    >>> reduce.operand_bytes
    128
    >>> print(cost(reduce))
    all-reduce over data: 192 B per device (model)
    """
    kind, size = collective.kind, collective.group_size
    if kind == "all-gather":
        each = _part(collective.result_bytes, size)
    elif kind in ("reduce-scatter", "all-to-all"):
        each = _part(collective.operand_bytes, size)
    elif kind == "all-reduce":
        each = _part(2 * collective.operand_bytes, size)
    elif kind == "collective-permute":
        each = collective.operand_bytes * _receivers(collective.groups)
    elif kind == "collective-broadcast":
        each = collective.operand_bytes if size > 1 else 0
    elif kind == "ragged-all-to-all":
        # Its other operands are the output's buffer, offsets and sizes.
        each = collective.operands[0].bytes if size > 1 else 0
    else:
        raise ValueError(
            f"a collective of the kind {kind!r}, which the model has no rule "
            "for; it knows all-gather, all-reduce, reduce-scatter, "
            "all-to-all, ragged-all-to-all, collective-permute and "
            "collective-broadcast"
        )
    bound = collective.conditional or kind == "ragged-all-to-all"
    return Cost(collective, each, at_most=bound)


@dataclass(frozen=True)
class Traffic:
    """What a program's collectives send, by a model; nothing measured.

    Made by `traffic`. Printing it shows the sums.

    Attributes:
        costs: the cost of each collective, in the reading's order.
        unread: what may be a collective too, but cannot be read, and is in
            none of the sums.
    """

    costs: tuple[Cost, ...]
    unread: tuple[Unread, ...]

    @property
    def by_axis(self) -> dict[str, int | None]:
        """Bytes that a device sends, by `Collective.over`.

        A mesh axis stands by its name. A product of axes (``data x model``),
        a part of one (``data (2 of 4)``) and groups that fit no axis
        (``groups of 4``) stand for themselves: how they share the links of
        the axes is not known. Where devices differ, one device need not send
        the most of every collective, and the sum may be more than any sends.
        None where a loop does not say how often it runs.
        """
        sums: dict[str, int | None] = {}
        for one in self.costs:
            over = one.collective.over
            sums[over] = _sum(sums.get(over, 0), one.bytes)
        return sums

    @property
    def bytes(self) -> int | None:
        """Bytes that a device sends, over all axes; None as in `by_axis`."""
        total: int | None = 0
        for one in self.costs:
            total = _sum(total, one.bytes)
        return total

    @property
    def at_most(self) -> bool:
        """Some cost is an upper bound, and so are the sums it is in."""
        return any(one.at_most for one in self.costs)

    def seconds(self, bandwidths: Mapping[str, float]) -> float | None:
        """How long the devices send, by the model; nothing measured.

        One collective after the other, at full bandwidth: no latency, no
        computation beside it, no other traffic on the links.

        Args:
            bandwidths: bytes per second that one device sends, by the keys
                of `by_axis`; those over which nothing is sent may be left
                out.

        Returns:
            Seconds. None where `bytes` is None.

        Raises:
            BandwidthError: one is missing, or not above zero.

        >>> import jax
        >>> from jax.sharding import NamedSharding, PartitionSpec as P
        >>> from shardlessons import TPU_V5E_ICI, cpu_mesh, read, traffic
        >>> mesh = cpu_mesh({"data": 4, "model": 2})
        >>> sharding = NamedSharding(mesh, P("data", "model"))
        >>> x = jax.ShapeDtypeStruct((4096, 8), "float32", sharding=sharding)
        >>> sent = traffic(read(lambda a: a.sum(1), x))
        >>> sent.by_axis
        {'model': 4096}
        >>> sent.seconds({"model": TPU_V5E_ICI.one_way})
        8.192e-08
        """
        sums = self.by_axis.items()
        needed = {over: sent for over, sent in sums if sent != 0}
        for over in needed:
            if over not in bandwidths:
                given = ", ".join(map(repr, bandwidths)) or "none"
                raise BandwidthError(
                    f"no bandwidth was given for {over!r}, over which the "
                    f"program sends; given: {given}; add {over!r}, in bytes "
                    "per second that one device sends"
                )
            if not bandwidths[over] > 0:
                raise BandwidthError(
                    f"the bandwidth of {over!r} was given as "
                    f"{bandwidths[over]!r}; it is a number above zero, in "
                    "bytes per second"
                )
        if self.bytes is None:
            return None
        times = (sent / bandwidths[over] for over, sent in needed.items())
        return float(sum(times))

    def __str__(self) -> str:
        bounded = {one.collective.over for one in self.costs if one.at_most}
        sums = [
            (over, _amount(sent, over in bounded))
            for over, sent in self.by_axis.items()
        ]
        if len(sums) != 1:
            sums.append(("in all", _amount(self.bytes, self.at_most)))
        width = max(len(over) for over, _ in sums)
        lines = ["bytes each device sends (ring model, not measured)"]
        lines += [f"  {over.ljust(width)}  {amount}" for over, amount in sums]
        if self.unread:
            lines.append(f"  and what cannot be read: {len(self.unread)}")
        return "\n".join(lines)


def traffic(reading: Reading) -> Traffic:
    """What the collectives of a program send, by the model of `cost`.

    Of the program as compiled: a compiler may have changed an array's dtype.

    Args:
        reading: what `read` returned.

    Returns:
        The cost of each collective, and their sums per mesh axis.

    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read, traffic
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> print(traffic(read(lambda a: a.sum(1), x)))
    bytes each device sends (ring model, not measured)
      model  8
    """
    return Traffic(tuple(map(cost, reading.collectives)), reading.unread)


def _part(full: int, size: int) -> int:
    """(size - 1) / size of `full`, rounded up to whole bytes."""
    return -(-full * (size - 1) // size) if size else 0


def _receivers(pairs: tuple[tuple[int, ...], ...]) -> int:
    """To how many others a device sends, the one that sends to most."""
    senders = Counter(sender for sender, to in pairs if sender != to)
    return max(senders.values(), default=0)


def _sum(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _amount(sent: int | None, at_most: bool) -> str:
    if sent is None:
        return "unknown: a loop does not say how often it runs"
    return f"at most {sent}" if at_most else str(sent)
