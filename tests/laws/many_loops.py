"""Laws of functions of several loops: rules that change many of them at once leave all values as they were."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.mode import Mode
from scanviz.engine.rewrites import rule_pass
from scanviz.engine.rewrites.versions import places
from tests.laws.frame import PLAIN
from tests.laws.law import law
from tests.support.work import grown, lines_run

ROWS, WIDTH = 5, 3
STEPS: dict[str, Callable[..., Any]] = {
    "sum": lambda x, h, w: h + x,
    "rnn": lambda x, h, w: T.tanh(T.dot(x, w) + h * 0.5),
    "weights twice": lambda x, h, w: T.tanh(T.dot(h, T.tanh(w)) + x),
    "no sequence": lambda x, h, w: T.sin(h + 0.1),
    "square": lambda x, h, w: x * x - h * 0.25,
}


@st.composite
def many_loops(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Draw a graph of 2 to 7 loops over inputs or earlier rows; return its inputs and outputs."""
    x, w, h0 = T.matrix("x"), T.matrix("w"), T.vector("h0")
    rows, starts = [x], [h0]
    for k in range(draw(st.integers(2, 7))):
        step = STEPS[draw(st.sampled_from(sorted(STEPS)))]
        sequence = draw(st.sampled_from(rows))
        if draw(st.integers(0, 3)) == 0:
            sequence = sequence[::-1] if draw(st.booleans()) else T.tanh(sequence)
        start = draw(st.sampled_from(starts))
        options: dict[str, Any] = (
            {"n_steps": draw(st.integers(1, ROWS - 1))} if draw(st.integers(0, 4)) == 0 else {}
        )
        h, _ = scanviz.scan(step, sequence, start, w, name=draw(st.sampled_from([f"l{k}", "l"])), **options)
        starts.append(h[draw(st.sampled_from([-1, 0]))])
        if not options:
            rows.append(h)
    wanted = draw(st.lists(st.sampled_from([*rows[1:], *starts[1:]]), min_size=1, max_size=4, unique_by=id))
    if draw(st.booleans()):
        cost = sum((variable**2).sum() for variable in wanted)
        wanted = [*wanted, *scanviz.grad(cost, [x, w, h0], disconnected_inputs="ignore")]
    return [x, w, h0], wanted


@law(sample=8, graph=many_loops(), seed=st.integers(0, 9))
def many_rewritten_loops_keep_their_results(graph: tuple[list[Any], list[Any]], seed: int) -> None:
    """Several loops in one function, with gradients, have the same results with all rewrites and without."""
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=(ROWS, WIDTH)), rng.normal(size=(WIDTH, WIDTH)) * 0.4, rng.normal(size=WIDTH)]
    inputs, wanted = graph
    plain = scanviz.function(inputs, wanted, mode=PLAIN, on_unused_input="ignore")
    rewritten = scanviz.function(inputs, wanted, mode=Mode("numpy"), on_unused_input="ignore")
    for mine, theirs in zip(rewritten(*values), plain(*values), strict=True):
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)


@law(sample=4, graph=many_loops(), versions=st.integers(1, 8))
def every_version_of_many_rewritten_loops_is_rebuilt(
    graph: tuple[list[Any], list[Any]], versions: int
) -> None:
    """The graph after each rewrite, rebuilt on demand, is the recorded one, with the same node ids.

    However few versions a pass over many loops may give, the last graph is the same.
    """
    inputs, wanted = graph
    with mock.patch.object(rule_pass, "MOST_VERSIONS", versions):
        history = scanviz.function(inputs, wanted, mode=Mode("numpy"), on_unused_input="ignore").rewrites
        graphs = history.all_graphs()
        assert len(graphs) == len(history.of_graph) + 1
        for k in (len(graphs) // 2, len(graphs) - 1):
            again = history.graph(k)
            assert list(places(again)) == list(places(graphs[k]))
            assert structurally_equal(again, graphs[k])
    whole = scanviz.function(inputs, wanted, mode=Mode("numpy"), on_unused_input="ignore").rewrites
    assert structurally_equal(whole.final, history.final)


def _of_states(count: int, function: str, apart: int, size: int | None, wanted: str) -> Any:
    """Return what builds and calls a function of a loop that carries many states, each made of itself and of one at a distance."""
    a, n = T.vector("a"), T.lscalar("n")
    starts = [0.1 * k if size is None else T.zeros(size) + 0.1 * k for k in range(count)]

    def step(*states: Any) -> list[Any]:
        made = [states[k] * a[k] + states[(k + apart) % count] for k in range(count)]
        return [getattr(T, function)(state) for state in made]

    rows, _ = scanviz.scan(step, None, starts, n_steps=n, return_list=True)
    cost = sum((row[-1] if wanted == "last rows" else row).sum() for row in rows)
    result = cost if wanted == "values" else scanviz.grad(cost, a)
    return lambda: scanviz.function([a, n], result, mode=Mode("numpy"))(np.full(count, 0.1), 3)


@law(
    sample=3,
    count=st.integers(12, 14),
    function=st.sampled_from(["tanh", "sin", "sqr"]),
    apart=st.integers(0, 5),
    size=st.sampled_from([None, None, 2]),
    wanted=st.sampled_from(["last rows", "all rows", "values"]),
)
def twice_the_states_take_little_more_than_twice_the_work(
    count: int, function: str, apart: int, size: int | None, wanted: str
) -> None:
    """Compiling and first calling a loop of twice the states, with its gradient, runs little more than twice the lines."""
    _of_states(2, function, apart, size, wanted)()  # imports and other work done once
    small, large = (lines_run(_of_states(n, function, apart, size, wanted)) for n in (count, 2 * count))
    assert large.total() < 2.3 * small.total(), large.total() / small.total()
    assert not grown(small, large, 3.2), "these functions grow with the square"
