"""Ask releases of jax what the pages state: ``python -m shardlessons.sphinxext.survey``.

Without arguments, all releases that ``[tool.shardlessons.versions]`` of
``pyproject.toml`` names, and the newest of ``uv.lock``: what each fact was is
written to ``docs/since.json``. With versions, or ``newest``, only those are
asked, and each fact that they change is printed: the exit status is 1 then.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import shorten

from shardlessons.sphinxext._history import History, kinds_of, save
from shardlessons.sphinxext.survey._environments import Failed, Uv, locked, pythons
from shardlessons.sphinxext.survey._merge import Asked, merge
from shardlessons.sphinxext.survey._settings import SettingsError, settings
from shardlessons.sphinxext.survey._steps import Inputs, ask, sources

_WIDTH = 160  # of a value in the list of differences

Ask = Callable[[str, Callable[[str], None]], Asked]


def ask_all(
    releases: Sequence[str], ask_one: Ask
) -> tuple[list[Asked], dict[str, str]]:
    """Ask each release, as many at a time as there are cores.

    Returns:
        What was answered, in the order given, and by release why one was not.
    """
    start = time.monotonic()
    failed: dict[str, str] = {}

    def one(release: str) -> Asked | None:
        def say(text: str) -> None:
            print(f"{time.monotonic() - start:4.0f} s  jax {release}: {text}", flush=True)

        try:
            asked = ask_one(release, say)
        except Failed as error:
            failed[release] = str(error)
            say("FAILED")
            return None
        holding = sum(fact["holds"] for fact in asked.facts)
        say(f"{holding} of {len(asked.facts)} facts hold")
        return asked

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(one, releases))
    return [asked for asked in answers if asked is not None], failed


def differences(asked: Asked) -> list[str]:
    """A line for each fact that does not hold."""
    lines = []
    for fact in asked.facts:
        if not fact["holds"]:
            written, found = (_line(fact[key]) for key in ("written", "found"))
            why = "not answered: " if fact["unanswered"] else ""
            place = f"{fact['path']}:{fact['line']}"
            lines.append(f"{place}: {written} -> {why}{found}")
    return lines


def _line(text: str) -> str:
    """A text on one line, and not all of a long one."""
    return shorten(" / ".join(text.splitlines()), _WIDTH, placeholder=" ...")


def _summary(history: History) -> str:
    changed = [s for by_key in history.changed.values() for s in by_key.values()]
    held = sum(len(by_key) for by_key in history.held.values())
    kinds = [kind for stretches in changed for kind in kinds_of(stretches)]
    each = ", ".join(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds)))
    return f"facts: {held} always held, {len(changed)} did not ({each})"


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="survey", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("versions", nargs="*", metavar="VERSION")
    parser.add_argument("--uv", default="uv", help="the program (default: uv)")
    parser.add_argument("--index", metavar="URL", help="of a nightly release")
    parser.add_argument("--root", type=Path, default=Path(), help="the project's folder")
    options = parser.parse_args(arguments)
    try:
        chosen = settings(options.root.resolve())
    except SettingsError as error:
        print(f"survey: {error}", file=sys.stderr)
        return 2

    uv = Uv(options.uv, options.index)
    try:
        pins, candidates = locked(uv, chosen), pythons(uv, chosen)
    except Failed as error:
        print(f"survey: {error}", file=sys.stderr)
        return 2
    inputs = Inputs(uv, chosen, pins, candidates, sources(chosen))
    releases = options.versions or chosen.releases
    answers, failed = ask_all(releases, lambda name, say: ask(inputs, name, say))

    for release, why in failed.items():
        print(f"jax {release}: {why}", file=sys.stderr)
    changed = 0
    if options.versions:
        for asked in answers:
            lines = differences(asked)
            changed += len(lines)
            print("\n".join([*lines, f"changed by jax {asked.release}: {len(lines)}"]))
    elif not failed:
        history = merge(answers)
        save(history, chosen.file)
        print(f"{_summary(history)}: see {chosen.file.relative_to(chosen.root)}")
    else:
        print(f"{chosen.file} is as it was: run this again", file=sys.stderr)
    return 1 if failed or changed else 0


if __name__ == "__main__":
    sys.exit(main())
