"""Barriers: values pass unchanged, types and shapes too, and nothing of them is left when a graph runs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.function import function
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.mode import Mode
from scanviz.engine.ops import stop_gradient
from tests.engine.ops.checking import check, dtypes, shapes, tame

BARRIERS = {
    "disconnected_grad": stop_gradient.disconnected_grad,
    "zero_grad": stop_gradient.zero_grad,
    "consider_constant": stop_gradient.consider_constant,
    "grad_clip": lambda x: stop_gradient.grad_clip(x, -1, 1),
}


@pytest.mark.parametrize("name", BARRIERS)
@given(st.data())
def test_a_value_passes_unchanged_whatever_its_dtype_and_shape(name, data):
    array = data.draw(tame(data.draw(dtypes), data.draw(shapes())))
    check(BARRIERS[name], lambda x: x, [array], data)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("name", BARRIERS)
def test_nothing_of_a_barrier_is_left_when_a_graph_runs(name, mode):
    x = Variable(TensorType("float64", (None,)), "x")
    f = function([x], BARRIERS[name](x) * 2, mode=Mode(mode, "all"))
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0]
    assert "stop_gradient" not in {
        instruction.op.declaration.family for instruction in f.program.instructions
    }


@pytest.mark.parametrize("bounds", [(1, -1), (math.nan, 1), (0, math.nan)])
def test_bounds_that_are_no_interval_are_refused_with_the_line(bounds):
    with pytest.raises(ScanvizValueError, match=r"(?s)test_stop_gradient\.py:\d+.*interval"):
        stop_gradient.grad_clip(Variable(TensorType("float64", ()), "x"), *bounds)


def test_one_bound_may_be_infinite_and_both_may_be_equal():
    x = Variable(TensorType("float64", ()), "x")
    assert stop_gradient.grad_clip(x, -math.inf, 2).owner.op.parameters == (-math.inf, 2.0)
    assert stop_gradient.grad_clip(x, 1, 1).owner.op.parameters == (1.0, 1.0)


def test_equal_barriers_are_equal_ops():
    x = Variable(TensorType("float64", ()), "x")
    ops = {
        stop_gradient.grad_clip(x, np.float32(-1), 1).owner.op,
        stop_gradient.grad_clip(x, -1.0, 1.0).owner.op,
    }
    assert len(ops) == 1
    assert stop_gradient.grad_clip(x, -1, 2).owner.op not in ops
