"""What each fact was, release by release: the file that a survey writes.

A fact is known by its page, form and expression, and by which of several
equal ones it is; never by its line. Where a fact holds, its value is what the
page writes, so a fact that every release answers as written needs no value
here, only a digest of it. The others have a value for each stretch of
releases.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from shardlessons.sphinxext import _rules

ABOUT = "Written by `nox -s versions`: what each fact of the pages was, by release."
# The ways in which a fact can change from one release to the next.
KINDS = ("availability", "error class", "value", "wording")
_WIDTH = 72
_BETWEEN = " to "
_ERROR = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception))(?::|$)", re.MULTILINE)
_MISSING = ("AttributeError", "ImportError", "ModuleNotFoundError", "NameError")
_ARGUMENT = re.compile(r"unexpected keyword argument|Unrecognized config option")


@dataclass(frozen=True)
class Value:
    """What a fact was; ``status`` is found, raised or unanswered.

    ``raised`` is an error that the page does not state, ``unanswered`` the
    one above the fact because of which there is no answer.
    """

    status: str
    text: str

    @property
    def digest(self) -> str:
        # White space is folded, as it is where a text is compared.
        whole = f"{self.status} {' '.join(self.text.split())}"
        return hashlib.sha256(whole.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Stretch:
    """Releases, one after the other, in which a fact has one value."""

    first: str
    last: str
    value: Value

    @property
    def releases(self) -> str:
        both = (self.first, self.last)
        return self.first if self.first == self.last else _BETWEEN.join(both)


@dataclass(frozen=True)
class History:
    """The facts of some pages in some releases, which are oldest first.

    ``releases`` has the names that a release lacks and was asked without.
    ``held`` has, by page and key, the digest of a value that never changed;
    ``changed`` the stretches of one that did.
    """

    releases: Mapping[str, tuple[str, ...]]
    held: Mapping[str, Mapping[str, str]]
    changed: Mapping[str, Mapping[str, tuple[Stretch, ...]]]

    def digest(self, page: str, key: str, release: str) -> str | None:
        """The digest of a fact's value in a release; None for an unknown fact."""
        if stretches := self.changed.get(page, {}).get(key):
            return self.at(stretches, release).value.digest
        return self.held.get(page, {}).get(key)

    def at(self, stretches: tuple[Stretch, ...], release: str) -> Stretch:
        """The stretch that a release is in."""
        order = list(self.releases)
        place = order.index(release)
        return next(s for s in stretches if place <= order.index(s.last))

    def span(self, stretch: Stretch) -> int:
        """How many releases a stretch has."""
        order = list(self.releases)
        return order.index(stretch.last) - order.index(stretch.first) + 1

    def keys(self, page: str) -> set[str]:
        return {*self.held.get(page, {}), *self.changed.get(page, {})}

    @property
    def pages(self) -> list[str]:
        return sorted({*self.held, *self.changed})


def key_of(form: str, expression: str, occurrence: int) -> str:
    """A fact's name within its page, short enough for a line."""
    first = expression.split("\n")[0]
    if first != expression or len(first) > _WIDTH:
        digest = hashlib.sha256(expression.encode()).hexdigest()[:8]
        first = f"{first[:_WIDTH].rstrip()} ... {digest}"
    return f"{form} {first}" + (f" #{occurrence}" if occurrence > 1 else "")


def value_of(
    written: str, found: str, holds: bool, raised: bool, unanswered: bool
) -> Value:
    """A fact's value, from its entry in a ledger."""
    if holds:
        return Value("found", written.strip())
    status = "unanswered" if unanswered else "raised" if raised else "found"
    return Value(status, found)


# --- how two values differ ---------------------------------------------------


def kind_of(old: Value, new: Value) -> str:
    """The kind of a change: one of :data:`KINDS`."""
    errors = [_error(value) for value in (old, new)]
    if any(_is_missing(value) for value in (old, new)):
        return "availability"
    if errors[0] != errors[1]:
        return "error class"
    same = _rules.same_text(_one_spelling(old.text), _one_spelling(new.text))
    return "wording" if same or errors[0] else "value"


def kinds_of(stretches: tuple[Stretch, ...]) -> list[str]:
    """The kinds of all changes from one stretch to the next."""
    found = {kind_of(old.value, new.value) for old, new in pairwise(stretches)}
    return [kind for kind in KINDS if kind in found]


def _error(value: Value) -> str | None:
    """The class of error that a value names at the beginning of a line."""
    named = _ERROR.findall(value.text)
    return named[-1] if named else None


def _is_missing(value: Value) -> bool:
    error = _error(value)
    return value.status == "unanswered" or (
        error in _MISSING or error is not None and bool(_ARGUMENT.search(value.text))
    )


def _one_spelling(text: str) -> str:
    return text.replace("PartitionSpec(", "P(")


# --- the file ----------------------------------------------------------------


def load(path: Path) -> History:
    """Read a history from its file."""
    content = json.loads(path.read_text("utf-8"))
    return History(
        releases={
            release: tuple(without) for release, without in content["releases"].items()
        },
        held={p: entry["held"] for p, entry in content["pages"].items() if entry["held"]},
        changed={
            page: {
                key: tuple(
                    Stretch(*(releases.split(_BETWEEN) * 2)[:2], _from_json(value))
                    for releases, value in stretches.items()
                )
                for key, stretches in entry["changed"].items()
            }
            for page, entry in content["pages"].items()
            if entry["changed"]
        },
    )


def save(history: History, path: Path) -> None:
    """Write a history to its file: sorted, and a line for each line of text."""
    pages = {
        page: {
            "held": dict(sorted(history.held.get(page, {}).items())),
            "changed": {
                key: {s.releases: _to_json(s.value) for s in stretches}
                for key, stretches in sorted(history.changed.get(page, {}).items())
            },
        }
        for page in history.pages
    }
    releases = {release: list(names) for release, names in history.releases.items()}
    content = {"about": ABOUT, "releases": releases, "pages": pages}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def _to_json(value: Value) -> Any:
    lines = value.text.split("\n")
    text = lines if len(lines) > 1 else value.text
    return text if value.status == "found" else {value.status: text}


def _from_json(entry: Any) -> Value:
    status = "found"
    if isinstance(entry, dict):
        ((status, entry),) = entry.items()
    return Value(status, entry if isinstance(entry, str) else "\n".join(entry))
