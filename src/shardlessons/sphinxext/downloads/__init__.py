"""Each page as a notebook, as a script and as Markdown, from what the build read.

Add ``shardlessons.sphinxext.downloads`` to ``extensions`` and set
``html_baseurl``. Next to each page the build writes what it read and ran:
``page.md``, and, where the page has cells, ``page.ipynb`` and ``page.py``. The
list of all pages is ``llms.txt``, and their text in one is ``llms-full.txt``.
A page's template has the files as ``downloads``, and an address at which
Binder runs the notebook as ``binder``, if ``downloads_repository`` and
``downloads_revision`` say where Binder finds one that builds the site.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from shardlessons.sphinxext._site import BUILDERS, address, description_of
from shardlessons.sphinxext.downloads._binder import binder_address
from shardlessons.sphinxext.downloads._notebook import notebook
from shardlessons.sphinxext.downloads._pieces import CannotDownload
from shardlessons.sphinxext.downloads._reading import KeepData, page_of
from shardlessons.sphinxext.downloads._script import script
from shardlessons.sphinxext.downloads._text import Entry, llms_txt, markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)


def _write(
    app: Sphinx, name: str, _: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Write a page's files, and tell its template."""
    if doctree is None or app.builder.name not in BUILDERS or _is_orphan(app, name):
        return
    try:
        texts = _texts(app, name, doctree)
    except CannotDownload as error:
        logger.warning(
            "the page cannot be downloaded: %s",
            error,
            location=(name, error.line),
            type="shardlessons",
            subtype="downloads",
        )
        return
    for ending, text in texts.items():
        file = app.outdir / f"{name}.{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    context["downloads"] = {
        ending: context["pathto"](f"{name}.{ending}", 1) for ending in texts
    }
    if "ipynb" in texts:
        context["binder"] = binder_address(
            app.config.downloads_repository,
            app.config.downloads_revision,
            f"{name}.ipynb",
        )
    context["metatags"] += (
        '\n<link rel="alternate" type="text/markdown" '
        f'href="{escape(context["downloads"]["md"])}" />'
    )


def _texts(app: Sphinx, name: str, doctree: nodes.document) -> dict[str, str]:
    """What a page is in each form, by the ending of its file."""
    open_page = page_of(app, name, doctree, collapsed=False)
    texts = {"md": markdown(open_page)}
    if open_page.cells:
        texts["ipynb"] = notebook(page_of(app, name, doctree, collapsed=True))
        texts["py"] = script(open_page)
    return texts


def _is_orphan(app: Sphinx, name: str) -> bool:
    return "orphan" in app.env.metadata[name]


def _list(app: Sphinx, error: Exception | None) -> None:
    """Write ``llms.txt`` and ``llms-full.txt``."""
    if error or app.builder.name not in BUILDERS:
        return

    def is_written(name: str) -> bool:  # one that could not be has said so
        return (app.outdir / f"{name}.md").exists()

    root = app.config.root_doc
    sections = [(h, list(filter(is_written, names))) for h, names in _sections(app.env)]
    listed = [(h, [_entry(app, name) for name in names]) for h, names in sections]
    text = llms_txt(app.config.html_title, _entry(app, root).description, listed)
    (app.outdir / "llms.txt").write_text(text, "utf-8")
    pages = [*filter(is_written, [root]), *(n for _, names in sections for n in names)]
    texts = [(app.outdir / f"{name}.md").read_text("utf-8") for name in pages]
    (app.outdir / "llms-full.txt").write_text("\n".join(texts), "utf-8")


def _sections(env: BuildEnvironment) -> Iterator[tuple[str, list[str]]]:
    """The captions of the site's contents, with all pages below each."""
    seen = {env.config.root_doc}
    for toctree in env.get_doctree(env.config.root_doc).findall(addnodes.toctree):
        if names := list(_below(env, toctree["includefiles"], seen)):
            yield toctree["caption"] or "Pages", names


def _below(env: BuildEnvironment, names: list[str], seen: set[str]) -> Iterator[str]:
    """Pages, each followed by those of its own contents, as a reader turns them."""
    for name in names:
        if name not in seen:
            seen.add(name)
            yield name
            yield from _below(env, env.toctree_includes.get(name, []), seen)


def _entry(app: Sphinx, name: str) -> Entry:
    description = description_of(app.env.get_doctree(name))
    title = app.env.titles[name].astext()
    return Entry(title, address(app, f"{name}.md"), description)


def setup(app: Sphinx) -> dict[str, Any]:
    """Write a page's files with the page, and the lists at the end."""
    app.add_config_value("downloads_repository", "", "html", str)
    app.add_config_value("downloads_revision", "", "html", str)
    app.add_post_transform(KeepData)
    app.connect("html-page-context", _write)
    app.connect("build-finished", _list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
