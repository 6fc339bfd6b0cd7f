"""A page as what is written from it needs it: prose and code, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


class CannotDownload(Exception):
    """What keeps a page from being written to files, at a line of its source."""

    def __init__(self, said: str, line: int | None = None) -> None:
        super().__init__(said)
        self.line = line


@dataclass(frozen=True)
class Prose:
    """A part of the text, in CommonMark."""

    text: str


@dataclass(frozen=True)
class Printed:
    """What a cell prints."""

    text: str


@dataclass(frozen=True)
class Raised:
    """The error that a cell raises, as ``Class: message``."""

    text: str


@dataclass(frozen=True)
class Shown:
    """What a cell's last value shows, by its media type."""

    data: Mapping[str, str]

    @property
    def text(self) -> str:
        """What it is in plain text."""
        return self.data.get("text/plain", "")


Output = Printed | Raised | Shown


@dataclass(frozen=True)
class Code:
    """A code cell with what it gave when the page was built."""

    source: str
    outputs: tuple[Output, ...] = ()
    line: int | None = None  # of the page's source, where the code begins

    @property
    def raises(self) -> bool:
        """Whether it ends in an error."""
        return any(isinstance(output, Raised) for output in self.outputs)


Piece = Prose | Code


@dataclass(frozen=True)
class Needs:
    """What a page's cells need to run, besides Python.

    Attributes:
        packages: requirements, as pip takes them.
        files: Python files of the site that cells import: the text of each
            by its path, seen from where the cells run.
        settings: environment variables.
        platforms: the platforms that the packages are published for; empty
            if that is all.
    """

    packages: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    platforms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page as it is written to a file.

    Attributes:
        title: its heading, in CommonMark.
        address: where the site has it.
        answered: whose values it has, ``jax 0.10.2 on cpu`` say; empty if no
            package was asked.
        needs: what its cells need.
        pieces: its prose and code, without the heading.
    """

    title: str
    address: str
    answered: str
    needs: Needs
    pieces: tuple[Piece, ...]

    @property
    def cells(self) -> tuple[Code, ...]:
        return tuple(piece for piece in self.pieces if isinstance(piece, Code))
