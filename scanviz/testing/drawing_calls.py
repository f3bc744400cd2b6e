"""Functions that draw random numbers, called by several threads: each number of their stream is drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.function.callable import Function


def drawer(size: int, steps: int) -> Function:
    """Return a function that draws so many numbers, and as many in each step of a loop of so many steps.

    Examples
    --------
    >>> [each.shape for each in drawer(2, 3)()]
    [(2,), (3, 2)]
    """
    stream = T.random.RandomStreams(seed=7)
    outputs = stream.uniform(size=size)
    if not steps:
        return scanviz.function([], [outputs])
    rows, updates = scanviz.scan(lambda: stream.uniform(size=size), n_steps=steps)
    return scanviz.function([], [outputs, rows], updates=updates)


def assert_each_drawn_once(drawn: Sequence[Sequence[Any]], alone: Function) -> None:
    """Refuse calls of threads, a sequence of calls each, that together are not what ``alone`` gives in as many calls."""
    found = sorted(_numbers(call) for calls in drawn for call in calls)
    assert found == sorted(_numbers(alone()) for _ in found)


def _numbers(call: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(np.concatenate([np.ravel(each) for each in call]))


__all__ = ["assert_each_drawn_once", "drawer"]
