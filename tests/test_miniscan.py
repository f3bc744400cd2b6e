"""docs/miniscan.py, the scan that a page builds up, agrees with the engine on random loops: values, gradients, its rewrite."""

import importlib.util
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T

ROOT = Path(__file__).resolve().parent.parent
SIZE = 3  # of every row


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tests_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


mini = module_of(ROOT / "docs" / "miniscan.py")


@dataclass(frozen=True)
class RandomLoop:
    """What both build: taps of sequences and states (none: a result that no step reads), and a recipe for the step."""

    sequences: tuple[tuple[int, ...], ...]
    states: tuple[tuple[int, ...], ...]
    n_steps: int
    recipe: tuple[tuple[str, int, int], ...]
    given: tuple[int, ...]

    def step(self, tanh: Callable[[Any], Any], dot: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        def built(*arguments: Any) -> Any:
            *values, vector, matrix = arguments
            values.append(vector)
            for name, first, second in self.recipe:
                a, b = values[first % len(values)], values[second % len(values)]
                match name:
                    case "add":
                        values.append(a + b)
                    case "multiply":
                        values.append(a * b)
                    case "tanh":
                        values.append(tanh(a))
                    case "dot":
                        values.append(dot(a, matrix))
            return [tanh(values[-1 - k % len(values)]) for k in self.given]

        return built


@st.composite
def random_loops(draw: st.DrawFn) -> RandomLoop:
    taps = st.sets(st.integers(-2, 1), min_size=1, max_size=3).map(lambda found: tuple(sorted(found)))
    behind = st.sets(st.integers(-3, -1), max_size=3).map(lambda found: tuple(sorted(found)))
    recipe = st.tuples(
        st.sampled_from(["add", "multiply", "tanh", "dot"]), st.integers(0, 9), st.integers(0, 9)
    )
    states = tuple(draw(st.lists(behind, min_size=1, max_size=2)))
    return RandomLoop(
        tuple(draw(st.lists(taps, max_size=2))),
        states,
        draw(st.integers(1, 5)),
        tuple(draw(st.lists(recipe, min_size=1, max_size=6))),
        tuple(draw(st.integers(0, 5)) for _ in states),
    )


def values_of(loop: RandomLoop) -> list[np.ndarray[Any, Any]]:
    """Return rows of the sequences, initial rows of the states that have some, and the non-sequences."""
    rng = np.random.default_rng(1)
    rows = [loop.n_steps + max(*taps, 0) - min(*taps, 0) for taps in loop.sequences]
    rows += [-taps[0] for taps in loop.states if taps]
    return [rng.normal(size=(count, SIZE)) for count in rows] + [
        rng.normal(size=SIZE),
        rng.normal(size=(SIZE, SIZE)),
    ]


def by_mini(loop: RandomLoop, *, rewritten: bool) -> list[np.ndarray[Any, Any]]:
    """Return the loop's results and the gradient of their sum with respect to all that goes in."""
    values = values_of(loop)
    nodes = [mini.variable(str(k)) for k in range(len(values))]
    sequences = list(zip(nodes, loop.sequences, strict=False))
    starts = iter(nodes[len(sequences) : -2])
    states = [(next(starts), taps) if taps else None for taps in loop.states]
    outputs = mini.scan(loop.step(mini.tanh, mini.dot), sequences, states, nodes[-2:], loop.n_steps)
    cost = mini.total(outputs[0])
    for output in outputs[1:]:
        cost = cost + mini.total(output)
    wanted = [*outputs, *mini.grad(cost, nodes)]
    wanted = mini.push_out_non_sequences(wanted) if rewritten else wanted
    return mini.evaluate(wanted, dict(zip(nodes, values, strict=True)))


def by_engine(loop: RandomLoop) -> Sequence[np.ndarray[Any, Any]]:
    values = values_of(loop)
    nodes = [T.vector() if value.ndim == 1 else T.matrix() for value in values]
    sequences = [dict(input=node, taps=list(taps)) for node, taps in zip(nodes, loop.sequences, strict=False)]
    starts = iter(nodes[len(sequences) : -2])
    states = [
        None if not taps else dict(initial=_initial(next(starts), taps), taps=list(taps))
        for taps in loop.states
    ]
    outputs, _ = scanviz.scan(
        loop.step(T.tanh, T.dot), sequences, states, non_sequences=nodes[-2:], n_steps=loop.n_steps
    )
    outputs = outputs if isinstance(outputs, list) else [outputs]
    cost = sum((T.sum(output) for output in outputs), T.constant(0.0))
    slopes = scanviz.grad(cost, nodes, disconnected_inputs="ignore")
    return scanviz.function(nodes, [*outputs, *slopes], mode="reference")(*values)


def _initial(rows: Any, taps: tuple[int, ...]) -> Any:
    """A state that only the step before is read of starts from one row without an axis of its own."""
    return rows[0] if taps == (-1,) else rows


@given(random_loops())
def test_values_and_gradients_are_those_of_the_engine(loop):
    for ours, theirs in zip(by_mini(loop, rewritten=False), by_engine(loop), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@given(random_loops())
def test_the_rewrite_changes_no_value(loop):
    for before, after in zip(by_mini(loop, rewritten=False), by_mini(loop, rewritten=True), strict=True):
        np.testing.assert_array_equal(before, after)


def test_the_rewrite_moves_shared_work_out_of_the_steps():
    v, x = mini.variable("v"), mini.variable("x")
    (h,) = mini.scan(lambda x_t, v: x_t * mini.tanh(v), [(x, (0,))], [None], [v])
    (after,) = mini.push_out_non_sequences([h])
    (loop,) = [node for node in mini.in_order([after]) if node.op == "loop"]
    assert [node.op for node in mini.in_order(loop.parameter.outputs) if node.inputs] == ["multiply"]


def test_the_file_equals_the_code_of_its_page():
    tangle = module_of(ROOT / "tools" / "tangle.py")
    page, file = ((ROOT / "docs" / f"miniscan.{ending}").read_text("utf-8") for ending in ("md", "py"))
    assert tangle.tangled(page) == file, "python tools/tangle.py writes docs/miniscan.py anew"
    assert len(file.splitlines()) < 330


def test_the_page_gives_its_own_length_and_reading_time():
    page, file = ((ROOT / "docs" / f"miniscan.{ending}").read_text("utf-8") for ending in ("md", "py"))
    prose = re.sub(r"^```.*?^```$|<[^>]*>", "", page, flags=re.MULTILINE | re.DOTALL)
    words, lines = len(prose.split()), sum(bool(line) for line in file.splitlines())
    assert f"{round(words, -2):,} words and {round(lines, -1)} lines of code" in page
    minutes = " ".join(page.split())
    assert (
        f": {words / 200:.0f} minutes for the words, at 200 a minute, {lines / 5:.0f} minutes for" in minutes
    )
