"""The command line: the report of a function that takes arrays."""

from __future__ import annotations

import argparse
import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

_EXAMPLE = """\
example:
  python -m shardlessons jax.numpy:matmul --mesh data=4,model=2 \\
      --arg "float32[512,512] data,-" --arg "float32[512,512] -,model"

An array is dtype[shape], and then, for each dimension, the mesh axes that
cut it: "data", "data+model" for a product, "-" for none. Dimensions without
an entry are not cut; a scalar is "float32[]".
"""
_AXIS = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*")
_COUNT = 8


class _UsageError(ValueError):
    """Something given is not what is expected."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}; --help says what is expected")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: its arguments; those of the process if None.

    Returns:
        0, or 2 if something given is not what is expected, which is said in
        one line on stderr.

    Raises:
        Exception: whatever jax, or the function's module, raises, untouched.

    >>> from shardlessons._cli import main
    >>> main(["jax.numpy:sin", "--mesh", "data=4", "--arg", "float32[8] data"])
    sin(float32[8]@P('data',))
    mesh data=4 (Auto)
    <BLANKLINE>
                type        spec        bytes/device
    inputs
      x         float32[8]  P('data',)             8
    outputs
      result    float32[8]  P('data',)             8
    counted by the compiler
      argument                                     8
      output                                       8
      temp                                         0
      alias                                        0
    <BLANKLINE>
    no collectives
    0
    """
    try:
        given = _parser().parse_args(argv)
        report = _report(given)
    except _UsageError as error:
        print(f"shardlessons: {error}", file=sys.stderr)
        return 2
    print(report)
    return 0


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m shardlessons",
        description=(
            "Compile a function for a mesh of CPU devices, run nothing, and "
            "print what the compiler decided: specs, bytes per device, "
            "collectives."
        ),
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "function",
        metavar="module:function",
        help="what to compile; a module of the current folder is found",
    )
    parser.add_argument(
        "--mesh", metavar="AXIS=SIZE,...", help="the mesh, as data=4,model=2"
    )
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="ARRAY",
        help='an array, in order, as "float32[512,512] data,-"',
    )
    parser.add_argument(
        "--kwarg",
        action="append",
        default=[],
        metavar="NAME=ARRAY",
        help="an array that is given by name",
    )
    parser.add_argument(
        "--explicit",
        action="store_true",
        help="make the mesh axes Explicit; without this they are Auto",
    )
    parser.add_argument(
        "--devices",
        metavar="N",
        help=f"how many CPU devices to make; {_COUNT} or as the mesh needs",
    )
    return parser


def _report(given: argparse.Namespace) -> str:
    axes = _axes(given.mesh)
    needed = math.prod(axes.values())
    count = _devices(given.devices, needed)
    named = [_named(text) for text in given.kwarg]

    from shardlessons._jax import set_count, using_mesh, wanted_count

    # Before the module is imported: jax fixes the number of its devices with
    # its first operation. Set here, the module may still set it as well.
    if wanted_count() is None:
        set_count(count)
    f = _function(given.function)

    from shardlessons import DevicesError, cpu_mesh, read
    from shardlessons._words import WordsError, parse_words

    try:
        mesh = cpu_mesh(axes, explicit=given.explicit) if axes else None
        args = [parse_words(text, mesh) for text in given.arg]
        kwargs = {name: parse_words(text, mesh) for name, text in named}
    except (DevicesError, NotImplementedError, WordsError) as error:
        raise _UsageError(error) from None
    if mesh is None:
        return str(read(f, *args, **kwargs))
    # So that a function may name axes alone, as P("data").
    with using_mesh(mesh):
        return str(read(f, *args, **kwargs))


def _axes(text: str | None) -> dict[str, int]:
    axes: dict[str, int] = {}
    for part in text.split(",") if text is not None else ():
        found = _AXIS.fullmatch(part)
        if not found or int(found[2]) < 1 or found[1] in axes:
            raise _UsageError(
                f"--mesh was given {text!r}; expected the size of each axis, "
                "once, as data=4,model=2"
            )
        axes[found[1]] = int(found[2])
    return axes


def _devices(text: str | None, needed: int) -> int:
    if text is None:
        return max(_COUNT, needed)
    if not text.isdecimal() or int(text) < 1:
        raise _UsageError(
            f"--devices was given {text!r}; expected a number, 1 or more"
        )
    if int(text) < needed:
        raise _UsageError(
            f"--devices was given {text}; expected {needed} or more, which "
            "the mesh needs"
        )
    return int(text)


def _named(text: str) -> tuple[str, str]:
    name, equals, array = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise _UsageError(
            f"--kwarg was given {text!r}; expected name=array, as "
            '"x=float32[512,512] data,-"'
        )
    return name.strip(), array


def _function(text: str) -> Callable[..., Any]:
    name, _, path = text.partition(":")
    if not name or not path:
        raise _UsageError(
            f"the function was given as {text!r}; expected module:function, "
            "as jax.numpy:matmul"
        )
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    try:
        value: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        # What the module itself fails to import is the module's own affair.
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        raise _UsageError(
            f"the function was given as {text!r}, and there is no module "
            f"{error.name!r}; expected one that is installed or in "
            f"{os.getcwd()}"
        ) from None
    for part in path.split("."):
        if not hasattr(value, part):
            raise _UsageError(
                f"the function was given as {text!r}, and there is no "
                f"{part!r} in {getattr(value, '__name__', name)}; expected "
                "the name of a function"
            )
        value = getattr(value, part)
    if not callable(value):
        raise _UsageError(
            f"the function was given as {text!r}, which is of the type "
            f"{type(value).__name__}; expected something that can be called"
        )
    return value
