"""Configuration of the site. What is not set here is as its tool has it."""

import os
from urllib.parse import urlsplit

import shardlessons

# --- Project: https://www.sphinx-doc.org/en/master/usage/configuration.html

project = "shardlessons"
author = "the shardlessons authors"
project_copyright = "the shardlessons authors, Apache-2.0"
version = release = shardlessons.__version__
language = "en"

extensions = [
    "shardlessons.sphinxext",  # the checks; brings myst_nb and sphinx_design
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "shardlessons.sphinxext.light",  # one style sheet and one script a page
    "shardlessons.sphinxext.explorer",  # asks the compilers for all it offers
    "shardlessons.sphinxext.found",  # descriptions, previews, a map of the site
    "shardlessons.sphinxext.cards",  # the picture of each preview
    "shardlessons.sphinxext.book",  # the same pages as EPUB and PDF
    "shardlessons.sphinxext.downloads",  # notebook, script, Markdown of each page
]
templates_path = ["_templates"]

# --- Strictness: https://www.sphinx-doc.org/en/master/usage/configuration.html#confval-nitpicky

nitpicky = True
nitpick_ignore_regex = [
    # No inventory is fetched, so that the build needs no network.
    (r"py:.*", r"(jax|jaxlib|collections\.abc|typing|numpy|pathlib)\..*"),
    # As annotations print them.
    (r"py:.*", r"(Any|Callable|Collection|Mapping|Mesh|Sharding|PartitionSpec)"),
    (r"py:.*", r"(Traced|Lowered|Compiled|AbstractMesh|optional|PyTreeDef)"),
]

# --- Markdown: https://myst-parser.readthedocs.io/en/latest/configuration.html

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# --- Figures: https://www.sphinx-doc.org/en/master/usage/configuration.html#confval-numfig

numfig = True
numfig_format = {"figure": "Figure %s", "table": "Table %s"}

# --- Cells: https://myst-nb.readthedocs.io/en/latest/configuration.html

nb_execution_mode = "inline"  # cells run while the page is read, and can be asked
nb_execution_allow_errors = True  # one that raises must be stated to; we judge
nb_execution_timeout = 300
nb_eval_name_regex = r"(?s).*"  # any expression may be asked
nb_output_stderr = "remove"  # reported as an error, with its line
nb_render_plugin = "shardlessons"

# --- API: https://www.sphinx-doc.org/en/master/usage/extensions/autodoc.html

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # attributes as a list, without a box for each
napoleon_attr_annotations = False  # their types stand in the signature above
default_role = "code"  # what a docstring has in single backticks

# --- Look: https://sphinx-book-theme.readthedocs.io/en/stable/reference/api-reference.html

html_theme = "sphinx_book_theme"
html_title = "shardlessons"
html_static_path = ["_static"]
html_baseurl = os.environ.get(
    "READTHEDOCS_CANONICAL_URL", "https://shardlessons.readthedocs.io/en/latest/"
)
html_favicon = "_static/favicon.svg"
cards_line = "Every value is asked of JAX again at each build."
html_css_files = ["shardlessons.css"]
html_js_files = ["search.js", "tips.js"]
html_context = {
    "default_mode": "auto",
    "base_path": urlsplit(html_baseurl).path,  # a page not found may lie anywhere
}
html_sidebars = {"**": ["sidebar-start.html", "sbt-sidebar-nav.html"]}
html_theme_options = {
    "home_page_in_toc": True,
    "show_navbar_depth": 2,
    "show_toc_level": 4,  # all: a list that unfolds while one reads moves
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the sidebar has the search button
    "article_header_end": ["header-buttons.html"],
    "primary_sidebar_end": [],  # no place for advertisements
}

# --- Book: https://www.sphinx-doc.org/en/master/usage/configuration.html#options-for-epub-output

epub_theme = "shardlessons_book"
epub_cover = ("_static/cover.svg", "cover.html")  # drawn by the build
epub_description = "Which sharding comes out, what each device holds, what travels."
epub_contributor = author
epub_identifier = epub_uid = project
epub_tocscope = "includehidden"
epub_tocdepth = 2
epub_tocdup = False
epub_show_urls = "no"
epub_use_index = False
epub_exclude_files = ["404.xhtml"]

# --- Downloads: https://docs.readthedocs.com/platform/stable/reference/environment-variables.html

downloads_repository = os.environ.get("READTHEDOCS_GIT_CLONE_URL", "")
downloads_revision = os.environ.get("READTHEDOCS_GIT_IDENTIFIER", "")

# --- Copying: https://sphinx-copybutton.readthedocs.io/en/latest/use.html

copybutton_selector = "div.cell_input pre, details.question pre"
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos"  # not what is hidden: the prelude
