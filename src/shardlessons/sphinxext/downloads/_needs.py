"""What a page's cells need to run: packages, files, settings."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata

from shardlessons.sphinxext.downloads._pieces import CannotDownload, Needs

_OWN = __package__.partition(".")[0]
_NAME = re.compile(r"[\w.-]+")


class CannotInstall(CannotDownload):
    """What cells need, pip cannot be told."""


def needs_of(
    sources: Iterable[str],
    files: Mapping[str, str],
    *,
    answered: str,
    extras: Collection[str] = (),
    platforms: tuple[str, ...] = (),
) -> Needs:
    """What cells need that run as they did here.

    Args:
        sources: the code of the cells.
        files: Python files that they may import, by path.
        answered: which jax ran them, as ``jax 0.10.2 on cpu``; or empty.
        extras: of this package.
        platforms: where the packages are published; empty if everywhere.

    Raises:
        CannotInstall: an import is of no package that is installed, or the
            extras are no list.
    """
    modules = {
        module for source in (*sources, *files.values()) for module in _imported(source)
    }
    modules -= sys.stdlib_module_names
    modules -= {path.rpartition("/")[2].removesuffix(".py") for path in files}
    packages = {_package(module) for module in modules}
    settings = {}
    versions = {package: metadata.version(package) for package in packages}
    if answered:
        name, version, _, backend = answered.split()
        versions[name] = version
        # What jax brings comes in the release that fits.
        for brought in _requirements(name):
            versions.pop(brought, None)
        settings = {f"{name.upper()}_PLATFORMS": backend}
    if extras:
        versions.pop(_OWN, None)
        versions[_with(extras)] = metadata.version(_OWN)
    pinned = tuple(f"{name}=={version}" for name, version in sorted(versions.items()))
    return Needs(pinned, files, settings, platforms)


def _imported(source: str) -> set[str]:
    """The top level modules that a source imports, anywhere in it."""
    names = set()
    try:
        tree = ast.parse(source)
    except SyntaxError:  # it never ran, or it is no cell for a script, which says so
        return names
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases):
                names |= {alias.name for alias in aliases}
            case ast.ImportFrom(module=str(module), level=0):
                names.add(module)
    return {name.partition(".")[0] for name in names}


def _with(extras: Collection[str]) -> str:
    """This package with extras."""
    if isinstance(extras, str):
        raise CannotInstall(
            f"extras is {extras!r}; it takes a list, as in extras: [gpu, tpu]"
        )
    return f"{_OWN}[{','.join(sorted(extras))}]"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _package(module: str) -> str:
    """The package that a module is of; one under edit does not list its own."""
    found = sorted(set(_distributions().get(module, [module])))
    if len(found) == 1 and next(metadata.distributions(name=found[0]), None):
        return found[0]
    raise CannotInstall(
        f"a cell imports {module}, which {' and '.join(found)} have: which package "
        "is it of?"
        if len(found) > 1
        else f"a cell imports {module}, which is of no package that is installed: "
        "install that, or offer the file on the page with {download}"
    )


def _requirements(package: str) -> set[str]:
    found = set()
    for text in metadata.requires(package) or []:
        requirement, _, marker = text.partition(";")
        if "extra" not in marker and (name := _NAME.match(requirement)):
            found.add(name[0].lower().replace("_", "-"))
    return found
