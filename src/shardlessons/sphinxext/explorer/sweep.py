"""Ask the compilers for all that the explorer offers, in a process of its own.

``python -m shardlessons.sphinxext.explorer.sweep FOLDER`` writes a file of
answers for each operation, mesh and chip, a file of pictures for each
operation and mesh, and ``index.json``, of which the page is made.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
from jax.sharding import PartitionSpec as P

from shardlessons import (
    CompilerMissingError,
    Leaf,
    Reading,
    _report,
    draw,
    read,
    traffic,
)
from shardlessons.sphinxext._platforms import this_platform
from shardlessons.sphinxext.explorer._code import FILE, code_of, head_of
from shardlessons.sphinxext.explorer.operations import (
    CHIPS,
    FIRST,
    MESHES,
    MOST_ASKED,
    MOST_ASKED_CHIP,
    MOST_ASKED_MESH,
    OPERATIONS,
    Chip,
    MeshShape,
    Operation,
    Spec,
)

# The compilers of chips are published for it alone.
COMPILERS_ON = "linux-x86_64"
_DRAWN = 3  # dimensions that a picture has

Answer = dict[str, Any]


class Pictures:
    """The tiles of arrays, each picture once."""

    def __init__(self) -> None:
        self.by_id: dict[str, str] = {}
        self._ids: dict[tuple[Any, ...], str] = {}

    def add(self, leaf: Leaf) -> str:
        """Draw an array, unless it is drawn already; returns the picture's id."""
        known = (leaf.sharding, leaf.shape)
        if known not in self._ids:
            svg = draw(leaf.sharding, leaf.shape).svg
            self._ids[known] = sha256(svg.encode()).hexdigest()[:8]
            self.by_id[self._ids[known]] = svg
        return self._ids[known]


class Questions:
    """What can be asked of one operation on one mesh of one chip."""

    def __init__(
        self, operation: Operation, mesh: MeshShape, chip: Chip, pictures: Pictures
    ) -> None:
        self.operation = operation
        self.pictures = pictures
        scope: dict[str, Any] = {}
        # The reader's own code, so that the lines in an answer are its lines.
        exec(compile(head_of(operation, mesh, chip), FILE, "exec"), scope)
        self.struct = scope["struct"]
        options = {**chip.options, **chip.effort} or None
        self.jitted = jax.jit(scope[operation.name], compiler_options=options)

    def ask(self, specs: Iterable[Spec]) -> Answer:
        """The answer for a spec for each argument; jax's own error is one too."""
        try:
            args = [
                self.struct(shape, P(*(entry or None for entry in spec.entries)))
                for shape, spec in zip(
                    self.operation.shapes.values(), specs, strict=True
                )
            ]
            return self._answer(read(self.jitted, *args))
        except Exception as error:  # whatever jax says is what a reader sees
            name = type(error).__name__
            return {"said": f"jax refuses it: {name}", "error": f"{name}: {error}"}

    def _answer(self, reading: Reading) -> Answer:
        sent = traffic(reading)
        out = [_report.sharding_text(leaf.sharding) for leaf in reading.outputs]
        by = sorted({f"{one.kind} over {one.over}" for one in reading.collectives})
        said = (
            f"Output {' and '.join(out)}. A device holds {reading.bytes.argument:,} "
            f"bytes of arguments and {reading.bytes.output:,} of output, and "
            + (f"sends {sent.bytes:,}: {', '.join(by)}." if by else "sends nothing.")
        )
        return {
            "said": said,
            "row": {
                "out": out,
                "argument": reading.bytes.argument,
                "sent": sent.bytes,
                "by": by,
            },
            "html": _report.html(reading),
            "tiles": [
                [
                    leaf.path,
                    _report.sharding_text(leaf.sharding),
                    self.pictures.add(leaf),
                ]
                for leaf in (*reading.inputs, *reading.outputs)
                if 0 < len(leaf.shape) <= _DRAWN and leaf.sharding is not None
            ],
        }


def key_of(specs: Iterable[Spec]) -> str:
    """An answer's name within its file."""
    return "/".join(spec.token for spec in specs)


def missing(chip: Chip) -> str:
    """Why the compiler of a chip cannot be asked here; empty if it can.

    Raises:
        CompilerMissingError: it cannot, where it is published.
    """
    try:
        Questions(OPERATIONS[0], MESHES[0], chip, Pictures())
    except CompilerMissingError as error:
        if this_platform() == COMPILERS_ON:
            raise
        return str(error)
    return ""


def sweep(folder: Path) -> None:
    """Write all answers, and what the page is made of, to a folder."""
    lacking = {chip.name: missing(chip) for chip in CHIPS}
    chips = [chip for chip in CHIPS if not lacking[chip.name]]
    asked: dict[tuple[str, str], Answer] = {}
    count = refused = 0
    for operation in OPERATIONS:
        for (mesh, chip), answers in ask_all(folder, operation, chips).items():
            count += len(answers)
            refused += sum("error" in answer for answer in answers.values())
            if (mesh, chip) == (MOST_ASKED_MESH.name, MOST_ASKED_CHIP.name):
                asked |= {(operation.name, key): answers[key] for key in answers}
    _write(folder / "index.json", _index(asked, lacking, count, refused))


def ask_all(
    folder: Path, operation: Operation, chips: Iterable[Chip]
) -> dict[tuple[str, str], dict[str, Answer]]:
    """Write the answers on one operation; returns them by mesh and chip."""
    found = {}
    for mesh in MESHES:
        pictures = Pictures()
        for chip in chips:
            questions = Questions(operation, mesh, chip, pictures)
            answers = {
                key_of(specs): questions.ask(specs)
                for specs in operation.questions(mesh)
            }
            found[mesh.name, chip.name] = answers
            code = code_of(
                operation, mesh, chip, (f"{{{n}}}" for n in operation.shapes)
            )
            piece = {"code": code, "answers": answers}
            _write(folder / f"{operation.name}.{mesh.name}.{chip.name}.json", piece)
        _write(folder / f"{operation.name}.{mesh.name}.tiles.json", pictures.by_id)
        jax.clear_caches()  # which would hold every program
    return found


def _index(
    asked: dict[tuple[str, str], Answer],
    lacking: dict[str, str],
    count: int,
    refused: int,
) -> dict[str, Any]:
    """What the page is made of, so that a build need not start jax."""
    mesh, chip = MOST_ASKED_MESH, MOST_ASKED_CHIP
    by_name = {operation.name: operation for operation in OPERATIONS}

    def row(name: str, short: tuple[str, ...]) -> dict[str, Any]:
        operation, specs = by_name[name], tuple(map(Spec.of, short))
        return {
            "operation": name,
            "title": operation.title,
            "specs": dict(zip(operation.shapes, specs, strict=True)),
            "answer": asked[name, key_of(specs)],
        }

    return {
        "count": count,
        "refused": refused,
        "meshes": [{"name": one.name, "sizes": one.sizes} for one in MESHES],
        "chips": [
            {"name": one.name, "title": one.title, "lacking": lacking[one.name]}
            for one in CHIPS
        ],
        "operations": [
            {
                "name": operation.name,
                "title": operation.title,
                "shapes": operation.shapes,
                "choices": {one.name: operation.choices(one) for one in MESHES},
            }
            for operation in OPERATIONS
        ],
        "mesh": mesh.name,
        "chip": chip.name,
        "first": row(*FIRST),
        "most_asked": [row(*one) for one in MOST_ASKED],
    }


def _plain(value: Any) -> dict[str, str]:
    """A spec in JSON: as an address and as code have it."""
    if not isinstance(value, Spec):
        raise TypeError(f"{value!r} has no form in JSON")
    return {"token": value.token, "code": value.code}


def _write(file: Path, content: Any) -> None:
    text = json.dumps(
        content, ensure_ascii=False, separators=(",", ":"), default=_plain
    )
    file.write_text(text, "utf-8")


if __name__ == "__main__":
    gc.freeze()  # jax's modules are not looked through again at each collection
    sweep(Path(sys.argv[1]))
