"""Eight CPU devices for every test that does not start its own process."""

from __future__ import annotations

from shardlessons import cpu_devices

cpu_devices(8)
