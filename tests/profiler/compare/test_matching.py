"""Matching of programs that were edited, renamed or copied to another file."""

import pytest
from msgspec.structs import replace

from scanviz.profiler.compare.comparison import Comparison, compare
from scanviz.profiler.compare.intervals import ConfidenceInterval
from scanviz.profiler.compare.matching import head
from scanviz.profiler.compare.report import headline, render_comparison
from scanviz.record.loops import TierRecord
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


def test_a_replaced_operation_and_its_replacement_are_both_shown() -> None:
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


def test_the_removed_one_of_two_equal_operations_is_found_by_its_line() -> None:
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


def test_steps_that_ran_by_other_code_do_not_come_first() -> None:
    a, b = repeated(8, 1, jitter=0.01, times=SLOW_DOT), repeated(8, 50, jitter=0.01)

    def on(tier: str, record: ProfileRecord) -> ProfileRecord:
        tiers = (TierRecord(tier, "", 1, 0),)
        return with_loop(
            replace(record, repeats=tuple(with_loop(one, tiers=tiers) for one in record.repeats)), tiers=tiers
        )

    comparison = compare(on("numpy", a), on("native", b), rounds=True)
    assert headline(comparison) == "your function train is 1.2 times faster: 240 → 195 µs a call"
    loops = replace(comparison, rows=tuple(row for row in comparison.rows if row.figure.kind == "loop"))
    assert headline(loops) == (
        "your loop rnn is 1.3 times faster: 220 → 175 µs a run, but by other code (A numpy, B native)"
    )


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


def test_intervals_that_are_too_wide_have_no_smallest_visible_change() -> None:
    found = compare(run(), run())
    wide = ConfidenceInterval(1.0, 1e-6, 1e6)
    noisy = replace(found, rows=tuple(replace(row, interval=wide) for row in found.rows))
    assert headline(noisy).endswith("a run; too noisy to tell")
