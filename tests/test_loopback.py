"""The bytes that the kernel counts, beside the model's, kind by kind.

What a message adds to the array's own bytes is gloo's affair: all but that
is stated to the byte.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

# As on the page: the example belongs to no package.
EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))
import loopback  # noqa: E402 - found by the line above

MIB = 1 << 20

# What each device puts in is 1 MiB. Of every kind: the model's bytes, and
# what each process sends of the array itself, in groups of 8 and of 4.
SENT = {
    ("all-gather", "x of 8"): (7 * MIB, [7 * MIB] * 8),
    ("all-reduce", "x of 8"): (7 * MIB // 4, [7 * MIB // 4] * 8),
    ("all-to-all", "x of 8"): (7 * MIB // 8, [7 * MIB // 8] * 8),
    ("collective-permute", "x of 8"): (MIB, [MIB] * 8),
    # Halving and doubling leaves a process with the part of the one whose
    # number has its bits in reverse; 0, 2, 5 and 7 are their own.
    ("reduce-scatter", "x of 8"): (
        7 * MIB // 8,
        [(7 if process in (0, 2, 5, 7) else 8) * MIB // 8 for process in range(8)],
    ),
    ("all-gather", "data of 4"): (3 * MIB, [3 * MIB] * 8),
    ("all-reduce", "data of 4"): (3 * MIB // 2, [3 * MIB // 2] * 8),
    ("all-to-all", "data of 4"): (3 * MIB // 4, [3 * MIB // 4] * 8),
    ("collective-permute", "data of 4"): (MIB, [MIB] * 8),
    # Along data, processes 0 and 1 are the first, 6 and 7 the last.
    ("reduce-scatter", "data of 4"): (
        3 * MIB // 4,
        [(3 if process in (0, 1, 6, 7) else 4) * MIB // 4 for process in range(8)],
    ),
}
RATIOS = {
    ("reduce-scatter", "x of 8"): (1.14, 1.07),
    ("reduce-scatter", "data of 4"): (1.33, 1.17),
}


def on_loopback() -> int:
    """Bytes that the loopback interface has sent, of all programs."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (line,) = (line for line in lines if line.strip().startswith("lo:"))
    return int(line.split(":")[1].split()[8])


@pytest.fixture(scope="module")
def measured() -> dict[tuple[str, str], Any]:
    before = on_loopback()
    rows = loopback.measure()
    passed = on_loopback() - before

    # Each ran once more, to connect. Others may use the interface too, so
    # there is no upper bound.
    counted = (loopback.REPEATS + 1) * sum(sum(row.sent) for row in rows)
    assert counted <= passed
    return {(row.kind, row.over): row for row in rows}


def test_every_kind_is_measured(measured: dict[tuple[str, str], Any]) -> None:
    assert SENT.keys() == measured.keys()


@pytest.mark.parametrize(("kind", "over"), SENT)
def test_the_kernel_counts_the_array_and_a_little_more(
    measured: dict[tuple[str, str], Any], kind: str, over: str
) -> None:
    row = measured[kind, over]
    model, sent = SENT[kind, over]
    more = [found - own for found, own in zip(row.sent, sent, strict=True)]

    assert model == row.model, f"{kind} over {over}: the model's bytes"
    # Each message of gloo is three headers of 48 bytes and its part of the
    # array; an all-reduce of 8 sends 28 of them, and no kind sends more.
    assert all(0 < one <= 5000 for one in more), (
        f"{kind} over {over}: beside the array's own bytes, the processes sent "
        f"{more}"
    )


@pytest.mark.parametrize(("kind", "over"), SENT)
def test_the_ratio_that_the_page_states(
    measured: dict[tuple[str, str], Any], kind: str, over: str
) -> None:
    row = measured[kind, over]
    found = round(row.ratio, 2), round(row.mean / row.model, 2)

    assert RATIOS.get((kind, over), (1.0, 1.0)) == found, f"{kind} over {over}"


def test_a_row_reads_well() -> None:
    row = loopback.Measured("psum", "all-reduce", "x of 8", 1000, (1000, 1100))

    assert (
        "all-reduce         over x of 8    model     1000  mean       1050  "
        "most     1100  ratio 1.10" == str(row)
    )


def test_it_ends_by_itself_and_leaves_no_process(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Popen(subprocess.Popen):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self.pid)

    monkeypatch.setattr(subprocess, "Popen", Popen)
    with pytest.raises(
        loopback.LoopbackError,
        match=r"^the 8 processes were not done after 2 seconds; the last they said:",
    ):
        loopback.measure(timeout=2)
    (group,) = started
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            return
        time.sleep(0.05)  # until whoever inherits the dead has noticed
    pytest.fail(f"processes of the group {group} are left")


def test_a_process_that_fails_is_named_with_its_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import socket\nsocket.TCP_INFO = -1\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path.rstrip(os.pathsep))
    with pytest.raises(loopback.LoopbackError) as raised:
        loopback.measure()

    assert re.match(
        r"process [0-7]: Traceback \(most recent call last\):\n(.*\n)*"
        r"OSError: .* Protocol not available\n$",
        str(raised.value),
    )


def test_what_happens_before_there_are_processes_is_told_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jax.py").write_text("raise ImportError('no jax today')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(
        loopback.LoopbackError,
        match=r"^the 8 processes ended with status 1; the last they said:\n"
        r"(.*\n)*ImportError: no jax today\n$",
    ):
        loopback.measure()


def test_another_platform_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(
        loopback.LoopbackError,
        match=r"^the bytes of a connection are read as Linux keeps them, and this "
        r"is darwin; run it on Linux$",
    ):
        loopback.measure()
