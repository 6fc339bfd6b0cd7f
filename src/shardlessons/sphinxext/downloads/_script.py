"""A page as one plain script: prose as comments, and cells that print."""

from __future__ import annotations

import ast
from textwrap import indent

from shardlessons.sphinxext.downloads._pieces import (
    CannotDownload,
    Code,
    Needs,
    Page,
    Prose,
    Raised,
    Shown,
)


def script(page: Page) -> str:
    """The text of the page's ``.py``, with a ``# %%`` above each part."""
    parts = [_comment(_introduction(page))]
    if setup := _setup(page.needs):
        parts.append(f"# %%\n{setup}")
    for piece in page.pieces:
        parts.append(
            _comment(piece.text)
            if isinstance(piece, Prose)
            else f"# %%\n{_code(piece)}"
        )
    return "\n\n".join(parts) + "\n"


def _introduction(page: Page) -> str:
    said = [f"# {page.title}\n", f"This is {page.address} as a script."]
    if page.answered:
        said.append(f"The site has what it prints on {page.answered}.")
    if page.needs.packages:
        packages = " ".join(f'"{package}"' for package in page.needs.packages)
        said.append(f"It needs:\n\n    pip install {packages}")
    if page.needs.platforms:
        said.append(f"It runs on {' and '.join(page.needs.platforms)}.")
    return "\n".join(said)


def _comment(text: str) -> str:
    lines = (f"# {line}".rstrip() for line in text.splitlines())
    return "\n".join(["# %% [markdown]", *lines])


def _setup(needs: Needs) -> str:
    """What comes before the first cell."""
    lines = []
    if needs.settings:
        lines.append("import os")
    if needs.files:
        lines.append("from pathlib import Path")
    if lines:
        lines.append("")
    lines += [
        f'os.environ["{name}"] = "{value}"' for name, value in needs.settings.items()
    ]
    for path, text in needs.files.items():
        lines += [
            f'file = Path("{path}")',
            "if not file.exists():",
            "    file.parent.mkdir(parents=True, exist_ok=True)",
            f"    file.write_text({_quoted(text)})",
        ]
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A literal that reads as the text does, where there is one."""
    literal = f"r'''{text}'''"
    try:
        same = ast.literal_eval(literal) == text
    except (SyntaxError, ValueError):
        same = False
    return literal if same else repr(text)


def _code(cell: Code) -> str:
    source = cell.source
    try:
        compile(source, "<cell>", "exec", dont_inherit=True)
    except SyntaxError as error:
        if not _is_stated(error, cell):
            raise _not_python(error, cell) from None
        return _tried(_as_text(source))
    if any(isinstance(output, Shown) for output in cell.outputs):
        source = _printing(source)
    return _going_on(source) if cell.raises else source


def _is_stated(error: SyntaxError, cell: Code) -> bool:
    """Whether a cell is there to raise its error."""
    name = type(error).__name__
    raised = (output.text for output in cell.outputs if isinstance(output, Raised))
    return any(name == text.partition(":")[0] for text in raised)


def _not_python(error: SyntaxError, cell: Code) -> CannotDownload:
    lines = cell.source.splitlines()[: error.lineno]
    return CannotDownload(
        f"no script can run {lines[-1].strip()}: write the cell in plain Python",
        cell.line and cell.line + len(lines) - 1,
    )


def _printing(source: str) -> str:
    """The code with its last value printed, as Python's prompt shows it."""
    last = ast.parse(source).body[-1]
    if not isinstance(last, ast.Expr):  # something else displays it
        return source
    lines = source.splitlines()
    start, stop = last.lineno - 1, last.end_lineno
    value = ast.get_source_segment(source, last) or ""
    if isinstance(last.value, ast.Tuple):
        value = f"({value})"  # which may have none
    before = lines[start].encode()[: last.col_offset].decode()
    after = lines[stop - 1].encode()[last.end_col_offset :].decode()
    printed = f"{before}print(repr({value})){after}"
    return "\n".join([*lines[:start], printed, *lines[stop:]])


def _going_on(source: str) -> str:
    """The code with its error printed, so that the script goes on."""
    tried = _tried(indent(source, "    "))
    (block,) = ast.parse(tried).body
    assert isinstance(block, ast.Try)
    same = ast.dump(ast.Module(block.body, [])) == ast.dump(ast.parse(source))
    # Indenting changes a string of several lines.
    return tried if same else _tried(_as_text(source))


def _as_text(source: str) -> str:
    """What runs code that cannot stand in the script as it is."""
    return f'    exec(compile({_quoted(source)}, "<cell>", "exec"))'


def _tried(body: str) -> str:
    return (
        f"try:\n{body}\nexcept Exception as error:\n"
        '    print(f"{type(error).__name__}: {error}")'
    )
