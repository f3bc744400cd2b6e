"""Rows that are computed where they are joined with more rows: the array that a gradient through time begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.numpy import long_results
from scanviz.engine.program import forecast
from tests.laws.memory import counted

drawn = np.random.default_rng(6)
X, Y, ROW = drawn.normal(size=(60, 30)), drawn.normal(size=(60, 30)), drawn.normal(size=(1, 30))
Make = Callable[..., Any]

JOINED: dict[str, tuple[Make, int]] = {  # and how many are computed where they are joined
    "rows and a row": (lambda x, y, row: T.concatenate([(x * y)[::-1], row]), 1),
    "rows and zeros": (lambda x, y, row: T.concatenate([T.exp(x)[::-1], T.zeros((2, 30))]), 1),
    "no row behind": (lambda x, y, row: T.concatenate([(x - y)[::-1], row[:0]]), 0),
    "rows that are read too": (
        lambda x, y, row: [T.concatenate([(p := x * y)[::-1], row]), p.sum(axis=0)],
        0,
    ),
    "turned rows that are asked for": (lambda x, y, row: [p := (x * y)[::-1], T.concatenate([p, row])], 0),
    "rows of an input": (lambda x, y, row: T.concatenate([x[::-1], row]), 0),
    "rows in their order": (lambda x, y, row: T.concatenate([x * y, row]), 0),
    "twice the same": (lambda x, y, row: T.concatenate([(p := (x * y)[::-1]), p[:1]]), 0),
    "every second": (lambda x, y, row: T.concatenate([(x * y)[::-2], row]), 0),
    "beside one another": (lambda x, y, row: T.concatenate([(x * y)[::-1], x], axis=1), 0),
    "a row that spreads": (lambda x, y, row: T.concatenate([(x * row)[::-1], row]), 1),
}


@pytest.fixture
def all_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_results, "LONG", -1)
    monkeypatch.setattr(forecast, "LONG", -1)


def built(make: Make, mode: str) -> scanviz.Function:
    inputs = [T.matrix("x"), T.matrix("y"), T.tensor("float64", (1, None), name="row")]
    return scanviz.function(inputs, make(*inputs), mode=mode, on_unused_input="ignore")


def several(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [found]


@pytest.mark.usefixtures("all_is_long")
@pytest.mark.parametrize("case", JOINED)
def test_joined_rows_are_those_of_arrays_that_are_joined(case: str) -> None:
    make, expected = JOINED[case]
    f, reference = built(make, "numpy"), built(make, "reference")
    given = X.copy(), Y.copy(), ROW.copy()
    for _ in range(3):
        for one, other in zip(several(f(*given)), several(reference(X, Y, ROW)), strict=True):
            np.testing.assert_array_equal(one, other)
    for one, other in zip(given, (X, Y, ROW), strict=True):
        np.testing.assert_array_equal(one, other)
    assert f.executable.source().count("beside(") == expected


@pytest.mark.usefixtures("all_is_long")
def test_no_rows_are_joined_with_a_row() -> None:
    f = built(JOINED["rows and a row"][0], "numpy")
    np.testing.assert_array_equal(f(X[:0], Y[:0], ROW), ROW)
    np.testing.assert_array_equal(f(X[:, :0], Y[:, :0], ROW[:, :0]), np.ones((61, 0)))


@pytest.mark.usefixtures("all_is_long")
@pytest.mark.parametrize("case", JOINED)
def test_what_is_forecast_is_what_is_held(case: str) -> None:
    f = built(JOINED[case][0], "numpy")
    assert f.memory_forecast(X, Y, ROW).peak_bytes == pytest.approx(counted(f, (X, Y, ROW)), abs=300)


def test_rows_that_do_not_fit_are_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    make, _ = JOINED["rows and a row"]
    told = []
    for longest in (-1, 1 << 40):
        monkeypatch.setattr(long_results, "LONG", longest)
        with pytest.raises(scanviz.ScanvizError) as raised:
            built(make, "numpy")(X, Y, np.ones((1, 2)))
        told.append(str(raised.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("mode", ["numpy", "native", "auto"])
def test_long_rows_take_memory_once(mode: str) -> None:
    x, h = T.matrix("x"), T.vector("h")
    start = dict(initial=T.stack([h, h]), taps=[-2, -1])
    rows, _ = scanviz.scan(lambda x_t, g, h: T.tanh(x_t + 0.5 * h - 0.1 * g), x, start, name="rnn")
    f = scanviz.function([x, h], scanviz.grad(T.mean(rows * rows), [x, h]), mode=mode)
    given = drawn.normal(size=(4000, 64)), drawn.normal(size=64)
    expected = scanviz.function([x, h], scanviz.grad(T.mean(rows * rows), [x, h]), mode="reference")(*given)
    for _ in range(3):
        for found, wanted in zip(f(*given), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-15)
    told = f.memory_forecast(*given)
    assert told.peak_bytes == pytest.approx(counted(f, given), rel=0.01)
