"""Names that a cell was to define, and did not: what depends on them is open.

A page that is read in report mode goes on after a cell that raises. The names
that the rest of the cell was to define are undone then: they are missing, or
worse, still what they were before. Every later cell, example or check that
uses one is not answered, and the reason is the error of that first cell.

This is an extension of IPython, which a page's kernel loads in report mode.
"""

from __future__ import annotations

import ast
import dis
from types import CodeType, TracebackType
from typing import Any

from shardlessons.sphinxext import _older, _rules


class Undone:
    """The undone names of a kernel, each with the error that is the reason."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.names: dict[str, str] = {}
        # The reason why the last cell is not answered, if it is not.
        self.cell: str | None = None
        self._adapted: _older.Adapted | None = None

    def visit(self, tree: ast.AST) -> ast.AST:
        """The code as this jax is asked it; IPython calls this for each cell."""
        return self._adaptation(tree).visit(tree)

    def _adaptation(self, tree: ast.AST) -> ast.NodeTransformer:
        # jax is imported only for a page that imports it.
        if self._adapted is None and any(
            isinstance(node, ast.Import | ast.ImportFrom) and "jax" in ast.unparse(node)
            for node in ast.walk(tree)
        ):
            without = _older.lacking()
            self._adapted = _older.Adapted(without)
            if _older.AXIS_TYPE in without:
                self.names[_older.AXIS_TYPE] = _older.NO_AXIS_TYPE
        return self._adapted or ast.NodeTransformer()

    def reason(self, source: str) -> str | None:
        """Why there is no answer to this code: the first undone name it uses."""
        statements = self.visit(ast.parse(source.strip())).body
        used = (n for s in statements for n in _names(s)[0] if n in self.names)
        first = next(used, None)
        return None if first is None else self.names[first]

    def ran(self, source: str, error: BaseException | None) -> str | None:
        """Take note of code that ran, and return why it is not answered."""
        said = None if error is None else _rules.error_texts(error)[1]
        try:
            statements = self.visit(ast.parse(source)).body
        except SyntaxError:
            return None
        line = self._line(error.__traceback__) if error else None
        reasons = []
        ended = None  # by the statement that raised
        for statement in statements:
            uses, binds = _names(statement)
            undone = next((self.names[n] for n in uses if n in self.names), None)
            if ended is None:
                reasons.append(undone)
            if said and (line is None or line <= (statement.end_lineno or 0)):
                ended = ended or undone or said
            for name in binds:
                self.names.pop(name, None)
                if undone or ended:
                    self.names[name] = undone or ended
        if error is not None:
            self.names.pop("raised", None)
        return next(filter(None, reasons), None)

    def after_cell(self, result: Any) -> None:
        """IPython calls this after each cell."""
        source = result.info.transformed_cell or result.info.raw_cell
        if result.info.store_history:  # a cell, and not what the build asks
            error = result.error_before_exec or result.error_in_exec
            self.cell = self.ran(source, error)

    def _line(self, trace: TracebackType | None) -> int | None:
        """The line of the code itself, not of what it calls, that raised."""
        while trace is not None:
            frame = trace.tb_frame
            whole = frame.f_code.co_name == "<module>"
            if whole and frame.f_globals is self.namespace:
                return trace.tb_lineno
            trace = trace.tb_next
        return None


def _names(statement: ast.stmt) -> tuple[list[str], list[str]]:
    """The global names that a statement uses, functions in it too, and binds."""
    module = ast.Module([statement], [])
    uses: dict[str, None] = {}
    binds: dict[str, None] = {}

    def look(code: CodeType, outer: bool) -> None:
        for step in dis.get_instructions(code):
            if step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in binds:
                uses[step.argval] = None
            elif step.opname == "STORE_GLOBAL" or outer and step.opname == "STORE_NAME":
                binds[step.argval] = None
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                look(inner, outer=False)

    look(compile(module, "<statement>", "exec"), outer=True)
    return list(uses), list(binds)


_active: Undone | None = None


def active() -> Undone | None:
    """The kernel's undone names, in report mode."""
    return _active


def load_ipython_extension(shell: Any) -> None:
    """Follow the cells of a kernel."""
    global _active
    _active = Undone(shell.user_ns)
    shell.ast_transformers.append(_active)
    shell.events.register("post_run_cell", _active.after_cell)
