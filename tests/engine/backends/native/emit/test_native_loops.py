"""Native loops agree with the interpreter on unrewritten Programs; loops without native code run on NumPy."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends.native.emit import inside
from scanviz.engine.backends.native.run import tier
from scanviz.engine.backends.registry import resolve
from scanviz.engine.errors import ScanvizError

RNG = np.random.default_rng(3)


def tiers_of(f):
    """Return of each loop of a function the tier of its code, and why it is that."""
    runners = f._executable.flat.runners.values()
    return [(made.tier.name, made.why) for runner in runners for made in runner.all_made()]


def agree(inputs, wanted, *values, tolerance=1e-12, rewrites="all"):
    """Check native code against the reference tier without rewrites, and that it was native code."""
    f = scanviz.function(inputs, wanted, mode=Mode("native", rewrites))
    plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"))
    for mine, theirs in zip(f(*values), plain(*values), strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
    assert {name for name, _ in tiers_of(f)} == {"native"}, tiers_of(f)
    return f


def network(dtype="float64", width=5):
    x, h0 = T.tensor(dtype, (None, None), "x"), T.tensor(dtype, (None,), "h0")
    w, v = T.tensor(dtype, (None, None), "w"), T.tensor(dtype, (None, None), "v")
    h, _ = scanviz.scan(
        lambda x_t, h, w, v: T.tanh(T.dot(x_t, v) + T.dot(h, w)), x, h0, [w, v], name="network"
    )
    shapes = ((9, 4), (width,), (width, width), (4, width))
    return (
        [x, h0, w, v],
        h,
        [RNG.normal(size=shape).astype(dtype) / np.sqrt(width).astype(dtype) for shape in shapes],
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("width", [1, 3, 8, 21, 64])
def test_a_network_and_its_gradient_agree_with_numpy(dtype, width):
    inputs, h, values = network(dtype, width)
    cost = T.sum(h[-1] ** 2) + T.sum(h)
    agree(inputs, [h, *scanviz.grad(cost, inputs)], *values, tolerance=2e-4 if dtype == "float32" else 1e-11)


@pytest.mark.parametrize("steps", [0, 1, 255, 256, 257, 700])
def test_chunks_of_steps_pass_states_of_every_kind_to_the_next_chunk(steps):
    x = T.matrix("x")

    def step(x_t, a, older, b):
        return a * 0.5 + x_t, T.sum(x_t) + 0.25 * older - b * 0.125, b + x_t[0]

    starts = [T.zeros((3,)), {"initial": T.constant([1.0, 2.0]), "taps": [-2]}, np.float64(0)]
    (a, c, b), _ = scanviz.scan(step, x, starts, name="mixed")
    for wanted in ([a, c, b], [a[-1:], c, b[-1:]], [a[-2:], c[-3:], b[-2:]]):
        agree([x], wanted, RNG.normal(size=(steps, 3)))


@pytest.mark.parametrize("cut", [np.s_[::-1], np.s_[::3], np.s_[::-2], np.s_[:, ::-1], np.s_[:, ::2]])
def test_strided_sequences_and_weights_agree_with_numpy(cut):
    x, w = T.matrix("x"), T.matrix("w")
    s, _ = scanviz.scan(lambda x_t, s, w: s * 0.5 + T.dot(w, x_t), x, T.zeros((4,)), w)
    given = RNG.normal(size=(8, 8))[cut]
    agree([x, w], [s], given, np.asfortranarray(RNG.normal(size=(4, given.shape[1]))))


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "bool", "float32"])
def test_reductions_of_every_dtype_along_every_axis_agree_with_numpy(dtype):
    x = T.tensor(dtype, (None, 5, 19), "x")
    given = (RNG.integers(0, 2, (6, 5, 19)) if dtype == "bool" else RNG.integers(0, 9, (6, 5, 19))).astype(
        dtype
    )
    results = []
    for reduce in (T.sum, T.max, T.min, T.prod, T.all, T.any):
        for axis in (None, 0, 1):
            (rows, _) = scanviz.scan(lambda x_t, reduce=reduce, axis=axis: reduce(x_t, axis=axis), x)
            results.append(rows)
    agree([x], results, given, tolerance=1e-5, rewrites="none")


def test_a_loop_with_value_dependent_shapes_runs_on_numpy_with_a_reason():
    x = T.matrix("x")
    y, _ = scanviz.scan(lambda x_t, y: y + T.sum(x_t[x_t > 0]), x, T.constant(0.0), name="positive")
    f = scanviz.function([x], y[-1], mode=Mode("native", "none"))
    given = RNG.normal(size=(4, 3))
    np.testing.assert_allclose(f(given), sum(each[each > 0].sum() for each in given))
    ((name, why),) = tiers_of(f)
    assert name == "numpy" and "depends on values" in why


def test_the_tier_lists_the_operations_it_supports():
    x = T.matrix("x")
    program = scanviz.function([x], T.linalg.pinv(T.exp(x))).program
    answers = [resolve("native").supports(each, program) for each in program.instructions]
    assert [answer.runs for answer in answers] == [True, False]
    assert answers[1].why == "`pinv` has no native code"


def test_ctrl_c_interrupts_a_long_loop():
    x, n = T.vector("x"), T.lscalar("n")
    s, _ = scanviz.scan(lambda s, x: T.tanh(s * 0.5 + x), None, x, x, n_steps=n, name="long")
    f = scanviz.function([x, n], s[-1], mode="native")
    f(np.ones(512), 10)
    with pytest.raises(KeyboardInterrupt):  # without one the loop would go on for minutes
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        f(np.ones(512), 10**9)
    assert np.isfinite(f(np.ones(512), 10)).all()


def test_ctrl_c_interrupts_a_long_inner_loop():
    x = T.scalar("x")

    def step(s):
        inner, _ = scanviz.scan(lambda q: T.sin(q) + 0.5, None, s, n_steps=2 * 10**9, name="long")
        return inner[-1]

    s, _ = scanviz.scan(step, None, x, n_steps=2, name="outer")
    f = scanviz.function([x], s[-1], mode=Mode("native", "none"))
    with pytest.raises(KeyboardInterrupt):  # without one the loop would go on for a minute
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        f(0.5)


def test_long_inner_loops_are_called_out_with_a_reason(monkeypatch):
    monkeypatch.setattr(inside, "LONG_NS", 1e4)
    x, s0 = T.matrix("x"), T.vector("s0")

    def step(x_t, s):
        inner, _ = scanviz.scan(lambda q: T.sin(q) + x_t * 0.5, None, s, n_steps=300, name="long")
        return T.tanh(inner[-1] * 0.5 + x_t * s) * T.exp(-s * s) + T.cos(x_t)

    out, _ = scanviz.scan(step, x, s0, name="outer")
    f = agree([x, s0], [out[-1]], RNG.normal(size=(2, 3)), RNG.normal(size=3), rewrites="none")
    assert any(
        "`long` is a long inner loop, which runs in its own chunks of steps" in why for _, why in tiers_of(f)
    ), tiers_of(f)


@pytest.mark.parametrize("target", ["baseline", "avx2"])
def test_older_processors_get_the_same_numbers(target):
    script = (
        "import numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "x = T.matrix('x')\n"
        "s, _ = scanviz.scan(lambda x_t, s: T.exp(-s) * 0.5 + T.tanh(x_t) + T.log1p(s * s), x, T.zeros((13,)))\n"
        "f = scanviz.function([x], s, mode='native')\n"
        "g = scanviz.function([x], s, mode=scanviz.Mode('reference', 'none'))\n"
        "given = np.linspace(-3, 3, 91).reshape(7, 13)\n"
        "np.testing.assert_allclose(f(given), g(given), rtol=1e-13)\n"
        "from scanviz.engine.backends.native.cache.jit import target\n"
        "print(target().vector_bytes)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "SCANVIZ_NATIVE_TARGET": target},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == {"baseline": "16", "avx2": "32"}[target]


def test_code_is_called_for_few_steps_first(monkeypatch):
    lengths = []
    call = tier.NativeCode.__call__

    def noted(self, arena, first, last):
        lengths.append((first, last))
        return call(self, arena, first, last)

    monkeypatch.setattr(tier.NativeCode, "__call__", noted)
    inputs, h, values = network()
    scanviz.function(inputs, h, mode="native")(*values)
    assert lengths == [(0, 9)]


@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_softmax_with_masked_entries_agrees_with_numpy(axis):
    x = T.tensor("float64", (None, 4, 9), "x")
    given = RNG.normal(size=(5, 4, 9)) * 30
    given[1, 2, :] = -np.inf
    given[2, :, 3] = -np.inf
    rows, _ = scanviz.scan(lambda x_t: [T.nnet.softmax(x_t, axis), T.nnet.log_softmax(x_t, axis)], x)
    agree([x], rows, given, rewrites="none")


@pytest.mark.parametrize(
    "step", [lambda x, n, s: T.tanh(s * x) + x**n, lambda x, n, s: T.abs((x + 1) ** n - x) * 2 + T.sin(s)]
)
def test_a_negative_power_of_integers_is_the_error_of_the_other_tiers(step):
    x, n = T.tensor("int64", (None, 5), "x"), T.tensor("int64", (None, 5), "n")
    rows, _ = scanviz.scan(step, [x, n], T.zeros((5,)), name="powers")
    values = RNG.integers(1, 4, (300, 5)), RNG.integers(0, 4, (300, 5))
    agree([x, n], [rows], *values)
    values[1][271, 2] = -1
    text = []
    for tier_name in ("reference", "native"):
        with pytest.raises(ValueError, match="negative integer powers") as caught:
            scanviz.function([x, n], rows, mode=Mode(tier_name, "none"))(*values)
        text.append(str(caught.value))
    assert text[0] == text[1] and "step 271" in text[0], text


@pytest.mark.parametrize("tier_name", ["numpy", "native"])
def test_an_error_in_a_side_of_a_branch_names_the_step(tier_name):
    x, n = T.tensor("int64", (None,), "x"), T.tensor("int64", (None,), "n")
    rows, _ = scanviz.scan(
        lambda x, n, s: scanviz.ifelse(x > 1, x**n, n) + s, [x, n], np.int64(0), name="sides"
    )
    text = []
    for name in ("reference", tier_name):
        with pytest.raises(ValueError, match="negative integer powers") as caught:
            scanviz.function([x, n], rows, mode=Mode(name, "none"))([1, 2, 2], [1, 2, -1])
        text.append(str(caught.value))
    assert text[0] == text[1] and "in loop `sides`, at step 2" in text[0], text


@pytest.mark.parametrize(
    "step",
    [
        lambda a, b, m: a + b,
        lambda a, b, m: T.dot(a, b),
        lambda a, b, m: T.dot(m, b),
        lambda a, b, m: T.concatenate([m, m[:1, :2]], axis=0),
        lambda a, b, m: T.reshape(m, (4, 2)),
        lambda a, b, m: T.max(m[:, :0], axis=1),
        lambda a, b, m: T.set_subtensor(a[:2], b),
    ],
)
def test_mismatched_shapes_raise_the_error_of_the_other_tiers(step):
    a, b, m = T.matrix("a"), T.matrix("b"), T.tensor("float64", (None, None, None), "m")
    rows, _ = scanviz.scan(step, [a, b, m], name="fits")
    text = []
    for tier_name in ("numpy", "native"):
        f = scanviz.function([a, b, m], rows, mode=Mode(tier_name, "none"))
        with pytest.raises(ScanvizError) as caught:
            f(np.ones((3, 4)), np.ones((3, 3)), np.ones((3, 5, 4)))
        text.append(str(caught.value))
    assert text[0] == text[1]


def test_arrays_of_sizes_triangles_and_diagonals_are_native():
    x = T.tensor3("x")

    def step(m):
        size = m.shape[0]
        return [
            m + T.eye(size, m.shape[1], k=1) * 2.0,
            T.sum(m, axis=0) * T.arange(m.shape[1]),
            T.tril(m, -1) - T.triu(m, 1),
            T.diag(T.diagonal(m), -1),
        ]

    results, _ = scanviz.scan(step, x)
    f = agree([x], results, RNG.normal(size=(3, 5, 5)), rewrites="none")
    assert all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


def test_strided_rows_are_copied_once_per_run(monkeypatch):
    from scanviz.engine.backends.native.run import gathered_arguments

    copied = []
    in_order = np.ascontiguousarray
    monkeypatch.setattr(
        gathered_arguments.np,
        "ascontiguousarray",
        lambda value: copied.append(value.shape) or in_order(value),
    )
    x, w = T.tensor3("x"), T.matrix("w")
    s, _ = scanviz.scan(lambda x_t, s, w: T.tanh(x_t * w + s), x, T.zeros((4, 3)), w, name="turned")
    f = scanviz.function([x, w], s[-1], mode=Mode("native"))
    values = RNG.normal(size=(60, 3, 4)).transpose(0, 2, 1), RNG.normal(size=(3, 4)).T
    expected = scanviz.function([x, w], s[-1], mode=Mode("reference"))(*values)
    with scanviz.profile():
        np.testing.assert_allclose(f(*values), expected, rtol=1e-12)
    assert copied.count((60, 4, 3)) == 1


def test_parts_of_a_row_are_read_in_place():
    x = T.tensor3("x")
    s, _ = scanviz.scan(
        lambda x_t, s: s * 0.5 + x_t[1:, 1:] - x_t[:-1, :-1], x, T.zeros((3, 2)), name="parts"
    )
    f = agree([x], s[-1], RNG.normal(size=(20, 4, 3)))
    assert not any(rewrite.rule == "PushOutSeqScan" for rewrite in f.rewrites)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 7, 16, 21, 100])
def test_a_sum_of_negative_zeros_is_zero_as_it_is_in_numpy(dtype, size):
    x = T.tensor(dtype, (None, None, None), "x")
    out, _ = scanviz.scan(lambda a: [T.sum(a), T.sum(a, axis=0), T.sum(a, axis=1), T.prod(a, axis=1)], x)
    f = scanviz.function([x], out, mode="native")
    for number in (-0.0, 0.0, -np.inf, np.nan):
        given = np.full((2, 3, size), number, dtype)
        plain = scanviz.function([x], out, mode="reference")(given)
        for mine, theirs in zip(f(given), plain, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(np.signbit(mine[mine == 0]), np.signbit(theirs[theirs == 0]))
