"""fewer_steps: steps after the last row that anybody reads are not taken."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.function import ForgottenUpdateWarning
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import reasons, refusals

STEPS, RULE = 20, "fewer_steps"


@pytest.fixture(params=[True, False], ids=["n known", "n unknown"])
def steps(request):
    """Return how n_steps is written, and the input for it if there is one."""
    n = T.lscalar("n")
    return (STEPS, []) if request.param else (n, [n])


def powers(n_steps, **options):
    """Return 2, 4, 8, … of a loop."""
    return scanviz.scan(lambda p: p * 2, outputs_info=1.0, n_steps=n_steps, name="powers", **options)[0]


def outcome(f, *values):
    """Return the result of a call, or its error without the index's name and the operation."""
    try:
        return [np.asarray(each).tolist() for each in f(*values)]
    except scanviz.ScanvizError as error:
        return type(error), str(error).replace("first_rows: ", "").partition("found:")[0]


class Taken:
    """A function as it is wanted, and as the reference without rewrites has it, for any number of calls."""

    def __init__(self, inputs, wanted, mode="numpy", updates=None):
        self.state = updates or {}
        options = dict(updates=updates, on_unused_input="ignore")
        self.plain = scanviz.function(inputs, wanted, mode=Mode("reference", "none"), **options)
        self.f = scanviz.function(inputs, wanted, mode=mode, profile=True, **options)

    def steps(self):
        return {loop.name: loop.steps for loop in self.f.profile.loops}

    def __call__(self, *values):
        """Return the number of steps that each loop takes, after checking results."""
        before, state = self.steps(), {each: each.get_value() for each in self.state}
        expected = outcome(self.plain, *values)
        for each, value in state.items():
            each.set_value(value)
        assert outcome(self.f, *values) == expected
        return {name: count - before.get(name, 0) for name, count in self.steps().items()}


def taken(inputs, wanted, *values, mode="numpy", updates=None):
    """Return the number of steps that each loop takes in one call, after checking results."""
    return Taken(inputs, wanted, mode, updates)(*values)


def notes(wanted, inputs):
    f = scanviz.function(inputs, wanted, on_unused_input="ignore")
    return [rewrite.message for rewrite in f.rewrites if rewrite.rule == "fewer_steps"]


@pytest.mark.parametrize(
    ("count", "read"),
    [
        (3, lambda o: [o[2]]),
        (11, lambda o: [o[-10]]),
        (10, lambda o: [o[:-10]]),
        (11, lambda o: [o[2], o[-10]]),
        (13, lambda o: [o[12], o[-10]]),
        (15, lambda o: [o[-10], o[:-5]]),
        (4, lambda o: [o[:4]]),
        (4, lambda o: [o[3::-1]]),
        (4, lambda o: [o[3:0:-2]]),
        (18, lambda o: [o[-3::-1]]),
        (18, lambda o: [o[-3:0:-1]]),
        (18, lambda o: [o[-3:-7:-2]]),
        (18, lambda o: [o[-3:14:-1], o[15]]),
        (0, lambda o: [o[-7:-3:-1]]),
        (6, lambda o: [o[:9:5]]),
        (16, lambda o: [o[-8:-4]]),
        (16, lambda o: [o[-8:-4:3]]),
        (16, lambda o: [o[2:-4]]),
        (13, lambda o: [o[-10:13]]),
        (0, lambda o: [o[-3:-8]]),
        (16, lambda o: [o[-3:-5], o[-5]]),
        (19, lambda o: [o[-9:13], o[-2]]),
        (19, lambda o: [o[-2:4:-1], o[-4]]),
        (0, lambda o: [o[:0]]),
        (20, lambda o: [o[-1]]),
        (20, lambda o: [o[-3:]]),
        (20, lambda o: [o[::-1], o[2]]),
        (20, lambda o: [o]),
        (20, lambda o: [o[2], T.sum(o)]),
        (20, lambda o: [o[25:]]),
    ],
)
@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_only_steps_needed_by_the_rows_read_are_taken(count, read, steps, mode):
    n, inputs = steps
    mode = mode if mode == "numpy" else Mode("reference", "all")
    assert taken(inputs, read(powers(n)), *[STEPS for _ in inputs], mode=mode) == {"powers": count}


@pytest.mark.parametrize(
    ("index", "count"),
    [(0, 1), (7, 8), (19, 20), (20, 20), (-1, 20), (-10, 11), (-20, 1), (-21, 20), (2**63 - 1, 20)],
)
def test_a_row_that_only_a_call_knows_is_the_last_step(index, count, steps):
    (n, inputs), i = steps, T.lscalar("i")
    values, o = [STEPS for _ in inputs], powers(n)
    assert taken([*inputs, i], [o[i]], *values, index) == {"powers": count}
    if -20 <= index < 20:
        assert taken([*inputs, i], [o[i], o[3]], *values, index) == {"powers": max(count, 4)}


@pytest.mark.parametrize("start", [None, -12, 3])
def test_slices_with_bounds_known_at_run_time_bound_the_steps(start, steps):
    (n, inputs), i, j = steps, T.lscalar("i"), T.lscalar("j")
    values, o = [STEPS for _ in inputs], powers(n)
    forward, backward = Taken([*inputs, i], [o[start:i]]), Taken([*inputs, i], [o[i:start:-1]])
    several = [Taken([*inputs, i, j], [o[j:i], o[j:-4]]), Taken([*inputs, i, j], [o[i:j:-2], o[-4:j:-1]])]
    for stop in (-25, -20, -10, -1, 0, 7, 20, 30):
        assert forward(*values, stop) == {"powers": len(range(*slice(0, stop).indices(STEPS)))}
        backward(*values, stop)
        for each in several:
            each(*values, stop, start or 0)


@pytest.mark.parametrize(
    "read",
    [
        lambda o: [o[2]],
        lambda o: [o[-10]],
        lambda o: [o[2], o[-10]],
        lambda o: [o[2], o[-3]],
        lambda o: [o[:-10]],
        lambda o: [o[-12:-10], o[:2]],
        lambda o: [o[-11:3]],
    ],
)
def test_a_missing_row_is_the_same_error_with_and_without_the_rule(read):
    n = T.lscalar("n")
    call = Taken([n], read(powers(n)))
    for length in (0, 1, 2, 3, 9, 10, 11, 12):
        call(length)


def test_a_taken_branch_is_right_though_the_other_reads_a_missing_row():
    n, c = T.lscalar("n"), T.lscalar("c")
    o = powers(n)
    wanted = [scanviz.ifelse(c, o[-10], T.sum(o[:-3])), scanviz.ifelse(c, o[8], o[-4])]
    call = Taken([n, c], wanted)
    for length in (4, 5, 9, 12):
        call(length, 0)


def test_results_that_are_read_each_in_their_way_need_the_most_of_their_rows():
    n = T.lscalar("n")
    (a, b), _ = scanviz.scan(lambda a, b: (a + b, a * 2), outputs_info=[1.0, 1.0], n_steps=n, name="two")
    assert taken([n], [a[3], b[-9]], 20) == {"two": 12}
    assert "all rows of `b` are read" in refusals([a[3], b], RULE, [n])


def test_loops_in_a_step_take_only_the_steps_that_the_step_reads():
    x = T.matrix("x")
    rows, _ = scanviz.scan(
        lambda r, i: scanviz.scan(lambda v, s: s + v, r, 0.0, name="inner")[0][i],
        [x, T.arange(9)],
        name="outer",
    )
    assert taken([x], [rows[-2]], np.arange(40.0).reshape(4, 10)) == {"outer": 3, "inner": 6}


def test_gradients_of_a_row_run_only_the_needed_steps():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: T.tanh(h * v), x, 1.0, name="forward")
    for row in (h[2], h[-3], h[:-2].sum()):
        taken(
            [x], [row, scanviz.grad(row, x), scanviz.grad(scanviz.grad(row, x)[1], x)], np.linspace(0.1, 2, 8)
        )


def test_a_loop_that_may_end_early_is_bounded_by_rows_from_the_start_alone():
    n, i = T.lscalar("n"), T.lscalar("i")
    o, _ = scanviz.scan(lambda p: (p * 2, scanviz.until(p > 100)), outputs_info=1.0, n_steps=n, name="early")
    assert taken([n], [o[2]], 20) == {"early": 3}
    assert taken([n], [o[12]], 20) == {"early": 8}  # an error, as without the rule
    assert taken([n], [o[-3]], 20) == {"early": 8}
    assert taken([n, i], [o[i]], 20, 2) == {"early": 8}
    assert "counts from the end of a loop that may end early" in refusals([o[-3]], RULE, [n])


def test_updates_and_draws_of_later_steps_are_taken():
    count = scanviz.shared(0.0, "count")
    o, updates = scanviz.scan(
        lambda p: (p * 2, {count: count + p}), outputs_info=1.0, n_steps=20, name="counting"
    )
    assert taken([], [o[2]], updates=updates) == {"counting": 20}
    assert "may read the last row of `count`" in refusals([o[2]], RULE, [], updates=updates)
    with pytest.warns(ForgottenUpdateWarning):
        assert taken([], [o[2]]) == {"counting": 3}


def test_only_sequences_too_short_for_all_steps_are_errors():
    x, n = T.vector("x"), T.lscalar("n")
    o, _ = scanviz.scan(lambda v, s: s + v, x, 0.0, n_steps=n, name="sums")
    assert taken([x, n], [o[2]], np.arange(20.0), 15) == {"sums": 3}
    taken([x, n], [o[2]], np.arange(10.0), 15)
    taken([x, n], [o[2]], np.arange(10.0), -15)
    taken([x, n], [o[:-2]], np.arange(10.0), -15)


def test_a_row_that_the_loop_itself_computes_is_no_bound():
    n = T.lscalar("n")
    o = powers(n)
    assert taken([n], [o[T.cast(o[1], "int64")]], 20) == {"powers": 20}
    assert "the loop itself computes" in refusals([o[T.cast(o[1], "int64")]], RULE, [n])


def test_values_of_a_branch_not_taken_are_not_computed_for_the_bound():
    n, c, y = T.lscalar("n"), T.lscalar("c"), T.lvector("y")
    o = powers(n)
    assert taken([n, c, y], [scanviz.ifelse(c, o[y[9]], o[2])], 20, 0, [1]) == {"powers": 20}
    assert "a branch that may not be taken" in refusals([scanviz.ifelse(c, o[y[9]], o[2])], RULE, [n, c, y])
    assert taken([n, c, y], [scanviz.ifelse(c, o[n // 4], o[2])], 20, 0, [1]) == {"powers": 6}
    assert taken([n, y], [o[y[1]]], 20, [1, 4]) == {"powers": 5}


def test_the_effect_of_the_rule_is_described():
    n = T.lscalar("n")
    assert notes([powers(n)[2]], [n]) == ["`powers` takes at most 3 steps: no later row is read"]
    assert notes([powers(n)[:-10]], [n]) == ["`powers` takes 10 steps fewer: its last rows are not read"]
    assert notes([powers(20)[-10]], []) == ["`powers` takes 9 steps fewer: its last rows are not read"]
    assert notes([powers(n)[-10]], [n]) == [
        "`powers` takes no step after the last row that `wanted[0]` needs"
    ]
    assert reasons("fewer_steps", powers(20)[19]) == ["`powers` takes 20 steps, and the last is read"]
    assert "may read the last row of `p`" in refusals([powers(n)[-1]], RULE, [n])


def test_only_a_known_row_from_the_end_is_kept():
    rows = rewritten_by(["ScanSaveMem", "fewer_steps"], [powers(20)[-10]])
    (op,) = [each.op for each in toposort(rows) if isinstance(each.op, Scan)]
    assert [variable.keep.last for variable in op.variables] == [1]
    n = T.lscalar("n")
    once = rewritten_by("fewer_steps", [powers(n)[-10]])
    assert rewritten_by("fewer_steps", once) == once


def test_a_loop_of_fewer_steps_still_checks_the_length_of_unread_sequences():
    x, y = T.dvector("x"), T.dvector("y")
    rows, _ = scanviz.scan(lambda x_t, y_t: x_t * 2, [x, y], n_steps=2)
    f = scanviz.function([x, y], rows[0])
    assert f([1.0, 2.0], [0.0, 0.0]) == 2.0
    with pytest.raises(ScanvizError, match="sequence `y` is too short"):
        f([1.0, 2.0], [0.0])
    with pytest.raises(ScanvizError, match="sequence `y` is too short"):
        f([1.0, 2.0], [])
