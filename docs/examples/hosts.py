"""Run a function in several processes that share one mesh, as hosts do.

Each process has CPU devices of its own, and they meet on 127.0.0.1::

    hosts = Hosts(processes=2, devices=4)
    hosts.run(f)

runs ``f()`` in every process and prints what each of them prints.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import json
import marshal
import os
import pickle
import queue
import selectors
import subprocess
import sys
import tempfile
import threading
import time
import types
import weakref
from collections.abc import Callable
from typing import IO, Any

from processes import environment, held_port, join, use_loopback


class HostsError(RuntimeError):
    """The processes could not start, or one of them ended or hangs."""


class Hosts:
    """Processes that have joined: all of them end when this is closed.

    They also end with the process that started them, however it ends.

    Args:
        processes: how many.
        devices: CPU devices of each.
        timeout: seconds to wait for all to have joined.

    Raises:
        HostsError: not all of them joined in time. None is left behind.
    """

    def __init__(self, processes: int, devices: int, timeout: float = 60) -> None:
        self._said = tempfile.TemporaryFile("w+")
        self._processes: list[subprocess.Popen[bytes]] = []
        self.close = weakref.finalize(self, _end, self._processes, self._said)
        with held_port() as port:
            for process in range(processes):
                call = [port, processes, process, devices]
                self._processes.append(
                    subprocess.Popen(
                        [sys.executable, __file__, *map(str, call)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=self._said,
                        env=environment(),
                    )
                )
            self._answers("joining", timeout)

    def run(self, function: Callable[[], Any], timeout: float = 60) -> None:
        """Run a function in every process, and print what each prints.

        Names that it declares `global` are there for later functions; what
        the calling process has is not.

        Args:
            function: takes nothing; what it returns is not used.
            timeout: seconds after which to give up and end all processes.

        Raises:
            ValueError: the function has arguments, or uses names of a
                function around it.
            HostsError: a process ended or did not answer in time.
            Exception: the function raised it, in the first of the processes
                in which it did.
        """
        code = function.__code__
        if code.co_argcount or code.co_freevars:
            raise ValueError(
                f"{function.__name__} needs {code.co_varnames[: code.co_argcount]} "
                f"and {code.co_freevars} from outside; give a function without "
                "arguments that makes or imports what it uses"
            )
        if not self.close.alive:
            raise HostsError("the processes have ended; start others")
        for process in self._processes:
            with contextlib.suppress(BrokenPipeError):  # it has ended; see below
                process.stdin.write(marshal.dumps(code).hex().encode() + b"\n")
                process.stdin.flush()
        answers = self._answers(f"running {function.__name__}()", timeout)
        for answer in answers:
            if answer["raised"]:
                raise pickle.loads(bytes.fromhex(answer["raised"]))
        _show([answer["printed"] for answer in answers])

    def _answers(self, what: str, timeout: float) -> list[dict[str, Any]]:
        """A line from each process; all end if one has not answered."""
        deadline = time.monotonic() + timeout
        lines = [b""] * len(self._processes)
        with selectors.DefaultSelector() as selector:
            for number, process in enumerate(self._processes):
                selector.register(process.stdout, selectors.EVENT_READ, number)
            while selector.get_map():
                ready = selector.select(max(0, deadline - time.monotonic()))
                if not ready:
                    silent = [key.data for key in selector.get_map().values()]
                    self._fail(f"did not finish {what} in {timeout} seconds", silent)
                for key, _ in ready:
                    part = os.read(key.fd, 1 << 16)
                    lines[key.data] += part
                    if not part:
                        self._fail(f"ended while {what}", [key.data])
                    if part.endswith(b"\n"):
                        selector.unregister(key.fileobj)
        return [json.loads(line) for line in lines]

    def _fail(self, trouble: str, processes: list[int]) -> None:
        for process in self._processes:
            process.kill()
        self._said.seek(0)
        # Gloo says of each connection that there is one, from several threads.
        said = [line for line in self._said if line.strip() and "[Gloo]" not in line]
        last = "; the last they said:\n" + "".join(said[-20:]) if said else ""
        self.close()
        raise HostsError(f"{_named(processes)} {trouble}{last}")


def _end(processes: list[subprocess.Popen[bytes]], said: IO[str]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.communicate()
    said.close()


def _named(processes: list[int]) -> str:
    return f"process{'es' * (len(processes) > 1)} {' and '.join(map(str, processes))}"


def _show(printed: list[str]) -> None:
    """Print each text below the processes that printed it."""
    for text in dict.fromkeys(printed):
        where = [number for number, other in enumerate(printed) if other == text]
        if text:
            print(f"{_named(where)}:")
            print("".join(f"  {line}\n" for line in text.splitlines()), end="")


# --- in each of the processes -------------------------------------------------


def _serve(port: int, processes: int, process: int, devices: int) -> None:
    """Join, then run what comes in and answer."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # where gloo prints that it is connected
    functions: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=[functions], daemon=True).start()
    use_loopback()
    join(port, processes, process, devices)
    namespace: dict[str, Any] = {
        "__name__": "__main__",
        "__builtins__": builtins,
    }
    print(json.dumps({}), file=answers, flush=True)
    while True:
        code = marshal.loads(bytes.fromhex(functions.get()))
        print(json.dumps(_run(code, namespace)), file=answers, flush=True)


def _listen(functions: queue.Queue[str]) -> None:
    """Take in what is to run; end with the process that sends it."""
    for line in sys.stdin:
        functions.put(line)
    os._exit(0)  # whatever the other thread waits for


def _run(code: types.CodeType, namespace: dict[str, Any]) -> dict[str, str]:
    printed, raised = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(printed):
            types.FunctionType(code, namespace)()
    except Exception as error:
        raised = pickle.dumps(error).hex()
    return {"printed": printed.getvalue(), "raised": raised}


if __name__ == "__main__":
    _serve(*map(int, sys.argv[1:]))
