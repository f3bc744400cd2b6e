"""Mistakes that are easily made with states: the message gives the cure that its reader needs."""

import numpy as np
import pytest

import scanviz
from scanviz import ScanvizError
from scanviz import tensor as T

MODES = ["reference", "numpy", "native"]
x, M, s0 = T.vector("x"), T.matrix("M"), T.vector("s0")
lag = T.iscalar("lag")
ROW_PER_STEP = "return the new row alone, with None in outputs_info"
BUFFER = "return T.set_subtensor(s[t], row), with sequences=T.arange(n)"


def message(cause):
    with pytest.raises(ScanvizError) as caught:
        cause()
    text = str(caught.value)
    assert "test_cures.py:" in text.splitlines()[0], text
    assert "scanviz.engine" not in text
    return text


def draws(x_t, rng):
    following, noise = T.random.normal(rng)
    return following, x_t + noise


def state():
    return T.random.random_state(1)


JOINS = [
    lambda x_t, s: T.concatenate([s, x_t[None]]),
    lambda x_t, s: T.append(s, x_t),
    lambda x_t, s: T.hstack([s, x_t]),
]


@pytest.mark.parametrize("step", JOINS)
@pytest.mark.parametrize("loop", [scanviz.scan, scanviz.foldl, scanviz.scan_checkpoints])
def test_the_error_of_a_growing_state_suggests_rows_and_buffers(step, loop):
    text = message(lambda: loop(step, x, T.zeros(1)))
    assert ROW_PER_STEP in text and BUFFER in text


def test_a_growing_table_gets_the_same_advice_if_append_flattens_it():
    text = message(lambda: scanviz.scan(lambda row, s: T.append(s, row[None]), M, T.zeros((1, 3))))
    assert ROW_PER_STEP in text and BUFFER in text
    text = message(lambda: scanviz.scan(lambda row, s: T.concatenate([row, s[0]]), M, T.zeros((1, 3))))
    assert "the value before the first step, not rows for all steps" in text


@pytest.mark.parametrize("mode", MODES)
def test_a_growing_state_found_at_run_time_gets_the_same_advice(mode):
    grown, _ = scanviz.scan(JOINS[0], x, s0)
    text = message(lambda: scanviz.function([x, s0], grown, mode=mode)([1.0, 2.0], [0.0]))
    assert ROW_PER_STEP in text and BUFFER in text


def test_the_suggested_fixes_of_a_growing_state_run():
    n = x.shape[0]
    buffers, _ = scanviz.scan(lambda t, x_t, s: T.set_subtensor(s[t], x_t), [T.arange(n), x], T.zeros(n))
    assert buffers[-1].eval({x: [1.0, 2.0]}).tolist() == [1.0, 2.0]
    rows, _ = scanviz.scan(lambda x_t: (x_t, scanviz.until(x_t > 1)), x, [None])
    assert rows.eval({x: [1.0, 2.0, 3.0]}).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("mode", MODES)
def test_the_error_of_a_broadcast_state_names_the_broadcast(mode):
    columns, _ = scanviz.scan(lambda x_t, s: s + x, x, M)
    f = scanviz.function([x, M], columns, mode=mode)
    text = message(lambda: f([1.0, 2.0], np.zeros((2, 1))))
    assert (
        "`s` in shape (2, 1), such as v[:, None] for a vector v: broadcasting made the result larger" in text
    )
    assert "outputs_info=T.zeros((2, 2))" in text
    step = message(
        lambda: scanviz.scan(lambda s: s + x, outputs_info=M, n_steps=1)[0].eval({x: [1, 2], M: [[1], [2]]})
    )
    assert "v[:, None]" in step


def test_the_error_of_a_scalar_state_names_the_initial_shape():
    assert "start with outputs_info=T.zeros((2,))" in message(
        lambda: scanviz.scan(lambda s: T.stack([s, s]), outputs_info=0.0, n_steps=2)
    )


def test_the_error_of_a_state_given_all_rows_asks_for_one():
    buffer = T.zeros((10, 3))
    buffer.name = "buffer"
    assert "not rows for all steps: outputs_info=buffer[0]" in message(
        lambda: scanviz.scan(lambda row, s: row * 2, M, buffer)
    )


@pytest.mark.parametrize("mode", MODES)
def test_the_error_of_a_growing_output_suggests_a_mask(mode):
    prefixes, _ = scanviz.scan(lambda t: x[:t], T.arange(3))
    f = scanviz.function([x], prefixes, mode=mode)
    assert "T.where(T.arange(n) < t, v, 0) instead of v[:t]" in message(lambda: f([1.0, 2.0, 3.0]))


def test_fewer_outputs_than_items_names_those_that_are_missing():
    text = message(lambda: scanviz.scan(lambda x_t, a, b: (a + x_t, b), x, [0.0, 0.0, None]))
    assert "the step returns 2 outputs, but outputs_info has 3 items" in text
    assert "3 outputs: `a`, `b`, one that is not fed back" in text
    assert "or leave outputs_info[2] out" in text
    text = message(lambda: scanviz.reduce(lambda x_t, a, b: a + x_t, x, [0.0, 0.0]))
    assert "returns 1 output, but" in text and "leave outputs_info[1] out" in text


def test_the_error_of_a_list_in_a_list_asks_for_one_list():
    text = message(lambda: scanviz.scan(lambda x_t, a, b: ([a, b], x_t), x, [0.0, 0.0, None]))
    assert "a list in a tuple" in text and "return one flat list" in text
    text = message(
        lambda: scanviz.scan(lambda x_t, a, b: ((a, b), x_t, scanviz.until(a > 1)), x, [0.0, 0.0, None])
    )
    assert "a tuple in a tuple" in text


def test_the_error_of_results_and_arguments_by_name_suggests_lists():
    text = message(lambda: scanviz.scan(lambda x_t, a: {"a": a + x_t, "b": a}, x, [0.0, None]))
    assert (
        "a dict holds updates of shared variables" in text
        and "return a, b, in the order of outputs_info" in text
    )
    assert "outputs_info=[a, b]" in message(lambda: scanviz.scan(lambda x_t, a: a, x, {"a": 0.0, "b": 0.0}))
    assert "sequences=[u]" in message(lambda: scanviz.map(lambda u: u, {"u": x}))


def test_indexing_a_random_state_is_an_error_with_a_fix():
    (last, _), _ = scanviz.scan(draws, x, [state(), None])
    last.name = "rng"
    for wrong in (lambda: last[-1], lambda: last + 1, lambda: T.exp(last), lambda: last.shape):
        text = message(wrong)
        assert "`rng` is a random state" in text and "rng instead of rng[-1]" in text
        assert "rng, values = T.random.normal(rng)" in text
    assert "[-1]" not in message(lambda: state() + x)


def test_the_error_of_a_misplaced_random_state_names_the_order():
    order = "in the order of outputs_info, such as outputs_info=[state, None]"
    text = message(lambda: scanviz.scan(lambda x_t, rng: draws(x_t, rng)[::-1], x, [state(), None]))
    assert "the step returns numbers as output 0" in text and order in text
    text = message(lambda: scanviz.map(lambda x_t: draws(x_t, state()), x))
    assert "the step returns a random state as output 0" in text and order in text
    taps = dict(initial=state(), taps=[-2])
    assert "taps=[-1]" in message(lambda: scanviz.scan(draws, x, [taps, None]))


@pytest.mark.parametrize("generator", [np.random.default_rng(1), np.random.RandomState(1)])
def test_the_error_of_numpy_generators_names_ours(generator):
    for wrong in (
        lambda: scanviz.scan(draws, x, [generator, None]),
        lambda: scanviz.scan(draws, x, None, generator),
        lambda: scanviz.shared(generator),
    ):
        assert "T.random.random_state(seed)" in message(wrong)


def test_a_reduction_gives_the_last_random_state():
    (last, value), _ = scanviz.reduce(draws, x, [state(), None])
    (rows, values), _ = scanviz.scan(draws, x, [state(), None])
    found = scanviz.function([x], [last, rows, value, values[-1]])([1.0, 2.0])
    assert found[0].tolist() == found[1].tolist() and found[2] == found[3]


@pytest.mark.parametrize("taps", [[-lag], -lag, (0, lag)])
def test_the_error_of_symbolic_taps_suggests_an_index(taps):
    text = message(lambda: scanviz.scan(lambda *rows: rows[0], dict(input=x, taps=taps)))
    assert "x[t - lag] in the step, with x in non_sequences" in text
    text = message(
        lambda: scanviz.scan(lambda *rows: rows[0], outputs_info=dict(initial=x, taps=taps), n_steps=2)
    )
    assert "the step reads rows[-lag]" in text and "T.concatenate([rows[1:], new[None]])" in text


def test_the_suggested_fixes_of_symbolic_taps_run():
    before, _ = scanviz.scan(lambda t, x: x[t - lag], T.arange(lag, x.shape[0]), None, x)
    assert before.eval({x: [1.0, 2.0, 3.0], lag: 1}).tolist() == [1.0, 2.0]
    rows, _ = scanviz.scan(
        lambda rows: T.concatenate([rows[1:], (rows[-lag] + rows[-1])[None]]), outputs_info=x, n_steps=3
    )
    assert rows[:, -1].eval({x: [1.0, 1.0], lag: 2}).tolist() == [2.0, 3.0, 5.0]


def lagged(initial, n_steps=2):
    return scanviz.scan(lambda a: a * 2, outputs_info=dict(initial=initial, taps=[-2]), n_steps=n_steps)[0]


def checkpointed(initial):
    info = dict(initial=initial, taps=[-2])
    return scanviz.scan_checkpoints(lambda a: a * 2, outputs_info=info, n_steps=5, save_every_N=2)[0]


def nested(initial):
    return scanviz.map(lambda row: lagged(initial) + row[0], M)[0]


def test_initial_rows_that_no_tap_reads_are_an_error_when_known():
    text = message(lambda: lagged(T.tensor("float64", (3,), "first")))
    assert "the initial state `first` has more rows than taps [-2] read" in text
    assert "expected: 2 rows" in text and "found:    3 rows" in text
    assert "first[-2:] for its last rows, or first[:2], which Theano takes" in text


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_chunks_check_the_number_of_initial_rows(mode, rows):
    f = scanviz.function([s0], checkpointed(s0), mode=mode)
    assert f(np.ones(2)).tolist() == [2.0, 4.0, 8.0]
    text = message(lambda: f(np.ones(rows)))
    assert "`initial rows of a` has the wrong shape" in text and "expected: shape (2,)" in text


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("build", [lagged, lambda initial: lagged(initial, 1), nested])
@pytest.mark.parametrize("mode", MODES)
def test_another_number_of_initial_rows_is_an_error_when_run(mode, build, rows):
    f = scanviz.function([s0, M], build(s0), mode=mode, on_unused_input="ignore")
    assert f(np.ones(2), np.ones((2, 2))).ravel()[0] in (2, 3)
    text = message(lambda: f(np.ones(rows), np.ones((2, 2))))
    assert ("too few" if rows == 1 else "initial[-2:] for its last rows, or initial[:2]") in text
    assert "expected: 2 rows" in text
