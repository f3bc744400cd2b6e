"""Lifetimes, shapes, plans and the verifier, on small programs."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.errors import InternalError
from scanviz.engine.ops.control import ifelse
from scanviz.engine.program.instructions import loops
from scanviz.engine.program.lifetimes import aliases, last_uses
from scanviz.engine.program.lower import lower
from scanviz.engine.program.plan import Buffer, Row, plan_loop, single
from scanviz.engine.program.shapes import partial_shapes, shapes_and_sizes
from scanviz.engine.program.verify import verify_plan, verify_program

X, H0, V = T.matrix("X"), T.vector("h0"), T.vector("v")


def loop_of(step):
    """Return the loop instruction of a scan over X with a state."""
    out, _ = scanviz.scan(step, X, H0, name="loop")
    (found,) = loops(lower([X, H0], [out], "test"))
    return found


def plan_of(loop, width=4):
    """Return the plan for rows of a width."""
    shapes = [(width,)] * len(loop.body.inputs)
    return plan_loop(loop, shapes, single, EMITS)


def instruction_of(program, name):
    """Return the first instruction of an op, and its index."""
    return next(
        (k, instruction) for k, instruction in enumerate(program.instructions) if instruction.op.name == name
    )


def test_a_view_keeps_its_base_alive():
    program = lower([V], [T.exp(V)[::-1] * T.tanh(V)], "test")
    made, exp = instruction_of(program, "exp")
    used, multiply = instruction_of(program, "multiply")
    (view,) = (number for number in multiply.inputs if number in aliases(program))
    assert aliases(program)[view] == {exp.outputs[0]}
    assert last_uses(program)[exp.outputs[0]] == used > made


def test_the_result_of_a_branch_may_be_either_of_its_inputs():
    first, second = T.exp(V), T.tanh(V)
    program = lower([V], [ifelse(V[0] > 0, first, second) * 2 + first.sum() + second.sum()], "test")
    _, branch = instruction_of(program, "ifelse")
    assert {instruction_of(program, name)[1].outputs[0] for name in ("exp", "tanh")} <= aliases(program)[
        branch.outputs[0]
    ]


def test_an_elementwise_chain_uses_one_buffer_and_ends_in_its_row():
    loop = loop_of(lambda x, h: T.tanh(T.exp(T.sin(x + h) * 0.5)))
    plan = plan_of(loop)
    places = [plan.places[instruction.outputs[0]].location for instruction in loop.body.instructions]
    assert places[:-1] == [Buffer(0)] * (len(places) - 1)
    assert places[-1] == Row(("state", 0))
    assert plan.in_place == len(places) - 2
    assert plan.buffers == (((4,), "float64"),) and plan.arena == 64


def test_buffers_are_used_again_once_nothing_reads_them():
    loop = loop_of(lambda x, h: T.dot(T.outer(T.dot(T.outer(T.dot(T.outer(x, h), x), h), x), h), x))
    assert len(plan_of(loop).buffers) <= 4  # two of either shape at most


def test_a_size_asked_for_in_the_step_makes_shapes_known():
    loop = loop_of(
        lambda x, h: h + T.zeros((x.shape[0] * 2 - x.shape[0],)) + x.reshape((x.shape[0] // 2, 2)).sum()
    )
    assert None not in shapes_and_sizes(loop.body, [(4,)] * len(loop.body.inputs))[0]


def test_the_rows_of_an_inner_loop_are_known():
    def step(x, h):
        rows, _ = scanviz.scan(lambda each, s: s + each, x, h, n_steps=3)
        return rows.sum(axis=0)

    loop = loop_of(step)
    inner = next(iter(loops(loop.body)))
    shapes = partial_shapes(loop.body, [(4,)] * len(loop.body.inputs))
    assert shapes[inner.outputs[0]] == (3, 4)


def test_the_verifier_names_a_register_read_before_it_is_filled():
    program = lower([V], [T.exp(V) * T.tanh(V)], "test")
    verify_program(program)
    with pytest.raises(InternalError, match="not yet filled"):
        verify_program(replace(program, instructions=program.instructions[::-1]))
    with pytest.raises(InternalError, match="fills register"):
        verify_program(replace(program, instructions=(program.instructions[0], *program.instructions)))
    with pytest.raises(InternalError, match="never filled"):
        verify_program(replace(program, instructions=()))


def test_the_verifier_names_a_buffer_that_is_written_over_too_early():
    loop = loop_of(lambda x, h: T.exp(x) * T.sin(h) + T.exp(x).sum() + T.cos(x + h))
    plan = plan_of(loop)
    verify_plan(loop.body, plan)
    places = tuple(
        replace(place, location=Buffer(0)) if isinstance(place.location, Buffer) else place
        for place in plan.places
    )
    with pytest.raises(InternalError, match="still read|is lost|written over"):
        verify_plan(loop.body, replace(plan, places=places))


def test_the_verifier_wants_a_loop_and_its_body_to_agree():
    out, _ = scanviz.scan(lambda x, h: x + h, X, H0)
    program = lower([X, H0], [out], "test")
    (loop,) = loops(program)
    broken = replace(loop, sequences=())
    with pytest.raises(InternalError, match="disagree"):
        verify_program(
            replace(
                program,
                instructions=tuple(
                    broken if instruction is loop else instruction for instruction in program.instructions
                ),
            )
        )


def test_a_plan_does_not_depend_on_the_number_of_steps():
    out, _ = scanviz.scan(lambda x, h: T.tanh(x + h), X, H0)
    f = scanviz.function([X, H0], out, mode="numpy")
    for steps in (1, 5, 50, 500):
        f(np.ones((steps, 3)), np.zeros(3))
    (runner,) = f.executable.flat.runners.values()
    assert len(runner.cache) == 1
