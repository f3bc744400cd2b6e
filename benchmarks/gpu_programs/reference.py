"""Inputs of each loop, and its result in float64 on the host, of a part that depends on no other."""

from __future__ import annotations

from typing import Any

import numpy as np

Arrays = tuple[Any, ...]
COLUMNS, ROWS = 64, 2  # of elements, of a batch: few enough for NumPy
RATE = 3.5  # of the logistic map: it ends in a cycle of four numbers, whatever the rounding
SHARE, CLOSE = 0.03, 1e-3  # of each step of Newton, which then takes 228, and when it has arrived


def _normal(*shape: int, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(2026).standard_normal(shape, np.float32) * np.float32(scale)).astype("f4")


def leaky_tanh(width: int, steps: int) -> Arrays:
    return _normal(steps, width), np.zeros(width, "f4")


def logistic(steps: int) -> Arrays:
    return (np.float32(0.3),)


def linear(width: int, steps: int) -> Arrays:
    return (
        np.random.default_rng(2026).uniform(0.5, 0.99, (steps, width)).astype("f4"),
        _normal(steps, width),
        np.zeros(width, "f4"),
    )


def rnn(size: int, batch: int, steps: int) -> Arrays:
    weights = [_normal(size, size, scale=size**-0.5) / (1 + k) for k in range(2)]
    return (_normal(steps, batch, size), np.zeros((batch, size), "f4"), *weights)


def lstm(size: int, batch: int, steps: int) -> Arrays:
    weights = [_normal(size, 4 * size, scale=size**-0.5) / (1 + k) for k in range(2)]
    state = np.zeros((batch, size), "f4")
    return (_normal(steps, batch, size), state, state, *weights)


def newton(width: int, steps: int) -> Arrays:
    return (np.random.default_rng(2026).uniform(1, 2, width).astype("f4"), np.full(width, 30, "f4"))


def part(family: str, array: Any) -> Any:
    """Return the part of a result that is compared."""
    if family in ("leaky_tanh", "linear"):
        return array[:, :COLUMNS]
    return array[:, :ROWS] if family in ("rnn", "lstm") else array


def expected(family: str, sizes: tuple[int, ...], given: Arrays) -> np.ndarray:
    """Return the part of the result that is compared, computed in float64."""
    return globals()[f"_{family}"](*given, sizes[-1])


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _leaky_tanh(x: np.ndarray, h: np.ndarray, steps: int) -> np.ndarray:
    h, rows = h[:COLUMNS], []
    for x_t in x[:, :COLUMNS].astype(float):
        h = np.tanh(x_t + 0.9 * h)
        rows.append(h)
    return np.stack(rows)


def _logistic(s: np.ndarray, steps: int) -> np.ndarray:
    found = float(s)
    for _ in range(steps):
        found = RATE * found * (1 - found)
    return np.asarray(found)


def _linear(a: np.ndarray, b: np.ndarray, h: np.ndarray, steps: int) -> np.ndarray:
    h, rows = h[:COLUMNS], []
    for a_t, b_t in zip(a[:, :COLUMNS].astype(float), b[:, :COLUMNS].astype(float), strict=True):
        h = a_t * h + b_t
        rows.append(h)
    return np.stack(rows)


def _rnn(x: np.ndarray, h: np.ndarray, W: np.ndarray, U: np.ndarray, steps: int) -> np.ndarray:
    h, rows, W, U = h[:ROWS], [], W.astype(float), U.astype(float)
    for x_t in x[:, :ROWS]:
        h = np.tanh(x_t @ W + h @ U)
        rows.append(h)
    return np.stack(rows)


def _lstm(
    x: np.ndarray, h: np.ndarray, c: np.ndarray, W: np.ndarray, U: np.ndarray, steps: int
) -> np.ndarray:
    h, c, rows, W, U = h[:ROWS], c[:ROWS], [], W.astype(float), U.astype(float)
    for x_t in x[:, :ROWS]:
        i, f, g, o = np.split(x_t @ W + h @ U, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        rows.append(h)
    return np.stack(rows)


def _newton(a: np.ndarray, x: np.ndarray, steps: int) -> np.ndarray:
    a = a.astype(float)
    for _ in range(steps):
        x = x - SHARE * (x - a / x)
        if np.max(np.abs(x * x - a)) < CLOSE:
            break
    return x
