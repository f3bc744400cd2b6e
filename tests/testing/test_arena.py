"""The tier that runs from bytes and plans alone: small enough to be a measure, and strict enough to see a wrong plan."""

from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.program.plan import draft, planning
from tests.support import arena
from tests.support.arena import ArenaBackend

X, H0 = T.matrix("X"), T.vector("h0")
ROWS = np.sin(np.arange(12.0)).reshape(4, 3)


def function_of(step):
    rows, _ = scanviz.scan(step, X, H0)
    return scanviz.function([X, H0], rows, mode="reference")


def test_the_arena_has_fewer_than_300_lines():
    assert len(Path(arena.__file__).read_text().splitlines()) < 300


def test_the_arena_agrees_with_the_reference_tier():
    f = function_of(lambda x, h: T.exp(x[::-1]) * T.tanh(h) + (x * h)[1:].sum())
    (found,) = ArenaBackend().run(f.program, [ROWS, np.ones(3)])
    np.testing.assert_array_equal(found, f(ROWS, np.ones(3)))


def test_a_buffer_that_is_shared_too_early_is_seen(monkeypatch):
    f = function_of(lambda x, h: T.exp(x) * T.sin(h) + T.dot(T.outer(x, h), T.exp(x)))
    monkeypatch.setattr(planning, "laid_out", lambda buffers: ((0,) * len(buffers), 1024))
    (found,) = ArenaBackend().run(f.program, [ROWS, np.ones(3)])
    assert not np.array_equal(found, f(ROWS, np.ones(3)))


def test_a_lifetime_that_ends_too_early_is_seen(monkeypatch):
    f = function_of(lambda x, h: T.exp(x)[::-1] * T.sin(h) + T.dot(T.outer(x, h), x))
    monkeypatch.setattr(draft, "aliases", lambda program: {})
    with pytest.raises((AssertionError, scanviz.ScanvizError, KeyError)):
        (found,) = ArenaBackend().run(f.program, [ROWS, np.ones(3)])
        assert np.array_equal(found, f(ROWS, np.ones(3)))


def test_a_row_of_another_shape_is_refused_as_on_every_tier():
    f = function_of(lambda x, h: T.concatenate([x, h]))
    with pytest.raises(scanviz.ScanvizError, match="changed its shape"):
        ArenaBackend().run(f.program, [ROWS, np.ones(3)])


def test_rows_with_value_dependent_shapes_are_kept_one_by_one():
    rows, _ = scanviz.scan(lambda x: T.sort(x[x > -2.0]), X)
    f = scanviz.function([X], rows, mode="reference")
    (found,) = ArenaBackend().run(f.program, [ROWS])
    np.testing.assert_array_equal(found, f(ROWS))
    assert ArenaBackend().run(f.program, [ROWS[:0]])[0].shape == f(ROWS[:0]).shape
