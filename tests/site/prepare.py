"""Install what the tests of the built site need besides Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# The commands, and the packages of Debian and Ubuntu that have them.
NEEDED = {"chromium": "chromium", "node": "nodejs", "npm": "npm"}


def main() -> None:
    missing = [package for name, package in NEEDED.items() if not shutil.which(name)]
    if missing:
        install = f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        if os.geteuid() or not shutil.which("apt-get"):
            sys.exit(f"tests/site needs {', '.join(missing)}. As root, run: {install}")
        subprocess.run(["apt-get", "update", "--quiet"], check=True)
        subprocess.run(install.split(), check=True)
    npm = ["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(npm, cwd=Path(__file__).parent, check=True)


if __name__ == "__main__":
    main()
