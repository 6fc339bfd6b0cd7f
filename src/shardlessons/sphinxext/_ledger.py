"""The ledger: every fact that the pages state, and whether it holds."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.domains import Domain
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Fact:
    """One stated value: where it stands, what was asked, what was found.

    ``raised`` says that asking raised what is not stated: ``found`` is an
    error then, and no value. ``recorded`` says that this platform could not
    ask: then there is no ``found``, and whether it ``holds`` is not known.
    ``unanswered`` says that ``found`` is the error of a cell above, without
    which there is no answer. ``mistagged`` says of an ``expect`` that its
    cell raised and is not tagged so, or the other way round. ``occurrence``
    counts the facts of a page with one form and expression, from 1.
    """

    page: str
    path: str
    line: int
    column: int
    form: str
    expression: str
    written: str
    found: str | None
    holds: bool | None
    raised: bool
    recorded: bool = False
    unanswered: bool = False
    mistagged: bool = False
    occurrence: int = 1

    @property
    def anchor(self) -> str:
        """The fact's name in links to its page, whatever its line."""
        asked = f"{self.form}\n{self.expression}\n{self.occurrence}"
        return f"fact-{hashlib.sha256(asked.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, order=True)
class Finding:
    """What would be a warning, in report mode."""

    page: str
    path: str
    line: int
    kind: str
    message: str


@dataclass(frozen=True, order=True)
class Mark:
    """A piece of text that its page marks as notation, not as a fact."""

    page: str
    line: int
    text: str


class Ledger(Domain):
    """Facts and notation marks by page, kept in Sphinx's environment."""

    name = "facts"
    label = "facts"
    initial_data = {
        "facts": {},
        "marks": {},
        "failed": {},
        "asked": {},
        "recorded": {},
        "findings": {},
        "tables": {},
    }
    data_version = 3

    def add_fact(self, fact: Fact) -> None:
        self.data["facts"].setdefault(fact.page, []).append(fact)

    def add_mark(self, mark: Mark) -> None:
        self.data["marks"].setdefault(mark.page, []).append(mark)

    def add_finding(self, finding: Finding) -> None:
        self.data["findings"].setdefault(finding.page, []).append(finding)

    def add_failure(self, page: str) -> None:
        """Note an error of any kind, so that the page is read again."""
        self.data["failed"][page] = True

    def set_asked(self, page: str, versions: str, day: str) -> None:
        """Note of which jax, and on which day, a page's facts were asked."""
        self.data["asked"][page] = (versions, day)

    def set_recorded(self, page: str, platforms: tuple[str, ...]) -> None:
        """Note that a page's facts are as recorded on these platforms."""
        self.data["recorded"][page] = platforms

    def set_table(self, page: str) -> None:
        """Note that a page has the table of facts by release."""
        self.data["tables"][page] = True

    @property
    def table(self) -> str | None:
        """The page that has it, if one does."""
        return next(iter(sorted(self.data["tables"])), None)

    def facts(self, page: str | None = None) -> list[Fact]:
        """All facts, or those of one page, in the order of the text."""
        return _all(self.data["facts"], page)

    def marks(self, page: str | None = None) -> list[Mark]:
        return _all(self.data["marks"], page)

    def findings(self) -> list[Finding]:
        return _all(self.data["findings"], None)

    def asked(self, page: str) -> tuple[str, str] | None:
        return self.data["asked"].get(page)

    def recorded(self, page: str) -> tuple[str, ...] | None:
        return self.data["recorded"].get(page)

    def failed(self) -> list[str]:
        return sorted(self.data["failed"])

    # Sphinx's side of a domain: forget a page, take over what another
    # process read, nothing to link to.

    def clear_doc(self, docname: str) -> None:
        for by_page in self.data.values():
            if isinstance(by_page, dict):
                by_page.pop(docname, None)

    def merge_domaindata(self, docnames: Any, otherdata: dict[str, Any]) -> None:
        for key in self.initial_data:
            for docname in docnames:
                if docname in otherdata[key]:
                    self.data[key][docname] = otherdata[key][docname]

    def resolve_any_xref(self, *_: Any, **__: Any) -> list[Any]:
        return []


def _all(by_page: dict[str, list[Any]], page: str | None) -> list[Any]:
    pages = sorted(by_page) if page is None else [page]
    return [entry for name in pages for entry in by_page.get(name, [])]


def ledger_of(env: BuildEnvironment) -> Ledger:
    """The ledger of a build."""
    domain = env.get_domain(Ledger.name)
    assert isinstance(domain, Ledger)
    return domain


def write(path: Path, ledger: Ledger) -> dict[str, int]:
    """Write ``facts.json`` and return its counts."""
    facts, marks = sorted(ledger.facts()), sorted(ledger.marks())
    counts = {
        "stated": len(facts),
        "proven": sum(fact.holds is True for fact in facts),
        "recorded": sum(fact.recorded for fact in facts),
        "notation": len(marks),
    }
    answered = sorted({v for v, _ in ledger.data["asked"].values() if v})
    content = {
        "asked": answered,
        "counts": counts,
        "facts": _rows(facts),
        "findings": _rows(sorted(ledger.findings())),
        "notation": _rows(marks),
    }
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return counts


def _rows(entries: Iterable[Any]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(entry) for entry in entries]


# --- the build's side -------------------------------------------------------


def _read_again(app: Sphinx, env: BuildEnvironment, *_: Any) -> list[str]:
    """The pages that failed, and those read by an older state of the package."""
    package = Path(__file__).parents[1]
    newest = max(file.stat().st_mtime for file in package.rglob("*.py"))
    return [
        page
        for page in sorted(env.found_docs)
        if page in ledger_of(env).failed()
        or env.all_docs.get(page, 0) < newest * 1_000_000  # microseconds
    ]


def _finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None:
        return
    counts = write(Path(app.outdir) / "facts.json", ledger_of(app.env))
    logger.info(
        "facts: %(stated)d stated, %(proven)d proven, %(recorded)d recorded, "
        "%(notation)d marked as notation",
        counts,
    )


def setup_ledger(app: Sphinx) -> None:
    """Keep the ledger, write it, and read pages that failed again."""
    app.add_domain(Ledger)
    app.connect("env-get-outdated", _read_again)
    app.connect("build-finished", _finish)
