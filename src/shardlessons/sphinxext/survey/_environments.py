"""One release of jax, with everything else as ``uv.lock`` says, installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from packaging.version import Version

from shardlessons.sphinxext.survey._settings import NEWEST, Settings

# What a page states must hang on no setting of the machine that builds it.
_OURS = ("JAX_", "XLA_", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")


class Failed(Exception):
    """A step of one release failed; its log says why."""


@dataclass(frozen=True)
class Uv:
    """The program, and how it is to find packages."""

    program: str
    index: str | None = None

    def pip(self, *arguments: str) -> list[str]:
        return [self.program, "pip", *arguments]


def variables(environment: Path | None = None) -> dict[str, str]:
    """The environment variables of a step."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(_OURS)}
    kept |= {"JAX_PLATFORMS": "cpu", "UV_PYTHON_DOWNLOADS": "never"}
    kept["PYTHON_COLORS"] = "0"  # a page may state what another process says
    if environment is not None:
        kept["VIRTUAL_ENV"] = str(environment)
        kept["PATH"] = f"{environment / 'bin'}{os.pathsep}{kept['PATH']}"
    return kept


def run(
    command: list[str], log: Path, root: Path, environment: Path | None = None
) -> None:
    """Run a command, what it says going to a log.

    Raises:
        Failed: it exits with another code than 0.
    """
    with log.open("a", encoding="utf-8") as said:
        print("$", *command, file=said, flush=True)
        code = subprocess.run(
            command,
            cwd=root,
            env=variables(environment),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code:
        last = log.read_text("utf-8").rstrip().splitlines()[-3:]
        said_last = "\n  ".join(last)
        short = " ".join(command[:3])
        raise Failed(f"{short} ... exits with {code}: see {log}\n  {said_last}")


def answer_of(command: list[str], env: dict[str, str], root: Path | None = None) -> str:
    """What a command prints.

    Raises:
        Failed: it exits with another code than 0.
    """
    done = subprocess.run(
        command, cwd=root, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        short = " ".join(command[:3])
        said = done.stderr.rstrip()
        raise Failed(f"{short} ... exits with {done.returncode}:\n  {said}")
    return done.stdout


def pythons(uv: Uv, settings: Settings) -> dict[str, str]:
    """The Pythons on this machine that the project runs on, newest first.

    They are looked for on PATH, where pyenv keeps them, and where this one is.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    folders = [*sorted(pyenv.glob("*/bin")), Path(sys.base_prefix, "bin")]
    env = variables()
    env["PATH"] = os.pathsep.join([*map(str, folders), env["PATH"]])
    listing = [uv.program, "python", "list", "--only-installed"]
    answer = answer_of([*listing, "--output-format", "json"], env, settings.root)
    # The first of each version stays: the later ones may be pyenv's shims,
    # which run only where pyenv says so.
    found = {
        entry["version"]: entry["path"]
        for entry in reversed(json.loads(answer))
        if entry["implementation"] == "cpython"
        and entry["variant"] == "default"
        and entry["version"] in settings.pythons
    }
    return {v: found[v] for v in sorted(found, key=Version, reverse=True)}


def locked(uv: Uv, settings: Settings) -> str:
    """What ``uv.lock`` says of all that is not jax, hashes included."""
    export = [uv.program, "export", "--frozen", "--no-header", "--no-annotate"]
    for name in ("jax", "jaxlib"):
        export += ["--no-emit-package", name]
    for group in settings.groups:
        export += ["--group", group]
    return answer_of([*export, "--no-emit-project"], variables(), settings.root)


def install(
    uv: Uv,
    settings: Settings,
    release: str,
    pins: str,
    candidates: dict[str, str],
    folder: Path,
    log: Path,
) -> None:
    """Make an environment on the newest Python that has wheels for a release.

    Raises:
        Failed: no Python has.
    """
    # After a patch release of jax alone, the newest jaxlib is older than its jax.
    jax = [f"jax=={release}", f"jaxlib<={release}"]
    if release == NEWEST:
        jax = ["jax", "--refresh-package", "jax", "--refresh-package", "jaxlib"]
    if uv.index:
        jax += ["--index", uv.index]
    requirements = log.with_name("requirements.txt")
    requirements.write_text(pins, "utf-8")
    failures = []
    for python in candidates.values():
        shutil.rmtree(folder, ignore_errors=True)
        into = ["--python", str(folder)]
        wheels = [*into, "--only-binary", ":all:", "-r", str(requirements)]
        itself = [*into, "--no-deps", "--editable", str(settings.root)]
        try:
            run([uv.program, "venv", "--python", python, str(folder)], log, settings.root)
            run(uv.pip("install", *wheels, *jax), log, settings.root)
            run(uv.pip("install", *itself), log, settings.root)
            run(["python", "-c", "import jax"], log, settings.root, folder)
        except Failed as error:
            failures.append(error)
        else:
            return
    shutil.rmtree(folder, ignore_errors=True)
    if not failures:
        raise Failed(f"no Python was found that the project runs on: {settings.pythons}")
    raise failures[0]
