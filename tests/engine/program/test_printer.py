"""Programs as text."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.ops.control import ifelse
from scanviz.engine.program.lower import lower
from scanviz.engine.program.planned import notes_of
from scanviz.engine.program.printer import loop_names, program_text

X, V, N = T.matrix("x"), T.vector("v"), T.lscalar("n")


def text_of(outputs, inputs=(X, V, N), **options):
    return program_text(lower(list(inputs), list(outputs), "f"), lines=False, **options)


def test_a_listing_prints_a_loop_with_inputs_step_and_outputs():
    rows, _ = scanviz.scan(lambda x_t, v: T.tanh(x_t * 2.0 + v), X, V, name="rnn")
    text = text_of([rows])
    assert [" ".join(line.split()) for line in text.splitlines()] == [
        "program f(x: float64[?, ?], v%1: float64[?], n: int64[])",
        "%3 = dimension{axis=0}(x) int64[]",
        "loop `rnn`: %3 steps",
        "x[t] from x float64[?] sequence, tap 0",
        "v[t-1] from v%1 float64[?] state v (sitsot), tap -1",
        "step (elementwise)",
        "%3 = x[t] * 2.0 float64[?]",
        "%4 = %3 + v[t-1] float64[?]",
        "%5 = tanh(%4) float64[?]",
        "v%4 from %5 float64[?, ?] state v, tap 0, all rows",
        "return v%4",
    ]


def test_source_lines_are_printed_once_with_their_text():
    def step(x_t, v):
        return T.tanh(x_t + v)

    rows, _ = scanviz.scan(step, X, V, name="rnn")
    text = program_text(lower([X, V], [rows], "f"))
    assert text.count("T.tanh(x_t + v)") == 1
    assert text.count("test_printer.py:") > 2


def test_a_listing_of_one_loop_finds_nested_loops_too():
    def outer(x_t):
        rows, _ = scanviz.scan(lambda each: each * 2.0, x_t, name="inner")
        return rows

    rows, _ = scanviz.scan(outer, X, name="outer")
    program = lower([X], [rows], "f")
    assert loop_names(program) == ["outer", "inner"]
    text = program_text(program, "inner", lines=False)
    assert text.startswith("loop `inner`") and "outer" not in text


def test_a_stop_condition_a_branch_and_constants_are_printed():
    table = T.constant(np.arange(3.0))
    rows, _ = scanviz.scan(lambda v: (v + table, scanviz.until(v.sum() > 9)), outputs_info=V, n_steps=N)
    text = text_of([ifelse(N > 2, rows[-1], T.exp(V))])
    assert "at most n steps" in text and "until %" in text
    assert "constant" in text and "ifelse(" in text and "then " in text and "else " in text


def test_registers_of_one_name_are_distinguished_by_number():
    one, other = T.vector("same"), T.vector("same")
    text = text_of([one + other], (one, other))
    assert "%2 = same%0 + same%1" in text


def test_a_listing_shows_locations_of_registers_of_loops_that_ran():
    rows, _ = scanviz.scan(lambda x_t, v: T.exp(x_t * 2.0)[::-1] * v[::-1] * x_t.shape[0], X, V, name="rnn")
    mode = scanviz.Mode("numpy").excluding("push_out", "subtensor_chains", "subtensor_lift")
    f = scanviz.function([X, V], rows[-1], mode=mode)
    before = program_text(f.program, lines=False, notes=notes_of(f.program, f.memory_plans()))
    f(np.ones((3, 2)), np.ones(2))
    after = program_text(f.program, lines=False, notes=notes_of(f.program, f.memory_plans()))
    assert "buffer" not in before
    for words in ("buffer 0", "view of %", "over %", "row of v, one of two", "size 2"):
        assert words in after, after


def test_a_narrow_terminal_has_source_lines_above_instructions_and_loses_nothing():
    def step(x_t, v):
        gates = T.concatenate([x_t, v]) * T.concatenate([v, x_t])
        return T.tanh(T.sum(gates[:, None] * gates[None, :], axis=0)[: v.shape[0]] + v)

    rows, _ = scanviz.scan(step, X, V, name="rnn")
    program = lower([X, V], [rows, scanviz.grad(rows.sum(), V)], "f")
    wide = program_text(program)
    assert program_text(program, width=1_000) == wide
    for width in (60, 80):
        text = program_text(program, width=width)
        assert max(map(len, text.splitlines())) <= width
        message = [line.partition("  # ")[0].split() for line in wide.splitlines()]
        words = [
            word for line in text.splitlines() if not line.lstrip().startswith("# ") for word in line.split()
        ]
        assert words == [word for line in message for word in line]
        assert text.count("# test_printer.py") + text.count("# tests/") > 0
