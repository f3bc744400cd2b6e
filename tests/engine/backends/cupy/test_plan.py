"""The CuPy tier follows the plan: rows, buffers and hoisted operations; on the stand-in."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.program.plan import Buffer, Row, StoreKind
from tests.engine.backends.cupy import stand_in
from tests.engine.backends.cupy.fake_cupy import FakeArray
from tests.support.internals import loop_sources

stand_in.register()
X, H0, W = T.matrix("X"), T.vector("h0"), T.matrix("W")
VALUES = [np.sin(np.arange(12.0).reshape(4, 3)), np.zeros(3), np.cos(np.arange(9.0).reshape(3, 3))]


def run_loop(step, pick=lambda rows: rows, mode="stand-in"):
    """Return the result of a loop, its plan and the source of its code."""
    rows, _ = scanviz.scan(step, X, H0, W, name="loop")
    f = scanviz.function([X, H0, W], pick(rows), mode=mode, on_unused_input="ignore")
    found = f(*VALUES)
    return found, next(iter(f.executable.plans().values())), next(iter(loop_sources(f.executable)))


def test_operations_write_into_their_planned_rows_and_buffers(monkeypatch):
    found, plan, _ = run_loop(lambda x, h, w: T.tanh((x + h) * 0.5))
    wanted, host, _ = run_loop(lambda x, h, w: T.tanh((x + h) * 0.5), mode="numpy")
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert [place.location for place in plan.places] == [place.location for place in host.places]
    assert plan.placed(Row) and len(plan.placed(Buffer)) == 2 and plan.in_place == 1
    made, real = [], stand_in.LIBRARY.empty

    def counting(shape, dtype):
        made.append(shape)
        return real(shape, dtype)

    monkeypatch.setattr(stand_in.LIBRARY, "empty", counting, raising=False)
    run_loop(lambda x, h, w: T.tanh((x + h) * 0.5))
    assert sorted(made) == [(3,), (5, 3)]  # one buffer, and all rows


def test_results_without_an_out_argument_are_allocated_and_copied_in_each_step():
    found, plan, source = run_loop(lambda x, h, w: T.sigmoid(T.dot(w, h) + x))
    wanted, _, _ = run_loop(lambda x, h, w: T.sigmoid(T.dot(w, h) + x), mode="numpy")
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert (
        not plan.placed(Row) and "[...] = " in source
    )  # CuPy's dot and formulas of our own take no array to write into


def test_invariant_operations_run_once_before_the_steps():
    found, plan, source = run_loop(lambda x, h, w: x * 0.5 + w[1] * h, mode=scanviz.Mode("stand-in", "none"))
    wanted, _, _ = run_loop(lambda x, h, w: x * 0.5 + w[1] * h, mode="numpy")
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert plan.invariant and "index" not in source.split("        for ")[1]


@pytest.mark.parametrize("step", [lambda x, h, w: h * 0.5 + x, lambda x, h, w: T.dot(w, h) + x])
def test_a_state_read_at_its_last_row_has_one_or_two_rows(step):
    found, plan, _ = run_loop(step, lambda rows: rows[-1])
    wanted, _, _ = run_loop(step, lambda rows: rows[-1], mode="numpy")
    np.testing.assert_allclose(found, wanted, rtol=1e-13)
    assert plan.stores["state", 0].kind in (StoreKind.SINGLE, StoreKind.PAIR)


def test_an_assignment_to_a_new_array_is_made_in_place():
    v = T.vector("v")
    changed = T.inc_subtensor(T.exp(v)[[0, 0]], 1.0)
    f = scanviz.function([v], changed, mode="stand-in")
    assert "inc" in f.executable.source() or "assign" in f.executable.source()
    given = FakeArray(np.zeros(3))
    assert f(given).tolist() == [3, 1, 1] and given.tolist() == [0, 0, 0]
    assert f(given).tolist() == [3, 1, 1]


def test_observed_values_agree_with_device_results():
    v = T.vector("v")
    f = scanviz.function(
        [v], scanviz.scan(lambda h: T.tanh(h), outputs_info=v, n_steps=3)[0], mode="stand-in"
    )
    seen = []

    class Values(scanviz.engine.observe.Observer):
        detail = "values"

        def instruction(self, function, loop, step, index, elapsed_ns, values):
            seen.extend(values)

    with scanviz.engine.observe.observed_by(Values()):
        found = f(FakeArray(np.ones(2)))
    assert isinstance(found, FakeArray) and any(np.array_equal(each, found.get()) for each in seen)
