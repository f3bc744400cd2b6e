"""Rows written over those of a sequence that nothing else needs: half the memory of a gradient, and no number is another."""

from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import MisfitError
from scanviz.engine.program.file import from_data, to_data
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.program.plan.location import SHORTEST_OVER
from scanviz.engine.program.printer import program_text
from tests.laws.memory import counted
from tests.support.comparing import assert_close

RULE = "rows_over_sequences"
drawn = np.random.default_rng(9)


def linear(wanted: str = "ab") -> tuple[list[Any], list[Any]]:
    """Return the inputs of a loop of products and sums, and gradients of a cost of all its rows."""
    a, b, h = T.matrix("a"), T.matrix("b"), T.vector("h")
    rows, _ = scanviz.scan(lambda a_t, b_t, h: a_t * h + b_t, [a, b], h, name="linear")
    inputs = {"a": a, "b": b, "h": h}
    return [a, b, h], scanviz.grad(T.mean(rows * rows), [inputs[letter] for letter in wanted])


def given(steps: int = 500, width: int = 32) -> list[Any]:
    return [
        drawn.uniform(0.2, 0.9, (steps, width)),
        drawn.normal(size=(steps, width)),
        drawn.normal(size=width),
    ]


def both(inputs: list[Any], outputs: Any, mode: str) -> list[scanviz.Function]:
    """Return a function with the rule and one without it."""
    return [scanviz.function(inputs, outputs, mode=how) for how in (Mode(mode), Mode(mode).excluding(RULE))]


def over(f: scanviz.Function) -> dict[str, str]:
    """Return by the names of outputs the sequences that they may be written over."""
    return {
        slot.name: loop.sequences[slot.over].name
        for loop, _ in all_loops(f.program)
        for slot in loop.step_outputs
        if slot.over is not None
    }


def sums() -> tuple[Any, Any, Any]:
    """Return an input, rows computed of it, and the output of a loop over these."""
    x = T.matrix("x")
    rows = T.exp(x)
    (_, made), _ = scanviz.scan(
        lambda r, h: (T.tanh(h + r), h * r), rows, [T.zeros_like(x[0]), None], name="sums"
    )
    return x, rows, made


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_a_gradient_overwrites_the_rows_that_it_reads(mode: str) -> None:
    inputs, outputs = linear()
    with_it, without = both(inputs, outputs, mode)
    assert over(with_it) == {"∂a": "∂h from outside", "∂b": "h"} and over(without) == {}
    (text,) = (rewrite.message for rewrite in with_it.rewrites if rewrite.rule == RULE)
    assert "`grad_of_linear` may write `∂b` over the rows of `h`, which nothing reads again" in text
    values = given()
    expected = scanviz.function(inputs, outputs, mode="reference")(*values)
    for f in (with_it, without):
        for _ in range(3):
            for found, other in zip(f(*values), expected, strict=True):
                assert_close(found, other)
    rows = values[0].nbytes
    assert counted(without, values) - counted(with_it, values) == pytest.approx(2 * rows, rel=0.05)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_forecast_memory_agrees_with_held_memory(mode: str) -> None:
    inputs, outputs = linear("bh")  # `∂a` is added to zeros, which are counted and not held
    for f in both(inputs, outputs, mode):
        values = given()
        assert f.memory_forecast(*values).peak_bytes == pytest.approx(counted(f, values), rel=0.02)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_permuted_rows_are_forecast_beside_the_results(mode: str) -> None:
    """NumPy gives results of `x.T` its strides, so no row is contiguous: products begin a new array."""
    x = T.matrix("x")
    cases = {"exp": T.exp(x.T), "cumsum": T.cumsum(x.T * 0.5, axis=0), "product": T.dot(x.T, x)}
    values = drawn.normal(size=(200, 200))
    for name, rows in cases.items():
        start = T.zeros_like(rows[0])
        (_, made), _ = scanviz.scan(lambda r, h: (T.tanh(h + r), h * r), rows, [start, None], name="sums")
        f = scanviz.function([x], made, mode=mode)
        assert bool(over(f)) == (name == "product")
        assert f.memory_forecast(values).peak_bytes == pytest.approx(counted(f, [values]), rel=0.02), name


@pytest.mark.parametrize("mode", ["numpy", "native"])
@pytest.mark.parametrize("steps", [300, 900])
def test_keeping_few_rows_does_not_keep_a_whole_sequence(mode: str, steps: int) -> None:
    x = T.matrix("x")
    (_, made), _ = scanviz.scan(
        lambda r, h: (T.tanh(h + r), h * r), T.exp(x), [T.zeros_like(x[0]), None], n_steps=steps, name="sums"
    )
    f, plain = (scanviz.function([x], made, mode=how) for how in (mode, "reference"))
    values = drawn.normal(size=(1_000, 32))
    assert over(f) and steps * 32 * 8 > SHORTEST_OVER
    assert f.memory_forecast(values).peak_bytes == pytest.approx(counted(f, [values]), rel=0.02)
    found = f(values)
    assert_close(found, plain(values))
    held = found
    while isinstance(held.base, np.ndarray):
        held = held.base
    assert held.nbytes == (values.nbytes if steps == 900 else found.nbytes)


def test_rows_with_other_readers_are_not_overwritten() -> None:
    x, rows, made = sums()
    cases: dict[str, tuple[list[Any], bool]] = {
        "nobody": ([made], True),
        "the caller": ([made, rows], False),
        "an operation after the loop": ([made, T.sum(rows[::-1] * made)], False),
        "an operation before it": ([T.sum(rows), made], True),
        "the input itself": ([scanviz.scan(lambda r: r * r.sum(), x, name="given")[0]], False),
    }
    for name, (outputs, expected) in cases.items():
        f = scanviz.function([x], outputs, mode="numpy")
        assert bool(over(f)) == expected, name


def test_stopped_and_inner_loops_overwrite_no_sequences() -> None:
    x = T.tensor3("x")

    def step(x_t: Any) -> Any:
        inner, _ = scanviz.scan(
            lambda r, h: (T.tanh(h + r), h * r), T.exp(x_t), [T.zeros_like(x_t[0]), None], name="inner"
        )
        return inner[1]

    f = scanviz.function([x], scanviz.scan(step, x, name="outer")[0], mode="numpy")
    assert not over(f)
    y = T.matrix("y")
    ends, _ = scanviz.scan(
        lambda r, h: ((T.tanh(h + r), h * r), {}, scanviz.until(h.sum() > 2.0)),
        T.exp(y),
        [T.zeros_like(y[0]), None],
        name="ends",
    )
    assert not over(scanviz.function([y], ends[1], mode="numpy"))


def test_a_damaged_program_that_overwrites_needed_rows_is_refused() -> None:
    x, rows, made = sums()
    without = frozenset(("key", "node_id", "frees"))
    data, arrays = to_data(scanviz.function([x], [made, T.sum(rows)], mode="numpy").program, without)
    from_data(data, arrays)
    keeps, _ = to_data(scanviz.function([x], [made, rows], mode="numpy").program, without)
    for damaged, place in ((keeps, 0), (data, 7), (data, -1)):
        (loop,) = (one for one in damaged["instructions"] if one["kind"] == "loop")
        loop["step_outputs"][0]["over"] = place
        with pytest.raises(MisfitError, match="writes over rows that something else needs"):
            from_data(damaged, arrays)


def test_a_listing_names_the_rows_that_a_result_overwrites() -> None:
    inputs, outputs = linear()
    f = scanviz.function(inputs, outputs, mode="numpy")
    assert "output ∂b, all rows, the last first, over those of h" in program_text(f.program)
