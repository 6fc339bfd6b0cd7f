"""``since.json`` and the pages: they have to agree, and the pages say so.

Where a survey has written ``since.json`` beside the pages, each build holds
its facts to the file's column for its own jax. A fact that was not always
what it is gets a mark, and links to its row in the table of
``{since-when}``.
"""

from __future__ import annotations

import functools
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.util import logging

from shardlessons.sphinxext import _history, _rules
from shardlessons.sphinxext._history import History, Stretch
from shardlessons.sphinxext._ledger import Fact, ledger_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)

FILE = "since.json"
FOLDER = "_since"  # of the site: what differs on each page
# On a node, the anchors of the facts that it shows.
SHOWS = "facts"
_AGAIN = "run nox -s versions"
_LONG = 160


def history_of(env: BuildEnvironment) -> History | None:
    """What each fact was, or None where no survey was made."""
    file = Path(env.srcdir, FILE)
    return _load(file, file.stat().st_mtime_ns) if file.exists() else None


@functools.lru_cache(maxsize=1)
def _load(file: Path, changed: int) -> History:
    return _history.load(file)


def release_of(env: BuildEnvironment, page: str, history: History) -> str | None:
    """The release that answered a page, if the history has it."""
    asked = ledger_of(env).asked(page)
    if asked is None:
        return None
    # A page without jax is the same on all.
    release = asked[0].split()[1] if asked[0] else list(history.releases)[-1]
    return release if release in history.releases else None


def changed_on(
    env: BuildEnvironment, page: str
) -> dict[str, tuple[Fact, tuple[Stretch, ...]]]:
    """The facts of a page that were not always what they are, by anchor."""
    history = history_of(env)
    if history is None:
        return {}
    changed = history.changed.get(page, {})
    return {
        fact.anchor: (fact, changed[key])
        for fact in ledger_of(env).facts(page)
        if (key := _key(fact)) in changed
    }


def row_id(page: str, anchor: str) -> str:
    """The anchor of a fact's row in the table."""
    return f"since-{page.replace('/', '-')}-{anchor.removeprefix('fact-')}"


def others(
    stretches: tuple[Stretch, ...], here: Stretch
) -> list[tuple[Stretch, str]]:
    """The stretches with another value, each with the way it differs."""
    return [(s, _history.kind_of(s.value, here.value)) for s in stretches if s != here]


def _key(fact: Fact) -> str:
    return _history.key_of(fact.form, fact.expression, fact.occurrence)


# --- the build and the file agree ---------------------------------------------


def _hold_to_file(app: Sphinx, env: BuildEnvironment) -> None:
    history = history_of(env)
    if history is None or app.config.shardlessons_report:
        return
    for page in sorted(env.found_docs):
        # One that only some platforms can ask is in no survey.
        if "platforms" not in env.metadata.get(page, {}):
            _hold_page(env, page, history)
    for page in history.pages:
        if page not in env.found_docs:
            _warn(Path(env.srcdir, FILE), 1, f"there is no page {page}: {_AGAIN}")


def _hold_page(env: BuildEnvironment, page: str, history: History) -> None:
    facts = ledger_of(env).facts(page)
    release = release_of(env, page, history)
    if facts and release is None:
        return
    root = Path(env.srcdir).parent
    for fact in facts:
        stored = history.digest(page, _key(fact), release or "")
        if stored is None:
            said = f"{FILE} does not have this fact: {_AGAIN}; asked: {_brief(fact)}"
            _warn(root / fact.path, fact.line, said)
        elif fact.holds and (said := _disagreement(fact, release or "", history)):
            _warn(root / fact.path, fact.line, said)
    for key in sorted(history.keys(page) - {_key(fact) for fact in facts}):
        file = Path(env.doc2path(page))
        _warn(file, 1, f"{FILE} has a fact that is not here: {_AGAIN}; it is {key}")


def _disagreement(fact: Fact, release: str, history: History) -> str | None:
    """What to say where a fact that holds is another in the file."""
    key = _key(fact)
    value = _history.value_of(fact.written, fact.found, True, False, False)
    if value.digest == history.digest(fact.page, key, release):
        return None
    column, there = "all", "another value"
    if stretches := history.changed.get(fact.page, {}).get(key):
        stretch = history.at(stretches, release)
        if _rules.same_text(fact.written, stretch.value.text):
            return None
        column, there = stretch.releases, stretch.value.text.split("\n")[0]
    return (
        f"jax {release} answers {fact.found.splitlines()[0]}, and {FILE} has "
        f"{there} in column {column}: {_AGAIN}; asked: {_brief(fact)}"
    )


def _brief(fact: Fact) -> str:
    return fact.expression.split("\n")[0]


def _warn(file: Path, line: int, message: str) -> None:
    place = f"{file}:{line}"
    logger.warning("%s", message, location=place, type="facts", subtype="since")


# --- marks on the pages --------------------------------------------------------


def _mark(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    history = history_of(app.env)
    changed = changed_on(app.env, docname)
    if history is None or app.builder.format != "html":
        return
    release = release_of(app.env, docname, history)
    table = ledger_of(app.env).table
    data: dict[str, Any] = {}
    texts: dict[str, int] = {}
    for node in list(doctree.findall(nodes.Element)):
        for anchor in node.get(SHOWS, ()):
            if anchor not in changed or release is None:
                continue
            fact, stretches = changed[anchor]
            here = history.at(stretches, release)
            node["ids"] = [*node["ids"], anchor]
            data[anchor] = [_told(s, here, history, texts) for s in stretches]
            target = "" if table is None else (
                app.builder.get_relative_uri(docname, table)
                + f"#{row_id(docname, anchor)}"
            )
            _put(node, _link(target, others(stretches, here)))
    if app.builder.embedded:  # in a book, no script asks for them
        return
    place = next(doctree.findall(nodes.section), doctree)
    place += _data(app, docname, history, {"texts": list(texts), "facts": data})


def _told(
    stretch: Stretch, here: Stretch, history: History, texts: dict[str, int]
) -> list[Any]:
    """A stretch, as the page's script reads it: how many releases it has, and
    where it differs from the page how, and the place of its text among the
    texts, since many facts may have one.
    """
    if stretch == here:
        return [history.span(stretch)]
    text = stretch.value.text
    short = text if len(text) <= _LONG else text[:_LONG].rstrip() + " …"
    kind = _history.kind_of(stretch.value, here.value)
    return [history.span(stretch), kind, texts.setdefault(short, len(texts))]


def _data(app: Sphinx, docname: str, history: History, data: dict[str, Any]) -> nodes.raw:
    """Where the page's script finds what differs, once a reader asks."""
    # A script, and not JSON: pages that lie on a disk may load no other.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = f"sinceData={text}"
    name = f"{FOLDER}/{docname}.js"
    file = Path(app.outdir, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    # A digest, so that no browser reads a new page with old data.
    source = f"{name}?v={zlib.crc32(text.encode()):08x}"
    releases = " ".join(history.releases)
    html = f'<div id="since-data" hidden data-releases="{releases}" data-source="{source}"></div>'
    return nodes.raw("", html, format="html")


def _link(target: str, differing: list[tuple[Stretch, str]]) -> nodes.Element:
    said = "; ".join(f"jax {s.releases}: {kind}" for s, kind in differing)
    text = f"Not the same on every release. {said}"
    link = nodes.reference("", "", refuri=target, internal=True)
    link["classes"].append("since-mark")
    link += nodes.inline(text, text, classes=["since-said"])
    return link


def _put(node: nodes.Element, link: nodes.Element) -> None:
    """Put a mark behind a value in the text, or below a block."""
    if not isinstance(node, nodes.inline):
        link = nodes.paragraph("", "", link, classes=["since-below"])
    elif isinstance(node.parent, nodes.reference | nodes.title):
        return  # a link in a link, and headings are copied to other places
    node.parent.insert(node.parent.index(node) + 1, link)


def _add_files(app: Sphinx) -> None:
    if Path(app.srcdir, FILE).exists():
        app.add_css_file("since.css")
        app.add_js_file("since.js", loading_method="defer")


def setup_since(app: Sphinx) -> None:
    """Hold each build to the file, and mark what changed."""
    app.connect("builder-inited", _add_files)
    app.connect("env-check-consistency", _hold_to_file)
    app.connect("doctree-resolved", _mark)
