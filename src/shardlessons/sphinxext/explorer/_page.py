"""The page: a form with a first answer in it, and the table of the most asked."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jinja2
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from sphinx.util.osutil import relative_uri

from shardlessons.sphinxext._clock import today
from shardlessons.sphinxext._site import BUILDERS
from shardlessons.sphinxext.explorer._recorded import (
    index_of,
    key,
    recorded,
    versions,
)

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_STATIC = Path(__file__).parent / "static"
_HEAD = ("call", "output", "arguments", "sent")
_FOLDER, _KEY = "explorer_folder", "explorer_key"


class explorer_answers(nodes.General, nodes.Element):  # noqa: N801 - docutils names nodes so
    """The form, the table, its foot; nothing if a builder read it that shows none."""


class explorer_form(nodes.Invisible, nodes.Element):  # noqa: N801 - as above
    """The form and its first answer; ``html`` is both. Only a site shows it."""


class ExplorerDirective(SphinxDirective):
    """Show what the sweep found."""

    def run(self) -> list[nodes.Node]:
        return [explorer_answers()]


def _ask(app: Sphinx, doctree: nodes.document) -> None:
    """Ask for what a page shows, but not for a builder that shows none of it."""
    for answers in doctree.findall(explorer_answers):
        meta = app.env.metadata[app.env.docname]
        meta |= {_FOLDER: "", _KEY: ""}
        if app.builder.format != "html":
            continue
        cache = app.config.shardlessons_explorer_cache
        folder = recorded(
            Path(app.doctreedir), Path(cache).resolve() if cache else None
        )
        index = index_of(folder)
        meta |= {_FOLDER: str(folder), _KEY: key()}
        form = explorer_form("", html=_html(index, folder))
        answers += [form, table := _most_asked(index), _foot(index)]
        doctree.note_implicit_target(table)  # tables are numbered by their ids


def _html(index: dict[str, Any], folder: Path) -> str:
    first = index["first"]
    name = f"{first['operation']}.{index['mesh']}"
    piece = json.loads((folder / f"{name}.{index['chip']}.json").read_text("utf-8"))
    tiles = json.loads((folder / f"{name}.tiles.json").read_text("utf-8"))
    code = piece["code"]
    for argument, spec in first["specs"].items():
        code = code.replace(f"{{{argument}}}", spec["code"])
    labels = {}
    for operation in index["operations"]:
        for choices in operation["choices"].values():
            for specs in choices.values():
                labels |= {spec["token"]: spec["code"] for spec in specs}
    offered = {
        "labels": labels,
        "operations": {
            operation["name"]: {
                "shapes": operation["shapes"],
                "specs": {
                    mesh: {
                        argument: [spec["token"] for spec in specs]
                        for argument, specs in choices.items()
                    }
                    for mesh, choices in operation["choices"].items()
                },
            }
            for operation in index["operations"]
        },
    }
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("explorer.html").render(
        index=index,
        first=first,
        operation=next(
            o for o in index["operations"] if o["name"] == first["operation"]
        ),
        tiles=tiles,
        code=code,
        offered=json.dumps(offered, separators=(",", ":")).replace("<", "\\u003c"),
        version=_digest(folder),
        script=f"{zlib.crc32((_STATIC / 'explorer.js').read_bytes()):08x}",
    )


def _digest(folder: Path) -> str:
    """A name for the answers, so that no browser keeps old ones."""
    digest = 0
    for file in sorted(folder.iterdir()):
        digest = zlib.crc32(file.read_bytes(), digest)
    return f"{digest:08x}"


def _most_asked(index: dict[str, Any]) -> nodes.table:
    """A table as any other, so that the book and the Markdown have it too."""
    rows = []
    for asked in index["most_asked"]:
        specs = asked["specs"]
        choice = {key: index[key] for key in ("mesh", "chip")}
        choice |= {name: spec["token"] for name, spec in specs.items()}
        query = urlencode({"operation": asked["operation"], **choice})
        title = nodes.reference("", asked["title"], refuri=f"?{query}")
        given = [f"{name}: {spec['code']}" for name, spec in specs.items()]
        row = asked["answer"]["row"]
        rows.append(
            [
                [title, *(nodes.literal(text, text) for text in given)],
                [nodes.literal(text, text) for text in row["out"]],
                [nodes.Text(f"{row['argument']:,}")],
                [nodes.Text(text) for text in (f"{row['sent']:,}", *row["by"])],
            ]
        )
    sizes = next(m["sizes"] for m in index["meshes"] if m["name"] == index["mesh"])
    mesh = ", ".join(f"{axis}={size}" for axis, size in sizes.items())
    table = nodes.table(classes=["notation"])
    title = f"The most asked, on a mesh {mesh} of CPU devices; bytes of one device."
    table += nodes.title(title, title)
    group = nodes.tgroup(cols=len(_HEAD))
    group += [nodes.colspec(colwidth=1) for _ in _HEAD]
    group += nodes.thead("", _row([nodes.Text(text)] for text in _HEAD))
    group += nodes.tbody("", *map(_row, rows))
    table += group
    return table


def _row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
    """A row, of whose cells each has a text a line."""
    return nodes.row(
        "",
        *(
            nodes.entry(
                "", nodes.line_block("", *(nodes.line("", "", text) for text in cell))
            )
            for cell in cells
        ),
    )


def _foot(index: dict[str, Any]) -> nodes.container:
    asked = ", ".join(f"{name} {version}" for name, version in versions().items())
    text = (
        f"{index['count']:,} answers on this page, {index['refused']:,} of them errors "
        f"of jax, recorded by the build of {today()} from {asked}."
    )
    lacking = [chip["title"] for chip in index["chips"] if chip["lacking"]]
    if lacking:
        text += f" This build could not ask the compilers of {' and '.join(lacking)}."
    foot = nodes.container(classes=["facts-foot", "notation"])
    foot += nodes.paragraph(text, text)
    return foot


def _visit(self: Any, node: explorer_form) -> None:
    page = self.builder.get_target_uri(self.builder.current_docname)
    static = relative_uri(page, "_static/")
    self.body.append(node["html"].replace('="_static/', f'="{static}'))
    raise nodes.SkipNode


def _show(app: Sphinx, doctree: nodes.document, _: str) -> None:
    """Show the answers: a book without the form and links to a choice in it."""
    for answers in list(doctree.findall(explorer_answers)):
        if app.builder.format != "html":
            answers.clear()
        elif app.builder.name not in BUILDERS:
            answers.pop(0)
            for link in list(answers.findall(nodes.reference)):
                link.replace_self(link.children)
        answers.replace_self(answers.children)


def _publish(app: Sphinx, error: Exception | None) -> None:
    """Copy the answers to where the page's script asks for them."""
    if error or app.builder.name not in BUILDERS:
        return
    for meta in app.env.metadata.values():
        if meta.get(_FOLDER):
            target = Path(app.outdir, "_static", "explorer")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(
                meta[_FOLDER], target, ignore=shutil.ignore_patterns("index.json")
            )


def _outdated(app: Sphinx, env: BuildEnvironment, *_: Any) -> list[str]:
    """The pages whose answers are of another sweep, gone, or not asked for."""
    return [
        page
        for page, meta in env.metadata.items()
        if _FOLDER in meta and app.builder.format == "html"
        if meta[_KEY] != key() or not Path(meta[_FOLDER]).exists()
    ]


def _add_files(app: Sphinx) -> None:
    app.config.html_static_path.append(str(_STATIC))
    app.add_css_file("explorer.css")


def setup_page(app: Sphinx) -> None:
    """Add ``explorer``."""
    app.add_config_value("shardlessons_explorer_cache", "", "", str)
    app.add_node(explorer_answers)
    app.add_node(explorer_form, html=(_visit, None))
    app.add_directive("explorer", ExplorerDirective)
    app.connect("builder-inited", _add_files)
    app.connect("env-get-outdated", _outdated)
    app.connect("doctree-read", _ask)
    app.connect("doctree-resolved", _show)
    app.connect("build-finished", _publish)
