"""Helps, and lists of commands, rules and what works here, are as wide as the terminal that shows them."""

import pytest

from scanviz.cli import COMMANDS
from scanviz.cli.fitted import fitted
from tests.cli.commands import command


@pytest.mark.parametrize(
    "words", [("--help",), ("rewrites", "--rules"), *((name, "--help") for name in COMMANDS)]
)
def test_helps_and_lists_fit_a_terminal_of_80_columns(words, tmp_path):
    shown = command(*words, cwd=tmp_path, COLUMNS="80")
    assert shown.returncode == 0 and max(map(len, shown.stdout.splitlines())) <= 80
    wide = command(*words, cwd=tmp_path, COLUMNS="200")
    assert shown.stdout.split() == wide.stdout.split()


def test_long_lines_wrap_below_their_last_column_and_short_lines_stay():
    text = "Short.\nStays.\n\n  -o, --output FILE   where the profile is saved\n  plain words that are too long\n"
    assert fitted(text, 32).split("\n") == [
        "Short.", "Stays.", "", "  -o, --output FILE   where the", "  profile is saved", "  plain words that are too long", "",
    ]  # fmt: skip
    assert fitted(text, 44).split("\n")[3:5] == [
        "  -o, --output FILE   where the profile is",
        " " * 22 + "saved",
    ]
    assert fitted(text, 200) == text
