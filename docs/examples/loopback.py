"""What eight processes send each other, beside what the model says.

``python loopback.py`` prints the table; `measure` returns it. The processes
have one CPU device each and run one collective after the other with gloo,
over TCP on 127.0.0.1. Linux counts the bytes of each connection, and those
of no other program: this reads its counters before and after.
"""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from processes import environment, held_port, join, use_loopback

PROCESSES = 8
SHARD = 1 << 20  # bytes that each device puts in
REPEATS = 3

# Of struct tcp_info in linux/tcp.h: tcpi_bytes_acked, a 64 bit integer. All
# that is sent and has arrived, without headers and without what TCP repeats.
_BYTES_ACKED = 120
_PIPE = 1 << 16  # bytes that a pipe holds before anyone reads


class LoopbackError(RuntimeError):
    """The measurement could not be made."""


@dataclass(frozen=True)
class Measured:
    """One collective: bytes by the model, and bytes counted by the kernel.

    Attributes:
        call: the function of ``jax.lax`` that asks for it.
        kind: its kind, as the compiled program has it.
        over: the mesh axis and its size.
        model: bytes that the device sends that sends most, by the model.
        sent: bytes that each process sent each time, on average over a few;
            gloo's own messages are among them.
    """

    call: str
    kind: str
    over: str
    model: int
    sent: tuple[int, ...]

    @property
    def mean(self) -> float:
        """Bytes that a process sent, on average."""
        return sum(self.sent) / len(self.sent)

    @property
    def most(self) -> int:
        """Bytes that the process sent that sent most."""
        return max(self.sent)

    @property
    def ratio(self) -> float:
        """`most`, in parts of the model's bytes."""
        return self.most / self.model

    def __str__(self) -> str:
        return (
            f"{self.kind:18} over {self.over:9} model {self.model:8}  mean "
            f"{self.mean:10.0f}  most {self.most:8}  ratio {self.ratio:.2f}"
        )


def measure(timeout: float = 100) -> tuple[Measured, ...]:
    """Run every collective in eight processes and count what they send.

    Args:
        timeout: seconds after which to give up.

    Raises:
        LoopbackError: this is not Linux, a process failed, or `timeout` is
            over. No process is left behind.
    """
    if sys.platform != "linux":
        raise LoopbackError(
            "the bytes of a connection are read as Linux keeps them, and "
            f"this is {sys.platform}; run it on Linux"
        )
    with held_port() as port, tempfile.TemporaryFile("w+") as said:
        run = subprocess.Popen(
            [sys.executable, __file__, str(port), str(timeout)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment(),
            start_new_session=True,  # a group of its own, to end as one
        )
        try:
            answer = run.communicate(timeout=timeout)[0]
            trouble = f"ended with status {run.returncode}"
        except subprocess.TimeoutExpired:
            answer, trouble = b"", f"were not done after {timeout} seconds"
        finally:
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # all have ended, as they should
            run.communicate()
        said.seek(0)
        last = "".join(said.readlines()[-20:])
    if not answer:
        raise LoopbackError(
            f"the {PROCESSES} processes {trouble}; the last they said:\n{last}"
        )
    found = json.loads(answer)
    if isinstance(found, str):
        raise LoopbackError(found)
    return tuple(
        Measured(**rows[0] | {"sent": tuple(row["sent"] for row in rows)})
        for rows in zip(*found, strict=True)
    )


def _launch(port: int, timeout: float) -> None:
    """Fork the processes; print what each measured, or why one could not."""
    answers = os.dup(1)
    os.dup2(2, 1)  # where gloo prints that it is connected

    # JAX is imported once, and no backend has started when it is forked.
    from shardlessons import cost, read  # noqa: F401 - once, before the fork

    use_loopback()
    pipes = {}
    for process in range(PROCESSES):
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(int(timeout) + 10)  # whatever becomes of the rest
            status, said = 0, ""
            try:
                said = json.dumps(_process(process, port))
            except BaseException:
                status, said = 1, f"process {process}: {traceback.format_exc()}"
            os.write(write_end, said.encode()[-_PIPE:])
            os._exit(status)
        os.close(write_end)
        os.set_blocking(read_end, False)
        pipes[pid] = read_end
    failed = any(os.wait()[1] for _ in pipes)  # the rest wait for one that has
    if failed:
        said = [text for text in map(_text, pipes.values()) if text[:1] == "p"]
        os.write(answers, json.dumps(said[0]).encode() if said else b"")
        sys.exit("one of them ended without an error of Python")
    rows = [json.loads(_text(pipe)) for pipe in pipes.values()]
    os.write(answers, json.dumps(rows).encode())


def _text(pipe: int) -> str:
    """What a process has said in its pipe so far."""
    try:
        return os.read(pipe, _PIPE).decode()
    except BlockingIOError:
        return ""


def _process(process: int, port: int) -> list[dict[str, Any]]:
    """One of the processes: what it sent in each collective."""
    import jax

    join(port, PROCESSES, process, devices=1)
    rows = [_row(port, *case) for case in _cases()]
    jax.distributed.shutdown()
    return rows


def _cases() -> Iterator[tuple[str, str, Any, str, Callable[[Any], Any]]]:
    """Call, kind, mesh, axis, and what each device computes."""
    import jax
    import numpy as np

    devices = np.array(jax.devices())
    line = jax.sharding.Mesh(devices, ("x",))
    grid = jax.sharding.Mesh(devices.reshape(4, 2), ("data", "model"))
    for mesh, axis in ((line, "x"), (grid, "data")):
        for call, kind, body in _calls(axis, mesh.shape[axis]):
            yield call, kind, mesh, axis, body


def _calls(
    axis: str, size: int
) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    from jax import lax

    ring = [(i, (i + 1) % size) for i in range(size)]
    return (
        (
            "all_gather",
            "all-gather",
            lambda a: lax.all_gather(a, axis, tiled=True),
        ),
        (
            "psum_scatter",
            "reduce-scatter",
            lambda a: lax.psum_scatter(a, axis, tiled=True),
        ),
        ("psum", "all-reduce", lambda a: lax.psum(a, axis)),
        (
            "all_to_all",
            "all-to-all",
            lambda a: lax.all_to_all(a, axis, 0, 0, tiled=True),
        ),
        (
            "ppermute",
            "collective-permute",
            lambda a: lax.ppermute(a, axis, ring),
        ),
    )


def _row(
    port: int,
    call: str,
    kind: str,
    mesh: Any,
    axis: str,
    body: Callable[[Any], Any],
) -> dict[str, Any]:
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    from shardlessons import cost, read

    spec = PartitionSpec(mesh.axis_names)
    x = jax.make_array_from_callback(
        (PROCESSES * SHARD // 4,),
        NamedSharding(mesh, spec),
        lambda index: np.ones(SHARD // 4, np.float32),
    )
    # Each device's own result, whatever the others have: nothing more to send.
    f = jax.shard_map(
        body, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False
    )
    compiled = jax.jit(f).lower(x).compile()
    collectives = read(compiled).collectives
    if [one.kind for one in collectives] != [kind]:
        raise LoopbackError(
            f"jax.lax.{call} was to compile to one {kind}, and did to "
            f"{[str(one) for one in collectives]}"
        )
    jax.block_until_ready(compiled(x))  # connects
    before = _sent(port)
    for _ in range(REPEATS):
        jax.block_until_ready(compiled(x))
    sent = _sent(port) - before
    return {
        "call": call,
        "kind": kind,
        "over": f"{axis} of {mesh.shape[axis]}",
        "model": cost(collectives[0]).bytes,
        "sent": round(sent / REPEATS),
    }


def _sent(port: int) -> int:
    """Bytes that this process has sent to its peers, once all have arrived."""
    while True:
        counts = list(_counts(port))
        if not any(waiting for _, waiting in counts):
            return sum(acked for acked, _ in counts)
        time.sleep(0.001)


def _counts(port: int) -> Iterator[tuple[int, int]]:
    """Of each connection: bytes that arrived, bytes still on their way."""
    import fcntl  # both are for Unix alone, and `measure` says so better
    import termios

    for fd in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                continue
            own = socket.socket(fileno=os.dup(int(fd)))
        except OSError:
            continue  # closed since
        with own:
            if own.family not in (socket.AF_INET, socket.AF_INET6):
                continue
            try:
                here, there = own.getsockname(), own.getpeername()
            except OSError:
                continue  # it listens
            if port in (here[1], there[1]):
                continue  # JAX's own coordination, not the collectives
            if not ipaddress.ip_address(there[0]).is_loopback:
                raise LoopbackError(f"a connection to {there[0]}")
            # In this order: what arrives between the two is then in the sum.
            waiting = fcntl.ioctl(own, termios.TIOCOUTQ, bytes(4))
            info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            (acked,) = struct.unpack_from("Q", info, _BYTES_ACKED)
            yield acked, struct.unpack("i", waiting)[0]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        _launch(int(sys.argv[1]), float(sys.argv[2]))
    else:
        print(*measure(), sep="\n")
