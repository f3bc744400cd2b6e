"""Copies of loops by hand, with each operation left out in turn: the saved time is that of the operation.

Without an operation the others find more room in the processor's caches, where arrays are large.  So all are left out too: by
what the parts do not add up to what that takes less, the instrument is off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from truth_instruments import Measured, adding_up, difference, in_turn
from truth_workloads import Case


class Hand(NamedTuple):
    """A loop by hand.

    Attributes
    ----------
    before : str
        The work before its first step; arguments are ``inputs``.
    header : str
        The loop.
    operations : tuple of str
        A line each, in the order in which the profile has them.
    after : str
        The last line of a step.
    """

    before: str
    header: str
    operations: tuple[str, ...]
    after: str


HAND = {
    "width 64": Hand(
        "x, h = inputs; a = np.empty_like(h); out = np.empty_like(x); c = np.array(0.9); x = x * 0.1",
        "for x_t, row in zip(x, out)",
        ("multiply(c, h, a)", "add(a, x_t, a)", "tanh(a, row)"),
        "h = row",
    ),
    "RNN, H 64": Hand(
        "x, h, W, U = inputs; x = x @ W; a = np.empty_like(h); out = np.empty_like(x)",
        "for x_t, row in zip(x, out)",
        ("dot(h, U, a)", "add(x_t, a, a)", "tanh(a, row)"),
        "h = row",
    ),
    "large matrix": Hand(
        "h, U, n = inputs; a = np.empty_like(h); row = np.tanh(h @ U)",
        "for _ in range(n)",
        ("dot(h, U, a)", "tanh(a, row)"),
        "h = row",
    ),
}


def hand_operations(case: Case, rounds: int) -> list[Measured]:
    """Return the CPU time of each operation in a step."""
    hand, inputs = HAND[case.name], case.inputs(case.steps)
    places = range(len(hand.operations))
    whole, empty, *without = in_turn(
        [_loop(hand, left_out, inputs) for left_out in ((), places, *((place,) for place in places))], rounds
    )
    return adding_up(
        [difference(whole, times, case.steps) for times in without],
        difference(whole, empty, case.steps).ns,
    )


def _loop(hand: Hand, left_out: Sequence[int], inputs: tuple[Any, ...]) -> Callable[[], Any]:
    lines = [line for k, line in enumerate(hand.operations) if k not in left_out]
    body = "\n        ".join([*lines, hand.after])
    text = f"def loop(inputs, dot, add, multiply, tanh):\n    {hand.before}\n    {hand.header}:\n        {body}\n"
    scope: dict[str, Any] = {"np": np}
    exec(text, scope)
    return lambda: scope["loop"](inputs, np.dot, np.add, np.multiply, np.tanh)


__all__ = ["HAND", "hand_operations"]
