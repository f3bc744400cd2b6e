"""Pages of docs/rewrites/: one for each rewrite of the documents, with all its parts, and counts that the command prints.

That their programs run and print their output is seen in tests/test_docs.py, as for every page.
"""

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.commands import command
from tests.support.readable import assert_readable
from tests.test_docs import blocks

ROOT = Path(__file__).resolve().parent.parent
NINE = (
    "remove_constants_and_unused_inputs_scan", "PushOutNonSeqScan", "PushOutSeqScan", "PushOutScanOutput",
    "PushOutDot1", "ScanInplaceOptimizer", "ScanSaveMem", "ScanMerge", "scan_merge_inouts",
)  # fmt: skip
STAYS = ("ScanInplaceOptimizer",)  # changes the Program, not the graph
PICTURES = ROOT / "docs" / "pictures" / "rewrites"
PAGES = sorted((ROOT / "docs" / "rewrites").glob("*.md"))
PARTS = ["## Before and after", "## Gain", "## Refusal", "## Question"]
NUMBER = r"[\d,.]+(?: [KMG]?i?B)?"
COUNT = re.compile(rf"{NUMBER} → {NUMBER} (?:operations|floating-point|read|rows)")
named = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


def test_each_of_the_nine_rewrites_has_a_page_and_a_row_of_the_guide():
    assert {page.stem for page in PAGES} == set(NINE)
    guide = (ROOT / "docs" / "rewrites.md").read_text("utf-8")
    assert all(f"| [`{rule}`](rewrites/{rule}.md) |" in guide and f"\nrewrites/{rule}\n" in guide for rule in NINE)  # fmt: skip


@named
def test_a_page_is_short_and_has_all_its_parts(page):
    text, rule = page.read_text("utf-8"), page.stem
    title, question = text.split("\n\n", 2)[:2]
    assert title.startswith(f"# {rule}: ") and question.endswith("?")
    assert re.findall(r"^## .*$", text, re.MULTILINE) == PARTS
    assert f"](../pictures/rewrites/{rule}.svg)" in text  # GitHub shows it, too
    assert f'src="../films/{rule}.html"' in text and text.count("<details><summary>Answer") == 1
    program = next(blocks(text)).text
    assert len([line for line in program.splitlines() if line]) <= 11
    assert f'\nrule = "{rule}"\n' in f"\n{text}"
    prose = re.sub(r"^```.*?^```$|<[^>]*>", "", text, flags=re.MULTILINE | re.DOTALL)
    assert len(prose.split()) <= 250


@named
def test_counts_and_pictures_of_a_page_are_those_of_its_program(page, tmp_path):
    text = page.read_text("utf-8")
    (tmp_path / "page.py").write_text(next(blocks(text)).text, "utf-8")
    printed = re.sub(
        r"-\s+|\s+", lambda gap: gap[0].rstrip() or " ", command("rewrites", "page.py", cwd=tmp_path).stderr
    )
    (counted,) = re.findall(r"^- Counted: (.*)$", text, re.MULTILINE)
    counts = COUNT.findall(counted)
    assert counts or page.stem in STAYS
    assert all(f" {count}" in printed for count in counts), counts
    command("graph", "--diff", page.stem, "-o", "page.svg", "page.py", cwd=tmp_path)
    drawn, kept = (tmp_path / "page.svg").read_text("utf-8"), PICTURES / f"{page.stem}.svg"
    if os.environ.get("SCANVIZ_UPDATE_SNAPSHOTS"):
        kept.write_text(drawn, "utf-8")
    assert kept.read_text("utf-8") == drawn, "SCANVIZ_UPDATE_SNAPSHOTS=1 pytest tests/test_rewrite_pages.py"
    assert page.stem in STAYS or re.search(r">[+−~] ", drawn)
    assert_readable(drawn, 784)  # pixels of the column: docs/_static/scanviz.css


@named
def test_the_gain_of_a_page_is_that_of_the_last_results(page, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "1")  # as importing it does: so it is taken back
    from rewrite_pages import in_words

    rows = json.loads((ROOT / "benchmarks" / "results" / "rewrite_pages.json").read_text("utf-8"))["rows"]
    (row,) = [row for row in rows if row["rule"] == page.stem]
    assert f"\n{in_words(row)}\n" in page.read_text("utf-8")
