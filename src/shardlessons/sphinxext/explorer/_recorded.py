"""The answers of a sweep, made by this build or, for the same question, before."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).parents[2]
_KEPT = 4  # sweeps in a cache: of several releases of jax, say
_KEY = re.compile("[0-9a-f]{16}")
_MODULE = "shardlessons.sphinxext.explorer.sweep"
_SWEEP = ("operations.py", "_code.py", "sweep.py")
# What answers, besides the package itself.
ANSWERING = ("jax", "jaxlib", "libtpu", "jax-cuda13-plugin", "jax-cuda13-pjrt")


class SweepFailed(RuntimeError):
    """The compilers could not be asked; the text is what the sweep said."""


def versions() -> dict[str, str]:
    """The release of each distribution that answers, of those installed."""
    found = {}
    for name in ANSWERING:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def key() -> str:
    """A name for all that an answer hangs on."""
    whole = hashlib.sha256(f"{versions()} {platform.platform()}".encode())
    own = [Path(__file__).parent / name for name in _SWEEP]
    sources = [*_PACKAGE.glob("*.py"), *own]
    for file in sorted(sources):
        whole.update(f"{file.name} {file.stat().st_size}".encode())
        whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def recorded(build: Path, cache: Path | None) -> Path:
    """The folder of all answers.

    Args:
        build: where this build keeps what is not published.
        cache: where sweeps are kept, and looked for; None asks afresh. CI and
            Read the Docs ask afresh too, and keep what they find.

    Raises:
        SweepFailed: the compilers could not be asked.
    """
    folder = cache / key() if cache else build / "explorer"
    if cache is None or "CI" in os.environ or "READTHEDOCS" in os.environ:
        shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        folder.touch()  # used last
        return folder
    _sweep(folder)
    if cache:
        sweeps = [one for one in cache.iterdir() if _KEY.fullmatch(one.name)]
        sweeps.sort(key=lambda one: one.stat().st_mtime)
        for old in sweeps[:-_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
    return folder


def index_of(folder: Path) -> dict[str, Any]:
    """What the page is made of."""
    return json.loads((folder / "index.json").read_text("utf-8"))


def _sweep(folder: Path) -> None:
    """Ask in a process of its own: jax, once started, is not to be forked."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
    env |= {
        "JAX_PLATFORMS": "cpu",
        # Releases before 0.10 look for NVIDIA's libraries all the same.
        "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        answers = Path(scratch, "answers")
        answers.mkdir()
        done = subprocess.run(
            [sys.executable, "-m", _MODULE, answers],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SweepFailed(f"the sweep of the explorer failed:\n{done.stderr}")
        # Whole or not at all, whatever another build does at the same time.
        try:
            answers.rename(folder)
        except OSError:
            if not folder.exists():
                raise
