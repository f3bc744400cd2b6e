"""Each tier finds the failing instruction and step of an error in its own way."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.reference import perform
from scanviz.engine.program.lower import lower
from scanviz.engine.runtime import errors
from scanviz.engine.runtime.arena import LoopArena, LoopInputs
from scanviz.engine.runtime.array_module import ArrayModule
from scanviz.engine.runtime.calling import FAILED
from scanviz.engine.runtime.errors import Failure, in_words
from scanviz.engine.runtime.interpreter import InterpretedLoop, Interpreter


def test_a_failure_in_a_step_names_the_instruction_the_step_and_its_operands():
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, k: (k + 1.0, x_t[T.cast(k, "int64")]), x, [0.0, None])
    f = scanviz.function([x], rows[1], mode=scanviz.Mode("numpy", "none"))
    (runner,) = f.executable.flat.runners.values()
    loop = runner.loop
    for found in (runner, InterpretedLoop(Interpreter(f.program, perform, ArrayModule()), loop)):
        values = [np.ones((4, 2)) if each == loop.sequences[0].outer else None for each in loop.inputs]
        values = [
            np.int64(4) if number == loop.n_steps else np.float64(0.0) if value is None else value
            for number, value in zip(loop.inputs, values, strict=True)
        ]
        arena = LoopArena(LoopInputs(loop, ArrayModule()), values, None)
        code = found.code_for(arena.shapes, arena.states, None, arena.steps)
        arena.code = code
        arena.open(code.memory, code.buffers.take(), None)
        done, outcome, instruction = code.variant("plain")(arena, 0, 4)
        assert (done, outcome) == (2, FAILED) and arena.error_values[1] == 2
        assert loop.body.instructions[instruction].op.name == "index"


def test_a_failure_outside_loops_names_no_step(monkeypatch):
    v, k = T.vector("v"), T.lscalar("k")
    f = scanviz.function([v, k], v[k], mode="numpy")
    found = []
    monkeypatch.setattr(errors, "in_words", lambda *all: found.append(all[2]) or in_words(*all))
    with pytest.raises(scanviz.ScanvizError):
        f(np.ones(2), 7)
    assert found[0].step is None and found[0].values[1] == 7


def test_an_error_outside_instructions_is_unchanged():
    v = T.vector("v")
    program, error = lower([v], [T.exp(v)], "f"), ValueError("elsewhere")
    assert in_words(error, program, None) is error
    assert "exp" in str(in_words(error, program, Failure(0, None, (np.ones(2),))))
