"""A program's record describes the program in the user's names."""

import gc
import re
import weakref

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import leaves
from scanviz.engine.observation.events import CompiledFunction
from scanviz.engine.program.instructions import Instruction
from scanviz.record.model import LoopRecord
from scanviz.record.program_snapshot import function_record, loop_records, value_name


@pytest.fixture(autouse=True)
def work_stays_in_loops(monkeypatch):
    """These loops are small enough to be computed without a loop, and here it is the loop that is looked at."""
    monkeypatch.setattr(scanviz.config, "rewrites", "all,-push_out")


def loops(f: scanviz.Function) -> list[LoopRecord]:
    return loop_records(f.key, f.program)


def labels(f: scanviz.Function) -> list[str]:
    event = CompiledFunction(1, f.name, f, f.program, "numpy", {}, f.where)
    return [operation.label for operation in function_record(event).operations]


def test_operations_are_labelled_with_names_numbers_and_expressions() -> None:
    x, y = T.vector("x"), T.vector("y")
    assert labels(scanviz.function([x, y], T.tanh(x + y) * 0.5)) == [
        "x + y",
        "tanh(x + y)",
        "tanh(x + y) * 0.5",
    ]


def test_a_sum_is_labelled_with_partial_axes_and_keepdims() -> None:
    x = T.tensor4("x")
    [label] = labels(scanviz.function([x], x.sum(axis=(0, 1, 2, 3), keepdims=True)))
    assert label == "sum(x, keepdims=True)"
    matrix = T.matrix("matrix")
    [label] = labels(scanviz.function([matrix], matrix.sum(axis=0)))
    assert label == "sum(matrix, axis=0)"


def test_a_view_of_a_named_value_has_its_name() -> None:
    x, m = T.vector("x"), T.vector("m")
    sums, _ = scanviz.scan(lambda x_t, m_t, h: h + T.where(m_t > 0, x_t, 0.0), [x, m], 0.0, name="sums")
    program = scanviz.function([x, m], sums[-1], mode=scanviz.Mode("numpy", "all")).program
    looks = [
        made
        for made in program.instructions
        if isinstance(made, Instruction) and made.op.name == "first_rows"
    ]
    assert looks and {value_name(program, look.outputs[0]) for look in looks} <= {"x", "m"}


def test_loops_come_outer_before_inner_with_their_kinds() -> None:
    x = T.matrix("x")

    def step(row, before, earlier):
        inner, _ = scanviz.scan(lambda cell: cell * 2.0, row, name="inner")
        return inner.sum() + before + earlier, inner

    (taps, doubled), _ = scanviz.scan(
        step, x, [{"initial": T.zeros(2), "taps": [-1, -2]}, None], name="outer"
    )
    outer, inner = loops(scanviz.function([x], [taps, doubled[-1]]))
    assert (outer.name, inner.name, outer.parent, inner.parent) == ("outer", "inner", None, outer.key)
    kinds = {variable.kind: variable for variable in outer.variables}
    assert set(kinds) == {"sequence", "mitsot", "nitsot"}
    assert set(kinds["mitsot"].reads) == {-1, -2}
    assert kinds["mitsot"].writes == (0,)
    assert kinds["mitsot"].keep_last is None
    assert kinds["sequence"].outer_output is None
    assert kinds["nitsot"].outer_input is None
    assert [operation.loop for operation in outer.operations if operation.kind == "loop"] == [inner.key]


def test_a_loop_with_a_stop_condition_is_marked() -> None:
    values, _ = scanviz.scan(
        lambda v: (v * 2.0, scanviz.until(v > 10.0)), outputs_info=T.scalar("start"), n_steps=20, name="grow"
    )
    [found] = loops(scanviz.function([_input_named(values, "start")], values))
    assert found.has_until


def _input_named(variable, name):

    return next(leaf for leaf in leaves([variable]) if leaf.name == name)


def test_random_state_in_a_loop_is_a_carry() -> None:
    streams = T.random.RandomStreams(1)
    walk, updates = scanviz.scan(lambda s: s + streams.normal(), outputs_info=0.0, n_steps=4, name="walk")
    [found] = loops(scanviz.function([], walk, updates=updates))
    assert "carry" in {variable.kind for variable in found.variables}


def test_nothing_of_the_engine_is_held() -> None:

    x = T.vector("x")
    sums, _ = scanviz.scan(lambda a, s: a + s, x, 0.0, name="sums")
    f = scanviz.function([x], sums)
    records = loops(f)
    program = weakref.ref(f.executable)
    del f, sums, x
    gc.collect()
    assert program() is None
    assert records[0].name == "sums"


def test_no_two_operations_of_a_step_have_one_label() -> None:
    """Two long expressions may differ in their cut parts alone; equal labels have numbers."""
    x, W, data = T.matrix("x"), T.matrix("W"), T.tensor3("data")

    def step(x_t, h, W):
        both = [T.tanh(T.dot(x_t, W) + T.dot(of(x_t), W) + T.dot(h, W)) for of in (T.exp, T.sin)]
        return both[0].reshape((2, -1))[1].sum() + both[1].reshape((2, -1))[0].sum() + h

    rows, _ = scanviz.scan(step, x, T.zeros_like(x[0]), W)
    f = scanviz.function([x, W], rows, mode=scanviz.Mode("numpy", "none"))
    [loop] = loops(f)
    found = [operation.label for operation in loop.operations]
    assert len(set(found)) == len(found), found
    assert any("exp" in label and "tanh" in label for label in found), found
    twice = scanviz.function([data], [data[0] + 1, data[0] + 1], mode=scanviz.Mode("numpy", "none"))
    assert {"data[0]#1", "data[0]#2"} < set(labels(twice))


def test_a_label_keeps_short_operands_and_cuts_long_ones() -> None:
    """`dot(….T, reshape(…, (…, …)))` would not identify the product."""
    x, W, n = T.matrix("x"), T.matrix("W"), T.lscalar("n")

    def layer(of):
        return T.tanh(T.dot(x, W) + T.dot(of(x), W))

    f = scanviz.function(
        [x, W, n],
        T.dot(T.reshape(layer(T.exp), (n + 1, 4)).T, T.reshape(layer(T.sin), (n + 1, 2))),
        mode=scanviz.Mode("numpy", "none"),
    )
    found = labels(f)[-1]
    assert found.startswith("dot(") and len(found) <= 160, found
    assert re.search(r"\b[xWn]\b", found), found
