"""Which of the reader's lines an instruction comes from."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import jax

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_ENTRY = re.compile(r'(\d+) (?:"(?P<name>.*)"|\{(?P<fields>.*)\})')
_FIELD = re.compile(r"(\w+)=(\d+)")
_FRAME_ID = re.compile(r"\bstack_frame_id=(\d+)")
_FILE = re.compile(r'\bsource_file="([^"]*)"')
_LINE = re.compile(r"\bsource_line=(\d+)")


@dataclass(frozen=True)
class Frame:
    """One call on the way to an operation.

    Attributes:
        file: the file, as Python names it; a notebook's cell has a name of
            its own kind.
        line: the line, from 1.
        function: the function the line is in; "" where it is not recorded.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}"
        return f"{where} in {self.function}" if self.function else where


def frame_reader(
    module_text: str, *, numbered: bool = True
) -> Callable[[str], tuple[Frame, ...]]:
    """What gives the frames of an instruction of a module by its text.

    Args:
        module_text: the text of the module, at whose head the tables stand.
        numbered: the numbers in the text are those of the tables.
    """
    tables = _tables(module_text)

    def frames(instruction: str) -> tuple[Frame, ...]:
        if found := _FRAME_ID.search(instruction):
            own = _stack(int(found[1]), *tables) if numbered else iter(())
        elif (file := _FILE.search(instruction)) and (
            line := _LINE.search(instruction)
        ):
            own = iter([Frame(file[1], int(line[1]), "")])
        else:
            own = iter(())
        return _tidy(own)

    return frames


def outside(
    frames: Iterable[Frame], packages: Iterable[str]
) -> tuple[Frame, ...]:
    """The frames that are not in the packages named.

    Raises:
        ValueError: a package is not installed.
    """
    places = tuple(
        place for package in packages for place in _places(package)
    )
    return tuple(
        frame for frame in frames if not frame.file.startswith(places)
    )


def _tables(text: str) -> list[dict[int, str | dict[str, int]]]:
    """The four tables of a module; those it lacks are empty."""
    tables: dict[str, dict[int, str | dict[str, int]]] = {
        name: {} for name in _TABLES
    }
    table: dict[int, str | dict[str, int]] = {}
    for line in _lines(text):
        if line in tables:
            table = tables[line]
        elif entry := _ENTRY.fullmatch(line):
            fields = entry["fields"]
            table[int(entry[1])] = (
                entry["name"]
                if fields is None
                else {key: int(n) for key, n in _FIELD.findall(fields)}
            )
        elif line.startswith(("%", "ENTRY ")):
            break  # the first computation: the tables are over
    return list(tables.values())


def _lines(text: str) -> Iterator[str]:
    # Not splitlines: it would copy a module of which only the head counts.
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1


def _stack(
    identity: int,
    files: dict[int, str],
    functions: dict[int, str],
    locations: dict[int, dict[str, int]],
    stack: dict[int, dict[str, int]],
) -> Iterator[Frame]:
    """A frame and its callers, innermost first."""
    seen: set[int] = set()
    while identity in stack and identity not in seen:
        seen.add(identity)
        entry = stack[identity]
        location = locations[entry["file_location_id"]]
        yield Frame(
            files[location["file_name_id"]],
            location["line"],
            functions[location["function_name_id"]],
        )
        # XLA prints a parent as its id plus one, and no parent as the
        # frame's own id or 1: the first frame is its own parent by that.
        identity = entry.get("parent_frame_id", 1) - 1


def _tidy(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Without the frames of jax, of this package, and of whoever called it."""
    own: list[Frame] = []
    for frame in frames:
        if frame.file.startswith(_HERE):
            break
        # One line of a program is several frames where jax has calls of its
        # own between, which it leaves out itself.
        if not frame.file.startswith(_JAX) and own[-1:] != [frame]:
            own.append(frame)
    return tuple(own)


def _places(package: str) -> list[str]:
    """The folders, or the file, of a package."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:  # of what stands before a dot
        spec = None
    if spec is None:
        raise ValueError(
            f"looking_past() was given {package!r}, which is not installed; "
            "give the names that are imported, as 'flax'"
        )
    folders = spec.submodule_search_locations
    if folders is None:
        return [spec.origin or package]
    return [os.path.join(folder, "") for folder in folders]


_HERE = os.path.join(os.path.dirname(__file__), "")
_JAX = os.path.join(os.path.dirname(jax.__file__), "")
