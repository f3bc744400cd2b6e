"""The output of a script, line by line."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scanviz.record.plain_text import is_plain
from scanviz.tui.views import output as printed_module
from scanviz.tui.views.output import Printed, coloured, is_failure


def lines_of(*texts):
    printed = Printed()
    for text in texts:
        printed.take(text)
    return printed.lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("no end", ["no end"]),
        ("\n\nx", ["", "", "x"]),
        ("10 %\r20 %\r\n", ["20 %"]),
        ("\r10 %\r20 %", ["20 %"]),
        ("a longer bar\rshort\x1b[K\nnext", ["short", "next"]),  # tqdm's last line
        ("a\tb", ["a       b"]),
        ("\x1b]0;a title\x07x\x1b(By\x1b7z", ["xyz"]),
        ("\x1b[2J\x1b[Hhome\x07", ["home"]),
        ("\x1b]8;;https://example.org\x1b\\a link\x1b]8;;\x1b\\", ["a link"]),
    ],
)
def test_control_sequences_are_removed(text, lines):
    assert [line.plain for line in lines_of(text)] == lines
    assert [line.plain for line in lines_of(*text)] == lines  # also where it comes a character at a time


def styles_of(line):
    return [(span.start, span.end, str(span.style)) for span in coloured(line).spans]


def test_colours_last_until_they_are_taken_back():
    first, second = lines_of("\x1b[1;38;5;208mlo", "ss\x1b[0m 3\n\x1b[48;2;1;2;3mx")
    assert first.spans[0].start == 0 and first.spans[-1].end == 4
    assert styles_of(second) == [(0, 1, "on #010203")]
    [plain] = lines_of("\x1b[31mred\x1b[m\rplain")
    assert styles_of(plain) == []


def test_errors_and_warnings_are_seen():
    text = "Traceback (most recent call last):\n  File 'x'\nscanviz.record.errors.ShapeError: no\nErrors: 3\n"
    assert [is_failure(line) for line in lines_of(text)] == [True, False, True, False]
    [warning] = lines_of("a.py:3: RuntimeWarning: overflow\n")
    assert styles_of(warning) == [(0, 32, "#c8960c")]


def test_of_very_many_lines_the_last_are_kept(monkeypatch):
    monkeypatch.setattr(printed_module, "MOST_LINES", 10)
    monkeypatch.setattr(printed_module, "SPARE", 2)
    printed = Printed()
    for k in range(100):
        printed.take(f"{k}\n")
    assert printed.gone + len(printed.lines) == 100 and 10 <= len(printed.lines) <= 12
    assert printed.lines[-1].plain == "99"


@given(
    st.lists(
        st.text(st.sampled_from("ab\n\r\b\t\x1b[]0;12ABCDGKmJ\x07\x9b\x00\u200bé漢"), max_size=30), max_size=4
    )
)
@example(["\x07"])
def test_only_text_of_printed_output_reaches_the_terminal(texts):
    lines = lines_of(*texts)
    assert all(is_plain(coloured(line).plain) for line in lines)
    assert not any("link" in str(span.style) for line in lines for span in line.spans)
    whole = "".join(texts)
    if not re.search("[\x1b\r\b\t\x9b\u200b]", whole):  # then it is the text itself
        *ended, begun = whole.split("\n")
        known = [*ended, begun] if begun else ended  # a bell begins a line, though it is not shown
        assert [line.plain for line in lines] == [re.sub("[\x00\x07]", "", line) for line in known]
