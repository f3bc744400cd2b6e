"""What is the same in a program that was edited, renamed or copied to another file."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from scanviz.profiler.compare.comparison import Comparison, compare
from scanviz.profiler.compare.matching import head
from scanviz.profiler.compare.report import headline, render_comparison
from scanviz.record.model import OperationRecord, ProfileRecord, SourceRecord
from tests.profiler.compare.test_compare import SLOW_DOT, TEXTS, repeated, run, verdicts, with_loop

LINES = [*TEXTS.values()]


def of_operations(*operations: tuple[str, str], record: ProfileRecord | None = None) -> ProfileRecord:
    """A run whose step has these operations, each an expression and the text of its line."""
    made = tuple(
        OperationRecord(
            k, label, "operation", "float64[8]", SourceRecord("rnn.py", 20 + k, text), None, 96, 700.0
        )
        for k, (label, text) in enumerate(operations)
    )
    return with_loop(record or run(), operations=made)


def operation_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    rows = [row for row in comparison.rows if row.figure.kind == "operation"]
    return sorted((row.was or row.figure.name, row.figure.name, row.verdict) for row in rows)


def in_another_file(record: ProfileRecord, file: str = "faster.py") -> ProfileRecord:
    def moved(thing):
        return replace(thing, source=replace(thing.source, file=file, line=thing.source.line + 7))

    [loop], [function] = record.loops, record.functions
    loop = replace(moved(loop), operations=tuple(map(moved, loop.operations)), name=f"scan at {file}:18")
    return replace(record, script=file, loops=(loop,), functions=(moved(function),))


def test_a_copy_in_another_file_is_the_same_program() -> None:
    before = run(name="scan at rnn.py:11")
    comparison = compare(before, in_another_file(run()))
    assert not comparison.unlike
    assert not comparison.warnings
    assert len(comparison.rows) == 5
    assert {row.verdict for row in comparison.rows} == {"same"}
    assert render_comparison(comparison).startswith("rnn.py → faster.py\n")


def test_an_operation_is_the_same_when_its_line_is_edited() -> None:
    a = of_operations(("x[t] @ W", "a = x_t @ W"), ("tanh(… + …)", "h = T.tanh(a + b)"))
    b = of_operations(("x[t] @ W", "first = x_t @ W"), ("tanh(… + …)", "return T.tanh(first + b)"))
    assert operation_rows(compare(a, b)) == [
        ("tanh(… + …)", "tanh(… + …)", "same"),
        ("x[t] @ W", "x[t] @ W", "same"),
    ]


def test_an_operation_is_the_same_when_what_it_reads_was_edited_and_what_came_between_is_new() -> None:
    a = of_operations(("x[t] @ W", LINES[0]), ("tanh(… + …)", LINES[2]))
    b = of_operations(("x[t] @ W", LINES[0]), ("exp(… + …)", LINES[2]), ("tanh(exp(…))", LINES[2]))
    assert operation_rows(compare(a, b)) == [
        ("exp(… + …)", "exp(… + …)", "new"),
        ("tanh(… + …)", "tanh(exp(…))", "same"),
        ("x[t] @ W", "x[t] @ W", "same"),
    ]


def test_one_operation_in_the_place_of_another_has_replaced_it_and_both_are_told() -> None:
    a = of_operations(("x[t] @ W", "u"), ("tanh(…)", "h = T.tanh(u)"), ("index(h)", "y"))
    b = of_operations(("x[t] @ W", "u"), ("erf(…)", "h = T.erf(u)"), ("index(h)", "y"))
    b = with_loop(
        b,
        operations=tuple(
            replace(o, typical_ns=5000.0) if "erf" in o.label else o for o in b.loops[0].operations
        ),
    )
    a, b = (replace(side, repeats=(side,) * 4) for side in (a, b))
    comparison = compare(a, b)
    row = next(row for row in comparison.rows if row.figure.kind == "operation" and row.was)
    assert (row.was, row.figure.name, row.verdict) == ("tanh(…)", "erf(…)", "slower")
    assert "in A: tanh(…)" in render_comparison(comparison)


def test_of_two_equal_operations_that_which_was_taken_away_is_found_by_its_line() -> None:
    a = of_operations(("exp(·)", "u = T.exp(a)"), ("exp(·)", "v = T.exp(b)"), ("tanh(·)", "w"))
    b = of_operations(("exp(·)", "v = T.exp(b)"), ("tanh(·)", "w"))
    gone = [row for row in compare(a, b).rows if row.verdict == "gone"]
    assert [row.figure.source.text for row in gone] == ["u = T.exp(a)"]


def test_the_net_figure_comes_first() -> None:
    a, b = repeated(8, 1, jitter=0.01, times=SLOW_DOT), repeated(8, 50, jitter=0.01)
    comparison = compare(a, b, rounds=True)
    assert verdicts(comparison)["rnn"] == "faster"
    assert headline(comparison) == "your loop rnn is 1.3 times faster: 220 → 175 µs a run"
    assert render_comparison(comparison).splitlines()[2] == headline(comparison)
    assert headline(compare(a, a)).startswith("no difference was found: loop rnn 220 → 220 µs a run; one of ")


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("(x @ W) + (tanh(a))", "+"),
        ("index[-1](h)", "index"),
        ("x[t]", "x[t]"),
        ("f{axis=0}(g(x), (a))", "f"),
    ],
)
def test_the_kind_of_an_operation_is_read_from_its_expression(label: str, kind: str) -> None:
    assert head(label) == kind
