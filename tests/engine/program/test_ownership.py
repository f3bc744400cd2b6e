"""Arrays that loops and assignments may change in place, and rows stored behind their initial ones without a copy."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.ops.index import state_history
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.program.lifetimes import gives_own, owned_registers
from scanviz.engine.scan.variables import State
from tests.engine.backends.running import loop

N, BUFFER = T.lscalar("n"), T.matrix("buffer")


def doubling(buffer):
    """Return a loop that doubles the rows of a buffer in turn."""
    row = T.vector("row")
    (result,) = loop([State("g", {0: row}, {0: row * 2})], N, [buffer])
    return result


def program_of(*outputs, **options):
    return scanviz.function([N, BUFFER], list(outputs), on_unused_input="ignore", **options)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_buffer_that_was_made_for_a_loop_is_taken_over(mode):
    f = program_of(doubling(T.concatenate([BUFFER, BUFFER])), mode=scanviz.Mode(mode, "all"))
    ((only, _),) = all_loops(f.program)
    assert only.states[0].in_place
    at = np.ones((2, 3))
    assert f(3, at)[0].sum(axis=1).tolist() == [6.0, 6.0, 6.0, 3.0]
    assert (at == 1).all()


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("case", ["input", "constant", "shared", "view", "read again", "output"])
def test_a_buffer_that_is_needed_elsewhere_is_copied(mode, case):
    shared = scanviz.shared(np.ones((3, 2)), "kept")
    made = T.concatenate([BUFFER, BUFFER])
    source = {
        "input": BUFFER,
        "constant": T.constant(np.ones((3, 2))),
        "shared": shared,
        "view": made[::-1],
        "read again": made,
        "output": made,
    }[case]
    others = {"read again": [made * 3], "output": [made]}.get(case, [])
    f = program_of(doubling(source), *others, mode=mode)
    ((only, _),) = all_loops(f.program)
    assert not only.states[0].in_place
    at = np.ones((3, 2))
    for _ in range(2):
        found, *rest = f(2, at)
        assert found.sum(axis=1).tolist()[:3] == [4.0, 4.0, 2.0]
    assert (at == 1).all() and (shared.get_value() == 1).all()
    assert all(np.unique(each).tolist() in ([3.0], [1.0]) for each in rest)


def test_in_place_assignments_change_only_arrays_without_other_readers():
    x = T.vector("x")
    zeros = T.zeros(4) + x[0] * 0
    first = T.set_subtensor(T.alloc(x[1], 4)[0], 5.0)
    f = scanviz.function([x], [T.set_subtensor(zeros[1], 1.0), zeros, first])
    a, b, c = f([0.0, 2.0])
    assert (a.tolist(), b.tolist(), c.tolist()) == ([0, 1, 0, 0], [0, 0, 0, 0], [5, 2, 2, 2])
    assert f([0.0, 2.0])[2].tolist() == [5, 2, 2, 2]
    program = f.program
    owned = owned_registers(program.instructions, program.outputs, program.inputs)
    assert not owned & {*program.outputs, *program.inputs, *program.constants}


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_the_history_of_a_state_is_its_own_buffer(mode, steps):
    h0 = T.vector("h0")
    h, _ = scanviz.scan(lambda h: h * 2, outputs_info=h0, n_steps=N)
    both = state_history(h, h0, 1)
    f = scanviz.function([N, h0], [h, both, both[:-1]], mode=scanviz.Mode(mode, "all"))
    assert all(instruction.op.name != "state_history" for instruction in f.program.instructions)
    rows, whole, before = f(steps, [1.0])
    np.testing.assert_array_equal(whole[1:], rows)
    np.testing.assert_array_equal(whole[:, 0], 2.0 ** np.arange(steps + 1))
    np.testing.assert_array_equal(before, whole[:-1])
    whole[:] = 0  # outputs never share memory
    assert (rows > 0).all() and (before > 0).all()


def test_other_initial_rows_are_joined_on():
    h0, other = T.vector("h0"), T.vector("other")
    h, _ = scanviz.scan(lambda h: h * 2, outputs_info=h0, n_steps=3)
    f = scanviz.function([h0, other], state_history(h, other, 1))
    assert any(instruction.op.name == "state_history" for instruction in f.program.instructions)
    assert f([1.0], [7.0])[:, 0].tolist() == [7.0, 2.0, 4.0, 8.0]


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_freshly_allocated_result_is_assigned_to_in_place(mode):
    x = T.vector("x")
    doubled = x * 2
    f = scanviz.function([x], T.set_subtensor(doubled[0], 7.0), mode=mode)
    given = np.array([1.0, 2.0])
    assert f(given).tolist() == [7.0, 4.0] and given.tolist() == [1.0, 2.0]


def summed(rows):
    made, _ = scanviz.scan(lambda row, total: total + row, rows, T.zeros_like(rows[0]))
    return made


OWN = {
    "a new array": lambda: [BUFFER * 2],
    "rows of a loop": lambda: [summed(BUFFER)],
    "a row of them": lambda: [summed(BUFFER)[-1]],
    "rows of two loops": lambda: [summed(BUFFER), summed(BUFFER * 2)[1:]],
    "two numbers": lambda: [BUFFER.sum(), (BUFFER * 2).sum()],
    "a value and a gradient": lambda: [
        summed(BUFFER).sum(),
        scanviz.grad((summed(BUFFER) ** 2).sum(), BUFFER),
    ],
}
SHARED = {
    "an input": lambda: [BUFFER],
    "a look at an input": lambda: [BUFFER[1:]],
    "a constant": lambda: [T.constant(np.ones((3, 2)))],
    "one array twice": lambda: [made := BUFFER * 2, made],
    "an array and a look at it": lambda: [made := BUFFER * 2, made[1:]],
    "rows and a part of them": lambda: [made := summed(BUFFER), made[:2]],
    "a side of a branch": lambda: [T.ifelse(N > 1, BUFFER, T.constant(np.ones((2, 2))))],
}


@pytest.mark.parametrize("mode", ["numpy", "native"])
@pytest.mark.parametrize("case", OWN)
def test_fresh_results_of_a_program_need_no_ownership_check_and_share_nothing(case, mode):
    f, given = program_of(*OWN[case](), mode=mode), [np.array(2), np.arange(6.0).reshape(3, 2)]
    assert gives_own(f.program) and f.executable.gives_own
    for _ in range(20):  # loops get other code for entering them
        found = f.executable.run(given, None)
        held = [*given, *f.program.constants.values()]
        for k, array in enumerate(found):
            assert not any(np.shares_memory(array, other) for other in (*held, *found[:k]))


@pytest.mark.parametrize("case", SHARED)
def test_results_that_may_share_memory_are_reported_and_copied(case):
    f, given = program_of(*SHARED[case]()), np.arange(6.0).reshape(3, 2)
    assert not gives_own(f.program)
    found = f(2, given)
    held = [given, *f.program.constants.values()]
    for k, array in enumerate(found):
        assert not any(np.shares_memory(array, other) for other in (*held, *found[:k]))


@pytest.mark.parametrize("size", [(), (3,), (9000,)])
def test_draws_and_their_next_states_need_no_ownership_check_and_share_nothing(size):
    stream = T.random.RandomStreams(seed=1)
    f = scanviz.function([], [stream.uniform(size=size), stream.integers(0, 10, size=size)], mode="numpy")
    assert f.executable.gives_own
    found = [array for _ in range(3) for array in f()]
    assert all(array.flags.writeable for array in found)
    for k, array in enumerate(found):
        assert not any(np.shares_memory(array, other) for other in found[:k])
