"""Style sheets cut to the rules, properties and glyphs that pages use."""

from __future__ import annotations

import base64
import io
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import tinycss2
from fontTools import subset
from tinycss2.ast import Declaration, Node, ParseError, QualifiedRule

logging.getLogger("fontTools").setLevel(logging.WARNING)

_CLASS = re.compile(r"\.([\w-]+)")
_CLASSES = re.compile(r'\sclass="([^"]*)"')
_PART_OF_CLASS = re.compile(r"""\[class[*^$~|]?=["']?([\w-]+)""")
_TAG = re.compile(r"""<[a-z](?:"[^"]*"|'[^']*'|[^"'>])*>""", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")
_READ = re.compile(r"var\(\s*(--[\w-]+)")
_FONT = re.compile(r"url\((?P<path>[^)]*?(?P<style>fa-\w+)-\d+\.woff2)\)")
_ICON = re.compile('(?<=--fa:").(?=")|[\ue000-\uf8ff]')
_NESTS = {"media", "supports", "layer", "container"}


@dataclass(frozen=True)
class Names:
    """What pages have that a style sheet may name, or scripts may give them."""

    elements: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    ids: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)
    scripted: set[str] = field(default_factory=set)

    def add_page(self, html: str) -> None:
        """Add what stands in a page's markup."""
        parser = _Markup(self)
        parser.feed(html)
        parser.close()

    def add_script(self, source: str) -> None:
        """Add every word of a script: it may give a page any of them."""
        words = set(_WORD.findall(source))
        self.scripted.update(words)
        for names in (self.elements, self.classes, self.ids, self.properties):
            names |= words


class _Markup(HTMLParser):
    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._names.elements.add(tag)
        self._inside = tag
        for name, value in attrs:
            if name == "class":
                self._names.classes.update((value or "").split())
            elif name == "id":
                self._names.ids.add(value or "")
            elif name == "style":
                self._names.properties.update(_WORD.findall(value or ""))

    def handle_data(self, data: str) -> None:
        if self._inside in ("script", "style"):
            self._names.scripted.update(_WORD.findall(data))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


class Classes:
    """The classes that a style sheet or a script names."""

    def __init__(self, sheet: str, scripted: set[str]) -> None:
        self._names = scripted.union(_CLASS.findall(sheet))
        self._parts = _PART_OF_CLASS.findall(sheet)

    def keep(self, html: str) -> str:
        """Return a page whose elements have these classes, and no others."""
        return _TAG.sub(lambda tag: _CLASSES.sub(self._kept, tag[0]), html)

    def _kept(self, attribute: re.Match[str]) -> str:
        kept = [name for name in attribute[1].split() if self._is_used(name)]
        return f' class="{" ".join(kept)}"' if kept else ""

    def _is_used(self, name: str) -> bool:
        # A sheet escapes what is no word: a:b is .a\\:b.
        return (
            name in self._names
            or _WORD.fullmatch(name) is None
            or any(part in name for part in self._parts)
        )


def prune(sheet: str, names: Names) -> str:
    """Return a style sheet without the rules and properties that go unused.

    A selector kept in vain costs bytes, one dropped wrongly the look of a
    page: what stands in ``:not(...)`` and the like, and any attribute, counts
    as used.

    Raises:
        ValueError: the style sheet cannot be parsed, or imports another.
    """
    read: set[str] | None = None
    while True:
        rules = tinycss2.parse_stylesheet(sheet, True, True)
        shorter = "\n".join(_used(rules, names, read))
        if shorter == sheet:
            return sheet
        sheet, read = shorter, names.properties.union(_READ.findall(shorter))


def _used(rules: Iterable[Node], names: Names, read: set[str] | None) -> Iterator[str]:
    """The rules that are used, without the properties that are not among `read`."""
    for rule in rules:
        if isinstance(rule, ParseError):
            raise ValueError(f"line {rule.source_line} of a style: {rule.message}")
        if isinstance(rule, QualifiedRule):
            selectors = [s for s in _split(rule.prelude) if _can_match(s, names)]
            body = "".join(_declarations(rule.content, read)).removesuffix(";")
            if selectors and body:
                yield f"{','.join(map(_text, selectors))}{{{body}}}"
        elif rule.lower_at_keyword in _NESTS:
            inner = tinycss2.parse_rule_list(rule.content, True, True)
            if kept := "\n".join(_used(inner, names, read)):
                yield f"@{rule.at_keyword} {_text(rule.prelude)}{{{kept}}}"
        elif rule.lower_at_keyword == "import":
            raise ValueError(f"name the style sheet itself: {rule.serialize()}")
        elif rule.lower_at_keyword != "charset":
            yield _text([rule])


def _declarations(content: Iterable[Node], read: set[str] | None) -> Iterator[str]:
    for part in tinycss2.parse_blocks_contents(content, True, True):
        unread = read is not None and (
            isinstance(part, Declaration)
            and part.name.startswith("--")
            and part.name not in read
        )
        # A browser passes over what is no declaration too.
        if not unread and not isinstance(part, ParseError):
            yield _text([part])


def _split(tokens: Iterable[Node]) -> list[list[Node]]:
    """The selectors of a list of selectors."""
    selectors: list[list[Node]] = [[]]
    for token in tokens:
        if token == ",":
            selectors.append([])
        else:
            selectors[-1].append(token)
    return selectors


def _can_match(selector: list[Node], names: Names) -> bool:
    before = ""
    for token in selector:
        known = {".": names.classes, ":": None}.get(before, names.elements)
        if token.type == "hash":
            known = names.ids
        if token.type in ("hash", "ident") and known is not None:
            if token.value not in known:
                return False
        before = token.value if token.type == "literal" else ""
    return True


def _text(tokens: Iterable[Node]) -> str:
    kept = [token for token in tokens if token.type != "comment"]
    return re.sub(r"\s+", " ", tinycss2.serialize(kept)).strip()


def embed_icons(sheet: str, names: Names, folder: Path) -> str:
    """Return a style sheet that holds the glyphs it names, and asks for no font.

    Args:
        sheet: the style sheet; what ``--fa`` is set to and its private
            characters are the icons.
        names: a font is used if the class of its icons is, ``fa-solid`` say.
        folder: where the paths in the style sheet start.
    """
    icons = {ord(icon) for icon in _ICON.findall(sheet)}

    def embed(face: re.Match[str]) -> str:
        font = _FONT.search(face[0])
        if font is None:
            return face[0]
        if font["style"] not in names.classes:
            return ""
        glyphs = base64.b64encode(_subset(folder / font["path"], icons)).decode()
        return _FONT.sub(f"url(data:font/woff2;base64,{glyphs})", face[0])

    return re.sub(r"@font-face ?{[^}]*}", embed, sheet)


def _subset(font: Path, characters: set[int]) -> bytes:
    """The part of a font that draws the characters, as woff2."""
    options = subset.Options(flavor="woff2", layout_features=[], notdef_outline=False)
    with subset.load_font(font, options) as whole:
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=characters)
        subsetter.subset(whole)
        part = io.BytesIO()
        whole.flavor = "woff2"
        whole.save(part)
    return part.getvalue()
