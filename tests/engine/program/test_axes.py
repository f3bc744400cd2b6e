"""Which axes a step never mixes, and what mixes the others."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.ops.control import ifelse
from scanviz.engine.program.axes import StepKind, step_axes
from scanviz.engine.program.instructions import loops
from scanviz.engine.program.lower import lower
from scanviz.engine.program.planned import notes_of
from scanviz.engine.program.printer import program_text

X, B, W, V, H = T.matrix("x"), T.tensor3("b"), T.matrix("w"), T.vector("v"), T.matrix("h")


def found(step, sequence, initial, others=(), shapes=None):
    """Return the kind of a step, its kept axes by name, and the operations that mix axes with these."""
    rows, _ = scanviz.scan(step, sequence, initial, others)
    rows = rows if isinstance(rows, list) else [rows]
    (loop,) = loops(lower([X, B, W, V, H], rows, "f"))
    made = step_axes(loop, shapes)
    name = lambda number: loop.body.registers[number].name or "new"  # noqa: E731
    kept = [[(name(axis.register), axis.axis) for axis in axes] for axes in made.kept]
    mixed = [(mixing.instruction.op.name, mixing.place.axis) for mixing in made.mixings]
    return made.kind, kept, mixed


def test_an_elementwise_step_keeps_every_axis():
    kind, kept, mixed = found(lambda x, h: T.where(x > h, T.tanh(x + h), h * 2.0), B, H)
    assert kind is StepKind.ELEMENTWISE and not mixed
    assert kept == [[("b[t]", 0), ("h[t-1]", 0), ("new", 0)], [("b[t]", 1), ("h[t-1]", 1), ("new", 1)]]


def test_batched_recurrences_are_row_local_and_single_ones_matrix_recurrences():
    kind, kept, mixed = found(lambda b, h, w: T.tanh(b + T.dot(h, w)), B, H, W)
    assert kind is StepKind.ROWS and kept == [[("b[t]", 0), ("h[t-1]", 0), ("new", 0)]]
    assert mixed == [("dot", 1)]
    kind, kept, mixed = found(lambda x, h, w: T.tanh(x + T.dot(h, w)), X, V, W)
    assert kind is StepKind.MATRIX and not kept and mixed == [("dot", 0)]


@pytest.mark.parametrize(
    ("step", "kind", "mixing"),
    [
        (lambda b, h: h - T.max(h, axis=1, keepdims=True) + b, StepKind.ROWS, ("max", 1)),
        (lambda b, h: T.nnet.softmax(h + b), StepKind.ROWS, ("softmax", 1)),
        (lambda b, h: T.cumsum(h, axis=0) + b, StepKind.ROWS, ("cumsum", 0)),
        (lambda b, h: h + T.sum(b), StepKind.ROWS, ("sum", 0)),
        (lambda b, h: h[::-1] + b, StepKind.ROWS, ("index", 0)),
        (lambda b, h: h + h[:, 0:1] + b, StepKind.ROWS, ("index", 1)),
        (lambda b, h: T.concatenate([h[:, 1:], b[:, :1]], axis=1), StepKind.ROWS, ("index", 1)),
        (lambda b, h: h.T + b, StepKind.OTHER, ("dimshuffle", 1)),
        (lambda b, h: T.sort(h, axis=0) + b, StepKind.ROWS, ("sort", 0)),
        (lambda b, h: T.dot(h, h.T) + b, StepKind.OTHER, ("dimshuffle", 1)),
    ],
)
def test_the_operation_that_mixes_an_axis_is_named(step, kind, mixing):
    given, _, mixed = found(step, B, H)
    assert given is kind and mixing in mixed


def test_an_axis_is_kept_through_a_lookup_an_assignment_a_branch_and_a_loop_inside():
    def step(x, h, w):
        looked_up = w[T.cast(x, "int64")]
        inside, _ = scanviz.scan(
            lambda s, each: T.tanh(s) + each, outputs_info=h, non_sequences=looked_up, n_steps=3
        )
        chosen = ifelse(T.gt(w[0, 0], 0.0), inside[-1], h)
        return T.set_subtensor(chosen[:, 0], x)

    kind, kept, _ = found(step, X, H, W)
    assert kind is StepKind.ELEMENTWISE
    assert kept[0] == [("x[t]", 0), ("h[t-1]", 0), ("new", 0)]


def test_an_axis_broadcast_for_the_given_shapes_is_not_row_local():
    def step(x, h):
        return h + x

    assert found(step, X, V)[1] == [[("x[t]", 0), ("h[t-1]", 0), ("new", 0)]]
    kind, kept, mixed = found(step, X, V, shapes=[(1,), (4,)])
    assert kind is StepKind.ELEMENTWISE and kept == [[("h[t-1]", 0), ("new", 0)]] and not mixed


def test_a_value_dependent_size_is_local_to_no_axis():
    def step(x, h):
        return h + x[x > 0.0]

    kind, kept, mixed = found(step, X, V, shapes=[(4,), (4,)])
    assert kind is StepKind.ROWS and ("index", 0) in mixed
    assert kept == [[("h[t-1]", 0), ("new", 0)]]


def test_a_listing_shows_the_kind_of_step_and_the_mixing_operation():
    rows, _ = scanviz.scan(lambda b, h, w: T.tanh(b + T.dot(h, w)), B, H, W, name="rnn")
    f = scanviz.function([B, H, W], rows)
    text = program_text(f.program, "rnn", lines=False)
    assert "step (row-local along axis 0 of b[t], h[t-1], %" in text
    assert "dot(h[t-1], w) mixes axis 1 of h[t-1]" in text
    f(np.ones((3, 1, 2)), np.ones((1, 2)), np.ones((2, 2)))
    text = program_text(f.program, "rnn", notes_of(f.program, f.memory_plans()), lines=False)
    assert "step (matrix recurrence)" in text  # of one row there is nothing to keep apart
