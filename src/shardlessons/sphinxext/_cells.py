"""Code cells and ``{expect}``: what a cell prints or raises, stated below it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from myst_nb.core.render import NbElementRenderer
from sphinx.util.docutils import SphinxDirective

from shardlessons.sphinxext import _rules
from shardlessons.sphinxext._clock import today
from shardlessons.sphinxext._examples import run_docstrings
from shardlessons.sphinxext._kernel import NOT_ASKED, Answer
from shardlessons.sphinxext._ledger import ledger_of
from shardlessons.sphinxext._page import Page, page_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

RAISES = "raises-exception"  # the tag of a cell that does
_BOUND = "shardlessons_expect"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Cell:
    """A code cell that has run: its container in the page, its outputs."""

    def __init__(self, container: nodes.container, cell: Any) -> None:
        self.container = container
        self.source: str = cell.source
        self.outputs: list[Any] = cell.get("outputs", [])

    def line(self, page: Page) -> int:
        """The first line of the cell's code."""
        near = (self.container.line or 1) - 3  # myst-nb counts from below
        return page.locate_block(self.source.splitlines(), near)

    @property
    def may_raise(self) -> bool:
        return RAISES in self.container["cell_metadata"].get("tags", [])

    @property
    def error(self) -> Any | None:
        """The error output, if the cell raised."""
        return next((o for o in self.outputs if o["output_type"] == "error"), None)

    @property
    def mistagged(self) -> bool:
        """Whether it raised, having run, otherwise than its tag says."""
        return self.may_raise != bool(self.error)

    @property
    def stderr(self) -> str:
        return "".join(
            o["text"] for o in self.outputs if o.get("name") == "stderr"
        )

    @property
    def text(self) -> str:
        """All that the cell printed, showed or raised, as plain text."""
        pieces = []
        for output in self.outputs:
            match output["output_type"]:
                case "stream" if output["name"] == "stdout":
                    pieces.append(output["text"])
                case "execute_result" | "display_data":
                    pieces.append(output["data"].get("text/plain", "") + "\n")
                case "error":
                    pieces.append(_error_text(output) + "\n")
        return "".join(pieces).rstrip()

    def show(self, text: str) -> None:
        """Put a text where the page has the cell's output."""
        kind = "error" if self.may_raise else "stream"
        output = nodes.container(
            nb_element="cell_code_output", classes=["cell_output"]
        )
        output += nodes.literal_block(
            text, text, language="text", classes=["output", kind]
        )
        self.container += output


def _error_text(output: Any) -> str:
    return _ANSI.sub("", f"{output['ename']}: {output['evalue']}").rstrip()


class CellRenderer(NbElementRenderer):
    """myst-nb's renderer, which also holds each cell to what is stated of it."""

    def render_stdout(
        self, output: Any, cell_metadata: Any, cell_index: int, source_line: int
    ) -> list[nodes.Element]:
        """Show what a cell prints as one block, however it came in pieces.

        myst-nb's own nb_merge_streams breaks lines where the pieces meet.
        """
        outputs = self.renderer.nb_client.notebook.cells[cell_index].outputs
        printed = [o for o in outputs if o.get("name") == "stdout"]
        if output is not printed[0]:
            return []
        whole = {**output, "text": "".join(o["text"] for o in printed)}
        return super().render_stdout(whole, cell_metadata, cell_index, source_line)

    def render_error(
        self, output: Any, cell_metadata: Any, cell_index: int, source_line: int
    ) -> list[nodes.Element]:
        """Show class and message: the traceback is the kernel's, not jax's."""
        text = _error_text(output)
        return [
            nodes.literal_block(
                text, text, language="text", classes=["output", "error"]
            )
        ]

    def render_nb_finalise(self, metadata: dict[str, Any]) -> None:
        """After the last cell: what nothing on the page has looked at."""
        super().render_nb_finalise(metadata)
        page = page_of(self.renderer.sphinx_env, self.renderer.document)
        if not page.recorded:
            for cell in self.cells():
                _judge(page, cell)
        run_docstrings(page, self.renderer.document)
        ledger = ledger_of(self.renderer.sphinx_env)
        if page.recorded:
            ledger.set_recorded(page.name, page.platforms)
        elif ledger.facts(page.name):
            ledger.set_asked(page.name, page.ask("versions").found, today())

    def cells(self) -> list[Cell]:
        """The cells rendered so far, in order."""
        notebook = self.renderer.nb_client.notebook
        return [
            Cell(node, notebook.cells[node["cell_index"]])
            for node in self.renderer.document.findall(nodes.container)
            if node.get("nb_element") == "cell_code"
        ]

    def cell_above(self) -> Cell | None:
        """The cell directly above what is being rendered, if there is one."""
        above = [
            node
            for node in self.renderer.current_node.children
            if not isinstance(node, (nodes.comment, nodes.target))
        ]
        cells = self.cells()
        if above and cells and above[-1] is cells[-1].container:
            return cells[-1]
        return None


def _judge(page: Page, cell: Cell) -> None:
    bound = _BOUND in cell.container
    line = cell.line(page)
    if cell.stderr:
        page.fail("stderr", line, f"the cell writes to stderr: {cell.stderr.strip()}")
    if cell.error and not bound:
        page.fail(
            "raised",
            line,
            f"the cell raises {_error_text(cell.error)}; state it in an {{expect}}, "
            f"or mend the cell",
        )
    elif cell.error and not cell.may_raise:
        page.fail("raised", line, f"the cell raises: tag it {RAISES}")
    elif cell.may_raise and not cell.error:
        page.fail("raised", line, f"the cell is tagged {RAISES}, and raises nothing")
    elif cell.text and not bound:
        page.fail(
            "unbound",
            line,
            f"the cell prints what no {{expect}} states: {cell.text.splitlines()[0]}",
        )


class ExpectDirective(SphinxDirective):
    """State what the cell above prints or raises.

    Shows nothing itself, unless the cell could not run here: then what is
    stated takes the place of the output.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        document = self.state.document
        page = page_of(self.env, document)
        body = list(self.content)
        line = page.locate_block(body, self.lineno + 1) if body else self.lineno
        renderer = document.get("nb_renderer")
        cell = renderer.cell_above() if renderer else None
        if cell is None:
            page.fail("expect", self.lineno, "an {expect} stands without a cell above it")
            return []
        if _BOUND in cell.container:
            page.fail("expect", self.lineno, "the cell above has an {expect} already")
            return []
        cell.container[_BOUND] = True
        written = "\n".join(body)
        if page.recorded:
            cell.show(written)
        _compare(page, cell, written, line)
        return []


def _compare(page: Page, cell: Cell, written: str, line: int) -> None:
    edits = [] if page.recorded else _rules.differences(written, cell.text)
    answer = NOT_ASKED if page.recorded else Answer(cell.text, not edits)
    if page.report:
        answer = _answered(page, cell) or answer
    mistagged = cell.mistagged and not page.recorded
    stated = page.record(
        "expect", line, cell.source, written, answer, mistagged=mistagged
    )
    cell.container["facts"] = (stated.anchor,)
    if _rules.proves_nothing(written):
        page.fail("expect", line, "the {expect} holds for any output: write it out")
    other_class = _other_class(cell, written)
    for edit in edits:
        page.fail("expect", line + edit.offset, edit.said + other_class)


def _answered(page: Page, cell: Cell) -> Answer | None:
    """The error above because of which the cell has no answer, if there is one."""
    above = page.ask("cell")
    if cell.may_raise and (above.unanswered or not cell.error):
        page.ask("no_error", above.found or "the cell above raises nothing")
    return above if above.unanswered else None


def _other_class(cell: Cell, written: str) -> str:
    """A note, where the cell raises another class than the text names."""
    named = re.findall(r"^(\w+(?:Error|Exception)): ", written, re.MULTILINE)
    raised = cell.error["ename"] if cell.error else None
    if not named or raised in named:
        return ""
    return f" (stated to raise {named[-1]}, raises {raised or 'nothing'})"


def _quiet_kernels(app: Sphinx) -> None:
    import zmq
    from jupyter_client.manager import KernelManager

    # ipykernel warns on stderr of each kernel that listens unencrypted, and
    # nbclient hands no configuration on to the manager that starts it:
    # https://github.com/ipython/ipykernel/pull/1515
    if zmq.has("curve"):
        KernelManager.transport_encryption = "auto"
    # Cells are named by their kernel's process id unless told otherwise, and
    # jax prints the name: two builds would differ.
    os.environ.setdefault("IPYKERNEL_CELL_NAME", "<cell>")


def setup_cells(app: Sphinx) -> None:
    """Add ``expect`` and set up the kernels."""
    app.add_directive("expect", ExpectDirective)
    app.connect("builder-inited", _quiet_kernels)
