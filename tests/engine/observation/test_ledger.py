"""The ledger of a call against tracemalloc, for loops that reported their buffers alone, and for corner cases."""

from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation.ledger import Ledger, Weighing
from scanviz.profiler.report.overview import render_report
from tests.laws.memory import counted, traced

DRAWN = np.random.default_rng(0)


def lstm(gradient: bool) -> tuple[scanviz.Function, list[Any]]:
    units = 32
    x, w, u = T.tensor3("x"), T.matrix("w"), T.matrix("u")
    zeros = T.zeros((16, units))

    def step(x_t: Any, h: Any, c: Any) -> Any:
        z = T.dot(x_t, w) + T.dot(h, u)
        i, f, o, g = (z[:, k * units : (k + 1) * units] for k in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (h, _), _ = scanviz.scan(step, x, [zeros, zeros], name="lstm")
    cost = T.sum(h**2)
    f = scanviz.function([x, w, u], [cost, *scanviz.grad(cost, [w, u])] if gradient else h, name="lstm")
    sizes = [(500, 16, 32), (32, 128), (32, 128)]
    return f, [DRAWN.normal(size=size) * 0.1 for size in sizes]


def long_gradient() -> tuple[scanviz.Function, list[Any]]:
    x, w = T.matrix("x"), T.vector("w")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + w * h), x, T.zeros((64,)), name="rnn")
    return scanviz.function([x, w], scanviz.grad(T.sum(h**2), [w]), name="f"), [
        np.ones((8000, 64)),
        np.ones(64),
    ]


def growing() -> tuple[scanviz.Function, list[Any]]:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda h: (h + 1.0, scanviz.until(h[0] > 5000.0)), outputs_info=[x], n_steps=10**6)
    return scanviz.function([x], h, name="f"), [np.zeros(64)]


def choosing() -> tuple[scanviz.Function, list[Any]]:
    x = T.matrix("x")
    heavy = T.sum(T.exp(x) * T.tanh(x) + x)
    return scanviz.function([x], scanviz.ifelse(T.sum(x) > 0.0, heavy, T.sum(x))), [np.ones((400, 400))]


def copied() -> tuple[scanviz.Function, list[Any]]:
    x = T.matrix("x")
    y = x * 2.0
    return scanviz.function([x], [x[1:], y, y[1:]]), [np.ones((400, 400))]


CASES = {
    "lstm": lambda: lstm(False), "gradient of lstm": lambda: lstm(True), "long gradient": long_gradient,
    "rows that grow": growing, "a branch": choosing, "results that are copied": copied,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_ledger_agrees_with_tracemalloc(name: str) -> None:
    f, given = CASES[name]()
    seen = traced(f, given)
    # machine code packs matrices into memory of its own, some ten kilobytes that are not counted
    assert counted(f, given) == pytest.approx(seen, rel=0.02, abs=96_000)


def test_the_profile_shows_peak_memory_by_operation() -> None:
    f, given = lstm(True)
    with scanviz.profile() as p:
        f(*given)
    (function,) = p.record.functions
    peak = function.measures["peak_bytes"]
    held = [operation.measures["held_bytes"] for operation in function.operations]
    assert max(held) == peak == counted(f, given)
    assert function.operations[held.index(peak)].kind == "loop"
    assert peak > 1.5 * max(loop.buffer_bytes for loop in p.record.loops)
    assert "peak memory" in render_report(p.record, width=200)


def test_an_error_in_a_step_leaves_nothing_in_the_ledger() -> None:
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda r, h: T.tanh(h + r), x, T.zeros((4,)), name="h")
    f = scanviz.function([x], h)
    for _ in range(2):
        with pytest.raises(ValueError), scanviz.profile():
            f(np.ones((5, 7)))
    assert f.memory_forecast((5, 4)).peak_bytes >= 0


def test_calls_with_larger_inputs_are_weighed_again() -> None:
    weighing = Weighing(1)
    assert weighing.ledger([np.zeros(10)]) and weighing.ledger([np.zeros(10)])
    assert weighing.ledger([np.zeros(10)]) is None
    assert isinstance(weighing.ledger([np.zeros(20)]), Ledger)


def test_an_unobserved_call_has_no_ledger() -> None:
    f, given = copied()
    f(*given)
    assert "weigh(" not in f.executable.source()
