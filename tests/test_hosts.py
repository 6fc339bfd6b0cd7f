"""Processes that share a mesh: what they run, print and raise, and their end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# As on the page: the example belongs to no package.
EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))
import hosts as example  # noqa: E402 - found by the line above


@pytest.fixture(scope="module")
def hosts() -> Iterator[example.Hosts]:
    made = example.Hosts(processes=3, devices=2)
    yield made
    made.close()


@pytest.fixture
def short() -> Iterator[example.Hosts]:
    """One process, for a test that ends it."""
    made = example.Hosts(processes=1, devices=1)
    yield made
    made.close()


def pids(made: example.Hosts) -> list[int]:
    return [process.pid for process in made._processes]


def is_gone(pid: int) -> bool:
    """Whether no process has this number, a zombie included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.05)
    return holds()


def test_ids_begin_at_a_multiple_of_2048(
    hosts: example.Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def ids() -> None:
        import jax

        print([device.id for device in jax.local_devices()])
        print([device.id for device in jax.devices()] == sorted(
            2048 * process + device for process in range(3) for device in range(2)
        ))  # fmt: skip

    hosts.run(ids)

    assert (
        "process 0:\n  [0, 1]\n  True\n"
        "process 1:\n  [2048, 2049]\n  True\n"
        "process 2:\n  [4096, 4097]\n  True\n"
    ) == capsys.readouterr().out


def test_what_several_print_alike_is_printed_once(
    hosts: example.Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def say() -> None:
        import jax

        if jax.process_index() != 1:
            print("even")

    hosts.run(say)

    assert "processes 0 and 2:\n  even\n" == capsys.readouterr().out


def test_global_names_stay_and_others_do_not(
    hosts: example.Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def first() -> None:
        global stays
        stays, goes = 1, 2  # noqa: F841 - which is the point

    def second() -> None:
        print("stays" in globals(), "goes" in globals(), "example" in globals())

    hosts.run(first)
    hosts.run(second)

    assert "processes 0 and 1 and 2:\n  True False False\n" == capsys.readouterr().out
    assert "stays" not in globals()


def test_an_error_is_raised_as_it_is_and_the_processes_go_on(
    hosts: example.Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def bad() -> None:
        raise KeyError("no such name")

    with pytest.raises(KeyError, match=r"^'no such name'$"):
        hosts.run(bad)
    hosts.run(lambda: print("still here"))

    assert "still here" in capsys.readouterr().out


def test_a_function_has_to_stand_alone(hosts: example.Hosts) -> None:
    outside = 1
    with pytest.raises(
        ValueError,
        match=re.escape(
            "<lambda> needs ('a',) and ('outside',) from outside; give a function "
            "without arguments that makes or imports what it uses"
        ),
    ):
        hosts.run(lambda a: outside)  # type: ignore[arg-type]


@pytest.mark.skipif(
    sys.platform != "linux", reason="/proc names the sockets of a process on Linux"
)
def test_no_socket_is_on_another_address(
    hosts: example.Hosts, capsys: pytest.CaptureFixture[str]
) -> None:
    def sockets() -> None:
        import ipaddress
        import os
        import socket

        import jax
        import numpy as np
        from jax.experimental import multihost_utils

        multihost_utils.process_allgather(np.ones(1))  # so that gloo has connected
        found = {"listening": 0, "connected": 0}
        for fd in os.listdir("/proc/self/fd"):
            try:
                if not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                    continue
                own = socket.socket(fileno=os.dup(int(fd)))
            except OSError:
                continue
            with own:
                if own.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                here = own.getsockname()[0].removeprefix("::ffff:")
                assert ipaddress.ip_address(here).is_loopback, here
                try:
                    there = own.getpeername()[0].removeprefix("::ffff:")
                except OSError:
                    found["listening"] += 1
                else:
                    assert ipaddress.ip_address(there).is_loopback, there
                    found["connected"] += 1
        print(jax.process_count(), found["listening"] > 0, found["connected"] > 1)

    hosts.run(sockets)

    assert "processes 0 and 1 and 2:\n  3 True True\n" == capsys.readouterr().out


def test_a_process_that_waits_for_another_is_named() -> None:
    made = example.Hosts(processes=2, devices=1)

    def alone() -> None:
        import jax
        import numpy as np
        from jax.experimental import multihost_utils

        if jax.process_index() == 1:
            multihost_utils.process_allgather(np.ones(1))

    with pytest.raises(
        example.HostsError, match=r"^process 1 did not finish running alone\(\) in 3 seconds"
    ):
        made.run(alone, timeout=3)
    assert all(map(is_gone, pids(made)))
    with pytest.raises(
        example.HostsError, match=r"^the processes have ended; start others$"
    ):
        made.run(alone)


def test_a_process_that_ends_is_named_with_its_last_words(
    short: example.Hosts,
) -> None:
    def leave() -> None:
        import os

        os.write(2, b"[Gloo] Rank 0 is connected\nthis is it\n")
        os._exit(3)

    with pytest.raises(
        example.HostsError,
        match=r"^process 0 ended while running leave\(\); the last they said:\n"
        r"(.*\n)*this is it\n$",
    ) as raised:
        short.run(leave)
    assert "[Gloo]" not in str(raised.value)
    assert all(map(is_gone, pids(short)))


def test_processes_that_cannot_join_in_time_are_named() -> None:
    with pytest.raises(
        example.HostsError,
        match=r"^processes 0 and 1 did not finish joining in 0 seconds$",
    ):
        example.Hosts(processes=2, devices=1, timeout=0)


def test_what_keeps_a_process_from_joining_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jax.py").write_text("raise ImportError('no jax today')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        example.HostsError,
        match=r"^process 0 ended while joining; the last they said:\n"
        r"(.*\n)*ImportError: no jax today\n$",
    ):
        example.Hosts(processes=1, devices=1)


@pytest.mark.parametrize("end", ["close", "forget"])
def test_no_process_is_left(end: str) -> None:
    made = example.Hosts(processes=1, devices=1)
    started = pids(made)
    if end == "close":
        made.close()
    del made

    assert [True] == [is_gone(pid) for pid in started]


def test_a_process_that_hangs_ends_with_the_one_that_started_it() -> None:
    program = (
        "import os, sys, threading, time\n"
        f"sys.path.append({str(EXAMPLES)!r})\n"
        "from hosts import Hosts\n"
        "def hang():\n"
        "    import os, time\n"
        "    os.write(2, b'')\n"
        "    time.sleep(600)\n"
        "made = Hosts(processes=1, devices=1)\n"
        "print(made._processes[0].pid, flush=True)\n"
        "threading.Thread(target=made.run, args=[hang], daemon=True).start()\n"
        "time.sleep(1)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert -9 == done.returncode
    assert until(lambda: is_gone(int(done.stdout)))
