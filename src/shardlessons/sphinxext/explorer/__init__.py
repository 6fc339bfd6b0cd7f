"""``{explorer}``: choose an operation, specs, a mesh and a chip; see the answer.

Add ``shardlessons.sphinxext.explorer`` to ``extensions``. A build that has the
directive asks the compilers for all that can be chosen. That is done once for
the same releases and sources if ``shardlessons_explorer_cache`` names a folder
where the answers may stay, and on each build in CI and on Read the Docs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, and copy the answers beside the pages."""
    from shardlessons.sphinxext.explorer._page import setup_page

    app.setup_extension("shardlessons.sphinxext")
    setup_page(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
