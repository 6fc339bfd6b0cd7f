"""A page as a Jupyter notebook, with what its cells gave as their outputs."""

from __future__ import annotations

import hashlib
from collections import Counter

import nbformat
from nbformat import NotebookNode, v4

from shardlessons.sphinxext.downloads._pieces import (
    Code,
    Needs,
    Output,
    Page,
    Piece,
    Printed,
    Prose,
    Raised,
)

RAISES = "raises-exception"  # Jupyter's own tag: a run goes on after the cell


def notebook(page: Page) -> str:
    """The text of the page's ``.ipynb``; the same for the same page."""
    cells = [v4.new_markdown_cell(_introduction(page)), *_setup(page.needs)]
    ran = 0
    for piece in page.pieces:
        ran += isinstance(piece, Code)
        cells.append(_cell(piece, ran))
    _name(cells)
    made = v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {
                "name": "python3",
                "display_name": "Python 3",
                "language": "python",
            },
            "language_info": {"name": "python", "file_extension": ".py"},
        },
    )
    nbformat.validate(made)
    return nbformat.writes(made) + "\n"


def install_line(packages: tuple[str, ...]) -> str:
    """What a notebook runs to have these packages."""
    return "%pip install --quiet " + " ".join(f'"{package}"' for package in packages)


def _introduction(page: Page) -> str:
    needs = page.needs
    said = [f"# {page.title}\n", f"This is the page <{page.address}> as a notebook."]
    if page.answered:
        jax, version, _, backend = page.answered.split()
        said.append(
            f"Its outputs are those of {jax} {version} on {backend.upper()}, which the "
            "build of the site found."
        )
    else:
        said.append("Its outputs are those that the build of the site found.")
    if needs.packages or needs.files:
        said.append("Run the next cell first: it gets what the others use.")
    if needs.packages:
        said.append(
            "If the kernel has used another release of these packages, restart it then."
        )
    if needs.platforms:
        said.append(f"The cells run on {' and '.join(needs.platforms)}.")
    said.append(
        "\nTo open it in Colab, choose *File* and *Upload notebook* there; Jupyter "
        "opens the file as it is."
    )
    return "\n".join(said)


def _setup(needs: Needs) -> list[NotebookNode]:
    lines = []
    if needs.packages:
        lines.append(install_line(needs.packages))
    lines += [f"%env {name}={value}" for name, value in needs.settings.items()]
    folders = {path.rpartition("/")[0] for path in needs.files} - {""}
    if folders:
        lines.append(f"%mkdir -p {' '.join(sorted(folders))}")
    cells = [v4.new_code_cell("\n".join(lines))] if lines else []
    for path, text in needs.files.items():
        hidden = {"jupyter": {"source_hidden": True}, "cellView": "form"}
        source = f"%%writefile {path}\n{text.rstrip()}"
        cells.append(v4.new_code_cell(source, metadata=hidden))
    return cells


def _cell(piece: Piece, count: int) -> NotebookNode:
    if isinstance(piece, Prose):
        return v4.new_markdown_cell(piece.text)
    return v4.new_code_cell(
        piece.source,
        execution_count=count,
        metadata={"tags": [RAISES]} if piece.raises else {},
        outputs=[_output(output, count) for output in piece.outputs],
    )


def _output(output: Output, count: int) -> NotebookNode:
    match output:
        case Printed(text):
            return v4.new_output("stream", name="stdout", text=text + "\n")
        case Raised(text):
            name, _, value = text.partition(": ")
            return v4.new_output("error", ename=name, evalue=value, traceback=[text])
        case _:
            return v4.new_output(
                "execute_result", data=dict(output.data), execution_count=count
            )


def _name(cells: list[NotebookNode]) -> None:
    """Name each cell by its content, so that two builds name it alike."""
    seen: Counter[str] = Counter()
    for cell in cells:
        content = f"{cell.cell_type}\n{cell.source}"
        seen[content] += 1
        digest = hashlib.sha256(f"{seen[content]}\n{content}".encode())
        cell.id = digest.hexdigest()[:8]
