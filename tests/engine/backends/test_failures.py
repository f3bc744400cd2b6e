"""What a tier says of an error: the instruction and the step, found out in its own way."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.numpy import flat as numpy_flat
from scanviz.engine.backends.numpy import loop as numpy_loop
from scanviz.engine.program.lower import lower
from scanviz.engine.runtime.errors import Failure, in_words


def failure_in(module, monkeypatch, run):
    """Return what the NumPy tier says of the error of a call."""
    found, failure_of = [], module.failure_of

    def listened(error, code, program):
        found.append(failure_of(error, code, program))
        return found[-1]

    monkeypatch.setattr(module, "failure_of", listened)
    with pytest.raises(scanviz.ScanvizError):
        run()
    (failure,) = found
    return failure


def test_of_a_step_the_instruction_the_step_and_what_it_read(monkeypatch):
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, k: (k + 1.0, x_t[T.cast(k, "int64")]), x, [0.0, None])
    f = scanviz.function([x], rows[1], mode=scanviz.Mode("numpy", "none"))
    failure = failure_in(numpy_loop, monkeypatch, lambda: f(np.ones((4, 2))))
    (runner,) = f.executable.flat.runners.values()
    assert runner.loop.body.instructions[failure.instruction].op.name == "index"
    assert (failure.step, failure.values[1]) == (2, 2)


def test_outside_of_loops_there_is_no_step(monkeypatch):
    v, k = T.vector("v"), T.lscalar("k")
    f = scanviz.function([v, k], v[k], mode="numpy")
    failure = failure_in(numpy_flat, monkeypatch, lambda: f(np.ones(2), 7))
    assert failure.step is None and failure.values[1] == 7


def test_an_error_at_no_instruction_stays_what_it_is():
    v = T.vector("v")
    program, error = lower([v], [T.exp(v)], "f"), ValueError("elsewhere")
    assert in_words(error, program, None) is error
    assert "exp" in str(in_words(error, program, Failure(0, None, (np.ones(2),))))
