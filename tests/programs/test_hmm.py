"""A hidden Markov model with forbidden transitions, in log space: likelihood, gradient and training against forward–backward.

A state goes to itself or to the next two, begins in the first, and some symbols are never seen in it: logarithms of
probabilities are -inf at more than half of the places, and at some steps for every predecessor of a state.

Source: L. Rabiner, "A tutorial on hidden Markov models", Proceedings of the IEEE 77 (1989), for the oracle, which works on
probabilities and shares nothing with what it judges.
"""

import itertools

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T

STATES, SYMBOLS, STEPS = 4, 5, 12
ALLOWED = np.triu(np.ones((STATES, STATES), bool)) & ~np.triu(np.ones((STATES, STATES), bool), 3)
SEEN = np.ones((STATES, SYMBOLS), bool)
SEEN[0, 3:] = SEEN[3, 0] = False  # the first state never gives the last two symbols, the last never the first
TIERS = [Mode(backend, rewrites) for backend in ("numpy", "reference") for rewrites in ("all", "none")]


def logits(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(STATES, STATES)), rng.normal(size=(STATES, SYMBOLS))


def sequence(seed, steps=STEPS):
    """Return symbols that the model can give: of the first three while it may be in the first state."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.integers(0, 3, 2), rng.integers(1, SYMBOLS, steps - 2)])


def log_likelihood(moves, gives, x):
    """Return log p(x) by the forward algorithm, a loop over symbols."""
    log_a = T.nnet.log_softmax(T.where(ALLOWED, moves, -np.inf))
    log_b = T.nnet.log_softmax(T.where(SEEN, gives, -np.inf))
    start = T.constant(np.where(np.arange(STATES) == 0, 0.0, -np.inf))

    def step(x_t, alpha):
        return T.logsumexp(alpha[:, None] + log_a, axis=0) + log_b[:, x_t]

    alphas, _ = scanviz.scan(step, x[1:], start + log_b[:, x[0]], name="forward")
    return T.logsumexp(alphas[-1])


def softmax(values, mask):
    powers = np.where(mask, np.exp(values), 0.0)
    return powers / powers.sum(axis=1, keepdims=True)


def forward_backward(moves, gives, x):
    """Return log p(x) and its gradients with respect to both logits, by expected counts."""
    a, b = softmax(moves, ALLOWED), softmax(gives, SEEN)
    forward = [np.eye(STATES)[0] * b[:, x[0]]]
    for symbol in x[1:]:
        forward.append((forward[-1] @ a) * b[:, symbol])
    backward = [np.ones(STATES)]
    for symbol in x[:0:-1]:
        backward.insert(0, a @ (b[:, symbol] * backward[0]))
    total = forward[-1].sum()
    used, given = np.zeros_like(a), np.zeros_like(b)
    for t, symbol in enumerate(x):
        given[:, symbol] += forward[t] * backward[t] / total
        if t:
            used += np.outer(forward[t - 1], b[:, symbol] * backward[t]) * a / total
    return (
        np.log(total),
        used - a * used.sum(axis=1, keepdims=True),
        given - b * given.sum(axis=1, keepdims=True),
    )


@pytest.fixture
def model():
    moves, gives, x = T.matrix("moves"), T.matrix("gives"), T.lvector("x")
    return moves, gives, x, log_likelihood(moves, gives, x)


@pytest.mark.parametrize("mode", TIERS, ids=str)
def test_the_likelihood_and_its_gradient_are_those_of_forward_backward(model, mode):
    moves, gives, x, cost = model
    f = scanviz.function([moves, gives, x], [cost, *scanviz.grad(cost, [moves, gives])], mode=mode)
    for seed in range(4):
        at, symbols = logits(seed), sequence(seed, STEPS + seed)
        for mine, theirs in zip(f(*at, symbols), forward_backward(*at, symbols), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("mode", TIERS, ids=str)
def test_impossible_observations_have_likelihood_zero_and_no_gradient(model, mode):
    moves, gives, x, cost = model
    f = scanviz.function([moves, gives, x], [cost, *scanviz.grad(cost, [moves, gives])], mode=mode)
    value, of_moves, of_gives = f(*logits(0), np.array([4, 1, 2]))
    assert value == -np.inf
    assert not of_moves.any() and not of_gives.any()


@pytest.mark.parametrize("mode", TIERS[:2], ids=str)
def test_training_keeps_forbidden_transitions_forbidden(mode):
    moves, gives = (scanviz.shared(logit, name) for logit, name in zip(logits(7), ("A", "B"), strict=True))
    xs = [T.lvector(f"x{k}") for k in range(3)]
    loss = -sum(log_likelihood(moves, gives, x) for x in xs)
    of_moves, of_gives = scanviz.grad(loss, [moves, gives])
    train = scanviz.function(
        xs, loss, updates={moves: moves - 0.05 * of_moves, gives: gives - 0.05 * of_gives}, mode=mode
    )
    before = moves.get_value()
    losses = [float(train(*(sequence(k) for k in range(3)))) for _ in range(60)]
    assert np.isfinite(losses).all() and losses[-1] < losses[0] - 3
    assert all(later < earlier + 1e-9 for earlier, later in itertools.pairwise(losses))
    after = moves.get_value()
    assert np.isfinite(after).all() and np.isfinite(gives.get_value()).all()
    np.testing.assert_array_equal(after[~ALLOWED], before[~ALLOWED])  # exactly zero gradient
    assert (after[ALLOWED] != before[ALLOWED]).sum() > STATES


def test_the_second_derivative_along_a_direction_is_the_difference_of_gradients(model):
    moves, gives, x, cost = model
    at, symbols = logits(1), sequence(1)
    along = [np.random.default_rng(k).normal(size=each.shape) for k, each in enumerate(at)]
    products = scanviz.hessian_vector_product(cost, [moves, gives], along)
    found = scanviz.function([moves, gives, x], products)(*at, symbols)
    ends = [
        forward_backward(*(value + h * v for value, v in zip(at, along, strict=True)), symbols)[1:]
        for h in (1e-5, -1e-5)
    ]
    for mine, above, below in zip(found, *ends, strict=True):
        np.testing.assert_allclose(mine, (above - below) / 2e-5, rtol=1e-6, atol=1e-7)
