"""Laws of what scan means to its users: rows that are read, inputs that are computed, gradients in the step."""

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz import Mode, ScanvizError, function, grad, jacobian, scan
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.engine.graph.replace import replace
from scanviz.testing.expressions import RandomExpression, expressions
from scanviz.testing.loops import LoopCase, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.frame import PLAIN, built, computed
from tests.laws.law import law
from tests.support.row_reads import RowRead, row_reads

LONGEST = 6
Reads = list[tuple[int, RowRead]]


def _close(found: Array, expected: Array, dtype: str) -> None:
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found, expected)
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@law(
    sample=20,
    case=random_loops(longest=LONGEST, symbolic_steps=True),
    reads=st.lists(st.tuples(st.integers(0, 2), row_reads(LONGEST)), min_size=1, max_size=3),
    committed=st.booleans(),
    rewrites=st.sampled_from(["all", "none,+fewer_steps", "none,+ScanSaveMem,+fewer_steps", "all,-loops"]),
)
def rows_read_alone_agree_with_the_whole_result(
    case: LoopCase, reads: Reads, committed: bool, rewrites: str
) -> None:
    """Rows and slices read from a loop agree with its whole result, or raise the same IndexError."""
    rows, state = run_plainly(case)
    loop = built(case, name="loop")
    results, shared, inputs = loop.results, loop.state, list(loop.given.items())
    chosen = [(k % len(results), row_read) for k, row_read in reads]
    try:
        expected = [row_read.of_array(rows[k]) for k, row_read in chosen]
        wanted = [row_read.of_graph(results[k], inputs) for k, row_read in chosen]
    except IndexError:  # NumPy's, or the graph's, which knows of the row as soon as it is written
        _check_no_row(chosen, results, rows, inputs)
        return
    updates = {"updates": loop.updates} if committed else {}
    f = loop._replace(given=dict(inputs)).function(wanted, Mode("numpy", rewrites), profile=True, **updates)
    for found, value in zip(f(*(value for _, value in inputs)), expected, strict=True):
        _close(found, value, case.dtype)
    if committed and shared is not None and state is not None:
        _close(shared.get_value(), state, case.dtype)
    _check_steps(f, case, chosen, len(rows[0]), committed and shared is not None, "none" in rewrites)


def _check_no_row(
    chosen: Reads, results: list[Variable], rows: list[Array], inputs: list[tuple[Variable, Any]]
) -> None:
    """Check that reading a row that is not there is an IndexError, when built or when run, after fewer steps too."""
    text = []
    for rewrites in ("none,+ScanSaveMem,+fewer_steps", "none", "all"):
        given = list(inputs)
        try:
            wanted = [row_read.of_graph(results[k], given) for k, row_read in chosen]
            computed(dict(given), wanted, Mode("numpy", rewrites), no_default_updates=True)
        except IndexError as error:
            assert isinstance(error, ScanvizError), error
            text.append(str(error).splitlines()[0])
        else:
            raise AssertionError(
                f"no IndexError with rewrites={rewrites!r}: {[len(row) for row in rows]} rows"
            )
    if len(chosen) == 1:  # of several, another may be met first
        assert text[0] == text[1], text


def _check_steps(f: Any, case: LoopCase, chosen: Reads, done: int, updates: bool, exact: bool) -> None:
    """Check that a loop took no more steps than its readers need; as many, where rules leave its rows to it."""
    taken = next((loop.steps for loop in f.profile.loops if loop.name == "loop"), None)
    needed = done if updates else max(row_read.needs(done) for _, row_read in chosen)
    if taken is None or case.stop is not None:  # not run at all; or not known when it ends
        return
    assert taken <= done
    if exact:
        assert taken >= needed, (taken, needed)
        if all(row_read.is_tight and row_read.needs(done) for _, row_read in chosen):
            assert taken == needed, (taken, needed)


@law(
    sample=20,
    case=random_loops(longest=LONGEST),
    cuts=st.lists(st.sampled_from(["none", "double", "turned", "joined", "loop"]), min_size=9, max_size=9),
    rewrites=st.booleans(),
)
def a_computed_input_behaves_like_a_plain_one(case: LoopCase, cuts: list[str], rewrites: bool) -> None:
    """A graph with computed variables as inputs has the values, sizes and updates of one with plain inputs."""
    expected, expected_state = run_plainly(case)
    loop = built(case)
    results, updates, state = loop.results, loop.updates, loop.state
    over = {variable: _computed(variable, how) for variable, how in zip(loop.given, cuts, strict=False)}
    rebuilt = replace([*results, *updates.values()], over)
    outputs, values = rebuilt[: len(results)], rebuilt[len(results) :]
    sizes = [output.shape[0] for output in outputs]
    f = function(
        [over.get(variable, variable) for variable in loop.given],
        [*outputs, *sizes],
        updates=dict(zip(updates, values, strict=True)),
        mode=Mode("numpy", "all" if rewrites else "none"),
        on_unused_input="ignore",
    )
    found = f(*loop.values)
    for mine, theirs in zip(found, expected, strict=False):
        _close(mine, theirs, case.dtype)
    assert [int(count) for count in found[len(expected) :]] == [len(array) for array in expected]
    if state is not None and expected_state is not None:
        _close(state.get_value(), expected_state, case.dtype)


@law(
    sample=10,
    case=random_loops(stops=False, updates=False, smooth=True, longest=4),
    cuts=st.lists(st.sampled_from(["none", "double", "turned", "joined", "loop"]), min_size=9, max_size=9),
    which=st.integers(0, 8),
)
def gradients_with_respect_to_computed_and_plain_inputs_agree(
    case: LoopCase, cuts: list[str], which: int
) -> None:
    """The gradient with respect to a computed or given input is that of a plain one and needs no ancestors."""
    loop = built(case)
    over = {variable: _computed(variable, how) for variable, how in zip(loop.given, cuts, strict=False)}
    chosen = loop.floats[which % len(loop.floats)]
    cost = functools.reduce(T.add, [T.sum(result) for result in loop.results])
    plain = grad(cost, chosen, disconnected_inputs="ignore")
    (again,) = replace([cost], over)
    cut = grad(again, over.get(chosen, chosen), disconnected_inputs="ignore")
    expected = computed(loop.given, plain, PLAIN)
    at = {over.get(variable, variable): value for variable, value in loop.given.items()}
    _close(computed(at, cut, "numpy"), expected, case.dtype)
    givens = {cut: plain for plain, cut in over.items() if cut is not plain}
    _close(computed(loop.given, cut, "numpy", givens=givens), expected, case.dtype)


def _computed(variable: Variable, how: str) -> Variable:
    """Return an expression of the variable's type over a fresh one, whose sizes are known."""
    leaf = T.tensor(variable.type.dtype, (None,) * variable.ndim, "leaf")
    if how == "double" or (variable.ndim == 0 and how != "none"):
        return leaf + leaf
    if how == "turned":
        return leaf[::-1]
    if how == "joined":
        joined: Variable = T.concatenate([leaf, leaf[1:]])
        return joined
    if how == "loop":
        rows: Variable = scan(lambda row: row * 2, leaf)[0]
        return rows
    return variable


@law(
    sample=15,
    first=expressions([(3,)] * 2, "float64", (3,), smooth=True),
    second=expressions([(3,)] * 3, "float64", (3,), smooth=True),
    seed=st.integers(0, 2**32 - 1),
    scalar_steps=st.booleans(),
)
def a_gradient_in_the_step_with_respect_to_a_non_sequence_is_a_row_of_the_jacobian(
    first: RandomExpression, second: RandomExpression, seed: int, scalar_steps: bool
) -> None:
    """Gradients in a step, of earlier work with respect to non-sequences, are rows of a Jacobian."""
    x, w = T.vector("x"), T.vector("w")
    middle = _as_row(first.apply([x, w])) + 0 * x
    y = _as_row(second.apply([x, w, middle])) + 0 * x  # of the right length whatever was drawn

    def row(i: Variable, y: Variable, x: Variable, w: Variable) -> Variable:
        slope: Variable = grad(y[i], x, disconnected_inputs="ignore")
        return slope + 0 * w

    steps = T.arange(3) if scalar_steps else T.arange(y.shape[0])
    rows, _ = scan(row, steps, non_sequences=[y, x, w])
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3)]
    found, whole = function([x, w], [rows, jacobian(y, x)], mode="numpy")(*values)

    def plain(at: Array) -> Array:
        between = _as_row(first.apply([at, values[1]])) + np.zeros(3)
        return np.asarray(_as_row(second.apply([at, values[1], between])) + np.zeros(3))

    step = 1e-6 * np.eye(3)
    slopes = [(plain(values[0] + change) - plain(values[0] - change)) / 2e-6 for change in step]
    np.testing.assert_allclose(found, np.stack(slopes, axis=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-12)


def _as_row(value: Any) -> Any:
    """Return a variable or an array summed over all axes but the last."""
    while value.ndim > 1:
        value = value.sum(axis=0)
    return value
