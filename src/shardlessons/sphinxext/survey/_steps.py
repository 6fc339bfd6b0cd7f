"""The steps of one release, each skipped where nothing it needs has changed."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from shardlessons.sphinxext.survey._environments import (
    Failed,
    Uv,
    answer_of,
    install,
    run,
    variables,
)
from shardlessons.sphinxext.survey._merge import Asked
from shardlessons.sphinxext.survey._settings import NEWEST, Settings


@dataclass(frozen=True)
class Inputs:
    """What all releases have in common."""

    uv: Uv
    settings: Settings
    pins: str
    pythons: dict[str, str]
    sources: str

    @property
    def key(self) -> str:
        return digest(self.pins, *self.pythons, self.uv.index or "")


def digest(*texts: str) -> str:
    """One name for some texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def sources(settings: Settings) -> str:
    """One name for the pages and the package, without what a survey writes."""
    whole = hashlib.sha256()
    for top in (settings.docs, settings.root / "src"):
        for file in sorted(top.rglob("*")):
            if file.is_file() and file != settings.file and file.suffix != ".pyc":
                whole.update(file.relative_to(settings.root).as_posix().encode())
                whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()


def ask(inputs: Inputs, release: str, say: Callable[[str], None]) -> Asked:
    """Install a release, build the pages and run the command: what it answers.

    Raises:
        Failed: a step failed; those that are done are not done again.
    """
    settings = inputs.settings
    home = settings.build / release
    home.mkdir(parents=True, exist_ok=True)
    environment, out, without = home / "env", home / "out", home / "without.txt"
    log = home / "log.txt"
    log.unlink(missing_ok=True)

    def installed() -> None:
        args = (inputs.uv, settings, release, inputs.pins, inputs.pythons)
        install(*args, environment, log)
        lacking = _answer(environment, "-m", "shardlessons.sphinxext._older")
        without.write_text(lacking, "utf-8")

    def built() -> None:
        shutil.rmtree(out, ignore_errors=True)
        flags = ["-q", "-N", "-E", "-b", "dummy", "-D", "shardlessons_report=1"]
        places = ["-d", str(home / "doctrees"), str(settings.docs), str(out)]
        sphinx = ["python", "-m", "sphinx", *flags, *places]
        run(sphinx, log, settings.root, environment)

    def tested() -> None:
        run(list(settings.command), log, settings.root, environment)

    key = digest(inputs.key, release)
    # The newest of today may be another tomorrow.
    step = _Step(home, say, again=release == NEWEST)
    step("installed", key, installed)
    key = digest(key, inputs.sources)
    step("pages built", key, built)
    if settings.command:
        step("command run", digest(key, *settings.command), tested)
    ledger = json.loads((out / "facts.json").read_text("utf-8"))
    answered = _version(environment) if release == NEWEST else release
    if ledger["asked"] not in ([], [f"jax {answered} on cpu"]):
        raise Failed(f"the pages were answered by {ledger['asked']}, not jax {answered}")
    names = tuple(without.read_text("utf-8").split())
    return Asked(answered, names, ledger["facts"])


@dataclass
class _Step:
    """Run what is not done; a note holds the key of what is."""

    home: Path
    say: Callable[[str], None]
    again: bool

    def __call__(self, name: str, key: str, do: Callable[[], None]) -> None:
        note = self.home / f"{name.replace(' ', '-')}.key"
        if not self.again and note.exists() and note.read_text("utf-8") == key:
            self.say(f"{name} before")
            return
        note.unlink(missing_ok=True)
        start = time.monotonic()
        do()
        note.write_text(key, "utf-8")
        self.say(f"{name} in {time.monotonic() - start:.0f} s")


def _answer(environment: Path, *python: str) -> str:
    return answer_of(["python", *python], variables(environment)).strip()


def _version(environment: Path) -> str:
    code = "import importlib.metadata as m; print(m.version('jax'))"
    return _answer(environment, "-c", code)
