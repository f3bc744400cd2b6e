"""Loops that keep every N-th state: the same values and gradients as plain scan, in less memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.program.instructions import all_loops

X, W, h0, H = T.matrix("X"), T.vector("W"), T.vector("h0"), T.matrix("H")


def rnn(x, h, w):
    return T.tanh(T.sin(x * w) + h * 0.8)


@given(
    steps=st.integers(0, 13),
    every=st.sampled_from([1, 2, 3, 5, 20, "auto", "symbolic"]),
    seed=st.integers(0, 2**32 - 1),
    mode=st.sampled_from(["numpy", "reference"]),
)
def test_values_and_gradients_are_those_of_scan(steps, every, seed, mode):
    rng = np.random.default_rng(seed)
    n = T.lscalar("n")
    size = n if every == "symbolic" else every
    options = dict(sequences=X, outputs_info=h0, non_sequences=W)
    kept, _ = scanviz.scan_checkpoints(rnn, save_every_N=size, **options)
    plain, _ = scanviz.scan(rnn, **options)
    number = {"symbolic": 3, "auto": max(1, int(np.ceil(np.sqrt(steps))))}.get(every, every)
    costs = [T.sum(T.sum(h[-1:] ** 2)) for h in (kept, plain)]
    outputs = [kept, plain, *(g for cost in costs for g in scanviz.grad(cost, [X, W, h0]))]
    f = scanviz.function([X, W, h0, n], outputs, mode=mode, on_unused_input="ignore")
    found, every_row, *gradients = f(rng.normal(size=(steps, 2)), rng.normal(size=2), rng.normal(size=2), 3)
    expected = sorted({*range(number - 1, steps, number), *([steps - 1] if steps else [])})
    np.testing.assert_allclose(found, every_row[expected])
    for mine, theirs in zip(gradients[:3], gradients[3:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("steps", [6, 7])
def test_checkpoints_support_updates_and_random_draws(steps):
    count, rng = scanviz.shared(0.0, "count"), T.random.RandomStreams(3)

    def step(h):
        return h + rng.normal(size=(2,)), {count: count + 1}

    kept, updates = scanviz.scan_checkpoints(step, outputs_info=h0, n_steps=steps, save_every_N=3)
    f = scanviz.function([h0], kept, updates=updates)
    first, second = f([0.0, 0.0]), f([0.0, 0.0])
    assert count.get_value() == 2 * steps
    assert first.shape == (2 if steps == 6 else 3, 2) and not np.allclose(first, second)


def test_backward_chunks_draw_the_same_numbers_again():
    rng = T.random.RandomStreams(5)
    kept, _updates = scanviz.scan_checkpoints(
        lambda h, w: T.tanh(h * w * rng.uniform(size=(2,))),
        outputs_info=h0,
        non_sequences=W,
        n_steps=6,
        save_every_N=3,
    )
    cost = T.sum(kept[-1])
    f = scanviz.function([h0, W], [cost, scanviz.grad(cost, W)], no_default_updates=True)
    at, w = np.array([0.4, 0.9]), np.array([1.5, -0.7])
    _, gradient = f(at, w)
    for k in range(2):
        moved = [w + s * 1e-6 * np.eye(2)[k] for s in (1, -1)]
        np.testing.assert_allclose(gradient[k], (f(at, moved[0])[0] - f(at, moved[1])[0]) / 2e-6, rtol=1e-5)


def test_the_forward_loop_keeps_one_state_per_chunk_and_runs_again():
    kept, _ = scanviz.scan_checkpoints(rnn, X, h0, W, name="long", n_steps=12, save_every_N=4)
    f = scanviz.function([X, W, h0], scanviz.grad(T.sum(kept[-1]), W))
    names = [loop.name for loop, _ in all_loops(f.program)]
    assert names == ["long_outer", "long_inner#1", "grad_of_long_outer", "long_inner#2", "grad_of_long_inner"]
    forward = next(loop for loop, _ in all_loops(f.program) if loop.name == "long_outer")
    assert [slot.result is not None for slot in forward.states] == [True] and not forward.step_outputs


def test_a_promise_of_a_multiple_is_checked():
    with pytest.raises(ScanvizError, match="no multiple of save_every_N"):
        scanviz.scan_checkpoints(rnn, X, h0, W, n_steps=10, save_every_N=4, padding=False)
    kept, _ = scanviz.scan_checkpoints(rnn, X, h0, W, save_every_N=4, padding=False)
    f = scanviz.function([X, W, h0], kept)
    assert f(np.ones((8, 2)), [1.0, 1.0], [0.0, 0.0]).shape == (2, 2)
    with pytest.raises(ScanvizError, match="beyond a multiple of save_every_N"):
        f(np.ones((9, 2)), [1.0, 1.0], [0.0, 0.0])


def doubled(h):
    return h * 2


def doubled_until(h):
    return h * 2, scanviz.until(T.sum(h) > 9)


def test_checkpoints_refuse_a_stop_condition_with_a_fix():
    with pytest.raises(
        ScanvizError, match="ends by a condition, and chunks of a fixed length cannot"
    ) as caught:
        scanviz.scan_checkpoints(doubled_until, outputs_info=h0, n_steps=9)
    assert "n = scan(step, …)[0].shape[0]" in caught.value.fix and "n_steps=n" in caught.value.fix
    rows, _ = scanviz.scan(doubled_until, outputs_info=h0, n_steps=9)
    kept, _ = scanviz.scan_checkpoints(doubled, outputs_info=h0, n_steps=rows.shape[0], save_every_N=2)
    last, expected = scanviz.function([h0], [kept[-1], rows[-1]])(np.ones(2))
    assert last.tolist() == expected.tolist() == [16.0, 16.0]


def test_invalid_checkpoint_distances_are_refused_with_a_reason():
    with pytest.raises(ScanvizError, match="must be at least 1"):
        scanviz.scan_checkpoints(rnn, X, h0, W, save_every_N=0)
    with pytest.raises(ScanvizError, match="save_every_N cannot be used"):
        scanviz.scan_checkpoints(rnn, X, h0, W, save_every_N="often")


def test_scan_checkpoints_leaves_its_arguments_unchanged():
    sequences, infos, constants = [dict(input=X)], [dict(initial=h0)], [W]
    scanviz.scan_checkpoints(rnn, sequences, infos, constants)
    assert (list(sequences[0]), list(infos[0]), constants) == (["input"], ["initial"], [W])
