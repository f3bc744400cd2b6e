"""What a script prints as a terminal would show it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.record.plain_text import is_plain
from scanviz.tui import printed as printed_module
from scanviz.tui.printed import Printed


def shown(*texts):
    """Return the lines after some texts."""
    printed = Printed()
    for text in texts:
        printed.take(text)
    return [line.text.rstrip() for line in printed.lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb\n", ["a", "b"]),
        ("no end", ["no end"]),
        ("\n\nx", ["", "", "x"]),
        ("10 %\r20 %\r\n", ["20 %"]),
        ("a longer bar\rshort\x1b[K\nnext", ["short", "next"]),  # tqdm's last line
        ("one\ntwo\nthree\x1b[2A\x1b[2K\r1\x1b[2B\r3", ["1", "two", "3hree"]),  # a bar of several lines
        ("one\n\x1b[A\x1b[2Kanother\n", ["another"]),
        ("abc\b\bX", ["aXc"]),
        ("a\tb", ["a       b"]),
        ("\x1b]0;a title\x07x\x1b(By\x1b7z", ["xyz"]),
        ("\x1b[2J\x1b[Hhome\x07", ["home"]),
        ("ab\x1b[5Gc\x1b[2Dd", ["ab dc"]),
    ],
)
def test_what_steers_a_terminal_steers_the_lines(text, lines):
    assert shown(text) == lines
    assert shown(*text) == lines  # also where it comes a character at a time


def styles_of(printed):
    return [(span.start, span.end, str(span.style)) for span in printed.lines[-1].styled(0, 80).spans]


def test_colours_last_until_they_are_taken_back_and_writing_over_takes_them_away():
    printed = Printed()
    printed.take("\x1b[1;38;5;208mloss\x1b[0m 3\n\x1b[48;2;1;2;3mx")
    assert styles_of(printed) == [(0, 1, "on #010203")]
    printed.take("\x1b[m\rplain\n")
    printed.take("\x1b[4mabcdef\x1b[0m\r  zz")
    assert styles_of(printed) == [(4, 6, "underline")]
    assert printed.lines[0].spans[0][:2] == (0, 4)


def test_what_went_wrong_is_seen():
    printed = Printed()
    printed.take(
        "Traceback (most recent call last):\n  File 'x'\nscanviz.record.errors.ShapeError: no\nErrors: 3\n"
    )
    assert [line.failed for line in printed.lines] == [True, False, True, False]
    printed.take("a.py:3: RuntimeWarning: overflow\n")
    assert styles_of(printed) == [(0, 32, "#c8960c")]


def test_of_very_many_lines_the_last_are_kept(monkeypatch):
    monkeypatch.setattr(printed_module, "MOST_LINES", 10)
    monkeypatch.setattr(printed_module, "SPARE", 2)
    printed = Printed()
    for k in range(100):
        printed.take(f"{k}\n")
    assert printed.gone + len(printed.lines) == 100 and 10 <= len(printed.lines) <= 12
    assert printed.lines[-1].text == "99"
    printed.take("\x1b[500Aabove\n")
    assert printed.lines[0].text == "above"


@given(
    st.lists(st.text(st.sampled_from("ab\n\r\b\t\x1b[]0;12ABCDGKmJ\x07\x9b\x00é漢"), max_size=30), max_size=4)
)
def test_whatever_is_printed_nothing_of_it_reaches_the_terminal_but_text(texts):
    printed = Printed()
    for text in texts:
        printed.take(text)
    for line in printed.lines:
        assert is_plain(line.text) and is_plain(line.styled(0, 200).plain)
        assert all(begin < end <= len(line.text) for begin, end, _ in line.spans)
    whole = "".join(texts)
    if not re.search("[\x1b\r\b\t\x9b]", whole):  # then it is the text itself
        known = re.sub("[\x00\x07]", "", whole).split("\n")
        assert [line.text for line in printed.lines] == (known[:-1] if known[-1] == "" else known)
