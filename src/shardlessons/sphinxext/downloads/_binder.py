"""The address at which Binder runs a page's notebook."""

from __future__ import annotations

import re
from urllib.parse import quote

BUILT = "build/html"  # where a repository's .binder/postBuild leaves the site
_GITHUB = re.compile(r"(?:https://|git@)github\.com[/:](.+?)(?:\.git)?/?")


def binder_address(repository: str, revision: str, file: str) -> str:
    """Where Binder opens a file of the site that it has built.

    Args:
        repository: the address to clone from; empty if not known.
        revision: a branch, a tag or a commit.
        file: the path of a file of the site.

    Returns:
        An address, or nothing if the repository or the revision is not known.

    >>> binder_address("https://github.com/jax-ml/jax.git", "main", "a/page.ipynb")
    'https://mybinder.org/v2/gh/jax-ml/jax/main?urlpath=lab/tree/build/html/a/page.ipynb'
    >>> binder_address("", "", "page.ipynb")
    ''
    """
    if not repository or not revision:
        return ""
    github = _GITHUB.fullmatch(repository)
    where = f"gh/{github[1]}" if github else f"git/{quote(repository, safe='')}"
    at = f"{where}/{quote(revision, safe='')}"
    return f"https://mybinder.org/v2/{at}?urlpath=lab/tree/{BUILT}/{quote(file)}"
