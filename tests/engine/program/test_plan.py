"""Plans: locations, views by address, rows of slots, groups, arenas and loops in loops."""

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends.numpy import LIBRARY
from scanviz.engine.backends.numpy.emit import EMITS
from scanviz.engine.backends.source.runners import make_runner
from scanviz.engine.errors import ScanvizError
from scanviz.engine.program.instructions import loops
from scanviz.engine.program.lower import lower
from scanviz.engine.program.plan import (
    Buffer,
    Row,
    Size,
    StoreKind,
    View,
    Where,
    chains,
    plan,
    plan_loop,
    single,
)
from scanviz.engine.program.plan.arena import arena_of, inner_bytes, ring_size
from scanviz.engine.program.rules import apply_memory_rules
from scanviz.engine.rewrites.selection import Selection
from tests.support.arena import EVERYTHING
from tests.support.internals import is_contiguous

X, H0, V = T.matrix("X"), T.vector("h0"), T.vector("v")


def loop_and_plan(step, groups=single):
    """Return the loop of a scan over X with a state, planned for rows of four."""
    rows, _ = scanviz.scan(step, X, H0, name="loop")
    (found,) = loops(lower([X, H0, V], [rows], "test"))
    shapes = [(4,)] * len(found.body.inputs)
    return found, plan_loop(found, shapes, groups, EMITS, strides=[(8,)] * len(shapes))


def place_of(loop, made, name):
    """Return the place of the result of the first instruction of an op."""
    return next(
        made.places[instruction.outputs[0]]
        for instruction in loop.body.instructions
        if instruction.op.name == name
    )


def test_a_view_is_its_base_an_offset_and_strides():
    def step(x, h):
        twice = x * 2.0
        return h + twice[::-1] + T.concatenate([twice[1:3], twice[1:3]])

    _, made = loop_and_plan(step)
    views = [place for place in made.places if isinstance(place.location, View)]
    base = next(k for k, place in enumerate(made.places) if place.location == Buffer(0))
    assert [(view.location, view.strides, view.alignment) for view in views] == [
        (View(base, 24), (-8,), 8),
        (View(base, 8), (8,), 8),
        (View(base, 8), (8,), 8),
    ]
    assert all(view.made >= 0 for view in views)


def test_nested_and_reversed_views_are_views_of_the_base():
    loop, made = loop_and_plan(lambda x, h: h + (x + 1.0).reshape((2, 2)).T[1][0])
    (base,) = made.placed(Buffer)
    found = [(place.location, place.strides) for place in made.places if isinstance(place.location, View)]
    assert found == [(View(base, 0), (16, 8)), (View(base, 0), (8, 16)), (View(base, 8), (16,))]
    assert is_contiguous(place_of(loop, made, "add"), 8)


def test_a_view_at_a_value_dependent_place_has_no_offset():
    loop, made = loop_and_plan(lambda x, h: h + T.outer(x, h)[T.argmax(x)])
    place = place_of(loop, made, "index")
    assert isinstance(place.location, View) and place.location.offset is None


def test_inputs_and_outputs_of_a_step_are_located_in_rows_of_slots():
    loop, made = loop_and_plan(lambda x, h: T.tanh(x + h))
    locations = [made.places[number].location for number in (*loop.body.inputs, *loop.body.outputs)]
    assert locations == [Row(("sequence", 0)), Row(("state", 0), -1), Row(("state", 0))]
    assert is_contiguous(made.places[loop.body.inputs[1]], 8)


def test_sizes_and_numbers_have_no_memory():
    loop, made = loop_and_plan(lambda x, h: h + x[0] * T.cast(x.shape[0], "float64"))
    assert Size(4) in [place.location for place in made.places]
    assert place_of(loop, made, "index").location is Where.NUMBER
    assert place_of(loop, made, "cast").location is Where.NUMBER


def kinds_of(step, pick, **arguments):
    """Return the kinds of the stores of a function's loops, as the NumPy tier planned them when it was called."""
    rows, _ = scanviz.scan(step, X, **arguments)
    f = scanviz.function([X, H0], pick(rows), mode="numpy", on_unused_input="ignore")
    f(np.ones((5, 3)), np.ones(3))
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    return [store.kind for store in made.plan.stores.values()]


def test_a_last_row_is_stored_in_two_rows_one_or_none():
    last = lambda rows: rows[-1]  # noqa: E731
    assert kinds_of(lambda x, h: T.tanh(x + h) + h[::-1], last, outputs_info=H0) == [StoreKind.PAIR]
    assert kinds_of(lambda x, h: h * x, last, outputs_info=H0) == [StoreKind.SINGLE]
    assert kinds_of(lambda x, h: h * x.sum(), last, outputs_info=0.0) == [StoreKind.HELD]
    assert kinds_of(lambda x, h: x + h, lambda rows: rows[-2:], outputs_info=H0) == [StoreKind.RING]


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_a_row_is_written_over_by_several_operations_on_end(mode):
    w = T.matrix("w")
    rows, _ = scanviz.scan(lambda x, h, w: T.tanh(w[0] * h + w[1] * x * h), X, H0, w)
    inputs, results = [X, H0, w], scanviz.grad(T.sum(rows[-1] ** 2), [w, H0])
    f, plain = (scanviz.function(inputs, results, mode=Mode(m)) for m in (mode, "reference"))
    for steps in (1, 2, 5):
        values = [np.random.default_rng(steps).normal(size=shape) for shape in ((steps, 3), 3, (4, 3))]
        for found, expected in zip(f(*values), plain(*values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    plans = f.memory_plans()
    (backward,) = (plans[loop.key] for loop in loops(f.program) if loop.name.startswith("grad_of"))
    assert StoreKind.SINGLE in {store.kind for store in backward.stores.values()}
    assert all(shape != (4, 3) for shape, _ in backward.buffers)


def test_in_place_operations_are_counted_and_excluded_when_a_view_is_read():
    _, over = loop_and_plan(lambda x, h: T.tanh(T.exp(x * 0.5)) + h)
    assert over.in_place == 2

    def step(x, h):
        half = x * 0.5
        return half + half[::-1] + h

    loop, made = loop_and_plan(step)
    first = place_of(loop, made, "add")
    assert isinstance(first.location, Buffer) and first.over is None


def test_inner_registers_of_a_fused_chain_are_never_in_memory():
    loop, made = loop_and_plan(lambda x, h: T.tanh(T.exp(x * 0.5) + h), groups=chains)
    assert made.groups == ((0, 1, 2, 3),)
    locations = [made.places[instruction.outputs[0]].location for instruction in loop.body.instructions]
    assert locations == [Where.LOCAL] * 3 + [Row(("state", 0))]
    assert made.buffers == () and made.arena == 0


def test_a_chain_ends_at_a_shape_change_and_its_result_may_overwrite_an_input():
    def step(x, h):
        wide = T.exp(T.outer(x, x))
        return T.dot(T.tanh(wide * 2.0), h)

    loop, made = loop_and_plan(step, groups=chains)
    chained = [tuple(loop.body.instructions[k].op.name for k in group) for group in made.groups]
    assert chained[-2:] == [("multiply", "exp", "multiply", "tanh"), ("dot",)]
    tanh = place_of(loop, made, "tanh")
    assert isinstance(tanh.location, Buffer) and is_contiguous(tanh, 8)


def test_inner_loops_are_planned_with_the_outer_loop_and_share_its_arena():
    def step(x, h):
        rows, _ = scanviz.scan(lambda each, s: T.tanh(each + s), T.outer(x, h), h, name="inner", n_steps=4)
        return rows[-1]

    loop, made = loop_and_plan(step)
    ((inner,),) = made.inner.values()
    assert inner.stores["state", 0].row == (4,)
    assert inner.places[0].strides == (8,)  # a row of a buffer of the loop around it
    held = inner_bytes(loop.body, made)
    assert held >= 4 * 4 * 8 and held % 64 == 0
    assert arena_of(loop, made, 10, {}).bytes >= made.arena + 10 * 4 * 8 + held


def test_an_arena_grows_only_with_its_kept_rows():
    loop, made = loop_and_plan(lambda x, h: T.tanh(x + h))
    one, other = arena_of(loop, made, 10, {}), arena_of(loop, made, 20, {})
    assert other.bytes - one.bytes == 10 * 4 * 8 and one.rows == {("state", 0): 11}
    assert one.starts["state", 0] == made.arena


def test_a_ring_has_a_row_more_than_are_read_or_kept():
    loop, _ = loop_and_plan(lambda x, h: x + h)
    (slot,) = loop.states
    for last, steps, rows in ((1, 9, 2), (3, 9, 4), (9, 9, 10), (1, 0, 1), (1, 1, 2)):
        assert ring_size(replace(slot, keep_last=last), steps) == rows


def test_a_loop_that_meets_no_shapes_checks_every_row():
    loop, _ = loop_and_plan(lambda x, h: T.tanh(x + h))
    made = plan_loop(loop, None, single, EMITS)
    assert all(store.checked for store in made.stores.values())
    assert not made.placed(Row) and not made.placed(Buffer)


def test_a_state_with_mismatched_rows_is_reported():
    loop, _ = loop_and_plan(lambda x, h: x + h)
    made = plan_loop(loop, [(4,), (1,)], single, EMITS)
    slot, row, given = made.mismatch
    assert (slot.name, row, given) == ("h", (1,), (4,))


def test_an_assignment_changes_a_new_array_outside_of_loops_but_no_number():
    made_of = T.set_subtensor(T.exp(V)[1:], 0.0)
    program = lower([V], [made_of], "test")
    found = plan(program, None, single, EMITS)
    assert found.places[program.outputs[0]].over is not None
    s = T.scalar("s")
    f = scanviz.function([s], T.inc_subtensor(T.exp(s)[...], 1.0), mode=Mode("numpy", "none"))
    assert f(0.0) == 2.0


def test_a_state_that_no_step_reads_is_planned_for_the_rows_it_has():
    loop, _ = loop_and_plan(lambda x, h: x + h)
    (slot,) = loop.states
    body = replace(loop.body, inputs=loop.body.inputs[:1], outputs=loop.body.inputs[:1])
    alone = replace(
        loop,
        states=(replace(slot, reads=(), writes=((0, body.inputs[0]),)),),
        body=replace(body, instructions=()),
    )
    runner = make_runner(LIBRARY, body, alone)
    values = {alone.n_steps: np.int64(2), alone.sequences[0].outer: np.ones((2, 3))}

    def run(start):
        return runner([{**values, slot.outer: start}[number] for number in alone.inputs], None)

    run(np.zeros(3))
    with pytest.raises(ScanvizError, match="changed its shape"):
        run(np.zeros(2))
    run(np.zeros(3))


def test_rows_that_a_loop_reuses_are_not_in_its_arena():
    cost = T.sum(scanviz.scan(lambda x, h: T.tanh(x + h), X, H0)[0])
    plain = lower([X, H0], [scanviz.grad(cost, X)], "test")
    program, _ = apply_memory_rules(plain, Selection("none").including("ScanInplaceOptimizer"))
    backward = [loop for loop in loops(program) if any(slot.in_place for slot in loop.states)]
    assert backward
    made = plan_loop(backward[0], [(4,)] * len(backward[0].body.inputs), single, EVERYTHING)
    layout = arena_of(backward[0], made, 3, {0: 4})
    assert ("state", 0) not in layout.starts and layout.rows["state", 0] == 4


def test_sizes_that_might_not_fit_are_known_where_they_do():
    h1 = T.matrix("h1")
    step = lambda x, h: T.tanh(x[:, :2] * h) + x[:, 2:]  # noqa: E731
    rows, _ = scanviz.scan(step, T.stack([X, X]), h1, name="loop")
    f = scanviz.function([X, h1], scanviz.grad(T.sum(rows), [X, h1]), mode="numpy")
    f(np.ones((3, 4)), np.ones((3, 2)))
    plans = f.memory_plans()
    (backward,) = (loop for loop in loops(f.program) if loop.name == "grad_of_loop")
    made, body = plans[backward.key], backward.body
    sizes = [k for k, instruction in enumerate(body.instructions) if instruction.op.name == "broadcast_size"]
    summed = [k for k, instruction in enumerate(body.instructions) if instruction.op.name == "sum_to_shape"]
    assert sizes and summed and made.idle.issuperset((*sizes, *summed))
    assert not any(
        place.location is Where.FRESH and place.shape is None for place in made.places if place.made >= 0
    )
    with pytest.raises(ScanvizError, match="x|X|shape"):
        f(np.ones((3, 4)), np.ones((2, 2)))
