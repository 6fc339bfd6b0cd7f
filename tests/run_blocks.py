"""Run blocks of code, each in a process that has run nothing else.

Reads a JSON list of sources, writes a JSON list of what each printed and
which error, if any, ended it. JAX is imported once, and each block runs in a
fork of that process, in which no backend has started; as many at a time as
there are cores.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import sys

import jax  # noqa: F401 - so that no block has to import it again


def run(source: str) -> dict[str, str | None]:
    printed, error = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "<block>", "exec"), {"__name__": "__main__"})
    except Exception as raised:
        error = type(raised).__name__
    return {"printed": printed.getvalue(), "error": error}


if __name__ == "__main__":
    sources = json.load(sys.stdin)
    # A block has a process to itself: none takes a second one.
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        json.dump(pool.map(run, sources, chunksize=1), sys.stdout)
