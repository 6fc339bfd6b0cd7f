"""The site as built: what a reader copies, sees and finds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from site_builder import ROOT, Build
from sphinx.search.en import SearchEnglish

from shardlessons.sphinxext._history import load
from shardlessons.sphinxext._platforms import this_platform

CHAPTER = [
    "propagation",
    "placement",
    "ahead-of-time",
    "bytes",
    "traffic",
    "several-hosts",
    "other-chips",
    "axis-types",
    "check-yourself",
]
BY_SYMPTOM = ["surprises", "migrate"]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


@dataclass(frozen=True)
class Block:
    """A block of code that can be copied, and the output shown below it."""

    page: str
    code: str
    shown: str | None
    error: str | None


def soup(built: Build, page: str) -> BeautifulSoup:
    return BeautifulSoup(built.html(page), "html.parser")


def prelude_of(block: Tag) -> str:
    """The source that the copy button puts in front of a block."""
    prelude = block.find_previous("div", class_="tag_prelude")
    if prelude is None or prelude in block.parents:
        return ""
    return prelude.select_one("div.cell_input pre").get_text() + "\n"


def cells(built: Build, page: str) -> list[Block]:
    blocks = []
    for cell in soup(built, page).select("div.cell"):
        code = cell.select_one("div.cell_input pre")
        outputs = cell.select("div.cell_output pre")
        assert code is not None
        text = "".join(output.get_text() for output in outputs)
        raised = cell.select_one("div.cell_output .error") is not None
        blocks.append(
            Block(
                page,
                prelude_of(code) + code.get_text(),
                text if outputs and not raised else None,
                text.split(":")[0] if raised else None,
            )
        )
    return blocks


def examples(built: Build, page: str) -> list[Block]:
    """The examples of answers, as the copy button hands them out."""
    return [
        Block(page, prelude_of(pre) + without_prompts(pre), None, raises(pre))
        for pre in soup(built, page).select("details.question pre")
    ]


def without_prompts(pre: Tag) -> str:
    # What conf.py has sphinx-copybutton do.
    return "\n".join(
        line[4:]
        for line in pre.get_text().splitlines()
        if line.startswith((">>> ", "... "))
    )


def raises(pre: Tag) -> str | None:
    found = re.search(r"^Traceback .*\n(?:\w+\.)*(\w+): ", pre.get_text(), re.MULTILINE)
    return found[1] if found else None


def test_every_block_that_can_be_copied_runs_alone(
    real_site: tuple[Path, Build], tell: Callable[[str], None]
) -> None:
    _, built = real_site
    recorded = pages_not_asked(built)
    blocks = [
        block
        for page in [*CHAPTER, *BY_SYMPTOM, "index", "authors"]
        if page not in recorded  # another platform's compilers would have to run
        for block in [*cells(built, page), *examples(built, page)]
    ]
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("run_blocks.py")],
        input=json.dumps([block.code for block in blocks]),
        capture_output=True,
        text=True,
        check=True,
    )
    answers = json.loads(done.stdout)

    tell(f"blocks run alone: {len(blocks)}")
    if recorded:
        tell(f"pages that {this_platform()} cannot ask: {sorted(recorded)}")

    for block, answer in zip(blocks, answers, strict=True):
        assert (block.error, block.code) == (answer["error"], block.code)
        if block.shown is not None:
            shown, printed = map(anywhere, (block.shown, answer["printed"]))
            assert (shown, block.code) == (printed, block.code)


def pages_not_asked(built: Build) -> set[str]:
    """The pages whose values are as recorded on another platform."""
    return {f["page"] for f in built.ledger["facts"] if f["recorded"]}


def anywhere(text: str) -> str:
    """A text without the lines of code that it names: a block has its own."""
    return re.sub(r"\S+:\d+ in ", "FILE:LINE in ", text)


@pytest.mark.parametrize("page", PAGES)
def test_code_fits_its_column(page: str, real_site: tuple[Path, Build]) -> None:
    _, built = real_site
    too_long = [
        line
        for pre in soup(built, page).select("div.cell_input pre, details.question pre")
        for line in pre.get_text().splitlines()
        if len(line) > 76
    ]

    assert [] == too_long


def test_values_of_other_releases_keep_their_lines(
    real_site: tuple[Path, Build],
) -> None:
    _, built = real_site
    shown = {pre.get_text() for pre in soup(built, "since-when").select("dd pre")}
    history = load(ROOT / "docs/since.json")
    values = {
        stretch.value.text
        for stretches_by_key in history.changed.values()
        for stretches in stretches_by_key.values()
        for stretch in stretches
    }
    several = {value for value in values if "\n" in value}

    assert 100 < len(several)
    assert several <= shown


@pytest.mark.parametrize("page", PAGES)
def test_the_foot_says_what_the_ledger_says(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    facts = [f for f in built.ledger["facts"] if f["page"] == page]
    if page in pages_not_asked(built):
        pytest.skip(f"{this_platform()} cannot ask it; test_recorded.py has its foot")
    foot = soup(built, page).select_one(".facts-foot")

    if not facts:
        # The explorer's own foot counts the answers of its sweep.
        assert (foot is not None) == (page == "explorer")
        return
    (versions,) = built.ledger["asked"]
    of_whom = "" if page == "authors" else f"of {versions} "  # that one has no jax
    said = re.sub(r"\d{4}-\d\d-\d\d", "DAY", foot.get_text().strip())

    assert (
        f"{len(facts)} fact{'s'[: len(facts) != 1]} on this page, "
        f"asked {of_whom}on DAY: each one holds." == said
    )


@pytest.mark.parametrize("page", PAGES)
def test_every_picture_has_a_number_a_caption_and_words(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    tree = soup(built, page)
    for picture in tree.select(".drawing > svg"):
        figure = picture.find_parent("figure")
        named = [
            tree.find(id=name).get_text()
            for name in picture["aria-labelledby"].split()
        ]

        assert figure is not None
        assert re.match(r"Figure \d+\.\d+ \S", figure.figcaption.get_text().strip())
        assert "img" == picture["role"]
        assert 2 == len(list(filter(None, named)))


@pytest.mark.parametrize("page", [*CHAPTER, *BY_SYMPTOM])
def test_every_table_has_a_number_a_caption_and_a_name(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    for table in soup(built, page).select("table.table"):
        number = r"Table \d+\.\d+ \S" if page in CHAPTER else r"Table \d+ \S"

        assert re.match(number, table.caption.get_text().strip())
        assert table["id"].startswith("table-")


@pytest.mark.parametrize("page", PAGES)
def test_no_id_stands_twice_on_a_page(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    ids = [node["id"] for node in soup(built, page).select("[id]")]

    assert sorted(set(ids)) == sorted(ids)


def test_the_pictures_of_the_chapter(real_site: tuple[Path, Build]) -> None:
    _, built = real_site
    counts = {page: len(soup(built, page).select("figure .drawing")) for page in PAGES}

    assert {"propagation": 8, "bytes": 1, "traffic": 3} == {
        page: count for page, count in counts.items() if count
    }


def test_stated_is_proven(
    real_site: tuple[Path, Build], tell: Callable[[str], None]
) -> None:
    _, built = real_site
    counts = built.ledger["counts"]

    tell(f"facts: {counts}")

    assert counts["stated"] == counts["proven"] + counts["recorded"]
    assert counts["stated"] == len(built.ledger["facts"])
    assert counts["notation"] == len(built.ledger["notation"])


@pytest.mark.parametrize("page", CHAPTER)
def test_every_page_of_the_chapter_asks_two_questions(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    questions = soup(built, page).select("details.question")

    assert 2 <= len(questions)
    assert all(not question.has_attr("open") for question in questions)


@pytest.mark.parametrize("page", CHAPTER + BY_SYMPTOM)
def test_the_index_leads_to_every_page(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    links = {a["href"] for a in soup(built, "index").select("article a[href]")}

    assert f"{page}.html" in links


@pytest.mark.parametrize("page", PAGES)
def test_a_term_says_what_it_means_where_it_is_used(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    glossary = soup(built, "glossary")
    # In the order in which the script takes them.
    tipped = soup(built, page).select(".fact, a:has(> .std-term)")
    for element, tip in zip(tipped, tips(built, page), strict=True):
        if element.name == "a":
            anchor = element["href"].partition("#")[2]
            meaning = glossary.select_one(f"dt#{anchor} + dd")

            assert meaning is not None
            assert " ".join(meaning.get_text().split()) == tip


def tips(built: Build, page: str) -> list[str]:
    """What a page's script shows of values and terms."""
    file = built.out / f"_tips/{page}.js"
    text = file.read_text("utf-8") if file.exists() else "tips=[]"
    return json.loads(text.removeprefix("tips="))


@pytest.mark.parametrize("page", PAGES)
def test_no_link_is_where_a_click_opens_an_answer(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site

    assert [] == soup(built, page).select("summary a")


def test_each_term_of_the_chapter_is_explained(
    real_site: tuple[Path, Build],
) -> None:
    _, built = real_site
    wanted = {
        "XLA", "SPMD", "Shardy", "mesh", "axis", "spec", "committed", "lowering",
        "collective", "all-gather", "all-reduce", "reduce-scatter", "all-to-all",
        "ragged-all-to-all", "collective-permute", "collective-broadcast",
        "per-device bytes", "replica group", "donation",
    }  # fmt: skip
    terms = {
        term.get_text().strip().removesuffix("#").strip()
        for term in soup(built, "glossary").select("dl.glossary dt")
    }

    assert set() == wanted - terms


def search(built: Build, query: str) -> set[str]:
    """The pages that have every word of a query, by the rules of Sphinx's search."""
    text = (built.out / "searchindex.js").read_text("utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    language = SearchEnglish({})
    words = {
        language.stem(word)
        for word in re.findall(r"\w+", query.lower())
        if word not in language.stopwords and not word.isdigit()
    }
    pages = set(index["docnames"])
    for word in words:
        pages &= {
            index["docnames"][page]
            for terms in (index["terms"], index["titleterms"])
            for page in _as_list(terms.get(word, []))
        }
    return pages


def _as_list(pages: int | list[int]) -> list[int]:
    """Sphinx writes one page as a number."""
    return [pages] if isinstance(pages, int) else pages


def test_the_search_finds_no_page_by_a_word_of_none(
    real_site: tuple[Path, Build],
) -> None:
    _, built = real_site

    assert "surprises" in search(built, "sharded dims")
    assert set() == search(built, "sharded dims xylophone")


@pytest.mark.parametrize("page", BY_SYMPTOM)
def test_the_search_finds_a_page_by_the_errors_on_it(
    page: str, real_site: tuple[Path, Build]
) -> None:
    _, built = real_site
    shown = [
        error.get_text() for error in soup(built, page).select(".cell_output .error")
    ]
    stated = [
        fact["written"]
        for fact in built.ledger["facts"]
        if fact["page"] == page
        and fact["form"] == "check"
        and re.match(r"\w+(Error|Warning): ", fact["written"])
    ]
    # What a reader pastes: the first sentence, without the class.
    pasted = {
        error.partition(": ")[2].partition(". ")[0] for error in [*shown, *stated]
    }
    lost = {text for text in pasted if page not in search(built, text)}

    assert len(pasted) > 5
    assert set() == lost
