"""The checks of the build, as a Sphinx extension.

Add ``shardlessons.sphinxext`` to ``extensions``, and have myst-nb run cells
while a page is read, go on after one that raises, and take any expression::

    nb_execution_mode = "inline"
    nb_execution_allow_errors = True
    nb_output_stderr = "remove"
    nb_eval_name_regex = r"(?s).*"
    nb_render_plugin = "shardlessons"
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _add_static(app: Sphinx) -> None:
    app.config.html_static_path.append(str(Path(__file__).parent / "static"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Set up each of the extension's parts."""
    from shardlessons import __version__
    from shardlessons.sphinxext._cells import setup_cells
    from shardlessons.sphinxext._check import setup_check
    from shardlessons.sphinxext._examples import setup_examples
    from shardlessons.sphinxext._foot import setup_foot
    from shardlessons.sphinxext._ledger import setup_ledger
    from shardlessons.sphinxext._notation import setup_notation
    from shardlessons.sphinxext._platforms import setup_platforms
    from shardlessons.sphinxext._predict import setup_predict
    from shardlessons.sphinxext._report import setup_report
    from shardlessons.sphinxext._since import setup_since
    from shardlessons.sphinxext._since_table import setup_since_table
    from shardlessons.sphinxext._terms import setup_terms

    app.setup_extension("myst_nb")
    app.setup_extension("sphinx_design")
    app.connect("builder-inited", _add_static)
    app.add_js_file("prelude.js", loading_method="defer")
    setup_platforms(app)
    setup_report(app)
    setup_ledger(app)
    setup_cells(app)
    setup_check(app)
    setup_examples(app)
    setup_notation(app)
    setup_predict(app)
    setup_foot(app)
    setup_terms(app)
    setup_since(app)
    setup_since_table(app)
    return {
        "version": __version__,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
        "env_version": 1,
    }
