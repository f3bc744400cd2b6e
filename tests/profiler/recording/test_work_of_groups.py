"""Bytes moved by operations that run as one group."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability


@pytest.mark.skipif(not availability("native").works, reason="there is no machine code here")
def test_fused_operations_share_their_bytes_in_proportion_to_their_time() -> None:
    x = T.matrix("x")
    states, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h) * 0.5, x, T.zeros((64,)), name="leaky")
    f = scanviz.function([x], states, mode="native")
    given = np.random.default_rng(0).normal(size=(5000, 64))
    with scanviz.profile() as profiled:
        for _ in range(3):
            f(given)
    (loop,) = profiled.record.loops
    moved = [operation.measures["bytes"] for operation in loop.operations]
    done = [operation.measures["flops"] for operation in loop.operations]
    assert done == [64, 640, 64]
    # a row of x and the state before are read, the new state is written: 3 rows of 64 numbers in all
    assert sum(moved) == 3 * 64 * 8
    assert moved == [pytest.approx(3 * 64 * 8 * part / sum(done), abs=1) for part in done]
