"""What the examples that start processes of their own have in common.

The processes meet on 127.0.0.1 and nowhere else, see no device but CPUs, and
exchange with gloo what their devices send each other.
"""

from __future__ import annotations

import contextlib
import functools
import os
import socket
from collections.abc import Iterator


@contextlib.contextmanager
def held_port() -> Iterator[int]:
    """A port that no one else is given, for the coordinator to listen on."""
    # Held, not listened on; the coordinator, which shares it, is the one that
    # answers.
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def environment() -> dict[str, str]:
    """This process's, less what would make other devices or ask a proxy."""
    own = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "XLA_"))
        and not name.lower().endswith("_proxy")
    }
    # NumPy's threads, which no example uses, would not survive a fork.
    return own | {"JAX_PLATFORMS": "cpu", "OPENBLAS_NUM_THREADS": "1"}


def use_loopback() -> None:
    """Have gloo connect on 127.0.0.1, and on no other address."""
    import jax
    from jax._src import xla_bridge

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    # JAX has no option for it; without it gloo listens on whatever address
    # the machine's own name has.
    lib = xla_bridge._jax
    lib.make_gloo_tcp_collectives = functools.partial(
        lib.make_gloo_tcp_collectives, hostname="127.0.0.1"
    )


def join(port: int, processes: int, process: int, devices: int) -> None:
    """Make this process one of several, each with some CPU devices."""
    import jax

    address = f"127.0.0.1:{port}"
    jax.config.update("jax_num_cpu_devices", devices)
    jax.distributed.initialize(
        address, processes, process, coordinator_bind_address=address
    )
