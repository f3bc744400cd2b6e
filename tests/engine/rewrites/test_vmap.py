"""vmap: axes, structures, loops, operations without a batched form, and errors."""

import io

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz import vmap
from scanviz.engine.errors import (
    ScanvizTypeError,
    ScanvizValueError,
    ShapeError,
)
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan

RNG = np.random.default_rng(5)


def loops(outputs):
    return [node.op for node in toposort(outputs) if isinstance(node.op, Scan)]


def rnn(x, w):
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(h @ w + x_t), x, T.zeros((3,)), name="rnn")
    return h


def run(inputs, values, result):
    return scanviz.function(inputs, result, on_unused_input="ignore")(*values)


def test_vmap_of_a_loop_is_one_loop_over_batched_states():
    x, w = T.tensor3("x"), T.matrix("w")
    result = vmap(lambda x, w: rnn(x, w)[-1], in_axes=(0, None))(x, w)
    (loop,) = loops([result])
    assert loop.scan_name == "rnn" and loop.of_kind("sitsot")[0].reads[-1].type.ndim == 2
    values, weights = RNG.normal(size=(4, 5, 3)), RNG.normal(size=(3, 3))
    one = scanviz.function([m := T.matrix("m"), w], rnn(m, w)[-1])
    np.testing.assert_allclose(
        run([x, w], [values, weights], result), [one(value, weights) for value in values]
    )


def test_a_gradient_of_a_loop_is_two_loops_over_all_rows():
    x, w = T.tensor3("x"), T.matrix("w")
    slopes = vmap(lambda x, w: scanviz.grad(rnn(x, w).sum(), [x, w]), in_axes=(0, None))(x, w)
    assert [loop.scan_name for loop in loops(slopes)] == ["rnn", "grad_of_rnn"]
    m = T.matrix("m")
    one = scanviz.function([m, w], scanviz.grad(rnn(m, w).sum(), [m, w]))
    values, weights = RNG.normal(size=(4, 5, 3)), RNG.normal(size=(3, 3))
    found = run([x, w], [values, weights], slopes)
    for k, value in enumerate(values):
        for mine, theirs in zip(found, one(value, weights), strict=True):
            np.testing.assert_allclose(mine[k], theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("in_axes", "shapes"),
    [(0, [(4, 2), (4, 2)]), (1, [(2, 4), (2, 4)]), ((0, 1), [(4, 2), (2, 4)]), ((-1, None), [(2, 4), (2,)])],
)
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_vmap_respects_in_axes_and_out_axes(in_axes, shapes, out_axes):
    a, b = T.tensor("float64", (None,) * len(shapes[0])), T.tensor("float64", (None,) * len(shapes[1]))
    values = [RNG.normal(size=shape) for shape in shapes]
    found = run([a, b], values, vmap(lambda x, y: x * 2 + y, in_axes=in_axes, out_axes=out_axes)(a, b))
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes, in_axes)
    moved = [
        value if axis is None else np.moveaxis(value, axis, 0)
        for value, axis in zip(values, axes, strict=True)
    ]
    np.testing.assert_allclose(np.moveaxis(found, out_axes, 0), moved[0] * 2 + moved[1])


def test_arguments_and_results_may_be_structures():
    x, y = T.matrix("x"), T.vector("y")
    found = vmap(lambda pair, *, scale: {"sum": pair["x"].sum() * scale, "both": (pair["y"], 1.0)})(
        {"x": x, "y": y}, scale=y
    )
    values = [np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0, 3.0])]
    np.testing.assert_allclose(run([x, y], values, found["sum"]), [1.0, 10.0, 27.0])
    np.testing.assert_allclose(run([x, y], values, found["both"][0]), values[1], strict=True)
    np.testing.assert_allclose(run([x, y], values, [found["both"][1], found["sum"]])[0], [1.0] * 3)


def test_one_of_several_results_may_be_the_same_for_all():
    x, w = T.matrix("x"), T.vector("w")
    total, same = vmap(lambda x: [x.sum(), w * 2], out_axes=[0, None])(x)
    found = scanviz.function([x, w], [total, same])(np.ones((3, 2)), [1.0])
    assert found[0].tolist() == [2.0] * 3 and found[1].tolist() == [2.0]
    with pytest.raises(ScanvizValueError, match="differs from row to row"):
        vmap(lambda x: x, out_axes=None)(x)


def test_vmap_can_be_nested():
    x, y = T.vector("x"), T.vector("y")
    table = vmap(lambda a: vmap(lambda b: a * 10 + b)(y))(x)
    assert run([x, y], [[1.0, 2.0], [3.0, 4.0]], table).tolist() == [[13.0, 14.0], [23.0, 24.0]]


def test_loops_that_end_at_different_steps_are_run_row_by_row():
    x = T.vector("x")

    def doubled(start):
        h, _ = scanviz.scan(lambda h: (h * 2, scanviz.until(h > 5)), outputs_info=start, n_steps=20)
        return h[-1], h.shape[0]

    last, count = vmap(doubled)(x)
    found = scanviz.function([x], [last, count])([1.0, 4.0, 6.0])
    assert found[0].tolist() == [16.0, 16.0, 12.0] and found[1].tolist() == [4, 2, 1]


def test_a_condition_alone_may_need_the_number_of_rows():
    def f(start):
        def step(x_t, h):
            inside, _ = scanviz.scan(
                lambda s, _: (s / 2, T.zeros((2,)) + s), outputs_info=[x_t, h], n_steps=3
            )
            return T.tanh(h), scanviz.until(inside[0].sum() > 2)

        return scanviz.scan(step, x, start)[0].sum(0)

    x, starts = T.vector("x"), T.matrix("starts")
    values, rows = np.array([1.0, 2.0, 3.0, 4.0]), RNG.normal(size=(3, 2))
    found = run([x, starts], (values, rows), vmap(f)(starts))
    once = np.tanh(rows)
    np.testing.assert_allclose(found, once + np.tanh(once) + np.tanh(np.tanh(once)), rtol=1e-12)


def test_vmap_computes_only_the_taken_branch_of_each_row():
    x, file = T.vector("x"), io.StringIO()
    result = vmap(lambda a: T.ifelse(a > 0, T.Print("up", file=file)(a * 2), -a))(x)
    assert scanviz.function([x], result)([1.0, -3.0]).tolist() == [2.0, 3.0]
    assert [line.partition(": ")[2] for line in file.getvalue().splitlines()] == ["up = 2."]


def test_a_draw_gives_each_row_the_numbers_of_one():
    state, mean = T.random.random_state(3), T.matrix("mean")
    found = scanviz.function([mean], vmap(lambda m: T.random.normal(state, m)[1])(mean))(np.zeros((2, 3)))
    assert (found[0] == found[1]).all()


def test_a_loop_that_draws_carries_one_state_for_all_rows():
    state, x = T.random.random_state(3), T.matrix("x")

    def walk(row):
        def step(x_t, s, h):
            s, noise = T.random.normal(s)
            return s, h + x_t + noise

        (_, h), _ = scanviz.scan(step, row, [state, T.constant(0.0)], name="walk")
        return h

    one = scanviz.function([row := T.vector("row")], walk(row))
    values = RNG.normal(size=(3, 4))
    np.testing.assert_allclose(
        scanviz.function([x], vmap(walk)(x))(values), [one(value) for value in values], rtol=1e-12
    )


def test_arguments_of_other_numbers_of_rows_are_refused_not_broadcast():
    x, y = T.vector("x"), T.vector("y")
    f = scanviz.function([x, y], vmap(lambda a, b: a + b)(x, y))
    with pytest.raises(
        ShapeError, match=r"(?s)vmap: .*rows.*as many as `x`: 2.*`y`, shape \(1,\): 1.*in_axes=None"
    ) as when_run:
        f([1.0, 2.0], [1.0])
    assert "specify_shape" not in str(when_run.value)
    with pytest.raises(ShapeError, match="different numbers of rows") as caught:
        vmap(lambda a, b: a + b)(np.ones(2), np.ones(3))
    assert "test_vmap.py" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda x: vmap(x), ScanvizTypeError, "vmap(fn)(x)"),
        (lambda x: vmap(lambda a: a, in_axes=None)(x), ScanvizValueError, "axis_size=n"),
        (lambda x: vmap(lambda a: a, in_axes=(0, 0))(x), ScanvizValueError, "in_axes cannot be used"),
        (lambda x: vmap(lambda a: a, in_axes="0")(x), ScanvizValueError, "in_axes cannot be used"),
        (lambda x: vmap(lambda a: a)(T.scalar("s")), ScanvizValueError, "`s` has no axis"),
        (lambda x: vmap(lambda a: a, in_axes=4)(x), ScanvizValueError, "in_axes"),
        (lambda x: vmap(lambda a: (a, a), out_axes=[0])(x), ScanvizValueError, "out_axes cannot be used"),
    ],
)
def test_wrong_use_is_an_error_with_a_fix(wrong, kind, text):
    with pytest.raises(kind) as caught:
        wrong(T.matrix("x"))
    assert text in str(caught.value)
