"""Run blocks of code, each in a process that has run nothing else.

Reads a JSON list of sources, writes a JSON list of what each printed and
which error, if any, ended it. JAX is imported once, and each block runs in a
fork of that process, in which no backend has started.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys

import jax  # noqa: F401 - so that no block has to import it again


def run(source: str) -> dict[str, str | None]:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        printed, error = io.StringIO(), None
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(source, "<block>", "exec"), {"__name__": "__main__"})
        except Exception as raised:
            error = type(raised).__name__
        with open(write_end, "w") as end:
            json.dump({"printed": printed.getvalue(), "error": error}, end)
        os._exit(0)
    os.close(write_end)
    with open(read_end) as end:
        answer = json.load(end)
    os.waitpid(child, 0)
    return answer


if __name__ == "__main__":
    json.dump([run(source) for source in json.load(sys.stdin)], sys.stdout)
