"""The packages of Debian that printing needs, as Read the Docs installs them."""

from __future__ import annotations

import os
import shutil
import subprocess

import yaml
from site_builder import ROOT


def listed() -> list[str]:
    """Those of .readthedocs.yaml."""
    config = yaml.safe_load((ROOT / ".readthedocs.yaml").read_text("utf-8"))
    return config["build"]["apt_packages"]


def missing() -> list[str]:
    """Those that are not there once an installation was tried; as root it works."""
    gone = [name for name in listed() if not _is_there(name)]
    if gone and shutil.which("apt-get") and not os.geteuid():
        subprocess.run(["apt-get", "update", "--quiet"], check=True)
        install = ["apt-get", "install", "--yes", "--no-install-recommends"]
        subprocess.run([*install, *gone], check=True)
        return [name for name in gone if not _is_there(name)]
    return gone


def _is_there(package: str) -> bool:
    if not shutil.which("dpkg-query"):
        return False
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout == "installed"
