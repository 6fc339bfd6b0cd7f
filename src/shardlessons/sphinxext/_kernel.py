"""What runs inside a page's kernel: an expression, or an example, is asked.

The other modules of this package send source here and read the
:class:`Answer` that comes back; nothing in this one knows Sphinx.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from shardlessons.sphinxext import _rules

MIME = "application/vnd.shardlessons.answer+json"


@dataclass(frozen=True)
class Answer:
    """What the kernel found, and whether what is written holds for it."""

    found: str | None
    holds: bool | None
    raised: bool = False

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {MIME: dataclasses.asdict(self)}


NOT_ASKED = Answer(None, None)  # on a platform that cannot ask


def check(written: str, expression: str, namespace: dict[str, Any]) -> Answer:
    """Ask for the value of an expression.

    Besides the page's own names, ``raised`` is the last error that a cell
    raised.
    """
    # A copy: a question must not leave anything behind.
    scope = {**namespace, "raised": getattr(sys, "last_value", None)}
    quiet = io.StringIO()  # jax may print where an error occurs
    try:
        with contextlib.redirect_stdout(quiet):
            value = eval(compile(expression.strip(), "<check>", "eval"), scope)
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
    printed = io.StringIO()

    def show(value: Any) -> None:
        if value is not None:
            print(repr(value))

    old_hook, sys.displayhook = sys.displayhook, show
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "<example>", "single"), namespace)
    except Exception as error:
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


def versions() -> Answer:
    """Which jax answers, on which backend; empty if the page uses no jax."""
    jax = sys.modules.get("jax")
    if jax is None:
        return Answer("", True)
    return Answer(f"jax {jax.__version__} on {jax.default_backend()}", True)
