"""ScanArgs edits: each gives a new loop that is checked; the one before stays as it was."""

import numpy as np
import pytest

import scanviz
from scanviz import ScanArgs
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError

VALUES = np.array([1.0, 2.0, 3.0])


@pytest.fixture
def loop():
    x, w = T.vector("x"), T.scalar("w")
    (h, square), _ = scanviz.scan(
        lambda x_t, h, w: (h * w + x_t, h**2), x, [T.constant(0.0), None], w, name="sums"
    )
    return x, w, h, square, ScanArgs.from_node(h.owner)


def run(variables, outputs, *values):
    return scanviz.function(variables, outputs, on_unused_input="ignore")(*values)


def test_a_result_is_added_and_another_removed(loop):
    x, w, h, square, args = loop
    more = args.add_output(args.inner_out_sit_sot[0] * 10, "tenfold").remove(square)
    assert len(more.outer_out_nit_sot) == 1 and len(args.outer_out_nit_sot) == 1
    found = run([x, w], [more.results[h], more.outer_out_nit_sot[0]], VALUES, 1.0)
    assert found[0].tolist() == [1.0, 3.0, 6.0] and found[1].tolist() == [10.0, 30.0, 60.0]
    assert square not in more.results and args.results[square] is square


def test_the_new_loop_is_put_into_a_graph_by_clone(loop):
    x, w, h, square, args = loop
    cost = (h + square).sum()
    halved = args.replace({args.inner_out_nit_sot[0]: args.inner_out_nit_sot[0] / 2})
    fresh = scanviz.clone(cost, halved.results)
    assert run([x, w], [cost, fresh], VALUES, 1.0) == [10.0 + 10.0, 10.0 + 5.0]


def test_outer_inputs_and_the_number_of_steps_are_replaced(loop):
    x, w, h, _, args = loop
    changed = args.replace({w: T.constant(2.0), x: x * 10, args.n_steps: T.constant(2, "int64")})
    assert run([x], changed.results[h], VALUES).tolist() == [10.0, 40.0]


def test_sequences_states_and_non_sequences_are_put_in(loop):
    x, w, _, _, args = loop
    y, y_t, bias, b, before = (
        T.vector("y"),
        T.scalar("y_t"),
        T.scalar("bias"),
        T.scalar("b"),
        T.scalar("before"),
    )
    deep = {-2: T.scalar("two back"), -1: T.scalar("one back")}
    args = args.add_sequence(y, y_t).add_non_sequence(bias, b)
    args = args.add_state(T.constant(0.0), before, before + y_t * b)
    args = args.add_state(T.constant([1.0, 1.0]), deep, deep[-1] + deep[-2])
    found = run(
        [x, w, y, bias], [args.outer_out_sit_sot[-1], args.outer_out_mit_sot[0]], VALUES, 1.0, VALUES, 2.0
    )
    assert found[0].tolist() == [2.0, 6.0, 12.0] and found[1].tolist() == [2.0, 3.0, 5.0]
    slopes = scanviz.grad(args.outer_out_sit_sot[-1][-1], y)
    assert run([x, w, y, bias], slopes, VALUES, 1.0, VALUES, 2.0).tolist() == [2.0] * 3


def test_removing_an_input_removes_its_dependents_on_request(loop):
    _, _, h, square, args = loop
    y_t = T.scalar("y_t")
    args = args.add_sequence(T.vector("y"), y_t).add_output(y_t * 2)
    left = args.remove(h, dependents=True)
    assert len(left.outer_out_sit_sot) == 0 and len(left.outer_out_nit_sot) == 1
    assert h not in left.results and square not in left.results


@pytest.mark.parametrize(
    ("edit", "kind", "text"),
    [
        (lambda a, h: a.remove(h), ScanvizValueError, "dependents=True"),
        (lambda a, h: a.remove(h, dependents=True), ScanvizValueError, "would have no result left"),
        (lambda a, h: a.remove(T.scalar("other")), ScanvizValueError, "`other` belongs to no loop variable"),
        (
            lambda a, h: a.add_output(T.scalar("stray") + 1),
            ScanvizValueError,
            "`stray`, which no loop variable provides",
        ),
        (
            lambda a, h: a.add_sequence(T.matrix("m"), T.scalar("m_t")),
            ScanvizTypeError,
            "`m` does not fit `m_t`",
        ),
        (
            lambda a, h: a.add_sequence(T.vector("v"), a.inner_in_seqs[0]),
            ScanvizValueError,
            "cannot be a variable",
        ),
        (
            lambda a, h: a.add_state(T.fscalar("f"), s := T.scalar("s"), s * 2),
            ScanvizTypeError,
            "`f` does not fit",
        ),
        (lambda a, h: a.add_state(0.0, s := T.scalar("s"), T.zeros(3) + s), ScanvizTypeError, "does not fit"),
        (lambda a, h: a.replace({a.n_steps: T.vector("n")}), ScanvizTypeError, "`n` does not fit"),
        (
            lambda a, h: a.replace({a.inner_out_nit_sot[0]: T.scalar("stray")}),
            ScanvizValueError,
            "add_non_sequence",
        ),
    ],
)
def test_an_invalid_edit_of_a_loop_is_refused_with_a_message(loop, edit, kind, text):
    _, _, h, _, args = loop
    with pytest.raises(kind) as caught:
        edit(args, h)
    assert text in str(caught.value) and "test_editing.py" in str(caught.value)
