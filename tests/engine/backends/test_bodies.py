"""Steps with views, branches, loops and operations of every family agree with NumPy on every tier."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ShapeError
from scanviz.engine.ops.control import ifelse
from scanviz.engine.runtime.specialised import MOST_SHAPES
from scanviz.engine.scan.variables import Sequence, State, StepOutput
from tests.engine.backends.running import TIERS, check, compiled, loop, run

N = T.lscalar("n")
X = T.matrix("X")
ROWS = np.sin(np.arange(24.0)).reshape(6, 4)

# Operations from an (a, b) pair of vectors of four to a vector of four, with views, other ranks and scalars on the way.
STEPS = {
    "sum": lambda a, b: a + b,
    "overwritten": lambda a, b: T.exp(T.tanh(a * b)),
    "reversed": lambda a, b: a[::-1] * 0.5 + b,
    "view of a temporary": lambda a, b: (a * b)[::-1] + (a + b),
    "turned": lambda a, b: T.outer(a, b).T[1] + T.outer(a, b)[1],
    "reshaped": lambda a, b: (a + b).reshape((2, 2)).T.reshape((4,)),
    "column": lambda a, b: (a.dimshuffle(0, "x") + b).sum(axis=0) / 4,
    "joined": lambda a, b: T.concatenate([a[:2], b[2:]]),
    "set": lambda a, b: T.set_subtensor(a[1:3], b[1:3] * 2),
    "added to": lambda a, b: T.inc_subtensor((a + b)[0], 1.0),
    "scalar": lambda a, b: a * b.sum() + T.tanh(a[0]),
    "largest": lambda a, b: T.maximum(a, b) - b.max(),
    "chosen": lambda a, b: T.where(a > b, a, -b),
    "clipped": lambda a, b: T.clip(a + b, -0.5, 0.5),
    "sigmoid": lambda a, b: T.sigmoid(a) * T.softplus(b),
    "counted": lambda a, b: T.cast((a > b).sum(), "float64") + a,
    "by place": lambda a, b: a[T.argmax(b)] + b,
    "product": lambda a, b: T.dot(T.outer(a, b), a) * 0.1,
    "inner": lambda a, b: T.dot(a, b) + a,
    "zeros like": lambda a, b: T.zeros_like(a) + b * a.shape[0],
    "branch": lambda a, b: ifelse(a[0] > b[0], a, b * 2),
    "branch of temporaries": lambda a, b: ifelse(a.sum() > 0, a * b, (a + b)[::-1]) + T.exp(-a * a),
    "sorted": lambda a, b: T.sort(a) + b,
    "repeated sums": lambda a, b: T.cumsum(a)[::-1] * 0.1 + b,
    "float32": lambda a, b: T.cast(T.cast(a, "float32") * 2, "float64") - b,
    "normed": lambda a, b: a / (1 + T.sqrt((b * b).sum())),
    "solved": lambda a, b: T.solve(T.eye(4) * 3 + T.outer(a, b) * 0.1, b),
    "factor": lambda a, b: T.cholesky(T.eye(4) * 2 + T.outer(a, a) * 0.1)[3] + b,
    "determinant": lambda a, b: a * T.det(T.eye(4) + T.outer(a, b) * 0.1),
    "matrices": lambda a, b: T.matmul(a.reshape((2, 2)), b.reshape((2, 2))).flatten(),
    "batches": lambda a, b: T.batched_dot(a.reshape((2, 1, 2)), b.reshape((2, 2, 1))).sum() + b,
    "softmax": lambda a, b: T.nnet.softmax(a) - T.nnet.log_softmax(b),
    "rolled": lambda a, b: T.roll(a, 1) + T.tile(b[:2], 2),
    "order": lambda a, b: a[T.argsort(b)],
    "mask": lambda a, b: T.set_subtensor(a[a > b], 0.0),
    "added at places": lambda a, b: T.inc_subtensor(a[[0, 0, 1]], b[:3]),
    "rows of another": lambda a, b: T.outer(a, b)[[1, 2, 3, 0], [0, 1, 2, 3]],
    "spread": lambda a, b: a.std() * b + a.var() + T.logsumexp(b),
    "choice of numbers": lambda a, b: T.where(a[0] > b[0], a[1], b[1]) * T.sigmoid(a[2]) + b,
    "vector of numbers": lambda a, b: T.stack([a[0], b[1], a.sum(), b.max()]),
    "filled": lambda a, b: T.alloc(a[1], 4) + T.full((4,), 2.0) * b,
    "loop inside": lambda a, b: scanviz.scan(lambda v, s: T.tanh(v + s), a, b, name="inner")[0][-1],
    "sums inside": lambda a, b: b + scanviz.reduce(lambda v, s: v + s, a, 0.0)[0],
}


def two_input_loop(make):
    """Return a loop with a state that ``make`` computes from the state and a row, and an output that it computes too."""
    x, h, h0 = T.vector("x"), T.vector("h"), T.vector("h0")
    new = make(h, x)
    variables = [
        Sequence("x", x),
        State("h", {-1: h}, {0: new * 0.5}),
        StepOutput("direct", new),
        StepOutput("turned", make(x, h)[::-1]),
    ]
    return [N, X, h0], loop(variables, N, [X, h0])


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_each_kind_agree_with_the_reference(name):
    inputs, results = two_input_loop(STEPS[name])
    for steps in (1, 6):
        check(inputs, results, [steps, ROWS, np.linspace(-1, 1, 4)])


def test_a_step_with_value_dependent_shapes_is_checked_as_it_runs():
    x, count, h, counts, h0 = (
        T.vector("x"),
        T.lscalar("count"),
        T.vector("h"),
        T.lvector("counts"),
        T.vector("h0"),
    )
    part = x[:count]
    variables = [
        Sequence("x", x),
        Sequence("count", count),
        State("h", {-1: h}, {0: h + part}),
        StepOutput("part", part * 2),
    ]
    results = loop(variables, N, [X, counts, h0])
    check([N, X, counts, h0], results, [3, ROWS, [2, 2, 2], [1.0, 2.0]])
    for tier in TIERS:
        with pytest.raises(ShapeError, match=r"add: .*broadcast.* in loop `loop`, at step 1"):
            run(tier, [N, X, counts, h0], results, [3, ROWS, [2, 3, 2], [1.0, 2.0]])
        with pytest.raises(ShapeError, match=r"output `part` of loop `loop` changed its shape, at step 2"):
            run(tier, [N, X, counts, h0], results, [3, ROWS, [2, 2, 1], [1.0, 2.0]])  # would broadcast


def test_shapes_that_change_from_call_to_call_run_code_for_any_shapes():
    inputs, results = two_input_loop(lambda a, b: a * b + a[::-1])
    executable, reference = compiled("numpy", inputs, results), compiled("reference", inputs, results)
    for width in [*range(1, 40), 3, 7]:
        rows = np.random.default_rng(width).normal(size=(5, width))
        values = [np.array(5), rows, rows[0]]
        for found, wanted in zip(executable.run(values, None), reference.run(values, None), strict=True):
            np.testing.assert_array_equal(found, wanted)
    (runner,) = executable.flat.runners.values()
    assert len(runner.cache) == MOST_SHAPES + 1
    with pytest.raises(ShapeError, match="changed its shape"):
        executable.run([np.array(2), np.ones((3, 4)), np.ones(1)], None)


@pytest.mark.parametrize("tier", TIERS)
def test_only_the_taken_side_of_a_branch_runs(tier):
    x, y = T.vector("x"), T.vector("y")
    chosen = ifelse(x.sum() > 0, x * 2, y.reshape((7,)))
    (found,) = run(tier, [x, y], [chosen], [[1.0, 2.0], [3.0]])  # y cannot be reshaped so
    np.testing.assert_array_equal(found, [2.0, 4.0])


@pytest.mark.parametrize("tier", ["reference", "numpy"])
def test_ctrl_c_stops_a_loop_between_steps_and_the_next_call_is_right(tier, monkeypatch):
    h = T.vector("h")
    new = T.tanh(h)
    executable = compiled(tier, [N, h], loop([State("h", {-1: h}, {0: new})], N, [h]))
    from scanviz.engine.ops import elementwise as e

    calls = []

    def interrupted(*arguments):
        calls.append(True)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return np.tanh(*arguments)

    monkeypatch.setattr(e.tanh, "function", interrupted)
    broken = compiled(tier, [N, h], loop([State("h", {-1: h}, {0: new})], N, [h]))
    with pytest.raises(KeyboardInterrupt):
        broken.run([np.array(9), np.ones(3)], None)
    assert len(broken.run([np.array(9), np.ones(3)], None)[0]) == 9
    assert len(executable.run([np.array(3), np.ones(3)], None)[0]) == 3
