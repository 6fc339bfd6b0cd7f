"""What runs inside a page's kernel: an expression, or an example, is asked.

The other modules of this package send source here and read the
:class:`Answer` that comes back; nothing in this one knows Sphinx.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import io
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from shardlessons.sphinxext import _rules, _undone

MIME = "application/vnd.shardlessons.answer+json"


@dataclass(frozen=True)
class Answer:
    """What the kernel found, and whether what is written holds for it.

    Where an error above is the reason that there is no answer, ``found`` is
    that error.
    """

    found: str | None
    holds: bool | None
    raised: bool = False
    unanswered: bool = False

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MIME: dataclasses.asdict(self)}


NOT_ASKED = Answer(None, None)  # on a platform that cannot ask


def check(written: str, expression: str, namespace: dict[str, Any]) -> Answer:
    """Ask for the value of an expression.

    Besides the page's own names, ``raised`` is the last error that a cell
    raised.
    """
    undone = _undone.active()
    if undone and (reason := undone.reason(expression)):
        return _unanswered(reason)
    # A copy: a question must not leave anything behind.
    scope = {**namespace, "raised": getattr(sys, "last_value", None)}
    quiet = io.StringIO()  # jax may print where an error occurs
    try:
        with contextlib.redirect_stdout(quiet):
            value = eval(_compiled(expression.strip(), "<check>", "eval"), scope)
            return Answer(
                _rules.spell(value, written), _rules.holds(written, value)
            )
    except Exception as error:
        return Answer(_rules.error_texts(error)[1], False, raised=True)


def example(
    source: str, want: str, error_message: str | None, namespace: dict[str, Any]
) -> Answer:
    """Run one ``>>>`` example, as :mod:`doctest` does.

    Args:
        source: the statement.
        want: what it is to print.
        error_message: ``Class: message`` where ``want`` is a traceback.
        namespace: the page's names; the example may add to them.
    """
    undone = _undone.active()
    if undone and (reason := undone.ran(source, None)):
        return _unanswered(reason)
    printed = io.StringIO()

    def show(value: Any) -> None:
        if value is not None:
            print(repr(value))

    old_hook, sys.displayhook = sys.displayhook, show
    try:
        with contextlib.redirect_stdout(printed):
            exec(_compiled(source, "<example>", "single"), namespace)
    except Exception as error:
        if undone:
            undone.ran(source, error)
        qualified = "".join(
            traceback.format_exception_only(type(error), error)
        ).strip()
        found = _rules.error_texts(error)[1]
        expected = error_message is not None and any(
            _rules.same_text(error_message, text) for text in (found, qualified)
        )
        return Answer(found, expected, raised=True)
    finally:
        sys.displayhook = old_hook
    found = printed.getvalue().rstrip()
    return Answer(found, _rules.same_text(want, found))


def _compiled(source: str, name: str, mode: str) -> Any:
    """The code, as this jax is asked it."""
    undone = _undone.active()
    if undone is None:
        return compile(source, name, mode)
    return compile(undone.visit(ast.parse(source, mode=mode)), name, mode)


def _unanswered(reason: str) -> Answer:
    return Answer(reason, False, raised=True, unanswered=True)


def cell() -> Answer:
    """Whether the last cell is answered, and why it is not."""
    undone = _undone.active()
    if undone and undone.cell:
        return _unanswered(undone.cell)
    return Answer("", True)


def no_error(reason: str) -> Answer:
    """The last cell was to raise and did not: no ``raised`` until one does."""
    if undone := _undone.active():
        undone.names["raised"] = reason
    return Answer("", True)


def versions() -> Answer:
    """Which jax answers, on which backend; empty if the page uses no jax."""
    jax = sys.modules.get("jax")
    if jax is None:
        return Answer("", True)
    return Answer(f"jax {jax.__version__} on {jax.default_backend()}", True)
