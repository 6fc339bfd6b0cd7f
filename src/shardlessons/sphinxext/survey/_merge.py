"""Many ledgers, one history: equal values in a row are one stretch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from shardlessons.sphinxext._history import (
    History,
    Stretch,
    Value,
    key_of,
    value_of,
)

_NOT_ASKED = Value("unanswered", "its page could not be read so far")
# Where a release is installed is no part of what it says, nor is the way
# through it to an error, nor where an object lies in memory.
_NOISE = (
    (re.compile(r" \((?:unknown location|/\S+)\)"), ""),
    (re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+"), ""),
    (re.compile(r"(?<!\w)(?:/[^/\s:\"']+)+/(?=[\w.-]+\.py\b)"), ""),
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r" at 0x[0-9a-f]+\b"), ""),
)


@dataclass(frozen=True)
class Asked:
    """A release that was asked: its ledger's facts, and the names it lacks."""

    release: str
    without: tuple[str, ...]
    facts: Sequence[Mapping[str, Any]]


def merge(all_asked: Sequence[Asked]) -> History:
    """Make one history; releases come oldest first, and the last says which
    facts there are.

    Raises:
        ValueError: two facts of a page have one key.
    """
    values = [_values(asked) for asked in all_asked]
    releases = [asked.release for asked in all_asked]
    held: dict[str, dict[str, str]] = {}
    changed: dict[str, dict[str, tuple[Stretch, ...]]] = {}
    for page, key in values[-1]:
        told = [by_key.get((page, key), _NOT_ASKED) for by_key in values]
        stretches = []
        for value, group in groupby(zip(told, releases), key=lambda pair: pair[0]):
            names = [release for _, release in group]
            stretches.append(Stretch(names[0], names[-1], value))
        if len(stretches) == 1:
            held.setdefault(page, {})[key] = stretches[0].value.digest
        else:
            changed.setdefault(page, {})[key] = tuple(stretches)
    return History({a.release: a.without for a in all_asked}, held, changed)


def _values(asked: Asked) -> dict[tuple[str, str], Value]:
    values: dict[tuple[str, str], Value] = {}
    for fact in asked.facts:
        place = (
            fact["page"],
            key_of(fact["form"], fact["expression"], fact["occurrence"]),
        )
        if place in values:
            raise ValueError(f"two facts of {place[0]} have the key {place[1]!r}")
        found = fact["found"]
        for pattern, instead in _NOISE:
            found = pattern.sub(instead, found)
        found = found.strip()
        values[place] = value_of(
            fact["written"], found, fact["holds"], fact["raised"], fact["unanswered"]
        )
    return values
