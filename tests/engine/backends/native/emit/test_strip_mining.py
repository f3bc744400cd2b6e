"""Loops that are done in strips: the very numbers of the steps done one after another, and only where nothing forbids it."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.emit import code as emitter
from scanviz.engine.backends.native.emit import inside
from scanviz.engine.backends.native.emit.strip_mining import strip_mined_loop

RNG = np.random.default_rng(23)


def last_rows(step, states, others, steps, sequence=None):
    """Return the last rows of a loop's states with strips and without, and whether there were strips."""
    inputs = [T.tensor(each.dtype.name, (None,) * each.ndim) for each in (*states, *others)]
    given = [*states, *others]
    first, rest = inputs[: len(states)], inputs[len(states) :]
    asked = []
    if sequence is not None:
        asked = [T.vector(dtype=sequence.dtype.name)]
        inputs, given = [*inputs, *asked], [*given, sequence]
    n = T.lscalar("n")
    rows, _ = scanviz.scan(step, asked, first, rest, n_steps=n)
    rows = rows if isinstance(rows, list | tuple) else [rows]
    found, used = [], []
    for wanted in (True, False):

        def chosen(steps, wanted=wanted):
            strips = strip_mined_loop(steps)
            used.append(strips is not None)
            return strips if wanted else None

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(emitter, "strip_mined_loop", chosen)
            f = scanviz.function([*inputs, n], [each[-1] for each in rows], mode="native")
            found.append(f(*given, steps))
    return *found, all(used) and bool(used)


SHAPES = [(1,), (7,), (8,), (10,), (100,), (64, 3), (1, 5, 1), (1000,)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("steps", [1, 2, 255, 300])
def test_strip_mined_loops_have_the_bits_of_plain_loops(shape, steps):
    a, b = RNG.normal(size=shape), RNG.normal(size=shape) * 0.1
    b.flat[0] = np.nan
    one, other, used = last_rows(lambda z, c: T.clip(z * z * 0.5 + c, -2.0, 2.0), [a], [b], steps)
    assert used
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "bool"])
def test_strips_of_two_dependent_states_agree_in_every_dtype(dtype):
    a, b = ((RNG.normal(size=70) * 9).astype(dtype) for _ in range(2))
    step = (lambda p, q: (q, p ^ q)) if dtype == "bool" else (lambda p, q: (q, p + q))
    one, other, _ = last_rows(step, [a, b], [], 60)
    for found, expected in zip(one, other, strict=True):
        np.testing.assert_array_equal(found, expected)
    p, q = a.copy(), b.copy()
    for _ in range(60):
        p, q = q, (p ^ q if dtype == "bool" else (p + q).astype(dtype))
    np.testing.assert_allclose(one[0], p, rtol=1e-5)


def test_scalars_of_a_sequence_are_read_by_every_strip():
    a, times = RNG.normal(size=(5, 40)), RNG.normal(size=30)
    one, other, used = last_rows(lambda t, z: z * 0.9 + t, [a], [], 30, times)
    assert used
    np.testing.assert_array_equal(one, other)
    for t in times:
        a = a * 0.9 + t
    np.testing.assert_array_equal(one[0], a)


@pytest.mark.parametrize(
    "step",
    [
        lambda z, c: T.exp(-z) + c,  # few registers are not enough for it
        lambda z, c: z + T.sum(z) * c,  # elements mix
        lambda z, c: z[::-1] + c,
        lambda z, c: (z + c, {}, scanviz.until(T.all(z > 5.0))),
    ],
)
def test_loops_that_cannot_or_need_not_be_strip_mined_are_not(step):
    given = RNG.random(20), RNG.random(20)
    z, c = T.vector("z"), T.vector("c")
    rows, _ = scanviz.scan(step, None, z, c, n_steps=9)
    refused = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(emitter, "strip_mined_loop", lambda steps: refused.append(strip_mined_loop(steps)))
        found = scanviz.function([z, c], rows[-1], mode="native")(*given)
    assert refused and not any(refused)
    np.testing.assert_allclose(found, scanviz.function([z, c], rows[-1], mode="numpy")(*given), rtol=1e-12)


def test_a_loop_that_keeps_all_rows_writes_each_step():
    z = T.vector("z")
    rows, _ = scanviz.scan(lambda z: z * 0.5 + 1.0, None, z, n_steps=20)
    found = scanviz.function([z], rows, mode="native")(np.zeros(9))
    np.testing.assert_array_equal(found[:, 0], 2 - 2.0 ** -np.arange(20.0))


@pytest.mark.parametrize("size", [1, 3, 10, 71])
def test_an_inner_loop_is_strip_mined_too(size):
    x, c, weight = T.matrix("x"), T.vector("c"), T.vector("weight")

    def outer(x_t, so_far, c):
        inner, _ = scanviz.scan(
            lambda w, z, y: (z * w + c, y + z * x_t),
            weight,
            [so_far, x_t],
            n_steps=6,
            name="inner",
        )
        return inner[0][-1] + inner[1][-1]

    rows, _ = scanviz.scan(outer, x, T.zeros_like(x[0]), c, name="outer")
    given, found, used = [RNG.normal(size=(4, size)), RNG.normal(size=size), RNG.random(6)], [], []
    for wanted in (True, False):

        def chosen(steps, wanted=wanted):
            strips = strip_mined_loop(steps)
            used.append(strips is not None)
            return strips if wanted else None

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(inside, "strip_mined_loop", chosen)
            found.append(scanviz.function([x, c, weight], rows, mode="native")(*given))
    assert used == [True, True]
    np.testing.assert_array_equal(*found)
    plain = scanviz.function([x, c, weight], rows, mode=scanviz.Mode("reference", rewrites=None))
    np.testing.assert_allclose(found[0], plain(*given), rtol=1e-12)


def test_rows_that_an_inner_loop_reads_are_not_strip_mined():
    x = T.matrix("x")

    def outer(x_t, so_far):
        inner, _ = scanviz.scan(lambda row, z: z * 0.5 + row, x, so_far * x_t, name="inner")
        return inner[-1]

    rows, _ = scanviz.scan(outer, x, T.zeros_like(x[0]), name="outer")
    given = RNG.normal(size=(4, 10))
    found, plain = (
        scanviz.function([x], rows, mode=mode)(given)
        for mode in ("native", scanviz.Mode("reference", rewrites=None))
    )
    np.testing.assert_allclose(found, plain, rtol=1e-12)
