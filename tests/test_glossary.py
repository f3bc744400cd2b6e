"""The glossary: one entry a word, all links lead somewhere, and the words are those of the code."""

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.summary.glosses import GLOSSES, gloss

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = [line.split(" | ")[0].strip("| ") for line in PAGE.splitlines() if line.startswith("| ")]
WORDS = [word for entry in ENTRIES if entry != "word" for word in re.split(r", ", re.sub(r"\*", "", entry))]


def code():
    return "\n".join(path.read_text(encoding="utf-8").lower() for path in (ROOT / "scanviz").rglob("*.py"))


def test_the_meaning_of_a_word_in_one_line_begins_its_entry():
    entries = dict(line.strip("| ").split(" | ")[:2] for line in PAGE.splitlines() if line.startswith("| "))
    for word, meaning in GLOSSES.items():
        written = re.sub(r"[*]|\[([^]]*)\]\([^)]*\)", r"\1", entries[word])
        assert written.startswith(meaning) and len(meaning) < 100, word


def test_every_kind_of_loop_variable_has_a_line():
    kinds = get_args(get_type_hints(LoopVariableRecord)["kind"])
    assert kinds and all(gloss(kind) != kind for kind in kinds)


def test_a_word_has_one_entry():
    assert len(WORDS) > 60 and len(set(WORDS)) == len(WORDS)


def test_a_word_in_italics_has_an_entry():
    for word in re.findall(r"(?<!\*)\*(\w[\w ]*)\*(?!\*)", PAGE):
        assert word == "italics" or {word, word.removesuffix("s")} & set(WORDS), word


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)]+)\)", PAGE))))
def test_a_link_leads_to_a_page(target):
    assert (ROOT / "docs" / "reference" / target.partition("#")[0]).is_file()


def test_the_words_are_those_of_the_code():
    text = code()
    lacking = [word for word in WORDS if not re.search(rf"{word.lower().replace(' ', '[ _-]?')}", text)]
    assert not lacking
