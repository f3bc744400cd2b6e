"""Loops that are prefix sums are taken many steps at once on NumPy: with the bits of the steps, and shown as the loops they are."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import accumulated
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.runtime.specialised import ENTERED

STEPS = [0, 1, accumulated.FEWEST - 1, accumulated.FEWEST, 200, 2 * accumulated.MOST + 3]
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0]


def rows_of(dtype, shape, seed=1):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, size=shape, dtype=dtype)
    found = rng.normal(size=shape).astype(dtype)
    return np.where(rng.random(shape) < 0.002, rng.choice(np.array(SPECIAL, dtype), size=shape), found)


def at_once(f):
    """Return of the last code of each loop whether it takes many steps at once."""
    return [
        accumulated.accumulated(loop, f.memory_plans()[loop.key]) is not None
        for loop, _ in all_loops(f.program)
    ]


def same(f, reference, *given):
    for found, expected in zip(f(*given), reference(*given), strict=True):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        np.testing.assert_array_equal(found, expected)
        if found.dtype.kind == "f":  # zeros of either sign; a NaN has none that counts
            known = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def both(inputs, outputs):
    one_by_one = scanviz.Mode(
        "reference", "all"
    )  # the same rewrites: some add up a loop's terms in another order
    return [scanviz.function(inputs, outputs, mode=mode) for mode in ("numpy", one_by_one)]


UPDATES = {
    "h + x": lambda x_t, h: h + x_t,
    "x + h": lambda x_t, h: x_t + h,
    "h * x": lambda x_t, h: h * x_t,
    "h - x": lambda x_t, h: h - x_t,
    "maximum(h, x)": lambda x_t, h: T.maximum(h, x_t),
    "minimum(h, x)": lambda x_t, h: T.minimum(h, x_t),
    "h and x": lambda x_t, h: T.logical_and(h, x_t),
    "x or h": lambda x_t, h: T.logical_or(x_t, h),
    "h xor x": lambda x_t, h: T.bitwise_xor(h, x_t),
}
OF = {"h and x": "bool", "x or h": "bool", "h xor x": "int16", "maximum(h, x)": "int8"}


@pytest.mark.parametrize("update", list(UPDATES))
def test_many_steps_at_once_have_the_bits_of_the_steps(update):
    """At the numbers of steps that are the program's own; of all dtypes and of other numbers: the laws of sums."""
    dtype, shape = OF.get(update, "float64"), (3,)
    x = T.tensor(dtype, shape=(None, *shape), name="x")
    start = T.tensor(dtype, shape=shape, name="start")
    h, _ = scanviz.scan(UPDATES[update], x, start)
    for kept in (h, h[-1]):
        f, reference = both([x, start], [kept])
        for steps in STEPS if kept is h else STEPS[1:]:
            given = rows_of(dtype, (steps, *shape)), rows_of(dtype, (1, *shape), 2)[0]
            same(f, reference, *given)
        assert at_once(f) == [True] or kept is not h  # of sums of rows the last is one sum


def several(x, y):
    """Return outputs of loops of many forms, and how many loops there are with their gradients."""
    total, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.5, name="total")
    most, _ = scanviz.scan(
        lambda x_t, y_t, h, g: [h * y_t, T.maximum(g, x_t)], [x, y], [1.0, -9.0], name="two"
    )
    back, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t) * 2 + h, x, 0.0, name="back", go_backwards=True)
    few, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, n_steps=100, name="few")
    whole, _ = scanviz.scan(lambda i_t, h: h + i_t, T.cast(x * 100, "int32"), 0.0, name="whole")
    return [total, *most, back, few, whole[-1]]


def test_loops_of_many_forms_and_their_gradients_are_taken_many_steps_at_once():
    x, y = T.vector("x"), T.vector("y")
    outputs = several(x, y)
    f, reference = both([x, y], outputs)
    rng = np.random.default_rng(0)
    given = rng.normal(size=300), 1 + 0.01 * rng.normal(size=300)
    same(f, reference, *given)
    assert at_once(f) == [True] * 5
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.5, name="total")
    f, reference = both([x], [scanviz.grad((h**2).sum(), x)])
    same(f, reference, given[0])
    assert at_once(f) == [True, True]


@pytest.mark.parametrize(
    "step",
    [
        lambda x_t, h: h + x_t * h,
        lambda x_t, h: (h + x_t, scanviz.until(h > 5)),
        lambda x_t, h: T.maximum(x_t, h),  # of zeros of either sign it takes the sequence's
        lambda x_t, h: h - h,
        lambda x_t, h: h + 1.0,
    ],
)
def test_other_steps_are_taken_one_by_one(step):
    x = T.vector("x")
    f, reference = both([x], [scanviz.scan(step, x, np.float64(0.0))[0]])
    same(f, reference, np.array([-0.0, 0.0] * 50))
    assert at_once(f) in ([False], [])


def test_wide_rows_are_taken_one_by_one():
    x = T.matrix("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, h: h + x_t, x, T.zeros_like(x[0]))[0], mode="numpy")
    for width, expected in ((accumulated.WIDEST, True), (accumulated.WIDEST + 1, False)):
        f(np.ones((50, width)))
        assert at_once(f) == [expected]


@pytest.mark.parametrize("rows", [(50,), (50, 1)])
def test_rows_that_are_broadcast_to_the_state_are_added_one_by_one(rows):
    x, start = T.tensor("float64", shape=(None, *rows[1:]), name="x"), T.tensor("float64", shape=(50,))
    f, reference = both([x, start], [scanviz.scan(lambda x_t, h: h + x_t, x, start)[0]])
    same(f, reference, rows_of("float64", rows), rows_of("float64", (50,), 2))
    f, reference = both([x, start], [scanviz.scan(lambda x_t, h: h + x_t, x, start[:3])[0]])
    same(f, reference, rows_of("float64", rows), rows_of("float64", (50,), 2))


@pytest.mark.parametrize("wanted", [[0, 1], [1], [0, 2], [2]])
@pytest.mark.parametrize("last", [1, 3])
def test_rows_before_and_after_the_step_are_kept_as_far_as_they_are_read(wanted, last):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h: [h + x_t, h, h + x_t], x, [0.5, None, None])
    f, reference = both([x], [rows[0][-1], *(rows[k][-last:] for k in wanted)])
    for steps in (5, 500, 2 * accumulated.MOST + 3):
        same(f, reference, rows_of("float64", (steps,)))


@pytest.mark.parametrize("steps", [5, 500])
def test_a_loop_that_is_entered_quickly_gives_the_same(steps):
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0)
    for outputs in ([h], [h[-1]], [h, h[-1]]):
        f, reference = both([x], outputs)
        for seed in range(ENTERED + 3):
            same(f, reference, rows_of("float64", (steps,), seed))
        (runner,) = f.executable.flat.runners.values()
        assert runner.all_made()[0].entry is not None


def test_the_default_mode_counts_what_a_step_takes_among_many_at_once():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, h: h + x_t, x, 0.0)[0])
    f(np.ones(1_000_000))
    [made] = all_made(f.executable.flat.runners).values()
    assert made.tier.name == "numpy" and 3e6 < f.executable.policy.numpy_ns < 6e6


def test_a_profile_has_all_steps_and_times_of_blocks_of_them():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="total")[0], mode="numpy")
    with scanviz.profile() as profile:
        f(np.ones(100_000))
    (loop,) = [loop for loop in profile.record.loops if loop.name == "total"]
    assert loop.steps == 100_000
    assert loop.block_steps > 99_000 and loop.blocks < 100


def test_each_step_of_a_short_loop_has_its_time_in_a_profile():
    x = T.vector("x")
    f = scanviz.function([x], scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="total")[0], mode="numpy")
    with scanviz.profile() as profile:
        f(np.ones(10))
    (loop,) = [loop for loop in profile.record.loops if loop.name == "total"]
    assert (loop.steps, loop.block_steps) == (10, 0)
