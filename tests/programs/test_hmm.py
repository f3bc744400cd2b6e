"""A hidden Markov model with forbidden transitions, in log space: likelihood and gradient against forward–backward.

A state goes to itself or to the next two, begins in the first, and some symbols are never seen in it: logarithms of
probabilities are -inf at more than half of the places, and at some steps for every predecessor of a state.

Source: L. Rabiner, "A tutorial on hidden Markov models", Proceedings of the IEEE 77 (1989), for the oracle, which works on
probabilities and shares nothing with what it judges.
"""

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
