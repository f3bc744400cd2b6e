"""Mutations that show which faults tests find (``tests/mutations.toml``): each fits the code and stays valid Python."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MUTATIONS = tomllib.loads((ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8"))["mutation"]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation["new"].strip())
def test_a_wrong_line_still_fits_the_code(mutation):
    text = (ROOT / mutation["file"]).read_text(encoding="utf-8")
    assert text.count(mutation["old"]) == 1
    ast.parse(text.replace(mutation["old"], mutation["new"]))
