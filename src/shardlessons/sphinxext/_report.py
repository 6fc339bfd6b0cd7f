"""Report mode: build with a jax of which the pages do not all hold.

With ``shardlessons_report = True`` what a fact is on this jax is written to
``facts.json``, and what would be a warning is listed there as a finding. A
fact that no longer can be asked, because of an error above it, says so. Pages
that only some platforms can ask are left out.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ConfigError
from sphinx.util.matching import get_matching_files

from shardlessons.sphinxext import _undone
from shardlessons.sphinxext._platforms import BadFrontMatter, platforms_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

OPTION = "shardlessons_report"
_PROFILE = f"c.InteractiveShellApp.extensions = [{_undone.__name__!r}]\n"


def _leave_out(app: Sphinx, config: Config) -> None:
    if not config[OPTION]:
        return
    for name in get_matching_files(app.srcdir, ["**.md"], config.exclude_patterns):
        page = Path(app.srcdir, name)
        try:
            if platforms_of(page.read_text("utf-8")):
                config.exclude_patterns = [*config.exclude_patterns, glob.escape(name)]
        except BadFrontMatter as error:
            raise ConfigError(f"{page}: {error}") from error


def _follow_names(app: Sphinx) -> None:
    if app.config[OPTION]:
        # Where IPython looks for the extensions that its kernels load.
        home = Path(app.doctreedir, "ipython").resolve()
        profile = home / "profile_default" / "ipython_kernel_config.py"
        profile.parent.mkdir(parents=True, exist_ok=True)
        profile.write_text(_PROFILE, "utf-8")
        os.environ["IPYTHONDIR"] = str(home)


def setup_report(app: Sphinx) -> None:
    """Add the setting, and what its mode needs before pages are read."""
    app.add_config_value(OPTION, False, "env", bool)
    app.connect("config-inited", _leave_out)
    app.connect("builder-inited", _follow_names)
