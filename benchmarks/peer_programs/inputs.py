"""Inputs of each loop for its sizes: the same for all tools."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = tuple[Any, ...]


def _random() -> np.random.Generator:
    return np.random.default_rng(2026)


def power(size: int, steps: int) -> Arrays:
    return (_random().uniform(0.99, 1.01, size), steps)


def cumulative_sum(steps: int) -> Arrays:
    return (_random().normal(size=steps),)


two_taps = cumulative_sum


def leaky_tanh(width: int, steps: int) -> Arrays:
    return (_random().normal(size=(steps, width)), np.zeros(width))


leaky_tanh_gradient = leaky_tanh


def rnn(size: int, batch: int, steps: int) -> Arrays:
    random = _random()
    row = (size,) if batch == 1 else (batch, size)
    weights = [random.normal(size=(size, size)) / np.sqrt(size) for _ in range(2)]
    return (random.normal(size=(steps, *row)), np.zeros(row), *weights)


rnn_gradient = rnn


def taps_rnn(size: int, steps: int) -> Arrays:
    random = _random()
    weights = [random.normal(size=(size, size)) / (2 * np.sqrt(size)) for _ in range(3)]
    return (random.normal(size=(steps, size)), np.zeros((2, size)), *weights)


def lstm(size: int, batch: int, steps: int) -> Arrays:
    random = _random()
    row = (size,) if batch == 1 else (batch, size)
    weights = [random.normal(size=(size, 4 * size)) / np.sqrt(size) for _ in range(2)]
    return (random.normal(size=(steps, *row)), np.zeros(row), np.zeros(row), *weights, np.zeros(4 * size))


lstm_gradient = lstm


def linear(width: int, steps: int) -> Arrays:
    random = _random()
    return (random.uniform(0.5, 0.99, (steps, width)), random.normal(size=(steps, width)), np.zeros(width))


linear_gradient = linear


def kalman(steps: int) -> Arrays:
    return (_random().normal(size=(steps, 2)), np.zeros(4), np.eye(4), np.eye(4) + 0.01 * np.eye(4, k=2), np.eye(2, 4),
            1e-3 * np.eye(4), np.eye(2))  # fmt: skip


def gibbs(steps: int) -> Arrays:
    return (steps,)
