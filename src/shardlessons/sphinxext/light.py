"""A light page: it loads one style sheet and one script, both of the site.

Add ``shardlessons.sphinxext.light`` to the ``extensions`` of a site whose
theme is the book theme, and have its ``layout.html`` name ``_static/page.css``
and ``_static/page.js``. The build writes the two: the style sheets that Sphinx
would link, without what no page uses, and the scripts, one after the other.
All pages have to ask for the same ones, and for files of the site alone.
Pages lose the classes that neither of the two names.
What the values of a page were asked and its terms mean is a file of its own,
which ``data-tips`` of the page's ``html`` names for a script that shows it.
It needs tinycss2, fonttools and brotli.
"""

from __future__ import annotations

import json
import posixpath
import re
import zlib
from html import unescape
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError

from shardlessons.sphinxext._site import BUILDERS
from shardlessons.sphinxext._style import Classes, Names, embed_icons, prune

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

# What the theme's own layout links besides.
THEME_SHEETS = ["basic.css", "styles/pydata-sphinx-theme.css"]
THEME_SCRIPTS = ["scripts/pydata-sphinx-theme.js"]
# What no page links any more: the layout loads it when a reader searches.
LATER = ["searchtools.js"]

_COLOUR = re.compile(
    r'(html\[data-theme="\w+"\]) \.highlight(?: \.(\w+))?{([^}]*)}'
)
_TIP = re.compile(
    r'(<span class="fact"[^>]*?) title="([^"]*)"'
    r'|(<a [^>]*?) title="([^"]*)"(?=[^>]*><span class="[^"]*\bstd-term\b)'
)
_TOKEN = re.compile(r'<span class="([a-z][a-z0-9]{0,2})">([^<]*)</span>')
# Two neighbours of one colour; the text of the first is what comes before.
_TWINS = re.compile(r'(?<=<span class=")(\w+)(">[^<]*)</span><span class="\1">')
_INDENT = re.compile(r"(<pre.*?</pre>|<script.*?</script>)|\s*\n\s*", re.DOTALL)
# Between these no space is shown.
_BETWEEN = re.compile(r"\n(?=</?(?:t[dhr]|thead|tbody|li|ul|div|section)\b)")
_WORD = re.compile(r'<span class="pre">([\w.=]+)</span>')
_SCRIPT = re.compile(r'<script[^>]* src="(?:\.\./)*_static/([^"?]+)')
_LINK = re.compile(r"(_static/page\.(?:css|js))(?:\?v=\w*)?")
_URL = re.compile(r"url\((?!data:|[\"']?#)[\"']?([^\"')]+)[\"']?\)")
_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)


class _Assets:
    """The style sheets and scripts that every page of a build asks for."""

    def __init__(self) -> None:
        self.page = ""  # which was the first to ask
        self.sheets: dict[str, None] = {}
        self.scripts: dict[str, None] = {}

    def collect(
        self, app: Sphinx, page: str, template: str, context: dict[str, Any], *_: Any
    ) -> None:
        """Take the first page's, which is written before Sphinx forks any writer."""
        if app.builder.name not in BUILDERS:
            return
        sheets, scripts = (
            dict.fromkeys(
                _of_the_site(page, str(file.filename))
                for file in sorted(context[files], key=lambda file: file.priority)
                # Scripts without a file are the theme's, for a version switcher
                # and a search as you type that has its index on every page.
                if file.filename
            )
            for files in ("css_files", "script_files")
        )
        if not self.page:
            self.page, self.sheets, self.scripts = page, sheets, scripts
        if lone := (sheets | scripts).keys() ^ (self.sheets | self.scripts):
            raise ExtensionError(
                f"{', '.join(sorted(lone))}: asked for by the page {page} or by the "
                f"page {self.page}, not by both; a light site has one style sheet and "
                "one script, so add the file for all pages"
            )

    def write(self, app: Sphinx, error: Exception | None) -> None:
        if error or app.builder.name not in BUILDERS:
            return
        static = app.outdir / "_static"
        pages = sorted(app.outdir.rglob("*.html"))
        scripts = [_read(static / name) for name in [*self.scripts, *THEME_SCRIPTS]]
        names = Names()
        apart = dict.fromkeys(LATER)  # and what some pages load on their own
        for page in pages:
            html = _read(page)
            names.add_page(html)
            apart |= dict.fromkeys(_SCRIPT.findall(html))
        apart.pop("page.js", None)
        for script in [*scripts, *(_read(static / name) for name in apart)]:
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
        links = {name: _link(name, text) for name, text in files.items()}
        styled = _styled(files["_static/page.css"])
        used = Classes(files["_static/page.css"], names.scripted)
        for page in pages:
            html = _without_tips(_slim(_read(page), styled), page, app.outdir)
            html = _LINK.sub(lambda link: links[link[1]], used.keep(html))
            page.write_text(html, "utf-8")


def _of_the_site(page: str, file: str) -> str:
    """A file's name in ``_static``."""
    if not file.startswith("_static/"):
        raise ExtensionError(
            f"{file}: the page {page} asks for it, and a light page loads files of "
            "its own site alone, so put a copy in html_static_path"
        )
    return file.removeprefix("_static/")


def _link(name: str, text: str) -> str:
    """A file with a digest, so that no browser has a new page with an old file."""
    return f"{name}?v={zlib.crc32(text.encode()):08x}"


def _without_tips(html: str, page: Path, site: Path) -> str:
    """A page that names the file of its tips, which is now written."""
    tips = [unescape(found[2] or found[4]) for found in _TIP.finditer(html)]
    if not tips:
        return html
    # A script, and not JSON: a page that lies on a disk may load no other.
    text = "tips=" + json.dumps(tips, ensure_ascii=False, separators=(",", ":"))
    name = f"_tips/{page.relative_to(site).with_suffix('.js').as_posix()}"
    file = site / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    html = html.replace("<html ", f'<html data-tips="{_link(name, text)}" ', 1)
    return _TIP.sub(lambda found: found[1] or found[3], html)


def _read(file: Path) -> str:
    return file.read_text("utf-8")


def _styled(sheet: str) -> dict[str, str]:
    """Each mark of code that has a colour of its own, and the shortest that is alike."""
    rules = _COLOUR.findall(sheet)
    usual = {theme: body.split(";")[-1] for theme, mark, body in rules if not mark}
    looks: dict[str, list[str]] = {}
    for theme, mark, body in rules:
        if mark:
            looks.setdefault(mark, []).append(f"{theme} {body}")
    plain = [f"{theme} {body}" for theme, body in usual.items()]
    marks = sorted(looks, key=lambda mark: (len(mark), mark))
    return {
        mark: next(other for other in marks if looks[other] == looks[mark])
        for mark in marks
        if looks[mark] != plain
    }


def _slim(html: str, styled: dict[str, str]) -> str:
    """A page without the marks of code that change nothing, and unindented."""

    def mark(token: re.Match[str]) -> str:
        if token[1] not in styled:
            return token[2]
        return f'<span class="{styled[token[1]]}">{token[2]}</span>'

    def slim(found: re.Match[str]) -> str:
        if found[1] is None:
            return "\n"
        return _TWINS.sub(r"\1\2", _TOKEN.sub(mark, found[1]))

    # A word is not broken, whether or not it is marked as one.
    return _BETWEEN.sub("", _INDENT.sub(slim, _WORD.sub(r"\1", html)))


def _rebase(sheet: str, folder: str) -> str:
    """A style sheet of a folder of ``_static`` as one of ``_static`` itself."""
    return _URL.sub(
        lambda url: f"url({posixpath.normpath(posixpath.join(folder, url[1]))})", sheet
    )


def _outdated(app: Sphinx, env: BuildEnvironment) -> set[str]:
    """All pages: what one keeps hangs on all others, and one cut has lost the rest."""
    return env.found_docs if app.builder.name in BUILDERS else set()


def setup(app: Sphinx) -> dict[str, Any]:
    """Collect what pages ask for, and write the two files at the end."""
    assets = _Assets()
    app.connect("env-updated", _outdated)
    # After the theme's own, which add files and, at the end, a style.
    app.connect("html-page-context", assets.collect, priority=900)
    app.connect("build-finished", assets.write, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
