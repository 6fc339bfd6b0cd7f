"""Pages that only some platforms can ask: their values are as recorded there.

Such a page names the platforms in its front matter, and the language of its
kernel, which is not there to be asked on any other platform::

    kernelspec: {name: python3, language: python}
    platforms: [linux-x86_64]
"""

from __future__ import annotations

import glob
import platform
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

# A name misspelt would have a page asked nowhere.
KNOWN = (
    "darwin-arm64",
    "darwin-x86_64",
    "linux-aarch64",
    "linux-x86_64",
    "windows-amd64",
    "windows-arm64",
)
_KEY = "platforms"


class BadFrontMatter(ValueError):
    """The front matter does not say what a recorded page needs."""


def this_platform() -> str:
    """System and machine, as ``linux-x86_64``."""
    return f"{platform.system()}-{platform.machine()}".lower()


def platforms_of(text: str) -> tuple[str, ...]:
    """The platforms that can ask a page; empty if all can.

    Args:
        text: the page's source.

    Raises:
        BadFrontMatter: they are no list of known names, or the language of
            the kernel is missing.

    >>> platforms_of("# A page")
    ()
    """
    from myst_parser.config.main import TopmatterReadError, read_topmatter

    try:
        front_matter = read_topmatter(text) or {}
    except TopmatterReadError:
        return ()  # which myst-parser reports
    if _KEY not in front_matter:
        return ()
    named = front_matter[_KEY]
    if not isinstance(named, list) or not named or not set(named) <= set(KNOWN):
        raise BadFrontMatter(
            f"{_KEY} is {named!r}; it takes a list of one or more of "
            f"{', '.join(KNOWN)}"
        )
    if "language" not in front_matter.get("kernelspec", {}):
        raise BadFrontMatter(
            f"a page with {_KEY} names the language of its kernel, for where it "
            "does not run: write kernelspec: {name: python3, language: python}"
        )
    return tuple(named)


def is_recorded(text: str, here: str) -> bool:
    """Whether the platform ``here`` is none of those that can ask a page."""
    platforms = platforms_of(text)
    return bool(platforms) and here not in platforms


def _exclude(app: Sphinx, config: Config) -> None:
    """Have myst-nb not run the cells of recorded pages."""
    from sphinx.errors import ConfigError
    from sphinx.util.matching import get_matching_files

    recorded = []
    for name in get_matching_files(app.srcdir, ["**.md"], config.exclude_patterns):
        page = Path(app.srcdir, name)
        try:
            if is_recorded(page.read_text("utf-8"), config.shardlessons_platform):
                recorded.append(glob.escape(page.as_posix()))
        except BadFrontMatter as error:
            raise ConfigError(f"{page}: {error}") from error
    config.nb_execution_excludepatterns = [
        *config.nb_execution_excludepatterns,
        *recorded,
    ]


def setup_platforms(app: Sphinx) -> None:
    """Ask for the platform, before Sphinx compares its configuration."""
    app.add_config_value("shardlessons_platform", this_platform(), "env", str)
    app.connect("config-inited", _exclude)
