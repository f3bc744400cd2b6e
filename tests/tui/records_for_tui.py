"""Profiles that the tests of the application look at."""

import functools

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord


@functools.cache
def gradient_record() -> ProfileRecord:
    """Return a profile of a loop of several taps and its gradient."""
    x, w = T.matrix("x"), T.matrix("w")
    start = T.zeros((2, 3))
    h, _ = scanviz.scan(
        lambda x_t, h_tm2, h_tm1: T.tanh(T.dot(x_t, w) + 0.5 * h_tm2 + h_tm1),
        x,
        dict(initial=start, taps=[-2, -1]),
        name="rnn",
    )
    cost = T.sum(h**2)
    cost.name = "cost"
    f = scanviz.function([x, w], [cost, scanviz.grad(cost, w)], name="train")
    with scanviz.profile() as p:
        for _ in range(3):
            f(np.full((40, 3), 0.1), np.eye(3))
    return p.record


@functools.cache
def traced_record() -> ProfileRecord:
    """Return the same with values, among them a NaN from step 7 on."""
    from msgspec import structs

    record = gradient_record()
    loop = next(each for each in record.loops if each.gradient_of is None)
    steps = tuple(range(12))
    values = np.array([[step, step + 1.0, -step] for step in steps], float)
    values[7:, 1] = np.nan
    finite = np.where(np.isnan(values), 0.0, values)
    nans = np.isnan(values).sum(axis=1)
    statistics = np.column_stack([finite.min(1), finite.max(1), finite.mean(1), nans, np.zeros(len(steps))])
    state = next(k for k, variable in enumerate(loop.variables) if variable.name == "h")
    variables = tuple(
        TracedVariableRecord(name, role, state, tap, None, None, "float64", (3,), statistics, values)
        for name, role, tap in (("h[t-1]", "input", -1), ("h[t]", "output", 0))
    )
    trace = TraceRecord(loop.key, 0, 40, steps, ("first",) * len(steps), variables)
    return structs.replace(record, traces=(trace,))
