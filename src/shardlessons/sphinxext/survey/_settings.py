"""What a survey is to do, from ``[tool.shardlessons.versions]``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

NEWEST = "newest"
_TABLE = "tool.shardlessons.versions"


class SettingsError(ValueError):
    """``pyproject.toml`` does not say what a survey needs."""


@dataclass(frozen=True)
class Settings:
    """The settings of a project.

    ``releases`` are oldest first, the newest that ``uv.lock`` has among them.
    ``groups`` are the dependency groups that each environment holds.
    ``command`` runs in each environment, in the project's folder, once the
    pages are built; it may be empty.
    """

    root: Path
    releases: tuple[str, ...]
    groups: tuple[str, ...]
    command: tuple[str, ...]
    pythons: SpecifierSet

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def file(self) -> Path:
        return self.docs / "since.json"

    @property
    def build(self) -> Path:
        return self.root / "build" / "survey"


def settings(root: Path) -> Settings:
    """Read a project's settings.

    Raises:
        SettingsError: the table, or one of its keys, is not there.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    table = project.get("tool", {}).get("shardlessons", {}).get("versions")
    if table is None:
        raise SettingsError(
            f"{root / 'pyproject.toml'} has no [{_TABLE}]: give it releases, a "
            "list of versions of jax, and groups, a list of dependency groups"
        )
    unknown = set(table) ^ {"releases", "groups", "command"}
    if unknown:
        raise SettingsError(
            f"[{_TABLE}] has the keys {sorted(table)}, and needs releases, groups "
            "and command, which may be empty"
        )
    lock = tomllib.loads((root / "uv.lock").read_text("utf-8"))
    locked = {p["version"] for p in lock["package"] if p["name"] == "jax"}
    releases = {*table["releases"], max(locked, key=Version)}
    return Settings(
        root=root,
        releases=tuple(sorted(releases, key=Version)),
        groups=tuple(table["groups"]),
        command=tuple(table["command"]),
        pythons=SpecifierSet(project["project"]["requires-python"]),
    )
