"""Non-sequences: the step sees the outer variables themselves, and loop inputs take their places afterwards."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import MissingInputError
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import NonSequence
from scanviz.record.snapshot import snapshot

VALUE = np.array([0.4, -1.2, 0.7])


@pytest.fixture(params=["reference", "numpy"])
def mode(request):
    return request.param


def run(mode, inputs, outputs, *values, **options):
    return scanviz.function(inputs, outputs, mode=mode, **options)(*values)


def given_to(result):
    """Return the non-sequences of the loop behind a result: name, outer variable, and whether it was passed."""
    view = Layout(result.owner).view
    return [
        (variable.name, view.outer_input(variable), not variable.captured)
        for variable in view.op.variables
        if isinstance(variable, NonSequence)
    ]


def test_a_jacobian_of_a_loops_result_can_be_taken_row_by_row_in_another_loop(mode):
    x = T.vector("x")
    states, _ = scanviz.scan(
        lambda s, x: T.sin(s * x), outputs_info=T.ones_like(x), non_sequences=x, n_steps=3
    )
    last = states[-1]
    rows, _ = scanviz.scan(lambda i, y, x: scanviz.grad(y[i], x), T.arange(3), non_sequences=[last, x])
    mine, expected = run(mode, [x], [rows, scanviz.jacobian(last, x)], VALUE)
    np.testing.assert_allclose(mine, expected)
    total, expected = scanviz.grad(T.sum(rows**2), x), scanviz.grad(T.sum(scanviz.jacobian(last, x) ** 2), x)
    np.testing.assert_allclose(*run(mode, [x], [total, expected], VALUE))


def test_a_gradient_passes_through_two_loops_to_a_shared_non_sequence(mode):
    x = T.vector("x")
    y = x**3 * T.sum(x)

    def outer(i, y, x):
        inner, _ = scanviz.scan(
            lambda j, y, x: scanviz.grad(y[i] * y[j], x), T.arange(3), non_sequences=[y, x]
        )
        return inner

    found, _ = scanviz.scan(outer, T.arange(3), non_sequences=[y, x])
    mine, jacobian, values = run(mode, [x], [found, scanviz.jacobian(y, x), y], VALUE)
    expected = values[:, None, None] * jacobian[None] + values[None, :, None] * jacobian[:, None]
    np.testing.assert_allclose(mine, expected)


def test_one_step_and_chunks_and_views_see_the_outer_variables_too(mode):
    x = T.vector("x")
    y = T.exp(x) * x[::-1]
    one, _ = scanviz.scan(lambda y, x: scanviz.grad(y[1], x), non_sequences=[y, x], n_steps=1)
    assert one.owner.op.declaration.name != "scan"
    mapped, _ = scanviz.map(lambda i, y, x: scanviz.grad(y[i], x), T.arange(3), non_sequences=[y, x])
    summed, _ = scanviz.reduce(
        lambda i, s, y, x: s + scanviz.grad(y[i], x), T.arange(3), T.zeros_like(x), non_sequences=[y, x]
    )
    kept, _ = scanviz.scan_checkpoints(
        lambda i, s, y, x: s + scanviz.grad(y[i], x), T.arange(3), T.zeros_like(x), [y, x], save_every_N=2
    )
    first, all_rows, total, last, expected = run(
        mode, [x], [one, mapped, summed, kept[-1], scanviz.jacobian(y, x)], VALUE
    )
    np.testing.assert_allclose(first[0], expected[1])
    np.testing.assert_allclose(all_rows, expected)
    np.testing.assert_allclose(total, expected.sum(0))
    np.testing.assert_allclose(last, expected.sum(0))


def test_non_sequences_stay_inputs_in_the_given_order_even_if_unread():
    x, y, w, unread = T.vector("x"), T.scalar("y"), scanviz.shared(2.0, "w"), T.matrix("unread")
    result, _ = scanviz.scan(lambda x_t, u, w, y: x_t * w + y, x, non_sequences=[unread, w, y])
    assert given_to(result) == [("unread", unread, True), ("w", w, True), ("y", y, True)]


def test_the_same_variable_passed_twice_and_used_without_being_passed_is_one_value(mode):
    x, w = T.vector("x"), T.scalar("w")
    result, _ = scanviz.scan(lambda x_t, a, b: x_t * a + b * w, x, non_sequences=[w, w])
    assert [(outer, passed) for _, outer, passed in given_to(result)] == [(w, True), (w, True)]
    assert run(mode, [x, w], result, [1.0, 2.0], 3.0).tolist() == [12.0, 15.0]


def test_a_sequence_or_an_initial_state_may_be_a_non_sequence_too(mode):
    x = T.vector("x")
    result, _ = scanviz.scan(lambda x_t, s, x: s * x_t + x, x, outputs_info=x, non_sequences=x)
    state, expected = VALUE, []
    for row in VALUE:
        state = state * row + VALUE
        expected.append(state)
    np.testing.assert_allclose(run(mode, [x], result, VALUE), expected)
    gradient = scanviz.grad(T.sum(result), x)
    plain = (x * x[0] + x, (x * x[0] + x) * x[1] + x, ((x * x[0] + x) * x[1] + x) * x[2] + x)
    np.testing.assert_allclose(
        *run(mode, [x], [gradient, scanviz.grad(sum(T.sum(e) for e in plain), x)], VALUE)
    )


def test_numbers_arrays_and_constants_are_written_into_the_step(mode):
    x = T.vector("x")
    result, _ = scanviz.scan(
        lambda x_t, a, b, c: x_t * a + T.sum(b) + c,
        x,
        non_sequences=[2, np.array([1.0, 2.0]), T.constant(0.5)],
    )
    assert given_to(result) == []
    assert run(mode, [x], result, [1.0, 2.0]).tolist() == [5.5, 7.5]


def test_updated_and_random_shared_variables_may_be_passed(mode):
    count = scanviz.shared(1.0, "count")
    result, updates = scanviz.scan(lambda c: (c * 2, {count: c + 1}), non_sequences=count, n_steps=3)
    f = scanviz.function([], result, updates=updates, mode=mode)
    assert f().tolist() == [2.0, 4.0, 6.0] and count.get_value() == 4.0
    state = T.random.random_state(3)

    def step(state):
        state.default_update, drawn = T.random.draws.normal(state)
        return drawn

    rows, _ = scanviz.scan(step, non_sequences=state, n_steps=3)
    f = scanviz.function([], rows, mode=mode)
    assert len({*f().tolist(), *f().tolist()}) == 6


def test_expressions_built_before_the_loop_stay_before_it(mode):
    x, v = T.vector("x"), T.scalar("v")
    square, noise = v**2, T.random.RandomStreams(1).normal()
    result, _ = scanviz.scan(lambda x_t, v: x_t + v + square + noise, x, non_sequences=v)
    assert [(outer, passed) for _, outer, passed in given_to(result)] == [
        (v, True),
        (square, False),
        (noise, False),
    ]
    values = run(mode, [x, v], result, [0.0, 1.0, 2.0], 3.0)
    np.testing.assert_allclose(np.diff(values), [1.0, 1.0])


def test_strict_requires_the_inputs_of_a_gradient_between_non_sequences(mode):
    x, w = T.vector("x"), scanviz.shared(np.ones((3, 3)), "w")
    y = T.tanh(T.dot(w, x))
    for strict in (True, "all"):
        rows, _ = scanviz.scan(
            lambda i, y, x, w: scanviz.grad(y[i], x), T.arange(3), non_sequences=[y, x, w], strict=strict
        )
        np.testing.assert_allclose(*run(mode, [x], [rows, scanviz.jacobian(y, x)], VALUE))
        with pytest.raises(MissingInputError, match="`w`"):
            scanviz.scan(
                lambda i, y, x: scanviz.grad(y[i], x), T.arange(3), non_sequences=[y, x], strict=strict
            )
    with pytest.raises(MissingInputError, match="were not passed"):
        scanviz.scan(lambda x_t, v: x_t * v + y, x, non_sequences=T.scalar("v"), strict="all")


def test_an_unnamed_non_sequence_is_called_as_the_parameter_that_receives_it():
    x = T.vector("x")
    result, _ = scanviz.scan(lambda x_t, scale: x_t * scale, x, non_sequences=T.scalar() * 2)
    (name, _, _), (inner,) = (
        given_to(result)[0],
        [variable.variable for variable in result.owner.op.variables if isinstance(variable, NonSequence)],
    )
    assert (name, inner.name) == ("scale", "scale") and isinstance(result.owner.op, Scan)


def test_captured_variables_keep_the_users_name_in_the_step():
    x, w = T.vector("x"), T.vector("w")
    log_w = T.log(T.nnet.softmax(w))
    result, _ = scanviz.scan(lambda x_t, h: T.tanh(h + log_w) * x_t, x, T.zeros(3), name="smooth")
    (inner,) = [variable for variable in result.owner.op.variables if isinstance(variable, NonSequence)]
    assert (inner.name, inner.variable.name) == ("log_w", "log_w")
    gradient = scanviz.grad(result.sum(), w)
    (loop,) = (loop for loop in snapshot([gradient]).loops if loop.name == "grad_of_smooth")
    assert "∂log_w" in [variable.name for variable in loop.variables]
