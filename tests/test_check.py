"""How a value in the text is shown."""

from __future__ import annotations

import re

import pytest
from site_builder import build, small_site

ERROR = "AttributeError: module 'math' has no attribute 'pie'"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("check")
    page = (
        "# A page\n\n```{code-cell} python\nimport math\n\ndef outcome(f):\n"
        "    try:\n        return f()\n    except Exception as error:\n"
        "        return error\n```\n\n"
        f"- {{check}}`{ERROR} <outcome(lambda: math.pie)>`\n"
        "- {check}`no name's here <\"no name's here\">`\n"
        "- {check}`1,024 <2**10>`\n"
    )
    built = build(small_site(folder, page), folder / "out", "-W")

    assert [] == built.said
    return built.html("index")


def test_an_error_is_shown_as_code_with_its_own_quotes(shown: str) -> None:
    codes = re.findall(r"<code[^>]*>(.*?)</code>", shown)
    texts = [re.sub(r"<[^>]+>", "", code) for code in codes]

    assert [ERROR] == texts


@pytest.mark.parametrize("text", ["no name\u2019s here", "1,024"])
def test_words_and_numbers_are_shown_as_text(text: str, shown: str) -> None:
    assert f">{text}</span>" in shown
