"""A reading kept in a file, one fact a line, and held against it later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path, PurePath

from shardlessons._collectives import Collective
from shardlessons._cost import Cost, cost, traffic
from shardlessons._reading import Reading, require_reading
from shardlessons._report import COUNTS, mesh_lines
from shardlessons._traffic import (
    amount_text,
    arrays_text,
    at_most_text,
    file_text,
    kind_text,
)
from shardlessons._words import leaf_words

_NOTE = """\
# What jax decides for a call, pinned by shardlessons: one fact a line.
# To accept what it decides now, run pytest with --update-pinned.
"""
_HOW = (
    "run pytest with --update-pinned, or call assert_pinned(..., update=True)"
)


def assert_pinned(
    reading: Reading, path: str | PurePath, *, update: bool = False
) -> bool:
    """Assert that a reading says what a file says.

    The file is text with a fact a line, which git shows well: types and
    specs, bytes per device, collectives with the function that they come
    from, and wire bytes by the ring model. Lines of a source move with every
    edit, so they are not in it; nor are absolute paths, versions, or the way
    in which a spec is spelled. Under pytest the fixture ``pinned`` calls
    this, and ``--update-pinned`` is the flag that sets `update`.

    Args:
        reading: what `shardlessons.read` returned.
        path: the file.
        update: write the file, and its folder, where it is missing or says
            something else. Nothing else ever writes it.

    Returns:
        True if the file was written; False if it said the same.

    Raises:
        AssertionError: the file says something else, or does not exist, and
            `update` is not set.
        TypeError: `reading` is no Reading.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import jax
    >>> from jax.sharding import NamedSharding, PartitionSpec as P
    >>> from shardlessons import cpu_mesh, read
    >>> from shardlessons.testing import assert_pinned
    >>> mesh = cpu_mesh({"data": 4, "model": 2})
    >>> sharding = NamedSharding(mesh, P("data", "model"))
    >>> x = jax.ShapeDtypeStruct((8, 16), "float32", sharding=sharding)
    >>> def double(a):
    ...     return a * 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "double.txt")
    ...     wrote = assert_pinned(read(double, x), file, update=True)
    ...     assert_pinned(read(double, x), file)
    ...     print(file.read_text())
    False
    # What jax decides for a call, pinned by shardlessons: one fact a line.
    # To accept what it decides now, run pytest with --update-pinned.
    call: double
    mesh: data=4 (Auto), model=2 (Auto)
    input a: float32[8,16] data,model
    output result: float32[8,16] data,model
    bytes argument: 64
    bytes output: 64
    bytes temp: 0
    bytes alias: 0
    sends: nothing
    <BLANKLINE>
    """
    require_reading(reading, "assert_pinned")
    path = Path(path)
    actual = list(pinned_lines(reading))
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = None
    # Not its notes: they are the package's, and may be worded anew.
    expected = [
        line for line in (text or "").splitlines() if not line.startswith("#")
    ]
    if text is not None and expected == actual:
        return False
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            _NOTE + "\n".join([*actual, ""]), encoding="utf-8", newline="\n"
        )
        return True
    if text is None:
        raise AssertionError(
            f"the reading of\n  {reading.call}\n"
            f"is to be pinned in {path}, which does not exist; to write it, "
            f"{_HOW}"
        )
    changes = unified_diff(
        expected, actual, "expected", "actual", lineterm="", n=1
    )
    raise AssertionError(
        f"the reading of\n  {reading.call}\n"
        f"differs from the one pinned in {path}\n"
        + "\n".join(line for line in changes if not line.startswith("@@"))
        + f"\nto accept what it says now, {_HOW}"
    )


def pinned_lines(reading: Reading) -> Iterator[str]:
    """The facts of a reading, in an order that edits do not change."""
    yield f"call: {reading.call.partition('(')[0]}"
    for line in mesh_lines((*reading.inputs, *reading.outputs)):
        yield line.replace("mesh ", "mesh: ", 1)
    for leaf in reading.inputs:
        yield f"input {leaf.path}: {leaf_words(leaf)}"
    for leaf in reading.outputs:
        yield f"output {leaf.path}: {leaf_words(leaf)}"
    for name in COUNTS:
        yield f"bytes {name}: {getattr(reading.bytes, name):,}"
    facts = Counter(_fact(cost(one)) for one in reading.collectives)
    for fact, count in sorted(facts.items()):
        yield f"sends: {fact}" if count == 1 else f"sends: {count} x {fact}"
    sent = traffic(reading)
    for over, amount in sorted(sent.by_axis.items()):
        yield f"wire bytes over {over}: {amount_text(amount)}"
    # Their text names instructions as one compiler counts them.
    for unread in reading.unread:
        yield f"not read: {unread.why}"
    if not reading.collectives and not reading.unread:
        yield "sends: nothing"


def _fact(known: Cost) -> str:
    one = known.collective
    times = "?" if one.times is None else f"{one.times:,}"
    return (
        f"{kind_text(one)} over {one.over}, {arrays_text(one, None)}, "
        f"{at_most_text(known.at_most)}{known.each:,} wire bytes, "
        f"times {at_most_text(one.conditional)}{times}, {_origin(one)}"
    )


def _origin(collective: Collective) -> str:
    source = collective.source
    if source is None:
        return "from no recorded line"
    file = PurePath(file_text(source.file)).name
    return f"from {source.function or '?'} in {file}"
