"""Options end where the program begins; what stands behind its name is the program's, whatever it looks like."""

import pytest

from scanviz.cli.options import MODE, Option, as_given, options_after_file, parse, positive

OPTIONS = (
    Option(("-o", "--output"), "FILE", ""),
    Option(("-q", "--quiet"), "", ""),
    Option(("--top",), "N", "", positive, 8),
    Option(("--values",), "[=PATTERN]", ""),
    Option(("--closed",), "NAME", "", several=True),
    MODE,
)


@pytest.mark.parametrize(
    "words, rest, given",
    [
        ("--top 3 s.py --top x -o", "s.py --top x -o", {"top": 3}),
        ("--values s.py --values=3", "s.py --values=3", {"values": ""}),
        ("--values=p -q s.py -- -c", "s.py -- -c", {"values": "p", "quiet": True}),
        ("-m mod --top 2", "-m mod --top 2", {"top": 8}),
        ("--values -mmod a -o", "-m mod a -o", {"values": "", "output": None}),
        ("-- s.py --x", "s.py --x", {}),
        ("-oX s.py -1", "s.py -1", {"output": "X"}),
        ("-o - --closed a --closed=b s.py", "s.py", {"output": "-", "closed": ["a", "b"]}),
    ],
)
def test_arguments_after_a_program_are_not_parsed(words, rest, given):
    found = parse(words.split(), OPTIONS, program=True)
    assert found.rest == rest.split()
    assert {name: getattr(found, name) for name in given} == given


@pytest.mark.parametrize(
    "words, rest, given",
    [
        ("f --top 3", "f", {"top": 3}),
        ("a -o c b", "a b", {"output": "c"}),
        ("--values f -q", "f", {"values": "", "quiet": True}),
        ("f -- --top", "f --top", {"top": 8}),
    ],
)
def test_options_stand_anywhere_among_files(words, rest, given):
    found = parse(words.split(), OPTIONS)
    assert found.rest == rest.split()
    assert {name: getattr(found, name) for name in given} == given


def test_options_after_a_file_extend_those_before_it():
    given = parse(["--closed", "a", "--top", "3", "f", "--closed", "b", "--top", "2"], OPTIONS, program=True)
    given = options_after_file(given, OPTIONS, "graph")
    assert (given.rest, given.closed, given.top) == (["f"], ["a", "b"], 2)


def test_parsed_options_convert_back_to_arguments():
    given = parse(["--top=1", "--values", "-q", "s.py"], OPTIONS, program=True)
    again = as_given(given, "top", "values", "quiet", "output")
    assert (
        again == ["--top=1", "--values", "--quiet"]
        and parse([*again, "s.py"], OPTIONS, program=True) == given
    )
