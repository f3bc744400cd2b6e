"""Gradients of loops by what they are used for: views, parts of results, chains of loops, networks, powers, few steps."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError
from scanviz.testing import verify_grad
from tests.engine.gradient.mixed_loops import MODES

X = np.random.default_rng(3).normal(size=(5, 3)) * 0.6

PARTS = {
    "the last row": lambda h: h[-1],
    "the first row": lambda h: h[0],
    "an element of a row": lambda h: h[-2, 1],
    "two rows": lambda h: h[-1] * h[1],
    "one row twice": lambda h: h[-1] + T.sin(h[-1]),
    "a part of a row and the row": lambda h: h[-1, :2] * T.sum(h[-1]),
    "every second row": lambda h: h[::2],
    "the last three rows": lambda h: h[-3:],
    "rows turned round": lambda h: h[::-1] * T.arange(h.shape[0], dtype="float64")[:, None],
    "a row of a computed number": lambda h: h[T.cast(h[0, 0] * 0, "int64") + 2],
    "rows by number": lambda h: h[[0, 3, 3]],
    "all but the first": lambda h: h[1:] * h[:-1],
    "the transpose": lambda h: h.T[1],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("taps", [(-1,), (-3, -1), (-2,)])
def test_gradients_of_any_part_of_a_result_are_correct(part, taps):
    """What comes back from single rows is put into the backward loop's buffer by itself; other parts come as arrays."""
    x, h0 = T.matrix("x"), T.matrix("h0")

    def step(x_t, *old):
        return T.sin(x_t + old[0] * old[-1])

    h, _ = scanviz.scan(step, x, h0[0] if taps == (-1,) else dict(initial=h0, taps=list(taps)))
    depth = -min(taps)
    rows = [h0[k] for k in range(depth)]
    for t in range(len(X)):
        rows.append(step(x[t], *(rows[depth + t + tap] for tap in taps)))
    costs = [T.sum(T.cos(PARTS[part](each))) for each in (h, T.stack(rows[depth:]))]
    found = scanviz.function([x, h0], [each for cost in costs for each in scanviz.grad(cost, [x, h0])])(
        X, X[:depth] + 1
    )
    for mine, theirs in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-13)
        assert np.abs(theirs).max() > 1e-3


def test_gradients_of_map_reduce_and_folds_are_correct():
    x, start = T.vector("x"), T.scalar("start")
    at, first = np.array([0.5, -1.5, 2.0]), 0.7
    costs = {
        "map": (T.sum(scanviz.map(lambda x_t: x_t**3, x)[0]) + start * 0, 3 * at**2, 0.0),
        "reduce": (
            scanviz.reduce(lambda x_t, s: s * x_t, x, start)[0],
            first * np.prod(at) / at,
            np.prod(at),
        ),
        "foldl": (scanviz.foldl(lambda x_t, s: s * 2 + x_t, x, start)[0], [4.0, 2.0, 1.0], 8.0),
        "foldr": (scanviz.foldr(lambda x_t, s: s * 2 + x_t, x, start)[0], [1.0, 2.0, 4.0], 8.0),
    }
    for cost, to_x, to_start in costs.values():
        found = scanviz.function([x, start], scanviz.grad(cost, [x, start]), on_unused_input="ignore")(
            at, first
        )
        np.testing.assert_allclose(found[0], to_x)
        np.testing.assert_allclose(found[1], to_start)


def test_gradients_with_respect_to_intermediate_rows_are_correct():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, T.constant(0.0))
    s, _ = scanviz.scan(lambda h_t, s: s + h_t**2, h, T.constant(0.0))
    at = np.array([1.0, 2.0, 3.0])
    to_h, held = scanviz.grad(s[-1], h), scanviz.grad(s[-1] + T.sum(x), x, consider_constant=[h])
    known = scanviz.grad(
        None, x, known_grads={h: T.constant([1.0, 10.0, 100.0]), s: T.constant([0.0, 0.0, 1.0])}
    )
    found = scanviz.function([x], [to_h, held, known])(at)
    sums = np.cumsum(at)
    np.testing.assert_allclose(found[0], 2 * sums)
    np.testing.assert_allclose(found[1], np.ones(3))
    # The known gradient of h replaces the one from s.
    np.testing.assert_allclose(found[2], np.cumsum([100.0, 10.0, 1.0])[::-1])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_one_array_in_every_role_are_correct(mode):
    """As sequence, initial state, non-sequence given and captured; the shared variable as the argument is one array too."""

    def build(x):
        h, _ = scanviz.scan(
            lambda a, b, h, w: T.tanh(a * h + T.sum(w * b)) + x[0], [x, x[::-1]], x[1], x, go_backwards=True
        )
        return h

    verify_grad(build, [X], mode=mode)
    argument, kept = T.matrix("x"), scanviz.shared(X, "kept")
    of_argument, of_shared = (scanviz.grad(T.sum(build(each)), each) for each in (argument, kept))
    found = scanviz.function([argument], [of_argument, of_shared], mode=mode)(X)
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_a_gated_network_are_correct(mode):
    rng = np.random.default_rng(0)
    shapes = [(4, 2, 3), (2, 3), (3, 3), (3, 3), (3, 3), (3,)]

    def build(x, h0, w, u, v, b):
        def step(x_t, h, w, u, v, b):
            gate = T.sigmoid(x_t @ w + h @ u + b)
            return gate * h + (1 - gate) * T.tanh((gate * h) @ v + x_t)

        return scanviz.scan(step, x, h0, [w, u, v, b])[0]

    points = [rng.normal(size=shape) * 0.5 for shape in shapes]
    verify_grad(build, points, mode=mode)

    def slopes(*variables):
        h = build(*variables)
        return scanviz.grad(T.sum(h[-1] ** 2) + T.sum(T.sin(h)), list(variables))

    verify_grad(slopes, points, mode=mode)


@pytest.mark.parametrize("stop", [0.5, 1.5, 9.0])
@pytest.mark.parametrize("go_backwards", [False, True])
def test_second_derivatives_of_stopped_loops_are_correct_in_both_modes(stop, go_backwards):
    """s ends as the sum of the squares that were read: the second derivative along each row read is 2, elsewhere 0."""
    x = T.vector("x")
    s, _ = scanviz.scan(
        lambda x_t, s: (s + x_t**2, scanviz.until(s + x_t**2 > stop)),
        x,
        T.constant(0.0),
        go_backwards=go_backwards,
    )
    first = scanviz.grad(s[-1], x)
    second = scanviz.grad(T.sum(first**2), x)
    at = np.array([1.0, 0.9, 1.1, 1.2])
    to_first, to_second = scanviz.function([x], [first, second])(at)
    order = at[::-1] if go_backwards else at
    done = min(4, 1 + int(np.sum(np.cumsum(order**2) <= stop)))
    read = np.arange(4) >= 4 - done if go_backwards else np.arange(4) < done
    np.testing.assert_allclose(to_first, np.where(read, 2 * at, 0))
    np.testing.assert_allclose(to_second, np.where(read, 8 * at, 0))


def test_the_limit_of_a_condition_has_no_gradient():
    """Field notes 1.5.6: derivatives do not go through the condition."""
    x, limit = T.vector("x"), T.scalar("limit")
    s, _ = scanviz.scan(lambda x_t, s: (s + x_t, scanviz.until(s > limit)), x, T.constant(0.0))
    with pytest.raises(DisconnectedInputError, match="limit"):
        scanviz.grad(s[-1], limit)
    assert float(scanviz.grad(s[-1], limit, disconnected_inputs="ignore").eval({limit: 1.0, x: [1.0]})) == 0


def third(cost, x):
    for _ in range(3):
        cost = scanviz.grad(cost, x)
    return cost


@pytest.mark.parametrize("mode", MODES)
def test_the_third_derivative_of_powers_by_loops_in_loops_and_by_taps(mode):
    """Field notes 1.5.19, where it came out three times too large."""
    x, once = T.scalar("x"), T.lscalar("once")

    def squared(p):
        return scanviz.scan(lambda q: q * p, outputs_info=p, n_steps=once, name="inner")[0][-1]

    squares, _ = scanviz.scan(squared, outputs_info=x, n_steps=5, name="outer")  # x**32
    product, _ = scanviz.scan(lambda p, y: p * y, outputs_info=x, non_sequences=x, n_steps=8)  # x**9
    fibonacci, _ = scanviz.scan(  # exponents 1, 1, 2, 3, 5, 8, 13
        lambda older, old: older * old, outputs_info=dict(initial=T.stack([x, x]), taps=[-2, -1]), n_steps=5
    )
    every, _ = scanviz.scan(lambda p: p * p, outputs_info=x, n_steps=4)  # the sum of powers 2, 4, 8, 16
    wanted = [third(each, x) for each in (squares[-1], product[-1], fibonacci[-1], T.sum(every))]
    found = scanviz.function([x, once], wanted, mode=mode)(0.95, 1)

    def of_power(n):
        return n * (n - 1) * (n - 2) * 0.95 ** (n - 3) if n > 2 else 0.0

    expected = [of_power(32), of_power(9), of_power(13), sum(map(of_power, (2, 4, 8, 16)))]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_gradients_through_updates_between_loops_are_correct():
    """Field notes 1.5.8: the value that one loop leaves in a shared variable is where the next one starts."""
    a = scanviz.shared(1.1, "a")
    h, first = scanviz.scan(lambda h: (h * a, {a: a * a}), outputs_info=T.constant(1.0), n_steps=3)
    s, _ = scanviz.scan(lambda s, b: s + b, outputs_info=h[-1], non_sequences=first[a], n_steps=2)
    # h = a * a**2 * a**4 = a**7, the value left is a**8, s = a**7 + 2 a**8
    found = scanviz.function(
        [], [scanviz.grad(s[-1], a), scanviz.grad(scanviz.grad(s[-1], a), a)], no_default_updates=True
    )()
    np.testing.assert_allclose(found, [7 * 1.1**6 + 16 * 1.1**7, 42 * 1.1**5 + 112 * 1.1**6])


@pytest.mark.parametrize("mode", MODES)
def test_gradients_through_draws_in_nested_loops_are_correct(mode):
    """A function without updates draws the same numbers at each call: gradient and difference see the same ones."""
    stream, w, x = T.random.RandomStreams(11), T.scalar("w"), T.vector("x")

    def step(x_t, h):
        inner, updates = scanviz.scan(
            lambda p: T.tanh(p * w + stream.normal(size=()) * x_t), outputs_info=h, n_steps=3, name="inner"
        )
        return inner[-1] * stream.uniform(size=()), updates

    h, _ = scanviz.scan(step, x, T.constant(0.4), name="outer")
    f = scanviz.function([w, x], [h[-1], *scanviz.grad(h[-1], [w, x])], mode=mode, no_default_updates=True)
    at = np.array([0.5, -0.3, 0.8])
    _, to_w, to_x = f(0.7, at)
    np.testing.assert_allclose(to_w, (f(0.7 + 1e-6, at)[0] - f(0.7 - 1e-6, at)[0]) / 2e-6, rtol=1e-6)
    for t in range(3):
        move = 1e-6 * np.eye(3)[t]
        np.testing.assert_allclose(to_x[t], (f(0.7, at + move)[0] - f(0.7, at - move)[0]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("how", ["open", "closed", "split"])
def test_a_backward_step_of_an_lstm_adds_no_zeros_and_joins_its_gates(how):
    """No cotangent of c comes from outside: its gradient comes from the next step; the gates are four adjacent slices."""
    size = 3
    x, U, h0, c0 = T.matrix("x"), T.matrix("U"), T.vector("h0"), T.vector("c0")

    def step(x_t, h, c, U):
        gates = x_t + T.dot(h, U)
        if how == "split":
            cuts = T.split(gates, [size] * 4)
        else:
            gates = T.specify_shape(gates, (4 * size,)) if how == "closed" else gates
            ends = [size, 2 * size, 3 * size, 4 * size if how == "closed" else None]
            cuts = [gates[k * size : end] for k, end in enumerate(ends)]
        i, f, o = map(T.sigmoid, cuts[:3])
        c_t = f * c + i * T.tanh(cuts[3])
        return o * T.tanh(c_t), c_t

    (h, _), _ = scanviz.scan(step, x, [h0, c0], U, name="lstm")
    gradients = scanviz.grad(T.sum(h**2), [U, h0, c0])
    f = scanviz.function([x, U, h0, c0], gradients, mode=scanviz.Mode("numpy", "all"))
    [backward] = [loop for loop in f.program.instructions if getattr(loop, "name", "") == "grad_of_lstm"]
    ops = [made.op.name for made in backward.body.instructions]
    assert "assign" not in ops and "alloc" not in ops and ops.count("concatenate") == 1
    zeros = {
        number for number, value in backward.body.constants.items() if np.ndim(value) == 0 and value == 0.0
    }
    added = [made for made in backward.body.instructions if made.op.name == "add" and zeros & {*made.inputs}]
    assert not added
    rng = np.random.default_rng(0)
    values = [rng.normal(size=shape) for shape in [(4, 4 * size), (size, 4 * size), (size,), (size,)]]
    row, cell = h0, c0
    total = 0.0
    for t in range(4):
        row, cell = step(x[t], row, cell, U)
        total = total + T.sum(row**2)
    by_hand = scanviz.function([x, U, h0, c0], scanviz.grad(total, [U, h0, c0]), mode="reference")
    for mine, theirs in zip(f(*values), by_hand(*values), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
