"""Long results outside of loops lie in memory that is used again, and are what short ones are."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.numpy import long_results
from scanviz.engine.runtime import buffer_pool
from scanviz.engine.runtime.buffer_pool import LentMemory
from tests.support.internals import waiting_bytes

Given = Sequence[np.ndarray[Any, Any]]
drawn = np.random.default_rng(4)
a, b, v = drawn.normal(size=(6, 5)), drawn.normal(size=(6, 5)), drawn.normal(size=5)
stack, square = drawn.normal(size=(3, 4, 5)), drawn.normal(size=(5, 5))

MADE: dict[str, tuple[Callable[..., Any], Given]] = {
    "sum": (lambda x, y: x + y, (a, b)),
    "sum of numbers of two kinds": (lambda x, y: x + y, (a, (9 * b).astype(np.int32))),
    "sum with a row": (lambda x, y: x + y, (a, v)),
    "sum of a row and a column": (lambda x, y: x[None] + y[:, None], (v, v)),
    "maximum of what stands the other way": (lambda x, y: T.maximum(x.T, y.T), (a, b)),
    "backwards": (lambda x, y: T.exp(x[::-1]) - y[::-1, ::-1], (a, b)),
    "every second": (lambda x, y: x[::2] * y[1::2], (a, b)),
    "comparison": (lambda x, y: T.lt(x, y), (a, b)),
    "sigmoid": (lambda x: T.sigmoid(x), (a,)),
    "cast": (lambda x: T.cast(100 * x, "int16"), (a,)),
    "cast of a transposed matrix": (lambda x: T.cast(x.T, "float32") + 1, (a,)),
    "product": (lambda x, y: T.dot(x, y.T), (a, b)),
    "product of a stack": (lambda x, y: T.dot(x, y), (stack, square)),
    "product of stacks": (lambda x, y: T.matmul(x, y.transpose(0, 2, 1)), (stack, stack)),
    "product with a vector": (lambda x, y: T.dot(x, y), (a, v)),
    "joined": (lambda x, y: T.concatenate([x, y[::-1], x]), (a, b)),
    "joined side by side": (lambda x, y: T.concatenate([x, y], axis=1), (a, b)),
    "no rows": (lambda x, y: T.concatenate([x[:0] + 1, y[:0]]), (a, b)),
}


@pytest.fixture
def all_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_results, "LONG", -1)
    monkeypatch.setattr(buffer_pool, "SHORTEST", 8)


def built(make: Callable[..., Any], given: Given, mode: str) -> Any:
    inputs = [T.tensor(str(value.dtype), (None,) * value.ndim) for value in given]
    return scanviz.function(inputs, make(*inputs), mode=mode)


@pytest.mark.usefixtures("all_is_long")
@pytest.mark.parametrize("case", MADE)
def test_long_results_agree_with_the_reference_tier(case: str) -> None:
    make, given = MADE[case]
    expected, found = built(make, given, "reference")(*given), built(make, given, "numpy")(*given)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.usefixtures("all_is_long")
@pytest.mark.parametrize("case", ["sum", "joined side by side", "product"])
def test_misfits_are_reported_as_for_short_results(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, (first, second) = MADE[case]
    text = []
    for longest in (-1, long_results.LONG << 40, 1 << 40):
        monkeypatch.setattr(long_results, "LONG", longest)
        with pytest.raises(scanviz.ScanvizError) as raised:
            built(make, (first, second), "numpy")(first, second[1:, 1:])
        text.append(str(raised.value))
    assert len(set(text)) == 1


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_long_results_use_the_memory_of_earlier_ones(mode: str) -> None:
    x = np.ones((500, 400))
    f = built(lambda x: T.tanh(x * 0.5) + T.exp(x), (x,), mode)
    short = f(x[:3])
    assert short.flags.owndata
    gc.collect()
    buffer_pool._waiting.clear()
    result = f(x)
    base = result
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, LentMemory)
    before = result.copy()
    f(-x)
    np.testing.assert_array_equal(result, before)  # no other test holds memory
    del result, base
    held = waiting_bytes()
    for _ in range(5):
        f(x)
    assert waiting_bytes() == held <= 4.5 * x.nbytes
