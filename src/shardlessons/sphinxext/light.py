"""A light page: it loads one style sheet and one script, both of the site.

Add ``shardlessons.sphinxext.light`` to the ``extensions`` of a site whose
theme is the book theme, and have its ``layout.html`` name ``_static/page.css``
and ``_static/page.js``. The build writes the two: the style sheets that Sphinx
would link, without what no page uses, and the scripts, one after the other.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from typing import TYPE_CHECKING, Any

from shardlessons.sphinxext._style import Names, embed_icons, prune

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

# What the theme's own layout links besides.
THEME_SHEETS = ["basic.css", "styles/pydata-sphinx-theme.css"]
THEME_SCRIPTS = ["scripts/pydata-sphinx-theme.js"]
# What no page links any more: the layout loads it when a reader searches.
LATER = ["searchtools.js"]

_COLOUR = re.compile(
    r'(html\[data-theme="\w+"\]) \.highlight(?: \.(\w+))?{([^}]*)}'
)
_TOKEN = re.compile(r'<span class="([a-z][a-z0-9]{0,2})">([^<]*)</span>')
_INDENT = re.compile(r"(<pre.*?</pre>|<script.*?</script>)|\s*\n\s*", re.DOTALL)
_LINK = re.compile(r"(_static/page\.(?:css|js))(?:\?v=\w*)?")
_URL = re.compile(r"url\((?!data:|[\"']?#)[\"']?([^\"')]+)[\"']?\)")
_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


class _Assets:
    """The style sheets and scripts that the pages of a build ask for."""

    def __init__(self) -> None:
        self.sheets: dict[str, None] = {}
        self.scripts: dict[str, None] = {}

    def collect(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any
    ) -> None:
        for files, found in (
            (context["css_files"], self.sheets),
            (context["script_files"], self.scripts),
        ):
            for file in sorted(files, key=lambda file: file.priority):
                # Scripts without a file are the theme's, for a version switcher
                # and a search as you type that has its index on every page.
                if file.filename:
                    found[str(file.filename).removeprefix("_static/")] = None

    def write(self, app: Sphinx, error: Exception | None) -> None:
        if error or app.builder.format != "html" or app.builder.embedded:
            return
        static = app.outdir / "_static"
        pages = sorted(app.outdir.rglob("*.html"))
        scripts = [_read(static / name) for name in [*self.scripts, *THEME_SCRIPTS]]
        names = Names()
        for page in pages:
            names.add_page(_read(page))
        for script in [*scripts, *(_read(static / name) for name in LATER)]:
            names.add_script(script)
        sheets = [*THEME_SHEETS, *self.sheets]
        sheet = "\n".join(
            _rebase(_read(static / name), posixpath.dirname(name)) for name in sheets
        )
        files = {
            "_static/page.css": f'@charset "utf-8"; /* of: {" ".join(sheets)} */\n'
            + embed_icons(prune(sheet, names), names, static),
            "_static/page.js": "\n;\n".join(_MAP.sub("", s) for s in scripts),
        }
        for name, text in files.items():
            (app.outdir / name).write_text(text, "utf-8")
        # A digest, so that no browser shows a new page with an old style.
        digests = {name: zlib.crc32(text.encode()) for name, text in files.items()}
        styled = _styled(files["_static/page.css"])
        for page in pages:
            html = _slim(_read(page), styled)
            html = _LINK.sub(lambda m: f"{m[1]}?v={digests[m[1]]:08x}", html)
            page.write_text(html, "utf-8")


def _read(file: Path) -> str:
    return file.read_text("utf-8")


def _styled(sheet: str) -> set[str]:
    """The marks of code that do not merely have the colour of all code."""
    rules = _COLOUR.findall(sheet)
    usual = {theme: body.split(";")[-1] for theme, mark, body in rules if not mark}
    return {mark for theme, mark, body in rules if mark and body != usual[theme]}


def _slim(html: str, styled: set[str]) -> str:
    """A page without the marks of code that have no style, and unindented."""

    def slim(found: re.Match[str]) -> str:
        if found[1] is None:
            return "\n"
        return _TOKEN.sub(lambda m: m[0] if m[1] in styled else m[2], found[1])

    return _INDENT.sub(slim, html)


def _rebase(sheet: str, folder: str) -> str:
    """A style sheet of a folder of ``_static`` as one of ``_static`` itself."""
    return _URL.sub(
        lambda url: f"url({posixpath.normpath(posixpath.join(folder, url[1]))})", sheet
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Collect what pages ask for, and write the two files at the end."""
    assets = _Assets()
    # After the theme's own, which add files and, at the end, a style.
    app.connect("html-page-context", assets.collect, priority=900)
    app.connect("build-finished", assets.write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
