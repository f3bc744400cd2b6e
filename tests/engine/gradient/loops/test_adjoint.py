"""The adjoint rule of states: random taps and non-linear steps against unrolled graphs, at orders one to three."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.gradient.loops.adjoint import adjoint_taps, rows_after, survives
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.args import ScanArgs
from scanviz.engine.scan.layout import Layout
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import NonSequence, Sequence, State, StepOutput
from tests.engine.backends.running import loop
from tests.engine.scan.test_layout import check_fields

WIDTH = 2
TAPS = st.lists(st.integers(-3, 2), min_size=1, max_size=3, unique=True)
N = T.constant(3)


class Recipe(NamedTuple):
    """How one new row is made of the rows that a step reads: a row as it is, one made before, a product, a mixture."""

    kind: int
    places: tuple[int, int, int]
    coefficients: tuple[float, float]

    @classmethod
    def draw(cls, rng):
        kind = int(rng.choice([0, 1, 2, 3, 3, 3]))
        return cls(kind, tuple(int(k) for k in rng.integers(0, 1000, 3)), tuple(rng.normal(size=2)))

    def apply(self, seen, made):
        """Return the row; several states and taps may be given the very same variable."""
        a, b, c = (seen[place % len(seen)] for place in self.places)
        if self.kind == 0:
            return a
        if self.kind == 1 and made:
            return made[self.places[0] % len(made)]
        if self.kind == 2:
            return a * b
        return T.tanh(self.coefficients[0] * a * b + T.sin(self.coefficients[1] * c))


class Case:
    """A loop over mitmots with given taps, and a sequence, a non-sequence, a sitsot, a mitsot and a step output beside."""

    def __init__(self, taps, steps, seed, extra, limit=None):
        self.taps, self.steps, self.extra, self.limit = taps, steps, extra, limit
        self.rng = np.random.default_rng(seed)
        self.x, self.w = T.matrix("x"), T.vector("w")
        self.buffers = [T.matrix(f"buffer{k}") for k in range(len(taps))]
        self.start, self.past = T.vector("start"), T.matrix("past")
        self.recipes = [
            [Recipe.draw(self.rng) for _ in writes]
            for _, writes in [*taps, ((), (0,)), ((), (0,)), ((), (0,))]
        ]

    def step(self, rows, x, w, h, old):
        """Return new rows of each mitmot, of the sitsot and the mitsot, and the step output, from the rows read."""
        seen = [value for group in rows for value in group] + [x, w, h, *old]
        made, new = [], []
        for group in self.recipes:
            new.append([])
            for recipe in group:
                made.append(recipe.apply(seen, made))
                new[-1].append(made[-1])
        return new[:-3], new[-3][0], new[-2][0], new[-1][0]

    def scan(self):
        x, w, h, old = T.vector(), T.vector(), T.vector(), [T.vector(), T.vector()]
        reads = [[T.vector() for _ in reads] for reads, _ in self.taps]
        writes, new_h, new_past, seen = self.step(reads, x, w, h, old)
        states = [
            State(f"m{k}", dict(zip(r, values, strict=True)), dict(zip(wr, new, strict=True)))
            for k, ((r, wr), values, new) in enumerate(zip(self.taps, reads, writes, strict=True))
        ]
        rest = [State("h", {-1: h}, {0: new_h}), State("p", {-2: old[0], -1: old[1]}, {0: new_past})]
        variables = [Sequence("x", x), *states, *rest, StepOutput("seen", seen), NonSequence("w", w)]
        outer = [self.x, *self.buffers, self.start, self.past, self.w]
        stop = None if self.limit is None else T.sum(seen) > self.limit
        return loop(variables, T.constant(self.steps), outer, stop)

    def unrolled(self, steps):
        offsets = [max(0, -min(*r, *w)) for r, w in self.taps]
        buffers = [[b[k] for k in range(self.size(j))] for j, b in enumerate(self.buffers)]
        h, past, hs, ps, seen = self.start, [self.past[0], self.past[1]], [], [], []
        for t in range(steps):
            rows = [
                [b[o + t + tap] for tap in r]
                for b, o, (r, _) in zip(buffers, offsets, self.taps, strict=True)
            ]
            writes, h, new_past, output = self.step(rows, self.x[t], self.w, h, past)
            for b, o, (_, w), new in zip(buffers, offsets, self.taps, writes, strict=True):
                for tap, value in zip(w, new, strict=True):
                    b[o + t + tap] = value
            past = [past[1], new_past]
            hs.append(h)
            ps.append(new_past)
            seen.append(output)
        nothing = T.zeros((0, WIDTH))
        return [T.stack(v) if v else nothing for v in (*buffers, hs, ps, seen)]

    def size(self, k):
        r, w = self.taps[k]
        return max(0, -min(*r, *w)) + self.steps + max(0, *r, *w) + self.extra

    @property
    def wrt(self):
        return [*self.buffers, self.x, self.w, self.start, self.past]

    def values(self):
        shapes = [(self.size(k), WIDTH) for k in range(len(self.taps))]
        shapes += [(self.steps, WIDTH), (WIDTH,), (WIDTH,), (2, WIDTH)]
        return [self.rng.normal(size=shape) for shape in shapes]


def is_mitmot(taps):
    return State("s", dict.fromkeys(taps[0], T.vector()), dict.fromkeys(taps[1], T.vector())).kind == "mitmot"


def cases(limits):
    """Return a strategy for loops of one or two mitmots, which end where a sum is above a limit."""
    mitmots = st.lists(st.tuples(TAPS, TAPS).filter(is_mitmot), min_size=1, max_size=2)
    return st.builds(Case, mitmots, st.integers(0, 4), st.integers(0, 10**6), st.integers(0, 2), limits)


FULL = cases(st.none())  # all steps: what goes into the condition alone changes nothing
CASES = cases(st.none() | st.floats(-0.9, 1.5).map(lambda limit: limit + 0.00137))


def orders(outputs, wrt, weights, highest):
    """Return the cost and its gradients, each order's being of the sum of sines of the one before."""
    chosen = zip(outputs, weights, strict=True)
    cost = sum((T.sum(T.sin(each * w)) for each, w in chosen if w is not None), T.constant(0.0))
    found = [cost]
    for _ in range(highest):
        gradients = pull_back({cost: T.constant(1.0)}, wrt)
        gradients = [T.zeros_like(x) if g is None else g for g, x in zip(gradients, wrt, strict=True)]
        found += gradients
        cost = sum((T.sum(T.sin(g)) for g in gradients), T.constant(0.0))
    return found


def check(case, highest, mode, tolerance):
    """Compare gradients of a function of some of the results, of weights that differ along the rows."""
    rng, values, results = case.rng, case.values(), case.scan()
    weights = [rng.uniform(0.3, 1.2, WIDTH) if rng.random() < 0.7 else None for _ in results]
    mine = orders(results, case.wrt, weights, highest)
    f = scanviz.function(case.wrt, [results[-1].shape[0], *mine], mode=mode, on_unused_input="ignore")
    steps, *found = f(*values)
    assert steps == case.steps or case.limit is not None
    theirs = orders(case.unrolled(int(steps)), case.wrt, weights, highest)
    expected = scanviz.function(case.wrt, theirs, mode="reference", on_unused_input="ignore")(*values)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@given(case=CASES, mode=st.sampled_from(["numpy", "reference"]))
def test_first_derivatives_agree_with_the_unrolled_loop(case, mode):
    check(case, 1, mode, 1e-9)


@settings(max_examples=max(8, settings.default.max_examples // 3))
@given(case=CASES)
def test_second_derivatives_agree_with_the_unrolled_loop(case):
    case.steps = min(case.steps, 3)
    check(case, 2, "numpy", 1e-8)


@given(taps=st.tuples(TAPS, TAPS).filter(is_mitmot), steps=st.integers(0, 2), seed=st.integers(0, 10**6))
@settings(max_examples=max(5, settings.default.max_examples // 5))
def test_third_derivatives_agree_with_the_unrolled_loop(taps, steps, seed):
    check(Case([taps], steps, seed, 0), 3, Mode("numpy", "none"), 1e-6)


def state(reads, writes):
    return State("s", {tap: T.vector() for tap in reads}, {tap: T.vector() for tap in writes})


@pytest.mark.parametrize(
    ("reads", "writes", "kept", "replaced", "cleared"),
    [
        ((-1,), (0,), (-1,), (), ()),
        ((-3, -1), (0,), (-3, -1), (), ()),
        ((0, 1), (1,), (0,), (1,), ()),
        ((-2, 0, 1), (0, 1, 2), (-2,), (0, 1), (2,)),
        ((1,), (-1,), (1,), (), (-1,)),
    ],
)
def test_the_table_of_taps_is_as_documented(reads, writes, kept, replaced, cleared):
    taps = adjoint_taps(state(reads, writes))
    assert taps[1:] == (kept, replaced, cleared)
    assert set(taps.reads) == {*reads, *writes}


def test_survives_and_rows_after_follow_the_taps_of_a_state():
    assert survives(state((-1,), (0,)), -1)
    assert survives(state((0, 1), (1,)), 0) and not survives(state((0, 1), (1,)), 1)
    assert rows_after(state((-1,), (0,))) == 0 and rows_after(state((0, 2), (1,))) == 2


def backward_loops(outputs):
    return [node for node in toposort(outputs) if isinstance(node.op, Scan) and node.op.settings.gradient_of]


@pytest.mark.parametrize("taps", [(-1,), (-3, -1), (-2,)])
def test_the_rows_of_an_adjoint_state_are_as_documented(taps):
    """Gradients take the initial rows alone; the others hold the gradient of their row, for the gradient's gradient."""
    x, h0, depth, steps = T.vector("x"), T.vector("h0"), -min(taps), 5

    def step(x_t, *old):
        return T.sin(x_t + old[0] * old[-1])

    h, _ = scanviz.scan(step, x, h0[0] if taps == (-1,) else dict(initial=h0, taps=list(taps)), name="h")
    found = scanviz.grad(T.sum(T.sin(h)), [x, h0])
    (node,) = backward_loops(found)
    buffer = node.outputs[0]
    spoilt = replace(found, {buffer: T.set_subtensor(buffer[:-depth], np.nan)}, check=False)
    rows = [h0[k] for k in range(depth)]
    for t in range(steps):
        rows.append(step(x[t], *(rows[depth + t + tap] for tap in taps)))
    each_row = pull_back({T.sum(T.sin(T.stack(rows[depth:]))): T.constant(1.0)}, rows)
    expected = [T.zeros(()) if g is None else g for g in each_row]
    f = scanviz.function([x, h0], [*found, *spoilt, T.stack(expected), buffer[::-1]])
    to_x, to_h0, same_x, same_h0, rows_of_graph, rows_of_loop = f(
        np.linspace(0.1, 0.9, steps), np.full(depth, 0.4)
    )
    np.testing.assert_array_equal(to_x, same_x)
    np.testing.assert_array_equal(to_h0, same_h0)
    np.testing.assert_allclose(rows_of_loop, rows_of_graph, rtol=1e-12)


def test_gradients_of_a_gradient_loop_read_and_write_one_tap():
    x, h0 = T.vector("x"), T.scalar("h0")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h * h), x, h0, name="rnn")
    first = scanviz.grad(h[-1], x)
    (node,) = backward_loops([first])
    assert node.op.scan_name == "grad_of_rnn" and node.op.settings.gradient_of == ("rnn", h.owner.node_id)
    assert (node.op.mitmot_taps(), node.op.mitmot_out_taps()) == ([(0, 1)], [(1,)])
    second = scanviz.grad(T.sum(first**2), x)
    loops = {each.op.scan_name: each for each in backward_loops([second])}
    deeper = loops["grad_of_grad_of_rnn"].op
    assert (deeper.mitmot_taps(), deeper.mitmot_out_taps()) == ([(-1, 0)], [(-1, 0)]) or set(
        deeper.mitmot_out_taps()[0]
    ) == {-1, 0}


@given(case=FULL, seed=st.integers(0, 99))
def test_mappings_and_connections_of_mitmot_loops_are_as_documented(case, seed):
    """j is in B_from_A[i] exactly when i is in A_from_B[j]; disconnected results do not change when perturbed."""
    outputs = case.scan()
    node = outputs[0].owner
    layout = Layout(node)
    maps = layout.var_mappings
    for name, mapping in maps.items():
        target, source = name.split("_from_")
        back = maps[f"{source}_from_{target}"]
        as_lists = {i: j if isinstance(j, list) else [] if j == -1 else [j] for i, j in mapping.items()}
        as_lists_back = {i: j if isinstance(j, list) else [] if j == -1 else [j] for i, j in back.items()}
        for i, found in as_lists.items():
            assert all(i in as_lists_back[j] for j in found), name
    pattern = layout.connection_pattern()
    f = scanviz.function(case.wrt, layout.outer_outputs, on_unused_input="ignore")
    values = case.values()
    before = f(*values)
    for k, variable in enumerate(case.wrt):
        position = next(i for i, each in enumerate(layout.outer_inputs) if each is variable)
        moved = [v + 0.1 * (j == k) for j, v in enumerate(values)]
        for j, (a, b) in enumerate(zip(before, f(*moved), strict=True)):
            if not pattern[position][j]:
                np.testing.assert_array_equal(a, b)


@given(case=FULL)
def test_the_parts_of_a_mitmot_loop_are_listed_by_kind(case):
    node = case.scan()[0].owner
    layout, parts = Layout(node), ScanArgs.from_node(node)
    check_fields(parts, layout)
    assert parts.mit_mot_in_slices == [tuple(reads) for reads, _ in case.taps]
    assert parts.mit_mot_out_slices == [tuple(writes) for _, writes in case.taps]
    assert [len(each) for each in parts.inner_in_mit_mot] == [len(reads) for reads, _ in case.taps]
    assert [len(each) for each in parts.inner_out_mit_mot] == [len(writes) for _, writes in case.taps]
    assert parts.outer_in_mit_mot == case.buffers and len(parts.outer_out_mit_mot) == len(case.buffers)


@given(case=FULL, seed=st.integers(0, 99))
def test_one_step_of_a_mitmot_loop_depends_on_the_inputs_of_its_pattern(case, seed):
    layout = Layout(case.scan()[0].owner)
    pattern, inputs, outputs = layout.inner_connection_pattern(), layout.inner_inputs, layout.inner_outputs
    f = scanviz.function(inputs, outputs, on_unused_input="ignore")
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=WIDTH) for _ in inputs]
    before = f(*values)
    for k in range(len(inputs)):
        after = f(*[v + 0.3 * (j == k) for j, v in enumerate(values)])
        for j, (a, b) in enumerate(zip(before, after, strict=True)):
            assert pattern[k][j] or (a == b).all()


@pytest.mark.parametrize("with_output", [True, False])
def test_a_mitmot_loop_with_a_stop_condition_has_a_gradient(with_output):
    """Its buffer has more rows than there are steps done."""
    x, b, r, s = T.matrix("x"), T.matrix("b"), T.vector(), T.vector()
    new = T.sin(r * s) + 1
    variables = [Sequence("x", s), State("m", {0: r}, {1: new})]
    variables += [StepOutput("o", new)] if with_output else []
    results = loop(variables, T.constant(4), [x, b], until=T.sum(new) > 3.2)
    cost = sum((T.sum(T.sin(result)) for result in results), T.constant(0.0))
    f = scanviz.function([x, b], [cost, results[-1].shape[0], *pull_back({cost: T.constant(1.0)}, [x, b])])
    at = [np.array([[0.2, 0.3], [0.5, 0.9], [0.1, 0.2], [0.3, 0.3]]), np.full((6, 2), 0.7)]
    _, rows, *found = f(*at)
    assert not with_output or rows == 2
    for k, gradient in enumerate(found):
        for place in np.ndindex(gradient.shape):
            sides = []
            for move in (1e-6, -1e-6):
                moved = [each.copy() for each in at]
                moved[k][place] += move
                sides.append(f(*moved)[0])
            np.testing.assert_allclose(gradient[place], (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-8)
